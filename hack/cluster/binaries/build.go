// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

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
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/acme/platform-operator/hack/cluster/files"
)

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// Builder builds binaries that are missing or not what the repository pins.
type Builder struct {
	Root   string    // the repository: holds tools/
	BinDir string    // where binaries go; made when missing
	Out    io.Writer // progress
	Live   bool      // Out is a terminal: progress is a bar
}

// group is what one run of `go build` builds: programs of one module with the same flags. Their common packages are
// compiled once, and two programs are linked at the same time.
type group struct {
	dir, tags, ldflags string
	programs           []Binary
}

// Ensure builds those of the wanted binaries that are missing or stale, and says so on Out. When nothing is to be done
// it writes nothing and needs neither the go command nor write access. A second Ensure at the same time waits for the
// first.
func (b Builder) Ensure(ctx context.Context, wanted []Binary) error {
	groups, _, err := b.groups(wanted)
	if err != nil || len(groups) == 0 {
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
	groups, reasons, err := b.groups(wanted)
	if err != nil || len(groups) == 0 {
		return err
	}
	if len(reasons) > 0 {
		say(b.Out, "building %s\n", strings.Join(reasons, ", "))
	}
	return b.buildAll(ctx, groups)
}

// groups lists what has to be built, and why.
func (b Builder) groups(wanted []Binary) (groups []*group, reasons []string, err error) {
	cache, index := map[string]pins{}, map[string]*group{}
	for _, bin := range wanted {
		version, reason, err := b.state(bin, cache)
		if err != nil {
			return nil, nil, err
		}
		if reason != "" {
			reasons = append(reasons, strings.TrimSpace(bin.Name+" "+version)+" ("+reason+")")
		} else if !bin.always {
			continue
		}
		key := fmt.Sprint(bin.dir, bin.tags, bin.ldflags(version))
		if bin.always {
			key += bin.Name // it goes to its place directly, which is one file
		}
		if index[key] == nil {
			index[key] = &group{dir: bin.dir, tags: bin.tags, ldflags: bin.ldflags(version)}
			groups = append(groups, index[key])
		}
		index[key].programs = append(index[key].programs, bin)
	}
	return groups, reasons, nil
}

// state is the version that is pinned for a program, and why it has to be built: empty when it is what is pinned.
func (b Builder) state(bin Binary, cache map[string]pins) (version, reason string, err error) {
	if bin.always {
		return "", b.reason(bin, nil), nil
	}
	p, ok := cache[bin.dir]
	if !ok {
		if p, err = readPins(b.Root, bin.dir); err != nil {
			return "", "", err
		}
		cache[bin.dir] = p
	}
	if version = p[bin.module].Version; version == "" {
		return "", "", fmt.Errorf("%s/go.mod does not require %s", bin.dir, bin.module)
	}
	return version, b.reason(bin, p), nil
}

func (b Builder) reason(bin Binary, p pins) string {
	built, err := buildinfo.ReadFile(filepath.Join(b.BinDir, bin.Name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "is missing"
	case err != nil:
		return "is not readable"
	case bin.always:
		return ""
	}
	return staleReason(bin, p, built)
}

// buildAll builds the groups in the order of what is wanted. Each begins when all packages of the one before are compiled and
// that one links: packages that two groups have in common, such as Go's own, are compiled once.
func (b Builder) buildAll(ctx context.Context, groups []*group) error {
	bar := newProgress(b.Out, b.Live)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	expected := make([][]goPackage, len(groups))
	for i, g := range groups { // before the first build, so that the bar knows all that is to be done
		var err error
		if expected[i], err = b.stale(ctx, g); err != nil {
			return err
		}
		bar.expect(expected[i])
	}
	stop := bar.show()
	errs := make([]error, len(groups))
	var wg sync.WaitGroup
	for i, g := range groups {
		links := make(chan struct{})
		done := sync.OnceFunc(func() { close(links) })
		wg.Go(func() {
			defer done()
			if errs[i] = b.build(ctx, g, newCompiled(bar, expected[i], done)); errs[i] != nil {
				cancel()
			}
		})
		<-links
	}
	wg.Wait()
	stop(errors.Join(errs...) == nil)
	for _, err := range errs { // the others were ended because of it
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return errors.Join(errs...)
}

// stale lists the packages that have to be compiled for a group. It is what downloads modules.
func (b Builder) stale(ctx context.Context, g *group) ([]goPackage, error) {
	const inCache = "not installed but available in build cache"
	const version = `{{with .Module}}{{with .Replace}}{{.Version}}{{else}}{{.Version}}{{end}}{{end}}`
	cmd := b.goCommand(ctx, g, "list", "-deps", "-f", `{{if and .Stale (ne .StaleReason "`+inCache+`")}}{{.ImportPath}} `+version+`{{end}}`)
	var output, failure bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &failure
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("reading what %s needs: %w\n%s", g, errors.Join(err, ctx.Err()), failure.Bytes())
	}
	var all []goPackage
	for line := range strings.Lines(output.String()) {
		path, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		if path != "" {
			all = append(all, goPackage{path, version})
		}
	}
	return all, nil
}

// build builds a group beside the places of its programs and then moves them there: a running program keeps its file.
// What is built always goes to its place directly, where go leaves it alone when nothing has changed.
func (b Builder) build(ctx context.Context, g *group, compiled *compiled) (err error) {
	target := filepath.Join(b.BinDir, g.programs[0].Name)
	if !g.programs[0].always {
		tmp, err := os.MkdirTemp(b.BinDir, ".new-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(tmp) }() // programs of a build that failed, or nothing
		target = tmp + string(filepath.Separator)
	}
	cmd := b.goCommand(ctx, g, "build", "-buildvcs=false", "-v", "-ldflags", g.ldflags, "-o", target)
	cmd.Stderr = compiled
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", g, errors.Join(err, ctx.Err()), compiled.words.Bytes())
	}
	if g.programs[0].always {
		return nil
	}
	for _, bin := range g.programs {
		if err := os.Rename(filepath.Join(target, executable(bin.pkg)), filepath.Join(b.BinDir, bin.Name)); err != nil {
			return fmt.Errorf("building %s: %w", bin.Name, err)
		}
	}
	return nil
}

// goCommand is a run of the go command on the packages of a group.
func (b Builder) goCommand(ctx context.Context, g *group, words ...string) *exec.Cmd {
	words = append(words, "-tags", g.tags)
	for _, bin := range g.programs {
		words = append(words, bin.pkg)
	}
	cmd := exec.CommandContext(ctx, "go", words...)
	cmd.Dir = filepath.Join(b.Root, g.dir)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if g.dir != "." {
		cmd.Env = append(cmd.Env, "GOFLAGS="+recordingFlags(os.Getenv("GOFLAGS")))
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // lets go remove its work folder
	return cmd
}

// recordingFlags are Go's flags without -trimpath: with it a program does not record its linker flags, by which staleReason sees
// for which version or sources it was built. Modules are at the same place in every checkout, so their paths do no harm.
func recordingFlags(flags string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(flags), func(f string) bool {
		return strings.TrimLeft(f, "-") == "trimpath" || strings.HasPrefix(strings.TrimLeft(f, "-"), "trimpath=")
	}), " ")
}

func (g *group) String() string {
	names := make([]string, 0, len(g.programs))
	for _, bin := range g.programs {
		names = append(names, bin.Name)
	}
	return strings.Join(names, ", ")
}

// executable is the name that go gives to the program in a package.
func executable(pkg string) string {
	if name := path.Base(pkg); !majorVersion.MatchString(name) {
		return name
	}
	return path.Base(path.Dir(pkg))
}

// say prints progress. A reader that went away is no reason to give up half-way.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
