// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var _ = Describe("A flood of tokens that mean nothing", func() {
	It("reaches the API server as a trickle", func() {
		var reviews atomic.Int64
		counted := rest.CopyConfig(account)
		counted.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if strings.HasSuffix(r.URL.Path, "/tokenreviews") {
					reviews.Add(1)
				}
				return next.RoundTrip(r)
			})
		})
		r := startReplica(func(o *Options) { o.Config = counted })
		DeferCleanup(r.stop)
		client := bypass()
		client.Transport.(*http.Transport).MaxConnsPerHost = maxConnectionsOfOne / 2
		const tokens = 300
		var running sync.WaitGroup
		for i := range tokens {
			running.Go(func() {
				defer GinkgoRecover()
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://localhost:%d/metrics", r.port()), nil)
				Expect(err).NotTo(HaveOccurred())
				request.Header.Set("Authorization", fmt.Sprintf("Bearer nonsense-%d", i))
				answer, err := client.Do(request)
				Expect(err).NotTo(HaveOccurred())
				Expect(answer.Body.Close()).To(Succeed())
				Expect(answer.StatusCode).To(Or(Equal(http.StatusUnauthorized), Equal(http.StatusTooManyRequests)))
			})
		}
		running.Wait()
		Expect(reviews.Load()).To(BeNumerically("<", tokens/2))
	})
})
