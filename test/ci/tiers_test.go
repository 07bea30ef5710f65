// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ci

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/acme/platform-operator/internal/testenv/limit"
)

// Targets of the Makefile that check something and are in neither tier, and why.
var untiered = map[string]string{
	"affected":  "shows what the gate would do",
	"quick":     "a part of the gate, for the time before a commit",
	"gate":      "is the gate",
	"check-all": "is the shards",
	"bench":     "bench-check is in a shard; this prints figures of a longer run",
	"fmt":       "lint fails on what it would change",
	"vet":       "a part of lint",
}

// Every target that checks something is asked for by the gate or by a shard, or says why not.
func TestEveryTargetHasATier(t *testing.T) {
	tiered := slices.Clone(gateTargets)
	for _, targets := range shardTargets {
		tiered = append(tiered, targets...)
	}
	targets := documented(t, "Test")
	if len(targets) < 15 {
		t.Fatalf("the Makefile's section Test has only these targets: %v", targets)
	}
	for _, target := range append(targets, "fmt", "vet", "lint", "verify", "site", "image", "plugin", "bundle-check", "catalog-validate", "demo") {
		in, why := slices.Contains(tiered, target), untiered[target]
		switch {
		case !in && why == "":
			t.Errorf("make %s is in no tier: ask for it in .ci/run or hack/check-all.sh, or say in untiered why not", target)
		case in && why != "":
			t.Errorf("make %s is in a tier, and untiered says %q", target, why)
		}
	}
}

// documented are the targets with a description in a section of the Makefile.
func documented(t *testing.T, section string) []string {
	t.Helper()
	_, rest, _ := strings.Cut(makefile(t), "\n##@ "+section+"\n")
	rest, _, _ = strings.Cut(rest, "\n##@ ")
	var targets []string
	for _, m := range regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):.*## `).FindAllStringSubmatch(rest, -1) {
		targets = append(targets, m[1])
	}
	return targets
}

func makefile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every spec is in a tier, whatever labels it has: in the gate if it has none of the labels, else in a shard.
func TestEverySpecHasATier(t *testing.T) {
	variable := func(pattern string) string {
		m := regexp.MustCompile(`(?m)^` + pattern + `(.*)$`).FindStringSubmatch(makefile(t))
		if m == nil {
			t.Fatalf("the Makefile has no line like %s", pattern)
		}
		return m[1]
	}
	gate, others := variable(`GATE_LABELS := `), variable(`test-slow: export LABELS := `)
	if variable(`LABELS \?= `) != "$(GATE_LABELS)# label filter of the specs to run; LABELS= runs all" {
		t.Error("make test selects something else than the gate")
	}
	script, err := os.ReadFile("../../hack/check-all.sh")
	if err != nil {
		t.Fatal(err)
	}
	var shard []string
	for _, m := range regexp.MustCompile(`make test-guarantees LABELS='?([^' ]+)`).FindAllStringSubmatch(string(script), -1) {
		shard = append(shard, m[1])
	}
	all := []string{limit.Slow, limit.Timed, limit.Random, limit.Flaky}
	for set := range 1 << len(all) {
		labels := []string{"G1", "CronTab"} // others decide nothing
		for i, label := range all {
			if set&(1<<i) != 0 {
				labels = append(labels, label)
			}
		}
		if got, want := selects(t, gate, labels), set == 0; got != want {
			t.Errorf("the gate runs what has the labels %v: %t, want %t", labels, got, want)
		}
		if selects(t, gate, labels) == selects(t, others, labels) {
			t.Errorf("of the packages, what has the labels %v is in both tiers, or in none", labels)
		}
		if !slices.ContainsFunc(shard, func(filter string) bool { return selects(t, filter, labels) }) {
			t.Errorf("all-guarantees with %v leaves out what has the labels %v", shard, labels)
		}
	}
}

func selects(t *testing.T, filter string, labels []string) bool {
	t.Helper()
	f, err := types.ParseLabelFilter(filter)
	if err != nil {
		t.Fatalf("%q: %v", filter, err)
	}
	return f(labels)
}
