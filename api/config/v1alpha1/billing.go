// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// BillingType is how releases are reported to the billing system.
// +kubebuilder:validation:Enum=None;CloudEvents
type BillingType string

// The ways to report to the billing system.
const (
	// BillingNone reports nothing.
	BillingNone BillingType = "None"
	// BillingCloudEvents posts CloudEvents 1.0 over HTTP.
	BillingCloudEvents BillingType = "CloudEvents"
)

// BillingConfig configures where the release of a namespace is reported.
type BillingConfig struct {
	// Type is `None` or `CloudEvents`. The block of the same name must be set, and no other. Default `None`.
	// +optional
	Type BillingType `json:"type,omitempty"`

	// RetryMax is the longest time between two tries while the billing system does not accept a report. At
	// least 1s. Default 5m.
	// +optional
	RetryMax *Duration `json:"retryMax,omitempty"`

	// CloudEvents configures the type `CloudEvents`.
	// +optional
	CloudEvents *CloudEventsConfig `json:"cloudEvents,omitempty"`
}

// CloudEventsConfig configures where events are posted.
type CloudEventsConfig struct {
	// URL is the http or https address that accepts the events. With TokenSecret it must be https; http is then
	// accepted for a loopback host only. Required.
	URL string `json:"url"`

	// Source is the `source` attribute of each event, a URI reference that distinguishes this operator from
	// others that report to the same address. Default `urn:acme:platform-operator`.
	// +optional
	Source string `json:"source,omitempty"`

	// Timeout is the most time that one request may take. More than 0 and at most 30s, because a whole
	// reconcile has one minute. Default 10s.
	// +optional
	Timeout *Duration `json:"timeout,omitempty"`

	// TokenSecret holds the bearer token; its key defaults to `token`. Default: none is sent.
	// +optional
	TokenSecret *SecretKeyReference `json:"tokenSecret,omitempty"`

	// CAConfigMap holds the PEM certificates that verify the server's certificate. Default: the public
	// ones of the operator's container, or else those built into the operator.
	// +optional
	CAConfigMap *ConfigMapKeyReference `json:"caConfigMap,omitempty"`
}

const (
	minBillingRetry   = time.Second
	maxBillingTimeout = 30 * time.Second
)

func (b *BillingConfig) setDefaults() {
	defaultTo(&b.Type, BillingNone)
	defaultDuration(&b.RetryMax, 5*time.Minute)
	if c := b.CloudEvents; c != nil {
		defaultTo(&c.Source, "urn:acme:platform-operator")
		defaultDuration(&c.Timeout, 10*time.Second)
		c.TokenSecret.setDefaults()
		c.CAConfigMap.setDefaults()
	}
}

func (b *BillingConfig) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if b.RetryMax.Duration < minBillingRetry {
		errs = append(errs, invalidDuration(path.Child("retryMax"), b.RetryMax, "must be at least 1s"))
	}
	if typeErrs := oneOf(path.Child("type"), b.Type, BillingNone, BillingCloudEvents); typeErrs != nil {
		return append(errs, typeErrs...) // which block is required is unknown
	}
	return append(errs, member(path, b.Type, BillingCloudEvents, "cloudEvents", b.CloudEvents)...)
}

func (c *CloudEventsConfig) validate(path *field.Path) field.ErrorList {
	errs := secureURL(path.Child("url"), c.URL, c.TokenSecret != nil)
	if _, err := url.Parse(c.Source); err != nil {
		errs = append(errs, field.Invalid(path.Child("source"), c.Source, "must be a URI reference, such as urn:acme:platform-operator"))
	}
	errs = append(errs, atMost(path.Child("timeout"), c.Timeout, maxBillingTimeout, "because a whole reconcile has one minute")...)
	errs = append(errs, c.TokenSecret.validate(path.Child("tokenSecret"))...)
	return append(errs, c.CAConfigMap.validate(path.Child("caConfigMap"))...)
}
