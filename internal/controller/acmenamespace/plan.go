// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/tenancy"
)

// Plan says what follows from an AcmeNamespace that may have its name.
func Plan(o Options) engine.Plan {
	return engine.PlanOf[*v1alpha1.AcmeNamespace]{
		Of: v1alpha1.GroupVersion.WithKind("AcmeNamespace"), Name: tenancy.KindName, Owns: owns, ByMark: true,
		Proves: isGuardrail, Reads: plannedReads, Children: o.planned,
	}.Plan()
}

func plannedReads(n *v1alpha1.AcmeNamespace) []client.Object {
	return []client.Object{plannedTier(n), plannedNamespace(n)}
}

func plannedTier(n *v1alpha1.AcmeNamespace) *v1alpha1.DeploymentTier {
	return &v1alpha1.DeploymentTier{ObjectMeta: metav1.ObjectMeta{Name: string(n.Spec.DeploymentTier)}}
}

func plannedNamespace(n *v1alpha1.AcmeNamespace) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.Spec.NamespaceName}}
}

func (o Options) planned(n *v1alpha1.AcmeNamespace, known engine.Known) (p engine.Planned, err error) {
	tier, err := tenancy.BuiltIn(n.Spec.DeploymentTier)
	if err != nil {
		return p, err
	}
	if override := plannedTier(n); known.Get(override) {
		if tier, err = tier.With(override.Spec); err != nil {
			return p, fmt.Errorf("the DeploymentTier %s is invalid: %w", override.Name, err)
		}
	}
	r := &run{Scope: engine.Scope[*v1alpha1.AcmeNamespace]{Obj: n}, kind: kind{Options: o}}
	hard, refusal := tenancy.Hard(tier, n.Spec.Quota)
	if refusal.Reason != "" {
		return p, errors.New(refusal.Message)
	}
	ns := plannedNamespace(n)
	exists := known.Get(ns)
	mine := exists && names.Marked(ns, tenancy.KindName, n)
	var live *corev1.Namespace
	if exists {
		live = ns
	}
	if refusal = tenancy.Claim(n, live, mine, nil); refusal.Reason != "" {
		p.Notes = append(p.Notes, refusal.Message)
		return p, nil
	}
	r.grant = tenancy.Grant{Tier: tier, Hard: hard, Adopts: exists && !mine}
	p.Children, err = r.desired()
	return p, err
}
