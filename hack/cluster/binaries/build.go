/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package binaries

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/acme/platform-operator/hack/cluster/files"
)

// plainInterval is the time between two progress lines where they cannot be drawn over each other.
const plainInterval = 15 * time.Second

// Builder builds binaries that are missing or not what the repository pins.
type Builder struct {
	Root   string    // the repository: holds tools/
	BinDir string    // where binaries go; made when missing
	Out    io.Writer // progress
	Live   bool      // Out is a terminal: the progress line is redrawn every second
}

// job is a binary that has to be built, and why.
type job struct {
	Binary
	version string
	reason  string
}

// Ensure builds those of the wanted binaries that are missing or stale, one after the other, and
// says so on Out. When nothing is to be done it writes nothing and needs neither the go command nor
// write access. A second Ensure at the same time waits for the first.
func (b Builder) Ensure(ctx context.Context, wanted []Binary) error {
	jobs, err := b.jobs(wanted)
	if err != nil || len(jobs) == 0 {
		return err
	}
	if err := os.MkdirAll(b.BinDir, 0o755); err != nil {
		return fmt.Errorf("making the folder for binaries: %w", err)
	}
	unlock, err := files.Lock(ctx, b.BinDir, func() { say(b.Out, "waiting for another build in %s\n", b.BinDir) })
	if err != nil {
		return err
	}
	defer unlock()
	if jobs, err = b.jobs(wanted); err != nil {
		return err
	}
	for i, j := range jobs {
		if err := b.build(ctx, j, fmt.Sprintf("[%d/%d]", i+1, len(jobs))); err != nil {
			return err
		}
	}
	return nil
}

// jobs lists what has to be built.
func (b Builder) jobs(wanted []Binary) ([]job, error) {
	var jobs []job
	cache := map[string]pins{}
	for _, bin := range wanted {
		p, ok := cache[bin.dir]
		if !ok {
			var err error
			if p, err = readPins(b.Root, bin.dir); err != nil {
				return nil, err
			}
			cache[bin.dir] = p
		}
		version := p[bin.module].Version
		if version == "" {
			return nil, fmt.Errorf("%s/go.mod does not require %s", bin.dir, bin.module)
		}
		if reason := b.reason(bin, p); reason != "" {
			jobs = append(jobs, job{Binary: bin, version: version, reason: reason})
		}
	}
	return jobs, nil
}

func (b Builder) reason(bin Binary, p pins) string {
	built, err := buildinfo.ReadFile(filepath.Join(b.BinDir, bin.Name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "is missing"
	case err != nil:
		return "is not readable"
	}
	return staleReason(bin, p, built)
}

// build builds one binary beside its place and then moves it there: a running program keeps its file.
func (b Builder) build(ctx context.Context, j job, position string) error {
	target := filepath.Join(b.BinDir, j.Name)
	tmp := target + ".new"
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-tags", j.tags, "-ldflags", j.ldflags(j.version), "-o", tmp, j.pkg)
	cmd.Dir = filepath.Join(b.Root, j.dir)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // lets go remove its work folder
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output

	start := time.Now()
	title := fmt.Sprintf("%s building %s %s", position, j.Name, j.version)
	if err := b.watch(cmd, title, j.reason, start); err != nil {
		b.line(fmt.Sprintf("%s building %s failed after %s", position, j.Name, elapsed(start)), true)
		return errors.Join(fmt.Errorf("building %s: %w\n%s", j.Name, err, output.Bytes()), removeIfThere(tmp))
	}
	if err := os.Rename(tmp, target); err != nil {
		return fmt.Errorf("building %s: %w", j.Name, err)
	}
	b.line(fmt.Sprintf("%s built %s %s in %s", position, j.Name, j.version, elapsed(start)), true)
	return nil
}

// watch runs cmd and keeps the reader informed.
func (b Builder) watch(cmd *exec.Cmd, title, why string, start time.Time) error {
	interval := plainInterval
	if b.Live {
		interval = time.Second
	}
	b.line(fmt.Sprintf("%s (%s) …", title, why), false)
	done := make(chan error, 1)
	go func() { done <- cmd.Run() }()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-ticker.C:
			b.line(fmt.Sprintf("%s … %s", title, elapsed(start)), false)
		}
	}
}

// line writes a progress line; on a terminal it takes the place of the one before unless that was final.
func (b Builder) line(text string, final bool) {
	switch {
	case !b.Live:
		say(b.Out, "%s\n", text)
	case final:
		say(b.Out, "\r\x1b[K%s\n", text)
	default:
		say(b.Out, "\r\x1b[K%s", text)
	}
}

func elapsed(start time.Time) time.Duration { return time.Since(start).Round(time.Second) }

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// say prints progress. A reader that went away is no reason to give up half-way.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
