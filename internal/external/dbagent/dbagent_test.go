// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dbagent

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acme/platform-operator/internal/database/result"
)

// answering gives an Agent that reaches one server, wherever it is asked to connect to.
func answering(t *testing.T, handle http.HandlerFunc) *HTTP {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return NewHTTP(func(ctx context.Context, network, address string) (net.Conn, error) {
		if address != "db-g1.ns.svc:8090" {
			t.Errorf("it connects to %s", address)
		}
		return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
	})
}

func TestStatus(t *testing.T) {
	agent := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/status" {
			t.Errorf("it asks for %s", r.URL)
		}
		_, _ = w.Write([]byte(`{"protocol":1,"phase":"Running","message":"a\nb","unknown":{"x":1},"storage":{"total":100,"free":9},
			"accounts":[{"slot":"a","revision":"r1","inForce":true},{"slot":"b","error":"` + strings.Repeat("x", 1000) + `"},{"slot":"c"}]}`))
	})
	got, err := agent.Status(t.Context(), "db-g1.ns.svc:8090")
	if err != nil {
		t.Fatal(err)
	}
	want := result.Status{
		Protocol: 1, Phase: "Running", Message: "a b", Storage: result.Storage{Total: 100, Free: 9},
		Accounts: []result.Account{{Slot: "a", Revision: "r1", InForce: true}, {Slot: "b", Error: strings.Repeat("x", maxText)}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestWhatIsNoStatus(t *testing.T) {
	for want, handle := range map[string]http.HandlerFunc{
		"answers 503":           func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"is no status":          func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) },
		"speaks protocol 2":     func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"protocol":2}`)) },
		"more than 65536 bytes": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, maxBody+1)) },
		"the agent redirects": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere/", http.StatusFound)
		},
		"asking the agent: Get ": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(want, func(t *testing.T) {
			got, err := answering(t, handle).Status(t.Context(), "db-g1.ns.svc:8090")
			if err == nil || !strings.Contains(err.Error(), want) || !cmp.Equal(got, result.Status{}) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// TestAnswersAreShort: whatever an agent answers, little of it is kept and becomes part of messages.
func TestAnswersAreShort(t *testing.T) {
	const most = 16 << 10
	long := strings.Repeat("x", 1000)
	full := result.Status{
		Protocol: result.Protocol, Phase: long, Message: long, ServerVersion: long, StartedAt: long, Door: long, Restored: long,
		Setups: slices.Repeat([]string{long}, 20), Parameters: result.Parameters{Error: long, PendingRestart: slices.Repeat([]string{long}, 20)},
		Accounts: slices.Repeat([]result.Account{{Slot: long, Name: long, Revision: long, Error: long}}, 3),
	}
	text, err := json.Marshal(full)
	if err != nil || len(text) > maxBody {
		t.Fatalf("the test sends %d bytes: %v", len(text), err)
	}
	many := `{"protocol":1,"setups":["` + strings.Repeat(`","`, maxBody/10) + `"],"accounts":[{}` + strings.Repeat(`,{}`, maxBody/10) + `]}`
	for name, body := range map[string]string{"long texts": string(text), "many texts": many} {
		got, err := answering(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }).Status(t.Context(), "db-g1.ns.svc:8090")
		if err != nil {
			t.Fatal(err)
		}
		if kept, err := json.Marshal(got); err != nil || len(kept) > most {
			t.Errorf("%s: %d bytes are kept: %v", name, len(kept), err)
		}
		if n, m := cap(got.Setups), cap(got.Accounts); n > 2*maxEntries || m > 2*maxAccounts {
			t.Errorf("%s: there is room for %d setups and %d accounts", name, n, m)
		}
	}
	for name, line := range map[string]string{"a line": long, "a header": "HTTP/1.1 200 OK\r\n" + long} {
		_, err := answering(t, func(w http.ResponseWriter, _ *http.Request) {
			c, _, _ := http.NewResponseController(w).Hijack()
			_, _ = c.Write([]byte(strings.Repeat(line, 20) + "\r\n\r\n"))
			_ = c.Close()
		}).Status(t.Context(), "db-g1.ns.svc:8090")
		if err == nil || len(err.Error()) > 1000 {
			t.Errorf("%s that is no answer makes an error of %d bytes", name, len(fmt.Sprint(err)))
		}
	}
}
