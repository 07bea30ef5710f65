// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"context"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ingress is that of the WebApp, nil when there is none.
func (r *run) ingress(ctx context.Context) (*networkingv1.Ingress, error) {
	ingress, exists, err := own(ctx, r, r.key(), &networkingv1.Ingress{})
	if err != nil || !exists {
		return nil, err
	}
	return ingress, nil
}

// release takes off the record what the Ingress does not serve any more, now that it is as it is wanted.
func (r *run) release(ctx context.Context) error {
	if len(r.Obj.Status.Claims) <= len(r.granted) {
		return nil
	}
	ingress, err := r.ingress(ctx)
	if err == nil {
		r.Obj.Status.Claims = onRecord(r.granted, r.Obj.Status.Claims, served(ingress))
	}
	return err
}

// withdraw deletes the Ingress if it serves anything but what is granted, or has an annotation that is not allowed.
func (r *run) withdraw(ctx context.Context, ingress *networkingv1.Ingress, granted, refused []string) error {
	if ingress == nil || !ingress.DeletionTimestamp.IsZero() || mayStay(ingress, granted, refused) {
		return nil
	}
	return r.Discard(ctx, ingress, metav1.DeletePropagationBackground)
}

// mayStay reports whether an Ingress serves only what is granted, and has none of the annotations that are not allowed.
func mayStay(ingress *networkingv1.Ingress, granted, refused []string) bool {
	return !slices.ContainsFunc(served(ingress), func(claim string) bool { return !slices.Contains(granted, claim) }) &&
		!slices.ContainsFunc(refused, func(key string) bool { _, has := ingress.Annotations[key]; return has })
}

// served are the host names and paths that an Ingress serves, if there is one.
func served(ingress *networkingv1.Ingress) (all []string) {
	if ingress == nil {
		return nil
	}
	for _, rule := range ingress.Spec.Rules {
		if rule.HTTP == nil {
			all = append(all, claimOn(rule.Host, ""))
			continue
		}
		for _, p := range rule.HTTP.Paths {
			all = append(all, claimOn(rule.Host, p.Path))
		}
	}
	return all
}
