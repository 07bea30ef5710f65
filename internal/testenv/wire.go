// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"

	"k8s.io/apimachinery/pkg/runtime/schema"
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

// For reports whether the write is for an object of that name, for something in a namespace of that name, or for something in
// the operator's namespace that is called after it.
func (w Write) For(name string) bool { return For(w.Path, name) }

// For is Write.For for the path of a read as well. A list by a label whose value is a name is for what has that name.
func For(path, name string) bool {
	path, selector, _ := strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	if slices.Contains(parts, name) {
		return true
	}
	if len(parts) < 3 || parts[0] != "namespaces" || parts[1] != OperatorNamespace {
		return false
	}
	_, value, _ := strings.Cut(selector, "=")
	return CalledAfter(value, name) || len(parts) > 3 && CalledAfter(parts[3], name)
}

// CalledAfter reports whether the name of a child begins with that of its owner.
func CalledAfter(child, owner string) bool { return strings.HasPrefix(child, owner+"-") }

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
	// Status is how requests are answered that do not get there, without an object of the API, as by an API server that does not
	// serve their type. 0 means that they are not answered.
	Status int
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
// its own writes: it records reads, writes, and what is watched, and makes writes fail. Events, the operator's own Lease and reviews of
// access are no writes. The zero value is ready.
type Wire struct {
	mu      sync.Mutex
	writes  []*Write
	reads   []string
	faults  []*Injected
	watched map[schema.GroupVersionResource]bool
	deaf    deafness
}

// Watched are the types that have been watched so far.
func (w *Wire) Watched() []schema.GroupVersionResource {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.SortedFunc(maps.Keys(w.watched), func(a, b schema.GroupVersionResource) int { return strings.Compare(a.String(), b.String()) })
}

// Reads are the paths, as those of writes, of what was read so far, one object or a list. A list by labels ends in "?" and the
// selector. Watches are not among them.
func (w *Wire) Reads() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.reads)
}

// read records what a request reads or watches, if it does.
func (w *Wire) read(req *http.Request) {
	group, parts, ok := apiPath(req)
	if !ok || isChatter(parts) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if req.URL.Query().Get("watch") == "" {
		path := strings.Join(parts, "/")
		if selector := req.URL.Query().Get("labelSelector"); selector != "" {
			path += "?" + selector
		}
		w.reads = append(w.reads, path)
		return
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	if w.watched == nil {
		w.watched = map[schema.GroupVersionResource]bool{}
	}
	w.watched[group.WithResource(parts[0])] = true
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

// Forget forgets the reads and writes so far.
func (w *Wire) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads, w.writes = nil, nil
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
		t.read(req)
		return t.hold(req)(t.next.RoundTrip(req))
	}
	// Before it is sent: what a test sees of it in the cluster is recorded already.
	t.record(&write)
	fault := t.fault(write)
	if fault != nil && fault.Status != 0 {
		t.answered(&write, fault.Status)
		return answer(req, fault.Status), nil
	}
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

// answer is one of an HTTP server that knows no such path.
func answer(req *http.Request, status int) *http.Response {
	text := fmt.Sprintf("%d %s\n", status, http.StatusText(status))
	return &http.Response{
		Status: text, StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, Body: io.NopCloser(strings.NewReader(text)),
	}
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
	_, parts, ok := apiPath(req)
	if !ok || isChatter(parts) {
		return Write{}, false
	}
	w = Write{Method: req.Method, Path: strings.Join(parts, "/")}
	if req.GetBody != nil {
		if body, err := req.GetBody(); err == nil {
			w.Body, _ = io.ReadAll(body)
		}
	}
	return w, true
}

// apiPath splits the path of a request, /api/v1/… or /apis/GROUP/VERSION/…, into the version of the API and what follows.
func apiPath(req *http.Request) (gv schema.GroupVersion, rest []string, ok bool) {
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		return schema.GroupVersion{Version: parts[1]}, parts[2:], true
	case parts[0] == "apis" && len(parts) > 3:
		return schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:], true
	}
	return gv, nil, false
}

// isChatter reports whether a path is that of something that comes and goes by itself. Of Leases those count by which the
// operator elects its own leader.
func isChatter(parts []string) bool {
	return slices.ContainsFunc(parts, func(resource string) bool {
		switch resource {
		case "events", "tokenreviews", "subjectaccessreviews", "selfsubjectaccessreviews":
			return true
		case "leases":
			return len(parts) > 1 && parts[1] == OperatorNamespace
		}
		return false
	})
}
