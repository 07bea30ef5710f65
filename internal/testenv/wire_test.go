// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"fmt"
	"net/http"
	"testing"
)

type nowhere struct{}

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) { return nil, http.ErrServerClosed }

func TestWireKnowsWhatIsReadAndWatched(t *testing.T) {
	wire := &Wire{}
	client := http.Client{Transport: wire.Wrap(nowhere{})}
	for _, path := range []string{
		"/api/v1/secrets?watch=true", "/api/v1/namespaces/n/configmaps?watch=true", "/apis/batch/v1/jobs?watch=true",
		"/api/v1/namespaces?watch=true", "/apis/apps/v1/deployments", "/api/v1/namespaces/n", "/readyz?watch=true",
	} {
		if _, err := client.Get("http://localhost" + path); err == nil { //nolint:bodyclose // There is no answer.
			t.Fatal("there is an answer")
		}
	}
	want := "[/v1, Resource=configmaps /v1, Resource=namespaces /v1, Resource=secrets batch/v1, Resource=jobs]"
	if got := fmt.Sprint(wire.Watched()); got != want {
		t.Errorf("watched: %s, want %s", got, want)
	}
	want = "[deployments namespaces/n]"
	if got := fmt.Sprint(wire.Reads()); got != want {
		t.Errorf("read: %s, want %s", got, want)
	}
	wire.Forget()
	if len(wire.Reads()) > 0 {
		t.Errorf("not forgotten: %v", wire.Reads())
	}
	if len(wire.Writes()) > 0 {
		t.Errorf("reads count as writes: %v", wire.Writes())
	}
}
