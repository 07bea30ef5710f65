// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cloudevents reports released namespaces to billing by CloudEvents 1.0 over HTTP, in binary mode.
package cloudevents

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	"k8s.io/client-go/util/cert"

	"github.com/acme/platform-operator/internal/external/billing"
)

const eventType = "com.acme.tenancy.namespace.released"

// Options describe the receiver.
type Options struct {
	// URL is where events are posted. Required.
	URL string
	// AllowPlaintext lets a token go to an http:// URL, in clear text. Without a token http:// is always
	// allowed.
	AllowPlaintext bool
	// RootCAs holds the PEM certificates of the authorities that may have signed the server's certificate.
	// Default: those of the system.
	RootCAs []byte
	// Token returns a bearer token. It is called for every event, so that a rotated token takes effect at once.
	// White space around the token is removed. It needs an https:// URL or AllowPlaintext. nil means that no
	// token is sent.
	Token func(ctx context.Context) (string, error)
	// Source is the CloudEvents source. Default "/platform-operator".
	Source string
	// Timeout bounds one attempt from dialling to the answer. Default 10 seconds.
	Timeout time.Duration
}

type ledger struct {
	Options
	host   string
	client *http.Client
}

// data is the payload of an event. Receivers rely on its field names.
type data struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Tier      string `json:"tier"`
	Admin     string `json:"admin"`
}

// New returns the ledger that o describes, without connecting to it. It fails if o is incomplete or would send
// a token in clear text.
//
// An answer of 2xx, 404 (the namespace is unknown to billing) or 409 (the release was reported before) is a
// success; every other answer, also a redirect, is an error.
func New(o Options) (billing.Ledger, error) {
	o.Source = cmp.Or(o.Source, "/platform-operator")
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	u, err := url.Parse(o.URL)
	if err != nil || u.Hostname() == "" || u.User != nil || (u.Scheme != "https" && u.Scheme != "http") {
		return nil, errors.New("URL must be https://host[:port][/path] or http://host[:port][/path]")
	}
	if u.Scheme == "http" && o.Token != nil && !o.AllowPlaintext {
		return nil, errors.New("a Token needs an https:// URL: http sends it in clear text (set AllowPlaintext to allow that)")
	}
	client, err := newClient(o.RootCAs)
	if err != nil {
		return nil, err
	}
	return &ledger{Options: o, host: u.Host, client: client}, nil
}

func newClient(rootCAs []byte) (*http.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(rootCAs) > 0 {
		var err error
		if config.RootCAs, err = cert.NewPoolFromBytes(rootCAs); err != nil {
			return nil, fmt.Errorf("reading RootCAs: %w", err)
		}
	}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:           http.ProxyFromEnvironment,
			TLSClientConfig: config,
			// Releases are rare; an idle connection would only become stale.
			DisableKeepAlives: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

func (l *ledger) Released(ctx context.Context, r billing.Release) error {
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	if err := l.send(ctx, r); err != nil {
		return fmt.Errorf("reporting the release of the namespace %s to billing at %s: %w", r.Namespace, l.host, err)
	}
	return nil
}

// send uses the SDK for the event and its encoding, and net/http for the request: the SDK's client copies an
// answer of any size into its error.
func (l *ledger) send(ctx context.Context, r billing.Release) error {
	req, err := l.request(ctx, r)
	if err != nil {
		return err
	}
	resp, err := l.client.Do(req)
	if err != nil {
		// The client's error repeats the URL, which may have a key in its query.
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		return &billing.Failure{Why: whyUnreached(err), Err: err}
	}
	_ = resp.Body.Close()
	switch code := resp.StatusCode; {
	case code/100 == 2, code == http.StatusNotFound, code == http.StatusConflict:
		return nil
	default:
		return &billing.Failure{Why: whyRejected(code), Err: fmt.Errorf("unexpected answer %d %s", code, http.StatusText(code))}
	}
}

func (l *ledger) request(ctx context.Context, r billing.Release) (*http.Request, error) {
	e := event.New()
	e.SetID(r.ID)
	e.SetType(eventType)
	e.SetSource(l.Source)
	e.SetSubject(r.Namespace)
	e.SetTime(r.At)
	payload := data{Name: r.Name, Namespace: r.Namespace, Tier: r.Tier, Admin: r.Admin}
	if err := e.SetData(event.ApplicationJSON, payload); err != nil {
		return nil, fmt.Errorf("encoding the event: %w", err)
	}
	req, err := cehttp.NewHTTPRequestFromEvent(ctx, l.URL, e)
	if err != nil {
		return nil, fmt.Errorf("encoding the event: %w", err)
	}
	if l.Token == nil {
		return req, nil
	}
	token, err := l.Token(ctx)
	if err != nil {
		return nil, &billing.Failure{Why: "the Secret with its token cannot be read", Err: fmt.Errorf("reading the token: %w", err)}
	}
	token = strings.TrimSpace(token)
	if token == "" || strings.ContainsFunc(token, unicode.IsControl) {
		return nil, &billing.Failure{
			Why: "the Secret with its token holds no valid token",
			Err: errors.New("the token is empty, or no value for the header Authorization"),
		}
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return req, nil
}
