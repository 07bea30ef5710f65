// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package acmenamespace reconciles AcmeNamespaces: for each it creates a Namespace with guardrails (a
// ResourceQuota, a LimitRange, a NetworkPolicy, and a Role with its RoleBinding for the administrator).
//
// It owns the Namespace by owner marks, not by an owner reference, so that only the finalizer ever deletes it.
// In the Namespace it owns everything that has the name of a guardrail. It never adopts a Namespace of another
// AcmeNamespace, never touches what tenants create in their Namespaces, and connects to nothing outside but the
// configured identity provider and billing.
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
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/acme/platform-operator/api/config/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/config/policy"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/external/billing"
	"github.com/acme/platform-operator/internal/external/identity"
	"github.com/acme/platform-operator/internal/inforce"
	"github.com/acme/platform-operator/internal/tenancy"
)

// The conditions of an AcmeNamespace, in the order of its steps.
const (
	// Admitted: the wanted name, tier and quota may be used.
	Admitted = "Admitted"
	// AdminVerified: the identity provider knows the administrator. Unknown when it could not be queried.
	AdminVerified = "AdminVerified"
	// Composed: the Namespace and all its guardrails match the spec.
	Composed = "Composed"
	// Protected: the admission policy that protects guardrails and owner marks from change is in force. Ready
	// does not depend on it.
	Protected = "Protected"
	// BillingReleased: the release of the namespace is reported to billing. While deleting only.
	BillingReleased = "BillingReleased"
	// NamespaceReleased: the Namespace is gone, or retained without owner marks. While deleting only.
	NamespaceReleased = "NamespaceReleased"
)

const (
	// askAgain is when an identity provider that did not answer is queried again.
	askAgain = time.Minute
	// outsideTimeout bounds a call to the identity provider or to billing, whose adapters end sooner.
	outsideTimeout = time.Minute
	// recheck is how often a name or a user that was rejected is checked again without any event.
	recheck = time.Minute
	// lookAgain is when a namespace whose pods violate its tier is checked again.
	lookAgain = 10 * time.Minute
)

// Options configures the kind.
type Options struct {
	// ProtectedNames are patterns of names that no tenant gets, in addition to the built-in ones. They must
	// contain the operator's own namespace.
	ProtectedNames []string
	// ReservedLabels are labels that tenants cannot have, in addition to the built-in ones.
	ReservedLabels []string
	// DNS is where the cluster's DNS is.
	DNS configv1alpha1.DNSConfig
	// Version is the operator's own, such as v0.1.0.
	Version string
	// PolicyInterval is how often the guardrail policy is checked.
	PolicyInterval time.Duration
	// Directory verifies users; nil when no identity provider is configured.
	Directory identity.Directory
	// Ledger is where released namespaces are reported; nil when no billing is configured.
	Ledger billing.Ledger
	// MaxConcurrentReconciles is how many objects are reconciled at once.
	MaxConcurrentReconciles int
	// RetryMax is the longest time between two tries after errors.
	RetryMax time.Duration
	// Clock is the time; nil is the real one.
	Clock clock.PassiveClock
}

// +kubebuilder:rbac:groups="",resources=limitranges,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
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

// owns are the types of the guardrails.
var owns = []client.Object{
	&corev1.ResourceQuota{}, &corev1.LimitRange{}, &rbacv1.Role{}, &rbacv1.RoleBinding{}, &networkingv1.NetworkPolicy{},
}

// Register adds the kind to the manager.
func Register(mgr ctrl.Manager, o Options) error {
	err := mgr.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.AcmeNamespace{}, tenancy.IndexNamespaceName,
		func(o client.Object) []string { return []string{o.(*v1alpha1.AcmeNamespace).Spec.NamespaceName} })
	if err != nil {
		return fmt.Errorf("indexing AcmeNamespaces by namespaceName: %w", err)
	}
	shipped, err := inforce.Parse(policy.GuardRails)
	if err != nil {
		return fmt.Errorf("reading the guardrail policy: %w", err)
	}
	waker := engine.NewWaker()
	p := &protection{install: inforce.InstallCommand(o.Version), Check: &inforce.Check{
		Live: mgr.GetAPIReader(), Policy: shipped, Interval: o.PolicyInterval,
		Changed: func(ctx context.Context) { waker.WakeAll(ctx, mgr.GetClient(), &v1alpha1.AcmeNamespaceList{}) },
	}}
	if err := mgr.Add(p); err != nil {
		return fmt.Errorf("adding the check of the guardrail policy: %w", err)
	}
	if err := engine.Observe(p); err != nil {
		return fmt.Errorf("registering the metric of the guardrail policy: %w", err)
	}
	return engine.Register(mgr, &v1alpha1.AcmeNamespace{}, engine.Config[*v1alpha1.AcmeNamespace]{
		Name:      tenancy.KindName,
		Finalizer: tenancy.Finalizer,
		Owns:      owns,
		Keeps:     []client.Object{&corev1.Namespace{}},
		Places:    func(n *v1alpha1.AcmeNamespace) []string { return []string{n.Spec.NamespaceName} },
		Proves:    isGuardrail,
		ByMark:    true,
		References: []engine.Reference[*v1alpha1.AcmeNamespace]{
			{To: &v1alpha1.DeploymentTier{}, Keys: tierKey},
		},
		Waker:                   waker,
		MaxConcurrentReconciles: o.MaxConcurrentReconciles,
		OutsideTimeout:          outsideTimeout,
		RetryMax:                o.RetryMax,
		Clock:                   o.Clock,
	}, kind{Options: o, protection: p, lookups: lookupsIn(o.Directory), releases: releasesTo(o.Ledger)})
}

func tierKey(n *v1alpha1.AcmeNamespace) []client.ObjectKey {
	return []client.ObjectKey{{Name: string(n.Spec.DeploymentTier)}}
}

type kind struct {
	Options

	protection *protection
	// lookups asks the identity provider whether it knows a user.
	lookups engine.Topic[string, bool]
	// releases reports releases to billing. It answers with the ids of those that are reported.
	releases engine.Topic[[]billing.Release, []string]
}

// Steps returns the steps of an AcmeNamespace.
func (k kind) Steps(s engine.Scope[*v1alpha1.AcmeNamespace]) []engine.Step {
	r := &run{Scope: s, kind: k}
	return []engine.Step{
		{Condition: Admitted, Run: r.admit},
		{Condition: AdminVerified, Run: r.verifyAdmin},
		engine.Step{Condition: Composed, Run: r.compose}.Then(r.observe),
		{Condition: Protected, Run: r.checkProtected},
	}
}

// Summarize sets the phase, and the deletion policy in effect.
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

// run is one reconcile of one object, with the results that its steps share.
type run struct {
	engine.Scope[*v1alpha1.AcmeNamespace]
	kind

	grant tenancy.Grant
	// before is the Namespace before this reconcile; nil when there was none.
	before *corev1.Namespace
	// unreported are the releases of former owners that are not reported to billing yet, and the error of the
	// last attempt.
	unreported    []unreported
	unreportedWhy string
}

// admit makes the same checks as the webhook: an object that was created while the webhook was down gets no
// further.
func (r *run) admit(ctx context.Context) (engine.Outcome, error) {
	answer, err := tenancy.Admit(ctx, r.Client, r.Obj, tenancy.Reserved{Names: r.ProtectedNames, Labels: r.ReservedLabels}, r.Owned)
	switch {
	case err != nil:
		return engine.Outcome{}, err
	case answer.Reason == tenancy.ReasonNamespaceTerminating:
		return engine.Wait(recheck, answer.Reason, answer.Message), nil
	case answer.Reason != "":
		return engine.BlockFor(recheck, answer.Reason, answer.Message), nil
	}
	r.grant = answer.Grant
	return engine.Done().Saying(fmt.Sprintf("the name %q may be used, with the tier %s", r.Obj.Spec.NamespaceName, answer.Tier.Name)), nil
}

// verified reports whether the identity provider has confirmed the administrator of this version of the spec.
func verified(n *v1alpha1.AcmeNamespace) bool {
	c := meta.FindStatusCondition(n.Status.Conditions, AdminVerified)
	return c != nil && c.Status == metav1.ConditionTrue && c.Message == knownUser && c.ObservedGeneration == n.Generation
}

// adminOutcome returns the outcome of a query for a user.
func adminOutcome(user string, known, answered bool, err error) engine.Outcome {
	switch {
	case err != nil:
		return engine.Uncertain(askAgain, tenancy.ReasonIdentityUnreachable,
			"the identity provider could not be queried; the namespace is provided, and the query is repeated. The operator's log shows why")
	case !answered:
		return engine.Wait(askAgain, tenancy.ReasonIdentityPending, "waiting for the identity provider to confirm the user")
	case !known:
		return engine.BlockFor(recheck, tenancy.ReasonUnknownUser, tenancy.UnknownUser(user))
	default:
		return engine.Done().Saying(knownUser)
	}
}

// knownUser is the message of the condition AdminVerified after a confirmation by the identity provider. It
// distinguishes that from a user that was accepted before a provider was configured.
const knownUser = "the identity provider knows the user"

// lookupsIn asks a directory for users. It may be nil while nothing is asked.
func lookupsIn(d identity.Directory) engine.Topic[string, bool] {
	return engine.NewTopic("identity", func(ctx context.Context, user string) (bool, error) { return d.Lookup(ctx, user) })
}

// verifyAdmin asks the identity provider to confirm the administrator, once for each version of the spec.
func (r *run) verifyAdmin(context.Context) (engine.Outcome, error) {
	user := r.Obj.Spec.AdminUsername
	switch {
	case r.Directory == nil:
		return engine.Done().Saying("no identity provider is configured; the name is not verified"), nil
	case tenancy.IsServiceAccount(user):
		return engine.Done().Saying("adminUsername is a service account, which identity providers do not know"), nil
	case verified(r.Obj):
		return engine.Done().Saying(knownUser), nil
	}
	known, answered, err := engine.Ask(r.Scope, r.lookups, user)
	if err != nil {
		r.Log.Info("The identity provider could not be queried", "error", err.Error())
	}
	return adminOutcome(user, known, answered, err), nil
}
