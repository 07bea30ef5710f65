// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tutorials

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/limit"
)

const (
	// patience is how long a cluster may take to become what a page shows.
	patience = 2 * time.Minute
	// commandTimeout bounds a command, so that one that hangs is named.
	commandTimeout = 2 * time.Minute
)

// TestTutorials follows all tutorials in one cluster. They use different names, so they run side by side.
func TestTutorials(t *testing.T) {
	limit.Labeled(t, limit.Slow)
	pages, err := filepath.Glob(testenv.RepoFile("docs", "tutorials", "*.md"))
	if err != nil || len(pages) < 3 {
		t.Fatalf("there are tutorials missing: %q, %v", pages, err)
	}
	kubeconfig := startCluster(t)
	t.Run("pages", func(t *testing.T) {
		for _, page := range pages {
			t.Run(filepath.Base(page), func(t *testing.T) {
				t.Parallel()
				text, err := os.ReadFile(page)
				if err != nil {
					t.Fatal(err)
				}
				reader := shell{kubeconfig: kubeconfig, folder: t.TempDir()}
				if err := reader.follow(t.Context(), string(text)); err != nil {
					t.Errorf("%s, %v", page, err)
				}
			})
		}
	})
	t.Run("health checks", func(t *testing.T) { testHealth(t, kubeconfig) })
	t.Run("mistakes are found", func(t *testing.T) { findMistakes(t, shell{kubeconfig: kubeconfig}) })
}

// findMistakes shows that a page fails whose commands or outputs are wrong.
func findMistakes(t *testing.T, reader shell) {
	reader.patience = time.Second
	const right = "```console\n$ kubectl get namespace default\nNAME      STATUS   AGE\ndefault   Active   3d\n```\n"
	for name, c := range map[string]struct{ old, changed, want string }{
		"none":                    {"", "", ""},
		"another value":           {"Active", "Terminating", "line 2"},
		"a line too many":         {"3d\n", "3d\nkube-system   Active   3d\n", "line 2"},
		"a line missing":          {"default   Active   3d\n", "", "line 2"},
		"a command that fails":    {"namespace default", "namespace missing", "exit status 1"},
		"an error that is gone":   {"NAME      STATUS   AGE\ndefault   Active   3d", "Error from server (NotFound)", "line 2"},
		"an error that is not":    {"$ kubectl get namespace default\nNAME      STATUS   AGE\ndefault   Active   3d", "$ echo Error\nError", "succeeds"},
		"an unknown program":      {"kubectl", "kubectll", "exit status 127"},
		"a block that is not run": {"console", "", "not executed"},
		"no command":              {"$ ", "", "begins with a command"},
	} {
		t.Run(name, func(t *testing.T) {
			reader.folder = t.TempDir()
			err := reader.follow(t.Context(), strings.ReplaceAll(right, c.old, c.changed))
			if name == "none" {
				err = reader.follow(t.Context(), right)
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// shell is where a reader types the commands of a page.
type shell struct {
	kubeconfig string
	folder     string        // working directory
	patience   time.Duration // by default the constant
}

// follow executes the blocks of a page in order, and ends at the first that is wrong.
func (s shell) follow(ctx context.Context, page string) error {
	blocks, err := parse(page)
	if err != nil {
		return err
	}
	if len(blocks) == 0 {
		return errors.New("the page has no block")
	}
	for _, b := range blocks {
		if b.file != "" {
			if err := os.WriteFile(filepath.Join(s.folder, b.file), []byte(b.text), 0o600); err != nil {
				return err
			}
		}
		for _, c := range b.commands {
			if err := s.check(ctx, c); err != nil {
				return fmt.Errorf("line %d: %s\n%w", c.line, c.run, err)
			}
		}
	}
	return nil
}

// check runs a command and compares. One that only reads is repeated for a while when it shows something else.
func (s shell) check(ctx context.Context, c command) error {
	within := patience
	if s.patience > 0 {
		within = s.patience
	}
	var last error
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, within, true, func(ctx context.Context) (bool, error) {
		last = s.run(context.WithoutCancel(ctx), c)
		return last == nil || !c.onlyReads(), nil
	})
	if last != nil { // it says more than that the time is over
		return last
	}
	return err
}

// run executes a command once. The error shows how its result differs from the page.
func (s shell) run(ctx context.Context, c command) error {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", "set -euo pipefail; "+c.run)
	cmd.Dir = s.folder
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "PATH=") || strings.HasPrefix(e, "HOME=") }),
		"KUBECONFIG="+s.kubeconfig, "PATH="+testenv.RepoFile("bin")+":"+os.Getenv("PATH"), "HOME="+s.folder, "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if diff := cmp.Diff(comparable(c.show), comparable(strings.Split(string(out), "\n"))); diff != "" {
		return errors.Join(err, fmt.Errorf("the output differs (-page +cluster):\n%s", diff))
	}
	if c.mayFail() && err == nil {
		return errors.New("the command succeeds, and the page shows an error")
	}
	if !c.mayFail() {
		return err
	}
	return nil
}
