// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
)

// image is a spec of a version.
func image(to string) func(*v1alpha1.WebAppSpec) {
	return func(s *v1alpha1.WebAppSpec) { s.WebAppImage = to }
}

// on is a version on record of an object whose spec may have changed since.
func on(t *testing.T, a *v1alpha1.WebApp, spec v1alpha1.WebAppSpec) version {
	t.Helper()
	v, err := versionOf(a, contentIn(t, spec))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestWhatTheChildrenAreMadeFrom(t *testing.T) {
	a := app(common.TierDev, image("spec"))
	wanted, present := on(t, a, app(common.TierDev, image("wanted")).Spec), on(t, a, app(common.TierDev, image("present")).Spec)
	for _, tc := range []struct {
		why             string
		wanted, present version
		held            bool
		app, next       string
		keep, recorded  bool
	}{
		{"nothing holds it back", wanted, version{}, false, "wanted", "", false, true},
		{"it is held back, and another one has pods", wanted, present, true, "present", "wanted", false, true},
		{"it is held back, and has pods already", wanted, wanted, true, "wanted", "", false, true},
		{"it is held back, and is the first", wanted, version{}, true, "wanted", "", true, false},
		{"there is none, and another one has pods", version{}, present, true, "present", "", false, true},
		{"there is none at all", version{}, version{}, true, "spec", "", true, false},
	} {
		in, next := lead(a, tc.wanted, tc.present, tc.held), ""
		if in.next != nil {
			next = in.next.Spec.WebAppImage
		}
		if got := in.app.Spec.WebAppImage; got != tc.app || next != tc.next || in.keep != tc.keep || (in.content.hash != "") != tc.recorded {
			t.Errorf("%s: made from %q, held back %q, kept %v, recorded %q", tc.why, got, next, in.keep, in.content.hash)
		}
		if in.content.hash != "" && in.content.hash != contentIn(t, in.app.Spec).hash {
			t.Errorf("%s: what is recorded is not what is made", tc.why)
		}
	}
}

// aspects are what can be told of the children of a WebApp, and whether it follows from the spec at all times (false), or from
// the version that the pods are made from (true).
func aspects(t *testing.T) map[string]struct {
	ofPods bool
	of     func(input) any
} {
	deployment := func(in input, of string) any {
		d, err := in.deploymentIntent()
		if err != nil {
			t.Fatal(err)
		}
		spec := d.Spec.Template.Spec
		return map[string]any{
			"template": d.Spec.Template, "image": spec.Containers[0].Image, "ports": spec.Containers[0].Ports, "resources": spec.Containers[0].Resources,
			"replicas": d.Spec.Replicas, "strategy": d.Spec.Strategy, "history": d.Spec.RevisionHistoryLimit,
		}[of]
	}
	type aspect = struct {
		ofPods bool
		of     func(input) any
	}
	all := map[string]aspect{
		"ports of the Service": {true, func(in input) any { return in.service() }},
		"sources that are watched": {true, func(in input) any {
			_, pods, err := in.deploymentChildren()
			if err != nil {
				t.Fatal(err)
			}
			return in.watched(pods)
		}},
		"the NetworkPolicy":     {false, func(in input) any { return hasKind(t, in, "NetworkPolicy") }},
		"the autoscaler":        {false, func(in input) any { return in.autoscaler() }},
		"the disruption budget": {false, func(in input) any { return in.budget() }},
		"the Ingress":           {false, func(in input) any { return in.ingress() }},
	}
	for _, of := range []string{"template", "image", "ports", "resources"} {
		all[of+" of the Deployment"] = aspect{true, func(in input) any { return deployment(in, of) }}
	}
	for _, of := range []string{"replicas", "strategy", "history"} {
		all[of+" of the Deployment"] = aspect{false, func(in input) any { return deployment(in, of) }}
	}
	return all
}

// kinds are the names of the children, with their types.
func kinds(t *testing.T, in input) (all []string) {
	t.Helper()
	children, err := in.recorded(desired(in))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range children {
		all = append(all, c.String())
	}
	return all
}

func hasKind(t *testing.T, in input, kind string) bool {
	t.Helper()
	return slices.ContainsFunc(kinds(t, in), func(name string) bool { return strings.HasPrefix(name, kind+" ") })
}

func TestWhileAVersionIsHeldBackThePodsStayAndTheRestFollowsTheSpec(t *testing.T) {
	then, now := app(common.TierDev, everything, func(s *v1alpha1.WebAppSpec) {
		s.WebAppReplicas, s.Autoscaling = new(int32(1)), &v1alpha1.Autoscaling{Max: 3}
	}), app(common.TierStg, func(s *v1alpha1.WebAppSpec) {
		s.WebAppImage, s.WebAppHostname, s.Isolation, s.WebAppReplicas = "a:v2", "b.acme.com", v1alpha1.IsolationNone, new(int32(7))
		s.Ports, s.EnvFrom = []v1alpha1.Port{{Name: "dns", Port: 53}}, []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{}}}
		s.EnvFrom[0].SecretRef.Name, s.RestartOnChange = "new", true
		s.Autoscaling, s.Strategy = &v1alpha1.Autoscaling{Min: new(int32(4)), Max: 5}, &v1alpha1.Strategy{Type: v1alpha1.StrategyRecreate}
		s.RevisionHistoryLimit, s.MaxUnavailable, s.Config = new(int32(9)), new(intstr.FromInt32(3)), map[string]v1alpha1.FileContent{"c.ini": "z=3"}
	})
	in := lead(now, on(t, now, now.Spec), on(t, now, then.Spec), true)
	text := func(v any) string {
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	for name, a := range aspects(t) {
		old, young := text(a.of(input{app: then})), text(a.of(input{app: now}))
		want := young
		if a.ofPods {
			want = old
		}
		if got := text(a.of(in)); got != want || old == young {
			t.Errorf("%s: got %s\nof the pods %s\nof the spec %s", name, got, old, young)
		}
	}
	got := kinds(t, in)
	for _, want := range []string{
		"ConfigMap shop/" + configName(then), "ConfigMap shop/" + configName(now), "ServiceAccount shop/web",
		"ControllerRevision shop/" + revisionName(then, contentIn(t, then.Spec).hash),
	} {
		if !slices.Contains(got, want) {
			t.Errorf("there is no %s, which pods or the migration need: %v", want, got)
		}
	}
	if len(got) != len(slices.Compact(slices.Sorted(slices.Values(got)))) {
		t.Errorf("a child is there twice: %v", got)
	}
}

func TestVersionsShareTheirFiles(t *testing.T) {
	a := app(common.TierDev, func(s *v1alpha1.WebAppSpec) { s.Config = map[string]v1alpha1.FileContent{"a": "b"} })
	next := a.DeepCopy()
	next.Spec.WebAppImage = "a:v2"
	if got := (input{app: a, next: next}).files(); len(got) != 1 {
		t.Errorf("got %d", len(got))
	}
	if got := (input{app: app(common.TierDev), next: app(common.TierStg)}).files(); len(got) != 0 {
		t.Error(fmt.Sprintf("got %d", len(got)), "although there are none")
	}
}
