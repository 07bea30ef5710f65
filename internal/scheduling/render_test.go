// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files of this package again")

func render1(t *testing.T, spec *v1alpha1.SchedulerProfileSpec, s Scheduler) string {
	t.Helper()
	text, err := Config(spec, lease, s)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestGolden renders every case for every minor version, and for one that is not known. Versions with the same configuration are
// together in the file.
func TestGolden(t *testing.T) {
	var files []string
	for name, spec := range cases {
		files = append(files, name+".yaml")
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			before := ""
			for minor := oldest; minor <= newest+1; minor++ {
				s, of := Scheduler{Minor: minor}, fmt.Sprintf("1.%d", minor)
				if minor > newest {
					s, of = Scheduler{}, "an unknown version"
				}
				text := render1(t, spec, s)
				if text != before {
					fmt.Fprintf(&got, "---\n# from %s\n%s", of, text)
				}
				before = text
			}
			file := filepath.Join("testdata", "config", name+".yaml")
			if *update {
				if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s, -want +got:\n%s", file, diff)
			}
		})
	}
	found, err := filepath.Glob(filepath.Join("testdata", "config", "*.yaml"))
	if err != nil || len(found) != len(files) {
		t.Errorf("there are %d golden files for %d cases: %v", len(found), len(files), err)
	}
}

// constants are the values that may be in a configuration although they are not in the spec.
var constants = []string{
	"kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration", "true", lease.Namespace, lease.Name,
	"Exists", "List", "LeastAllocated", "MostAllocated", nodeAffinity, nodeResourcesFit, podTopologySpread, defaultPreemption,
}

// TestRendersWhatWasSet: of random specs, every value in the configuration is in the spec or a constant, a constant is there only if
// its field is set, and every value in the spec is in the configuration.
func TestRendersWhatWasSet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		spec, s := randomSpec(r), Scheduler{Minor: oldest + r.IntN(newest-oldest+1)}
		text := render1(t, spec, s)
		if again := render1(t, spec, s); again != text {
			t.Fatalf("two configurations of one spec:\n%s\n%s", text, again)
		}
		var config object
		if err := yaml.Unmarshal([]byte(text), &config); err != nil {
			t.Fatal(err)
		}
		given, _ := json.Marshal(spec.Profiles)
		var profiles any
		if err := json.Unmarshal(given, &profiles); err != nil {
			t.Fatal(err)
		}
		asked, got := leaves(profiles, true), leaves(config, false)
		for _, leaf := range got {
			if !slices.Contains(asked, leaf) && !slices.Contains(constants, leaf) {
				t.Fatalf("%s comes from nowhere in\n%s\nof\n%s", leaf, text, given)
			}
		}
		for _, leaf := range leaves(profiles, false) {
			if !slices.Contains(got, leaf) && !slices.Contains([]string{"Balanced", "BinPacking", "Enabled", "Disabled", "0"}, leaf) {
				t.Fatalf("%s of\n%s\nis lost in\n%s", leaf, given, text)
			}
		}
		checkConstants(t, spec, config, text)
	}
}

// checkConstants wants each part of a profile exactly if its field is set.
func checkConstants(t *testing.T, spec *v1alpha1.SchedulerProfileSpec, config object, text string) {
	t.Helper()
	if diff := cmp.Diff([]string{"apiVersion", "kind", "leaderElection", "profiles"}, slices.Sorted(maps.Keys(config))); diff != "" {
		t.Fatalf("fields, -want +got:\n%s", diff)
	}
	want := object{"leaderElect": true, "resourceNamespace": lease.Namespace, "resourceName": lease.Name}
	if diff := cmp.Diff(want, config["leaderElection"].(object)); diff != "" {
		t.Fatalf("leader election, -want +got:\n%s", diff)
	}
	for i, item := range config["profiles"].(list) {
		p, rendered := spec.Profiles[i], item.(object)
		_, percentage := rendered["percentageOfNodesToScore"]
		points, _ := rendered["plugins"].(object)
		var configured []string
		configs, _ := rendered["pluginConfig"].(list)
		for _, c := range configs {
			configured = append(configured, c.(object)["name"].(string))
		}
		for what, is := range map[string][2]bool{
			"the name":       {true, rendered["schedulerName"] == p.SchedulerName},
			"the percentage": {p.PercentageOfNodesToScore != nil, percentage},
			"weights":        {len(p.Weights) > 0, points[score] != nil},
			"preemption":     {p.Preemption == v1alpha1.Disabled, points[postFilter] != nil},
			"nodes":          {p.Nodes != nil, slices.Contains(configured, nodeAffinity)},
			"the strategy":   {p.Strategy != "" || len(p.Resources) > 0, slices.Contains(configured, nodeResourcesFit)},
			"spread":         {len(p.Spread) > 0, slices.Contains(configured, podTopologySpread)},
			"plugins":        {len(p.Weights) > 0 || p.Preemption == v1alpha1.Disabled, rendered["plugins"] != nil},
		} {
			if is[0] != is[1] {
				t.Fatalf("%s of profile %d is set: %t, and rendered: %t\n%s", what, i, is[0], is[1], text)
			}
		}
	}
}

// leaves are the values in a tree, and the keys of its objects if these are asked for.
func leaves(tree any, keys bool) (all []string) {
	switch x := tree.(type) {
	case object:
		for k, v := range x {
			if keys {
				all = append(all, k)
			}
			// The weights of plugins are an object in the spec, a list in the configuration.
			all = append(all, leaves(v, keys)...)
		}
	case list:
		for _, v := range x {
			all = append(all, leaves(v, keys)...)
		}
	default:
		all = append(all, fmt.Sprint(x))
	}
	return all
}

func randomSpec(r *rand.Rand) *v1alpha1.SchedulerProfileSpec {
	out := &v1alpha1.SchedulerProfileSpec{}
	for i := range 1 + r.IntN(8) {
		p := v1alpha1.Profile{SchedulerName: fmt.Sprintf("s%d-%d", i, r.IntN(100))}
		maybe := func(set func()) {
			if r.IntN(3) == 0 {
				set()
			}
		}
		word := func() string { return []string{"y", "no", "~", "0x1f", "1e9", ".5", "null", "a-b", "true"}[r.IntN(9)] }
		maybe(func() { p.Nodes = &v1alpha1.Nodes{LabelKeys: []v1alpha1.LabelKey{v1alpha1.LabelKey("k" + word())}} })
		maybe(func() {
			p.Nodes = &v1alpha1.Nodes{Expressions: []v1alpha1.NodeExpression{
				{Key: v1alpha1.LabelKey(word()), Operator: corev1.NodeSelectorOpIn, Values: []v1alpha1.LabelValue{v1alpha1.LabelValue(word())}},
			}}
		})
		maybe(func() { p.Strategy = []v1alpha1.Strategy{v1alpha1.Balanced, v1alpha1.BinPacking}[r.IntN(2)] })
		maybe(func() { p.Resources = []v1alpha1.Resource{{Name: word(), Weight: 1 + r.Int32N(100)}} })
		maybe(func() { spread(&p) })
		maybe(func() {
			p.Weights = map[v1alpha1.ScorePlugin]v1alpha1.Weight{"NodeAffinity": v1alpha1.Weight(r.IntN(101))}
		})
		maybe(func() { p.Preemption = []v1alpha1.Switch{v1alpha1.Disabled, v1alpha1.Enabled}[r.IntN(2)] })
		maybe(func() { p.PercentageOfNodesToScore = new(r.Int32N(101)) })
		out.Profiles = append(out.Profiles, p)
	}
	return out
}

// TestEqualSets: the order of what is a set in the spec makes no other configuration, which would replace the scheduler.
func TestEqualSets(t *testing.T) {
	a := render1(t, spec(labelKeys("a", "b"), spread), Scheduler{Minor: 36})
	b := render1(t, spec(labelKeys("b", "a"), func(p *v1alpha1.Profile) { spread(p); slices.Reverse(p.Spread) }), Scheduler{Minor: 36})
	if a != b {
		t.Errorf("-one +other:\n%s", cmp.Diff(a, b))
	}
}
