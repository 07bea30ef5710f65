// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command mutate breaks the product on purpose, one small edit of test/mutations at a time, and fails unless a test fails for
// each. The tree is never changed: the compiler reads the edited files from elsewhere.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/acme/platform-operator/hack/affected/change"
)

func main() {
	quick := flag.Bool("quick", false, "only mutations that tests without a control plane kill")
	only := flag.String("only", "", "only mutations that have this text in what they break, their package or their files")
	green := flag.String("green", "", "only mutations about what has changed since a tree that passed the gate; the file has their hashes, one a line")
	jobs := flag.Int("jobs", 2, "how many mutations are tried at once")
	flag.Parse()
	concerned, err := concerns(*green)
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		err = mutate(ctx, ".", os.Stdout, *jobs, func(m mutation) bool { return (m.quick || !*quick) && m.isAbout(*only) && concerned(m) })
		stop()
	}
	if *green != "" && errors.Is(err, errNone) {
		fmt.Println("no mutation is about what has changed")
		err = nil
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// concerns selects the mutations of files that have changed since a tree that passed the gate, and those whose tests stand beside
// such a file; all of them without a list of trees, or if none of those is an ancestor.
func concerns(green string) (func(mutation) bool, error) {
	all := func(mutation) bool { return true }
	if green == "" {
		return all, nil
	}
	c, err := change.Since(".", green)
	if err != nil {
		return nil, fmt.Errorf("finding out what has changed: %w", err)
	}
	fmt.Println(c.Why)
	if !c.Proved {
		return all, nil
	}
	return func(m mutation) bool {
		return slices.ContainsFunc(c.Files, func(file string) bool {
			return filepath.Dir(file) == m.pkg || slices.ContainsFunc(m.edits, func(e edit) bool { return e.file == file })
		})
	}, nil
}

// errNone says that the flags leave no mutation.
var errNone = errors.New("no mutation is selected")

func (m mutation) isAbout(text string) bool {
	return strings.Contains(m.breaks+"\n"+m.pkg, text) ||
		slices.ContainsFunc(m.edits, func(e edit) bool { return strings.Contains(e.file, text) })
}

// mutate tries the selected mutations of the tree at root. It fails unless all are killed.
func mutate(ctx context.Context, root string, out io.Writer, jobs int, selects func(mutation) bool) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	all, err := readMutations(filepath.Join(root, "test", "mutations"))
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(m mutation) bool { return !selects(m) })
	if len(all) == 0 {
		return errNone
	}
	tmp, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	r := &runner{root: root, tmp: tmp}
	r.prepare(ctx, all)

	tests := unmutated(all)
	fmt.Fprintf(out, "running the tests of %d packages without any mutation\n", len(tests))
	broken := errors.Join(r.each(ctx, tests, jobs, func(m mutation, killer string, err error, _ time.Duration) error {
		switch {
		case errors.Is(err, errSurvived):
			return nil
		case err == nil:
			return fmt.Errorf("%s fails without any mutation: %s", m.pkg, killer)
		default:
			return fmt.Errorf("%s fails without any mutation: %w", m.pkg, err)
		}
	})...)
	if broken != nil {
		return broken
	}
	p := progress{out: out, all: len(all), began: time.Now()}
	if lives := r.each(ctx, all, jobs, p.report); len(lives) > 0 {
		return fmt.Errorf("%d of %d mutations were not killed:\n%w", len(lives), len(all), errors.Join(lives...))
	}
	fmt.Fprintf(out, "all %d mutations were killed in %s\n", len(all), time.Since(p.began).Round(time.Second))
	return nil
}

// unmutated are the tests that mutations name, once for each package: without a mutation, these have to pass.
func unmutated(all []mutation) []mutation {
	var tests []mutation
	for _, m := range all {
		i := slices.IndexFunc(tests, func(t mutation) bool { return t.pkg == m.pkg && (t.focus == "") == (m.focus == "") })
		if i < 0 {
			tests = append(tests, mutation{pkg: m.pkg, run: m.run, focus: m.focus})
			continue
		}
		tests[i].run, tests[i].focus = either(tests[i].run, m.run), either(tests[i].focus, m.focus)
	}
	return tests
}

// either is a pattern for what one of two selects. The empty one selects all.
func either(a, b string) string {
	if a == "" || b == "" {
		return ""
	}
	return a + "|" + b
}

// each tries mutations, some at once, and gives the errors of report, which is called for one after the other.
func (r *runner) each(ctx context.Context, all []mutation, jobs int, report func(mutation, string, error, time.Duration) error) []error {
	var mu sync.Mutex
	var errs []error
	var workers errgroup.Group
	workers.SetLimit(jobs)
	for _, m := range all {
		if ctx.Err() != nil {
			break
		}
		workers.Go(func() error {
			began := time.Now()
			killer, err := r.try(ctx, m)
			mu.Lock()
			defer mu.Unlock()
			if err := report(m, killer, err, time.Since(began)); err != nil {
				errs = append(errs, err)
			}
			return nil
		})
	}
	_ = workers.Wait() // none gives an error
	if err := ctx.Err(); err != nil {
		return append(errs, err)
	}
	return errs
}

// progress prints what became of each mutation, and how long the others will take.
type progress struct {
	out       io.Writer
	all, done int
	began     time.Time
}

func (p *progress) report(m mutation, killer string, err error, took time.Duration) error {
	verdict := "killed"
	switch {
	case errors.Is(err, errSurvived):
		verdict, killer = "SURVIVED", "no test of "+m.pkg+" has failed"
	case err != nil:
		verdict, killer = "ERROR", "see below"
	}
	p.done++
	left := time.Since(p.began) / time.Duration(p.done) * time.Duration(p.all-p.done)
	fmt.Fprintf(p.out, "[%d/%d, %s left] %-8s %3.0f s  %s (%s)\n",
		p.done, p.all, left.Round(time.Second), verdict, took.Seconds(), m.breaks, killer)
	if err != nil {
		return fmt.Errorf("%s: %w", m.breaks, err)
	}
	return nil
}
