// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/internal/testenv"
)

// manifest is what these tests read of an object.
type manifest struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Spec     struct {
		// Of a Certificate.
		SecretName string
		DNSNames   []string
		IsCA       bool
		IssuerRef  struct{ Kind, Name string }
		Duration   string
		// Of an Issuer.
		CA         *struct{ SecretName string }
		SelfSigned *struct{}
		// Of a Deployment.
		Template struct {
			Spec struct {
				Volumes []corev1.Volume
			}
		}
	}
}

// build builds config/default with a component.
func build(t *testing.T, component string) (all []manifest) {
	t.Helper()
	config, dir := testenv.RepoFile("config"), t.TempDir()
	// Go's cache of test results knows what this process reads, and not what kustomize does.
	if err := filepath.WalkDir(config, func(string, fs.DirEntry, error) error { return nil }); err != nil {
		t.Fatal(err)
	}
	relative := func(folder string) string { // kustomize takes no others
		path, err := filepath.Rel(must(filepath.EvalSymlinks(dir)), must(filepath.EvalSymlinks(filepath.Join(config, folder))))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	text := must(yaml.Marshal(map[string]any{"resources": []string{relative("default")}, "components": []string{relative(component)}}))
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), testenv.RepoFile("bin", "kustomize"), "build", dir).Output()
	if err != nil {
		t.Fatalf("building %s: %v", text, err)
	}
	for part := range bytes.SplitSeq(out, []byte("\n---\n")) {
		var m manifest
		if err := yaml.Unmarshal(part, &m); err == nil { // else of a kind that has other fields of these names
			all = append(all, m)
		}
	}
	return all
}

// With config/certmanager/views, cert-manager writes the Secret that the reader mounts, for the hosts by which API servers verify it.
func TestCertManagerProvidesTheCertificate(t *testing.T) {
	n := Names{Namespace: testenv.OperatorNamespace, Service: ours.Service}
	all := build(t, "certmanager/views")
	// one returns the one object of a kind that is in the operator's namespace and fits.
	one := func(kind string, fits func(manifest) bool) manifest {
		t.Helper()
		var found []manifest
		for _, m := range all {
			if m.Kind == kind && m.Metadata.Namespace == n.Namespace && fits(m) {
				found = append(found, m)
			}
		}
		if len(found) != 1 {
			t.Fatalf("%d objects of the kind %s fit, want one of %d", len(found), kind, len(all))
		}
		return found[0]
	}
	writes := func(secret string) func(manifest) bool {
		return func(m manifest) bool { return m.Spec.SecretName == secret }
	}
	signs := func(c manifest) func(manifest) bool {
		return func(m manifest) bool {
			return c.Spec.IssuerRef.Kind == m.Kind && c.Spec.IssuerRef.Name == m.Metadata.Name
		}
	}

	served := one("Certificate", writes(n.Secret()))
	if !slices.Equal(served.Spec.DNSNames, n.hosts()) || served.Spec.IsCA {
		t.Errorf("it is for %q, want %q, or it signs others: %t", served.Spec.DNSNames, n.hosts(), served.Spec.IsCA)
	}
	issuer := one("Issuer", signs(served))
	if issuer.Spec.CA == nil {
		t.Fatal("it is not signed by an authority, so each renewal would be an outage")
	}
	authority := one("Certificate", writes(issuer.Spec.CA.SecretName))
	if must(time.ParseDuration(authority.Spec.Duration)) < 2*must(time.ParseDuration(served.Spec.Duration)) {
		t.Errorf("the authority is valid for %s, what it signs for %s", authority.Spec.Duration, served.Spec.Duration)
	}
	if root := one("Issuer", signs(authority)); !authority.Spec.IsCA || root.Spec.SelfSigned == nil {
		t.Errorf("the authority is none, or does not sign itself: %+v", authority.Spec)
	}

	reader := one("Deployment", func(m manifest) bool { return m.Metadata.Name == n.Deployment() })
	if !slices.ContainsFunc(reader.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Secret != nil && v.Secret.SecretName == n.Secret() }) {
		t.Errorf("the reader mounts %+v, and not the Secret %s", reader.Spec.Template.Spec.Volumes, n.Secret())
	}
}
