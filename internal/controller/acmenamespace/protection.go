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
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingadmissionpolicybindings,resourceNames=platform-operator-guard-rails;platform-operator-guard-rails-managed;platform-operator-guard-rails-namespaces;platform-operator-guard-rails-services;platform-operator-guard-rails-subjects,verbs=get

// protection knows whether the guardrail policy is in force. It asks the API server when it is first needed, and then from
// time to time, whatever the number of AcmeNamespaces.
type protection struct {
	live, cached client.Reader
	waker        *engine.Waker
	interval     time.Duration
	shipped      guardRails
	install      string // the command

	mu    sync.Mutex
	asked bool
	last  finding
}

// finding is what is known of the policy: in force, lacking something, or not known.
type finding struct {
	lacks string
	// differs: it is there and denies, but not what the one of this version would.
	differs bool
	err     error
}

func (p *protection) outcome(f finding) engine.Outcome {
	switch {
	case f.err != nil:
		return engine.Uncertain(0, tenancy.ReasonPolicyUnknown, fmt.Sprintf(
			"the operator cannot read the admission policy %s, and does not know whether guardrails are protected; "+
				"it needs the verb get on the policy and its bindings, as in its ClusterRole", policyName))
	case f.differs:
		return engine.Lacking(tenancy.ReasonPolicyDiffers, fmt.Sprintf(
			"%s is not what this version of the operator needs: what protects guardrails and marks from change may be missing; "+
				"an administrator of the cluster installs it with: %s", f.lacks, p.install))
	case f.lacks != "":
		return engine.Lacking(tenancy.ReasonPolicyMissing, fmt.Sprintf(
			"%s: guardrails are repaired when they are changed, but not protected from change, and marks of the operator can be forged; "+
				"an administrator of the cluster installs it with: %s", f.lacks, p.install))
	default:
		return engine.Done()
	}
}

// find is what is known of the policy, asked for when nobody has asked yet.
func (p *protection) find(ctx context.Context) finding {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.asked {
		p.last, p.asked = p.ask(ctx), true
	}
	return p.last
}

// rank tells which of two findings is the worse one.
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

// ask reads the policy and its bindings, and compares them with what this operator is shipped with: a policy of an
// earlier version protects less.
func (p *protection) ask(ctx context.Context) finding {
	worst := p.askPolicy(ctx)
	for _, name := range slices.Sorted(maps.Keys(p.shipped.bindings)) {
		if f := p.askBinding(ctx, name); f.rank() > worst.rank() {
			worst = f
		}
	}
	return worst
}

func (p *protection) askPolicy(ctx context.Context) finding {
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

func (p *protection) askBinding(ctx context.Context, name string) finding {
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

// Start implements manager.Runnable: it looks after the policy for as long as the operator leads, and has all
// AcmeNamespaces run when the answer changes.
func (p *protection) Start(ctx context.Context) error {
	for {
		before := p.find(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(p.interval):
		}
		now := p.ask(ctx)
		if now.err != nil && !apierrors.IsForbidden(now.err) {
			continue // an API server that does not answer says nothing about the policy
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
	"1 while the guardrail policy is in force, 0 while it is missing, differs or does not deny, -1 while that is not known.", nil, nil)

// Describe implements prometheus.Collector.
func (p *protection) Describe(ch chan<- *prometheus.Desc) { ch <- protectedMetric }

// Collect implements prometheus.Collector.
func (p *protection) Collect(ch chan<- prometheus.Metric) {
	p.mu.Lock()
	defer p.mu.Unlock()
	value := 1.0
	switch {
	case !p.asked || p.last.err != nil:
		value = -1
	case p.last.lacks != "":
		value = 0
	}
	ch <- prometheus.MustNewConstMetric(protectedMetric, prometheus.GaugeValue, value)
}

// checkProtected shows whether the guardrail policy is in force. Without it the namespace works, so that Ready does not
// follow.
func (r *run) checkProtected(ctx context.Context) (engine.Outcome, error) {
	return r.protection.outcome(r.protection.find(ctx)), nil
}
