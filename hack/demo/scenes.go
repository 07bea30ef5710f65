// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/hack/cluster/process"
)

// showTimeout is how long a step may take until it shows what it has to: API servers hear of new webhooks, and views of new rights.
const showTimeout = time.Minute

// scene is a sample, and what the demo does with it: all but the sample comes from scenes/KIND.yaml, and may be missing.
type scene struct {
	file, kind, name string // the sample

	Stage string // manifest of what the sample is about
	Needs string // what the demo does not have: the sample is not waited for
	Once  string // what shows, when all is ready, what the sample is for; done once in a cluster's life
	Show  []step // what the report runs
	Try   []step // what the reader may run

	// Scheduler: the demo runs the scheduler of the sample itself. It does not in a cluster that is not its own.
	Scheduler bool
}

// step is something to type.
type step struct {
	Why, Run string
	Refused  bool     // it fails, which is the point
	Webhooks bool     // it needs them
	Has      []string // texts that it prints in the end
}

// loadScenes reads the samples that the kustomization lists, in its order.
func (d *demo) loadScenes() ([]*scene, error) {
	dir := filepath.Join("config", "samples")
	var list struct{ Resources []string }
	if err := d.readYAML(&list, dir, "kustomization.yaml"); err != nil {
		return nil, err
	}
	var scenes []*scene
	for _, file := range list.Resources {
		var sample struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if err := d.readYAML(&sample, dir, file); err != nil {
			return nil, err
		}
		s := &scene{}
		err := d.readYAML(s, "hack", "demo", "scenes", strings.ToLower(sample.Kind)+".yaml")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if s.Scheduler && d.context {
			s.Needs, s.Show = "the rights and the image of a scheduler", nil
		}
		s.file, s.kind, s.name = filepath.Join(dir, file), strings.ToLower(sample.Kind), sample.Metadata.Name
		scenes = append(scenes, s)
	}
	return scenes, nil
}

func (d *demo) readYAML(into any, elem ...string) error {
	data, err := os.ReadFile(filepath.Join(append([]string{d.root}, elem...)...))
	if err == nil {
		err = yaml.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", filepath.Join(elem...), err)
	}
	return nil
}

// play applies the samples, waits until they are ready, and has them show what they are for.
func (d *demo) play(ctx context.Context, scenes []*scene) error {
	for _, act := range []func(context.Context, *scene) error{d.apply, d.awaitReady, d.once} {
		for _, s := range scenes {
			if err := act(ctx, s); err != nil {
				return fmt.Errorf("%s %s: %w", s.kind, s.name, err)
			}
		}
	}
	return nil
}

// apply applies a sample and, the first time, what it is about: what the reader has changed since stays.
func (d *demo) apply(ctx context.Context, s *scene) error {
	if s.Stage != "" && d.kubectl(ctx, "get", s.kind, s.name) != nil {
		if _, err := d.sh(ctx, s.Stage, "kubectl apply -f -"); err != nil {
			return err
		}
	}
	return d.kubectl(ctx, "apply", "--server-side", "--force-conflicts", "-f", s.file)
}

func (d *demo) awaitReady(ctx context.Context, s *scene) error {
	hasStatus := d.kubectl(ctx, "explain", s.kind+".status") == nil // a kind without a status is always ready
	if s.Needs != "" || !hasStatus {
		return nil
	}
	if s.Scheduler {
		if err := d.startScheduler(ctx, s); err != nil || s.Needs != "" {
			return err
		}
	}
	err := d.kubectl(ctx, "wait", "--for=condition=Ready", kubectlWait, s.kind, s.name)
	if err != nil {
		why, _ := d.sh(ctx, "", "kubectl acme why "+s.kind+"/"+s.name) // what cannot be said is not said
		return fmt.Errorf("not ready: %w\n%s", err, why)
	}
	return nil
}

func (d *demo) once(ctx context.Context, s *scene) error {
	done := d.path("done-" + s.kind)
	if _, err := os.Stat(done); err == nil || s.Once == "" {
		return nil
	}
	if _, err := d.sh(ctx, "", s.Once); err != nil {
		return err
	}
	return os.WriteFile(done, nil, 0o600)
}

// report shows, sample by sample, what the plugin says of it, and then what to try.
func (d *demo) report(ctx context.Context, scenes []*scene) error {
	for _, s := range scenes {
		title := s.kind + " " + s.name
		if s.Needs != "" {
			title += " (needs " + s.Needs + ", which the demo does not have)"
		}
		fmt.Fprintf(d.out, "\n===== %s\n", title)
		for _, each := range append([]step{{Run: "kubectl acme status " + s.kind + "/" + s.name}}, s.Show...) {
			if each.Webhooks && d.context {
				continue
			}
			output, err := d.show(ctx, each)
			if err != nil {
				return err
			}
			d.print(each, "", output)
		}
	}
	guestMay, err := d.showViews(ctx)
	if err != nil {
		return err
	}
	d.suggest(scenes, guestMay)
	return nil
}

// suggest prints what the reader may try, and where things are.
func (d *demo) suggest(scenes []*scene, guestMay []step) {
	fmt.Fprintf(d.out, "\n===== try it\n\n  export KUBECONFIG=%s PATH=%s:$PATH\n", d.kubeconfig(), d.binDir())
	if len(guestMay) > 0 {
		fmt.Fprintf(d.out, "  export SAM=%s\n", d.guestConfig())
	}
	number := 0
	for _, s := range append(slices.Clone(scenes), &scene{Try: guestMay}) {
		for _, each := range s.Try {
			number++
			d.print(each, fmt.Sprintf("%d. ", number), "")
		}
	}
	fmt.Fprintf(d.out, "\n===== where things are\n\n")
	for _, line := range [][2]string{
		{"all objects", "kubectl acme status --all-namespaces"},
		{"the samples", filepath.Join("config", "samples")},
		{"operator log", short(d.operator().LogPath())},
		{"metrics", "http://" + at(d.ports.metrics) + "/metrics"},
		{"again", d.command("up")},
		{"remove all", d.command("down")},
	} {
		fmt.Fprintf(d.out, "  %-14s %s\n", line[0], line[1])
	}
}

// show runs a step; one that has to be refused is tried until it is, and without effect.
func (d *demo) show(ctx context.Context, s step) (output string, err error) {
	if !s.Refused && len(s.Has) == 0 {
		return d.sh(ctx, "", s.Run)
	}
	cause := fmt.Errorf("it never printed %q", s.Has)
	if s.Refused {
		cause = errors.New("the API server does not reach the webhooks")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, showTimeout, cause)
	defer cancel()
	err = process.Poll(ctx, time.Second, nil, func() error {
		var refusal error
		if output, refusal = d.sh(ctx, "", s.Run); s.Refused && (refusal == nil || ctx.Err() != nil) {
			return fmt.Errorf("not refused: %s", s.Run)
		}
		for _, text := range s.Has {
			if !strings.Contains(output, text) {
				return fmt.Errorf("%s does not print %q, but:\n%s", s.Run, text, output)
			}
		}
		return nil
	})
	return output, err
}

// print writes a step as a terminal would show it.
func (d *demo) print(s step, lead, output string) {
	fmt.Fprintln(d.out)
	if s.Why != "" {
		fmt.Fprintf(d.out, "%s%s\n", lead, s.Why)
	}
	for line := range strings.Lines(strings.TrimSpace(s.Run)) {
		fmt.Fprintf(d.out, "  $ %s\n", strings.TrimSuffix(line, "\n"))
	}
	for line := range strings.Lines(output) {
		fmt.Fprintf(d.out, "  %s\n", strings.TrimSuffix(line, "\n"))
	}
}
