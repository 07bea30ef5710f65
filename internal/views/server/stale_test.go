// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// ahead is a clock that can be set forward. Its timers are real.
type ahead struct {
	clock.RealClock
	by atomic.Int64
}

func (a *ahead) Now() time.Time                  { return a.RealClock.Now().Add(time.Duration(a.by.Load())) }
func (a *ahead) Since(t time.Time) time.Duration { return a.Now().Sub(t) }

var _ = Describe("A replica that hears nothing", func() {
	It("is not ready after 150 s, and ready again once it hears all sources (V14)", func() {
		link := balance()
		DeferCleanup(link.close)
		host, port, err := net.SplitHostPort(strings.Trim(strings.TrimPrefix(account.Host, "https://"), "/"))
		Expect(err).NotTo(HaveOccurred())
		api := portNumber(port)
		link.host = host
		link.switchToPorts(api)
		now := &ahead{}
		cut := rest.CopyConfig(account)
		cut.Host = "https://" + link.listener.Addr().String()
		cut.TLSClientConfig.ServerName = host
		r := startReplica(func(o *Options) { o.Config, o.Clock = cut, now })
		DeferCleanup(r.stop)
		ready := func() error { return r.source.Check() }
		Expect(ready()).To(Succeed())
		name, _ := newUser()
		vouched := func(group string) map[string]string {
			return map[string]string{"X-Remote-User": name, "X-Remote-Group": group}
		}
		front := front509(Plane.FrontProxy, testenv.FrontProxyName).to(r)
		shown := func() any { return front.names(vouched("system:authenticated")) }
		revoked, granted := Namespace(), Namespace()
		binding := grant(revoked, "view", user(name))
		Eventually(shown).Should(Equal([]string{revoked}))

		link.switchToPorts()
		Remove(binding)
		now.by.Add(int64(120 * time.Second)) // real time passes, too
		Expect(ready()).To(Succeed())
		now.by.Add(int64(31 * time.Second))
		Expect(ready()).To(MatchError(ContainSubstring("the API server has sent nothing about")))
		Expect(r.ready()).To(Equal(http.StatusInternalServerError), "the probe fails")
		Expect(front.names(vouched("system:masters"))).To(Equal(http.StatusServiceUnavailable))
		discovered := front.get(base, vouched("system:masters"))
		Expect(discovered.StatusCode).To(Equal(http.StatusOK), "namespaces cannot be deleted while a registered API is not discovered")
		Expect(discovered.Close).To(BeTrue(), "the API server connects to another replica")
		// Once it no longer keeps the review of the user's right, another one fails.
		Expect(shown()).To(BeElementOf(http.StatusServiceUnavailable, http.StatusInternalServerError))

		link.switchToPorts(api)
		Eventually(ready).Should(Succeed())
		Eventually(shown).Should(Equal([]string{}))
		grant(granted, "view", user(name))
		Eventually(shown).Should(Equal([]string{granted}))
	})

	// API servers keep their connection to a replica that is taken out of the Service.
	It("makes API servers connect to another replica (V14)", func() {
		wire, now, deaf := &testenv.Wire{}, &ahead{}, rest.CopyConfig(account)
		deaf.Wrap(wire.Wrap)
		r := startReplica(func(o *Options) { o.Config, o.Clock = deaf, now })
		DeferCleanup(func() {
			proxy.to(one, two)
			r.stop()
		})
		proxy.to(r)
		name, sam := newUser()
		mine := Namespace()
		grant(mine, "view", user(name))
		Eventually(namesOf(sam)).Should(Equal([]string{mine}))

		DeferCleanup(wire.Deafen("namespaces")) // reviews still work
		now.by.Add(int64(151 * time.Second))
		Expect(r.ready()).To(Equal(http.StatusInternalServerError), "the probe fails")
		proxy.redirect(one, two)
		Eventually(namesOf(sam)).Should(Equal([]string{mine}))
	})
})
