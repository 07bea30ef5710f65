// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// recipe is what a Dockerfile says that only copies files into an empty image.
type recipe struct {
	labels map[string]string
	copies [][2]string // source below the build context, and folder in the image
}

// readRecipe reads such a Dockerfile. Anything else in it is an error: that needs a container engine.
func readRecipe(file string) (*recipe, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := &recipe{labels: map[string]string{}}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if err := r.take(words); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, number, err)
		}
	}
	if len(r.copies) == 0 {
		return nil, fmt.Errorf("%s copies nothing", file)
	}
	return r, nil
}

// take reads one instruction.
func (r *recipe) take(words []string) error {
	switch words[0] {
	case "FROM":
		if slices.Equal(words, []string{"FROM", "scratch"}) {
			return nil
		}
	case "LABEL":
		if key, value, found := strings.Cut(strings.Join(words[1:], " "), "="); found && len(words) == 2 {
			r.labels[key] = value
			return nil
		}
	case "COPY":
		if len(words) == 3 && strings.HasPrefix(words[2], "/") && strings.HasSuffix(words[2], "/") {
			r.copies = append(r.copies, [2]string{words[1], words[2]})
			return nil
		}
	}
	return errors.New("only FROM scratch, LABEL KEY=VALUE and COPY FOLDER /FOLDER/ can be done without a container engine")
}

// buildFiles makes the image of a Dockerfile that only copies files. No time is recorded in it.
func buildFiles(dockerfile, buildContext string) (v1.Image, error) {
	r, err := readRecipe(dockerfile)
	if err != nil {
		return nil, err
	}
	packed, err := r.pack(buildContext)
	if err != nil {
		return nil, fmt.Errorf("packing what %s copies: %w", dockerfile, err)
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.AppendLayers(base, layer)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	// Files run nowhere; an image of a single platform is taken on others too.
	config.OS, config.Architecture = "linux", "amd64"
	config.Config = v1.Config{Labels: r.labels}
	return mutate.ConfigFile(image, config)
}

// pack makes an archive of all files and the folders that they are in, in the order of their names, owned by
// root and dated 1970, so that the same content gives the same bytes.
func (r *recipe) pack(buildContext string) ([]byte, error) {
	files := map[string]string{} // path in the image to path here
	folders := map[string]bool{}
	for _, c := range r.copies {
		source, target := filepath.Join(buildContext, c[0]), strings.Trim(c[1], "/")
		err := filepath.WalkDir(source, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			if !entry.Type().IsRegular() {
				return fmt.Errorf("%s is no plain file", file)
			}
			name, err := filepath.Rel(source, file)
			inImage := path.Join(target, filepath.ToSlash(name))
			files[inImage] = file
			for folder := path.Dir(inImage); folder != "."; folder = path.Dir(folder) {
				folders[folder] = true
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return packFiles(files, folders)
}

func packFiles(files map[string]string, folders map[string]bool) ([]byte, error) {
	var names []string
	for folder := range folders {
		names = append(names, folder+"/")
	}
	for file := range files {
		names = append(names, file)
	}
	slices.Sort(names)
	var packed bytes.Buffer
	archive := tar.NewWriter(&packed)
	for _, name := range names {
		header := &tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755, Format: tar.FormatPAX}
		var content []byte
		if source, isFile := files[name]; isFile {
			var err error
			if content, err = os.ReadFile(source); err != nil {
				return nil, err
			}
			header.Typeflag, header.Mode, header.Size = tar.TypeReg, 0o644, int64(len(content))
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(content); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return packed.Bytes(), err
}
