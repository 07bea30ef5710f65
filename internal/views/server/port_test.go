// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// heldReviews is the access of a replica whose reviews of one kind are counted, and wait while they are held.
type heldReviews struct {
	kind   string
	count  atomic.Int64
	hold   chan struct{}
	letGo  func()
	config *rest.Config
}

func holdReviews(kind string, held bool) *heldReviews {
	h := &heldReviews{kind: kind, hold: make(chan struct{}), config: rest.CopyConfig(Plane.Config)}
	h.letGo = sync.OnceFunc(func() { close(h.hold) })
	DeferCleanup(h.letGo)
	if !held {
		h.letGo()
	}
	h.config.QPS = -1
	h.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/"+kind) {
				h.count.Add(1)
				select {
				case <-h.hold:
				case <-r.Context().Done():
				}
			}
			return next.RoundTrip(r)
		})
	})
	return h
}

// replica is one with that access.
func (h *heldReviews) replica() *replica {
	GinkgoHelper()
	r := startReplica(func(o *Options) { o.Config = h.config })
	DeferCleanup(r.stop)
	return r
}

// send gives the code of an answer of a replica.
func (d direct) send(r *replica, method, path string, headers map[string]string, body string) int {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, method, fmt.Sprintf("https://localhost:%d%s", r.port(), path), strings.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	for key, value := range headers {
		request.Header.Set(key, value)
	}
	answer, err := d.Do(request)
	Expect(err).NotTo(HaveOccurred())
	_, err = io.Copy(io.Discard, answer.Body)
	Expect(err).NotTo(HaveOccurred())
	Expect(answer.Body.Close()).To(Succeed())
	return answer.StatusCode
}

// unread is a connection whose client never lets a body be sent, which only HTTP/2 has.
type unread struct{ net.Conn }

// unread opens one.
func (d direct) unread(r *replica) unread {
	GinkgoHelper()
	config := d.Transport.(*http.Transport).TLSClientConfig.Clone()
	config.NextProtos, config.ServerName = []string{"h2"}, "localhost"
	c, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", r.Address().String())
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(c.Close)
	Expect(c.SetDeadline(time.Now().Add(5 * time.Minute))).To(Succeed())
	// The window of each request is 0.
	_, err = c.Write(frame([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frameSettings, 0, 0, []byte{0, 4, 0, 0, 0, 0}))
	Expect(err).NotTo(HaveOccurred())
	return unread{c}
}

const (
	frameHeaders, frameSettings, frameGoAway = 1, 4, 7
	endStream, endHeaders                    = 1, 4
)

// frame appends a frame of HTTP/2.
func frame(b []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload))<<8|uint32(kind))
	b = binary.BigEndian.AppendUint32(append(b, flags), stream)
	return append(b, payload...)
}

// ask sends a number of requests at once, and waits until each is answered or the server lets the client send no more.
func (u unread) ask(n int, path string) {
	GinkgoHelper()
	var sent []byte
	for i := range n {
		var block []byte
		for _, h := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "localhost"}, {":path", path}} {
			block = text(text(append(block, 0), h[0]), h[1])
		}
		sent = frame(sent, frameHeaders, endStream|endHeaders, uint32(2*i+1), block)
	}
	_, err := u.Write(sent)
	Expect(err).NotTo(HaveOccurred())
	answers := bufio.NewReader(u)
	for answered := 0; answered < n; {
		var header [9]byte
		_, err := io.ReadFull(answers, header[:])
		Expect(err).NotTo(HaveOccurred())
		_, err = io.CopyN(io.Discard, answers, int64(binary.BigEndian.Uint32(header[:])>>8))
		Expect(err).NotTo(HaveOccurred())
		switch header[3] {
		case frameGoAway:
			return
		case frameHeaders:
			answered++
		}
	}
}

// text appends a string of HPACK: its length, seven bits at a time, and itself.
func text(b []byte, s string) []byte {
	n := len(s)
	if n < 127 {
		return append(append(b, byte(n)), s...)
	}
	b = append(b, 127)
	for n -= 127; n >= 128; n /= 128 {
		b = append(b, byte(n%128)|128)
	}
	return append(append(b, byte(n)), s...)
}

// What somebody can do who reaches the port, and has no certificate of the front proxy.
var _ = Describe("A client without the front proxy's certificate", func() {
	for what, path := range map[string]string{
		"a probe": "/readyz", "a probe with a long answer": "/readyz?verbose&exclude=" + strings.Repeat("x", 8000),
	} {
		It("keeps out no probe by reading no answer: "+what, func() {
			r := holdReviews("tokenreviews", false).replica()
			// The server ends a connection after some requests.
			const connections = maxConnectionsOfOne - 10
			for range connections {
				bypass().unread(r).ask(2*maxArrived/connections, path)
			}
			Expect(r.ready()).To(Equal(http.StatusOK))
		})
	}

	It("is rejected before anything is done for it", func() {
		tokens := holdReviews("tokenreviews", false)
		r := tokens.replica()
		client := bypass()
		long := strings.Repeat("x", 64<<10)
		const nonsense = "Bearer nonsense"
		for what, c := range map[string]struct {
			method, path, body string
			headers            map[string]string
			code               int
		}{
			"a list":               {path: base + "/mynamespaces", code: http.StatusUnauthorized},
			"a watch":              {path: base + "/mynamespaces?watch=1", code: http.StatusUnauthorized},
			"discovery":            {path: "/apis", code: http.StatusUnauthorized},
			"a probe with a query": {path: "/readyz?verbose", code: http.StatusUnauthorized},
			"a probe with a body":  {path: "/readyz", body: "{}", code: http.StatusUnauthorized},
			"a check of a probe":   {path: "/readyz/sources", code: http.StatusUnauthorized},
			"metrics with a query": {path: "/metrics?x", code: http.StatusUnauthorized},
			"metrics with a body":  {path: "/metrics", body: "{}", code: http.StatusUnauthorized},
			"a method":             {method: http.MethodPost, path: "/metrics", code: http.StatusUnauthorized},
			"a body":               {method: http.MethodPost, path: base + "/mynamespaces", body: "{}", code: http.StatusUnauthorized},
			"long headers": {
				path: "/metrics", headers: map[string]string{"X-Remote-Extra-A": long}, code: http.StatusRequestHeaderFieldsTooLarge,
			},
			"a probe with long headers": {path: "/livez", headers: map[string]string{"X-Note": long}, code: http.StatusRequestHeaderFieldsTooLarge},
			"impersonation":             {path: "/metrics", headers: map[string]string{"Impersonate-User": "sam"}, code: http.StatusForbidden},
		} {
			headers := map[string]string{"Authorization": nonsense}
			for key, value := range c.headers {
				headers[key] = value
			}
			Expect(client.send(r, c.method, c.path, headers, c.body)).To(Equal(c.code), what)
		}
		Expect(client.send(r, "", "/metrics", nil, "")).To(Equal(http.StatusUnauthorized), "without a token")
		Expect(tokens.count.Load()).To(BeZero())
		Expect(client.send(r, "", "/metrics", map[string]string{"Authorization": nonsense}, "")).To(Equal(http.StatusUnauthorized))
		Expect(tokens.count.Load()).To(BeEquivalentTo(1))
	})
})
