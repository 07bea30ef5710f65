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
	// Finalizer keeps an AcmeNamespace until billing was told and its Namespace is gone or released.
	Finalizer = "namespace.finalizer.tenancy.acme.com"
	// AnnotationSkipBilling with the value "true" on an AcmeNamespace lets it be deleted without billing
	// having been told.
	AnnotationSkipBilling = "tenancy.acme.com/skip-billing"
	// AnnotationReleasedBy names, on a retained Namespace, the AcmeNamespace that left it; one of that
	// name may take it again without asking for adoption.
	AnnotationReleasedBy = "tenancy.acme.com/released-by"
	// AnnotationUnreported lists, on a Namespace, the releases that billing does not know of: those of former
	// AcmeNamespaces that went without their finalizer.
	AnnotationUnreported = "tenancy.acme.com/unreported-releases"
	// IndexNamespaceName is the cache index of AcmeNamespaces by the namespace that they ask for.
	IndexNamespaceName = "spec.namespaceName"
)

// The reasons for which an AcmeNamespace cannot have what it asks for.
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

// Refusal says why something cannot be had, and what would help. The zero value is no refusal.
type Refusal struct{ Reason, Message string }

// protectedNames are the names that are never handed to a tenant.
var protectedNames = []string{"default", "kube-*", "openshift-*", "olm", "operators"}

// Protect refuses a name that matches one of the patterns, which may end in '*', or that is built in as
// protected. The operator's own namespace belongs among the patterns.
func Protect(name string, patterns []string) Refusal {
	for _, p := range append(slices.Clone(protectedNames), patterns...) {
		prefix, isPrefix := strings.CutSuffix(p, "*")
		if p != "" && (name == p || isPrefix && strings.HasPrefix(name, prefix)) {
			return Refusal{ReasonNameProtected, fmt.Sprintf(
				"namespaceName %q is protected (by %q) and cannot be handed to a tenant; choose another name", name, p)}
		}
	}
	return Refusal{}
}

// Reserved is what the configuration keeps from tenants, beside what is built in.
type Reserved struct {
	// Names are patterns of names of namespaces.
	Names []string
	// Labels are keys of labels, and domains of such keys.
	Labels []string
}

// ReserveLabels rejects labels whose keys are reserved: an entry is a key, or a domain that stands for all keys of it and
// of the domains below it.
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

// Claim judges whether an AcmeNamespace may have the Namespace that it asks for. The live Namespace is
// nil when there is none; owned tells that it carries the marks of this very AcmeNamespace; others are
// all other AcmeNamespaces that ask for the same name.
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

// goesTo tells whether the name goes to the other AcmeNamespace rather than to me: because it has it,
// or because it may have it and came first. One that is being deleted asks for nothing any more.
func goesTo(other, me *v1alpha1.AcmeNamespace, live *corev1.Namespace) bool {
	if live != nil && OwnerName(live) == other.Name {
		return true
	}
	asks := other.DeletionTimestamp.IsZero() && (live == nil || mayAdopt(other, live))
	return asks && before(other, me)
}

// mayAdopt tells whether an AcmeNamespace may take a Namespace that no other one owns.
func mayAdopt(n *v1alpha1.AcmeNamespace, live *corev1.Namespace) bool {
	return n.Spec.Adopt || live.Annotations[AnnotationReleasedBy] == n.Name
}

// OwnerName is the name of the AcmeNamespace whose mark a Namespace carries, or empty.
func OwnerName(ns *corev1.Namespace) string {
	kind, _, name := names.ParseOwnerMark(ns.Annotations[names.AnnotationOwner])
	if kind != KindName {
		return ""
	}
	return name
}

// before tells whether a came before b: the older one has the name, and of two that were created in the
// same second the one whose UID sorts first. One that is not created yet comes last.
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

// Hard are the hard limits of a namespace: the tier's, with what the AcmeNamespace asks for laid over.
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

// CheckQuota refuses what a ResourceQuota cannot hold: negative amounts, fractions of what is counted, and
// names that are neither one of Kubernetes' own resources nor qualified by a domain.
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

// isCounted tells whether there are only whole numbers of a resource, by the API server's own rule.
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
		return fmt.Errorf("no such resource; it is one of %s, count/RESOURCE.GROUP, or qualified by a domain", strings.Join(plainResources, ", "))
	}
	if errs := validation.IsQualifiedName(name); len(errs) > 0 {
		return fmt.Errorf("%s", strings.Join(errs, "; "))
	}
	return nil
}
