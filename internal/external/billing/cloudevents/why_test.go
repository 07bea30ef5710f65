// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudevents_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/acme/platform-operator/internal/external/billing"
	"github.com/acme/platform-operator/internal/external/billing/cloudevents"
)

// failing is a receiver that fails, and how a ledger comes to it.
type failing struct {
	reason string
	start  func(t *testing.T) cloudevents.Options
	want   string
}

func answering(code int) func(t *testing.T) cloudevents.Options {
	return func(t *testing.T) cloudevents.Options {
		return options(serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://elsewhere.acme.com/"+token)
			w.WriteHeader(code)
			_, _ = w.Write([]byte("said the server " + token))
		}))
	}
}

func changed(change func(o *cloudevents.Options)) func(t *testing.T) cloudevents.Options {
	return func(t *testing.T) cloudevents.Options {
		o := options(serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the event was sent") }))
		change(&o)
		return o
	}
}

var failures = []failing{
	{"a redirect", answering(http.StatusPermanentRedirect), "a redirect (status 308), which is not followed; configure the address that it leads to"},
	{"an error of the server", answering(http.StatusServiceUnavailable), "status 503 Service Unavailable"},
	{"a refusal", answering(http.StatusForbidden), "status 403 Forbidden"},
	{"no answer in time", hanging, "no answer in time"},
	{"no listener", func(t *testing.T) cloudevents.Options {
		s := serve(t, func(http.ResponseWriter, *http.Request) {})
		o := options(s)
		s.Close()
		return o
	}, "the connection was refused"},
	{
		"an unknown authority", changed(func(o *cloudevents.Options) { o.RootCAs = nil }),
		"TLS: its certificate is from an authority that is not trusted; check caConfigMap",
	},
	{
		"another host", changed(func(o *cloudevents.Options) { o.URL = strings.Replace(o.URL, "127.0.0.1", "localhost", 1) }),
		"TLS: its certificate is for another host",
	},
	{"a server without TLS", func(t *testing.T) cloudevents.Options {
		s := httptest.NewServer(http.NotFoundHandler())
		t.Cleanup(s.Close)
		return cloudevents.Options{URL: strings.Replace(s.URL, "http:", "https:", 1), Timeout: generous}
	}, "TLS: the server does not support it"},
	{"a server that wants a certificate", func(t *testing.T) cloudevents.Options {
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12}
		s.StartTLS()
		t.Cleanup(s.Close)
		return options(s)
	}, "TLS: the server refused the handshake"},
	{"a connection that is cut", func(t *testing.T) cloudevents.Options {
		return options(serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	}, "the connection failed"},
	{"no Secret", changed(func(o *cloudevents.Options) {
		o.Token = func(context.Context) (string, error) { return "", errors.New(token) }
	}), "the Secret with its token cannot be read"},
	{"an empty token", changed(func(o *cloudevents.Options) {
		o.Token = func(context.Context) (string, error) { return "\n", nil }
	}), "the Secret with its token holds no valid token"},
	{"a token of two lines", changed(func(o *cloudevents.Options) {
		o.Token = func(context.Context) (string, error) { return token + "\nX: y", nil }
	}), "the Secret with its token holds no valid token"},
}

// hanging is a server that takes connections and never answers.
func hanging(t *testing.T) cloudevents.Options {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return cloudevents.Options{URL: "http://" + l.Addr().String() + "/?code=" + token, Timeout: 200 * time.Millisecond}
}

// What a status shows is one of these phrases: no address, no token, nothing that the server said, and at every try the same.
func TestWhy(t *testing.T) {
	for _, tt := range failures {
		t.Run(tt.reason, func(t *testing.T) {
			l := newLedger(t, tt.start(t))
			for range 2 {
				if got := billing.Why(l.Released(t.Context(), release)); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			}
		})
	}
}

func TestWhyOfNameThatIsNotResolved(t *testing.T) {
	err := &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "billing." + token, IsNotFound: true}}
	if got := cloudevents.WhyUnreached(err); got != "its host name cannot be resolved" {
		t.Error(got)
	}
}

func TestWhyOfAnyOtherError(t *testing.T) {
	if got := billing.Why(errors.New(token)); got != "its configuration does not work; the operator's log has the details" {
		t.Error(got)
	}
}
