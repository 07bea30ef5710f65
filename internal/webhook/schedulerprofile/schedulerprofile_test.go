// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
)

// stored are the objects that there are.
type stored struct {
	client.Reader
	all []v1alpha1.SchedulerProfile
	err error
}

func (s stored) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*v1alpha1.SchedulerProfileList).Items = s.all
	return s.err
}

// profile is an object that is so many seconds old, with profiles of the given names.
func profile(name string, age int, schedulerNames ...string) *v1alpha1.SchedulerProfile {
	p := &v1alpha1.SchedulerProfile{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(name), Generation: 1, CreationTimestamp: metav1.Unix(int64(1_000_000-age), 0),
	}}
	for _, s := range schedulerNames {
		p.Spec.Profiles = append(p.Spec.Profiles, v1alpha1.Profile{SchedulerName: s})
	}
	return p
}

func withRaw(p *v1alpha1.SchedulerProfile, raw string) *v1alpha1.SchedulerProfile {
	p.Spec.Profiles[0].Raw = &runtime.RawExtension{Raw: []byte(raw)}
	return p
}

func rejects(t *testing.T, err error, parts ...string) {
	t.Helper()
	if (err != nil) != (len(parts) > 0) || err != nil && !apierrors.IsInvalid(err) {
		t.Fatalf("error %v, want one that says %q", err, parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
}

func TestCreate(t *testing.T) {
	w := webhook{stored{all: []v1alpha1.SchedulerProfile{*profile("older", 9, "gpu"), *profile("same-second", 0, "batch")}}}
	for name, tc := range map[string]struct {
		p        *v1alpha1.SchedulerProfile
		rejected []string
	}{
		"free":                 {profile("new", 0, "web"), nil},
		"taken":                {profile("new", 0, "web", "gpu"), []string{"spec.profiles[gpu]", "the SchedulerProfile older, which is older", "choose another name"}},
		"taken in this second": {profile("a-new", 0, "batch"), []string{"the SchedulerProfile same-second"}},
		"raw":                  {withRaw(profile("new", 0, "web"), `{"pluginConfig":[{"name":"NodeResourcesFit","args":{}}]}`), nil},
		"raw of 1.37":          {withRaw(profile("new", 0, "web"), `{"plugins":{"score":{"enabled":[{"name":"DeferredPodScheduling"}]}}}`), nil},
		"an unknown plugin":    {withRaw(profile("new", 0, "web"), `{"pluginConfig":[{"name":"NodeAfinity","args":{}}]}`), []string{"spec.profiles[0].raw: Invalid value", "NodeAfinity"}},
		"an election of its own": {
			withRaw(profile("new", 0, "web"), `{"leaderElection":{"leaderElect":false}}`), []string{"spec.profiles[0].raw", "leaderElection"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.ValidateCreate(t.Context(), tc.p)
			rejects(t, err, tc.rejected...)
		})
	}
}

func TestUpdate(t *testing.T) {
	now := profile("younger", 5, "gpu")
	w := webhook{stored{all: []v1alpha1.SchedulerProfile{*profile("older", 9, "gpu"), *profile("youngest", 1, "web"), *now}}}
	update := func(change func(p *v1alpha1.SchedulerProfile)) error {
		p := now.DeepCopy()
		change(p)
		_, err := w.ValidateUpdate(t.Context(), now, p)
		return err
	}
	rejects(t, update(func(p *v1alpha1.SchedulerProfile) { p.Generation++ }), "the SchedulerProfile older")
	rejects(t, update(func(p *v1alpha1.SchedulerProfile) { p.Labels = map[string]string{"a": "b"} }))
	rejects(t, update(func(p *v1alpha1.SchedulerProfile) {
		p.Generation++
		p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}))
	rejects(t, update(func(p *v1alpha1.SchedulerProfile) {
		p.Generation++
		p.Spec.Profiles[0].SchedulerName = "web"
	}))
}

// TestWarning: only who takes a name that a younger object has is warned, once.
func TestWarning(t *testing.T) {
	w := webhook{stored{all: []v1alpha1.SchedulerProfile{*profile("older", 9, "own"), *profile("younger", 5, "gpu", "web"), *profile("oldest", 20, "batch")}}}
	for name, tc := range map[string]struct {
		was, is []string
		want    int
	}{
		"a name of a younger one":          {[]string{"own"}, []string{"own", "gpu"}, 1},
		"two of them":                      {[]string{"own"}, []string{"gpu", "web"}, 2},
		"one that it had":                  {[]string{"gpu"}, []string{"gpu", "own"}, 0},
		"a free one":                       {[]string{"own"}, []string{"own", "free"}, 0},
		"an older one, and a younger one":  {[]string{"own"}, []string{"batch", "web"}, 1},
		"nothing that has to do with them": {[]string{"own"}, []string{"own"}, 0},
	} {
		was, is := profile("older", 9, tc.was...), profile("older", 9, tc.is...)
		is.Generation++
		warnings, _ := w.ValidateUpdate(t.Context(), was, is)
		if len(warnings) != tc.want {
			t.Errorf("%s: %q", name, warnings)
		}
		for _, text := range warnings {
			if !strings.Contains(text, "a profile of the SchedulerProfile younger as well, which is younger") {
				t.Errorf("%s: %q", name, text)
			}
		}
	}
}

func TestAListThatFails(t *testing.T) {
	_, err := webhook{stored{err: errors.New("the cache is gone")}}.ValidateCreate(t.Context(), profile("p", 0, "web"))
	if err == nil || apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "the cache is gone") {
		t.Errorf("error %v", err)
	}
}
