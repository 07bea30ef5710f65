// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/scheduling"
)

var update = flag.Bool("update", false, "write the golden files of this package again")

const (
	namespace = "platform-operator-system"
	image     = "registry.acme.com/kube-scheduler:v1.36.3"
)

func named(name string, with ...func(*v1alpha1.SchedulerProfileSpec)) *v1alpha1.SchedulerProfile {
	p := &v1alpha1.SchedulerProfile{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.SchedulerProfileSpec{
		Profiles: []v1alpha1.Profile{{SchedulerName: "selective", Nodes: &v1alpha1.Nodes{LabelKeys: []v1alpha1.LabelKey{"selectable"}}}},
	}}
	for _, w := range with {
		w(&p.Spec)
	}
	return p
}

func everything(s *v1alpha1.SchedulerProfileSpec) {
	s.Replicas, s.RetryAfter = new(int32(3)), &metav1.Duration{Duration: 90 * time.Second}
	s.Image, s.ServiceAccountName, s.PriorityClassName = "registry.acme.com/own:v1", "with-more-rights", "system-cluster-critical"
	s.NodeSelector = map[string]string{"node-role.kubernetes.io/control-plane": ""}
	s.Tolerations = []corev1.Toleration{
		{Operator: corev1.TolerationOpExists},
		{Key: "a", Value: "b", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(5))},
	}
	s.Resources = corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse("100m")}, Limits: corev1.ResourceList{"memory": resource.MustParse("256Mi")},
	}
}

func program(s *v1alpha1.SchedulerProfileSpec) {
	s.Profiles = []v1alpha1.Profile{{SchedulerName: "mine"}, {SchedulerName: "mine-too"}}
	s.Program = &v1alpha1.Program{Image: "registry.acme.com/mine:v1", Command: []string{"/mine"}, Args: []string{"--fast"}}
}

// inputFor is the input of an object with a scheduler of 1.36.
func inputFor(t *testing.T, p *v1alpha1.SchedulerProfile) input {
	t.Helper()
	in := input{profile: p, namespace: namespace}
	if p.Spec.Program != nil {
		return in
	}
	var err error
	if in.config, err = scheduling.Config(&p.Spec, lease(p, namespace), scheduling.Of(&p.Spec, 36)); err != nil {
		t.Fatal(err)
	}
	if in.image = image; p.Spec.Image != "" {
		in.image = p.Spec.Image
	}
	return in
}

func TestChildren(t *testing.T) {
	for name, p := range map[string]*v1alpha1.SchedulerProfile{
		"least": named("gpu"), "everything": named("gpu", everything), "program": named("mine", program),
		"single": named("a.long.name-with.dots", func(s *v1alpha1.SchedulerProfileSpec) { s.Replicas = new(int32(1)) }),
	} {
		t.Run(name, func(t *testing.T) {
			in := inputFor(t, p)
			var docs []string
			add := func(child any) {
				text, err := yaml.Marshal(child)
				if err != nil {
					t.Fatal(err)
				}
				docs = append(docs, string(text))
			}
			if c := in.configMap(); c != nil {
				add(c)
			}
			add(in.deployment())
			if b := in.budget(); b != nil {
				add(b)
			}
			if s := in.service(); s != nil {
				add(s)
			}
			if n := len(desired(in)); n != len(docs) {
				t.Errorf("desired gives %d children; %d are checked here", n, len(docs))
			}
			got, file := strings.Join(docs, "---\n"), filepath.Join("testdata", "children", name+".yaml")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got, or run with -update:\n%s", diff)
			}
		})
	}
}

// TestFormerConfiguration: the ConfigMap of pods that still run is kept, and is not the wanted one.
func TestFormerConfiguration(t *testing.T) {
	for name, p := range map[string]*v1alpha1.SchedulerProfile{"kube-scheduler": named("gpu"), "a program": named("mine", program)} {
		in := inputFor(t, p)
		without := len(desired(in))
		p.Status.ServingHash = "0123456789"
		pods := []pod{{hash: "aaaaaaaaaa", ready: true}, {hash: "bbbbbbbbbb"}, {hash: in.hash(), ready: true}, {hash: "0123456789", ready: true}, {ready: true}}
		in.former = formerOf(p, in.hash(), pods, []string{"cccccccccc", "", in.hash(), "aaaaaaaaaa"})
		if diff := cmp.Diff([]string{"0123456789", "aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc"}, in.former); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if len(desired(in)) != without+4 {
			t.Errorf("%s: the former ConfigMaps are not kept", name)
		}
		p.Status.ServingHash = in.hash()
		if in.former = formerOf(p, in.hash(), nil, nil); len(in.former) > 0 {
			t.Errorf("%s: %v are kept although no pod has them", name, in.former)
		}
	}
}

// TestNames: no object's Lease is the default scheduler's, and no two objects have a child of the same name.
func TestNames(t *testing.T) {
	owner := map[string]string{}
	for _, name := range []string{
		"kube", "kube-scheduler", "default", "platform-operator", "a", "a-schedulerprofile", "a.b", "a-b", strings.Repeat("a", 63),
		strings.Repeat("a", 64), strings.Repeat("a", 253), "schedulerprofile",
	} {
		p := named(name)
		hash := names.Digest(name)
		if got := lease(p, "kube-system"); got.Name == "kube-scheduler" || got.Namespace != "kube-system" {
			t.Errorf("the Lease of %s is %v", name, got)
		}
		for _, child := range []string{childName(p), configName(p, hash)} {
			if other, taken := owner[child]; taken || len(child) > 63 {
				t.Errorf("%s of %s is a child of %s, too, or too long", child, name, other)
			}
			owner[child] = name
		}
		if !strings.HasSuffix(childName(p), "-"+Name) {
			t.Errorf("the Lease %s could not be recognized", childName(p))
		}
		if !isConfigName(p, configName(p, hash)) || isConfigName(p, configName(named(name+"x"), hash)) || isConfigName(p, childName(p)) {
			t.Errorf("the name %s is not recognized", configName(p, hash))
		}
	}
}

// TestRolls: what makes other pods, and what does not.
func TestRolls(t *testing.T) {
	template := func(with ...func(*v1alpha1.SchedulerProfileSpec)) string {
		text, err := yaml.Marshal(inputFor(t, named("gpu", with...)).deployment().Spec.Template)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for name, c := range map[string]struct {
		with  func(*v1alpha1.SchedulerProfileSpec)
		rolls bool
	}{
		"a rule":      {func(s *v1alpha1.SchedulerProfileSpec) { s.Profiles[0].Nodes.LabelKeys[0] = "other" }, true},
		"retryAfter":  {func(s *v1alpha1.SchedulerProfileSpec) { s.RetryAfter = &metav1.Duration{Duration: time.Minute} }, true},
		"its default": {func(s *v1alpha1.SchedulerProfileSpec) { s.RetryAfter = &metav1.Duration{Duration: 30 * time.Second} }, false},
		"an image":    {func(s *v1alpha1.SchedulerProfileSpec) { s.Image = "other" }, true},
		"replicas":    {func(s *v1alpha1.SchedulerProfileSpec) { s.Replicas = new(int32(3)) }, false},
		"routing": {func(s *v1alpha1.SchedulerProfileSpec) {
			s.Routing = &v1alpha1.Routing{Profile: "selective", NamespaceLabels: map[string]v1alpha1.LabelValue{"a": "b"}}
		}, false},
	} {
		if rolls := template(c.with) != template(); rolls != c.rolls {
			t.Errorf("%s rolls the pods: %t", name, rolls)
		}
	}
}
