// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudevents_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/acme/platform-operator/internal/external/billing"
	"github.com/acme/platform-operator/internal/external/billing/cloudevents"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "canary-token"

// generous is the bound for everything that must end "soon"; a server in these tests hangs for longer.
const generous = 2 * time.Minute

var release = billing.Release{
	ID:        "0f5e8b0e-5d1c-4c3a-9f1e-2b7a1d3c4e5f",
	Name:      "team-a",
	Namespace: "team-a-dev",
	Tier:      "dev",
	Admin:     "oidc:sam",
	At:        time.Date(2026, 3, 29, 1, 59, 59, 0, time.UTC),
}

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewTLSServer(handler)
	t.Cleanup(s.Close)
	return s
}

func options(s *httptest.Server) cloudevents.Options {
	return cloudevents.Options{
		URL:     s.URL + "/events?code=" + token, // some receivers have a key in the query
		RootCAs: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
		Timeout: generous,
	}
}

func newLedger(t *testing.T, o cloudevents.Options) billing.Ledger {
	t.Helper()
	l, err := cloudevents.New(o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return l
}

func expectError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v; want an error with %q", err, want)
	}
	if err != nil && strings.Contains(err.Error(), token) {
		t.Errorf("the error tells the token: %v", err)
	}
}

// receiver decodes with the SDK and answers with status.
func receiver(t *testing.T, status int) (http.HandlerFunc, <-chan *event.Event) {
	t.Helper()
	events := make(chan *event.Event, 10)
	return func(w http.ResponseWriter, r *http.Request) {
		if mode := r.Header.Get("Ce-Id"); mode == "" {
			t.Error("the event is not in binary mode")
		}
		e, err := cehttp.NewEventFromHTTPRequest(r)
		if err != nil {
			t.Errorf("decoding the event: %v", err)
		}
		events <- e
		w.WriteHeader(status)
		_, _ = fmt.Fprintln(w, "said the server")
	}, events
}

func TestEvent(t *testing.T) {
	for _, tt := range []struct{ source, wantSource string }{
		{"", "/platform-operator"},
		{"https://acme.com/clusters/eu-1", "https://acme.com/clusters/eu-1"},
	} {
		t.Run(tt.wantSource, func(t *testing.T) {
			handler, events := receiver(t, http.StatusAccepted)
			o := options(serve(t, handler))
			o.Source = tt.source
			if err := newLedger(t, o).Released(t.Context(), release); err != nil {
				t.Fatal(err)
			}
			got := <-events
			want := event.New(event.CloudEventsVersionV1)
			want.SetID(release.ID)
			want.SetType("com.acme.tenancy.namespace.released")
			want.SetSource(tt.wantSource)
			want.SetSubject("team-a-dev")
			want.SetTime(release.At)
			want.SetDataContentType("application/json")
			if diff := cmp.Diff(want.Context.String(), got.Context.String()); diff != "" {
				t.Errorf("attributes (-want +got):\n%s", diff)
			}
			const data = `{"name":"team-a","namespace":"team-a-dev","tier":"dev","admin":"oidc:sam"}`
			if diff := cmp.Diff(data, string(got.Data())); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	for _, tt := range []struct {
		status int
		want   string // empty: billing knows
	}{
		{http.StatusOK, ""},
		{http.StatusAccepted, ""},
		{http.StatusNoContent, ""},
		{http.StatusNotFound, ""},
		{http.StatusConflict, ""},
		{http.StatusTemporaryRedirect, "307 Temporary Redirect"},
		{http.StatusBadRequest, "400 Bad Request"},
		{http.StatusUnauthorized, "401 Unauthorized"},
		{http.StatusForbidden, "403 Forbidden"},
		{http.StatusGone, "410 Gone"},
		{http.StatusTooManyRequests, "429 Too Many Requests"},
		{http.StatusInternalServerError, "500 Internal Server Error"},
		{http.StatusServiceUnavailable, "503 Service Unavailable"},
	} {
		t.Run(http.StatusText(tt.status), func(t *testing.T) {
			handler, events := receiver(t, tt.status)
			err := newLedger(t, options(serve(t, handler))).Released(t.Context(), release)
			if tt.want == "" {
				if err != nil {
					t.Errorf("Released: %v", err)
				}
			} else {
				expectError(t, err, tt.want)
			}
			if tries := len(events); tries != 1 {
				t.Errorf("the event was sent %d times, want once: the caller retries", tries)
			}
		})
	}
}

func TestRetryHasTheSameID(t *testing.T) {
	handler, events := receiver(t, http.StatusInternalServerError)
	l := newLedger(t, options(serve(t, handler)))
	for range 3 {
		expectError(t, l.Released(t.Context(), release), "500")
	}
	first := <-events
	for range 2 {
		if diff := cmp.Diff(first.String(), (<-events).String()); diff != "" {
			t.Errorf("a retry is another event (-first +retry):\n%s", diff)
		}
	}
	if first.ID() != release.ID {
		t.Errorf("the event's id is %q, want %q", first.ID(), release.ID)
	}
}

func TestWithoutID(t *testing.T) {
	l := newLedger(t, options(serve(t, func(http.ResponseWriter, *http.Request) { t.Error("an event without id was sent") })))
	expectError(t, l.Released(t.Context(), billing.Release{Namespace: "team-a"}), "id")
}

func TestToken(t *testing.T) {
	got := make(chan string, 1)
	o := options(serve(t, func(_ http.ResponseWriter, r *http.Request) { got <- r.Header.Get("Authorization") }))
	if err := newLedger(t, o).Released(t.Context(), release); err != nil {
		t.Fatal(err)
	}
	if header := <-got; header != "" {
		t.Errorf("Authorization = %q without a token", header)
	}
	for _, value := range []string{"first\n", "rotated"} {
		o.Token = func(context.Context) (string, error) { return value, nil }
		if err := newLedger(t, o).Released(t.Context(), release); err != nil {
			t.Fatal(err)
		}
		if header, want := <-got, "Bearer "+strings.TrimSpace(value); header != want {
			t.Errorf("Authorization = %q, want %q", header, want)
		}
	}
	o.Token = func(context.Context) (string, error) { return "", errors.New("no Secret") }
	expectError(t, newLedger(t, o).Released(t.Context(), release), "no Secret")
	o.Token = func(context.Context) (string, error) { return "\n", nil }
	expectError(t, newLedger(t, o).Released(t.Context(), release), "token is empty")
	o.Token = func(context.Context) (string, error) { return token + "\nX: y", nil }
	expectError(t, newLedger(t, o).Released(t.Context(), release), "Authorization")
}

func TestPlainHTTP(t *testing.T) {
	handler, events := receiver(t, http.StatusAccepted)
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	if err := newLedger(t, cloudevents.Options{URL: s.URL}).Released(t.Context(), release); err != nil {
		t.Fatal(err)
	}
	if e := <-events; e.ID() != release.ID {
		t.Errorf("the event's id is %q, want %q", e.ID(), release.ID)
	}
}

func TestServerDown(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	l := newLedger(t, options(s))
	s.Close()
	expectError(t, l.Released(t.Context(), release), "connection refused")
}

func TestWrongCertificate(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the event was sent") })
	unknown := options(s)
	unknown.RootCAs = nil
	expectError(t, newLedger(t, unknown).Released(t.Context(), release), "unknown authority")
	otherHost := options(s)
	otherHost.URL = strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	expectError(t, newLedger(t, otherHost).Released(t.Context(), release), "localhost")
}

func TestRedirectIsNotFollowed(t *testing.T) {
	elsewhere := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") })
	s := serve(t, http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect).ServeHTTP)
	expectError(t, newLedger(t, options(s)).Released(t.Context(), release), "307 Temporary Redirect")
}

func TestSlowServer(t *testing.T) {
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = cehttp.NewEventFromHTTPRequest(r) // the server sees the client leave once the body is read
		select {
		case <-r.Context().Done():
			panic(http.ErrAbortHandler) // returning would answer 200, which the client may still read
		case <-time.After(2 * generous):
			t.Error("the client left its connection open")
		}
	})
	for _, tt := range []struct {
		reason            string
		timeout, deadline time.Duration
	}{
		{"own time-out", 200 * time.Millisecond, time.Hour},
		{"caller's deadline", time.Hour, 200 * time.Millisecond},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			o := options(s)
			o.Timeout = tt.timeout
			ctx, cancel := context.WithTimeout(t.Context(), tt.deadline)
			defer cancel()
			start := time.Now()
			err := newLedger(t, o).Released(ctx, release)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Released = %v, want a time-out", err)
			}
			if took := time.Since(start); took > generous {
				t.Errorf("Released took %v", took)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	for _, tt := range []struct {
		reason string
		opts   cloudevents.Options
		want   string
	}{
		{"no URL", cloudevents.Options{}, "URL must be"},
		{"another scheme", cloudevents.Options{URL: "amqp://billing.acme.com"}, "URL must be"},
		{"a password in the URL", cloudevents.Options{URL: "https://x:" + token + "@billing.acme.com"}, "URL must be"},
		{"no certificates", cloudevents.Options{URL: "https://billing.acme.com", RootCAs: []byte("no PEM")}, "RootCAs"},
		{"a token in clear", cloudevents.Options{
			URL:   "http://billing.acme.com",
			Token: func(context.Context) (string, error) { return token, nil },
		}, "in clear"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			_, err := cloudevents.New(tt.opts)
			expectError(t, err, tt.want)
		})
	}
}
