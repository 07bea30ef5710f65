// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ManagerConfig is what all kinds share.
type ManagerConfig struct {
	// LeaderElection controls how quickly another replica becomes the leader.
	// +optional
	LeaderElection LeaderElectionConfig `json:"leaderElection,omitzero"`

	// CacheSyncTimeout is how long the cache of a type may take to fill at the start. After that the operator
	// reports it repeatedly and becomes ready without it: it serves the other types, and this one as soon as
	// its cache is filled. More than 0. Default 2m.
	// +optional
	CacheSyncTimeout *Duration `json:"cacheSyncTimeout,omitempty"`

	// GracefulShutdownTimeout is how long reconciles in progress have to end when the operator stops or
	// restarts. More than 0. Default 30s.
	// +optional
	GracefulShutdownTimeout *Duration `json:"gracefulShutdownTimeout,omitempty"`

	// Client limits the operator's requests to the API server.
	// +optional
	Client ClientConfig `json:"client,omitzero"`
}

// LeaderElectionConfig holds the times of leader election. LeaseDuration must be more than RenewDeadline, and
// RenewDeadline more than 1.2 times RetryPeriod. A command-line flag turns leader election on.
type LeaderElectionConfig struct {
	// LeaseDuration is how long a replica that is not the leader waits after the last renewal before
	// it takes the lease. Whole seconds, at least 1s. Default 15s.
	// +optional
	LeaseDuration *Duration `json:"leaseDuration,omitempty"`

	// RenewDeadline is how long the leader tries to renew before it gives up and stops. More than 0.
	// Default 10s.
	// +optional
	RenewDeadline *Duration `json:"renewDeadline,omitempty"`

	// RetryPeriod is the time between two tries to get or renew the lease. More than 0. Default 2s.
	// +optional
	RetryPeriod *Duration `json:"retryPeriod,omitempty"`
}

// ClientConfig limits requests on the client's side. With both fields 0 there is no such limit, and the API
// server's priority and fairness alone decides.
type ClientConfig struct {
	// QPS is how many requests a second the client may send on average. 0 means no limit; more than 0
	// needs Burst too. Default 0.
	// +optional
	QPS int32 `json:"qps,omitempty"`

	// Burst is how many requests the client may send at once. At least QPS, and 0 when QPS is 0.
	// Default 0.
	// +optional
	Burst int32 `json:"burst,omitempty"`
}

// retryJitter is client-go's leaderelection.JitterFactor: retries are up to this many periods apart.
const retryJitter = 1.2

func (m *ManagerConfig) setDefaults() {
	defaultDuration(&m.LeaderElection.LeaseDuration, 15*time.Second)
	defaultDuration(&m.LeaderElection.RenewDeadline, 10*time.Second)
	defaultDuration(&m.LeaderElection.RetryPeriod, 2*time.Second)
	defaultDuration(&m.CacheSyncTimeout, 2*time.Minute)
	defaultDuration(&m.GracefulShutdownTimeout, 30*time.Second)
}

func (m *ManagerConfig) validate(path *field.Path) field.ErrorList {
	errs := m.LeaderElection.validate(path.Child("leaderElection"))
	errs = append(errs, positive(path.Child("cacheSyncTimeout"), m.CacheSyncTimeout)...)
	errs = append(errs, positive(path.Child("gracefulShutdownTimeout"), m.GracefulShutdownTimeout)...)
	return append(errs, m.Client.validate(path.Child("client"))...)
}

func (l *LeaderElectionConfig) validate(path *field.Path) field.ErrorList {
	errs := positive(path.Child("leaseDuration"), l.LeaseDuration)
	errs = append(errs, positive(path.Child("renewDeadline"), l.RenewDeadline)...)
	errs = append(errs, positive(path.Child("retryPeriod"), l.RetryPeriod)...)
	if len(errs) > 0 {
		return errs // comparing senseless durations would only add noise
	}
	// The Lease object holds the duration as a number of seconds.
	if l.LeaseDuration.Duration%time.Second != 0 {
		errs = append(errs, invalidDuration(path.Child("leaseDuration"), l.LeaseDuration, "must be whole seconds"))
	}
	if l.LeaseDuration.Duration <= l.RenewDeadline.Duration {
		errs = append(errs, invalidDuration(path.Child("leaseDuration"), l.LeaseDuration,
			"must be more than renewDeadline ("+l.RenewDeadline.String()+")"))
	}
	if float64(l.RenewDeadline.Duration) <= retryJitter*float64(l.RetryPeriod.Duration) {
		errs = append(errs, invalidDuration(path.Child("renewDeadline"), l.RenewDeadline,
			"must be more than 1.2 times retryPeriod ("+l.RetryPeriod.String()+")"))
	}
	return errs
}

func (c *ClientConfig) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c.QPS < 0 {
		errs = append(errs, field.Invalid(path.Child("qps"), c.QPS, "must be 0 (no limit) or more"))
	}
	switch {
	case c.QPS <= 0 && c.Burst != 0:
		errs = append(errs, field.Invalid(path.Child("burst"), c.Burst, "must be 0 when qps sets no limit"))
	case c.QPS > 0 && c.Burst < c.QPS:
		errs = append(errs, field.Invalid(path.Child("burst"), c.Burst, "must be at least qps"))
	}
	return errs
}
