/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package testenv

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Write is one request to the API server that is meant to change something.
type Write struct {
	// Method is the HTTP method: POST, PUT, PATCH or DELETE.
	Method string
	// Path is the path behind the version of the API, for instance namespaces/app/resourcequotas/dev.
	Path string
	// Body is what was sent; nil when it cannot be read again.
	Body []byte
	// Code is the status of the answer; 0 while there is none.
	Code int
}

// String is the method and the path.
func (w Write) String() string { return w.Method + " " + w.Path }

// For tells whether the write is for an object of that name or for something in a namespace of that name.
func (w Write) For(name string) bool { return slices.Contains(strings.Split(w.Path, "/"), name) }

// Fault makes writes fail.
type Fault struct {
	// Match selects writes; nil selects all.
	Match func(Write) bool
	// First is the first selected write that fails, counted from 1. Zero is one.
	First int
	// Count is how many fail from there on; 0 means all, until the wire is healed.
	Count int
	// Lost lets requests through to the API server and loses the answers. Otherwise requests do not get
	// there.
	Lost bool
}

// Injected is a fault in action.
type Injected struct {
	Fault
	wire          *Wire
	seen, tripped int
}

// Tripped is how many writes have failed.
func (i *Injected) Tripped() int {
	i.wire.mu.Lock()
	defer i.wire.mu.Unlock()
	return i.tripped
}

// Heal ends the fault.
func (i *Injected) Heal() {
	i.wire.mu.Lock()
	defer i.wire.mu.Unlock()
	i.wire.faults = slices.DeleteFunc(i.wire.faults, func(o *Injected) bool { return o == i })
}

// Wire stands between an operator and the API server, below its client and the client's bookkeeping of
// its own writes: it records writes and makes them fail. Events, Leases and reviews of access are no
// writes. The zero value is ready.
type Wire struct {
	mu     sync.Mutex
	writes []*Write
	faults []*Injected
}

// Writes lists the writes so far that the given functions all select.
func (w *Wire) Writes(match ...func(Write) bool) []Write {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]Write, 0, len(w.writes))
	for _, x := range w.writes {
		out = append(out, *x)
	}
	for _, m := range match {
		out = slices.DeleteFunc(out, func(x Write) bool { return !m(x) })
	}
	return out
}

// Forget forgets the writes so far.
func (w *Wire) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes = nil
}

// Inject adds a fault. The first one that wants a write to fail decides.
func (w *Wire) Inject(f Fault) *Injected {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := &Injected{Fault: f, wire: w}
	w.faults = append(w.faults, i)
	return i
}

// Heal ends all faults.
func (w *Wire) Heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = nil
}

// Wrap is for rest.Config.Wrap.
func (w *Wire) Wrap(next http.RoundTripper) http.RoundTripper { return wireTransport{w, next} }

type wireTransport struct {
	*Wire
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t wireTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	write, ok := writeOf(req)
	if !ok {
		return t.next.RoundTrip(req)
	}
	// Before it is sent: what a test sees of it in the cluster is recorded already.
	t.record(&write)
	fault := t.fault(write)
	if fault != nil && !fault.Lost {
		return nil, fmt.Errorf("injected fault: %w", syscall.ECONNREFUSED)
	}
	resp, err := t.next.RoundTrip(req)
	if err == nil {
		t.answered(&write, resp.StatusCode)
	}
	if fault == nil || err != nil {
		return resp, err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return nil, fmt.Errorf("injected fault: %w", io.ErrUnexpectedEOF)
}

func (w *Wire) record(x *Write) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes = append(w.writes, x)
}

func (w *Wire) answered(x *Write, code int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x.Code = code
}

// fault counts a write for every fault, and gives the first that wants it to fail.
func (w *Wire) fault(x Write) *Injected {
	w.mu.Lock()
	defer w.mu.Unlock()
	var hit *Injected
	for _, f := range w.faults {
		if f.Match != nil && !f.Match(x) {
			continue
		}
		f.seen++
		first := max(f.First, 1)
		if hit == nil && f.seen >= first && (f.Count == 0 || f.seen < first+f.Count) {
			hit = f
			f.tripped++
		}
	}
	return hit
}

// writeOf reads a request; ok is false when it changes nothing that counts.
func writeOf(req *http.Request) (w Write, ok bool) {
	if req.Method == http.MethodGet || req.Method == http.MethodHead {
		return Write{}, false
	}
	// /api/v1/… or /apis/GROUP/VERSION/…
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	skip := 2
	if parts[0] == "apis" {
		skip = 3
	}
	if len(parts) <= skip || slices.ContainsFunc(parts[skip:], isChatter) {
		return Write{}, false
	}
	w = Write{Method: req.Method, Path: strings.Join(parts[skip:], "/")}
	if req.GetBody != nil {
		if body, err := req.GetBody(); err == nil {
			w.Body, _ = io.ReadAll(body)
		}
	}
	return w, true
}

func isChatter(resource string) bool {
	switch resource {
	case "events", "leases", "tokenreviews", "subjectaccessreviews", "selfsubjectaccessreviews":
		return true
	}
	return false
}
