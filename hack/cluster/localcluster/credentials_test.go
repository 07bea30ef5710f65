// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
)

// withCredentials makes a cluster that has all its certificates and kubeconfigs but does not run.
func withCredentials(t *testing.T) *Cluster {
	t.Helper()
	c := newCluster(t, t.TempDir(), "demo")
	c.Ports = map[string]int{apiServer: 20443}
	if err := c.writeCredentials(); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestUserKubeconfig(t *testing.T) {
	c := withCredentials(t)
	data, err := c.UserKubeconfig("sam", []string{"devs"}, "app-y")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	current := config.Contexts[config.CurrentContext]
	got := []string{config.CurrentContext, current.Cluster, current.AuthInfo, current.Namespace, config.Clusters["demo"].Server}
	if diff := cmp.Diff([]string{"sam@demo", "demo", "sam", "app-y", "https://127.0.0.1:20443"}, got); diff != "" {
		t.Errorf("kubeconfig (-want +got):\n%s", diff)
	}
	ca, err := os.ReadFile(c.cert(clusterCA))
	if err != nil || string(config.Clusters["demo"].CertificateAuthorityData) != string(ca) {
		t.Errorf("the kubeconfig does not hold the cluster's authority (%v)", err)
	}
	user := config.AuthInfos["sam"]
	pair, err := tls.X509KeyPair(user.ClientCertificateData, user.ClientKeyData)
	if err != nil {
		t.Fatal(err)
	}
	if s := pair.Leaf.Subject; s.CommonName != "sam" || !cmp.Equal(s.Organization, []string{"devs"}) {
		t.Errorf("the certificate is for %s", s)
	}
}

func TestSecretsAreForTheOwnerOnly(t *testing.T) {
	c := withCredentials(t)
	keys, errKeys := filepath.Glob(c.key("*"))
	kubeconfigs, errKubeconfigs := filepath.Glob(c.kubeconfigOf("*"))
	if err := errors.Join(errKeys, errKubeconfigs); err != nil || len(keys) != 9 || len(kubeconfigs) != 3 {
		t.Fatalf("keys %v, kubeconfigs %v, %v; want 9 and 3", keys, kubeconfigs, err)
	}
	for _, path := range append(append(keys, kubeconfigs...), c.KubeconfigPath()) {
		checkMode(t, path, 0o600)
	}
}

func checkMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != want {
		t.Errorf("%s: mode %v, want %v", path, info.Mode(), want)
	}
}

func TestWebhookCertServesLoopback(t *testing.T) {
	c := withCredentials(t)
	dir := filepath.Join(t.TempDir(), "new", "folder")
	if err := c.WriteWebhookCert(dir); err != nil {
		t.Fatal(err)
	}
	checkMode(t, filepath.Join(dir, "tls.key"), 0o600)
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	for _, host := range []string{"localhost", "127.0.0.1", "::1"} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func TestAuthoritiesStayAndCertificatesAreRenewed(t *testing.T) {
	c := withCredentials(t)
	read := func(path string) string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	ca, tokens, serving := read(c.cert(clusterCA)), read(c.key(serviceAccountKey)), read(c.cert(servingCert))
	if err := c.writeCredentials(); err != nil {
		t.Fatal(err)
	}
	if read(c.cert(clusterCA)) != ca || read(c.key(serviceAccountKey)) != tokens {
		t.Error("a restart changed the authority or the token key: credentials that were handed out are void")
	}
	if read(c.cert(servingCert)) == serving {
		t.Error("a restart did not renew the serving certificate")
	}
}
