// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"k8s.io/client-go/util/cert"

	configv1alpha1 "github.com/acme/platform-operator/api/config/v1alpha1"
)

// collector sends spans to an OpenTelemetry collector by OTLP over HTTP. It implements otlptrace.Client, in place of
// otlptracehttp: that brings gRPC with it, which makes the operator's program larger by a third.
//
// The token and the certificate authorities are read when they are needed, so that new ones take effect. What the collector
// does not accept is lost, and reported.
type collector struct {
	adapter[*http.Client]
	url   string
	token func(context.Context) (string, error)
}

func (n ownNamespace) collector(c configv1alpha1.TracingConfig) *collector {
	return &collector{
		adapter: adapter[*http.Client]{own: n, ca: c.CAConfigMap, make: clientOfCollector},
		url:     strings.TrimSuffix(c.Endpoint, "/") + "/v1/traces", // https://opentelemetry.io/docs/specs/otlp/#otlphttp-request
		token:   n.token(c.TokenSecret),
	}
}

func clientOfCollector(authorities []byte) (*http.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(authorities) > 0 {
		var err error
		if config.RootCAs, err = cert.NewPoolFromBytes(authorities); err != nil {
			return nil, fmt.Errorf("reading the certificate authorities: %w", err)
		}
	}
	return &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// Start implements otlptrace.Client. There is nothing to start.
func (*collector) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *collector) Stop(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.port != nil {
		c.port.CloseIdleConnections()
	}
	return nil
}

// UploadTraces implements otlptrace.Client. On the wire, a request of the protocol is TracesData.
func (c *collector) UploadTraces(ctx context.Context, spans []*tracev1.ResourceSpans) error {
	client, err := c.get(ctx)
	if err != nil {
		return err
	}
	body, err := proto.Marshal(&tracev1.TracesData{ResourceSpans: spans})
	if err != nil {
		return fmt.Errorf("encoding spans: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	if c.token != nil {
		token, err := c.token(ctx)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.CopyN(io.Discard, resp.Body, 1<<20); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the answer of %s: %w", c.url, err)
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s answered %s", c.url, resp.Status)
	}
	return nil
}
