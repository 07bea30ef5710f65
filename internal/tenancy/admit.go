// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
)

// Grant is what an AcmeNamespace may have.
type Grant struct {
	// Tier is its tier with any override.
	Tier Tier
	// Hard are the hard limits of its namespace.
	Hard corev1.ResourceList
	// Adopts is true if the Namespace exists without an owner, and is adopted.
	Adopts bool
}

// Answer is a grant, or a refusal.
type Answer struct {
	Grant
	Refusal
}

// Admit checks everything that the schema cannot: whether this AcmeNamespace may have the name, with this tier
// and quota. The webhook and the controller share it. The function owned reports whether a Namespace carries
// the marks of the AcmeNamespace.
func Admit(ctx context.Context, c client.Reader, n *v1alpha1.AcmeNamespace, reserved Reserved, owned func(client.Object) bool) (Answer, error) {
	if ref := Protect(n.Spec.NamespaceName, reserved.Names); ref.Reason != "" {
		return Answer{Refusal: ref}, nil
	}
	if ref := ReserveLabels(n.Spec.Labels, reserved.Labels); ref.Reason != "" {
		return Answer{Refusal: ref}, nil
	}
	if ref := RefuseAdministrators(n.Spec); ref.Reason != "" {
		return Answer{Refusal: ref}, nil
	}
	var a Answer
	var err error
	if a.Tier, a.Refusal, err = ReadTier(ctx, c, n.Spec.DeploymentTier); err != nil || a.Reason != "" {
		return a, err
	}
	if a.Hard, a.Refusal = Hard(a.Tier, n.Spec.Quota); a.Reason != "" {
		return a, nil
	}
	a.Adopts, a.Refusal, err = admitName(ctx, c, n, owned)
	return a, err
}

// admitName checks whether the AcmeNamespace may have its Namespace, and reports whether it has to adopt it.
func admitName(ctx context.Context, c client.Reader, n *v1alpha1.AcmeNamespace, owned func(client.Object) bool) (bool, Refusal, error) {
	live, err := readNamespace(ctx, c, n.Spec.NamespaceName)
	if err != nil {
		return false, Refusal{}, err
	}
	others, err := readOthers(ctx, c, n)
	if err != nil {
		return false, Refusal{}, err
	}
	mine := live != nil && owned(live)
	refusal := Claim(n, live, mine, others)
	if refusal.Reason == "" && live != nil && !live.DeletionTimestamp.IsZero() {
		refusal = Refusal{ReasonNamespaceTerminating, fmt.Sprintf(
			"the Namespace %q is being deleted; it is created again once it is gone%s", live.Name, Hindrances(live))}
	}
	return live != nil && !mine, refusal, nil
}

// ReadTier returns the tier of that name, overridden by its DeploymentTier object if there is one.
func ReadTier(ctx context.Context, c client.Reader, name common.TierName) (Tier, Refusal, error) {
	tier, err := BuiltIn(name)
	if err != nil {
		return Tier{}, Refusal{ReasonTierInvalid, err.Error()}, nil //nolint:nilerr // The user's mistake is an answer.
	}
	override := &v1alpha1.DeploymentTier{}
	err = c.Get(ctx, client.ObjectKey{Name: string(tier.Name)}, override)
	switch {
	case apierrors.IsNotFound(err):
		return tier, Refusal{}, nil
	case err != nil:
		return Tier{}, Refusal{}, fmt.Errorf("reading the DeploymentTier %s: %w", tier.Name, err)
	}
	overridden, malformed := tier.With(override.Spec)
	if malformed != nil {
		return Tier{}, Refusal{ReasonTierInvalid, fmt.Sprintf("the DeploymentTier %s is invalid: %v", tier.Name, malformed)}, nil
	}
	return overridden, Refusal{}, nil
}

// readNamespace returns the Namespace of that name, nil if there is none.
func readNamespace(ctx context.Context, c client.Reader, name string) (*corev1.Namespace, error) {
	live := &corev1.Namespace{}
	err := c.Get(ctx, client.ObjectKey{Name: name}, live)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the Namespace %s: %w", name, err)
	default:
		return live, nil
	}
}

// readOthers lists the other AcmeNamespaces with the same namespaceName.
func readOthers(ctx context.Context, c client.Reader, n *v1alpha1.AcmeNamespace) ([]v1alpha1.AcmeNamespace, error) {
	list := &v1alpha1.AcmeNamespaceList{}
	// Users write these objects: there is no write of the operator to wait for.
	if err := c.List(ctx, list, client.MatchingFields{IndexNamespaceName: n.Spec.NamespaceName},
		client.DisableReadYourWritesConsistency); err != nil {
		return nil, fmt.Errorf("listing the AcmeNamespaces of %s: %w", n.Spec.NamespaceName, err)
	}
	return slices.DeleteFunc(list.Items, func(o v1alpha1.AcmeNamespace) bool { return o.Name == n.Name }), nil
}

var (
	serviceAccount  = regexp.MustCompile(`^system:serviceaccount:[^:]+:[^:]+$`)
	serviceAccounts = regexp.MustCompile(`^system:serviceaccounts:[^:]+$`)
)

// RefuseAdministrators rejects users and groups of Kubernetes, such as system:anonymous and system:masters. So
// does the schema, but not for objects that were stored before it had the rule, or while it was loosened.
func RefuseAdministrators(spec v1alpha1.AcmeNamespaceSpec) Refusal {
	const system = "system:"
	if u := spec.AdminUsername; strings.HasPrefix(u, system) && !IsServiceAccount(u) {
		return Refusal{ReasonAdminReserved, fmt.Sprintf(
			"adminUsername %q belongs to Kubernetes; set a user of your identity provider, or system:serviceaccount:NAMESPACE:NAME", u)}
	}
	for _, g := range spec.AdminGroups {
		if strings.HasPrefix(g, system) && !serviceAccounts.MatchString(g) {
			return Refusal{ReasonAdminReserved, fmt.Sprintf(
				"adminGroups has %q, which belongs to Kubernetes; set groups of your identity provider, or system:serviceaccounts:NAMESPACE", g)}
		}
	}
	return Refusal{}
}

// IsServiceAccount reports whether a user name is that of a service account, which identity providers do not
// know.
func IsServiceAccount(user string) bool { return serviceAccount.MatchString(user) }

// UnknownUser is the message for a user that the identity provider does not know.
func UnknownUser(user string) string {
	return fmt.Sprintf("adminUsername %q is not known to the identity provider; set the name exactly as the provider spells it", user)
}
