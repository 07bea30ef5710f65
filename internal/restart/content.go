// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
)

// maxKeys is how many keys of a source are distinguished in the status.
const maxKeys = 32

// observed is an observation as the status records it. Of keys that are all that counts, one that does not
// exist now keeps its last value.
func (o Observation) observed(key Key, were map[string]string, now time.Time) common.ObservedSource {
	out := common.ObservedSource{
		Source: o.Source, Hash: o.Hash.now, Since: metav1.NewTime(now.Truncate(time.Second)), Version: o.Version, Written: o.Written,
	}
	switch {
	case o.OnlyKeys:
		out.Keys = o.with(were)
		out.Hash = hashKeys(key, out.Keys)
	case o.Keys != nil && len(o.Keys) <= maxKeys:
		out.Keys = o.with(nil)
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
	for k, h := range o.Keys {
		keys[k] = h.now
	}
	return keys
}

// grown is recorded content with the keys that were never seen before, and without those that do not count
// any more: neither is a change.
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
	return key.text(parts...)
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
	return names.Clip(text, maxChange)
}

// maxSources bounds the list of sources in a message.
const maxSources = 5

// join lists what changed.
func join(sources []string) string {
	text := ""
	for i, s := range sources {
		if i == maxSources {
			return fmt.Sprintf("%s and %d more", text, len(sources)-i)
		}
		if i > 0 {
			text += "; "
		}
		text += s
	}
	return text
}
