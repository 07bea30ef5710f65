// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package olm installs the Operator Lifecycle Manager into a local cluster with a real node. Its programs and its
// manifests come from the Go module that tools/olm pins; nothing is downloaded but Go modules.
package olm

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/hack/cluster/localcluster"
)

const (
	// Namespace is where OLM runs, and where the catalogs are that every namespace sees.
	Namespace = "olm"

	module       = "github.com/operator-framework/operator-lifecycle-manager"
	imageName    = "operator-framework/olm:local"
	fieldManager = client.FieldOwner("olm-installer")
	pollInterval = 200 * time.Millisecond
)

//go:embed manifests.yaml
var manifests []byte

// Options say where OLM comes from and where it goes.
type Options struct {
	Cluster *localcluster.Cluster
	Client  client.Client // of the cluster's administrator
	Root    string        // the repository
	BinDir  string        // holds the programs of tools/olm, and opm
	Timeout time.Duration // for OLM to become ready
}

// Image makes the image of OLM, which has a shell, opm and grpc_health_probe too, and pushes it. It returns what pods
// call it, by digest.
func Image(ctx context.Context, o Options) (string, error) {
	pushed, err := push(ctx, o, imageName, nil)
	return pushed.Digest, err
}

// Index makes the image of a catalog without any package, to which operator-sdk adds bundles, and which has what unpacks
// those, and pushes it under a name (name:tag).
func Index(ctx context.Context, o Options, name string) error {
	_, err := push(ctx, o, name, map[string]string{"operators.operatorframework.io.index.configs.v1": "/" + configs})
	return err
}

func push(ctx context.Context, o Options, name string, labels map[string]string) (localcluster.PushedImage, error) {
	shell, err := findShell()
	if err != nil {
		return localcluster.PushedImage{}, err
	}
	dir, err := os.MkdirTemp("", "olm-image-")
	if err != nil {
		return localcluster.PushedImage{}, fmt.Errorf("making the image of OLM: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	if err := fillImage(dir, o.BinDir, shell); err != nil {
		return localcluster.PushedImage{}, err
	}
	return o.Cluster.PushFolder(ctx, localcluster.Folder{Dir: dir, Command: []string{"/bin/opm"}, Labels: labels}, name)
}

// Install installs OLM with that image and waits until both of its operators are ready.
func Install(ctx context.Context, o Options, image string) error {
	dir, err := moduleDir(ctx, o.Root)
	if err != nil {
		return err
	}
	crds, err := customResources(dir)
	if err != nil {
		return err
	}
	rest, err := objects(dir, image)
	if err != nil {
		return err
	}
	if err := applyAll(ctx, o.Client, crds); err != nil {
		return err
	}
	// What is served a moment later is rejected until then, so that each is tried until it is taken.
	for _, object := range rest {
		if err := applySoon(ctx, o, object); err != nil {
			return err
		}
	}
	return awaitReady(ctx, o)
}

// moduleDir finds the folder of OLM's module in the cache of modules, and fills it when it has to.
func moduleDir(ctx context.Context, root string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = filepath.Join(root, "tools", "olm")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("finding the module %s: %w", module, err)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(out, &found); err != nil || found.Dir == "" {
		return "", fmt.Errorf("finding the module %s: no folder in %q (%w)", module, out, err)
	}
	return found.Dir, nil
}

// customResources reads the definitions of OLM's own kinds.
func customResources(dir string) ([]*unstructured.Unstructured, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "deploy", "chart", "crds", "*.yaml"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("finding OLM's CustomResourceDefinitions in %s: %w", dir, errors.Join(err, os.ErrNotExist))
	}
	var all []*unstructured.Unstructured
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		read, err := decode(data)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		all = append(all, read...)
	}
	return all, nil
}

// leftOut are the kinds of OLM's own installation that are not used: the Deployments have our image, and nothing
// is to come from a catalog elsewhere.
var leftOut = []string{"Deployment", "ClusterServiceVersion", "CatalogSource"}

// objects lists what OLM's own installation consists of beside its CustomResourceDefinitions, with our Deployments.
func objects(dir, image string) ([]*unstructured.Unstructured, error) {
	data, err := os.ReadFile(filepath.Join(dir, "deploy", "upstream", "quickstart", "olm.yaml"))
	if err != nil {
		return nil, fmt.Errorf("reading OLM's manifests: %w", err)
	}
	theirs, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("reading OLM's manifests: %w", err)
	}
	theirs = slices.DeleteFunc(theirs, func(u *unstructured.Unstructured) bool { return slices.Contains(leftOut, u.GetKind()) })
	ours, err := decode(bytes.ReplaceAll(manifests, []byte("IMAGE"), []byte(image)))
	if err != nil {
		return nil, fmt.Errorf("reading our manifests of OLM: %w", err)
	}
	return append(theirs, ours...), nil
}

func decode(data []byte) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		u := &unstructured.Unstructured{}
		switch err := decoder.Decode(&u.Object); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		case len(u.Object) > 0:
			all = append(all, u)
		}
	}
}

func applyAll(ctx context.Context, c client.Client, all []*unstructured.Unstructured) error {
	for _, u := range all {
		if err := apply(ctx, c, u); err != nil {
			return err
		}
	}
	return nil
}

func apply(ctx context.Context, c client.Client, u *unstructured.Unstructured) error {
	err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u.DeepCopy()), fieldManager, client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("applying %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return nil
}

func applySoon(ctx context.Context, o Options, u *unstructured.Unstructured) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollInterval, o.Timeout, true, func(ctx context.Context) (bool, error) {
		last = apply(ctx, o.Client, u)
		return last == nil, nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

// awaitReady waits until both operators are available.
func awaitReady(ctx context.Context, o Options) error {
	for _, name := range []string{"olm-operator", "catalog-operator"} {
		d := &appsv1.Deployment{}
		err := wait.PollUntilContextTimeout(ctx, pollInterval, o.Timeout, true, func(ctx context.Context) (bool, error) {
			err := o.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, d)
			return d.Status.AvailableReplicas > 0, client.IgnoreNotFound(err)
		})
		if err != nil {
			return fmt.Errorf("waiting for %s to be available: %w", name, err)
		}
	}
	return nil
}
