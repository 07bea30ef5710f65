// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package robot is the kind Robot. It makes a NetworkPolicy for each Robot, and owns nothing else.
package robot

import (
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/api/toys/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
)

// Isolated says that the NetworkPolicy is as wanted.
const Isolated = "Isolated"

// Options is what the kind needs beside the cluster.
type Options struct {
	// RetryMax is the longest time between two tries after errors.
	RetryMax time.Duration
	// Clock is the time; nil is the real one.
	Clock clock.PassiveClock
}

// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=toys.acme.com,resources=robots,verbs=get;list;patch;watch
// +kubebuilder:rbac:groups=toys.acme.com,resources=robots/finalizers,verbs=update
// +kubebuilder:rbac:groups=toys.acme.com,resources=robots/status,verbs=patch

// Holds are the NetworkPolicies.
var Holds = []engine.Held{{Of: &networkingv1.NetworkPolicy{}}}

// owns are the types of its children.
var owns = []client.Object{&networkingv1.NetworkPolicy{}}

// Plan says what follows from a Robot.
func Plan() engine.Plan {
	return engine.PlanOf[*v1alpha1.Robot]{
		Of: v1alpha1.GroupVersion.WithKind("Robot"), Name: "robot", Owns: owns,
		Children: func(r *v1alpha1.Robot, _ engine.Known) (engine.Planned, error) { return engine.Planned{Children: desired(r)}, nil },
	}.Plan()
}

// Register adds the kind to the manager.
func Register(mgr ctrl.Manager, o Options) error {
	return engine.Register(mgr, &v1alpha1.Robot{}, engine.Config[*v1alpha1.Robot]{
		Name:     "robot",
		Owns:     owns,
		RetryMax: o.RetryMax,
		Clock:    o.Clock,
	}, kind{})
}

type kind struct{}

// Steps is the whole life of a Robot.
func (kind) Steps(s engine.Scope[*v1alpha1.Robot]) []engine.Step {
	return []engine.Step{
		{Condition: Isolated, Run: s.Compose(func() ([]engine.Child, error) { return desired(s.Obj), nil })},
	}
}

// desired are the children of a Robot.
func desired(r *v1alpha1.Robot) []engine.Child {
	policy := networkingv1ac.NetworkPolicy(names.Child(r.Name, "robot"), r.Namespace).
		WithSpec(networkingv1ac.NetworkPolicySpec().
			WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(map[string]string{"app": r.Spec.App})).
			WithPolicyTypes(networkingv1.PolicyTypeIngress))
	return []engine.Child{engine.NewChild(policy, networkingv1ac.ExtractNetworkPolicy)}
}
