// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// rendering is how a template becomes a catalog.
type rendering struct {
	bundles folders
	output  string
	inline  bool
	check   bool
}

func (r rendering) run(ctx context.Context, file string) error {
	t, err := readTemplate(file)
	if err != nil {
		return err
	}
	known, err := r.published()
	if err != nil {
		return err
	}
	for _, folder := range r.bundles {
		bundle, err := r.renderBundle(ctx, folder)
		if err != nil {
			return err
		}
		known[bundle.text("name")] = bundle
	}
	var text bytes.Buffer
	for _, entry := range t.Entries {
		if entry, err = r.complete(entry, known); err != nil {
			return err
		}
		document, err := yaml.Marshal(entry)
		if err != nil {
			return err
		}
		text.WriteString("---\n")
		text.Write(document)
	}
	return r.write(text.Bytes())
}

func (r rendering) write(text []byte) error {
	if r.check {
		there, err := os.ReadFile(r.output)
		if err != nil {
			return err
		}
		if !bytes.Equal(there, text) {
			return fmt.Errorf("%s is not up to date: run `make catalog` and commit", r.output)
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(r.output), 0o755); err != nil {
		return err
	}
	return os.WriteFile(r.output, text, 0o644)
}

// published has the bundles that the output lists already, by name.
func (r rendering) published() (map[string]blob, error) {
	known := map[string]blob{}
	text, err := os.ReadFile(r.output)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text))
	for {
		var b blob
		err := decoder.Decode(&b)
		if errors.Is(err, io.EOF) {
			return known, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", r.output, err)
		}
		if b.text("schema") == schemaBundle {
			known[b.text("name")] = b
		}
	}
}

// renderBundle lets opm read the bundle in a folder. What the catalog needs of it is taken out of its
// manifests, unless the manifests themselves are wanted.
func (r rendering) renderBundle(ctx context.Context, folder string) (blob, error) {
	args := []string{"render", folder, "--output", "json"}
	if !r.inline {
		// Only of a bundle with an image does opm take the manifests out; complete sets the right one.
		args = append(args, "--migrate-level", "bundle-object-to-csv-metadata", "--alpha-image-ref-template", "bundle:v{{.Version}}")
	}
	cmd := exec.CommandContext(ctx, filepath.Join("bin", "opm"), args...)
	var messages bytes.Buffer
	cmd.Stderr = &messages
	output, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("rendering %s with bin/opm (`make tools` builds it): %w\n%s", folder, err, &messages)
	}
	var bundle blob
	if err := json.Unmarshal(output, &bundle); err != nil {
		return nil, fmt.Errorf("reading what opm says of %s: %w", folder, err)
	}
	return bundle, nil
}

// complete fills an entry of the template with what the bundles say.
func (r rendering) complete(entry blob, known map[string]blob) (blob, error) {
	switch entry.text("schema") {
	case schemaPackage:
		return r.completePackage(entry)
	case schemaBundle:
		image := entry.text("image")
		version, err := versionOf(image)
		if err != nil {
			return nil, err
		}
		bundle, found := known[packageName+".v"+version]
		if !found {
			return nil, fmt.Errorf("nothing is known of version %s: give its folder with --bundle", version)
		}
		if !r.inline {
			nameImage(bundle, image)
		}
		return bundle, nil
	default:
		return entry, nil
	}
}

// nameImage says where the bundle is, also in the list of those who mirror a catalog.
func nameImage(bundle blob, image string) {
	bundle["image"] = image
	related := []any{map[string]any{"name": "", "image": image}}
	others, _ := bundle["relatedImages"].([]any)
	for _, other := range others {
		if o, ok := other.(map[string]any); ok && o["name"] != "" {
			related = append(related, o)
		}
	}
	bundle["relatedImages"] = related
}

// completePackage adds how the package presents itself, from the newest bundle given.
func (r rendering) completePackage(entry blob) (blob, error) {
	if len(r.bundles) == 0 {
		return nil, errors.New("give the folder of the newest bundle with --bundle: the package's icon and description come from it")
	}
	file := filepath.Join(r.bundles[len(r.bundles)-1], "manifests", packageName+".clusterserviceversion.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	if err := yaml.UnmarshalStrict(text, csv); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	if len(csv.Spec.Icon) == 0 {
		return nil, fmt.Errorf("%s has no icon", file)
	}
	icon := csv.Spec.Icon[0]
	entry["description"] = csv.Spec.Description
	entry["icon"] = map[string]any{"base64data": icon.Data, "mediatype": icon.MediaType}
	return entry, nil
}
