// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/acme/platform-operator/internal/database/result"
	"github.com/acme/platform-operator/internal/testenv/loopback"
)

// jobCommand is a Job for the server of the pod. Each has a folder of its own.
func (p *pod) jobCommand(verb string, args ...string) (cmd *exec.Cmd, file string) {
	p.t.Helper()
	dir, err := os.MkdirTemp(p.path("job"), verb)
	if err != nil {
		p.t.Fatal(err)
	}
	name := strings.TrimPrefix(dir, p.dir+"/")
	p.own(name)
	file = filepath.Join(dir, "result")
	all := append([]string{verb}, p.flags()...)
	all = append(all, "--host="+loopback.Host(), "--run-dir="+dir, "--result-file="+file, "--agent-port="+strconv.Itoa(p.httpPort))
	return container(p.t, append(all, args...)...), file
}

// job runs a Job to its end.
func (p *pod) job(verb string, args ...string) result.Result {
	p.t.Helper()
	cmd, file := p.jobCommand(verb, args...)
	output, err := cmd.CombinedOutput()
	text, errRead := os.ReadFile(file)
	if errRead != nil {
		p.t.Fatalf("%s left no result: %v: %v: %s", verb, errRead, err, output)
	}
	r, err := result.Decode(string(text))
	if err != nil {
		p.t.Fatalf("%v: %s", err, text)
	}
	if code := cmd.ProcessState.ExitCode(); code != result.ExitCode(r.Reason) {
		p.t.Fatalf("%s ends with %d, want that of %q: %s", verb, code, r.Reason, output)
	}
	for _, secret := range []string{adminPassword, userPassword} {
		if strings.Contains(string(output)+string(text), secret) {
			p.t.Errorf("%s says a password: %s %s", verb, output, text)
		}
	}
	return r
}

// mustJob is a job that succeeds.
func (p *pod) mustJob(verb string, args ...string) result.Result {
	p.t.Helper()
	r := p.job(verb, args...)
	if !r.OK {
		p.t.Fatalf("%s fails: %s: %s", verb, r.Reason, r.Message)
	}
	return r
}

// wantReason fails the test unless a result has the reason and a message with the words.
func (p *pod) wantReason(r result.Result, reason string, words ...string) {
	p.t.Helper()
	if r.Reason != reason {
		p.t.Fatalf("%s has the reason %q (%s), want %s", r.Verb, r.Reason, r.Message, reason)
	}
	for _, word := range words {
		if !strings.Contains(r.Message, word) {
			p.t.Errorf("%s says %q, want it to say %q", r.Verb, r.Message, word)
		}
	}
}
