// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package acmenamespace is the webhook of AcmeNamespaces. It reports at once what the controller would report a
// moment later: nothing depends on it, and its failure policy is Ignore. It checks only what the schema cannot.
package acmenamespace

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/external/identity"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/tenancy"
)

// identityBudget is how long an admission waits for the identity provider: the API server waits five seconds in
// total.
const identityBudget = 3 * time.Second

// podsBudget is how long an admission waits for the list of pods that a warning is about.
const podsBudget = time.Second

// Options configures the webhook.
type Options struct {
	// ProtectedNames are patterns of names that no tenant gets, in addition to the built-in ones.
	ProtectedNames []string
	// ReservedLabels are labels that tenants cannot have, in addition to the built-in ones.
	ReservedLabels []string
	// Directory verifies users; nil when no identity provider is configured.
	Directory identity.Directory
}

// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:webhook:path=/mutate-tenancy-acme-com-v1alpha1-acmenamespace,mutating=true,failurePolicy=ignore,sideEffects=None,groups=tenancy.acme.com,resources=acmenamespaces,verbs=create;update,versions=v1alpha1,name=macmenamespace.tenancy.acme.com,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-tenancy-acme-com-v1alpha1-acmenamespace,mutating=false,failurePolicy=ignore,sideEffects=None,groups=tenancy.acme.com,resources=acmenamespaces,verbs=create;update;delete,versions=v1alpha1,name=vacmenamespace.tenancy.acme.com,admissionReviewVersions=v1,timeoutSeconds=5

// Register adds the webhook to the manager. The cache index of the controller has to be registered, too.
func Register(mgr ctrl.Manager, o Options) error {
	w := &webhook{Options: o, cached: mgr.GetClient(), live: mgr.GetAPIReader()}
	return ctrl.NewWebhookManagedBy(mgr, &v1alpha1.AcmeNamespace{}).WithDefaulter(w).WithValidator(w).Complete()
}

type webhook struct {
	Options
	cached, live client.Reader
}

// Default implements admission.Defaulter. It sets the deletion policy for prod only: otherwise the field stays
// empty, so that a namespace that is promoted to prod is retained automatically.
func (w *webhook) Default(_ context.Context, n *v1alpha1.AcmeNamespace) error {
	if n.Spec.DeploymentTier == "" {
		n.Spec.DeploymentTier = common.TierDev
	}
	if n.Spec.DeletionPolicy == "" && n.Spec.DeploymentTier == common.TierProd {
		n.Spec.DeletionPolicy = v1alpha1.DeletionRetain
	}
	return nil
}

// ValidateCreate implements admission.Validator.
func (w *webhook) ValidateCreate(ctx context.Context, n *v1alpha1.AcmeNamespace) (admission.Warnings, error) {
	// All existing objects precede this one, also within the same second.
	latest := n.DeepCopy()
	latest.CreationTimestamp = metav1.Time{}
	if _, err := w.admit(ctx, latest); err != nil {
		return nil, err
	}
	return w.verifyAdmin(ctx, n)
}

// ValidateUpdate implements admission.Validator. It never rejects an object that is being deleted, because that
// would block the removal of its finalizer.
func (w *webhook) ValidateUpdate(ctx context.Context, was, n *v1alpha1.AcmeNamespace) (admission.Warnings, error) {
	if !n.DeletionTimestamp.IsZero() || was.Generation == n.Generation {
		return nil, nil
	}
	answer, err := w.admit(ctx, n)
	if err != nil {
		return nil, err
	}
	warnings := append(quotaBelowUsage(n, answer.Hard), w.insecurePods(ctx, was, n, answer.Tier)...)
	if was.Spec.AdminUsername == n.Spec.AdminUsername {
		return warnings, nil
	}
	more, err := w.verifyAdmin(ctx, n)
	return append(warnings, more...), err
}

// ValidateDelete implements admission.Validator: it rejects nothing, and warns before a production namespace
// with running pods is deleted.
func (w *webhook) ValidateDelete(ctx context.Context, n *v1alpha1.AcmeNamespace) (admission.Warnings, error) {
	if n.Spec.DeploymentTier != common.TierProd || n.EffectiveDeletionPolicy() != v1alpha1.DeletionDelete || n.Status.NamespaceUID == "" {
		return nil, nil
	}
	pods := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	if err := w.live.List(ctx, pods, client.InNamespace(n.Spec.NamespaceName), client.Limit(1)); err != nil || len(pods.Items) == 0 {
		return nil, nil //nolint:nilerr // A warning that cannot be computed must not block a deletion.
	}
	count := int64(len(pods.Items))
	if pods.RemainingItemCount != nil {
		count += *pods.RemainingItemCount
	}
	return admission.Warnings{fmt.Sprintf(
		"%d pod(s) in the production namespace %q are deleted with everything else in it; to keep it, set spec.deletionPolicy to Retain first",
		count, n.Spec.NamespaceName)}, nil
}

// fields are the fields that the reasons of a refusal are about.
var fields = map[string]*field.Path{
	tenancy.ReasonNameProtected: field.NewPath("spec", "namespaceName"),
	tenancy.ReasonNameTaken:     field.NewPath("spec", "namespaceName"),
	tenancy.ReasonLabelReserved: field.NewPath("spec", "labels"),
	tenancy.ReasonTierInvalid:   field.NewPath("spec", "deploymentTier"),
	tenancy.ReasonQuotaInvalid:  field.NewPath("spec", "quota"),
	tenancy.ReasonAdminReserved: field.NewPath("spec"),
	tenancy.ReasonUnknownUser:   field.NewPath("spec", "adminUsername"),
}

// admit makes the same checks as the controller. A Namespace that is being deleted is not an obstacle.
func (w *webhook) admit(ctx context.Context, n *v1alpha1.AcmeNamespace) (tenancy.Answer, error) {
	owned := func(o client.Object) bool { return names.Marked(o, tenancy.KindName, n) }
	answer, err := tenancy.Admit(ctx, w.cached, n, tenancy.Reserved{Names: w.ProtectedNames, Labels: w.ReservedLabels}, owned)
	switch {
	case err != nil:
		return answer, err
	case answer.Reason == "" || answer.Reason == tenancy.ReasonNamespaceTerminating:
		return answer, nil
	default:
		return answer, refuse(n, answer.Refusal)
	}
}

func refuse(n *v1alpha1.AcmeNamespace, r tenancy.Refusal) error {
	return apierrors.NewInvalid(schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: "AcmeNamespace"}, n.Name,
		field.ErrorList{field.Forbidden(fields[r.Reason], r.Message)})
}

// verifyAdmin rejects a user that the identity provider does not know. If the provider cannot be queried, the
// object is admitted with a warning and the controller queries it again.
func (w *webhook) verifyAdmin(ctx context.Context, n *v1alpha1.AcmeNamespace) (admission.Warnings, error) {
	user := n.Spec.AdminUsername
	if w.Directory == nil || tenancy.IsServiceAccount(user) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, identityBudget)
	defer cancel()
	known, err := w.Directory.Lookup(ctx, user)
	switch {
	case err != nil:
		ctrl.LoggerFrom(ctx).Info("The identity provider could not be queried", "error", err.Error())
		return admission.Warnings{fmt.Sprintf(
			"the identity provider could not be queried for adminUsername %q; the object is admitted, and the query is repeated", user)}, nil
	case !known:
		return nil, refuse(n, tenancy.Refusal{Reason: tenancy.ReasonUnknownUser, Message: tenancy.UnknownUser(user)})
	default:
		return nil, nil
	}
}

// quotaBelowUsage warns if a change leaves the namespace with less than it uses. Nothing is evicted, but
// nothing more can be started.
func quotaBelowUsage(n *v1alpha1.AcmeNamespace, hard corev1.ResourceList) admission.Warnings {
	if n.Status.Quota == nil {
		return nil
	}
	return tenancy.QuotaExceeded(hard, n.Status.Quota.Used)
}

// insecurePods warns if a change of the tier leaves pods that its Pod Security level would reject.
func (w *webhook) insecurePods(ctx context.Context, was, n *v1alpha1.AcmeNamespace, tier tenancy.Tier) admission.Warnings {
	if was.Spec.DeploymentTier == n.Spec.DeploymentTier || n.Status.NamespaceUID == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, podsBudget)
	defer cancel()
	violated, _, err := tenancy.InsecurePods(ctx, w.live, n.Spec.NamespaceName, tier.PodSecurity)
	if err != nil || violated == "" {
		return nil // A warning that cannot be computed must not block a change.
	}
	return admission.Warnings{violated}
}
