// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// WebAppConfig configures the kind WebApp.
type WebAppConfig struct {
	// MaxConcurrentReconciles is how many WebApps are worked on at the same time. 1 to 100. Default 20.
	// +optional
	MaxConcurrentReconciles *int32 `json:"maxConcurrentReconciles,omitempty"`

	// RetryMax is the longest time between two tries after errors. More than 0. Default 5m.
	// +optional
	RetryMax *Duration `json:"retryMax,omitempty"`

	// IngressControllers are labels of namespaces: the pods of those that have all labels of one entry reach
	// the web port of every WebApp. A list replaces the default, namespaces with the label
	// `tenancy.acme.com/reaches-tenants: "true"`.
	// +optional
	IngressControllers []NamespaceLabels `json:"ingressControllers,omitempty"`
}

// NamespaceLabels are labels that select namespaces. At least one.
type NamespaceLabels map[string]string

// defaultWebApps is how many WebApps are worked on at the same time.
const defaultWebApps = 20

func (c *WebAppConfig) setDefaults() {
	defaultPointer(&c.MaxConcurrentReconciles, defaultWebApps)
	defaultDuration(&c.RetryMax, 5*time.Minute)
	if c.IngressControllers == nil {
		c.IngressControllers = []NamespaceLabels{{"tenancy.acme.com/reaches-tenants": "true"}}
	}
}

func (c *WebAppConfig) validate(path *field.Path) field.ErrorList {
	errs := oneTo(path.Child("maxConcurrentReconciles"), *c.MaxConcurrentReconciles, maxReconciles)
	errs = append(errs, positive(path.Child("retryMax"), c.RetryMax)...)
	for i, l := range c.IngressControllers {
		if _, err := labels.ValidatedSelectorFromSet(labels.Set(l)); err != nil || len(l) == 0 {
			errs = append(errs, field.Invalid(path.Child("ingressControllers").Index(i), l,
				"must be labels of namespaces such as kubernetes.io/metadata.name: ingress-nginx"))
		}
	}
	return errs
}

// Controllers select the namespaces of ingress controllers.
func (c *WebAppConfig) Controllers() []metav1.LabelSelector {
	var all []metav1.LabelSelector
	for _, l := range c.IngressControllers {
		all = append(all, metav1.LabelSelector{MatchLabels: l})
	}
	return all
}
