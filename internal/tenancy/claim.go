// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
)

const (
	// KindName is the AcmeNamespace in lower case: its controller, field manager and owner mark.
	KindName = "acmenamespace"
	// Finalizer keeps an AcmeNamespace until its release is reported to billing and its Namespace is gone or
	// released.
	Finalizer = "namespace.finalizer.tenancy.acme.com"
	// AnnotationHostnames lists, on a Namespace, the host names that its tier allows, for the guardrail policy. Without it, any
	// is allowed.
	AnnotationHostnames = "tenancy.acme.com/hostnames"
	// AnnotationIngressAnnotations lists, on a Namespace, the annotations that its tier allows to Ingresses, for the guardrail
	// policy. Without it, any that takes no host names is allowed.
	AnnotationIngressAnnotations = "tenancy.acme.com/ingress-annotations"
	// AnnotationSkipBilling with the value "true" on an AcmeNamespace allows its deletion without a report to
	// billing.
	AnnotationSkipBilling = "tenancy.acme.com/skip-billing"
	// AnnotationReleasedBy names, on a retained Namespace, its last owner. An AcmeNamespace of that name may
	// reclaim it without spec.adopt.
	AnnotationReleasedBy = "tenancy.acme.com/released-by"
	// AnnotationUnreported lists, on a Namespace, the releases that are not reported to billing yet: those of
	// former AcmeNamespaces that were removed without their finalizer.
	AnnotationUnreported = "tenancy.acme.com/unreported-releases"
	// IndexNamespaceName is the cache index of AcmeNamespaces by spec.namespaceName.
	IndexNamespaceName = "spec.namespaceName"
)

// The reasons for which an AcmeNamespace is rejected.
const (
	ReasonNameProtected        = "NameProtected"
	ReasonLabelReserved        = "LabelReserved"
	ReasonNameTaken            = "NameTaken"
	ReasonNamespaceTerminating = "NamespaceTerminating"
	ReasonAdopting             = "Adopting"
	ReasonTierInvalid          = "TierInvalid"
	ReasonQuotaInvalid         = "QuotaInvalid"
	ReasonAdminReserved        = "AdminReserved"
	ReasonUnknownUser          = "UnknownUser"
	ReasonIdentityUnreachable  = "IdentityUnreachable"
	ReasonIdentityPending      = "IdentityPending"
	ReasonBillingFailed        = "BillingFailed"
	ReasonBillingPending       = "BillingPending"
	ReasonBillingSkipped       = "BillingSkipped"
	ReasonReleaseUnreported    = "ReleaseUnreported"
	ReasonTierViolated         = "TierViolated"
	ReasonPolicyMissing        = "PolicyMissing"
	ReasonPolicyDiffers        = "PolicyDiffers"
	ReasonPolicyUnknown        = "PolicyUnknown"
)

// Refusal is why a request is rejected, and what would help. The zero value is no refusal.
type Refusal struct{ Reason, Message string }

// protectedNames are the names that no tenant gets.
var protectedNames = []string{"default", "kube-*", "openshift-*", "olm", "operators"}

// Protect rejects a name that matches one of the patterns, which may end in '*', or a built-in one. The
// patterns must include the operator's own namespace.
func Protect(name string, patterns []string) Refusal {
	for _, p := range append(slices.Clone(protectedNames), patterns...) {
		prefix, isPrefix := strings.CutSuffix(p, "*")
		if p != "" && (name == p || isPrefix && strings.HasPrefix(name, prefix)) {
			return Refusal{ReasonNameProtected, fmt.Sprintf(
				"namespaceName %q is protected (by %q) and cannot be given to a tenant; choose another name", name, p)}
		}
	}
	return Refusal{}
}

// Reserved is what the configuration reserves, in addition to what is built in.
type Reserved struct {
	// Names are patterns of names of namespaces.
	Names []string
	// Labels are keys of labels, and domains of such keys.
	Labels []string
}

// ReserveLabels rejects labels whose keys are reserved: an entry is a key, or a domain that stands for all keys
// of it and of its subdomains.
func ReserveLabels(asked map[string]v1alpha1.LabelValue, reserved []string) Refusal {
	for _, key := range slices.Sorted(maps.Keys(asked)) {
		domain, _, qualified := strings.Cut(key, "/")
		for _, r := range reserved {
			if key == r || qualified && (domain == r || strings.HasSuffix(domain, "."+r)) {
				return Refusal{ReasonLabelReserved, fmt.Sprintf(
					"labels[%s] is reserved (by %q): other software of the cluster relies on it; remove the label, or ask an administrator to set it", key, r)}
			}
		}
	}
	return Refusal{}
}

// Claim checks whether an AcmeNamespace may have the Namespace that it requests. live is nil if there is none;
// owned is true if it carries the marks of this very AcmeNamespace; others are all other AcmeNamespaces that
// request the same name.
func Claim(me *v1alpha1.AcmeNamespace, live *corev1.Namespace, owned bool, others []v1alpha1.AcmeNamespace) Refusal {
	if live != nil && owned {
		return Refusal{}
	}
	for _, o := range others {
		if goesTo(&o, me, live) {
			return Refusal{ReasonNameTaken, fmt.Sprintf(
				"namespaceName %q belongs to the AcmeNamespace %s; choose another name", me.Spec.NamespaceName, o.Name)}
		}
	}
	if live == nil || mayAdopt(me, live) {
		return Refusal{}
	}
	return Refusal{ReasonNameTaken, fmt.Sprintf(
		"the Namespace %q exists and no AcmeNamespace owns it; choose another name, or set spec.adopt to true to adopt it",
		me.Spec.NamespaceName)}
}

// goesTo reports whether the name belongs to the other AcmeNamespace rather than to me: because it owns it, or
// because it may have it and was created first. One that is being deleted requests nothing.
func goesTo(other, me *v1alpha1.AcmeNamespace, live *corev1.Namespace) bool {
	if live != nil && OwnerName(live) == other.Name {
		return true
	}
	asks := other.DeletionTimestamp.IsZero() && (live == nil || mayAdopt(other, live))
	return asks && before(other, me)
}

// mayAdopt reports whether an AcmeNamespace may adopt a Namespace that no other one owns.
func mayAdopt(n *v1alpha1.AcmeNamespace, live *corev1.Namespace) bool {
	return n.Spec.Adopt || live.Annotations[AnnotationReleasedBy] == n.Name
}

// OwnerName returns the name of the AcmeNamespace in the owner mark of a Namespace, or an empty string.
func OwnerName(ns *corev1.Namespace) string {
	kind, _, name := names.ParseOwnerMark(ns.Annotations[names.AnnotationOwner])
	if kind != KindName {
		return ""
	}
	return name
}

// before reports whether a precedes b: the older one has the name, and of two that were created in the same
// second the one whose UID sorts first. One that is not created yet comes last.
func before(a, b *v1alpha1.AcmeNamespace) bool {
	switch {
	case b.CreationTimestamp.IsZero():
		return true
	case !a.CreationTimestamp.Equal(&b.CreationTimestamp):
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	default:
		return a.UID < b.UID
	}
}

// Hard returns the hard limits of a namespace: the tier's, overridden by spec.quota.
func Hard(tier Tier, asked corev1.ResourceList) (corev1.ResourceList, Refusal) {
	if err := CheckQuota("spec.quota", asked); err != nil {
		return nil, Refusal{ReasonQuotaInvalid, err.Error()}
	}
	hard := tier.Quota.DeepCopy()
	if hard == nil {
		hard = corev1.ResourceList{}
	}
	for name, q := range asked {
		hard[name] = q
	}
	return hard, Refusal{}
}

// CheckQuota rejects what a ResourceQuota cannot contain: negative amounts, fractions of what is counted, and
// names that are neither resources of Kubernetes nor qualified by a domain.
func CheckQuota(path string, list corev1.ResourceList) error {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		q := list[name]
		if err := checkResourceName(string(name)); err != nil {
			return fmt.Errorf("%s[%s]: %w", path, name, err)
		}
		switch {
		case q.Sign() < 0:
			return fmt.Errorf("%s[%s] is %s; it must not be negative", path, name, &q)
		case isCounted(string(name)) && q.MilliValue()%1000 != 0:
			return fmt.Errorf("%s[%s] is %s; it must be a whole number", path, name, &q)
		}
	}
	return nil
}

// isCounted reports whether a resource has whole numbers only, by the API server's rule.
func isCounted(name string) bool {
	if strings.Contains(name, "/") {
		return !strings.Contains(name, "kubernetes.io/") && !strings.HasPrefix(name, "requests.")
	}
	return slices.Contains(countedResources, name)
}

var countedResources = []string{
	"pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps", "persistentvolumeclaims",
	"services.nodeports", "services.loadbalancers",
}

// plainResources are the resources without a domain that a ResourceQuota or a LimitRange may name.
var plainResources = slices.Concat(
	[]string{"cpu", "memory", "ephemeral-storage"},
	countedResources,
	[]string{
		"requests.cpu", "requests.memory", "requests.storage", "requests.ephemeral-storage",
		"limits.cpu", "limits.memory", "limits.ephemeral-storage",
	},
)

// hugePages are the names of huge pages. The API server reads the size in them as a quantity.
var hugePages = regexp.MustCompile(`^(requests\.)?hugepages-[1-9][0-9]{0,5}(Ki|Mi|Gi)$`)

// checkOfContainers refuses resources that a quota may have and containers do not.
func checkOfContainers(path string, list corev1.ResourceList) error {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		n := string(name)
		own := slices.Contains([]string{"cpu", "memory", "ephemeral-storage"}, n)
		if !own && (slices.Contains(plainResources, n) || strings.HasPrefix(n, "requests.") || strings.HasPrefix(n, "count/")) {
			return fmt.Errorf("%s[%s]: no container has that; name cpu, memory, ephemeral-storage, hugepages-SIZE or an extended resource", path, n)
		}
	}
	return nil
}

func checkResourceName(name string) error {
	if slices.Contains(plainResources, name) || hugePages.MatchString(name) {
		return nil
	}
	if !strings.Contains(name, "/") {
		return fmt.Errorf("unknown resource: it must be one of %s, count/RESOURCE.GROUP, or qualified by a domain", strings.Join(plainResources, ", "))
	}
	if errs := validation.IsQualifiedName(name); len(errs) > 0 {
		return fmt.Errorf("%s", strings.Join(errs, "; "))
	}
	return nil
}
