// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/limit"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// rawWatch opens a watch as a member of system:masters, and reads nothing of it. The receive buffer is as small as can be.
func rawWatch(user string) io.Closer {
	GinkgoHelper()
	certPEM, keyPEM, err := Plane.FrontProxy.Issue(testenv.FrontProxyName)
	Expect(err).NotTo(HaveOccurred())
	certificate, err := tls.X509KeyPair(certPEM, keyPEM)
	Expect(err).NotTo(HaveOccurred())
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(serving.PEM)
	small := &net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
		if e := c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 1) }); e != nil {
			return e
		}
		return err
	}}
	c, err := tls.DialWithDialer(small, "tcp", one.Address().String(), &tls.Config{
		RootCAs: pool, ServerName: "localhost", Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12,
	})
	Expect(err).NotTo(HaveOccurred())
	_, err = fmt.Fprintf(c, "GET %s/mynamespaces?watch=1 HTTP/1.1\r\nHost: localhost\r\nX-Remote-User: %s\r\nX-Remote-Group: system:masters\r\n\r\n", base, user)
	Expect(err).NotTo(HaveOccurred())
	return c
}

// watching counts the goroutines that answer watches of views, or write to their clients.
func watching() int {
	all := make([]byte, 64<<20)
	all = all[:runtime.Stack(all, true)]
	count := 0
	for stack := range strings.SplitSeq(string(all), "\n\n") {
		if strings.Contains(stack, "internal/views/storage.") || strings.Contains(stack, "handlers.(*WatchServer)") {
			count++
		}
	}
	return count
}

var _ = Describe("Watches that nobody reads", func() {
	const watches, namespaces = 100, 200

	It("end with their connections, and leave no goroutine (V17)", Label(limit.Slow), func() {
		Eventually(openWatches).Should(BeZero(), "those of other specs have ended")
		Eventually(watching).Should(BeZero())
		var open []io.Closer
		for i := range watches {
			c := rawWatch(fmt.Sprint("unread-", i%10))
			DeferCleanup(func() { _ = c.Close() })
			open = append(open, c)
		}
		Eventually(openWatches).Should(BeEquivalentTo(watches))
		Expect(watching()).To(BeNumerically(">=", watches), "the goroutines are found")

		long := strings.Repeat("x", 63)
		var churning sync.WaitGroup
		for worker := range 4 {
			churning.Go(func() {
				defer GinkgoRecover()
				for i := range namespaces / 4 {
					n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("churn-%d-%d", worker, i), Labels: map[string]string{}}}
					for l := range 60 {
						n.Labels[fmt.Sprintf("%s-%d", long[:50], l)] = long
					}
					Expect(Admin.Create(ctx, n)).To(Succeed())
					Expect(Admin.Delete(ctx, n)).To(Succeed())
				}
			})
		}
		churning.Wait()
		name, sam := newUser()
		mine := Namespace()
		grant(mine, "view", user(name))
		Eventually(namesOf(sam)).Should(Equal([]string{mine}), "others are answered meanwhile")
		for _, c := range open {
			_ = c.Close() // to say so may fail: nothing is read
		}
		Eventually(openWatches).Should(BeZero())
		Eventually(watching).Should(BeZero())
	})
})
