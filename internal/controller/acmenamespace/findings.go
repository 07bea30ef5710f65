// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/tenancy"
)

const (
	// maxFindings is how many findings the status describes.
	maxFindings = 10
	// maxFinding is the longest description of one; names and subjects are chosen by tenants.
	maxFinding = 200
	// maxName keeps one name from taking all the room.
	maxName = maxFinding / 4
	// maxSubjects is how many subjects of a RoleBinding a description names.
	maxSubjects = 3
)

// findings collects what the operator leaves alone: it counts all of it and describes the first of it.
type findings struct {
	count int32
	items []string
}

func (f *findings) add(format string, args ...any) {
	f.count++
	if len(f.items) < maxFindings {
		f.items = append(f.items, names.Clip(fmt.Sprintf(format, args...), maxFinding))
	}
}

// then appends further findings.
func (f *findings) then(more findings) {
	f.count += more.count
	f.items = append(f.items, more.items[:min(len(more.items), maxFindings-len(f.items))]...)
}

// status returns the findings for the status; nil when there are none.
func (f *findings) status() *v1alpha1.Findings {
	if f.count == 0 {
		return nil
	}
	return &v1alpha1.Findings{Count: f.count, Items: f.items}
}

// describe returns the text of an event about findings.
func describe(f *v1alpha1.Findings) string {
	text := strings.Join(f.Items, "; ")
	if more := int(f.Count) - len(f.Items); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// bindings describes the RoleBindings beside the operator's own; those that name one of the former
// administrators are counted apart.
type bindings struct {
	former       []string
	named, other findings
}

// add adds one RoleBinding.
func (b *bindings) add(rb *rbacv1.RoleBinding) {
	if rb.Name == tenancy.RoleName {
		return
	}
	into, note := &b.other, ""
	if slices.ContainsFunc(rb.Subjects, func(s rbacv1.Subject) bool { return slices.Contains(b.former, subjectName(s)) }) {
		into, note = &b.named, ", a former administrator among them"
	}
	into.add("RoleBinding %q gives %s %q to %s%s", rb.Name, rb.RoleRef.Kind, names.Clip(rb.RoleRef.Name, maxName), subjects(rb.Subjects, b.former), note)
}

// all returns all findings, those about former administrators first.
func (b *bindings) all() findings {
	all := b.named
	all.items = slices.Clone(all.items)
	all.then(b.other)
	return all
}

// subjects describes the subjects of a RoleBinding, former administrators first.
func subjects(list []rbacv1.Subject, former []string) string {
	if len(list) == 0 {
		return "nobody"
	}
	list = slices.Clone(list)
	isFormer := func(s rbacv1.Subject) int {
		if slices.Contains(former, subjectName(s)) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b rbacv1.Subject) int { return cmp.Compare(isFormer(a), isFormer(b)) })
	var out []string
	for _, s := range list[:min(len(list), maxSubjects)] {
		name := s.Name
		if s.Namespace != "" {
			name = s.Namespace + "/" + name
		}
		out = append(out, fmt.Sprintf("%s %q", s.Kind, names.Clip(name, maxName)))
	}
	if more := len(list) - maxSubjects; more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, ", ")
}

// subjectName is what status.administrators calls a subject.
func subjectName(s rbacv1.Subject) string { return s.Kind + " " + s.Name }

// administrators returns the subjects in the spec, as the status shows them.
func administrators(spec v1alpha1.AcmeNamespaceSpec) []string {
	all := []string{rbacv1.UserKind + " " + spec.AdminUsername}
	for _, g := range spec.AdminGroups {
		all = append(all, rbacv1.GroupKind+" "+g)
	}
	return all
}

// sameSubjects reports whether a RoleBinding has exactly these administrators.
func sameSubjects(have []rbacv1.Subject, want []string) bool {
	var all []string
	for _, s := range have {
		all = append(all, subjectName(s))
	}
	return slices.Equal(all, want)
}

// removed returns the former administrators.
func removed(before, now []string) []string {
	return slices.DeleteFunc(slices.Clone(before), func(s string) bool { return slices.Contains(now, s) })
}

// addPolicy describes a NetworkPolicy that is not the operator's and opens the namespace to everybody.
func (f *findings) addPolicy(p *networkingv1.NetworkPolicy) {
	if p.Name == networkPolicyName {
		return
	}
	in := slices.ContainsFunc(p.Spec.Ingress, func(r networkingv1.NetworkPolicyIngressRule) bool { return anyPeer(r.From) })
	out := slices.ContainsFunc(p.Spec.Egress, func(r networkingv1.NetworkPolicyEgressRule) bool { return anyPeer(r.To) })
	switch {
	case in && out:
		f.add("NetworkPolicy %q lets traffic in from anywhere, and out to anywhere", p.Name)
	case in:
		f.add("NetworkPolicy %q lets traffic in from anywhere", p.Name)
	case out:
		f.add("NetworkPolicy %q lets traffic out to anywhere", p.Name)
	}
}

// anyPeer reports whether a list of peers contains everybody, or every pod of the cluster.
func anyPeer(peers []networkingv1.NetworkPolicyPeer) bool {
	return len(peers) == 0 || slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool {
		if p.IPBlock != nil {
			return strings.HasSuffix(p.IPBlock.CIDR, "/0")
		}
		return everything(p.NamespaceSelector) && (p.PodSelector == nil || everything(p.PodSelector))
	})
}

func everything(s *metav1.LabelSelector) bool {
	return s != nil && len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0
}

// addQuota describes a ResourceQuota that is neither the one of the tier nor the one about priority classes.
func (f *findings) addQuota(q *corev1.ResourceQuota, own string) {
	if q.Name != own && q.Name != tenancy.PriorityQuotaName {
		f.add("ResourceQuota %q limits the namespace as well", q.Name)
	}
}

// addLimitRange describes a LimitRange that is not the operator's.
func (f *findings) addLimitRange(l *corev1.LimitRange) {
	if l.Name != limitRangeName {
		f.add("LimitRange %q sets defaults and limits as well", l.Name)
	}
}

// addLabels describes the labels of a Namespace that weaken guardrails or resemble them, and that the operator
// does not set.
func (f *findings) addLabels(ns *corev1.Namespace) {
	for _, key := range slices.Sorted(maps.Keys(ns.Labels)) {
		isSecurity := strings.HasPrefix(key, podSecurityPrefix) && key != podSecurityLabel
		if isSecurity || key == tenancy.LabelReachesTenants {
			f.add("the Namespace's label %s is %q", key, ns.Labels[key])
		}
	}
}
