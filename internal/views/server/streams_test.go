// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("A connection of kube-apiserver", func() {
	// The library's own limit is 250 requests at once: the next one would wait for the end of a watch, or need another connection.
	const watches, ofOne = 300, 75

	It("carries the watches of all users, and each ends in order when the replica ends", func() {
		r := startReplica()
		DeferCleanup(r.stop)
		client := front509(Plane.FrontProxy, "front-proxy-client")
		transport := client.Transport.(*http.Transport)
		var dials atomic.Int64
		transport.ForceAttemptHTTP2 = true
		transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			dials.Add(1)
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
		var open []io.ReadCloser
		for i := range watches {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://localhost:%d%s/mynamespaces?watch=1", r.port(), base), nil)
			Expect(err).NotTo(HaveOccurred())
			request.Header.Set("X-Remote-User", fmt.Sprint("watcher-", i/ofOne))
			request.Header.Set("X-Remote-Group", "system:authenticated")
			answer, err := client.Do(request)
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(answer.Body.Close)
			Expect(answer.StatusCode).To(Equal(http.StatusOK), "watch %d", i)
			Expect(answer.ProtoMajor).To(Equal(2))
			open = append(open, answer.Body)
		}
		Expect(dials.Load()).To(BeEquivalentTo(1))
		r.stop()
		for i, body := range open {
			_, err := io.Copy(io.Discard, body)
			Expect(err).NotTo(HaveOccurred(), "watch %d", i)
		}
	})
})
