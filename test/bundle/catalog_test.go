// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
)

// graph is what a catalog says of one channel.
type graph struct {
	Name    string
	Entries []struct{ Name, Replaces, SkipRange string }
}

// readCatalog reads the channels of a catalog, and the names of its bundles.
func readCatalog(t *testing.T, file string) (channels []graph, bundles []string, defaultChannel string) {
	t.Helper()
	for _, b := range readBlobs(t, file) {
		name, _ := b["name"].(string)
		switch b["schema"] {
		case "olm.package":
			defaultChannel, _ = b["defaultChannel"].(string)
		case "olm.channel":
			text, err := json.Marshal(b)
			if err != nil {
				t.Fatal(err)
			}
			var g graph
			if err := json.Unmarshal(text, &g); err != nil {
				t.Fatal(err)
			}
			channels = append(channels, g)
		case "olm.bundle":
			bundles = append(bundles, name)
		}
	}
	return channels, bundles, defaultChannel
}

// problems says what keeps OLM v0 from walking a channel version by version, or v1 from going straight to
// its newest one.
func (g graph) problems(bundles []string) []string {
	var wrong []string
	byName := map[string]int{}
	replaced := map[string]int{}
	for i, e := range g.Entries {
		if _, twice := byName[e.Name]; twice {
			wrong = append(wrong, e.Name+" is listed twice")
		}
		byName[e.Name] = i
		replaced[e.Replaces]++
		if !slices.Contains(bundles, e.Name) {
			wrong = append(wrong, e.Name+" has no bundle")
		}
	}
	heads := 0
	for _, e := range g.Entries {
		if replaced[e.Name] == 0 {
			heads++
		}
		wrong = append(wrong, g.problemsOf(e.Name, e.Replaces, e.SkipRange, byName)...)
	}
	if heads != 1 {
		wrong = append(wrong, fmt.Sprintf("it has %d heads", heads))
	}
	return wrong
}

// problemsOf looks at one version of the channel.
func (g graph) problemsOf(name, replaces, skipRange string, byName map[string]int) []string {
	var wrong []string
	own, err := versionOf(name)
	if err != nil {
		return []string{err.Error()}
	}
	if replaces == "" {
		if skipRange != "" || byName[name] != 0 {
			wrong = append(wrong, name+" replaces nothing, but is not the first")
		}
		return wrong
	}
	if _, found := byName[replaces]; !found {
		wrong = append(wrong, name+" replaces "+replaces+", which is not in the channel")
	}
	if v, err := versionOf(replaces); err != nil || v.GE(own) {
		wrong = append(wrong, name+" replaces "+replaces+", which is not older")
	}
	inRange, err := semver.ParseRange(skipRange)
	if err != nil {
		return append(wrong, fmt.Sprintf("%s skips %q: %v", name, skipRange, err))
	}
	if inRange(own) {
		wrong = append(wrong, name+" skips itself")
	}
	for _, e := range g.Entries {
		v, err := versionOf(e.Name)
		if err != nil {
			continue // reported where it is looked at
		}
		if v.LT(own) != inRange(v) {
			wrong = append(wrong, fmt.Sprintf("%s skips %q: wrong about %s", name, skipRange, e.Name))
		}
	}
	return wrong
}

func versionOf(name string) (semver.Version, error) {
	return semver.Parse(strings.TrimPrefix(name, packageName+".v"))
}

// Test_check_upgrade_graph_loop and its like in the pipelines: dangling bundles, versions that replace what is
// not there.
func Test_check_upgrade_graph_loop(t *testing.T) {
	channels, bundles, defaultChannel := readCatalog(t, repo("catalog", packageName, "catalog.yaml"))
	listed := map[string]bool{}
	var names []string
	for _, g := range channels {
		names = append(names, g.Name)
		for _, problem := range g.problems(bundles) {
			t.Errorf("channel %s: %s", g.Name, problem)
		}
		for _, e := range g.Entries {
			listed[e.Name] = true
		}
	}
	for _, b := range bundles {
		if !listed[b] {
			t.Errorf("%s is in no channel", b)
		}
	}
	if slices.Sort(names); !slices.Equal(names, []string{"candidate", "stable"}) || defaultChannel != "stable" {
		t.Errorf("the channels are %v, the default is %s", names, defaultChannel)
	}
	a := readAnnotations(t)
	if a["operators.operatorframework.io.bundle.channels.v1"] != "stable,candidate" ||
		a["operators.operatorframework.io.bundle.channel.default.v1"] != defaultChannel {
		t.Errorf("the bundle says otherwise: %v", a)
	}
}

// TestProblems shows that the check above sees what it speaks of.
func TestProblems(t *testing.T) {
	entry := func(version, replaces, skips string) struct{ Name, Replaces, SkipRange string } {
		e := struct{ Name, Replaces, SkipRange string }{Name: packageName + ".v" + version, SkipRange: skips}
		if replaces != "" {
			e.Replaces = packageName + ".v" + replaces
		}
		return e
	}
	bundles := []string{packageName + ".v0.1.0", packageName + ".v0.2.0", packageName + ".v0.3.0"}
	first, second := entry("0.1.0", "", ""), entry("0.2.0", "0.1.0", ">=0.1.0 <0.2.0")
	for reason, row := range map[string]struct {
		third    struct{ Name, Replaces, SkipRange string }
		problems int
	}{
		"right":                      {entry("0.3.0", "0.2.0", ">=0.1.0 <0.3.0"), 0},
		"replaces what is not there": {entry("0.3.0", "0.2.5", ">=0.1.0 <0.3.0"), 2},
		"a second head":              {entry("0.3.0", "0.1.0", ">=0.1.0 <0.3.0"), 1},
		"a loop":                     {entry("0.3.0", "0.3.0", ">=0.1.0 <0.3.0"), 1},
		"skips itself":               {entry("0.3.0", "0.2.0", ">=0.1.0"), 2},
		"leaves one out":             {entry("0.3.0", "0.2.0", ">=0.2.0 <0.3.0"), 1},
		"no range":                   {entry("0.3.0", "0.2.0", "x"), 1},
		"starts again":               {entry("0.3.0", "", ""), 2},
		"without a bundle":           {entry("0.4.0", "0.2.0", ">=0.1.0 <0.4.0"), 1},
		"listed twice":               {entry("0.2.0", "0.1.0", ">=0.1.0 <0.2.0"), 2},
	} {
		g := graph{Name: "stable"}
		g.Entries = append(g.Entries, first, second, row.third)
		if got := g.problems(bundles); len(got) != row.problems {
			t.Errorf("%s: want %d problems, got %q", reason, row.problems, got)
		}
	}
}

// Test_check_olm_bundle_object_in_fbc: newer OpenShift takes no catalogs with manifests in them.
func Test_check_olm_bundle_object_in_fbc(t *testing.T) {
	for _, b := range readBlobs(t, repo("catalog", packageName, "catalog.yaml")) {
		if b["schema"] != "olm.bundle" {
			continue
		}
		if image, _ := b["image"].(string); image == "" {
			t.Errorf("%v names no image", b["name"])
		}
		properties, _ := b["properties"].([]any)
		for _, p := range properties {
			if property, _ := p.(map[string]any); property["type"] == "olm.bundle.object" {
				t.Errorf("%v has manifests in it", b["name"])
			}
		}
	}
}
