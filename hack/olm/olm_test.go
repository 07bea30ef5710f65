// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/acme/platform-operator/internal/testenv"
)

// TestWhatIsInstalled reads the manifests of the pinned version, which a new version may change.
func TestWhatIsInstalled(t *testing.T) {
	dir, err := moduleDir(t.Context(), testenv.RepoFile())
	if err != nil {
		t.Fatal(err)
	}
	crds, err := customResources(dir)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, crd := range crds {
		kinds = append(kinds, strings.TrimSuffix(crd.GetName(), ".operators.coreos.com"))
	}
	for _, needed := range []string{
		"catalogsources", "clusterserviceversions", "installplans", "olmconfigs", "operatorconditions", "operatorgroups", "operators", "subscriptions",
	} {
		if !slices.Contains(kinds, needed) {
			t.Errorf("there is no definition of %s among %v", needed, kinds)
		}
	}

	const image = "127.0.0.1:1/olm@sha256:0"
	all, err := objects(dir, image)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, u := range all {
		found[u.GetKind()+" "+u.GetName()] = true
		if u.GetKind() != "Deployment" {
			continue
		}
		var d appsv1.Deployment
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, &d, true); err != nil {
			t.Errorf("%s: %v", u.GetName(), err)
		}
		if c := d.Spec.Template.Spec.Containers; len(c) != 1 || c[0].Image != image {
			t.Errorf("%s does not run our image: %+v", u.GetName(), c)
		}
	}
	for _, needed := range []string{
		"Namespace olm", "Deployment olm-operator", "Deployment catalog-operator", "ClusterRole aggregate-olm-edit", "ClusterRole aggregate-olm-view",
		"ServiceAccount olm-operator-serviceaccount", "OperatorGroup olm-operators", "OLMConfig cluster",
	} {
		if !found[needed] {
			t.Errorf("there is no %s among %v", needed, found)
		}
	}
	for name := range found {
		if kind, _, _ := strings.Cut(name, " "); kind == "CatalogSource" || kind == "ClusterServiceVersion" {
			t.Errorf("%s comes from elsewhere", name)
		}
	}
}

func TestFillImage(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	for _, name := range append(slices.Clone(programs), busybox) {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := fillImage(dir, bin, filepath.Join(bin, busybox)); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(slices.Clone(programs), applets...) {
		if info, err := os.Stat(filepath.Join(dir, "bin", name)); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v, %v; want a program", name, info, err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "tmp")); err != nil || info.Mode()&0o777 != 0o777 || info.Mode()&os.ModeSticky == 0 {
		t.Errorf("/tmp: %v, %v; want a folder that everybody may write", info, err)
	}
	if err := os.Remove(filepath.Join(bin, "opm")); err != nil {
		t.Fatal(err)
	}
	if err := fillImage(t.TempDir(), bin, filepath.Join(bin, busybox)); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "opm") {
		t.Errorf("got %v, want it to name the program that is missing", err)
	}
}
