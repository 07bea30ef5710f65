// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/cert"

	"github.com/acme/platform-operator/internal/engine"
)

// certificate tells, whenever metrics are read, when the certificate of the webhooks ends. It reads the file each time, as
// the server does when the file changes; while there is none that can be read, it tells nothing.
type certificate struct {
	desc *prometheus.Desc
	file string
}

// newCertificate is of the certificate in a folder; empty is the folder that controller-runtime uses by default.
func newCertificate(dir string) *certificate {
	if dir == "" {
		dir = filepath.Join(os.TempDir(), "k8s-webhook-server", "serving-certs")
	}
	return &certificate{prometheus.NewDesc("platform_operator_webhook_certificate_expiry_timestamp_seconds",
		"When the certificate of the webhooks ends, in seconds since 1970.", nil, nil), filepath.Join(dir, "tls.crt")}
}

// observeCertificate registers the metric of an operator that serves webhooks.
func observeCertificate(o Options) error {
	if o.WebhookPort < 0 {
		return nil
	}
	return engine.Observe(newCertificate(o.WebhookCertDir))
}

// Describe implements prometheus.Collector.
func (c *certificate) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

// Collect implements prometheus.Collector.
func (c *certificate) Collect(ch chan<- prometheus.Metric) {
	chain, err := cert.CertsFromFile(c.file)
	if err != nil || len(chain) == 0 {
		return
	}
	ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(chain[0].NotAfter.Unix()))
}
