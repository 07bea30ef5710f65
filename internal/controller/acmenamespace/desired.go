// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"
	"k8s.io/utils/ptr"

	configv1alpha1 "github.com/acme/platform-operator/api/config/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/tenancy"
)

const (
	adminKey          = "admin"
	podSecurityPrefix = "pod-security.kubernetes.io/"
	podSecurityLabel  = podSecurityPrefix + "enforce"
	limitRangeName    = "defaults"
	networkPolicyName = "tenant-isolation"
	nameLabel         = "kubernetes.io/metadata.name"
	dnsPort           = 53
)

// desired returns the complete list of children.
func (r *run) desired() ([]engine.Child, error) {
	n, tier := r.Obj, r.grant.Tier
	name := n.Spec.NamespaceName
	ns := namespace(n, tier)
	if text := record(r.unreported); text != "" {
		ns.WithAnnotations(map[string]string{tenancy.AnnotationUnreported: text})
	}
	for key, list := range map[string][]string{
		tenancy.AnnotationHostnames: tier.Hostnames, tenancy.AnnotationIngressAnnotations: tier.IngressAnnotations,
	} {
		if list != nil {
			ns.WithAnnotations(map[string]string{key: strings.Join(list, " ")})
		}
	}
	children := []engine.Child{engine.NewChild(ns, corev1ac.ExtractNamespace).OrAdopt(r.grant.Adopts)}
	// What removes rights comes before what grants them.
	if tier.Network.Isolation != v1alpha1.IsolationNone {
		children = append(children, engine.NewChild(networkPolicy(name, tier.Network, r.DNS), networkingv1ac.ExtractNetworkPolicy))
	}
	return append(children,
		engine.NewChild(roleBinding(name, n.Spec), rbacv1ac.ExtractRoleBinding).OrReplace(),
		engine.NewChild(limitRange(name, tier), corev1ac.ExtractLimitRange),
		engine.NewChild(resourceQuota(name, tier, r.grant.Hard), corev1ac.ExtractResourceQuota),
		engine.NewChild(priorityQuota(name, tier), corev1ac.ExtractResourceQuota),
		engine.NewChild(role(name, tier), rbacv1ac.ExtractRole),
	), nil
}

// namespace returns the Namespace. The administrator is a label if the name is a valid label value, else an
// annotation of the same key.
func namespace(n *v1alpha1.AcmeNamespace, tier tenancy.Tier) *corev1ac.NamespaceApplyConfiguration {
	ns := corev1ac.Namespace(n.Spec.NamespaceName)
	for _, k := range slices.Sorted(maps.Keys(n.Spec.Labels)) {
		ns.WithLabels(map[string]string{k: string(n.Spec.Labels[k])})
	}
	admin := map[string]string{adminKey: n.Spec.AdminUsername}
	if len(validation.IsValidLabelValue(n.Spec.AdminUsername)) == 0 {
		ns.WithLabels(admin)
	} else {
		ns.WithAnnotations(admin)
	}
	return ns.WithLabels(map[string]string{podSecurityLabel: string(tier.PodSecurity)})
}

// resourceQuota is named after the tier, so that a change of tier creates a new one before the old one is
// deleted.
func resourceQuota(namespace string, tier tenancy.Tier, hard corev1.ResourceList) *corev1ac.ResourceQuotaApplyConfiguration {
	return corev1ac.ResourceQuota(string(tier.Name), namespace).
		WithSpec(corev1ac.ResourceQuotaSpec().WithHard(hard))
}

// priorityQuota rejects pods whose priority class the tier does not allow.
func priorityQuota(namespace string, tier tenancy.Tier) *corev1ac.ResourceQuotaApplyConfiguration {
	selector := corev1ac.ScopeSelector()
	for _, r := range tier.ForbiddenPriorities() {
		selector.WithMatchExpressions(corev1ac.ScopedResourceSelectorRequirement().
			WithScopeName(r.ScopeName).WithOperator(r.Operator).WithValues(r.Values...))
	}
	return corev1ac.ResourceQuota(tenancy.PriorityQuotaName, namespace).WithSpec(corev1ac.ResourceQuotaSpec().
		WithHard(corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(0, resource.DecimalSI)}).
		WithScopeSelector(selector))
}

// limitRange sets the defaults that the quota requires for containers that state none.
func limitRange(namespace string, tier tenancy.Tier) *corev1ac.LimitRangeApplyConfiguration {
	item := corev1ac.LimitRangeItem().WithType(corev1.LimitTypeContainer)
	// What is left out the API server fills in when it stores the list, which then is ours as a whole: it would look as if
	// somebody had overruled it.
	most := tier.Limits.Max
	limit := merged(most, tier.Limits.Default)
	request := merged(limit, tier.Limits.DefaultRequest)
	if len(limit) > 0 {
		item.WithDefault(limit)
	}
	if len(request) > 0 {
		item.WithDefaultRequest(request)
	}
	if len(most) > 0 {
		item.WithMax(most)
	}
	return corev1ac.LimitRange(limitRangeName, namespace).WithSpec(corev1ac.LimitRangeSpec().WithLimits(item))
}

// merged has the amounts of both lists, and those of the second one where they differ.
func merged(below, above corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	maps.Copy(out, below)
	maps.Copy(out, above)
	return out
}

func role(namespace string, tier tenancy.Tier) *rbacv1ac.RoleApplyConfiguration {
	role := rbacv1ac.Role(tenancy.RoleName, namespace)
	for _, rule := range tier.AdminRules {
		role.WithRules(rbacv1ac.PolicyRule().WithAPIGroups(rule.APIGroups...).WithResources(rule.Resources...).WithVerbs(rule.Verbs...))
	}
	return role
}

func roleBinding(namespace string, spec v1alpha1.AcmeNamespaceSpec) *rbacv1ac.RoleBindingApplyConfiguration {
	b := rbacv1ac.RoleBinding(tenancy.RoleName, namespace).
		WithRoleRef(rbacv1ac.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("Role").WithName(tenancy.RoleName)).
		WithSubjects(subject(rbacv1.UserKind, spec.AdminUsername))
	for _, g := range spec.AdminGroups {
		b.WithSubjects(subject(rbacv1.GroupKind, g))
	}
	return b
}

func subject(kind, name string) *rbacv1ac.SubjectApplyConfiguration {
	return rbacv1ac.Subject().WithAPIGroup(rbacv1.GroupName).WithKind(kind).WithName(name)
}

// networkPolicy allows the namespace's own traffic, DNS, and what the tier allows.
func networkPolicy(namespace string, rules v1alpha1.NetworkRules, dns configv1alpha1.DNSConfig) *networkingv1ac.NetworkPolicyApplyConfiguration {
	from := []*networkingv1ac.NetworkPolicyPeerApplyConfiguration{sameNamespace()}
	for _, s := range rules.FromNamespaces {
		from = append(from, peerNamespaces(s))
	}
	spec := networkingv1ac.NetworkPolicySpec().
		WithPodSelector(metav1ac.LabelSelector()).
		WithPolicyTypes(networkingv1.PolicyTypeIngress).
		WithIngress(networkingv1ac.NetworkPolicyIngressRule().WithFrom(from...))
	if rules.Isolation == v1alpha1.IsolationIngressAndEgress {
		spec.WithPolicyTypes(networkingv1.PolicyTypeEgress).WithEgress(egress(rules)).WithEgress(toDNS(dns)...)
	}
	return networkingv1ac.NetworkPolicy(networkPolicyName, namespace).WithSpec(spec)
}

func egress(rules v1alpha1.NetworkRules) *networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration {
	rule := networkingv1ac.NetworkPolicyEgressRule().WithTo(sameNamespace())
	for _, s := range rules.ToNamespaces {
		rule.WithTo(peerNamespaces(s))
	}
	for _, cidr := range rules.ToCIDRs {
		rule.WithTo(networkingv1ac.NetworkPolicyPeer().WithIPBlock(networkingv1ac.IPBlock().WithCIDR(cidr)))
	}
	return rule
}

// toDNS allows traffic to the cluster's DNS, and to port 53 nowhere else.
func toDNS(dns configv1alpha1.DNSConfig) []*networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration {
	var all []*networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration
	for _, p := range dns.Pods {
		pods := metav1ac.LabelSelector()
		if len(p.Labels) > 0 {
			pods.WithMatchLabels(p.Labels)
		}
		all = append(all, dnsRule(ptr.Deref(p.Port, dnsPort)).WithTo(networkingv1ac.NetworkPolicyPeer().
			WithNamespaceSelector(metav1ac.LabelSelector().WithMatchLabels(map[string]string{nameLabel: p.Namespace})).
			WithPodSelector(pods)))
	}
	if len(dns.CIDRs) == 0 {
		return all
	}
	addresses := dnsRule(dnsPort)
	for _, c := range dns.CIDRs {
		addresses.WithTo(networkingv1ac.NetworkPolicyPeer().WithIPBlock(networkingv1ac.IPBlock().WithCIDR(c)))
	}
	return append(all, addresses)
}

func dnsRule(at int32) *networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration {
	port := func(p corev1.Protocol) *networkingv1ac.NetworkPolicyPortApplyConfiguration {
		return networkingv1ac.NetworkPolicyPort().WithProtocol(p).WithPort(intstr.FromInt32(at))
	}
	return networkingv1ac.NetworkPolicyEgressRule().WithPorts(port(corev1.ProtocolUDP), port(corev1.ProtocolTCP))
}

func sameNamespace() *networkingv1ac.NetworkPolicyPeerApplyConfiguration {
	return networkingv1ac.NetworkPolicyPeer().WithPodSelector(metav1ac.LabelSelector())
}

func peerNamespaces(s metav1.LabelSelector) *networkingv1ac.NetworkPolicyPeerApplyConfiguration {
	sel := metav1ac.LabelSelector()
	if len(s.MatchLabels) > 0 {
		sel.WithMatchLabels(s.MatchLabels)
	}
	for _, e := range s.MatchExpressions {
		sel.WithMatchExpressions(metav1ac.LabelSelectorRequirement().WithKey(e.Key).WithOperator(e.Operator).WithValues(e.Values...))
	}
	return networkingv1ac.NetworkPolicyPeer().WithNamespaceSelector(sel)
}
