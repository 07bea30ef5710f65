// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

// The reader is asked every ten seconds, also after the clock was set back.
func TestTheReaderIsAskedEveryTenSeconds(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer server.Close()
	api, err := rest.UnversionedRESTClientForConfigAndClient(unversioned(&rest.Config{Host: server.URL}), server.Client())
	if err != nil {
		t.Fatal(err)
	}
	now := clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
	r := &registrar{Options: Options{Enabled: true, Clock: now}, api: api}
	w := world{apiService: newAPIService()}
	w.apiService.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Available", "status": "True"}}}
	for i, passed := range []time.Duration{0, askInterval - 1, 1, -time.Hour, 0} {
		now.SetTime(now.Now().Add(passed))
		r.ask(t.Context(), w)
		if want := []int{1, 1, 2, 3, 3}[i]; asked != want {
			t.Errorf("look %d, after %s more: it was asked %d times, not %d", i, passed, asked, want)
		}
	}
	if r.answered != now.Now() {
		t.Errorf("it answered at %s, not at %s", r.answered, now.Now())
	}
	r.Enabled = false
	now.SetTime(now.Now().Add(time.Hour))
	r.ask(t.Context(), w)
	if asked != 3 {
		t.Error("it is asked although the views are disabled")
	}
}
