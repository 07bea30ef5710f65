// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"maps"
	"slices"
	"time"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// adoptLegacy turns what version 0.1.0 recorded into what this one records: hashes were made with one key for all
// objects, and restarts had no number. The upgrade restarts nothing, and what was pending is done once.
func adoptLegacy(key Key, s *common.RestartStatus, seen []Observation, now time.Time) {
	adoptPending(key, s, seen, now)
	for _, o := range seen {
		if b := find(s.Observed, o.Source); b != nil && len(b.Hash) == legacyHash {
			*b = o.adopted(key, *b, now)
		}
	}
}

// adoptPending turns a pending restart of version 0.1.0 into a numbered one. One that had not begun is found
// again by what it is for.
func adoptPending(key Key, s *common.RestartStatus, seen []Observation, now time.Time) {
	p := s.Pending
	if p == nil || p.Number > 0 {
		return
	}
	if !p.Started && !p.Replaces {
		s.Pending = nil
		return
	}
	mark, changed := legacyChange(key, s, seen)
	p.Target = legacyTarget(key, s, seen, changed, now)
	s.Number++
	p.Number, p.Replaces = s.Number, false
	if mark != p.Mark { // for other content than the one seen now: all are restarted for that
		p.Started, p.Mark = false, markOf(key, p.Number, p.Target)
	}
	s.Observed = without(s.Observed, p.Target)
	for i := range s.Workloads {
		s.Workloads[i].Number = p.Number
	}
	if !p.Started {
		s.Workloads, p.Pods, p.PodCount, p.PodsListed = nil, nil, 0, false
	}
}

// legacyTarget is the content that a pending restart is for: what changed, or all when nothing differs.
func legacyTarget(key Key, s *common.RestartStatus, seen []Observation, changed []string, now time.Time) []common.ObservedSource {
	var target []common.ObservedSource
	for _, was := range s.Observed {
		i := slices.IndexFunc(seen, func(o Observation) bool { return o.Source == was.Source })
		switch {
		case len(changed) > 0 && !slices.Contains(changed, was.Source):
		case i < 0:
			target = append(target, was)
		default:
			target = append(target, seen[i].observed(key, was.Keys, now))
		}
	}
	slices.SortFunc(target, bySource)
	return target
}

// legacyChange is the mark that version 0.1.0 would set for what is observed, and which sources it is for.
func legacyChange(key Key, s *common.RestartStatus, seen []Observation) (mark string, changed []string) {
	var parts, all [][]byte
	for _, was := range s.Observed {
		all = append(all, []byte(was.Source), []byte(was.Hash))
		i := slices.IndexFunc(seen, func(o Observation) bool { return o.Source == was.Source })
		if i < 0 {
			continue
		}
		if hash, _ := seen[i].legacy(key, was); hash != was.Hash {
			changed = append(changed, was.Source)
			parts = append(parts, []byte(was.Source), []byte(hash))
		}
	}
	if len(changed) == 0 {
		parts = append(all, []byte("unchanged"))
	}
	return key.root.legacy(parts...), changed
}

// legacy is what version 0.1.0 would have recorded of an observation.
func (o Observation) legacy(key Key, was common.ObservedSource) (hash string, keys map[string]string) {
	keys = map[string]string{}
	for k, h := range o.Keys {
		keys[k] = h.old
	}
	if !o.OnlyKeys {
		return o.Hash.old, keys
	}
	for _, k := range o.Absent {
		if h, seen := was.Keys[k]; seen {
			keys[k] = h
		}
	}
	var parts [][]byte
	equal := true
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		parts = append(parts, []byte(k), []byte(keys[k]))
		if h, seen := was.Keys[k]; seen && h != keys[k] { // a key that was never seen before is no change
			equal = false
		}
	}
	if equal {
		return was.Hash, keys
	}
	return key.root.legacy(parts...), keys
}

// Legacy is what version 0.1.0 would have recorded of a whole source: its hash does not depend on the object.
func (o Observation) Legacy() common.ObservedSource {
	return common.ObservedSource{Source: o.Source, Hash: o.Hash.old}
}

// adopted is a baseline of version 0.1.0 with the hashes of this one, where the content is still the same; what
// differs still does.
func (o Observation) adopted(key Key, was common.ObservedSource, now time.Time) common.ObservedSource {
	hash, keys := o.legacy(key, was)
	is := o.observed(key, nil, now)
	is.Version, is.Since = "", was.Since
	if hash == was.Hash && !o.OnlyKeys {
		return is
	}
	out := was
	out.Keys = maps.Clone(was.Keys)
	for k, h := range keys {
		now, there := o.Keys[k]
		if of, recorded := was.Keys[k]; there && recorded && of == h {
			out.Keys[k] = now.now
		}
	}
	if o.OnlyKeys {
		out.Hash = hashKeys(key, out.Keys)
	}
	return out
}
