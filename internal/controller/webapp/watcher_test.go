// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

func whole(kind autorebootv1alpha1.SourceKind, name string, optional bool) corev1.EnvFromSource {
	ref := corev1.LocalObjectReference{Name: name}
	if kind == autorebootv1alpha1.SourceSecret {
		return corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: ref, Optional: &optional}}
	}
	return corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: ref, Optional: &optional}}
}

func single(kind autorebootv1alpha1.SourceKind, name, key string, optional bool) corev1.EnvVar {
	ref, v := corev1.LocalObjectReference{Name: name}, &corev1.EnvVarSource{}
	if kind == autorebootv1alpha1.SourceSecret {
		v.SecretKeyRef = &corev1.SecretKeySelector{LocalObjectReference: ref, Key: key, Optional: &optional}
	} else {
		v.ConfigMapKeyRef = &corev1.ConfigMapKeySelector{LocalObjectReference: ref, Key: key, Optional: &optional}
	}
	return corev1.EnvVar{Name: fmt.Sprintf("%s_%s_%s", kind, name, key), ValueFrom: v}
}

func TestWhatIsWatched(t *testing.T) {
	const configMap, secret = autorebootv1alpha1.SourceConfigMap, autorebootv1alpha1.SourceSecret
	source := func(kind autorebootv1alpha1.SourceKind, name string, keys ...string) autorebootv1alpha1.Source {
		return autorebootv1alpha1.Source{Kind: kind, Name: name, Keys: keys}
	}
	optional := func(s autorebootv1alpha1.Source) autorebootv1alpha1.Source { s.Optional = true; return s }
	type spec = v1alpha1.WebAppSpec
	type sources = []autorebootv1alpha1.Source
	var many []corev1.EnvVar
	for i := range 33 {
		many = append(many, single(secret, "s", fmt.Sprint("k", i), false))
	}
	for _, tc := range []struct {
		reason string
		spec   spec
		want   sources
	}{
		{"nothing", spec{RestartOnChange: true}, nil},
		{"not asked for", spec{EnvFrom: []corev1.EnvFromSource{whole(secret, "s", false)}}, nil},
		{
			"whole objects",
			spec{RestartOnChange: true, EnvFrom: []corev1.EnvFromSource{whole(secret, "s", false), whole(configMap, "s", false)}},
			sources{source(configMap, "s"), source(secret, "s")},
		},
		{
			"the same one twice",
			spec{RestartOnChange: true, EnvFrom: []corev1.EnvFromSource{whole(secret, "s", false), whole(secret, "s", false)}},
			sources{source(secret, "s")},
		},
		{
			"single keys, in one order",
			spec{RestartOnChange: true, Env: []corev1.EnvVar{single(secret, "s", "b", false), single(secret, "s", "a", false), single(configMap, "c", "k", false)}},
			sources{source(configMap, "c", "k"), source(secret, "s", "a", "b")},
		},
		{
			"a key of what is taken as a whole",
			spec{RestartOnChange: true, Env: []corev1.EnvVar{single(secret, "s", "a", false)}, EnvFrom: []corev1.EnvFromSource{whole(secret, "s", false)}},
			sources{source(secret, "s")},
		},
		{"more keys than can be named", spec{RestartOnChange: true, Env: many}, sources{source(secret, "s")}},
		{
			"what need not exist",
			spec{RestartOnChange: true, Env: []corev1.EnvVar{single(configMap, "c", "k", true)}, EnvFrom: []corev1.EnvFromSource{whole(secret, "s", true)}},
			sources{optional(source(configMap, "c", "k")), optional(source(secret, "s"))},
		},
		{
			"what need not exist for one and must for another",
			spec{RestartOnChange: true, Env: []corev1.EnvVar{single(secret, "s", "k", false)}, EnvFrom: []corev1.EnvFromSource{whole(secret, "s", true)}},
			sources{source(secret, "s")},
		},
		{"other variables", spec{RestartOnChange: true, Env: []corev1.EnvVar{{Name: "A", Value: "b"}, {Name: "P", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}}, nil},
		{"a name that nothing can have", spec{RestartOnChange: true, Env: []corev1.EnvVar{single(secret, "S/x", "k", true), single(secret, "", "k", true)}}, nil},
		{"files of its own, and volumes", spec{
			RestartOnChange: true, Config: map[string]v1alpha1.FileContent{"a": "b"},
			PodOverlay: v1alpha1.PodOverlay{Volumes: []v1alpha1.Volume{{Name: "v", Secret: &corev1.SecretVolumeSource{SecretName: "s"}}}},
		}, nil},
		{"other containers", spec{RestartOnChange: true, PodOverlay: v1alpha1.PodOverlay{
			InitContainers: []v1alpha1.Container{{Name: "i", EnvFrom: []corev1.EnvFromSource{whole(secret, "i", false)}}},
			Sidecars:       []v1alpha1.Container{{Name: "s", Env: []corev1.EnvVar{single(secret, "s", "k", false)}}},
		}}, sources{source(secret, "i"), source(secret, "s", "k")}},
		{"the Secret of the database, without being asked", spec{
			DatabaseSecretRef: &v1alpha1.DatabaseSecretReference{Name: "db", URIKey: new("")},
			EnvFrom:           []corev1.EnvFromSource{whole(secret, "s", false), whole(configMap, "db", false)},
		}, sources{source(secret, "db", "database", "host", "password", "port", "username")}},
		{"not a key of the database that env replaces", spec{
			DatabaseSecretRef: &v1alpha1.DatabaseSecretReference{Name: "db"}, Env: []corev1.EnvVar{{Name: "DATABASE_URL", Value: "x"}},
		}, sources{source(secret, "db", "database", "host", "password", "port", "username")}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			a := app(common.TierDev, func(s *v1alpha1.WebAppSpec) {
				tc.spec.WebAppImage, tc.spec.DeploymentTier = s.WebAppImage, s.DeploymentTier
				*s = tc.spec
			})
			in := input{app: a}
			pods, err := in.template()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, in.watched(pods), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestPodsThatAreHeldBackKeepTheirWatcher(t *testing.T) {
	old := app(common.TierDev, func(s *v1alpha1.WebAppSpec) {
		s.RestartOnChange, s.EnvFrom = true, []corev1.EnvFromSource{whole(autorebootv1alpha1.SourceSecret, "old", false)}
	})
	next := old.DeepCopy()
	next.Spec.EnvFrom = []corev1.EnvFromSource{whole(autorebootv1alpha1.SourceSecret, "new", false)}
	for _, tc := range []struct {
		in   input
		want string
	}{
		{input{app: next, deployment: ours(t, old), keep: true}, "old"},
		{input{app: old, deployment: ours(t, old), next: next}, "old"},
		{input{app: next, deployment: ours(t, old)}, "new"},
		{input{app: next}, "new"},
		{input{app: next, keep: true}, ""},
	} {
		_, pods, err := tc.in.deploymentChildren()
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if w := tc.in.watcher(tc.in.watched(pods)); w != nil {
			got = w.Spec.Sources[0].Name
		}
		if got != tc.want {
			t.Errorf("kept %v, held back %v: watches %q, want %q", tc.in.keep, tc.in.next != nil, got, tc.want)
		}
	}
}

func TestAWatcherHasAsManySourcesAsItCan(t *testing.T) {
	a := app(common.TierDev, func(s *v1alpha1.WebAppSpec) {
		s.RestartOnChange = true
		for i := range 33 {
			s.EnvFrom = append(s.EnvFrom, whole(autorebootv1alpha1.SourceSecret, fmt.Sprint("s", i), false))
		}
	})
	pods, err := input{app: a}.template()
	if err != nil {
		t.Fatal(err)
	}
	w := input{app: a}.watcher(input{app: a}.watched(pods))
	if len(w.Spec.Sources) != 32 || w.Name != "web-webapp" || w.Spec.PodSelector[LabelWebApp] != "web" || len(w.Spec.PodSelector) != 1 {
		t.Errorf("got %d sources of %+v", len(w.Spec.Sources), w)
	}
}

func TestTheSecretOfTheDatabaseIsNotLeftOut(t *testing.T) {
	a := app(common.TierDev, func(s *v1alpha1.WebAppSpec) {
		s.RestartOnChange, s.DatabaseSecretRef = true, &v1alpha1.DatabaseSecretReference{Name: "z-db"}
		for i := range 33 {
			s.EnvFrom = append(s.EnvFrom, whole(autorebootv1alpha1.SourceSecret, fmt.Sprint("s", i), false))
		}
	})
	pods, err := input{app: a}.template()
	if err != nil {
		t.Fatal(err)
	}
	got := input{app: a}.watcher(input{app: a}.watched(pods)).Spec.Sources
	if len(got) != 32 || got[31].Name != "z-db" || got[30].Name == "z-db" {
		t.Errorf("got %d: %+v", len(got), got)
	}
}

func TestTheEnvironmentOfThePodsIsCounted(t *testing.T) {
	asked := app(common.TierDev, func(s *v1alpha1.WebAppSpec) { s.RestartOnChange = true })
	made := asked.DeepCopy()
	for i := range 33 {
		made.Spec.EnvFrom = append(made.Spec.EnvFrom, whole(autorebootv1alpha1.SourceSecret, fmt.Sprint("s", i), false))
	}
	r := &run{Scope: engine.Scope[*v1alpha1.WebApp]{Obj: asked}, in: input{app: made}}
	if out, err := r.checkWatcher(t.Context()); err != nil || out.Reason() != ReasonTooManySources {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestJudgeWatcher(t *testing.T) {
	for _, tc := range []struct {
		status metav1.ConditionStatus
		reason string
		goesOn bool
	}{
		{"", "", true},
		{metav1.ConditionTrue, "Ready", true},
		{metav1.ConditionUnknown, "NotReached", true},
		{metav1.ConditionFalse, "SourceMissing", true},
		{metav1.ConditionFalse, "KeyMissing", true},
		{metav1.ConditionFalse, "Suspended", false},
		{metav1.ConditionFalse, "RestartReverted", false},
		{metav1.ConditionFalse, "ProtectedNamespace", false},
	} {
		w := &autorebootv1alpha1.ConfigWatcher{ObjectMeta: metav1.ObjectMeta{Name: "web-webapp"}}
		if tc.reason != "" {
			w.Status.Conditions = []metav1.Condition{{Type: "UpToDate", Status: metav1.ConditionFalse}, {Type: "Ready", Status: tc.status, Reason: tc.reason, Message: "why"}}
		}
		if got := judgeWatcher(w); got.GoesOn() != tc.goesOn || !tc.goesOn && got.Reason() != tc.reason {
			t.Errorf("%s %s: got %+v", tc.status, tc.reason, got)
		}
	}
}
