// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
)

// maxManifest is the size that a manifest may have, in bytes; it is what other registries allow.
const maxManifest = 4 << 20

// journal makes a registry remember its manifests. The registry keeps blobs in files but manifests in
// memory only, so each change to a manifest is appended to a file, and done again after a restart:
// in the same order, because an index is refused before the images that it names.
type journal struct {
	next http.Handler
	mu   sync.Mutex // one change at a time: the file has the order in which they were done
	file *os.File
}

// entry is a request that changed a manifest.
type entry struct {
	Method      string `json:"method"`
	Path        string `json:"path"`
	ContentType string `json:"contentType,omitempty"`
	Body        []byte `json:"body,omitempty"`
}

// newJournal does what the file at path holds, and wraps next so that it goes on being written.
func newJournal(path string, next http.Handler) (*journal, error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	whole := bytes.LastIndexByte(data, '\n') + 1 // the last line is torn when a crash ended its writing
	for line := range bytes.Lines(data[:whole]) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("reading the journal: %w", err)
		}
		if answer := e.do(next); answer.Code >= http.StatusBadRequest {
			return nil, fmt.Errorf("repeating %s %s: %d %s", e.Method, e.Path, answer.Code, answer.Body)
		}
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = file.Truncate(int64(whole))
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekEnd)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	return &journal{next: next, file: file}, nil
}

// ServeHTTP implements http.Handler.
func (j *journal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	changes := r.Method == http.MethodPut || r.Method == http.MethodDelete
	if !changes || !strings.Contains(r.URL.Path, "/manifests/") {
		j.next.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxManifest))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	e := entry{Method: r.Method, Path: r.URL.Path, ContentType: r.Header.Get("Content-Type"), Body: body}
	answer, err := j.change(e)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	for key, values := range answer.Header() {
		w.Header()[key] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = answer.Body.WriteTo(w) // a client that went away has no use for the answer
}

// change does a change and remembers it when it was accepted.
func (j *journal) change(e entry) (*httptest.ResponseRecorder, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	answer := e.do(j.next)
	if answer.Code >= http.StatusBadRequest {
		return answer, nil
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = j.file.Write(append(line, '\n'))
	}
	if err != nil {
		return nil, fmt.Errorf("writing the journal: %w", err)
	}
	return answer, nil
}

func (e entry) do(handler http.Handler) *httptest.ResponseRecorder {
	request := httptest.NewRequest(e.Method, e.Path, bytes.NewReader(e.Body))
	request.Header.Set("Content-Type", e.ContentType)
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer
}
