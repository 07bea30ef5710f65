// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/external/billing"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/tenancy"
)

// goneRecheck is the safety net while a Namespace is being deleted; its removal is an event.
const goneRecheck = time.Minute

// Finalize returns the steps between the deletion of an AcmeNamespace and its disappearance: the release is
// reported to billing, and only then is the Namespace deleted, or released.
func (k kind) Finalize(s engine.Scope[*v1alpha1.AcmeNamespace]) []engine.Step {
	r := &run{Scope: s, kind: k}
	return []engine.Step{
		{Condition: BillingReleased, Run: r.reportRelease},
		{Condition: NamespaceReleased, Run: r.releaseNamespace},
	}
}

// reportRelease reports the release of the namespace to billing, unless there never was one, and the releases
// of former owners that are not reported yet.
func (r *run) reportRelease(ctx context.Context) (engine.Outcome, error) {
	if out, settled := r.needsNoReport(); settled {
		return out, nil
	}
	live, err := r.ownNamespace(ctx)
	if err != nil {
		return engine.Outcome{}, err
	}
	if live == nil && r.Obj.Status.NamespaceUID == "" {
		return engine.Done().Saying("this object never had a Namespace; there is nothing to report"), nil
	}
	former, err := r.ended(ctx, recorded(live))
	if err != nil {
		return engine.Outcome{}, err
	}
	_, answered, err := r.report(append(releases(former, r.Obj.Spec.NamespaceName), r.release()))
	switch {
	case err != nil:
		return engine.Outcome{}, engine.Explain(err, tenancy.ReasonBillingFailed, fmt.Sprintf(
			"the release could not be reported to billing: %s. It is retried at least every %s. To delete without reporting it, "+
				"set the annotation %s: \"true\"", billing.Why(err), r.RetryMax, tenancy.AnnotationSkipBilling))
	case !answered:
		return engine.Wait(askAgain, tenancy.ReasonBillingPending, "waiting for billing to confirm the release"), nil
	}
	return engine.Done().Saying("the release is reported to billing"), nil
}

// needsNoReport returns the outcome without a report to billing: if it is not wanted, not possible, or done.
func (r *run) needsNoReport() (out engine.Outcome, settled bool) {
	c := meta.FindStatusCondition(r.Obj.Status.Conditions, BillingReleased)
	switch {
	case r.skipsBilling():
		return engine.Done().Because(tenancy.ReasonBillingSkipped).Saying(
			"not reported to billing, because the annotation " + tenancy.AnnotationSkipBilling + " is \"true\""), true
	case r.Ledger == nil:
		return engine.Done().Saying("no billing is configured"), true
	case c != nil && c.Status == metav1.ConditionTrue && c.Reason != tenancy.ReasonBillingSkipped:
		return engine.Done().Saying(c.Message), true
	default:
		return engine.Outcome{}, false
	}
}

// release returns the release of this object's namespace. Its id is the object's UID, so that a repetition
// after a crash is not a second release.
func (r *run) release() billing.Release {
	n := r.Obj
	return billing.Release{
		ID: string(n.UID), Name: n.Name, Namespace: n.Spec.NamespaceName,
		Tier: string(n.Spec.DeploymentTier), Admin: n.Spec.AdminUsername, At: n.DeletionTimestamp.Time,
	}
}

func (r *run) skipsBilling() bool { return r.Obj.Annotations[tenancy.AnnotationSkipBilling] == "true" }

// releasesTo reports releases to billing. It may be nil while nothing is reported.
func releasesTo(ledger billing.Ledger) engine.Topic[[]billing.Release, []string] {
	return engine.NewTopic("billing", func(ctx context.Context, all []billing.Release) ([]string, error) {
		var known []string
		for _, one := range all {
			if err := ledger.Released(ctx, one); err != nil {
				return nil, err
			}
			known = append(known, one.ID)
		}
		return known, nil
	})
}

// report reports releases to billing in the background: however long that takes, no other object waits for it.
// It returns the ids of those that are reported. After an error, some may be reported again, under the same
// ids.
func (r *run) report(all []billing.Release) (known []string, answered bool, err error) {
	return engine.Ask(r.Scope, r.kind.releases, all)
}

// releaseNamespace deletes the Namespace and waits until it is gone, or removes the owner marks from it. A
// Namespace that this object does not own is left alone.
func (r *run) releaseNamespace(ctx context.Context) (engine.Outcome, error) {
	live, err := r.ownNamespace(ctx)
	switch {
	case err != nil || live == nil:
		return engine.Done(), err
	case r.Obj.EffectiveDeletionPolicy() == v1alpha1.DeletionRetain:
		return engine.Done(), r.retain(ctx, live)
	case live.DeletionTimestamp.IsZero():
		if err := r.Discard(ctx, live, metav1.DeletePropagationBackground); err != nil {
			return engine.Outcome{}, err
		}
	}
	return engine.Wait(goneRecheck, tenancy.ReasonNamespaceTerminating, fmt.Sprintf(
		"the Namespace %q is being deleted with everything in it%s", live.Name, tenancy.Hindrances(live))), nil
}

// ownNamespace returns the Namespace if it exists and this very object owns it, else nil. One that still
// carries the marks of a former object of the same name belongs to that one and must not be deleted here.
func (r *run) ownNamespace(ctx context.Context) (*corev1.Namespace, error) {
	ns, err := r.namespace(ctx)
	if err != nil || ns == nil || !r.Owned(ns) {
		return nil, err
	}
	if ns.Labels[names.LabelOwnerUID] != string(r.Obj.UID) && ns.UID != r.Obj.Status.NamespaceUID {
		return nil, nil
	}
	return ns, nil
}

// retain removes the owner marks from the guardrails and then from the Namespace; all of them remain. An
// annotation on the Namespace records its last owner, so that an AcmeNamespace of the same name may reclaim it.
func (r *run) retain(ctx context.Context, ns *corev1.Namespace) error {
	var errs []error
	err := r.EachOwned(ctx, func(o client.Object) error {
		if _, isNamespace := o.(*corev1.Namespace); !isNamespace {
			errs = append(errs, r.Release(ctx, o, nil)) // one that cannot be released does not keep the others
		}
		return nil
	})
	if err = errors.Join(append(errs, err)...); err != nil {
		return err
	}
	if ns, err = r.forget(ctx, ns, tenancy.AnnotationUnreported); err != nil {
		return err
	}
	return r.Release(ctx, ns, map[string]string{tenancy.AnnotationReleasedBy: r.Obj.Name})
}

// forget removes annotations from the Namespace, and returns the resulting Namespace.
func (r *run) forget(ctx context.Context, ns *corev1.Namespace, keys ...string) (*corev1.Namespace, error) {
	after := ns.DeepCopy()
	for _, key := range keys {
		delete(after.Annotations, key)
	}
	if len(after.Annotations) == len(ns.Annotations) {
		return ns, nil
	}
	err := r.Client.Patch(ctx, after, client.MergeFrom(ns))
	return after, wrapped(fmt.Sprintf("removing the annotations %v", keys), client.IgnoreNotFound(err))
}
