// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inforce checks whether an admission policy that is shipped with the operator is in force in the cluster. OLM cannot
// install admission policies, so an administrator does, and may forget it, or keep one of an earlier version.
package inforce

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// InstallCommand returns the command that installs the policies of a version of the operator.
func InstallCommand(version string) string {
	const address = "https://github.com/acme/platform-operator//config/tenancy/policy"
	if !strings.HasPrefix(version, "v") {
		return fmt.Sprintf("kubectl apply --server-side -k '%s'", address)
	}
	return fmt.Sprintf("kubectl apply --server-side -k '%s?ref=%s'", address, version)
}

// Finding is the state of a policy. The zero value means that it is in force.
type Finding struct {
	// Lacks is what is missing, does not deny or differs; empty if nothing is.
	Lacks string
	// Differs reports that policy and bindings exist and deny, but are not those of this version.
	Differs bool
	// Err is why the state is unknown.
	Err error
}

// rank orders findings: a higher one is worse.
func (f Finding) rank() int {
	switch {
	case f.Err != nil:
		return 3
	case f.Differs:
		return 1
	case f.Lacks != "":
		return 2
	default:
		return 0
	}
}

// same reports whether two findings mean the same to a user.
func (f Finding) same(other Finding) bool {
	return f.Lacks == other.Lacks && f.Differs == other.Differs && (f.Err == nil) == (other.Err == nil)
}

// Check checks whether a policy is in force. It reads it when it is first needed, and then at an interval, however many objects
// depend on it. It is a manager.Runnable.
type Check struct {
	// Live reads from the API server.
	Live client.Reader
	// Policy is what the operator ships.
	Policy Policy
	// Interval is the time between two looks.
	Interval time.Duration
	// Changed is called when the state has changed.
	Changed func(context.Context)

	mu    sync.Mutex
	known bool
	last  Finding
}

// Current returns the state of the policy, and reads it if that has not happened yet.
func (c *Check) Current(ctx context.Context) Finding {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known {
		c.last, c.known = c.look(ctx), true
	}
	return c.last
}

// Last returns the state that was found last; false before the first look.
func (c *Check) Last() (Finding, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last, c.known
}

// Start implements manager.Runnable: it looks for as long as the operator leads.
func (c *Check) Start(ctx context.Context) error {
	for {
		before := c.Current(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(c.Interval):
		}
		now := c.look(ctx)
		if now.Err != nil && !apierrors.IsForbidden(now.Err) {
			continue // an API server that does not answer does not show the state of the policy
		}
		c.mu.Lock()
		c.last = now
		c.mu.Unlock()
		if now.same(before) {
			continue
		}
		ctrl.LoggerFrom(ctx).Info("An admission policy has changed",
			"policy", c.Policy.Name, "inForce", now == Finding{}, "lacks", now.Lacks, "differs", now.Differs, "error", now.Err)
		c.Changed(ctx)
	}
}

// look reads the policy and its bindings, and compares them with those that this operator ships: a policy of an earlier version
// forbids less.
func (c *Check) look(ctx context.Context) Finding {
	worst := c.lookAtPolicy(ctx)
	for _, name := range slices.Sorted(maps.Keys(c.Policy.bindings)) {
		if f := c.lookAtBinding(ctx, name); f.rank() > worst.rank() {
			worst = f
		}
	}
	return worst
}

func (c *Check) lookAtPolicy(ctx context.Context) Finding {
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
	if f, found := c.read(ctx, c.Policy.Name, policy); !found {
		return f
	}
	if f := policy.Spec.FailurePolicy; f != nil && *f == admissionregistrationv1.Ignore {
		return Finding{Lacks: fmt.Sprintf("the admission policy %s has the failurePolicy Ignore", c.Policy.Name)}
	}
	if !samePolicy(policy.Spec, c.Policy.spec) {
		return Finding{Lacks: "the admission policy " + c.Policy.Name, Differs: true}
	}
	return Finding{}
}

func (c *Check) lookAtBinding(ctx context.Context, name string) Finding {
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
	if f, found := c.read(ctx, name, binding); !found {
		return f
	}
	if binding.Spec.PolicyName != c.Policy.Name || !slices.Contains(binding.Spec.ValidationActions, admissionregistrationv1.Deny) {
		return Finding{Lacks: fmt.Sprintf("the binding %s of the admission policy %s does not deny", name, c.Policy.Name)}
	}
	if !sameBinding(binding.Spec, c.Policy.bindings[name]) {
		return Finding{Lacks: fmt.Sprintf("the binding %s of the admission policy %s", name, c.Policy.Name), Differs: true}
	}
	return Finding{}
}

func (c *Check) read(ctx context.Context, name string, o client.Object) (Finding, bool) {
	err := c.Live.Get(ctx, client.ObjectKey{Name: name}, o)
	switch {
	case apierrors.IsNotFound(err):
		return missing(o, name), false
	case err != nil:
		return Finding{Err: err}, false
	default:
		return Finding{}, true
	}
}

func missing(o client.Object, name string) Finding {
	what := "admission policy "
	if _, binding := o.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding); binding {
		what = "binding of the admission policy "
	}
	return Finding{Lacks: "the " + what + name + " is not installed"}
}
