// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command image makes a container image from the operator's static binaries, one for each platform, without a container
// engine, or pushes one that it made. The same binaries give the same digest.
//
// The image holds the binary and an SPDX list of what that is made of: no shell, no C library, no time
// zones and no certificate authorities, which are in the binary. It is a module of its own, so that the operator does not depend on what it needs.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// order is what the command line asks for.
type order struct {
	binaries              []string
	tag, version          string
	layout, archive, sbom string
	push                  bool
}

func main() {
	var o order
	binary := "static Linux binary that the image runs, with database-agent and views beside it; once for each platform, the archive is of the first"
	flag.Func("binary", binary, func(path string) error {
		o.binaries = append(o.binaries, path)
		return nil
	})
	flag.StringVar(&o.tag, "tag", "", "name and tag of the image; required")
	flag.StringVar(&o.version, "version", "", "version that the image's labels state")
	flag.StringVar(&o.layout, "layout", "", "folder to write as an OCI image layout; what it holds is replaced; required")
	flag.StringVar(&o.archive, "archive", "", "file to write as an archive that docker load, podman load and ctr images import take; required")
	flag.StringVar(&o.sbom, "sbom", "", "where to write the SPDX lists of what is in the image: SBOM-linux-amd64.spdx.json and so on; without a tag only these")
	flag.BoolVar(&o.push, "push", false, "push the layout to the registry that the tag names, instead of making it; over plain HTTP on loopback only")
	flag.Parse()
	if flag.NArg() > 0 || !o.complete() {
		fmt.Fprintln(os.Stderr, "tag and layout are required, binary and archive too unless it is pushed, and nothing but flags is taken")
		flag.Usage()
		os.Exit(2)
	}
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func (o order) complete() bool {
	if o.listOnly() {
		return o.sbom != "" && o.layout == "" && o.archive == ""
	}
	return o.tag != "" && o.layout != "" && (o.push || (o.archive != "" && len(o.binaries) > 0))
}

// listOnly reports whether no image is wanted.
func (o order) listOnly() bool { return o.tag == "" && !o.push && len(o.binaries) > 0 }

func (o order) run() error {
	switch {
	case o.push:
		return o.upload()
	case o.listOnly():
		return writeBills(o.sbom, o.binaries, o.version)
	default:
		return o.make()
	}
}

// make makes the image, writes it in both forms and prints its digest.
func (o order) make() error {
	reference, err := name.NewTag(o.tag)
	if err != nil {
		return fmt.Errorf("reading the tag: %w", err)
	}
	index, err := buildIndex(o.binaries, o.version)
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return fmt.Errorf("computing the digest: %w", err)
	}
	image, err := build(o.binaries[0], o.version)
	if err != nil {
		return err
	}
	if err := errors.Join(writeLayout(o.layout, o.tag, index), writeArchive(o.archive, reference, image)); err != nil {
		return err
	}
	if o.sbom != "" {
		if err := writeBills(o.sbom, o.binaries, o.version); err != nil {
			return err
		}
	}
	fmt.Printf("%s %s\n  %s  OCI layout, %d platforms\n  %s  docker load -i, podman load -i, ctr images import\n",
		o.tag, digest, o.layout, len(o.binaries), o.archive)
	return nil
}

// upload pushes the layout with the credentials of docker or podman, if there are any.
func (o order) upload() error {
	reference, err := name.NewTag(o.tag, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("reading where to push: %w", err)
	}
	index, err := readLayout(o.layout)
	if err != nil {
		return fmt.Errorf("reading the layout: %w", err)
	}
	digest, err := index.Digest()
	if err != nil {
		return fmt.Errorf("computing the digest: %w", err)
	}
	if err := remote.WriteIndex(reference, index, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("pushing %s: %w", reference, err)
	}
	fmt.Println(reference.Digest(digest.String()))
	return nil
}

// readLayout finds the index that a layout holds.
func readLayout(dir string) (v1.ImageIndex, error) {
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("%s holds %d images, not one: make image", dir, len(manifest.Manifests))
	}
	return top.ImageIndex(manifest.Manifests[0].Digest)
}
