// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nobody is the number that distroless images call nonroot. Kubernetes can tell that a number is not
// root, which it cannot of a name.
const nobody = "65532:65532"

// imageOf makes an image that holds one program, for this machine's architecture, and runs it as nobody.
func imageOf(binary string) (v1.Image, error) {
	if err := checkStatic(binary); err != nil {
		return nil, fmt.Errorf("looking at %s: %w", binary, err)
	}
	layer, err := layerOf(binary)
	if err != nil {
		return nil, fmt.Errorf("packing %s: %w", binary, err)
	}
	return imageWith(layer, []string{"/" + filepath.Base(binary)}, nil)
}

// imageWith makes an image of one layer, for this machine's architecture.
func imageWith(layer v1.Layer, entrypoint []string, labels map[string]string) (v1.Image, error) {
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.AppendLayers(base, layer)
	if err != nil {
		return nil, fmt.Errorf("adding the layer: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the image's configuration: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config = v1.Config{Entrypoint: entrypoint, User: nobody, WorkingDir: "/", Labels: labels}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, fmt.Errorf("writing the image's configuration: %w", err)
	}
	return image, nil
}

// checkStatic refuses what would not start in an image without a C library.
func checkStatic(binary string) error {
	file, err := elf.Open(binary)
	if err != nil {
		return fmt.Errorf("reading its format: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			return errors.New("it is linked dynamically; build it with CGO_ENABLED=0")
		}
	}
	return nil
}

// layerOf packs the binary.
func layerOf(binary string) (v1.Layer, error) {
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	archive := tar.NewWriter(&packed)
	header := &tar.Header{
		Name: filepath.Base(binary), Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content)), Format: tar.FormatUSTAR,
	}
	if err := archive.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := archive.Write(content); err != nil {
		return nil, err
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return quickLayer(&packed)
}

// quickLayer makes a layer of an archive. It is compressed in a hurry: nobody stores it or sends it far.
func quickLayer(packed *bytes.Buffer) (v1.Layer, error) {
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestSpeed))
}
