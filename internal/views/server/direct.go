// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/acme/platform-operator/internal/views/places"
)

const (
	// maxDirect is how many direct requests may wait for the review of their token, and maxDirectOfOne how many of them one address may have.
	maxDirect      = 50
	maxDirectOfOne = 10
	// metricsPath is what a token may read.
	metricsPath = "/metrics"
)

// probes are the paths that anybody may ask.
var probes = []string{"/livez", "/readyz"}

// isProbe reports whether a request is one of the kubelet's.
func isProbe(r *http.Request) bool {
	return slices.Contains(probes, r.URL.Path) && isPlain(r)
}

// isScrape reports whether a request is for metrics, with a token.
func isScrape(r *http.Request) bool {
	return r.URL.Path == metricsPath && isPlain(r) && strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// isPlain reports whether a request only reads a path: it has no query, and no body.
func isPlain(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.RawQuery == "" && r.ContentLength == 0 && len(r.Trailer) == 0
}

// probe answers with a code and without a body: a client that reads nothing could keep a body from being sent, and all that belongs to it
// in memory. What fails is in a header.
func probe(w http.ResponseWriter, r *http.Request, next http.Handler) {
	result := &result{header: http.Header{}, code: http.StatusOK}
	next.ServeHTTP(result, r)
	if result.code != http.StatusOK {
		warn(w, strings.ReplaceAll(strings.TrimSpace(result.body.String()), "\n", "; "))
	}
	w.WriteHeader(result.code)
}

// result is an answer that was not sent.
type result struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (r *result) Header() http.Header         { return r.header }
func (r *result) WriteHeader(code int)        { r.code = code }
func (r *result) Write(p []byte) (int, error) { return r.body.Write(p) }

// direct answers requests that did not come from kube-apiserver: those for metrics, with a token. It rejects all others, and what is
// longer than a scrape needs, before anything is done for them.
func (f *front) direct(chain, checks http.Handler) http.Handler {
	waiting := places.New(maxDirect, maxDirectOfOne)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size, impersonates := f.headersOf(r, false)
		switch {
		case len(r.RequestURI) > maxURL || size > maxHeaders:
			refuse(w, http.StatusRequestHeaderFieldsTooLarge, "the headers are longer than 32 KiB; send only those that are needed")
			return
		case isProbe(r):
			probe(w, r, checks)
			return
		case !isScrape(r):
			refuse(w, http.StatusUnauthorized, "only probes and, with a bearer token, metrics are served here; go through kube-apiserver")
			return
		case impersonates:
			refuse(w, http.StatusForbidden, "impersonation is not possible here; go through kube-apiserver")
			return
		}
		free, ok := waiting.Take(hostOf(r.RemoteAddr), 1)
		if !ok {
			w.Header().Set("Retry-After", "1")
			warn(w, "too many requests wait for the review of their token; try again")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		defer free()
		chain.ServeHTTP(w, r)
	})
}

// refuse answers without a body, as probe does, and ends the connection. A body that the client sends is not waited for.
func refuse(w http.ResponseWriter, code int, message string) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
	w.Header().Set("Connection", "close")
	warn(w, message)
	w.WriteHeader(code)
}

// warn adds a message as Kubernetes' API servers do, which clients show.
func warn(w http.ResponseWriter, message string) {
	w.Header().Set("Warning", fmt.Sprintf("299 - %q", message))
}

func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}
