// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
)

// deafness is which types' watches are held. The zero value holds none.
type deafness struct {
	mu    sync.Mutex
	until map[string]chan struct{} // closed when the type is heard again, by the plural
}

func (d *deafness) of(plural string) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.until[plural]
}

// Deafen holds what the watches of a type report, of that plural, until hear is called: so the caches of an operator become old,
// as they do on a busy machine or behind a slow network. Reads that do not watch go through.
func (w *Wire) Deafen(plural string) (hear func()) {
	held := make(chan struct{})
	w.deaf.mu.Lock()
	defer w.deaf.mu.Unlock()
	if w.deaf.until == nil {
		w.deaf.until = map[string]chan struct{}{}
	}
	w.deaf.until[plural] = held
	return sync.OnceFunc(func() {
		w.deaf.mu.Lock()
		defer w.deaf.mu.Unlock()
		if w.deaf.until[plural] == held {
			delete(w.deaf.until, plural)
		}
		close(held)
	})
}

// hold gives what is to become of the answer to a read.
func (w *Wire) hold(req *http.Request) func(*http.Response, error) (*http.Response, error) {
	return func(resp *http.Response, err error) (*http.Response, error) {
		if err == nil && strings.Contains(req.URL.RawQuery, "watch=") {
			resp.Body = &heldBody{ReadCloser: resp.Body, deaf: &w.deaf, plural: path.Base(req.URL.Path), closed: make(chan struct{})}
		}
		return resp, err
	}
}

// heldBody is the body of a watch.
type heldBody struct {
	io.ReadCloser
	deaf   *deafness
	plural string
	closed chan struct{}
	once   sync.Once
}

// Read implements io.Reader. What was read is handed on once it may be heard.
func (b *heldBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	for held := b.deaf.of(b.plural); held != nil; held = b.deaf.of(b.plural) {
		select {
		case <-held:
		case <-b.closed:
			return n, err
		}
	}
	return n, err
}

// Close implements io.Closer.
func (b *heldBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.ReadCloser.Close()
}
