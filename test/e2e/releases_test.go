// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/hack/cluster/localcluster"
	"github.com/acme/platform-operator/internal/testenv"
)

const (
	packageName = "acme-platform-operator"
	registry    = "registry.acme.com" // the node asks the cluster's own registry instead
	imageName   = "platform/platform-operator"
	bundleName  = "platform/platform-operator-bundle"
	catalogName = "platform/platform-operator-catalog"
)

// release is a version of the operator with its image and its bundle, made from this tree by the same programs that
// make what is published.
type release struct {
	version string
	bundle  string // folder
}

// csv is the name of the release's ClusterServiceVersion.
func (r release) csv() string { return packageName + ".v" + r.version }

// edit changes a copy of config/ before a bundle is made of it.
type edit func(config string)

// release makes a version: image, bundle, image of the bundle.
func (w *world) release(ctx context.Context, version string, edits ...edit) release {
	GinkgoHelper()
	start := time.Now()
	dir := filepath.Join(w.dir, version)
	Expect(os.MkdirAll(dir, 0o755)).To(Succeed())
	w.pushOperator(ctx, dir, version)

	config := filepath.Join(dir, "config")
	Expect(os.CopyFS(config, os.DirFS(testenv.RepoFile("config")))).To(Succeed())
	for _, change := range edits {
		change(config)
	}
	r := release{version: version, bundle: filepath.Join(dir, "bundle")}
	run(ctx, nil, "go", "run", "./hack/bundle", "--version", version, "--config", config, "--output", r.bundle,
		"--image", registry+"/"+imageName+":v"+version)
	_, err := w.cluster.PushFolder(ctx, localcluster.Folder{Dir: r.bundle, Labels: bundleLabels(r.bundle)}, bundleName+":v"+version)
	Expect(err).NotTo(HaveOccurred())
	say("version %s: image and bundle made and pushed, after %s", version, since(start))
	return r
}

// pushOperator builds the operator and pushes its image.
func (w *world) pushOperator(ctx context.Context, dir, version string) {
	GinkgoHelper()
	program, layout := filepath.Join(dir, "manager"), filepath.Join(dir, "image")
	run(ctx, []string{"CGO_ENABLED=0"}, "go", "build", "-buildvcs=false",
		"-ldflags", "-s -w -X main.version=v"+version, "-o", program, "./cmd")
	for _, companion := range []string{"database-agent", "views"} {
		run(ctx, []string{"CGO_ENABLED=0"}, "go", "build", "-buildvcs=false", "-ldflags", "-s -w",
			"-o", filepath.Join(dir, companion), "./cmd/"+companion)
	}
	run(ctx, []string{"GOWORK=off"}, "go", "run", "-C", "hack/image", ".", "--binary", program, "--version", "v"+version,
		"--tag", registry+"/"+imageName+":v"+version, "--layout", layout, "--archive", filepath.Join(dir, "image.tar"))
	_, err := w.cluster.PushLayout(ctx, layout, imageName+":v"+version)
	Expect(err).NotTo(HaveOccurred())
}

// bundleLabels are the annotations of a bundle, which its image has as labels.
func bundleLabels(bundle string) map[string]string {
	GinkgoHelper()
	data, err := os.ReadFile(filepath.Join(bundle, "metadata", "annotations.yaml"))
	Expect(err).NotTo(HaveOccurred())
	var metadata struct{ Annotations map[string]string }
	Expect(yaml.Unmarshal(data, &metadata)).To(Succeed())
	Expect(metadata.Annotations).NotTo(BeEmpty())
	return metadata.Annotations
}

// emptyTemplate is a catalog's template before the first version.
const emptyTemplate = `schema: olm.template.basic
entries:
- {schema: olm.package, name: acme-platform-operator, defaultChannel: stable}
- {schema: olm.channel, package: acme-platform-operator, name: stable, entries: []}
- {schema: olm.channel, package: acme-platform-operator, name: candidate, entries: []}
`

// catalog makes a catalog of these versions, each of which replaces the one before and may be gone to from all of them,
// and pushes its image. It returns what pods call it.
func (w *world) catalog(ctx context.Context, releases ...release) string {
	GinkgoHelper()
	var versions, bundles []string
	for _, r := range releases {
		versions = append(versions, r.version)
		bundles = append(bundles, "--bundle", r.bundle)
	}
	tag := strings.Join(versions, "-")
	dir := filepath.Join(w.dir, "catalog-"+tag)
	template := filepath.Join(dir, "template.yaml")
	image := filepath.Join(dir, "image")
	Expect(os.MkdirAll(filepath.Join(image, "configs"), 0o755)).To(Succeed())
	Expect(os.WriteFile(template, []byte(emptyTemplate), 0o600)).To(Succeed())
	for _, r := range releases {
		run(ctx, nil, "go", "run", "./hack/catalog", "add", "--template", template, "--version", r.version,
			"--image", registry+"/"+bundleName+":v"+r.version)
	}
	render := []string{
		"go", "run", "./hack/catalog", "render", "--template", template,
		"--output", filepath.Join(image, "configs", packageName, "catalog.yaml"),
	}
	run(ctx, nil, append(render, bundles...)...)
	run(ctx, nil, filepath.Join(binDir(), "opm"), "validate", filepath.Join(image, "configs"))
	pushed, err := w.cluster.PushFolder(ctx, localcluster.Folder{Dir: image}, catalogName+":"+tag)
	Expect(err).NotTo(HaveOccurred())
	say("catalog of %s made, checked and pushed", strings.Join(versions, ", "))
	return pushed.Tag
}
