// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ci checks the scripts of the gate and of the shards with programs that do nothing in place of the real ones: what they
// run, and that their result is that of what they run; and that every check has a tier.
package ci

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What the gate asks make for, in this order but for what runs beside the tests.
var gateTargets = []string{"tools", "test", "mutate", "image", "demo", "demo-down", "bundle-check", "catalog-validate", "verify", "soak-changed", "lint"}

// A whole run knows no earlier one, and so not what is new.
var wholeTargets = slices.DeleteFunc(slices.Clone(gateTargets), func(target string) bool { return target == "soak-changed" })

// What each shard asks make for.
var shardTargets = map[string][]string{
	"all-guarantees": {"test-guarantees", "test-guarantees"},
	"all-cluster":    {"test-real-node", "e2e"},
	"all-bench":      {"bench-check", "demo", "demo", "demo-down", "test-slow"},
	"all-release":    {"bundle-check", "catalog-validate", "test-modules", "site", "plugin", "image", "verify"},
	"all-deep":       {"mutate", "test-race", "test-agent-kills", "soak"},
	"all-cold":       nil,
}

// The gate's result is that of its stages: it fails when any of them does, and only then.
func TestResultIsThatOfTheStages(t *testing.T) {
	passed := newMachine(t).run(".ci/run")
	passed.wantCode(t, 0)
	passed.wantAsked(t, gateTargets)
	passed.wants(t, "\ngate: 10 passed, 0 failed\n")
	for _, target := range gateTargets {
		t.Run(target, func(t *testing.T) {
			m := newMachine(t)
			m.failing = target
			failed := m.run(".ci/run")
			failed.wantCode(t, 1)
			failed.wants(t, "\nFAILED ", "\ngate: 9 passed, 1 failed\n")
			failed.wantAsked(t, gateTargets) // all the others ran
			if m.proved() != "" {
				t.Errorf("a tree that failed counts as proved: %s", m.proved())
			}
		})
	}
}

// The gate works in a tree of its own, which is what the clone is, and records what it has proved.
func TestWorksInATreeOfItsOwn(t *testing.T) {
	m := newMachine(t)
	first := m.run(".ci/run")
	first.wantCode(t, 0)
	tree := filepath.Join(m.cache(), "tree")
	if first.folder != tree {
		t.Errorf("make ran in %s, want %s", first.folder, tree)
	}
	if want := m.git("rev-parse", "HEAD^{tree}"); m.proved() != want {
		t.Errorf("proved are %q, want %q", m.proved(), want)
	}
	before := m.times(tree)

	write(t, filepath.Join(m.root, "page.md"), "changed\n")
	write(t, filepath.Join(m.root, "folder/new.md"), "new\n")
	m.git("rm", "--quiet", "old.md")
	m.commit()
	write(t, filepath.Join(tree, "left.md"), "left by something\n")
	if err := os.Chtimes(filepath.Join(tree, "same.md"), time.Now(), time.Now()); err != nil { // a generator wrote it again
		t.Fatal(err)
	}
	m.run(".ci/run").wantCode(t, 0)
	after := m.times(tree)
	for _, gone := range []string{"old.md", "left.md"} {
		if _, there := after[gone]; there {
			t.Errorf("%s is still in the tree", gone)
		}
	}
	if _, there := after["folder/new.md"]; !there {
		t.Error("a new file is not in the tree")
	}
	if before["page.md"].Equal(after["page.md"]) || !before["same.md"].Equal(after["same.md"]) {
		t.Errorf("Go's cache goes by times: of what changed it was %s and is %s, of what did not %s and %s",
			before["page.md"], after["page.md"], before["same.md"], after["same.md"])
	}
	if got := len(strings.Fields(m.proved())); got != 2 {
		t.Errorf("%d trees are proved, want 2", got)
	}
}

// Without its tree, the gate runs whole in the clone, and says why.
func TestFallsBackToAWholeRun(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*machine)
		want    string
	}{
		"it is asked for":               {func(m *machine) { m.variables = []string{"PLATFORM_COLD=1"} }, "PLATFORM_COLD=1 asks for that"},
		"the cache cannot be written":   {func(m *machine) { write(t, filepath.Join(m.root, "..", "cache"), "") }, "cannot be written"},
		"the disk is full":              {func(m *machine) { m.program("df", "echo Avail; echo 3G") }, "less than 10 GB left"},
		"another gate runs":             {func(m *machine) { m.program("flock", "exit 1") }, "another gate uses"},
		"the tree is no repository":     {func(m *machine) { write(t, filepath.Join(m.cache(), "tree"), "") }, "rm -r it"},
		"a gate was killed in its tree": {func(m *machine) { write(t, filepath.Join(m.cache(), "tree/.git/index.lock"), "") }, "rm -r it"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			test.prepare(m)
			result := m.run(".ci/run")
			result.wantCode(t, 0)
			result.wantAsked(t, wholeTargets)
			result.wants(t, "a whole run in "+m.root, test.want)
			if result.folder != m.root {
				t.Errorf("make ran in %s, want %s", result.folder, m.root)
			}
			if result.kept != "" {
				t.Errorf("tests take what passed before from %q", result.kept)
			}
		})
	}
}

// What is not committed would not be checked.
func TestRefusesWhatIsNotCommitted(t *testing.T) {
	m := newMachine(t)
	write(t, filepath.Join(m.root, "forgotten.md"), "")
	result := m.run(".ci/run")
	result.wantCode(t, 1)
	result.wantAsked(t, nil)
	result.wants(t, "forgotten.md", "commit or remove")
}

func TestFlakesAreInTheSummary(t *testing.T) {
	m := newMachine(t)
	m.saying = `FLAKE example.com/pkg "a spec" 1234`
	result := m.run(".ci/run")
	result.wantCode(t, 0)
	if _, summary, _ := strings.Cut(result.output, "=== summary"); !strings.Contains(summary, m.saying) {
		t.Errorf("the summary does not name the flake:\n%s", result.output)
	}
}

func TestShards(t *testing.T) {
	for shard, targets := range shardTargets {
		t.Run(shard, func(t *testing.T) {
			passed := newMachine(t).run("hack/check-all.sh", shard)
			passed.wantCode(t, 0)
			passed.wantAsked(t, targets)
			passed.wants(t, "\n"+shard+": ", " passed, 0 failed\n")
			if len(targets) == 0 {
				return
			}
			m := newMachine(t)
			m.failing = targets[len(targets)-1]
			failed := m.run("hack/check-all.sh", shard)
			failed.wantCode(t, 1)
			failed.wants(t, "\nFAILED ", "\n"+shard+": ")
		})
	}
	newMachine(t).run("hack/check-all.sh", "all-nonsense").wantCode(t, 2)
}

func TestAllShardsRunAfterOneThatFails(t *testing.T) {
	m := newMachine(t)
	m.failing = "e2e"
	result := m.run("hack/check-all.sh", "all-cluster", "all-release")
	result.wantCode(t, 1)
	result.wants(t, "\nall-cluster: 3 passed, 1 failed\n", "\nall-release: 8 passed, 0 failed\n")
}

// A shard fails while a spec was flaky twice in a week.
func TestRepeatedFlakesFailAShard(t *testing.T) {
	today, past := time.Now().UTC().Format(time.DateOnly), time.Now().UTC().AddDate(0, 0, -30).Format(time.DateOnly)
	for name, test := range map[string]struct {
		lines string
		code  int
	}{
		"twice":       {today + " FLAKE pkg \"a spec\" 1\n" + today + " FLAKE pkg \"a spec\" 2\n", 1},
		"once each":   {today + " FLAKE pkg \"a spec\" 1\n" + today + " FLAKE pkg \"another\" 1\n", 0},
		"long before": {past + " FLAKE pkg \"a spec\" 1\n" + today + " FLAKE pkg \"a spec\" 2\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			write(t, filepath.Join(m.cache(), "flakes"), test.lines)
			m.run("hack/check-all.sh", "all-cold").wantCode(t, test.code)
		})
	}
}

// machine is a folder with a repository whose scripts are the real ones, and programs that do nothing.
type machine struct {
	t         *testing.T
	root      string // the clone
	programs  string
	failing   string // the target for which make fails
	saying    string // what make prints for the tests
	variables []string
}

// result is what came of a script: its exit code and output, the targets that make was asked for, in which folder, and the cache
// that the tests use.
type result struct {
	code                 int
	output, folder, kept string
	asked                []string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	home := t.TempDir()
	m := &machine{t: t, root: filepath.Join(home, "clone"), programs: filepath.Join(home, "programs")}
	for _, file := range []string{".ci/run", "hack/stages.sh", "hack/check-all.sh", ".gitignore"} {
		text, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(m.root, file), string(text))
	}
	for _, script := range []string{"packages.sh", "cold.sh"} {
		write(t, filepath.Join(m.root, "hack", script), "#!/bin/sh\n")
	}
	for _, page := range []string{"page.md", "same.md", "old.md"} {
		write(t, filepath.Join(m.root, page), page+"\n")
	}
	m.git("init", "--quiet")
	m.commit()
	m.program("id", "echo 0")
	m.program("unshare", "")
	return m
}

// run runs a script of the repository.
func (m *machine) run(script string, args ...string) result {
	m.t.Helper()
	home := filepath.Dir(m.root)
	asked := filepath.Join(home, "asked")
	m.program("make", strings.NewReplacer("ASKED", asked, "FAILING", m.failing, "SAYING", m.saying).Replace(`echo "$PWD $1 $PLATFORM_CACHE" >>ASKED
[ "$1" != "FAILING" ] || exit 1
case $1 in
test) echo 'SAYING' ;;
demo) mkdir -p .cluster/ci/pids && echo 1 >.cluster/ci/pids/one ;;
demo-down) rm -rf .cluster ;;
esac`))
	command := exec.CommandContext(m.t.Context(), filepath.Join(m.root, script), args...)
	command.Env = append(os.Environ(), "PATH="+m.programs+":"+os.Getenv("PATH"), "TMPDIR="+home, "HOME="+home,
		"XDG_CACHE_HOME="+filepath.Join(home, "cache"), "PLATFORM_COLD=", "PLATFORM_CACHE=")
	command.Env = append(command.Env, m.variables...)
	command.WaitDelay = time.Second
	output, err := command.CombinedOutput()
	if err != nil && command.ProcessState == nil {
		m.t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(home, "tmp.*")); len(left) > 0 {
		m.t.Errorf("the script left %v", left)
	}
	r := result{code: command.ProcessState.ExitCode(), output: string(output)}
	for _, line := range strings.Split(m.read(asked), "\n") {
		if words := strings.SplitN(line, " ", 3); len(words) == 3 {
			r.folder, r.asked, r.kept = words[0], append(r.asked, words[1]), words[2]
		}
	}
	return r
}

func (m *machine) program(name, script string) {
	m.t.Helper()
	write(m.t, filepath.Join(m.programs, name), "#!/bin/sh\n"+script+"\n")
}

func (m *machine) git(args ...string) string {
	m.t.Helper()
	command := exec.CommandContext(m.t.Context(), "git", append([]string{"-c", "user.name=A", "-c", "user.email=a@example.com"}, args...)...)
	command.Dir = m.root
	output, err := command.CombinedOutput()
	if err != nil {
		m.t.Fatalf("git %v: %v\n%s", args, err, output)
	}
	return strings.TrimSpace(string(output))
}

func (m *machine) commit() {
	m.t.Helper()
	m.git("add", "--all")
	m.git("commit", "--quiet", "--message", "change")
}

func (m *machine) cache() string {
	return filepath.Join(filepath.Dir(m.root), "cache/platform-operator")
}

func (m *machine) proved() string {
	return strings.TrimSpace(m.read(filepath.Join(m.cache(), "green")))
}

// read gives the content of a file, none if there is no such file.
func (m *machine) read(file string) string {
	m.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.t.Fatal(err)
	}
	return string(text)
}

// times are when the files of a folder were changed.
func (m *machine) times(folder string) map[string]time.Time {
	m.t.Helper()
	all := map[string]time.Time{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		name, _ := filepath.Rel(folder, path)
		all[name] = info.ModTime()
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return all
}

func (r result) wantCode(t *testing.T, code int) {
	t.Helper()
	if r.code != code {
		t.Errorf("the script ends with %d, want %d:\n%s", r.code, code, r.output)
	}
}

func (r result) wantAsked(t *testing.T, targets []string) {
	t.Helper()
	if diff := cmp.Diff(slices.Sorted(slices.Values(targets)), slices.Sorted(slices.Values(r.asked))); diff != "" {
		t.Errorf("asked of make (-want +got):\n%s\n%s", diff, r.output)
	}
}

func (r result) wants(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.output, text) {
			t.Errorf("the output lacks %q:\n%s", text, r.output)
		}
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}
