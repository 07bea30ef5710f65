// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Switch turns something on or off.
// +kubebuilder:validation:Enum=Enabled;Disabled
type Switch string

const (
	// Enabled turns it on.
	Enabled Switch = "Enabled"
	// Disabled turns it off.
	Disabled Switch = "Disabled"
)

// ConfigWatcherConfig configures the kind ConfigWatcher.
type ConfigWatcherConfig struct {
	// MaxConcurrentReconciles is how many ConfigWatchers are reconciled at the same time. 1 to 100. Default 30:
	// each of them mostly waits for the API server.
	// +optional
	MaxConcurrentReconciles *int32 `json:"maxConcurrentReconciles,omitempty"`

	// RetryMax is the longest time between two tries after errors, such as a workload that cannot be restarted.
	// More than 0. Default 5m.
	// +optional
	RetryMax *Duration `json:"retryMax,omitempty"`

	// Annotations controls whether ConfigMaps and Secrets with the annotation `autoreboot.acme.com/podSelector`
	// are treated like a ConfigWatcher that watches them: `Enabled` or `Disabled`. Default `Enabled`.
	// +optional
	Annotations Switch `json:"annotations,omitempty"`
}

// defaultWatchers is how many ConfigWatchers are reconciled at the same time.
const defaultWatchers = 30

func (c *ConfigWatcherConfig) setDefaults() {
	defaultPointer(&c.MaxConcurrentReconciles, defaultWatchers)
	defaultDuration(&c.RetryMax, 5*time.Minute)
	defaultTo(&c.Annotations, Enabled)
}

func (c *ConfigWatcherConfig) validate(path *field.Path) field.ErrorList {
	errs := oneTo(path.Child("maxConcurrentReconciles"), *c.MaxConcurrentReconciles, maxReconciles)
	errs = append(errs, positive(path.Child("retryMax"), c.RetryMax)...)
	return append(errs, oneOf(path.Child("annotations"), c.Annotations, Enabled, Disabled)...)
}

// RebootPolicyConfig configures the kind RebootPolicy.
type RebootPolicyConfig struct {
	// MaxConcurrentReconciles is how many RebootPolicies are reconciled at the same time. 1 to 100. Default 10.
	// +optional
	MaxConcurrentReconciles *int32 `json:"maxConcurrentReconciles,omitempty"`

	// RetryMax is the longest time between two tries after errors, such as a workload that cannot be restarted.
	// More than 0. Default 5m.
	// +optional
	RetryMax *Duration `json:"retryMax,omitempty"`

	// AllowedNetworks are networks that RebootPolicies may connect to although they are denied by default:
	// loopback, link-local, multicast and metadata addresses, the API server, and DeniedNetworks. In CIDR form,
	// such as `127.0.0.0/8`; a single address ends in /32 or /128. Default none.
	// +optional
	AllowedNetworks []string `json:"allowedNetworks,omitempty"`

	// DeniedNetworks are networks that RebootPolicies may not connect to, in addition to those that are always
	// denied. With `0.0.0.0/0` and `::/0` only AllowedNetworks can be reached. In CIDR form. Default none. The
	// NetworkPolicies of a RebootPolicy's namespace restrict it further: it reaches only what they let all pods
	// of the namespace reach.
	// +optional
	DeniedNetworks []string `json:"deniedNetworks,omitempty"`
}

func (c *RebootPolicyConfig) setDefaults() {
	defaultPointer(&c.MaxConcurrentReconciles, defaultReconciles)
	defaultDuration(&c.RetryMax, 5*time.Minute)
}

func (c *RebootPolicyConfig) validate(path *field.Path) field.ErrorList {
	errs := oneTo(path.Child("maxConcurrentReconciles"), *c.MaxConcurrentReconciles, maxReconciles)
	errs = append(errs, positive(path.Child("retryMax"), c.RetryMax)...)
	errs = append(errs, networksIn(path.Child("allowedNetworks"), c.AllowedNetworks)...)
	return append(errs, networksIn(path.Child("deniedNetworks"), c.DeniedNetworks)...)
}

func networksIn(path *field.Path, texts []string) field.ErrorList {
	var errs field.ErrorList
	for i, text := range texts {
		if n, err := netip.ParsePrefix(text); err != nil || n != n.Masked() {
			errs = append(errs, field.Invalid(path.Index(i), text, "must be a network in CIDR form, such as 127.0.0.0/8"))
		}
	}
	return errs
}

// Allowed returns the allowed networks of a valid configuration.
func (c *RebootPolicyConfig) Allowed() []netip.Prefix { return networks(c.AllowedNetworks) }

// Denied returns the denied networks of a valid configuration.
func (c *RebootPolicyConfig) Denied() []netip.Prefix { return networks(c.DeniedNetworks) }

func networks(texts []string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		if n, err := netip.ParsePrefix(text); err == nil {
			all = append(all, n)
		}
	}
	return all
}
