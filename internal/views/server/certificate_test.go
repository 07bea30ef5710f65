// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/watch"

	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// volume is a folder as the kubelet mounts a Secret: its files lead through the link ..data to a folder of that version.
type volume struct{ dir string }

// update replaces the content as the kubelet does: the link is replaced at once, and the folder before is deleted then.
func (v volume) update(version string) {
	GinkgoHelper()
	folder, link := filepath.Join(v.dir, version), filepath.Join(v.dir, "..data")
	Expect(os.Mkdir(folder, 0o700)).To(Succeed())
	writeCertificate(folder, serving)
	before, err := os.Readlink(link)
	if !os.IsNotExist(err) {
		Expect(err).NotTo(HaveOccurred())
	}
	Expect(os.Symlink(version, link+"_tmp")).To(Succeed())
	Expect(os.Rename(link+"_tmp", link)).To(Succeed())
	if before != "" {
		Expect(os.RemoveAll(filepath.Join(v.dir, before))).To(Succeed())
		return
	}
	for _, file := range []string{"tls.crt", "tls.key"} {
		Expect(os.Symlink(filepath.Join("..data", file), filepath.Join(v.dir, file))).To(Succeed())
	}
}

// serial is the number of the certificate that a replica shows to new connections.
func (r *replica) serial() string {
	GinkgoHelper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(serving.PEM)
	c, err := tls.Dial("tcp", r.Address().String(), &tls.Config{RootCAs: pool, ServerName: "localhost", MinVersion: tls.VersionTLS12})
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = c.Close() }()
	return c.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

var _ = Describe("A new certificate", func() {
	It("is served without a restart, and no watch ends (V12)", func() {
		v := volume{GinkgoT().TempDir()}
		v.update("..1")
		r := startReplica(func(o *Options) { o.CertDir = v.dir })
		DeferCleanup(func() {
			proxy.to(one, two)
			r.stop()
		})
		proxy.to(r)
		first, second := Namespace(), Namespace()
		name, sam := newUser()
		grant(first, "view", user(name))
		Eventually(namesOf(sam)).Should(Equal([]string{first}))
		s, before := from(sam), r.serial()

		v.update("..2")
		Eventually(r.serial).ShouldNot(Equal(before))
		grant(second, "view", user(name))
		s.expect(watch.Added, second)
		proxy.to(r) // which cuts connections: the API server trusts the new certificate, too
		Eventually(namesOf(sam)).Should(ConsistOf(first, second))
	})
})
