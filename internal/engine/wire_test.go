// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// wire sits between a manager and the API server: it notes every request, and may answer in its place.
type wire struct {
	next http.RoundTripper

	mu     sync.Mutex
	writes []string
	reads  []*http.Request
	answer func(*http.Request) *http.Response
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	if answer := w.note(req); answer != nil {
		if res := answer(req); res != nil {
			return res, nil
		}
	}
	return w.next.RoundTrip(req)
}

func (w *wire) note(req *http.Request) func(*http.Request) *http.Response {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case req.Method == http.MethodGet:
		w.reads = append(w.reads, req.Clone(req.Context()))
	case !strings.Contains(req.URL.Path, "/apis/events.k8s.io/"):
		verb := req.Method
		if strings.HasPrefix(req.Header.Get("Content-Type"), "application/apply-patch") {
			verb = "APPLY"
		}
		path := strings.TrimPrefix(strings.TrimPrefix(req.URL.Path, "/apis/"), "/api/")
		if _, below, ok := strings.Cut(path, "/namespaces/"); ok && strings.Contains(below, "/") {
			_, path, _ = strings.Cut(below, "/")
		}
		w.writes = append(w.writes, verb+" "+path)
	}
	return w.answer
}

// Writes lists the writes so far, without those of events: the verb, and what of the path follows the
// namespace.
func (w *wire) Writes() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.writes...)
}

// Writing lists those writes that contain a text.
func (w *wire) Writing(text string) []string {
	var some []string
	for _, line := range w.Writes() {
		if strings.Contains(line, text) {
			some = append(some, line)
		}
	}
	return some
}

// Forget forgets the writes so far.
func (w *wire) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes = nil
}

// Reads lists the read requests of a resource so far.
func (w *wire) Reads(resource string) []*http.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	var some []*http.Request
	for _, req := range w.reads {
		if strings.Contains(req.URL.Path, "/"+resource) {
			some = append(some, req)
		}
	}
	return some
}

// Answer lets a function answer requests; nil passes one on.
func (w *wire) Answer(answer func(*http.Request) *http.Response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = answer
}

// refuse fails the first n requests of a method whose path ends in the given way.
func (w *wire) refuse(n int, method, pathEnd string, code int32, reason metav1.StatusReason) {
	var mu sync.Mutex
	w.Answer(func(req *http.Request) *http.Response {
		mu.Lock()
		defer mu.Unlock()
		if n == 0 || req.Method != method || !strings.HasSuffix(req.URL.Path, pathEnd) {
			return nil
		}
		n--
		return status(req, code, reason)
	})
}

func status(req *http.Request, code int32, reason metav1.StatusReason) *http.Response {
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: "refused by the test",
	})
	if err != nil {
		panic(err)
	}
	return &http.Response{
		StatusCode: int(code), Request: req, Body: io.NopCloser(bytes.NewReader(body)),
		Header: http.Header{"Content-Type": {"application/json"}},
	}
}

// lateWatch keeps what a cache watches of some paths to itself as long as it is locked.
type lateWatch struct {
	sync.Mutex
	of   string
	next http.RoundTripper
}

// use is for start.
func (l *lateWatch) use(o *ctrl.Options) {
	o.NewCache = func(cfg *rest.Config, opts cache.Options) (cache.Cache, error) {
		l.next = opts.HTTPClient.Transport
		opts.HTTPClient = &http.Client{Transport: l}
		return cache.New(cfg, opts)
	}
}

// RoundTrip implements http.RoundTripper.
func (l *lateWatch) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := l.next.RoundTrip(req)
	if err == nil && strings.HasSuffix(req.URL.Path, l.of) && req.URL.Query().Has("watch") {
		res.Body = lateBody{res.Body, l}
	}
	return res, err
}

type lateBody struct {
	io.ReadCloser

	late *lateWatch
}

// Read implements io.Reader.
func (b lateBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.late.Lock()
	defer b.late.Unlock()
	return n, err
}
