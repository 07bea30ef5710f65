// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// PushedImage says what pods call an image that was pushed into the cluster's registry.
type PushedImage struct {
	Tag    string // by tag, such as 127.0.0.1:20000/app:v1
	Digest string // by digest, such as 127.0.0.1:20000/app@sha256:…
}

// PushLayout puts the image in an OCI image layout (a folder) into the cluster's registry, as image
// (name:tag). A layout of several images is pushed as one image for several platforms. It is an error
// when the cluster has no real node.
func (c *Cluster) PushLayout(ctx context.Context, layoutDir, image string) (PushedImage, error) {
	return c.push(ctx, image, flag("layout", layoutDir))
}

// PushProgram makes an image that runs a static Linux program as the user 65532, with nothing else in it, and puts it
// into the cluster's registry as image (name:tag). It is an error when the cluster has no real node.
func (c *Cluster) PushProgram(ctx context.Context, program, image string) (PushedImage, error) {
	return c.push(ctx, image, flag("binary", program))
}

// Folder is an image to make of a folder.
type Folder struct {
	Dir     string            // what it holds is all that the image holds
	Command []string          // what the image runs, if it runs at all
	Labels  map[string]string // labels of the image
}

// PushFolder makes an image of a folder, to run as the user 65532, and puts it into the cluster's registry as image
// (name:tag). It is an error when the cluster has no real node.
func (c *Cluster) PushFolder(ctx context.Context, f Folder, image string) (PushedImage, error) {
	what := []string{flag("folder", f.Dir)}
	for _, word := range f.Command {
		what = append(what, flag("entrypoint", word))
	}
	for key, value := range f.Labels {
		what = append(what, flag("label", key+"="+value))
	}
	return c.push(ctx, image, what...)
}

func (c *Cluster) push(ctx context.Context, image string, what ...string) (PushedImage, error) {
	if !c.real() {
		return PushedImage{}, fmt.Errorf("cluster %s has no image registry: its nodes are %s", c.record.Name, c.NodeKind())
	}
	cmd := exec.CommandContext(ctx, filepath.Join(c.BinDir, "image-push"), append(what, flag("to", c.reference(image)))...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir} // no proxy, no credentials
	out, err := cmd.Output()
	if err != nil {
		return PushedImage{}, fmt.Errorf("pushing image %s: %w%s", image, err, words(err))
	}
	references := strings.Fields(string(out))
	if len(references) != 2 {
		return PushedImage{}, fmt.Errorf("pushing image %s: no reference in %q", image, out)
	}
	return PushedImage{Tag: references[0], Digest: references[1]}, nil
}

// words is what a program that failed said on standard error.
func words(err error) string {
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return ": " + strings.TrimSpace(string(failed.Stderr))
	}
	return ""
}
