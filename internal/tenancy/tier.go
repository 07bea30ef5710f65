// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tenancy holds the rules of namespaces with guardrails that the controller and the webhook share: the
// contents of tiers, the protected names, and which AcmeNamespace may have a Namespace. It is pure.
package tenancy

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
)

// LabelReachesTenants with the value "true" on a Namespace allows its pods to reach the pods of every tenant:
// it is meant for ingress controllers and monitoring.
const LabelReachesTenants = "tenancy.acme.com/reaches-tenants"

// Tier is a deployment tier, built in or overridden.
type Tier struct {
	// Name is dev, stg or prod.
	Name common.TierName
	// Quota are the hard limits of the namespace.
	Quota corev1.ResourceList
	// Limits are the defaults and bounds of containers.
	Limits v1alpha1.ContainerLimits
	// PodSecurity is the enforced level of the Pod Security Standards.
	PodSecurity v1alpha1.PodSecurityLevel
	// Network defines which traffic of the pods is allowed.
	Network v1alpha1.NetworkRules
	// AdminRules are what the namespace's administrator may do.
	AdminRules []rbacv1.PolicyRule
	// PriorityClasses are the priority classes that pods may have; nil means all but Kubernetes' own.
	PriorityClasses []string
	// Hostnames are patterns of the host names that WebApps may have; nil means any.
	Hostnames []string
	// IngressAnnotations are patterns of the annotations that Ingresses may have; nil means any that take no host names.
	IngressAnnotations []string
}

// AllowsHostname reports whether WebApps of the tier may have a host name.
func (t Tier) AllowsHostname(name string) bool {
	return t.Hostnames == nil || slices.ContainsFunc(t.Hostnames, func(pattern string) bool {
		domain, isDomain := strings.CutPrefix(pattern, "*")
		return name == pattern || isDomain && strings.HasSuffix(name, domain)
	})
}

// ForbiddenPriorities returns the selector of pods whose priority class is not allowed.
func (t Tier) ForbiddenPriorities() []corev1.ScopedResourceSelectorRequirement {
	const scope = corev1.ResourceQuotaScopePriorityClass
	if t.PriorityClasses == nil {
		return []corev1.ScopedResourceSelectorRequirement{{ScopeName: scope, Operator: corev1.ScopeSelectorOpIn, Values: systemPriorityClasses}}
	}
	requirements := []corev1.ScopedResourceSelectorRequirement{{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists}}
	if len(t.PriorityClasses) > 0 {
		requirements = append(requirements, corev1.ScopedResourceSelectorRequirement{
			ScopeName: scope, Operator: corev1.ScopeSelectorOpNotIn, Values: t.PriorityClasses,
		})
	}
	return requirements
}

// BuiltIn returns the tier of that name before any override. An empty name is dev.
func BuiltIn(name common.TierName) (Tier, error) {
	t := Tier{
		Name:        name,
		Limits:      containers("100m", "128Mi", "500m", "512Mi"),
		PodSecurity: v1alpha1.PodSecurityRestricted,
		Network:     v1alpha1.NetworkRules{Isolation: v1alpha1.IsolationIngressAndEgress, FromNamespaces: reaching()},
		AdminRules:  AdminRules(),
	}
	switch name {
	case common.TierDev, "":
		t.Name = common.TierDev
		t.Quota = limits("5", "10Gi", "10")
		t.PodSecurity = v1alpha1.PodSecurityBaseline
		t.Network.Isolation = v1alpha1.IsolationIngress
	case common.TierStg:
		t.Quota = limits("50", "50Gi", "50")
	case common.TierProd:
		t.Quota = limits("500", "200Gi", "100")
		t.Limits = containers("250m", "256Mi", "1", "1Gi")
	default:
		return Tier{}, fmt.Errorf("deploymentTier %q is invalid: it must be dev, stg or prod", name)
	}
	bound(t.Quota, t.Name)
	return t.withEphemeralStorage(), nil
}

func limits(cpu, memory, pods string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse(memory),
		corev1.ResourcePods:   resource.MustParse(pods),
	}
}

func containers(requestCPU, requestMemory, limitCPU, limitMemory string) v1alpha1.ContainerLimits {
	list := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
	return v1alpha1.ContainerLimits{
		DefaultRequest: list(requestCPU, requestMemory),
		Default:        list(limitCPU, limitMemory),
	}
}

func reaching() []metav1.LabelSelector {
	return []metav1.LabelSelector{{MatchLabels: map[string]string{LabelReachesTenants: "true"}}}
}

// With returns a tier with an override. An override that the schema would reject, for instance one that was
// stored before the schema had the rule, is an error.
func (t Tier) With(o v1alpha1.DeploymentTierSpec) (Tier, error) {
	if o.Quota != nil {
		t.Quota = maps.Clone(t.Quota)
		maps.Copy(t.Quota, o.Quota)
	}
	if o.LimitRange != nil {
		t.Limits = *o.LimitRange
		t = t.withEphemeralStorage()
	}
	if o.PriorityClasses != nil {
		t.PriorityClasses = *o.PriorityClasses
	}
	t.Hostnames = cloned(o.Hostnames, t.Hostnames)
	t.IngressAnnotations = cloned(o.IngressAnnotations, t.IngressAnnotations)
	if o.PodSecurity != "" {
		t.PodSecurity = o.PodSecurity
	}
	if o.Network != nil {
		t.Network = *o.Network
	}
	if o.AdminRules != nil {
		t.AdminRules = nil
		for _, r := range o.AdminRules {
			t.AdminRules = append(t.AdminRules, r.PolicyRule())
		}
	}
	return t, t.check()
}

// cloned is a list that is given, which may be empty, else the one that there is.
func cloned(given *[]string, otherwise []string) []string {
	if given == nil {
		return otherwise
	}
	return append([]string{}, *given...)
}

// check finds rules of a tier whose children the API server would reject, or that would let an administrator
// undo the guardrails.
func (t Tier) check() error {
	if err := CheckQuota("quota", t.Quota); err != nil {
		return err
	}
	if err := t.checkLimits(); err != nil {
		return err
	}
	for _, r := range t.AdminRules {
		if err := checkRule(r); err != nil {
			return err
		}
	}
	for _, c := range t.Network.ToCIDRs {
		switch p, err := netip.ParsePrefix(c); {
		case err != nil:
			return fmt.Errorf("network.toCIDRs: %q is not an address range such as 10.20.0.0/16", c)
		case p != p.Masked():
			return fmt.Errorf("network.toCIDRs: %q names an address within a range, which NetworkPolicies refuse; write %s", c, p.Masked())
		}
	}
	for _, s := range append(slices.Clone(t.Network.FromNamespaces), t.Network.ToNamespaces...) {
		if _, err := metav1.LabelSelectorAsSelector(&s); err != nil {
			return fmt.Errorf("network: a namespace selector is malformed: %w", err)
		}
	}
	return nil
}

// checkLimits finds defaults that contradict each other; the API server rejects a LimitRange with them.
func (t Tier) checkLimits() error {
	for _, l := range []struct {
		path string
		list corev1.ResourceList
	}{{"limitRange.default", t.Limits.Default}, {"limitRange.defaultRequest", t.Limits.DefaultRequest}, {"limitRange.max", t.Limits.Max}} {
		if err := CheckQuota(l.path, l.list); err != nil {
			return err
		}
		if err := checkOfContainers(l.path, l.list); err != nil {
			return err
		}
	}
	return checkOrder(t.Limits)
}

// checkOrder finds requests that are above limits, and limits above what is allowed.
func checkOrder(l v1alpha1.ContainerLimits) error {
	for _, name := range slices.Sorted(maps.Keys(l.DefaultRequest)) {
		request := l.DefaultRequest[name]
		if limit, ok := l.Default[name]; ok && request.Cmp(limit) > 0 {
			return fmt.Errorf("limitRange.defaultRequest[%s] is %s, more than limitRange.default[%s], %s", name, &request, name, &limit)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Max)) {
		most := l.Max[name]
		for _, list := range []corev1.ResourceList{l.Default, l.DefaultRequest} {
			if q, ok := list[name]; ok && q.Cmp(most) > 0 {
				return fmt.Errorf("limitRange.max[%s] is %s, less than a default of %s", name, &most, &q)
			}
		}
	}
	return nil
}

// guardrailResources are the resources that an administrator may only read.
var guardrailResources = []string{"namespaces", "resourcequotas", "limitranges", "networkpolicies"}

// checkRule rejects a rule that would let an administrator undo the guardrails.
func checkRule(r rbacv1.PolicyRule) error {
	for _, list := range [][]string{r.Verbs, r.APIGroups, r.Resources} {
		if slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, "*") }) {
			return fmt.Errorf("adminRules: wildcards are rejected, in the rule on %v", r.Resources)
		}
	}
	for _, v := range r.Verbs {
		switch v {
		case "bind", "escalate", "impersonate":
			return fmt.Errorf("adminRules: the verb %s is rejected, in the rule on %v", v, r.Resources)
		case "get", "list", "watch":
			continue
		}
		for _, res := range r.Resources {
			if base, _, _ := strings.Cut(res, "/"); slices.Contains(guardrailResources, base) {
				return fmt.Errorf("adminRules: the verb %s on %s is rejected: it is a guardrail", v, res)
			}
		}
	}
	return nil
}
