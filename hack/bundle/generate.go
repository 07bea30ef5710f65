// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// generate makes the bundle in a folder of its own and then moves it to its place, or compares the two.
// The folder lies in the repository, since operator-sdk must find the API's packages from there.
func (o options) generate(ctx context.Context) error {
	if err := os.MkdirAll("dist", 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp("dist", "bundle-work-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work) //nolint:errcheck // what is left in dist does no harm

	if err := o.runSDK(ctx, work); err != nil {
		return err
	}
	if err := o.process(filepath.Join(work, "bundle")); err != nil {
		return err
	}
	dockerfile := filepath.Join(work, "bundle.Dockerfile")
	if err := o.writeDockerfile(filepath.Join(work, "bundle"), dockerfile); err != nil {
		return err
	}
	if o.check {
		return o.compare(work)
	}
	return o.install(work)
}

// runSDK lets operator-sdk make a bundle of a copy of the manifests.
func (o options) runSDK(ctx context.Context, work string) error {
	if err := os.CopyFS(filepath.Join(work, "config"), os.DirFS(o.config)); err != nil {
		return fmt.Errorf("copying the manifests: %w", err)
	}
	if err := writeProject(o.config, work); err != nil {
		return fmt.Errorf("copying PROJECT: %w", err)
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	apis, err := filepath.Rel(work, "api")
	if err != nil {
		return err
	}
	sdk, kustomize := filepath.Join(root, "bin", "operator-sdk"), filepath.Join(root, "bin", "kustomize")
	manifests := filepath.Join(work, "config", "manifests")
	if _, err := command(ctx, work, nil, sdk, "generate", "kustomize", "manifests", "-q", "--package", packageName, "--apis-dir", apis); err != nil {
		return err
	}
	if _, err := command(ctx, manifests, nil, kustomize, "edit", "set", "image", "controller="+o.image); err != nil {
		return err
	}
	objects, err := command(ctx, manifests, nil, kustomize, "build", ".")
	if err != nil {
		return err
	}
	_, err = command(ctx, work, objects, sdk, "generate", "bundle", "-q", "--package", packageName, "--version", o.version,
		"--channels", o.channels, "--default-channel", o.defaultChannel)
	return err
}

// command runs a program and returns what it printed.
func command(ctx context.Context, dir string, input []byte, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	if input != nil {
		cmd.Stdin = bytes.NewReader(input)
	}
	var messages bytes.Buffer
	cmd.Stderr = &messages
	output, err := cmd.Output()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("running %s: %w: build it with `make tools`", program, err)
	}
	if err != nil {
		return nil, fmt.Errorf("running %s %s: %w\n%s", filepath.Base(program), strings.Join(args, " "), err, &messages)
	}
	return output, nil
}

// writeProject copies PROJECT without the kinds that have no status: operator-sdk, asked for descriptors,
// gives up at such a kind. Their descriptors stand in the base of the ClusterServiceVersion.
func writeProject(config, work string) error {
	text, err := os.ReadFile("PROJECT")
	if err != nil {
		return err
	}
	var project map[string]any
	if err := yaml.Unmarshal(text, &project); err != nil {
		return err
	}
	withStatus, err := kindsWithStatus(filepath.Join(config, "crd", "bases"))
	if err != nil {
		return err
	}
	all, _ := project["resources"].([]any)
	var kept []any
	for _, entry := range all {
		resource, _ := entry.(map[string]any)
		if kind, _ := resource["kind"].(string); withStatus[kind] {
			kept = append(kept, entry)
		}
	}
	project["resources"] = kept
	if text, err = yaml.Marshal(project); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(work, "PROJECT"), text, 0o600)
}

// install replaces the output by what was made.
func (o options) install(work string) error {
	if err := os.RemoveAll(o.output); err != nil {
		return err
	}
	if err := os.CopyFS(o.output, os.DirFS(filepath.Join(work, "bundle"))); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(work, "bundle.Dockerfile"))
	if err != nil {
		return err
	}
	return os.WriteFile(o.output+".Dockerfile", text, 0o644)
}

// compare fails when the output differs from what was made, and names the files that do.
func (o options) compare(work string) error {
	made, err := readAll(filepath.Join(work, "bundle"), filepath.Join(work, "bundle.Dockerfile"))
	if err != nil {
		return err
	}
	there, err := readAll(o.output, o.output+".Dockerfile")
	if err != nil {
		return err
	}
	var different []string
	for name, text := range made {
		if there[name] != text {
			different = append(different, name)
		}
		delete(there, name)
	}
	for name := range there {
		different = append(different, name)
	}
	if len(different) > 0 {
		return fmt.Errorf("%s is not up to date (%s): run `make bundle` and commit", o.output, strings.Join(different, ", "))
	}
	return nil
}

// readAll reads the files below a folder, and one more file.
func readAll(dir, file string) (map[string]string, error) {
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		all[name] = string(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file)
	all["Dockerfile"] = string(text)
	return all, err
}
