// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

var (
	testKey  = KeyOf([]byte(strings.Repeat("k", keySize)), "an object")
	otherKey = KeyOf([]byte(strings.Repeat("k", keySize)), "another object")
)

// whole is an observation of all keys.
func whole(source string, content ...string) Observation {
	o := Observation{Source: source, Keys: map[string]Hash{}}
	var parts [][]byte
	for i := 0; i+1 < len(content); i += 2 {
		parts = append(parts, []byte(content[i]), []byte(content[i+1]))
		o.Keys[content[i]] = testKey.Short([]byte(content[i+1]))
	}
	o.Hash = testKey.Hash(parts...)
	return o
}

// some is an observation of named keys; one without a value does not exist.
func some(source string, content ...string) Observation {
	o := Observation{Source: source, Keys: map[string]Hash{}, OnlyKeys: true}
	for i := 0; i+1 < len(content); i += 2 {
		if content[i+1] == "" {
			o.Absent = append(o.Absent, content[i])
		} else {
			o.Keys[content[i]] = testKey.Short([]byte(content[i+1]))
		}
	}
	return o
}

func TestHashIsUnambiguous(t *testing.T) {
	seen := map[Hash]string{}
	for _, parts := range [][]string{
		{}, {""}, {"", ""}, {"a"}, {"a", ""}, {"", "a"}, {"ab"}, {"a", "b"}, {"b", "a"}, {"a", "1;b=2"}, {"a", "1", "b", "2"}, {"a\x00b"}, {"a", "\x00b"},
	} {
		var bytes [][]byte
		for _, p := range parts {
			bytes = append(bytes, []byte(p))
		}
		h := testKey.Hash(bytes...)
		if other, taken := seen[h]; taken {
			t.Errorf("%q and %s have one hash", parts, other)
		}
		seen[h] = fmt.Sprintf("%q", parts)
		if again := testKey.Hash(bytes...); again != h {
			t.Errorf("%q has two hashes", parts)
		}
		if otherKey.Hash(bytes...).now == h.now {
			t.Errorf("%q: two objects have the same hash", parts)
		}
	}
}

func TestCompare(t *testing.T) {
	many := func(value string) Observation {
		var content []string
		for i := range maxKeys + 1 {
			content = append(content, fmt.Sprintf("k%02d", i), value)
		}
		return whole("Secret/s", content...)
	}
	long := strings.Repeat("k", 300)
	for _, tc := range []struct {
		reason string
		was    []Observation
		is     []Observation
		want   []string
	}{
		{reason: "nothing is watched"},
		{reason: "first sight", is: []Observation{whole("ConfigMap/c", "k", "v")}},
		{reason: "the same content", was: []Observation{whole("ConfigMap/c", "k", "v")}, is: []Observation{whole("ConfigMap/c", "k", "v")}},
		{
			reason: "another value", was: []Observation{whole("ConfigMap/c", "k", "v", "l", "w")},
			is: []Observation{whole("ConfigMap/c", "k", "x", "l", "w")}, want: []string{"ConfigMap/c: k"},
		},
		{
			reason: "a key more", was: []Observation{whole("ConfigMap/c", "k", "v")},
			is: []Observation{whole("ConfigMap/c", "k", "v", "l", "w")}, want: []string{"ConfigMap/c: l"},
		},
		{
			reason: "a key less", was: []Observation{whole("ConfigMap/c", "k", "v", "l", "w")},
			is: []Observation{whole("ConfigMap/c", "k", "v")}, want: []string{"ConfigMap/c: l"},
		},
		{reason: "emptied", was: []Observation{whole("ConfigMap/c", "k", "v")}, is: []Observation{whole("ConfigMap/c")}, want: []string{"ConfigMap/c"}},
		{reason: "not there now", was: []Observation{whole("ConfigMap/c", "k", "v")}},
		{
			reason: "one of two", was: []Observation{whole("ConfigMap/c", "k", "v"), whole("Secret/s", "k", "v")},
			is: []Observation{whole("Secret/s", "k", "x"), whole("ConfigMap/c", "k", "v")}, want: []string{"Secret/s: k"},
		},
		{
			reason: "both, in a fixed order", was: []Observation{whole("Secret/s", "k", "v"), whole("ConfigMap/c", "k", "v")},
			is: []Observation{whole("Secret/s", "k", "x"), whole("ConfigMap/c", "k", "x")}, want: []string{"ConfigMap/c: k", "Secret/s: k"},
		},
		{reason: "too many keys to tell", was: []Observation{many("v")}, is: []Observation{many("w")}, want: []string{"Secret/s"}},
		{
			reason: "a name too long to tell", was: []Observation{whole("ConfigMap/c", long, "v", "k", "v")},
			is: []Observation{whole("ConfigMap/c", long, "w", "k", "v")}, want: []string{("ConfigMap/c: " + long)[:maxChange] + "…"},
		},
		{reason: "named keys", was: []Observation{some("ConfigMap/c[keys]", "a", "1")}, is: []Observation{some("ConfigMap/c[keys]", "a", "2")}, want: []string{"ConfigMap/c: a"}},
		{reason: "a named key is gone", was: []Observation{some("ConfigMap/c[keys]", "a", "1", "b", "1")}, is: []Observation{some("ConfigMap/c[keys]", "a", "1", "b", "")}},
		{
			reason: "a named key comes for the first time", was: []Observation{some("ConfigMap/c[keys]", "a", "1", "b", "")},
			is: []Observation{some("ConfigMap/c[keys]", "a", "1", "b", "1")},
		},
		{
			reason: "a named key is gone and another one changed", was: []Observation{some("ConfigMap/c[keys]", "a", "1", "b", "1")},
			is: []Observation{some("ConfigMap/c[keys]", "a", "2", "b", "")}, want: []string{"ConfigMap/c: a"},
		},
		{reason: "a key is named no more", was: []Observation{some("ConfigMap/c[keys]", "a", "1", "b", "1")}, is: []Observation{some("ConfigMap/c[keys]", "a", "1")}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			s := &common.RestartStatus{}
			if r := revise(testKey, s, tc.was, noon); len(r.sources) > 0 {
				t.Errorf("the first observation is a change: %q", r.sources)
			}
			plan(testKey, s, revise(testKey, s, tc.was, noon), facts{confirmed: true}, noon)
			got := revise(testKey, s, tc.is, noon)
			if diff := cmp.Diff(tc.want, got.sources); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if plan(testKey, s, revise(testKey, s, tc.is, noon), facts{confirmed: true}, noon); s.Pending != nil {
				settle(s)
			}
			if more := revise(testKey, s, tc.is, noon); len(more.sources) > 0 {
				t.Errorf("it changes again: %q", more.sources)
			}
		})
	}
}

func TestForget(t *testing.T) {
	s := &common.RestartStatus{Observed: []common.ObservedSource{{Source: "a"}, {Source: "b"}}}
	Forget(s, func(source string) bool { return source == "b" })
	if len(s.Observed) != 1 || s.Observed[0].Source != "b" {
		t.Errorf("%+v", s.Observed)
	}
}
