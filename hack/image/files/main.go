// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command files makes a container image from a Dockerfile that does nothing but copy files, such as those of
// the bundle and of the catalog, without a container engine. The same files give the same digest. The
// command in the folder above pushes what it makes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func main() {
	dockerfile := flag.String("dockerfile", "", "Dockerfile that copies files into an empty image; required")
	buildContext := flag.String("context", ".", "folder that it copies from")
	tag := flag.String("tag", "", "name and tag of the image; required")
	dir := flag.String("layout", "", "folder to write as an OCI image layout, and with the suffix .tar as an archive; required")
	flag.Parse()
	if flag.NArg() > 0 || *dockerfile == "" || *tag == "" || *dir == "" {
		fmt.Fprintln(os.Stderr, "dockerfile, tag and layout are required, and nothing but flags is taken")
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*dockerfile, *buildContext, *tag, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run makes the image, writes it in both forms and prints its digest.
func run(dockerfile, buildContext, tag, dir string) error {
	reference, err := name.NewTag(tag)
	if err != nil {
		return fmt.Errorf("reading the tag: %w", err)
	}
	image, err := buildFiles(dockerfile, buildContext)
	if err != nil {
		return err
	}
	if err := writeLayout(dir, tag, image); err != nil {
		return fmt.Errorf("writing the layout: %w", err)
	}
	if err := tarball.WriteToFile(dir+".tar", reference, image); err != nil {
		return fmt.Errorf("writing the archive: %w", err)
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	fmt.Printf("%s %s\n  %s  OCI layout\n  %s.tar  docker load -i, podman load -i, ctr images import\n", tag, digest, dir, dir)
	return nil
}

// writeLayout replaces dir by a layout that holds an index with the image.
func writeLayout(dir, tag string, image v1.Image) error {
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(filepath.Dir(dir), 0o755)); err != nil {
		return err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: image})
	return path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": tag}))
}
