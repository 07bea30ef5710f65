// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/onsi/ginkgo/v2/types"
)

// run is one run of a test binary.
type run struct {
	seed           int
	onOneProcessor bool
	err            error // why it failed
	took           time.Duration
	output         []byte // if it failed
	tests          []test
}

// test is what became of a test or a spec in a run.
type test struct {
	name            string
	skipped, failed bool
	seconds         float64
}

func (r *run) verdict() string {
	if r.err != nil {
		return "FAILED"
	}
	return "passed"
}

// environment are the variables that make this run another one.
func (r *run) environment(o options) []string {
	variables := []string{fmt.Sprint("SEED=", r.seed), "LABELS=" + o.labels}
	if r.onOneProcessor {
		variables = append(variables, "GOMAXPROCS=1")
	}
	return variables
}

// do runs the binary in the folder of its package, with a folder for temporary files of its own, which is removed.
func (r *run) do(ctx context.Context, o options, b binary, tmp string) {
	defer func() { _ = os.RemoveAll(tmp) }()
	if r.err = os.Mkdir(tmp, 0o700); r.err != nil {
		return
	}
	report := tmp + ".json"
	args := []string{"-test.v=test2json", "-test.paniconexit0", "-test.timeout=" + o.timeout.String()}
	args = append(args, o.selection(b)...)
	if b.ginkgo {
		args = append(args, "-ginkgo.no-color", "-ginkgo.json-report="+report)
	}
	limited, cancel := context.WithTimeout(ctx, o.timeout+o.grace)
	defer cancel()
	cmd := exec.CommandContext(limited, b.path, args...)
	cmd.Dir = b.folder
	cmd.Env = append(append(os.Environ(), "TMPDIR="+tmp), r.environment(o)...)
	began := time.Now()
	r.output, r.err = inGroup(cmd, o.grace)
	r.took = time.Since(began)
	if limited.Err() != nil && ctx.Err() == nil {
		r.err = fmt.Errorf("it did not end by itself after %s: %w", o.timeout, r.err)
	}
	tests, err := goTests(ctx, r.output)
	r.tests, r.err = tests, errors.Join(r.err, err)
	if b.ginkgo {
		specs, err := readReport(report)
		r.tests, r.err = append(r.tests, specs...), errors.Join(r.err, err)
	}
	if r.err == nil {
		r.output = nil
	}
}

// selection are the flags that select what is run. Tests of Go's know no files.
func (o options) selection(b binary) (flags []string) {
	switch {
	case o.focus != "" && b.ginkgo:
		flags = append(flags, "-ginkgo.focus="+o.focus)
	case o.focus != "":
		flags = append(flags, "-test.run="+o.focus)
	}
	if o.files != "" && b.ginkgo {
		flags = append(flags, "-ginkgo.focus-file="+o.files)
	}
	return flags
}

// inGroup runs a program in a process group of its own. When the command's context ends, it is interrupted, so that it cleans
// up, and killed after grace. Of its group nothing is left in any case.
func inGroup(cmd *exec.Cmd, grace time.Duration) ([]byte, error) {
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = grace
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	err := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // fails if nothing is left
	return output.Bytes(), err
}

// goTests reads what became of Go's tests from the output of a run. One that did not end has failed.
func goTests(ctx context.Context, output []byte) ([]test, error) {
	cmd := exec.CommandContext(ctx, "go", "tool", "test2json")
	cmd.Stdin = bytes.NewReader(output)
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go tool test2json: %w", withStderr(err))
	}
	var tests []test
	index := map[string]int{}
	for line := range bytes.Lines(text) {
		var e struct {
			Action, Test string
			Elapsed      float64
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("reading the output of test2json: %w", err)
		}
		switch e.Action {
		case "run":
			index[e.Test] = len(tests)
			tests = append(tests, test{name: e.Test, failed: true})
		case "pass", "fail", "skip":
			if i, known := index[e.Test]; known { // else it is the whole run
				tests[i] = test{e.Test, e.Action == "skip", e.Action == "fail", e.Elapsed}
			}
		}
	}
	return tests, nil
}

// readReport reads what became of specs from a report of Ginkgo's. Without a report, no spec was run, or the run was killed:
// then it fails for that reason.
func readReport(file string) ([]test, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var reports []types.Report
	if err == nil {
		err = json.Unmarshal(text, &reports)
	}
	if err != nil {
		return nil, fmt.Errorf("reading Ginkgo's report %s: %w", filepath.Base(file), err)
	}
	var tests []test
	for _, report := range reports {
		for _, spec := range report.SpecReports {
			if spec.State.Is(types.SpecStateSkipped | types.SpecStatePending) {
				continue
			}
			name := strings.TrimSpace(spec.FullText())
			if name == "" || !spec.LeafNodeType.Is(types.NodeTypeIt) {
				name = strings.TrimSpace(fmt.Sprintf("[%s] %s", spec.LeafNodeType, name))
			}
			tests = append(tests, test{name: name, failed: spec.Failed(), seconds: spec.RunTime.Seconds()})
		}
	}
	return tests, nil
}
