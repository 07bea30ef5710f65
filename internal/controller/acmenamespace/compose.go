// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/external/billing"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/tenancy"
)

// compose applies the Namespace and its guardrails. Then it reviews what else the Namespace contains, even if
// one of the guardrails cannot be changed at the moment.
func (r *run) compose(ctx context.Context) (engine.Outcome, error) {
	var err error
	if r.before, err = r.namespace(ctx); err != nil {
		return engine.Outcome{}, err
	}
	if r.mustRecordRetain() {
		r.Obj.Status.DeletionPolicy = v1alpha1.DeletionRetain
		return engine.Wait(0, tenancy.ReasonAdopting, fmt.Sprintf("the Namespace %q exists already, so it is retained when this object is deleted, "+
			"unless spec.deletionPolicy is Delete; this is recorded before the adoption", r.before.Name)).Due(r.Clock.Now()), nil
	}
	r.forgetPods()
	if err := r.prepare(ctx); err != nil {
		return engine.Outcome{}, err
	}
	out, err := r.Compose(r.desired)(ctx)
	return out, errors.Join(err, r.review(ctx))
}

// mustRecordRetain reports whether the Namespace existed before this object, and neither the spec nor the
// status has a deletion policy for it. This object must not delete its data. That is recorded by a write of its
// own, before the Namespace carries this object's owner marks: afterwards, and after a crash, it looks like one
// that this object has created.
func (r *run) mustRecordRetain() bool {
	ns, n := r.before, r.Obj
	found := ns != nil && ns.UID != n.Status.NamespaceUID && (r.grant.Adopts || ns.Labels[names.LabelOwnerUID] != string(n.UID))
	return found && n.Spec.DeletionPolicy == "" && n.Status.DeletionPolicy != v1alpha1.DeletionRetain
}

// prepare reclaims the guardrails that a former AcmeNamespace left in the Namespace, so that they do not
// restrict the next one, and collects the releases that are still to be reported.
func (r *run) prepare(ctx context.Context) error {
	if r.before == nil {
		return nil
	}
	if err := r.inherit(ctx); err != nil || !r.grant.Adopts {
		return err
	}
	for _, left := range leavable(r.before.Name) {
		err := r.Live.Get(ctx, client.ObjectKeyFromObject(left), left)
		if err == nil {
			err = r.Reclaim(ctx, left)
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reclaiming what was left in the Namespace: %w", err)
		}
	}
	return nil
}

// inherit finds the releases of former owners that are to be reported, and reports those that are recorded: a
// retry reports the same releases.
func (r *run) inherit(ctx context.Context) error {
	if r.Ledger == nil || r.skipsBilling() {
		return nil
	}
	var err error
	if r.unreported, err = r.ended(ctx, recorded(r.before)); err != nil {
		return err
	}
	if len(r.unreported) > 0 {
		known, _, err := r.report(releases(r.unreported, r.before.Name))
		r.unreported = slices.DeleteFunc(r.unreported, func(u unreported) bool { return slices.Contains(known, string(u.UID)) })
		if err != nil {
			r.Log.Info("The release of a former owner could not be reported to billing", "error", err.Error())
			r.unreportedWhy = billing.Why(err)
		}
	}
	former, err := r.formerOwner(ctx)
	r.unreported = append(r.unreported, former...)
	return err
}

// formerOwner returns the release of the former owner whose marks the Namespace carries; none when there is
// none. Other marks on a Namespace that this object owns already were overwritten and belong to no owner.
func (r *run) formerOwner(ctx context.Context) ([]unreported, error) {
	if r.before.UID == r.Obj.Status.NamespaceUID {
		return nil, nil
	}
	quotas := &corev1.ResourceQuotaList{}
	if err := r.Client.List(ctx, quotas, client.InNamespace(r.before.Name), client.DisableReadYourWritesConsistency); err != nil {
		return nil, fmt.Errorf("listing the quotas of the former owner: %w", err)
	}
	former, ok := formerOwner(r.before, r.Obj.UID, quotas.Items, r.Clock.Now())
	if !ok {
		return nil, nil
	}
	return r.ended(ctx, []unreported{former})
}

// ended returns the releases of AcmeNamespaces that no longer exist.
func (r *run) ended(ctx context.Context, all []unreported) ([]unreported, error) {
	if len(all) == 0 {
		return nil, nil
	}
	existing := &v1alpha1.AcmeNamespaceList{}
	if err := r.Client.List(ctx, existing, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return nil, fmt.Errorf("listing the AcmeNamespaces: %w", err)
	}
	return ended(all, existing.Items), nil
}

// namespace returns the Namespace of the wanted name, whatever its owner; nil when there is none.
func (r *run) namespace(ctx context.Context) (*corev1.Namespace, error) {
	ns := &corev1.Namespace{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: r.Obj.Spec.NamespaceName}, ns); err != nil {
		return nil, wrapped("reading the Namespace", client.IgnoreNotFound(err))
	}
	return ns, nil
}

func wrapped(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// review records what the Namespace contains besides the guardrails, once when this object becomes its owner
// and once whenever the administrators change. It removes annotations that are obsolete.
func (r *run) review(ctx context.Context) error {
	ns, err := r.namespace(ctx)
	if err != nil || ns == nil || !r.Owned(ns) {
		return err
	}
	if ns.UID != r.Obj.Status.NamespaceUID {
		if err := r.reviewNamespace(ctx, ns); err != nil {
			return err
		}
		r.Obj.Status.NamespaceUID = ns.UID
	}
	void := []string{tenancy.AnnotationReleasedBy}
	if len(r.unreported) == 0 {
		void = append(void, tenancy.AnnotationUnreported) // whatever wrote it
	}
	_, err = r.forget(ctx, ns, void...)
	return errors.Join(r.reviewAdministrators(ctx), err)
}

// reviewNamespace records the contents of a Namespace that was not created in this reconcile.
func (r *run) reviewNamespace(ctx context.Context, ns *corev1.Namespace) error {
	r.Obj.Status.Adopted, r.Obj.Status.FormerAdministrators = nil, nil
	if r.before == nil {
		return nil
	}
	all, err := r.foreign(ctx, ns)
	if err != nil {
		return err
	}
	r.Obj.Status.Adopted = all.status()
	if found := r.Obj.Status.Adopted; found != nil {
		r.Told(func() {
			r.Event(corev1.EventTypeWarning, "Adopted", "the adopted Namespace %q contains %d objects and labels that guardrails do not cover; "+
				"they were left alone, review them: %s", ns.Name, found.Count, describe(found))
		})
	}
	return nil
}

// foreign describes what a Namespace contains besides the guardrails.
func (r *run) foreign(ctx context.Context, ns *corev1.Namespace) (findings, error) {
	bound, rest := bindings{}, findings{}
	err := errors.Join(
		each(ctx, r, &rbacv1.RoleBindingList{}, bound.add),
		each(ctx, r, &networkingv1.NetworkPolicyList{}, rest.addPolicy),
	)
	rest.addLabels(ns)
	err = errors.Join(err,
		each(ctx, r, &corev1.ResourceQuotaList{}, func(q *corev1.ResourceQuota) { rest.addQuota(q, string(r.grant.Tier.Name)) }),
		each(ctx, r, &corev1.LimitRangeList{}, rest.addLimitRange))
	all := bound.all()
	all.then(rest)
	return all, err
}

// reviewAdministrators records, when the administrators have changed, which RoleBindings exist besides theirs.
func (r *run) reviewAdministrators(ctx context.Context) error {
	rb := &rbacv1.RoleBinding{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.Obj.Spec.NamespaceName, Name: tenancy.RoleName}, rb)
	if err != nil {
		return wrapped("reading the RoleBinding", client.IgnoreNotFound(err))
	}
	before, now := r.Obj.Status.Administrators, administrators(r.Obj.Spec)
	if !sameSubjects(rb.Subjects, now) {
		return nil // it could not be changed so far
	}
	former := removed(before, now)
	if len(former) == 0 {
		r.Obj.Status.Administrators = now
		return nil
	}
	found := bindings{former: former}
	if err := each(ctx, r, &rbacv1.RoleBindingList{}, found.add); err != nil {
		return err
	}
	all := found.all()
	r.Obj.Status.Administrators, r.Obj.Status.FormerAdministrators = now, all.status()
	if left := r.Obj.Status.FormerAdministrators; left != nil {
		r.Told(func() {
			r.Event(corev1.EventTypeWarning, "AdministratorsChanged", "%d RoleBindings other than %s were left alone, "+
				"%d of them name a former administrator; delete those that should go: %s", left.Count, tenancy.RoleName, found.named.count, describe(left))
		})
	}
	return nil
}

// maxFound is the most objects of a type that are read.
const maxFound = 1000

// each calls do for the objects of a list's type in the Namespace that are not being deleted.
func each[O client.Object](ctx context.Context, r *run, empty client.ObjectList, do func(O)) error {
	_, err := tenancy.Each(ctx, r.Live, r.Obj.Spec.NamespaceName, empty, maxFound, func(o O) {
		if o.GetDeletionTimestamp().IsZero() {
			do(o)
		}
	})
	return err
}

// observe copies what the quota reports into the status.
func (r *run) observe(ctx context.Context) (engine.Outcome, error) {
	rq := &corev1.ResourceQuota{}
	name := r.Obj.Spec.NamespaceName
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: name, Name: string(r.grant.Tier.Name)}, rq); err != nil {
		return engine.Outcome{}, fmt.Errorf("reading the ResourceQuota: %w", err)
	}
	r.Obj.Status.Quota = nil
	if len(rq.Status.Hard) > 0 {
		r.Obj.Status.Quota = &v1alpha1.QuotaStatus{Hard: rq.Status.Hard, Used: rq.Status.Used}
	}
	return r.composed(ctx)
}

// composed returns the outcome when the Namespace and its guardrails match the spec. Violations of the tier and
// unreported releases of former owners block nothing, but have to be visible.
func (r *run) composed(ctx context.Context) (engine.Outcome, error) {
	judged, err := r.checkTier(ctx)
	switch {
	case err != nil:
		return engine.Outcome{}, err
	case len(r.unreported) > 0:
		return engine.DoneUntil(r.RetryMax).Because(tenancy.ReasonReleaseUnreported).Warning().Saying(judged.message + r.sayUnreported()), nil
	}
	out := engine.Done()
	if r.Obj.Status.PodSecurity == "" {
		out = engine.DoneUntil(lookAgain)
	}
	if judged.violated {
		out = out.Because(tenancy.ReasonTierViolated).Warning()
	}
	return out.Saying(judged.message), nil
}

// sayUnreported names the former owners whose release is not reported to billing.
func (r *run) sayUnreported() string {
	former := r.unreported[0]
	message := fmt.Sprintf(". The release of the former AcmeNamespace %s (UID %s) is not reported to billing yet", former.Name, former.UID)
	if more := len(r.unreported) - 1; more > 0 {
		message += fmt.Sprintf(", nor %d more", more)
	}
	if r.unreportedWhy != "" {
		message += ": " + r.unreportedWhy
	}
	return message + fmt.Sprintf(". This is retried at least every %s; to skip the report, set the annotation %s: \"true\"",
		r.RetryMax, tenancy.AnnotationSkipBilling)
}
