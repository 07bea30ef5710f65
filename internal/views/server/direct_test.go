// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// Requests with a token that wait for its review take few places, and one address has a few of those.
func TestScrapesAreBounded(t *testing.T) {
	hold, arrived := make(chan struct{}), make(chan struct{})
	handler := (&front{}).direct(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-hold
	}), nil)
	const requests = 1000
	done := make(chan *httptest.ResponseRecorder, requests)
	ask := func(address string) {
		r := httptest.NewRequest(http.MethodGet, metricsPath, nil)
		r.RemoteAddr = address + ":9"
		r.Header.Set("Authorization", "Bearer same")
		go func() {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			done <- w
		}()
	}
	flood := func(addresses, most int) {
		t.Helper()
		waiting := 0
		for i := range requests {
			ask(fmt.Sprint("192.0.2.", i%addresses))
			select {
			case <-arrived:
				waiting++
			case w := <-done:
				if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" || w.Body.Len() != 0 {
					t.Fatalf("%d, %v, %s", w.Code, w.Header(), w.Body)
				}
			}
		}
		if waiting != most {
			t.Errorf("%d more requests wait, not %d", waiting, most)
		}
	}
	flood(1, maxDirectOfOne)
	flood(100, maxDirect-maxDirectOfOne)
	close(hold)
	for range maxDirect {
		if w := <-done; w.Code != http.StatusOK {
			t.Errorf("answered with %d", w.Code)
		}
	}
	ask("192.0.2.0")
	<-arrived
	if w := <-done; w.Code != http.StatusOK {
		t.Errorf("places are not given back: %d", w.Code)
	}
}

// The answer to a probe has no body, and says what fails.
func TestAProbeIsAnsweredByACode(t *testing.T) {
	for code, want := range map[int]string{http.StatusOK: "", http.StatusInternalServerError: `299 - "[+]ping ok; [-]sources failed"`} {
		w := httptest.NewRecorder()
		(&front{}).direct(nil, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = fmt.Fprint(w, "[+]ping ok\n[-]sources failed\n")
		})).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if w.Code != code || w.Body.Len() != 0 || w.Header().Get("Warning") != want {
			t.Errorf("%d: it is answered with %d, %v, %s", code, w.Code, w.Header(), w.Body)
		}
	}
}

// deadlines records until when an answer may be written, and a body read.
type deadlines struct {
	*httptest.ResponseRecorder

	write, read time.Time
}

func (d *deadlines) SetWriteDeadline(t time.Time) error { d.write = t; return nil }
func (d *deadlines) SetReadDeadline(t time.Time) error  { d.read = t; return nil }

// A client that reads no answer keeps what belongs to it for a time that is known. Only a watch may take long.
func TestAnswersEnd(t *testing.T) {
	now := time.Unix(1e9, 0)
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	limitTime(w, now, time.Minute)
	if want := now.Add(time.Minute); !w.write.Equal(want) || !w.read.Equal(want) {
		t.Errorf("it may be written until %s, and read until %s, not %s", w.write, w.read, want)
	}
	for path, want := range map[string]bool{
		"/readyz": false, "/metrics": false, "/apis?watch=1": false, base + "?watch=1": false,
		base + "/mynamespaces": false, base + "/mynamespaces?watch=0": false, base + "/mynamespaces?watch=false": false,
		base + "/mynamespaces/a?watch=1": false, base + "/mynamespaces?watch=1": true, base + "/mynamespaces?watch=true&limit=1": true,
		base + "/mynamespaces/?watch": true, base + "/mynamespaces?watch=1&fieldSelector=metadata.name=a": true,
	} {
		options, err := listOptions(httptest.NewRequest(http.MethodGet, path, nil))
		if err != nil || options.Watch != want {
			t.Errorf("%s is a watch: %t, %v", path, options.Watch, err)
		}
	}
}
