// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	program = "/manager"
	// user is the number that distroless images call nonroot. Kubernetes can tell that a number is not
	// root, which it cannot of a name.
	user = "65532:65532"

	// billPath is where scanners look for it.
	billPath = "/sbom/platform-operator.spdx.json"

	labelPrefix   = "org.opencontainers.image."
	annotationRef = labelPrefix + "ref.name"
)

// companions are the other programs of the image: what pods of databases copy out of it, and what serves the views. They lie beside the
// operator's binary when the image is made.
var companions = []string{"/database-agent", "/views"}

// build makes an image that runs the binary, with the list of what it is made of. No time is recorded in it: everything is
// dated 1970.
func build(binary, version string) (v1.Image, error) {
	platform, err := platformOf(binary)
	if err != nil {
		return nil, fmt.Errorf("looking at %s: %w", binary, err)
	}
	layers, err := layersOf(binary, version)
	if err != nil {
		return nil, fmt.Errorf("packing %s: %w", binary, err)
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, layers...)
	if err != nil {
		return nil, fmt.Errorf("adding the layers: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the image's configuration: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = platform.OS, platform.Architecture
	config.Config = v1.Config{Entrypoint: []string{program}, User: user, WorkingDir: "/", Labels: labels(version)}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, fmt.Errorf("writing the image's configuration: %w", err)
	}
	return mutate.Annotations(image, labels(version)).(v1.Image), nil
}

// labels say what the image is. Registries show them; an index can have them as annotations only.
func labels(version string) map[string]string {
	return map[string]string{
		labelPrefix + "title":       "platform-operator",
		labelPrefix + "description": "Acme Platform Operator: gives teams what they need from a platform without giving them the platform",
		labelPrefix + "vendor":      "The Acme Platform Operator Authors",
		labelPrefix + "licenses":    license,
		labelPrefix + "version":     version,
	}
}

// companionsOf are the other programs that belong to a binary.
func companionsOf(binary string) []string {
	var paths []string
	for _, companion := range companions {
		paths = append(paths, filepath.Join(filepath.Dir(binary), filepath.Base(companion)))
	}
	return paths
}

// programsOf are the binary and its companions. Each has to run where the binary does.
func programsOf(binary string) (map[string]string, error) {
	own, err := platformOf(binary)
	if err != nil {
		return nil, err
	}
	programs := map[string]string{program: binary}
	for i, path := range companionsOf(binary) {
		its, err := platformOf(path)
		if err != nil {
			return nil, fmt.Errorf("looking at %s: %w", path, err)
		}
		if own.String() != its.String() {
			return nil, fmt.Errorf("%s is for %s, the operator for %s", path, its, own)
		}
		programs[companions[i]] = path
	}
	return programs, nil
}

// layersOf are the programs and, so that a scanner finds it, the list of what they are made of.
func layersOf(binary, version string) ([]mutate.Addendum, error) {
	programs, err := programsOf(binary)
	if err != nil {
		return nil, err
	}
	var added []mutate.Addendum
	add := func(path string, mode int64, content []byte) error {
		layer, err := layerOf(path, mode, content)
		if err == nil {
			added = append(added, mutate.Addendum{Layer: layer, History: v1.History{CreatedBy: "COPY " + path}})
		}
		return err
	}
	for _, path := range append([]string{program}, companions...) {
		content, err := os.ReadFile(programs[path])
		if err != nil {
			return nil, err
		}
		if err := add(path, 0o755, content); err != nil {
			return nil, err
		}
	}
	list, err := bill(version, binary, companionsOf(binary)...)
	if err != nil {
		return nil, err
	}
	if err := add(billPath, 0o644, list); err != nil {
		return nil, err
	}
	return added, nil
}

// buildIndex makes one image for several platforms of the binaries for them.
func buildIndex(binaries []string, version string) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	seen := map[string]string{}
	for _, binary := range binaries {
		image, err := build(binary, version)
		if err != nil {
			return nil, err
		}
		platform, err := platformOf(binary)
		if err != nil {
			return nil, err
		}
		if other, found := seen[platform.String()]; found {
			return nil, fmt.Errorf("%s and %s are both for %s", other, binary, platform)
		}
		seen[platform.String()] = binary
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	return mutate.Annotations(index, labels(version)).(v1.ImageIndex), nil
}

// platformOf says what the binary runs on. A binary that would not start in an empty image is an error.
func platformOf(binary string) (*v1.Platform, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("it is no Go program: %w", err)
	}
	platform := &v1.Platform{}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "GOOS":
			platform.OS = setting.Value
		case "GOARCH":
			platform.Architecture = setting.Value
		}
	}
	if platform.OS != "linux" {
		return nil, fmt.Errorf("it is for %s, not for linux", platform.OS)
	}
	file, err := elf.Open(binary)
	if err != nil {
		return nil, fmt.Errorf("reading its format: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			return nil, errors.New("it is linked dynamically; build it with CGO_ENABLED=0")
		}
	}
	return platform, nil
}

// layerOf packs a file that everybody may read and only root could change, so that the program cannot change itself.
func layerOf(path string, mode int64, content []byte) (v1.Layer, error) {
	var packed bytes.Buffer
	archive := tar.NewWriter(&packed)
	header := &tar.Header{Name: path[1:], Typeflag: tar.TypeReg, Mode: mode, Size: int64(len(content)), Format: tar.FormatUSTAR}
	if err := archive.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := archive.Write(content); err != nil {
		return nil, err
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}

// writeLayout replaces dir by an OCI image layout that holds the index.
func writeLayout(dir, tag string, index v1.ImageIndex) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing the old layout: %w", err)
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return fmt.Errorf("writing the layout: %w", err)
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{annotationRef: tag})); err != nil {
		return fmt.Errorf("writing the layout: %w", err)
	}
	return nil
}

// writeBills writes the lists of what the binaries are made of beside the layout: PATH-OS-ARCHITECTURE.spdx.json.
func writeBills(prefix string, binaries []string, version string) error {
	for _, binary := range binaries {
		platform, err := platformOf(binary)
		if err != nil {
			return err
		}
		list, err := bill(version, binary, companionsOf(binary)...)
		if err != nil {
			return err
		}
		path := fmt.Sprintf("%s-%s-%s.spdx.json", prefix, platform.OS, platform.Architecture)
		if err := os.WriteFile(path, list, 0o644); err != nil {
			return fmt.Errorf("writing the list of what %s is made of: %w", binary, err)
		}
	}
	return nil
}

func writeArchive(path string, tag name.Tag, image v1.Image) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making the folder of the archive: %w", err)
	}
	if err := tarball.WriteToFile(path, tag, image); err != nil {
		return fmt.Errorf("writing the archive: %w", err)
	}
	return nil
}
