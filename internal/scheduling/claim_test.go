// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
)

func stored(name string, second int64, schedulerNames ...string) v1alpha1.SchedulerProfile {
	p := v1alpha1.SchedulerProfile{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(time.Unix(second, 0))}}
	for _, s := range schedulerNames {
		p.Spec.Profiles = append(p.Spec.Profiles, v1alpha1.Profile{SchedulerName: s})
	}
	return p
}

func TestTaken(t *testing.T) {
	unstored := stored("new", 0, "a", "b")
	unstored.UID, unstored.CreationTimestamp = "", metav1.Time{}
	updated := stored("new", 5, "a")
	for name, c := range map[string]struct {
		p    v1alpha1.SchedulerProfile
		all  []v1alpha1.SchedulerProfile
		want []Claim
	}{
		"alone":             {stored("x", 5, "a"), nil, nil},
		"itself":            {stored("x", 5, "a"), []v1alpha1.SchedulerProfile{stored("x", 5, "a")}, nil},
		"itself, before":    {updated, []v1alpha1.SchedulerProfile{stored("new", 4, "a")}, nil},
		"an older one":      {stored("x", 5, "b", "a"), []v1alpha1.SchedulerProfile{stored("y", 4, "a", "b")}, []Claim{{"b", "y"}, {"a", "y"}}},
		"a younger one":     {stored("x", 5, "a"), []v1alpha1.SchedulerProfile{stored("y", 6, "a")}, nil},
		"another name":      {stored("x", 5, "a"), []v1alpha1.SchedulerProfile{stored("y", 4, "b")}, nil},
		"same second, a<x":  {stored("x", 5, "a"), []v1alpha1.SchedulerProfile{stored("a", 5, "a")}, []Claim{{"a", "a"}}},
		"same second, x<y":  {stored("x", 5, "a"), []v1alpha1.SchedulerProfile{stored("y", 5, "a")}, nil},
		"not stored yet":    {unstored, []v1alpha1.SchedulerProfile{stored("z", 9, "b")}, []Claim{{"b", "z"}}},
		"of two, the first": {stored("x", 5, "a"), []v1alpha1.SchedulerProfile{stored("y", 3, "a"), stored("z", 2, "a")}, []Claim{{"a", "y"}}},
	} {
		if diff := cmp.Diff(c.want, Taken(&c.p, c.all)); diff != "" {
			t.Errorf("%s, -want +got:\n%s", name, diff)
		}
	}
}

func TestDisplaced(t *testing.T) {
	for name, c := range map[string]struct {
		p    v1alpha1.SchedulerProfile
		all  []v1alpha1.SchedulerProfile
		want []Claim
	}{
		"itself":           {stored("x", 5, "a"), []v1alpha1.SchedulerProfile{stored("x", 5, "a")}, nil},
		"an older one":     {stored("x", 5, "a"), []v1alpha1.SchedulerProfile{stored("y", 4, "a")}, nil},
		"a younger one":    {stored("x", 5, "b", "a"), []v1alpha1.SchedulerProfile{stored("y", 6, "a")}, []Claim{{"a", "y"}}},
		"two of them":      {stored("x", 5, "a"), []v1alpha1.SchedulerProfile{stored("y", 6, "a"), stored("z", 7, "a")}, []Claim{{"a", "y"}, {"a", "z"}}},
		"another name":     {stored("x", 5, "a"), []v1alpha1.SchedulerProfile{stored("y", 6, "b")}, nil},
		"same second, x<y": {stored("x", 5, "a"), []v1alpha1.SchedulerProfile{stored("y", 5, "a")}, []Claim{{"a", "y"}}},
	} {
		if diff := cmp.Diff(c.want, Displaced(&c.p, c.all)); diff != "" {
			t.Errorf("%s, -want +got:\n%s", name, diff)
		}
	}
}
