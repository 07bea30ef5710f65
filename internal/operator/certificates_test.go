// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"crypto/tls"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"k8s.io/client-go/util/cert"

	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/operator/settings"
	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/loopback"
)

// mountedCertificate is a folder as the kubelet mounts a Secret, which is what OLM and cert-manager have it do: the files are
// links by way of ..data, which is exchanged as a whole.
type mountedCertificate struct {
	*world
	dir string
}

// put mounts a new certificate and returns its serial number.
func (m mountedCertificate) put(generation string) *big.Int {
	m.Helper()
	crt, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	m.must(err)
	m.must(os.Mkdir(filepath.Join(m.dir, generation), 0o700))
	m.must(os.WriteFile(filepath.Join(m.dir, generation, "tls.crt"), crt, 0o600))
	m.must(os.WriteFile(filepath.Join(m.dir, generation, "tls.key"), key, 0o600))
	m.must(os.Symlink(generation, filepath.Join(m.dir, "..new")))
	m.must(os.Rename(filepath.Join(m.dir, "..new"), filepath.Join(m.dir, "..data")))
	pair, err := tls.X509KeyPair(crt, key)
	m.must(err)
	return pair.Leaf.SerialNumber
}

// served is the serial number of the certificate that a server shows.
func (w *world) served(address string) *big.Int {
	w.Helper()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	connection, err := dialer.DialContext(w.Context(), "tcp", address)
	w.must(err)
	defer func() { _ = connection.Close() }()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber
}

func TestARotatedCertificateIsTakenUpWithoutARestart(t *testing.T) {
	w := newWorld(t)
	m := mountedCertificate{w, t.TempDir()}
	first := m.put("..1")
	for _, name := range []string{"tls.crt", "tls.key"} {
		w.must(os.Symlink(filepath.Join("..data", name), filepath.Join(m.dir, name)))
	}
	port := loopback.Port()
	address := net.JoinHostPort(loopback.Host(), strconv.Itoa(port))
	source, err := settings.Load(t.Context(), w.admin, "", "")
	w.must(err)
	mgr, err := operator.NewManager(w.user, source.Config, operator.Options{
		Namespace: testenv.OperatorNamespace, MetricsAddress: "0", ProbeAddress: "0",
		WebhookHost: loopback.Host(), WebhookPort: port, WebhookCertDir: m.dir,
	})
	w.must(err)
	stop := w.background(mgr.Start)
	serves := mgr.GetWebhookServer().StartedChecker()
	w.eventually("the webhooks serve", func() bool { return serves(nil) == nil })
	if got := w.served(address); got.Cmp(first) != 0 {
		t.Fatalf("it shows certificate %s, want %s", got, first)
	}

	second := m.put("..2")
	w.eventually("the new certificate is shown; no handshake fails meanwhile", func() bool { return w.served(address).Cmp(second) == 0 })
	stop()
}
