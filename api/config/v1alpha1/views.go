// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// CertificateSource is who makes a certificate.
// +kubebuilder:validation:Enum=SelfSigned;Provided
type CertificateSource string

const (
	// SelfSigned is a certificate that the operator makes and rotates.
	SelfSigned CertificateSource = "SelfSigned"
	// Provided is a certificate that somebody else writes, such as cert-manager.
	Provided CertificateSource = "Provided"
)

// ViewsConfig configures the registration of the aggregated API `views.acme.com`. It has no effect on the program that
// answers it, and none when the operator's flag `--views-service` is empty.
type ViewsConfig struct {
	// State controls whether the API is registered while it is served: `Enabled` or `Disabled`. Default `Enabled`.
	// +optional
	State Switch `json:"state,omitempty"`

	// Certificate is who writes the certificate that the API is served with into the Secret
	// `platform-operator-views-cert`. With `SelfSigned` the operator makes it and rotates it. With `Provided` somebody
	// else writes `tls.crt`, `tls.key` and, in `ca.crt`, the authorities by which API servers verify it; the operator
	// only reads that. Default `SelfSigned`.
	// +optional
	Certificate CertificateSource `json:"certificate,omitempty"`

	// UnreachableAfter is how long API servers may be unable to reach what serves the API until it is unregistered.
	// Meanwhile no namespace of the cluster can be deleted. It is registered again after a minute, and after twice as
	// long each time that fails again. 30s to 10m. Default 60s.
	// +optional
	UnreachableAfter *Duration `json:"unreachableAfter,omitempty"`
}

// An API server needs up to half a minute to notice that a failed API is served again.
const (
	leastUnreachable = 30 * time.Second
	mostUnreachable  = 10 * time.Minute
)

func (c *ViewsConfig) setDefaults() {
	defaultTo(&c.State, Enabled)
	defaultTo(&c.Certificate, SelfSigned)
	defaultDuration(&c.UnreachableAfter, time.Minute)
}

func (c *ViewsConfig) validate(path *field.Path) field.ErrorList {
	errs := oneOf(path.Child("state"), c.State, Enabled, Disabled)
	errs = append(errs, oneOf(path.Child("certificate"), c.Certificate, SelfSigned, Provided)...)
	if d := c.UnreachableAfter.Duration; d < leastUnreachable || d > mostUnreachable {
		errs = append(errs, invalidDuration(path.Child("unreachableAfter"), c.UnreachableAfter,
			fmt.Sprintf("must be between %s and %s", leastUnreachable, mostUnreachable)))
	}
	return errs
}
