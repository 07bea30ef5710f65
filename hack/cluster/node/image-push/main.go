// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command image-push puts an image into a registry over plain HTTP: one from an OCI image layout, or
// one that it makes from a static binary or a folder. It prints two references, the first with the tag and the
// second with the digest.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func main() {
	var s source
	s.tree.labels = map[string]string{}
	flag.StringVar(&s.layout, "layout", "", "OCI image layout to push")
	flag.StringVar(&s.binary, "binary", "", "static Linux binary to make an image of, instead of a layout")
	flag.StringVar(&s.tree.dir, "folder", "", "folder to make an image of, instead of a layout")
	flag.Func("entrypoint", "word of the command that the image of a folder runs; may be repeated", func(word string) error {
		s.tree.entrypoint = append(s.tree.entrypoint, word)
		return nil
	})
	flag.Func("label", "KEY=VALUE for the image of a folder; may be repeated", func(label string) error {
		key, value, found := strings.Cut(label, "=")
		if !found {
			return errors.New("it has no =")
		}
		s.tree.labels[key] = value
		return nil
	})
	to := flag.String("to", "", "where to push: HOST:PORT/NAME:TAG; required")
	flag.Parse()
	if flag.NArg() > 0 || *to == "" || !s.valid() {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := push(ctx, s, *to)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// source says where an image comes from: one of the three.
type source struct {
	layout, binary string
	tree           folder
}

func (s source) valid() bool {
	given := 0
	for _, path := range []string{s.layout, s.binary, s.tree.dir} {
		if path != "" {
			given++
		}
	}
	return given == 1
}

func (s source) artifact() (artifact, error) {
	switch {
	case s.binary != "":
		return imageOf(s.binary)
	case s.tree.dir != "":
		return s.tree.image()
	default:
		return readLayout(s.layout)
	}
}

// artifact is what can be pushed: an image, or an index of images for several platforms.
type artifact interface {
	remote.Taggable
	Digest() (v1.Hash, error)
}

func push(ctx context.Context, s source, to string) error {
	tag, err := name.NewTag(to, name.Insecure, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("reading where to push: %w", err)
	}
	what, err := s.artifact()
	if err != nil {
		return err
	}
	digest, err := what.Digest()
	if err != nil {
		return fmt.Errorf("computing the digest: %w", err)
	}
	if err := upload(ctx, tag, what); err != nil {
		return fmt.Errorf("pushing %s: %w", tag, err)
	}
	fmt.Printf("%s\n%s\n", tag, tag.Digest(digest.String()))
	return nil
}

func upload(ctx context.Context, tag name.Tag, what artifact) error {
	switch what := what.(type) {
	case v1.ImageIndex:
		return remote.WriteIndex(tag, what, remote.WithContext(ctx))
	case v1.Image:
		return remote.Write(tag, what, remote.WithContext(ctx))
	}
	return errors.New("neither an image nor an index")
}

// readLayout finds what a layout holds: its only image or index, else all of its images as one index.
func readLayout(dir string) (artifact, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the layout: %w", err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("reading the layout: %w", err)
	}
	switch len(manifest.Manifests) {
	case 0:
		return nil, fmt.Errorf("reading the layout: %s holds no image", dir)
	case 1:
		return only(index, manifest.Manifests[0])
	}
	return index, nil
}

func only(index v1.ImageIndex, descriptor v1.Descriptor) (artifact, error) {
	if descriptor.MediaType == types.OCIImageIndex || descriptor.MediaType == types.DockerManifestList {
		return index.ImageIndex(descriptor.Digest)
	}
	return index.Image(descriptor.Digest)
}
