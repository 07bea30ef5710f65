// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acme/platform-operator/hack/affected/change"
)

// Each package of the toy module fails in a way of its own. flaky and touched pass the second time.
var toy = map[string]string{
	"go.mod":         "module example.com/toy\n\ngo 1.26.0\n",
	"good/a.go":      "package good\n",
	"good/a_test.go": "package good\n\nimport \"testing\"\n\nfunc TestGood(*testing.T) {}\n",
	"bad/a.go":       "package bad\n",
	"bad/a_test.go":  "package bad\n\nimport \"testing\"\n\nfunc TestBad(t *testing.T) { t.Run(\"part\", func(t *testing.T) { t.Error(\"always\") }) }\n",
	"flaky/a.go":     "package flaky\n", "flaky/a_test.go": secondTime("flaky"),
	"touched/a.go": "package touched\n", "touched/a_test.go": secondTime("touched"),
	"broken/a.go": "package broken\n", "broken/a_test.go": "package broken\n\nvar _ = nothing\n",
}

func secondTime(pkg string) string {
	return "package " + pkg + `

import (
	"os"
	"testing"
)

func TestSecondTime(t *testing.T) {
	marker := os.Getenv("MARKERS") + "/` + pkg + `"
	if _, err := os.Stat(marker); err != nil {
		os.WriteFile(marker, nil, 0o600)
		t.Error("the first time")
	}
}
`
}

// What fails runs once more, alone, unless the change touches its package or it does not compile; what passes then is a flake.
func TestSecondRun(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	t.Setenv("MARKERS", t.TempDir())
	t.Setenv("GOFLAGS", "")
	for name, text := range toy {
		write(t, filepath.Join(dir, name), text)
	}
	git(t, dir, "init", "--quiet")
	git(t, dir, "add", "--all")
	git(t, dir, "commit", "--quiet", "--message", "toy")
	write(t, filepath.Join(cache, "green"), git(t, dir, "rev-parse", "HEAD^{tree}"))
	write(t, filepath.Join(dir, "touched/a.go"), "package touched // by the change\n")

	out, err := os.Create(filepath.Join(cache, "out"))
	if err != nil {
		t.Fatal(err)
	}
	run := tests{out: out, began: time.Now(), atOnce: 2, cache: cache}
	if run.change, err = change.Since(dir, filepath.Join(cache, "green")); err != nil {
		t.Fatal(err)
	}
	failed, err := run.goTest(t.Context(), dir, "./...")
	if err != nil {
		t.Fatal(err)
	}
	wantFailures(t, failed, map[string][]string{
		"example.com/toy/bad": {"TestBad/part"}, "example.com/toy/flaky": {"TestSecondTime"},
		"example.com/toy/touched": {"TestSecondTime"}, "example.com/toy/broken": nil,
	})
	still := run.again(t.Context(), failed)
	output := read(t, out.Name())
	wantFailures(t, still, map[string][]string{
		"example.com/toy/bad": {"TestBad/part"}, "example.com/toy/touched": {"TestSecondTime"}, "example.com/toy/broken": nil,
	})
	line := `FLAKE example.com/toy/flaky "TestSecondTime" ` + run.change.Head + "\n"
	if got, want := read(t, filepath.Join(cache, "flakes")), run.began.UTC().Format(time.DateOnly)+" "+line; got != want {
		t.Errorf("recorded is %q, want %q", got, want)
	}
	for _, want := range []string{"\n" + line, "no second run of example.com/toy/touched: the change touches it", "the first time", "always"} {
		if !strings.Contains(output, want) {
			t.Errorf("the output lacks %q:\n%s", want, output)
		}
	}
}

func wantFailures(t *testing.T, failed []failure, want map[string][]string) {
	t.Helper()
	got := map[string][]string{}
	for _, f := range failed {
		got[f.pkg] = f.specs
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("failed (-want +got):\n%s", diff)
	}
}

func TestReadFindsWhatFailed(t *testing.T) {
	const output = "ok  \texample.com/a\t1.2s\n" +
		"Running Suite\n  \x1b[38;5;9m[FAIL]\x1b[0m A kind \x1b[0mdoes it\n  [FAIL] A kind does it\n  [TIMEDOUT] Another [It] waits\n" +
		"--- FAIL: TestSuite (3.00s)\nFAIL\nFAIL\texample.com/b\t3.1s\n" +
		"?   \texample.com/c\t[no test files]\n" +
		"--- FAIL: TestOf (0.00s)\n    --- FAIL: TestOf/one (0.00s)\n--- FAIL: TestAlone (0.00s)\nFAIL\texample.com/d\t0.1s\n" +
		"FAIL\texample.com/e [build failed]\n"
	var shown strings.Builder
	failed, err := parse(strings.NewReader(output), &shown, 5)
	if err != nil {
		t.Fatal(err)
	}
	wantFailures(t, failed, map[string][]string{
		"example.com/b": {"A kind does it", "Another [It] waits"}, "example.com/d": {"TestOf/one", "TestAlone"}, "example.com/e": nil,
	})
	if !failed[len(failed)-1].broken || failed[0].broken {
		t.Errorf("what does not compile has no second run, everything else has: %+v", failed)
	}
	for _, want := range []string{"ok  \texample.com/a\t1.2s (4 left)\n", "FAIL\texample.com/e [build failed] (0 left)\n", "Running Suite\n"} {
		if !strings.Contains(shown.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, shown.String())
		}
	}
}

// What passed with a tree has not passed with another one, or with other variables.
func TestPassedBefore(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "--quiet")
	write(t, filepath.Join(dir, "a"), "1")
	t.Setenv("SEED", "1")
	run := tests{out: os.Stdout, cache: t.TempDir()}
	passed := func() bool {
		t.Helper()
		var err error
		if run.key, err = contentOf(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		before, record := run.passedBefore("it")
		record()
		return before
	}
	for _, step := range []struct {
		name   string
		do     func()
		before bool
	}{
		{"the first time", func() {}, false},
		{"again", func() {}, true},
		{"the same written again", func() { write(t, filepath.Join(dir, "a"), "1") }, true},
		{"another content of the same size", func() { write(t, filepath.Join(dir, "a"), "2") }, false},
		{"a file more", func() { write(t, filepath.Join(dir, "b"), "") }, false},
		{"committed", func() { git(t, dir, "add", "--all"); git(t, dir, "commit", "--quiet", "--message", "b") }, true},
		{"a file that is deleted", func() { _ = os.Remove(filepath.Join(dir, "b")) }, false},
		{"another seed", func() { t.Setenv("SEED", "2") }, false},
		{"other labels", func() { t.Setenv("LABELS", "Slow") }, false},
		{"nothing is kept", func() { run.cache = "" }, false},
	} {
		step.do()
		if got := passed(); got != step.before {
			t.Errorf("%s: passed before is %t, want %t", step.name, got, step.before)
		}
	}
}

func TestFailedSpecs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	if specs, err := failedSpecs(file); err != nil || specs != nil {
		t.Errorf("of no report there are %v, %v", specs, err)
	}
	const specs = `"SpecReports":[
		{"ContainerHierarchyTexts":["Guarantees","CronTab"],"LeafNodeType":"It","LeafNodeText":"G3: acts","State":"failed"},
		{"ContainerHierarchyTexts":["Guarantees","CronTab"],"LeafNodeType":"It","LeafNodeText":"G5: repairs","State":"passed"},
		{"ContainerHierarchyTexts":["Guarantees","CronTab"],"LeafNodeType":"It","LeafNodeText":"G6: ends","State":"timedout"}`
	for report, want := range map[string][]string{
		`[{` + specs + `]}]`: {"Guarantees CronTab G3: acts", "Guarantees CronTab G6: ends"},
		`[{` + specs + `,{"LeafNodeType":"SynchronizedBeforeSuite","State":"failed"}]}]`:       nil,
		`[{` + specs + `],"SpecialSuiteFailureReasons":["Suite Timeout Elapsed"]}]`:            nil,
		`[{"SpecReports":[{"LeafNodeType":"It","LeafNodeText":"G3: acts","State":"passed"}]}]`: nil,
	} {
		write(t, file, report)
		got, err := failedSpecs(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", report, diff)
		}
	}
}

func TestBoth(t *testing.T) {
	some := change.Kinds{Names: []string{"CronTab", "WebApp"}}
	for _, test := range []struct {
		kinds        change.Kinds
		labels, want string
	}{
		{change.Kinds{All: true}, "", ""},
		{change.Kinds{All: true}, "!Slow", "!Slow"},
		{some, "", "CronTab || WebApp || Completeness"},
		{some, "!Slow && !Timed", "(CronTab || WebApp || Completeness) && (!Slow && !Timed)"},
	} {
		if got := both(test.kinds, test.labels); got != test.want {
			t.Errorf("of %v and %q it is %q, want %q", test.kinds, test.labels, got, test.want)
		}
	}
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=A", "-c", "user.email=a@example.com"}, args...)...)
	command.Dir = dir
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, output)
	}
	return string(output)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What has failed runs again by its text, before which Ginkgo puts the description of the suite.
func TestFocus(t *testing.T) {
	re := regexp.MustCompile(focus([]string{"G4: ends (in spite of it)", "G5: runs"}))
	for text, want := range map[string]bool{
		"Guarantees G4: ends (in spite of it)": true, "Guarantees G5: runs": true,
		"Guarantees G4: ends (in spite of it), twice": false, "Guarantees XG5: runs": false,
	} {
		if re.MatchString(text) != want {
			t.Errorf("%q is selected: %v", text, !want)
		}
	}
}

// A second run in which nothing runs proves nothing.
func TestWhatHasNotRunAgainFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	for state, passes := range map[string]bool{"passed": true, "skipped": false, "failed": false} {
		text := `[{"SpecReports": [{"LeafNodeType": "It", "LeafNodeText": "G5: runs", "State": "` + state + `"}]}]`
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := allRan(file, []string{"G5: runs"}); (err == nil) != passes {
			t.Errorf("%s: %v", state, err)
		}
	}
	if err := allRan(filepath.Join(t.TempDir(), "none"), []string{"G5: runs"}); err == nil {
		t.Error("a run without a report passes")
	}
}
