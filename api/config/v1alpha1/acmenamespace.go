// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// AcmeNamespaceConfig configures the kind AcmeNamespace.
type AcmeNamespaceConfig struct {
	// MaxConcurrentReconciles is how many AcmeNamespaces are reconciled at the same time. 1 to 100. Default 10.
	// +optional
	MaxConcurrentReconciles *int32 `json:"maxConcurrentReconciles,omitempty"`

	// ProtectedNames are names of namespaces that no AcmeNamespace may have, besides those that are always
	// protected (default, kube-*, openshift-*, olm, operators and the operator's own namespace). An entry is a
	// name, or the beginning of names followed by `*`. A list replaces the default, which is `kube`,
	// `openshift`, `argocd`, `cert-manager`, `flux-system`, `gatekeeper-system`, `ingress-nginx`,
	// `istio-system`, `kyverno` and `monitoring`.
	// +optional
	ProtectedNames []string `json:"protectedNames,omitempty"`

	// ReservedLabels are keys of labels that spec.labels of an AcmeNamespace must not have, because other
	// software in the cluster grants rights by them or exempts namespaces from checks. They are added to those
	// that are always reserved (those of kubernetes.io, k8s.io and acme.com, and admin). An entry with a `/` is
	// a key, such as `admission.gatekeeper.sh/ignore`; one without is a domain, which stands for all keys of
	// that domain and its subdomains, or a key without a domain. A list replaces the default, which is
	// `openshift.io`, `gatekeeper.sh`, `argoproj.io`, `fluxcd.io`, `kyverno.io`, `cattle.io`, `x-k8s.io`,
	// `clastix.io`, `operatorframework.io`, `cilium.io`, `projectcalico.org`, `cert-manager.io`, those of
	// meshes (`istio-injection`, `istio.io`, `linkerd.io`, `kuma.io`, `hashicorp.com`, `openservicemesh.io`,
	// `k8s.aws`), and those that switch the verification of signatures and policies on and off (`sigstore.dev`,
	// `openpolicyagent.org`, `securesystemsengineering.connaisseur`).
	// +optional
	ReservedLabels []string `json:"reservedLabels,omitempty"`

	// DNS is where the cluster's DNS is. With the isolation IngressAndEgress the pods of a namespace reach it,
	// and port 53 nowhere else.
	// +optional
	DNS DNSConfig `json:"dns,omitzero"`

	// PolicyInterval is how often the operator checks that the guardrail policy is in force; the condition
	// Protected and a metric show the result. More than 0. Default 30s.
	// +optional
	PolicyInterval *Duration `json:"policyInterval,omitempty"`

	// Identity configures the identity provider that verifies the administrator of an AcmeNamespace.
	// +optional
	Identity IdentityConfig `json:"identity,omitzero"`

	// Billing configures where the release of a namespace is reported.
	// +optional
	Billing BillingConfig `json:"billing,omitzero"`
}

// DNSConfig is where the cluster's DNS is.
type DNSConfig struct {
	// Pods are the pods that serve DNS. A list replaces the default: those with the label
	// `k8s-app: kube-dns` in kube-system at port 53, and those of OpenShift, in openshift-dns at port
	// 5353.
	// +optional
	Pods []DNSPods `json:"pods,omitempty"`

	// CIDRs are address ranges that serve DNS at port 53, such as the address of NodeLocal DNSCache or, if the
	// network plugin applies policies before a Service's address is translated, the address of the DNS Service.
	// A list replaces the default, `169.254.20.10/32`, the usual address of NodeLocal DNSCache.
	// +optional
	CIDRs []string `json:"cidrs,omitempty"`
}

// DNSPods are some pods that serve DNS.
type DNSPods struct {
	// Namespace is the name of their namespace. Required.
	Namespace string `json:"namespace"`
	// Labels select the pods. Default none: all pods of the namespace.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Port is the port that the pods listen on, which may differ from the port of their Service. 1 to 65535.
	// Default 53.
	// +optional
	Port *int32 `json:"port,omitempty"`
}

const (
	defaultReconciles = 10
	maxReconciles     = 100

	dnsPort          = 53
	openShiftDNSPort = 5353
	maxPort          = 65535
)

var (
	defaultProtectedNames = []string{
		"kube", "openshift", "argocd", "cert-manager", "flux-system", "gatekeeper-system", "ingress-nginx", "istio-system",
		"kyverno", "monitoring",
	}
	defaultReservedLabels = []string{
		"openshift.io", "gatekeeper.sh", "argoproj.io", "fluxcd.io", "kyverno.io", "cattle.io", "x-k8s.io", "clastix.io",
		"operatorframework.io", "cilium.io", "projectcalico.org", "cert-manager.io",
		"istio-injection", "istio.io", "linkerd.io", "kuma.io", "hashicorp.com", "openservicemesh.io", "k8s.aws", // meshes
		"sigstore.dev", "openpolicyagent.org", "securesystemsengineering.connaisseur", // signatures and policies
	}
)

func (a *AcmeNamespaceConfig) setDefaults() {
	defaultPointer(&a.MaxConcurrentReconciles, defaultReconciles)
	if a.ProtectedNames == nil {
		a.ProtectedNames = slices.Clone(defaultProtectedNames)
	}
	if a.ReservedLabels == nil {
		a.ReservedLabels = slices.Clone(defaultReservedLabels)
	}
	a.DNS.setDefaults()
	defaultDuration(&a.PolicyInterval, 30*time.Second)
	a.Identity.setDefaults()
	a.Billing.setDefaults()
}

func (a *AcmeNamespaceConfig) validate(path *field.Path) field.ErrorList {
	errs := oneTo(path.Child("maxConcurrentReconciles"), *a.MaxConcurrentReconciles, maxReconciles)
	errs = append(errs, validateNamePatterns(path.Child("protectedNames"), a.ProtectedNames)...)
	errs = append(errs, validateLabelPatterns(path.Child("reservedLabels"), a.ReservedLabels)...)
	errs = append(errs, a.DNS.validate(path.Child("dns"))...)
	errs = append(errs, positive(path.Child("policyInterval"), a.PolicyInterval)...)
	errs = append(errs, a.Identity.validate(path.Child("identity"))...)
	return append(errs, a.Billing.validate(path.Child("billing"))...)
}

// nameBeginning matches what may precede the `*` of a pattern: the beginning of a DNS-1123 label.
var nameBeginning = regexp.MustCompile(`^[a-z0-9][-a-z0-9]*$`)

func validateNamePatterns(path *field.Path, patterns []string) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, pattern := range patterns {
		if seen[pattern] {
			errs = append(errs, field.Duplicate(path.Index(i), pattern))
		}
		seen[pattern] = true
		if !validNamePattern(pattern) {
			errs = append(errs, field.Invalid(path.Index(i), pattern,
				"must be a namespace name such as team-a, or the beginning of one with a * at the end such as team-*"))
		}
	}
	return errs
}

func validNamePattern(pattern string) bool {
	beginning, isPattern := strings.CutSuffix(pattern, "*")
	if isPattern {
		return nameBeginning.MatchString(beginning) && len(beginning) <= validation.DNS1123LabelMaxLength
	}
	return len(validation.IsDNS1123Label(pattern)) == 0
}

func validateLabelPatterns(path *field.Path, patterns []string) field.ErrorList {
	var errs field.ErrorList
	for i, pattern := range patterns {
		if slices.Contains(patterns[:i], pattern) {
			errs = append(errs, field.Duplicate(path.Index(i), pattern))
		}
		if len(validation.IsQualifiedName(pattern)) > 0 {
			errs = append(errs, field.Invalid(path.Index(i), pattern,
				"must be the key of a label such as admission.gatekeeper.sh/ignore, or a domain such as openshift.io"))
		}
	}
	return errs
}

func (d *DNSConfig) setDefaults() {
	if d.Pods == nil {
		port := int32(openShiftDNSPort)
		d.Pods = []DNSPods{
			{Namespace: "kube-system", Labels: map[string]string{"k8s-app": "kube-dns"}},
			{Namespace: "openshift-dns", Labels: map[string]string{"dns.operator.openshift.io/daemonset-dns": "default"}, Port: &port},
		}
	}
	for i := range d.Pods {
		defaultPointer(&d.Pods[i].Port, dnsPort)
	}
	if d.CIDRs == nil {
		d.CIDRs = []string{"169.254.20.10/32"}
	}
}

func (d *DNSConfig) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, p := range d.Pods {
		at := path.Child("pods").Index(i)
		if len(validation.IsDNS1123Label(p.Namespace)) > 0 {
			errs = append(errs, field.Invalid(at.Child("namespace"), p.Namespace, "must be the name of a namespace such as kube-system"))
		}
		if _, err := labels.ValidatedSelectorFromSet(p.Labels); err != nil {
			errs = append(errs, field.Invalid(at.Child("labels"), p.Labels, "must be labels of pods such as k8s-app: kube-dns"))
		}
		errs = append(errs, oneTo(at.Child("port"), *p.Port, maxPort)...)
	}
	for i, c := range d.CIDRs {
		if p, err := netip.ParsePrefix(c); err != nil || p != p.Masked() {
			errs = append(errs, field.Invalid(path.Child("cidrs").Index(i), c, "must be an address range such as 169.254.20.10/32"))
		}
	}
	return errs
}
