// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/acme/platform-operator/api/toys/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
)

// robots is the fixture of Robot.
type robots struct{ Ordinary }

var _ = fixture("Robot", &robots{})

// Configuration implements Fixture.
func (robots) Configuration() string { return "robot: {retryMax: 1s}\n" }

// Change implements Fixture.
func (robots) Change(o engine.Object, unique string) { o.(*v1alpha1.Robot).Spec.App = unique }

// Action implements Fixture.
func (robots) Action(unique string) string {
	return "PATCH namespaces/" + unique + "/networkpolicies/" + names.Child(unique, "robot")
}

// Invalidate implements Fixture.
func (robots) Invalidate(o *unstructured.Unstructured) {
	Expect(unstructured.SetNestedField(o.Object, "A B", "spec", "app")).To(Succeed())
}

// Tamper implements Fixture.
func (robots) Tamper(*unstructured.Unstructured) []string {
	return []string{`{"spec":{"podSelector":{"matchLabels":{"app":"other"}}}}`}
}

// Breakages implements Fixture.
func (robots) Breakages() []Breakage {
	return []Breakage{{
		Name:   "that the operator may not do what it has to",
		Unborn: true,
		Break: func(unique string) {
			takeAway("create", &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: unique}})
		},
		Mend:   func(string) { giveBackRole() },
		Reason: "Forbidden", Status: status.InProgressStatus,
	}}
}
