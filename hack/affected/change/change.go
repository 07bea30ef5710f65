// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package change finds what has changed since the last commit that passed the checks, and which packages and kinds that
// affects.
package change

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
)

const (
	// searched is how many commits of the history are looked at for one that passed.
	searched = 500
	// before is how many commits before HEAD the base is, if none passed.
	before = 20
)

// Change is what differs between a commit and the work tree.
type Change struct {
	// Head is the commit of the work tree.
	Head string
	// Base is the commit to compare with; empty if all files count as changed.
	Base string
	// Proved says that Base passed the checks. If it did not, what has not changed since need not be whole.
	Proved bool
	// Why is a sentence that says how Base was found.
	Why string
	// Files are the changed files as paths from the top of the work tree, sorted. Some may be gone.
	Files []string

	repo repository
	tree func() (*tree, error) // of the Go packages, read once
}

// Since returns what has changed in the work tree around dir, untracked files included. The base is the newest of HEAD and
// its ancestors whose tree stands in the file green, which has a hash a line; without one, the commit 20 before HEAD; in a
// shorter history, nothing: all files count as changed. It fails without git, outside of a work tree and before the first
// commit.
func Since(dir, green string) (Change, error) {
	top, err := repository(dir).git("rev-parse", "--show-toplevel")
	if err != nil {
		return Change{}, fmt.Errorf("finding the git work tree around %s: %w", dir, err)
	}
	r := repository(strings.TrimSpace(top))
	head, err := r.git("rev-parse", "--verify", "--quiet", "HEAD")
	if err != nil {
		return Change{}, fmt.Errorf("%s has no commit yet: commit first", r)
	}
	c := Change{Head: strings.TrimSpace(head), repo: r, tree: sync.OnceValues(func() (*tree, error) { return load(string(r)) })}
	if err = c.findBase(green); err != nil {
		return Change{}, err
	}
	c.Files, err = r.changedSince(c.Base)
	return c, err
}

// repository is the folder at the top of a work tree.
type repository string

// findBase finds the commit to compare with, and says how it was found.
func (c *Change) findBase(green string) error {
	passed, note := passedTrees(green)
	history, err := c.repo.git("rev-list", "--no-commit-header", "--format=%H %T %s", fmt.Sprint("--max-count=", searched), "HEAD")
	if err != nil {
		return fmt.Errorf("reading the history: %w", err)
	}
	for line := range strings.Lines(history) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if passed[fields[1]] {
			c.Base, c.Proved = fields[0], true
			c.Why = fmt.Sprintf("The base is %.12s (%s), the newest commit that passed here.", fields[0], fields[2])
			return nil
		}
	}
	if commit, err := c.repo.git("rev-parse", "--verify", "--quiet", fmt.Sprint("HEAD~", before)); err == nil {
		c.Base = strings.TrimSpace(commit)
		c.Why = fmt.Sprintf("The base is %.12s, %d commits before HEAD, because none of the newest %d passed here%s.",
			c.Base, before, searched, note)
		return nil
	}
	short := "the history"
	if shallow, err := c.repo.git("rev-parse", "--is-shallow-repository"); err == nil && strings.TrimSpace(shallow) == "true" {
		short = "this shallow clone"
	}
	c.Why = fmt.Sprintf("Everything counts as changed, because %s has no commit that passed here, and none %d before HEAD%s.",
		short, before, note)
	return nil
}

// passedTrees reads the hashes in a file. If that is there but cannot be read, none has passed, and the note says so.
func passedTrees(green string) (trees map[string]bool, note string) {
	trees = map[string]bool{}
	text, err := os.ReadFile(green)
	if err != nil && green != "" && !errors.Is(err, os.ErrNotExist) {
		note = fmt.Sprintf(" as far as is known (%v)", err)
	}
	for line := range strings.Lines(string(text)) {
		trees[strings.TrimSpace(line)] = true
	}
	return trees, note
}

// changedSince returns the files that differ from a commit, or all files if it is empty.
func (r repository) changedSince(base string) ([]string, error) {
	var err error
	if base == "" {
		if base, err = r.emptyTree(); err != nil {
			return nil, err
		}
	}
	var files []string
	for _, args := range [][]string{
		{"diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", base, "--"},
		{"ls-files", "--others", "--exclude-standard", "-z"},
	} {
		out, err := r.git(args...)
		if err != nil {
			return nil, fmt.Errorf("listing what changed: %w", err)
		}
		files = append(files, strings.FieldsFunc(out, func(c rune) bool { return c == 0 })...)
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// emptyTree returns the hash of a tree without files, which depends on the repository's hash function.
func (r repository) emptyTree() (string, error) {
	hash, err := r.git("hash-object", "-t", "tree", os.DevNull)
	return strings.TrimSpace(hash), err
}

// git runs a command of git's in the repository and returns its output, or an error with what git said.
func (r repository) git(args ...string) (string, error) {
	return output(string(r), "git", args...)
}

// output returns what a program prints in a folder, or an error with its message.
func output(dir, program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) && len(exit.Stderr) > 0 {
		err = errors.New(strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", program, args[0], err)
	}
	return string(out), nil
}
