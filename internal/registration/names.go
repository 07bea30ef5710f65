// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

const (
	apiGroup       = "views.acme.com"
	apiVersion     = "v1alpha1"
	apiServiceName = apiVersion + "." + apiGroup
)

// Names are the names of what the registration reads and writes. They all derive from that of the Service, and never change.
type Names struct {
	// Namespace is the operator's own, in which the namespaced ones are.
	Namespace string
	// Service is the one in front of the reader.
	Service string
}

// Deployment is the reader's.
func (n Names) Deployment() string { return n.Service }

// Secret holds the reader's certificate.
func (n Names) Secret() string { return n.Service + "-cert" }

// Role is the ClusterRole of the users of the views, which owns the registration where OLM did not install the operator.
func (n Names) Role() string { return n.Service + "-user" }

// hosts are the names under which the API server and others in the cluster reach the Service.
func (n Names) hosts() []string {
	host := n.Service + "." + n.Namespace + ".svc"
	return []string{host, host + ".cluster.local"}
}
