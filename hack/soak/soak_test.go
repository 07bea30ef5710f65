// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// result of a soak.
type outcome struct {
	results
	text, folder string
	err          error
}

// try runs a toy.
func try(t *testing.T, o options) outcome {
	t.Helper()
	return tryUntil(t.Context(), t, o)
}

func tryUntil(ctx context.Context, t *testing.T, o options) outcome {
	t.Helper()
	folder := t.TempDir()
	o.report, o.jobs, o.load = filepath.Join(folder, "soak.json"), 2, 1
	if o.timeout == 0 {
		o.timeout, o.grace = 20*time.Minute, time.Minute
	}
	b := &strings.Builder{}
	got := outcome{folder: folder, err: soak(ctx, b, o)}
	got.text = b.String()
	if text, err := os.ReadFile(o.report); err == nil {
		if err := json.Unmarshal(text, &got.results); err != nil {
			t.Error(err)
		}
	}
	return got
}

// expect compares the results: how often each spec ran, and for which seeds it failed, sorted by name.
func (o outcome) expect(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, r := range o.Specs {
		got = append(got, fmt.Sprint(r.Spec, ": ", r.Runs, " ", r.Seeds))
		if r.Failures != len(r.Seeds) || r.Median > r.Slowest {
			t.Errorf("got %+v", r)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q\n%s\n%v", got, want, o.text, o.err)
	}
}

func TestTestsOfGo(t *testing.T) {
	o := try(t, options{pkg: "./testdata/plain", runs: 4})
	o.expect(t, "(the whole run): 4 [3]", "TestFailsForThree: 4 [3]", "TestPasses: 4 []")
	if o.Specs[0].Failures != 1 || o.Specs[2].Spec != "TestPasses" {
		t.Errorf("the worst are not first: %+v", o.Specs)
	}
	if o.err == nil || o.err.Error() != "1 of 4 runs failed" || !slices.Equal(o.Failed, []int{3}) {
		t.Errorf("got %v, %v", o.Failed, o.err)
	}
	again := "again: SEED=3 LABELS= go test -count=1 -vet=off -ldflags='-s -w' -timeout=20m0s ./testdata/plain\n"
	if !strings.Contains(o.text, again) {
		t.Errorf("no %q in:\n%s", again, o.text)
	}
	if log, err := os.ReadFile(filepath.Join(o.folder, "soak", "3.log")); err != nil || !strings.Contains(string(log), "as it has to") {
		t.Errorf("%s, %v", log, err)
	}
}

func TestSpecs(t *testing.T) {
	o := try(t, options{pkg: "./testdata/specs", runs: 3})
	o.expect(t, "(the whole run): 3 [3]", "A toy fails for three: 3 [3]", "A toy passes: 3 []", "TestSpecs: 3 [3]")
	o = try(t, options{pkg: "./testdata/specs", runs: 3, focus: "toy passes"})
	o.expect(t, "(the whole run): 3 []", "A toy passes: 3 []", "TestSpecs: 3 []")
	o = try(t, options{pkg: "./testdata/specs", runs: 3, labels: "!Three"})
	o.expect(t, "(the whole run): 3 []", "A toy passes: 3 []", "TestSpecs: 3 []")
	if o.err != nil {
		t.Error(o.err)
	}
}

func TestARunThatHangsFails(t *testing.T) {
	t.Setenv("TOY_HANGS", filepath.Join(t.TempDir(), "child"))
	o := try(t, options{pkg: "./testdata/plain", runs: 1, focus: "TestHangs", timeout: 5 * time.Second, grace: time.Minute})
	o.expect(t, "(the whole run): 1 [1]", "TestHangs: 1 [1]")
	o = try(t, options{pkg: "./testdata/stuck", runs: 1, timeout: time.Second, grace: time.Second})
	o.expect(t, "(the whole run): 1 [1]")
	if !strings.Contains(o.text, "it did not end by itself after 1s: signal: killed") {
		t.Error(o.text)
	}
}

func TestNothingIsLeftOfWhatIsInterrupted(t *testing.T) {
	g := NewWithT(t)
	child := filepath.Join(t.TempDir(), "child")
	t.Setenv("TOY_HANGS", child)
	ctx, cancel := context.WithCancel(t.Context())
	pid := func() string {
		text, _ := os.ReadFile(child)
		return string(text)
	}
	go func() {
		defer cancel()
		NewWithT(t).Eventually(pid, "2m").ShouldNot(BeEmpty())
	}()
	o := tryUntil(ctx, t, options{pkg: "./testdata/plain", runs: 1})
	g.Expect(o.err).To(MatchError(context.Canceled))
	g.Eventually(func() string {
		command, _ := os.ReadFile(filepath.Join("/proc", pid(), "cmdline")) // empty when it has ended
		return string(command)
	}, "2m").Should(BeEmpty())
	o.expect(t)
}

func TestFailsWhenNothingIsRun(t *testing.T) {
	for want, o := range map[string]options{
		"nothing is selected":           {pkg: "./testdata/plain", focus: "NoSuchTest"},
		"is not one package with tests": {pkg: "../../internal/testenv/paging"},
		"finding the package":           {pkg: "./missing"},
	} {
		o.runs = 1
		if got := try(t, o); got.err == nil || !strings.Contains(got.err.Error(), want) {
			t.Errorf("got %v, not %q", got.err, want)
		}
	}
}
