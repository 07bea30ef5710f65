// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

const (
	annotationCreated      = "createdAt"
	annotationImage        = "containerImage"
	annotationDisconnected = "features.operators.openshift.io/disconnected"
)

// process sets right what operator-sdk wrote into the folder of the bundle.
func (o options) process(dir string) error {
	manifests := filepath.Join(dir, "manifests")
	csvFile := filepath.Join(manifests, packageName+".clusterserviceversion.yaml")
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	if err := readYAML(csvFile, csv); err != nil {
		return err
	}
	base := &operatorsv1alpha1.ClusterServiceVersion{}
	if err := readYAML(filepath.Join(o.config, "manifests", "bases", packageName+".clusterserviceversion.yaml"), base); err != nil {
		return err
	}
	icon, err := os.ReadFile(filepath.Join(o.config, "manifests", "icon.svg"))
	if err != nil {
		return err
	}
	served, err := servedVersions(filepath.Join(o.config, "crd", "bases"))
	if err != nil {
		return err
	}

	csv.Annotations[annotationCreated] = base.Annotations[annotationCreated] // else it would differ at each run
	csv.Namespace = ""
	csv.Spec.Icon = []operatorsv1alpha1.Icon{{Data: base64.StdEncoding.EncodeToString(icon), MediaType: "image/svg+xml"}}
	if err := describe(csv, "README.md"); err != nil {
		return err
	}
	o.nameImages(csv)
	dropUnserved(csv, served)
	if err := checkWebhookNames(csv); err != nil {
		return err
	}
	if err := moveNamespacedRules(csv, manifests); err != nil {
		return err
	}
	if err := writeYAML(csvFile, csv); err != nil {
		return err
	}
	if err := tidyManifests(manifests); err != nil {
		return err
	}
	return addAnnotations(filepath.Join(dir, "metadata", "annotations.yaml"))
}

// describe puts the kinds of the README into the description.
func describe(csv *operatorsv1alpha1.ClusterServiceVersion, file string) error {
	readme, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	csv.Spec.Description, err = describeKinds(csv.Spec.Description, string(readme))
	return err
}

// kindsHere is the line of the description in the base that stands for the list of kinds.
const kindsHere = "\nKINDS\n"

var kindRow = regexp.MustCompile(`(?m)^\| \[(\w+)\]\(docs/kinds/\w+\.md\) \| (.+) \|$`)

// describeKinds lists the kinds in the description, in the words of the README.
func describeKinds(description, readme string) (string, error) {
	var list strings.Builder
	for _, row := range kindRow.FindAllStringSubmatch(readme, -1) {
		fmt.Fprintf(&list, "\n* **%s**: %s.", row[1], row[2])
	}
	if list.Len() == 0 || strings.Count(description, kindsHere) != 1 {
		return "", errors.New("listing the kinds: the description in config/manifests/bases must have one line KINDS, and README.md a table of them")
	}
	return strings.Replace(description, kindsHere, list.String()+"\n", 1), nil
}

// nameImages lists every image that the operator needs, for those who mirror a catalog. A tag cannot be
// mirrored faithfully, so only a bundle with digests says that it works disconnected.
func (o options) nameImages(csv *operatorsv1alpha1.ClusterServiceVersion) {
	csv.Annotations[annotationImage] = o.image
	csv.Annotations[annotationDisconnected] = fmt.Sprint(strings.Contains(o.image, "@sha256:"))
	own := operatorsv1alpha1.RelatedImage{Name: "platform-operator", Image: o.image}
	csv.Spec.RelatedImages = append([]operatorsv1alpha1.RelatedImage{own}, csv.Spec.RelatedImages...)
}

// dropUnserved takes versions that the API server does not serve out of the CRDs that the bundle owns: the
// Operator Lifecycle Manager would wait for them for ever.
func dropUnserved(csv *operatorsv1alpha1.ClusterServiceVersion, served map[string]bool) {
	var owned []operatorsv1alpha1.CRDDescription
	for _, description := range csv.Spec.CustomResourceDefinitions.Owned {
		if served[description.Name+"/"+description.Version] {
			owned = append(owned, description)
		}
	}
	csv.Spec.CustomResourceDefinitions.Owned = owned
}

// checkWebhookNames fails when two webhooks have one name, be they of different types: configurations made
// of them would overwrite each other.
func checkWebhookNames(csv *operatorsv1alpha1.ClusterServiceVersion) error {
	seen := map[string]bool{}
	for _, webhook := range csv.Spec.WebhookDefinitions {
		if seen[webhook.GenerateName] {
			return fmt.Errorf("two webhooks are called %s: give each a name of its own in its marker", webhook.GenerateName)
		}
		seen[webhook.GenerateName] = true
	}
	return nil
}

// readCRDs reads the CRDs of a folder.
func readCRDs(dir string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New(dir + " has no CRDs: run `make manifests`")
	}
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := readYAML(file, crd); err != nil {
			return nil, err
		}
		all = append(all, crd)
	}
	return all, nil
}

// servedVersions has NAME/VERSION of every version that a CRD of the folder serves.
func servedVersions(dir string) (map[string]bool, error) {
	crds, err := readCRDs(dir)
	served := map[string]bool{}
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			served[crd.Name+"/"+version.Name] = version.Served
		}
	}
	return served, err
}

// kindsWithStatus has the kinds of a folder whose schema has a status.
func kindsWithStatus(dir string) (map[string]bool, error) {
	crds, err := readCRDs(dir)
	kinds := map[string]bool{}
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			if _, found := version.Schema.OpenAPIV3Schema.Properties["status"]; found {
				kinds[crd.Spec.Names.Kind] = true
			}
		}
	}
	return kinds, err
}

func readYAML(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	return nil
}

// writeYAML writes an object without what only the API server fills in.
func writeYAML(file string, object any) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return writeMap(file, content)
}

func writeMap(file string, content map[string]any) error {
	delete(content, "status")
	if metadata, ok := content["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
	}
	text, err := yaml.Marshal(content)
	if err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return os.WriteFile(file, text, 0o644)
}
