// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/inforce"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/tenancy"
)

// policyName is the name of the guardrail policy of config/policy in every installation.
const policyName = names.Operator + "-guard-rails"

// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingadmissionpolicies,resourceNames=platform-operator-guard-rails,verbs=get
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingadmissionpolicybindings,resourceNames=platform-operator-guard-rails;platform-operator-guard-rails-ingresses;platform-operator-guard-rails-managed;platform-operator-guard-rails-namespaces;platform-operator-guard-rails-services;platform-operator-guard-rails-subjects,verbs=get

// protection reports whether the guardrail policy is in force.
type protection struct {
	*inforce.Check
	install string // the command
}

func (p *protection) outcome(f inforce.Finding) engine.Outcome {
	switch {
	case f.Err != nil:
		return engine.Uncertain(0, tenancy.ReasonPolicyUnknown, fmt.Sprintf(
			"the operator cannot read the admission policy %s, so it is unknown whether guardrails are protected; "+
				"grant it the verb get on the policy and its bindings, as its ClusterRole does", policyName))
	case f.Differs:
		return engine.Lacking(tenancy.ReasonPolicyDiffers, fmt.Sprintf(
			"%s does not match this version of the operator: guardrails and owner marks may not be fully protected from change; "+
				"a cluster administrator installs it with: %s", f.Lacks, p.install))
	case f.Lacks != "":
		return engine.Lacking(tenancy.ReasonPolicyMissing, fmt.Sprintf(
			"%s: changed guardrails are repaired, but not protected from change, and owner marks can be forged; "+
				"a cluster administrator installs it with: %s", f.Lacks, p.install))
	default:
		return engine.Done()
	}
}

var protectedMetric = prometheus.NewDesc("platform_operator_guardrails_protected",
	"1 while the guardrail policy is in force, 0 while it is missing, differs or does not deny, -1 while that is unknown.", nil, nil)

// Describe implements prometheus.Collector.
func (p *protection) Describe(ch chan<- *prometheus.Desc) { ch <- protectedMetric }

// Collect implements prometheus.Collector.
func (p *protection) Collect(ch chan<- prometheus.Metric) {
	value := 1.0
	switch last, known := p.Last(); {
	case !known || last.Err != nil:
		value = -1
	case last.Lacks != "":
		value = 0
	}
	ch <- prometheus.MustNewConstMetric(protectedMetric, prometheus.GaugeValue, value)
}

// checkProtected reports whether the guardrail policy is in force. The namespace works without it, so Ready
// does not depend on it.
func (r *run) checkProtected(ctx context.Context) (engine.Outcome, error) {
	return r.protection.outcome(r.protection.Current(ctx)), nil
}
