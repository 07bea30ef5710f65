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

// Package acmenamespace reconciles AcmeNamespaces: for each it makes a Namespace with guard rails (a
// ResourceQuota, a LimitRange, a NetworkPolicy, and a Role with its RoleBinding for the administrator).
//
// It owns the Namespace by marks, not by an owner reference, so that nothing but the finalizer ever deletes it; in it, what
// is named like a guard rail is one. It never takes over a Namespace of another AcmeNamespace, never touches
// what tenants put into their Namespaces, and asks no one but the configured identity provider and
// billing.
package acmenamespace

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/external/billing"
	"github.com/acme/platform-operator/internal/external/identity"
	"github.com/acme/platform-operator/internal/tenancy"
)

// The conditions of an AcmeNamespace, in the order of its steps.
const (
	// Admitted: the namespace may be handed out under the wanted name, tier and quota.
	Admitted = "Admitted"
	// AdminVerified: the identity provider knows the administrator. Unknown when it could not be asked.
	AdminVerified = "AdminVerified"
	// Composed: the Namespace and all its guard rails are as wanted.
	Composed = "Composed"
	// BillingReleased: billing knows that the namespace is given back. While deleting only.
	BillingReleased = "BillingReleased"
	// NamespaceReleased: the Namespace is gone, or retained without marks. While deleting only.
	NamespaceReleased = "NamespaceReleased"
)

const (
	// askAgain is when an identity provider that did not answer is asked again.
	askAgain = time.Minute
	// recheck is how often a name, or a user, that was refused is looked at again without any event.
	recheck = time.Minute
)

// Options is what the kind needs beside the cluster.
type Options struct {
	// ProtectedNames are patterns of names that are not handed out, beside the built-in ones. The
	// operator's own namespace belongs here.
	ProtectedNames []string
	// Directory knows the users; nil when no identity provider is configured.
	Directory identity.Directory
	// Ledger is told of released namespaces; nil when no billing is configured.
	Ledger billing.Ledger
	// MaxConcurrentReconciles is how many objects are worked on at once.
	MaxConcurrentReconciles int
	// RetryMax is the longest time between two tries after errors.
	RetryMax time.Duration
	// Clock is the time; nil is the real one.
	Clock clock.PassiveClock
}

// +kubebuilder:rbac:groups="",resources=limitranges,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups="",resources=resourcequotas,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=rolebindings,verbs=create;list;watch
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=rolebindings,resourceNames=namespace-admin,verbs=delete;get;patch
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles,verbs=create;list;watch
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles,resourceNames=namespace-admin,verbs=bind;delete;escalate;get;patch
// +kubebuilder:rbac:groups=tenancy.acme.com,resources=acmenamespaces,verbs=get;list;patch;watch
// +kubebuilder:rbac:groups=tenancy.acme.com,resources=acmenamespaces/status,verbs=patch
// +kubebuilder:rbac:groups=tenancy.acme.com,resources=deploymenttiers,verbs=get;list;watch

// Register adds the kind to the manager.
func Register(mgr ctrl.Manager, o Options) error {
	err := mgr.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.AcmeNamespace{}, tenancy.IndexNamespaceName,
		func(o client.Object) []string { return []string{o.(*v1alpha1.AcmeNamespace).Spec.NamespaceName} })
	if err != nil {
		return fmt.Errorf("indexing AcmeNamespaces by namespaceName: %w", err)
	}
	return engine.Register(mgr, &v1alpha1.AcmeNamespace{}, engine.Config[*v1alpha1.AcmeNamespace]{
		Name:      tenancy.KindName,
		Finalizer: tenancy.Finalizer,
		Owns: []client.Object{
			&corev1.ResourceQuota{}, &corev1.LimitRange{}, &rbacv1.Role{}, &rbacv1.RoleBinding{}, &networkingv1.NetworkPolicy{},
		},
		Keeps:  []client.Object{&corev1.Namespace{}},
		Places: func(n *v1alpha1.AcmeNamespace) []string { return []string{n.Spec.NamespaceName} },
		Proves: isGuardrail,
		ByMark: true,
		References: []engine.Reference[*v1alpha1.AcmeNamespace]{
			{To: &v1alpha1.DeploymentTier{}, Keys: tierKey},
		},
		MaxConcurrentReconciles: o.MaxConcurrentReconciles,
		RetryMax:                o.RetryMax,
		Clock:                   o.Clock,
	}, kind{o})
}

func tierKey(n *v1alpha1.AcmeNamespace) []client.ObjectKey {
	return []client.ObjectKey{{Name: string(n.Spec.DeploymentTier)}}
}

type kind struct{ Options }

// Steps is the whole life of an AcmeNamespace.
func (k kind) Steps(s engine.Scope[*v1alpha1.AcmeNamespace]) []engine.Step {
	r := &run{Scope: s, kind: k}
	return []engine.Step{
		{Condition: Admitted, Run: r.admit},
		{Condition: AdminVerified, Run: r.verifyAdmin},
		engine.Step{Condition: Composed, Run: r.takeUp}.Then(r.Compose(Composed, r.desired).Run).Then(r.observe),
	}
}

// Summarize derives the phase, and shows the deletion policy that holds.
func (k kind) Summarize(n *v1alpha1.AcmeNamespace) {
	n.Status.DeletionPolicy = n.EffectiveDeletionPolicy()
	switch {
	case !n.DeletionTimestamp.IsZero():
		n.Status.Phase = v1alpha1.PhaseTerminating
	case meta.IsStatusConditionTrue(n.Status.Conditions, Composed):
		n.Status.Phase = v1alpha1.PhaseCreated
	case n.Status.Phase == "":
		n.Status.Phase = v1alpha1.PhaseCreationInProgress
	}
}

// run is one run of one object, with what its steps hand on.
type run struct {
	engine.Scope[*v1alpha1.AcmeNamespace]
	kind

	grant tenancy.Grant
}

// admit does what the webhook does, too: an object that came in while the webhook was away gets no
// further than this.
func (r *run) admit(ctx context.Context) (engine.Outcome, error) {
	answer, err := tenancy.Admit(ctx, r.Client, r.Obj, r.ProtectedNames, r.Owned)
	switch {
	case err != nil:
		return engine.Outcome{}, err
	case answer.Reason == tenancy.ReasonNamespaceTerminating:
		return engine.Wait(recheck, answer.Reason, answer.Message), nil
	case answer.Reason != "":
		return engine.BlockFor(recheck, answer.Reason, answer.Message), nil
	}
	r.grant = answer.Grant
	return engine.Done().Saying(fmt.Sprintf("the name %q is free or ours, with the tier %s", r.Obj.Spec.NamespaceName, answer.Tier.Name)), nil
}

// knownUser is the message of the condition AdminVerified, by which an answer of the identity provider is
// told from what was taken for granted before one was configured.
const knownUser = "the identity provider knows the user"

// verifyAdmin asks the identity provider for the administrator, once for each version of the spec.
func (r *run) verifyAdmin(ctx context.Context) (engine.Outcome, error) {
	user := r.Obj.Spec.AdminUsername
	switch {
	case r.Directory == nil:
		return engine.Done().Saying("no identity provider is configured; the name is taken as it is"), nil
	case tenancy.IsServiceAccount(user):
		return engine.Done().Saying("a service account; no identity provider knows those"), nil
	}
	c := meta.FindStatusCondition(r.Obj.Status.Conditions, AdminVerified)
	if c != nil && c.Status == metav1.ConditionTrue && c.Message == knownUser && c.ObservedGeneration == r.Obj.Generation {
		return engine.Done().Saying(knownUser), nil
	}
	known, err := r.Directory.Lookup(ctx, user)
	switch {
	case err != nil:
		r.Log.Info("The identity provider could not be asked", "error", err.Error())
		return engine.Uncertain(askAgain, tenancy.ReasonIdentityUnreachable,
			"the identity provider could not be asked; the namespace is provided, and the question is asked again"), nil
	case !known:
		return engine.BlockFor(recheck, tenancy.ReasonUnknownUser, tenancy.UnknownUser(user)), nil
	default:
		return engine.Done().Saying(knownUser), nil
	}
}

// takeUp makes the guard rails ours again that stand in a Namespace which is about to be taken over: what an
// AcmeNamespace left there must not bind the next one. Those that it wants as well it finds by their names; here
// are the others, which go once its own are there.
func (r *run) takeUp(ctx context.Context) (engine.Outcome, error) {
	if !r.grant.Adopts {
		return engine.Done(), nil
	}
	for _, left := range []client.ObjectList{&corev1.ResourceQuotaList{}, &networkingv1.NetworkPolicyList{}} {
		if err := r.Live.List(ctx, left, client.InNamespace(r.Obj.Spec.NamespaceName)); err != nil {
			return engine.Outcome{}, fmt.Errorf("listing what was left in the Namespace: %w", err)
		}
		err := meta.EachListItem(left, func(o runtime.Object) error { return r.Reclaim(ctx, o.(client.Object)) })
		if err != nil {
			return engine.Outcome{}, err
		}
	}
	return engine.Done(), nil
}

// observe puts into the status what the children tell.
func (r *run) observe(ctx context.Context) (engine.Outcome, error) {
	ns, rq := &corev1.Namespace{}, &corev1.ResourceQuota{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: r.Obj.Spec.NamespaceName}, ns); err != nil {
		return engine.Outcome{}, fmt.Errorf("reading the Namespace: %w", err)
	}
	r.Obj.Status.NamespaceUID = ns.UID
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: ns.Name, Name: string(r.grant.Tier.Name)}, rq); err != nil {
		return engine.Outcome{}, fmt.Errorf("reading the ResourceQuota: %w", err)
	}
	r.Obj.Status.Quota = nil
	if len(rq.Status.Hard) > 0 {
		r.Obj.Status.Quota = &v1alpha1.QuotaStatus{Hard: rq.Status.Hard, Used: rq.Status.Used}
	}
	return engine.Done().Saying(fmt.Sprintf("the Namespace %q and its guard rails are in place", ns.Name)), nil
}
