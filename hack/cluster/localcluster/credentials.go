// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/acme/platform-operator/hack/cluster/files"
	"github.com/acme/platform-operator/hack/cluster/machine"
	"github.com/acme/platform-operator/hack/cluster/pki"
)

// Authorities. They are apart because the bearer of a certificate of one must not pass with another:
// a user's certificate opens the API server, but neither etcd nor the aggregation layer.
const (
	clusterCA    = "ca"
	etcdCA       = "etcd-ca"
	frontProxyCA = "front-proxy-ca"
)

const (
	serviceAccountKey = "service-account"
	servingCert       = "serving"
	etcdServingCert   = "etcd-serving"
	etcdClientCert    = "etcd-client"
	frontProxyClient  = "front-proxy-client"
	adminCert         = "admin"
	mastersGroup      = "system:masters"
)

// UserKubeconfig issues a client certificate for user and groups, valid for one year, and returns a
// kubeconfig that uses it with namespace as the default (may be empty). What the user may do is up
// to RBAC.
func (c *Cluster) UserKubeconfig(user string, groups []string, namespace string) ([]byte, error) {
	ca, err := c.authority(clusterCA)
	if err != nil {
		return nil, err
	}
	pair, err := ca.Client(user, groups...)
	if err != nil {
		return nil, err
	}
	return renderKubeconfig(access{
		cluster: c.record.Name, server: c.server(), ca: ca.KeyPair().Public,
		user: user, pair: pair, namespace: namespace,
	})
}

// WriteWebhookCert writes tls.crt, tls.key and ca.crt into dir (made when missing): a serving
// certificate for localhost, 127.0.0.1 and ::1, valid for one year, and the authority to put into a
// webhook configuration's caBundle. It lets the API server call a webhook that runs outside the cluster.
func (c *Cluster) WriteWebhookCert(dir string) error {
	ca, err := c.authority(clusterCA)
	if err != nil {
		return err
	}
	pair, err := ca.Serving("localhost", "127.0.0.1", "::1")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("writing webhook certificate: %w", err)
	}
	if err := pair.Write(dir, "tls"); err != nil {
		return err
	}
	return files.Write(filepath.Join(dir, "ca.crt"), ca.KeyPair().Public, 0o644)
}

func (c *Cluster) server() string { return "https://" + c.apiAddress() }

func (c *Cluster) authority(name string) (*pki.CA, error) {
	pair, err := pki.Read(c.pkiDir(), name)
	if err != nil {
		return nil, err
	}
	return pki.ParseCA(pair)
}

// writeCredentials makes the authorities when the cluster is new, and always issues the components'
// certificates and kubeconfigs again: so they never expire in a cluster that is restarted.
func (c *Cluster) writeCredentials() error {
	if err := c.ensureAuthorities(); err != nil {
		return err
	}
	if err := c.writeCertificates(); err != nil {
		return err
	}
	for component, identity := range c.identities() {
		data, err := c.UserKubeconfig(identity[0], identity[1:], "")
		if err == nil {
			err = files.Write(c.kubeconfigOf(component), data, 0o600)
		}
		if err != nil {
			return err
		}
	}
	data, err := c.UserKubeconfig(adminCert, []string{mastersGroup}, "")
	if err != nil {
		return err
	}
	return files.Write(c.KubeconfigPath(), data, 0o600)
}

// identities says who the components are to the API server: a user and groups.
func (c *Cluster) identities() map[string][]string {
	list := map[string][]string{
		controllerManager: {"system:kube-controller-manager"},
		scheduler:         {"system:kube-scheduler"},
	}
	if !c.real() {
		list[kwok] = []string{kwok, mastersGroup}
		return list
	}
	list[kubelet] = []string{"system:node:" + realNodeName, "system:nodes"}
	list[kubeProxy] = []string{"system:kube-proxy"}
	list[storageProvisioner] = []string{storageProvisioner, mastersGroup}
	return list
}

// ensureAuthorities fills a folder beside the pki folder and moves it into place, so that a cluster
// has all of them or none.
func (c *Cluster) ensureAuthorities() error {
	if _, err := os.Stat(c.pkiDir()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	tmp := c.path("pki.new")
	if err := errors.Join(os.RemoveAll(tmp), os.MkdirAll(tmp, 0o700)); err != nil {
		return fmt.Errorf("making certificate authorities: %w", err)
	}
	for _, name := range []string{clusterCA, etcdCA, frontProxyCA} {
		ca, err := pki.NewCA(c.record.Name + "-" + name)
		if err == nil {
			err = ca.KeyPair().Write(tmp, name)
		}
		if err != nil {
			return err
		}
	}
	key, err := pki.NewSigningKey()
	if err == nil {
		err = key.Write(tmp, serviceAccountKey)
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp, c.pkiDir())
}

func (c *Cluster) writeCertificates() error {
	serve := func(hosts ...string) func(*pki.CA) (pki.KeyPair, error) {
		return func(ca *pki.CA) (pki.KeyPair, error) { return ca.Serving(hosts...) }
	}
	client := func(user string, groups ...string) func(*pki.CA) (pki.KeyPair, error) {
		return func(ca *pki.CA) (pki.KeyPair, error) { return ca.Client(user, groups...) }
	}
	type certificate struct {
		name, authority string
		issue           func(*pki.CA) (pki.KeyPair, error)
	}
	list := []certificate{
		{servingCert, clusterCA, serve("localhost", "127.0.0.1", "::1", firstServiceIP, "kubernetes", "kubernetes.default",
			"kubernetes.default.svc", "kubernetes.default.svc.cluster.local", c.host())},
		{adminCert, clusterCA, client(adminCert, mastersGroup)},
		{etcdServingCert, etcdCA, serve("localhost", "127.0.0.1", "::1")},
		{etcdClientCert, etcdCA, client("kube-apiserver")},
		{frontProxyClient, frontProxyCA, client(frontProxyClient)},
	}
	if c.real() {
		list = append(list,
			certificate{kubeletServingCert, clusterCA, serve(realNodeName, machine.NodeAddress)},
			certificate{kubeletClientCert, clusterCA, client("kube-apiserver-kubelet-client", mastersGroup)})
	}
	for _, wanted := range list {
		ca, err := c.authority(wanted.authority)
		if err != nil {
			return err
		}
		pair, err := wanted.issue(ca)
		if err != nil {
			return err
		}
		if err := pair.Write(c.pkiDir(), wanted.name); err != nil {
			return err
		}
	}
	return nil
}

// access is what a kubeconfig says.
type access struct {
	cluster, server string
	ca              []byte
	user            string
	pair            pki.KeyPair
	namespace       string
}

// renderKubeconfig writes a self-contained kubeconfig with one context, <user>@<cluster>.
func renderKubeconfig(a access) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[a.cluster] = &clientcmdapi.Cluster{Server: a.server, CertificateAuthorityData: a.ca}
	config.AuthInfos[a.user] = &clientcmdapi.AuthInfo{ClientCertificateData: a.pair.Public, ClientKeyData: a.pair.Private}
	config.CurrentContext = a.user + "@" + a.cluster
	config.Contexts[config.CurrentContext] = &clientcmdapi.Context{
		Cluster: a.cluster, AuthInfo: a.user, Namespace: a.namespace,
	}
	data, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("writing kubeconfig for %s: %w", a.user, err)
	}
	return data, nil
}
