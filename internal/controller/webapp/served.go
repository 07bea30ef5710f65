// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"context"
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
)

// kindName is the kind in owner references.
const kindName = "WebApp"

// ingress is that of the WebApp, nil when there is none.
func (r *run) ingress(ctx context.Context) (*networkingv1.Ingress, error) {
	ingress, exists, err := own(ctx, r, r.key(), &networkingv1.Ingress{})
	if err != nil || !exists {
		return nil, err
	}
	return ingress, nil
}

// claimsServed are the claims that an Ingress serves for a WebApp, which may be gone, sorted; none when it has no mark of one.
// Where the guardrail policy is in force, no tenant writes that mark.
func claimsServed(o client.Object) []string {
	owner := metav1.GetControllerOfNoCopy(o)
	if owner == nil || owner.Kind != kindName || o.GetLabels()[names.LabelOwnerUID] != string(owner.UID) {
		return nil
	}
	all := served(o.(*networkingv1.Ingress))
	slices.Sort(all)
	return slices.Compact(all)
}

// servedChanged reports whether an update of an Ingress changes what it serves.
func servedChanged(before, now client.Object) bool {
	return !slices.Equal(claimsServed(before), claimsServed(now))
}

// remnants are the WebApps that are gone, and whose Ingresses still serve a claim: the garbage collector has not come to them
// yet, or somebody's finalizer holds them. Like one that is being deleted, each has the claim until then.
func (r *run) remnants(ctx context.Context, claim string) (all []rival, err error) {
	list := &networkingv1.IngressList{}
	same := client.MatchingFields{claimIndex: claim}
	if err := r.Client.List(ctx, list, same, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return nil, fmt.Errorf("listing which Ingresses serve the host name: %w", err)
	}
	for i := range list.Items {
		ingress := &list.Items[i]
		if client.ObjectKeyFromObject(ingress) == r.key() { // in the place of its own, which is made when that is gone
			continue
		}
		owner := metav1.GetControllerOfNoCopy(ingress)
		a, exists, err := read(ctx, r, client.ObjectKey{Namespace: ingress.Namespace, Name: owner.Name}, &v1alpha1.WebApp{})
		if err != nil {
			return nil, err
		}
		if !exists || a.UID != owner.UID {
			former := &v1alpha1.WebApp{ObjectMeta: metav1.ObjectMeta{UID: owner.UID}, Status: v1alpha1.WebAppStatus{Claims: []string{claim}}}
			all = append(all, rival{WebApp: former, serves: true})
		}
	}
	return all, nil
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
