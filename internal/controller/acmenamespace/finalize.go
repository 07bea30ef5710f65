/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package acmenamespace

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/external/billing"
	"github.com/acme/platform-operator/internal/tenancy"
)

// goneRecheck is the safety net while a Namespace is going away; its deletion is an event.
const goneRecheck = time.Minute

// Finalize is what happens between the deletion of an AcmeNamespace and its disappearance: billing is
// told, and only then the Namespace goes, or is released.
func (k kind) Finalize(s engine.Scope[*v1alpha1.AcmeNamespace]) []engine.Step {
	r := &run{Scope: s, kind: k}
	return []engine.Step{
		{Condition: BillingReleased, Run: r.tellBilling},
		{Condition: NamespaceReleased, Run: r.releaseNamespace},
	}
}

// tellBilling reports the end of the namespace, unless there never was one. The event's id is the
// object's UID, so that a repetition after a crash is no second release.
func (r *run) tellBilling(ctx context.Context) (engine.Outcome, error) {
	n := r.Obj
	told := meta.IsStatusConditionTrue(n.Status.Conditions, BillingReleased)
	skip := n.Annotations[tenancy.AnnotationSkipBilling] == "true"
	if r.Ledger == nil || told || skip {
		return engine.Done(), nil
	}
	live, err := r.ownNamespace(ctx)
	if err != nil {
		return engine.Outcome{}, err
	}
	if live == nil && n.Status.NamespaceUID == "" {
		return engine.Done(), nil
	}
	err = r.Ledger.Released(ctx, billing.Release{
		ID: string(n.UID), Name: n.Name, Namespace: n.Spec.NamespaceName,
		Tier: string(n.Spec.DeploymentTier), Admin: n.Spec.AdminUsername, At: n.DeletionTimestamp.Time,
	})
	if err != nil {
		return engine.Outcome{}, engine.Explain(err, tenancy.ReasonBillingFailed, fmt.Sprintf(
			"billing could not be told that the namespace is released; it is tried again, at the latest every %s. "+
				"To delete without telling it, set the annotation %s: \"true\"", r.RetryMax, tenancy.AnnotationSkipBilling))
	}
	return engine.Done(), nil
}

// releaseNamespace deletes the Namespace and waits until it is gone, or takes the marks off it. One that
// is not ours is left alone.
func (r *run) releaseNamespace(ctx context.Context) (engine.Outcome, error) {
	if r.Obj.EffectiveDeletionPolicy() == v1alpha1.DeletionRetain {
		return r.retain(ctx)
	}
	live, err := r.ownNamespace(ctx)
	switch {
	case err != nil:
		return engine.Outcome{}, err
	case live == nil:
		return engine.Done(), nil
	case live.DeletionTimestamp.IsZero():
		if err := r.Discard(ctx, live, metav1.DeletePropagationBackground); err != nil {
			return engine.Outcome{}, err
		}
	}
	return engine.Wait(goneRecheck, tenancy.ReasonNamespaceTerminating,
		fmt.Sprintf("the Namespace %q is being deleted with everything in it", live.Name)), nil
}

// ownNamespace is the Namespace when it exists and is ours, else nil.
func (r *run) ownNamespace(ctx context.Context) (*corev1.Namespace, error) {
	ns := &corev1.Namespace{}
	err := r.Client.Get(ctx, client.ObjectKey{Name: r.Obj.Spec.NamespaceName}, ns)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the Namespace: %w", err)
	case !r.Owned(ns):
		return nil, nil
	default:
		return ns, nil
	}
}

// retain takes the operator's marks off the guard rails and then off the Namespace; all of them stay. What
// stays on the Namespace is a note of who left it, so that an AcmeNamespace of the same name may come back.
func (r *run) retain(ctx context.Context) (engine.Outcome, error) {
	err := r.EachOwned(ctx, func(o client.Object) error {
		if _, isNamespace := o.(*corev1.Namespace); isNamespace {
			return nil
		}
		return r.Release(ctx, o, nil)
	})
	if err != nil {
		return engine.Outcome{}, err
	}
	ns, err := r.ownNamespace(ctx)
	if err != nil || ns == nil {
		return engine.Done(), err
	}
	return engine.Done(), r.Release(ctx, ns, map[string]string{tenancy.AnnotationReleasedBy: r.Obj.Name})
}
