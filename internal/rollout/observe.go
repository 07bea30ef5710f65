/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package rollout

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// maxKeys is how many keys of a source are told apart in the status.
const maxKeys = 32

// view is what was observed, beside the baseline that it is compared with.
type view struct {
	// baseline is what the pods run with, with everything added to it that was seen for the first time.
	baseline []common.ObservedSource
	// current is what the sources hold now, in the order of the baseline.
	current []common.ObservedSource
	// changes say what differs, for people.
	changes []string
	// mark stands for what changed: the content of the sources that differ from the baseline. Two restarts
	// in a row never have the same, for after the first one that content is the baseline.
	mark string
}

// compare sets what is observed against the baseline. A source that is not observed now counts as
// unchanged.
func compare(key Key, baseline []common.ObservedSource, seen []Observation, now time.Time) view {
	v := view{baseline: slices.Clone(baseline)}
	for _, o := range seen {
		i := slices.IndexFunc(v.baseline, func(b common.ObservedSource) bool { return b.Source == o.Source })
		if i < 0 {
			v.baseline = append(v.baseline, o.observed(key, nil, now))
			continue
		}
		v.baseline[i] = o.grown(key, v.baseline[i])
	}
	slices.SortFunc(v.baseline, func(a, b common.ObservedSource) int { return cmp.Compare(a.Source, b.Source) })
	v.current = slices.Clone(v.baseline)
	var changed, same [][]byte
	for i, was := range v.current {
		same = append(same, []byte(was.Source), []byte(was.Hash))
		j := slices.IndexFunc(seen, func(o Observation) bool { return o.Source == was.Source })
		if j < 0 {
			continue
		}
		if is := seen[j].observed(key, was.Keys, now); is.Hash != was.Hash {
			v.current[i] = is
			v.changes = append(v.changes, difference(was, is))
			changed = append(changed, []byte(was.Source), []byte(is.Hash))
		}
	}
	if v.mark = key.Hash(changed...); len(changed) == 0 {
		v.mark = key.Hash(append(same, []byte("unchanged"))...)
	}
	return v
}

// observed is an observation as the status keeps it. Of keys that are all that counts, one that does not
// exist now stays as it was.
func (o Observation) observed(key Key, were map[string]string, now time.Time) common.ObservedSource {
	out := common.ObservedSource{Source: o.Source, Hash: o.Hash, Keys: o.Keys, Since: metav1.NewTime(now.Truncate(time.Second))}
	if o.OnlyKeys {
		out.Keys = o.with(were)
		out.Hash = hashKeys(key, out.Keys)
	} else if len(o.Keys) > maxKeys {
		out.Keys = nil
	}
	return out
}

// with are the keys that exist, and what was last seen of those that do not.
func (o Observation) with(were map[string]string) map[string]string {
	keys := make(map[string]string, len(o.Keys)+len(o.Absent))
	for _, k := range o.Absent {
		if h, seen := were[k]; seen {
			keys[k] = h
		}
	}
	maps.Copy(keys, o.Keys)
	return keys
}

// grown is the baseline with the keys that were never seen before, and without those that do not count
// any more.
func (o Observation) grown(key Key, baseline common.ObservedSource) common.ObservedSource {
	if !o.OnlyKeys {
		return baseline
	}
	keys := o.with(baseline.Keys)
	for k := range keys {
		if h, seen := baseline.Keys[k]; seen {
			keys[k] = h
		}
	}
	if hash := hashKeys(key, keys); hash != baseline.Hash {
		baseline.Keys, baseline.Hash = keys, hash
	}
	return baseline
}

func hashKeys(key Key, keys map[string]string) string {
	var parts [][]byte
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		parts = append(parts, []byte(k), []byte(keys[k]))
	}
	return key.Hash(parts...)
}

// maxChange is how long the description of one change may become.
const maxChange = 200

// withoutKeys is the name of a source without the keys that are watched of it.
func withoutKeys(source string) string {
	name, _, _ := strings.Cut(source, "[")
	return name
}

// difference names the source and the keys that differ.
func difference(was, is common.ObservedSource) string {
	name := withoutKeys(is.Source)
	all := maps.Clone(was.Keys)
	if all == nil {
		return name
	}
	maps.Copy(all, is.Keys)
	var keys []string
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if was.Keys[k] != is.Keys[k] {
			keys = append(keys, k)
		}
	}
	if len(was.Keys) == 0 || len(is.Keys) == 0 || len(keys) == 0 {
		return name
	}
	text := name + ": " + strings.Join(keys, ", ")
	if len(text) > maxChange {
		return text[:maxChange] + "…"
	}
	return text
}
