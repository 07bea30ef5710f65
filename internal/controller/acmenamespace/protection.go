// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/tenancy"
)

// policyName is the name of the guardrail policy of config/policy in every installation.
const policyName = names.Operator + "-guard-rails"

// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingadmissionpolicies,resourceNames=platform-operator-guard-rails,verbs=get
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingadmissionpolicybindings,resourceNames=platform-operator-guard-rails;platform-operator-guard-rails-ingresses;platform-operator-guard-rails-managed;platform-operator-guard-rails-namespaces;platform-operator-guard-rails-services;platform-operator-guard-rails-subjects,verbs=get

// protection checks whether the guardrail policy is in force. It reads the policy when it is first needed, and
// then at an interval, whatever the number of AcmeNamespaces.
type protection struct {
	live, cached client.Reader
	waker        *engine.Waker
	interval     time.Duration
	shipped      guardrailPolicy
	install      string // the command

	mu    sync.Mutex
	known bool
	last  finding
}

// finding is the state of the policy: in force, lacking something, or unknown.
type finding struct {
	lacks string
	// differs: it exists and denies, but differs from the one that this version ships.
	differs bool
	err     error
}

func (p *protection) outcome(f finding) engine.Outcome {
	switch {
	case f.err != nil:
		return engine.Uncertain(0, tenancy.ReasonPolicyUnknown, fmt.Sprintf(
			"the operator cannot read the admission policy %s, so it is unknown whether guardrails are protected; "+
				"grant it the verb get on the policy and its bindings, as its ClusterRole does", policyName))
	case f.differs:
		return engine.Lacking(tenancy.ReasonPolicyDiffers, fmt.Sprintf(
			"%s does not match this version of the operator: guardrails and owner marks may not be fully protected from change; "+
				"a cluster administrator installs it with: %s", f.lacks, p.install))
	case f.lacks != "":
		return engine.Lacking(tenancy.ReasonPolicyMissing, fmt.Sprintf(
			"%s: changed guardrails are repaired, but not protected from change, and owner marks can be forged; "+
				"a cluster administrator installs it with: %s", f.lacks, p.install))
	default:
		return engine.Done()
	}
}

// current returns the state of the policy, and reads it if that has not happened yet.
func (p *protection) current(ctx context.Context) finding {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.known {
		p.last, p.known = p.check(ctx), true
	}
	return p.last
}

// rank orders findings: a higher one is worse.
func (f finding) rank() int {
	switch {
	case f.err != nil:
		return 3
	case f.differs:
		return 1
	case f.lacks != "":
		return 2
	default:
		return 0
	}
}

// check reads the policy and its bindings, and compares them with those that this operator ships: a policy of an
// earlier version protects less.
func (p *protection) check(ctx context.Context) finding {
	worst := p.checkPolicy(ctx)
	for _, name := range slices.Sorted(maps.Keys(p.shipped.bindings)) {
		if f := p.checkBinding(ctx, name); f.rank() > worst.rank() {
			worst = f
		}
	}
	return worst
}

func (p *protection) checkPolicy(ctx context.Context) finding {
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
	if f, found := p.read(ctx, policyName, policy); !found {
		return f
	}
	if f := policy.Spec.FailurePolicy; f != nil && *f == admissionregistrationv1.Ignore {
		return finding{lacks: fmt.Sprintf("the admission policy %s has the failurePolicy Ignore", policyName)}
	}
	if !samePolicy(policy.Spec, p.shipped.policy) {
		return finding{lacks: "the admission policy " + policyName, differs: true}
	}
	return finding{}
}

func (p *protection) checkBinding(ctx context.Context, name string) finding {
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
	if f, found := p.read(ctx, name, binding); !found {
		return f
	}
	if binding.Spec.PolicyName != policyName || !slices.Contains(binding.Spec.ValidationActions, admissionregistrationv1.Deny) {
		return finding{lacks: fmt.Sprintf("the binding %s of the admission policy %s does not deny", name, policyName)}
	}
	if !sameBinding(binding.Spec, p.shipped.bindings[name]) {
		return finding{lacks: fmt.Sprintf("the binding %s of the admission policy %s", name, policyName), differs: true}
	}
	return finding{}
}

func (p *protection) read(ctx context.Context, name string, o client.Object) (finding, bool) {
	err := p.live.Get(ctx, client.ObjectKey{Name: name}, o)
	switch {
	case apierrors.IsNotFound(err):
		return missing(o, name), false
	case err != nil:
		return finding{err: err}, false
	default:
		return finding{}, true
	}
}

func missing(o client.Object, name string) finding {
	what := "admission policy "
	if _, binding := o.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding); binding {
		what = "binding of the admission policy "
	}
	return finding{lacks: "the " + what + name + " is not installed"}
}

// Start implements manager.Runnable: it checks the policy for as long as the operator leads, and requeues all
// AcmeNamespaces when its state changes.
func (p *protection) Start(ctx context.Context) error {
	for {
		before := p.current(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(p.interval):
		}
		now := p.check(ctx)
		if now.err != nil && !apierrors.IsForbidden(now.err) {
			continue // an API server that does not answer does not show the state of the policy
		}
		p.mu.Lock()
		p.last = now
		p.mu.Unlock()
		if now.lacks == before.lacks && now.differs == before.differs && (now.err == nil) == (before.err == nil) {
			continue
		}
		ctrl.LoggerFrom(ctx).Info("The guardrail policy has changed",
			"protects", now == finding{}, "lacks", now.lacks, "differs", now.differs, "error", now.err)
		p.wake(ctx)
	}
}

func (p *protection) wake(ctx context.Context) {
	list := &v1alpha1.AcmeNamespaceList{}
	if err := p.cached.List(ctx, list, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Cannot list the AcmeNamespaces that the guardrail policy is for")
		return
	}
	for _, n := range list.Items {
		p.waker.Wake(ctx, client.ObjectKeyFromObject(&n))
	}
}

var protectedMetric = prometheus.NewDesc("platform_operator_guardrails_protected",
	"1 while the guardrail policy is in force, 0 while it is missing, differs or does not deny, -1 while that is unknown.", nil, nil)

// Describe implements prometheus.Collector.
func (p *protection) Describe(ch chan<- *prometheus.Desc) { ch <- protectedMetric }

// Collect implements prometheus.Collector.
func (p *protection) Collect(ch chan<- prometheus.Metric) {
	p.mu.Lock()
	defer p.mu.Unlock()
	value := 1.0
	switch {
	case !p.known || p.last.err != nil:
		value = -1
	case p.last.lacks != "":
		value = 0
	}
	ch <- prometheus.MustNewConstMetric(protectedMetric, prometheus.GaugeValue, value)
}

// checkProtected reports whether the guardrail policy is in force. The namespace works without it, so Ready
// does not depend on it.
func (r *run) checkProtected(ctx context.Context) (engine.Outcome, error) {
	return r.protection.outcome(r.protection.current(ctx)), nil
}
