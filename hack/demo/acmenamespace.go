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

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
)

// countTimeout is how long Kubernetes may take to count what a new quota covers.
const countTimeout = 10 * time.Second

// Labels of the operator and of Kubernetes.
const (
	ownerLabel        = "platform.acme.com/owner-uid"
	managedByLabel    = "app.kubernetes.io/managed-by"
	podSecurityPrefix = "pod-security.kubernetes.io/"
)

func toAcmeNamespace(o *unstructured.Unstructured) (*v1alpha1.AcmeNamespace, error) {
	n := &v1alpha1.AcmeNamespace{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, n); err != nil {
		return nil, fmt.Errorf("reading AcmeNamespace %s: %w", o.GetName(), err)
	}
	return n, nil
}

// acmeNamespaceFacts show the Namespace and its guardrails.
func acmeNamespaceFacts(ctx context.Context, c client.Reader, o *unstructured.Unstructured) ([]fact, error) {
	n, err := toAcmeNamespace(o)
	if err != nil {
		return nil, err
	}
	in := client.InNamespace(n.Spec.NamespaceName)
	ours := client.MatchingLabels{ownerLabel: string(n.UID)}
	ns, quotas, limits := &corev1.Namespace{}, &corev1.ResourceQuotaList{}, &corev1.LimitRangeList{}
	roles, bindings, policies := &rbacv1.RoleList{}, &rbacv1.RoleBindingList{}, &networkingv1.NetworkPolicyList{}
	err = c.Get(ctx, client.ObjectKey{Name: n.Spec.NamespaceName}, ns)
	for _, list := range []client.ObjectList{limits, roles, bindings, policies} {
		err = errors.Join(err, c.List(ctx, list, in, ours))
	}
	if err = errors.Join(err, counted(ctx, c, quotas, in, ours)); err != nil {
		return nil, fmt.Errorf("reading what AcmeNamespace %s made: %w", n.Name, err)
	}
	facts := []fact{
		{"Namespace", ns.Name + ", labels " + tenantLabels(ns.Labels)},
		{"Pod Security", "the level " + ns.Labels[podSecurityPrefix+"enforce"] + " is enforced"},
	}
	for _, q := range quotas.Items {
		facts = append(facts, fact{"ResourceQuota", q.Name + ", used of hard: " + usage(q.Status)})
	}
	for _, l := range limits.Items {
		facts = append(facts, fact{"LimitRange", l.Name + ": " + defaults(l.Spec.Limits)})
	}
	for _, r := range roles.Items {
		facts = append(facts, fact{"Role", fmt.Sprintf("%s, %d rules", r.Name, len(r.Rules))})
	}
	for _, b := range bindings.Items {
		facts = append(facts, fact{"RoleBinding", b.Name + ", to " + subjects(b.Subjects)})
	}
	for _, p := range policies.Items {
		facts = append(facts, fact{"NetworkPolicy", p.Name + ": " + traffic(p.Spec)})
	}
	return append(facts, fact{"On deletion", fates[n.Status.DeletionPolicy]}), nil
}

var fates = map[v1alpha1.DeletionPolicy]string{
	v1alpha1.DeletionDelete: "the Namespace goes, with everything in it",
	v1alpha1.DeletionRetain: "the Namespace stays, with everything in it",
}

// counted reads the quotas once Kubernetes has counted what they cover.
func counted(ctx context.Context, c client.Reader, quotas *corev1.ResourceQuotaList, opts ...client.ListOption) error {
	return wait.PollUntilContextTimeout(ctx, pollInterval, countTimeout, true, func(ctx context.Context) (bool, error) {
		if err := c.List(ctx, quotas, opts...); err != nil {
			return false, err
		}
		return !slices.ContainsFunc(quotas.Items, func(q corev1.ResourceQuota) bool {
			return len(q.Status.Hard) < len(q.Spec.Hard)
		}), nil
	})
}

// tenantLabels are the labels that mean something to people.
func tenantLabels(labels map[string]string) string {
	labels = maps.Clone(labels)
	maps.DeleteFunc(labels, func(key, _ string) bool {
		return key == corev1.LabelMetadataName || key == managedByLabel || key == ownerLabel ||
			strings.HasPrefix(key, podSecurityPrefix)
	})
	return pairs(labels)
}

func pairs(m map[string]string) string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		list = append(list, key+"="+m[key])
	}
	return strings.Join(list, ", ")
}

func usage(s corev1.ResourceQuotaStatus) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(s.Hard)) {
		used, hard := s.Used[name], s.Hard[name]
		if strings.HasPrefix(string(name), "count/") && used.IsZero() {
			continue // there are many of those
		}
		list = append(list, fmt.Sprintf("%s %s of %s", name, &used, &hard))
	}
	return together(list)
}

func defaults(items []corev1.LimitRangeItem) string {
	var list []string
	for _, item := range items {
		if item.Type != corev1.LimitTypeContainer {
			continue
		}
		list = append(list, fmt.Sprintf("a container that states nothing requests %s and is limited to %s",
			resources(item.DefaultRequest), resources(item.Default)))
		if len(item.Max) > 0 {
			list = append(list, "none gets more than "+resources(item.Max))
		}
	}
	return strings.Join(list, "; ")
}

func resources(list corev1.ResourceList) string {
	if len(list) == 0 {
		return "nothing"
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		q := list[name]
		all = append(all, fmt.Sprintf("%s %s", name, &q))
	}
	return together(all)
}

// together lists items none of which is broken over lines.
func together(items []string) string {
	for i := range items {
		items[i] = strings.ReplaceAll(items[i], " ", nbsp)
	}
	return strings.Join(items, ", ")
}

func subjects(list []rbacv1.Subject) string {
	var all []string
	for _, s := range list {
		all = append(all, "the "+strings.ToLower(s.Kind)+" "+s.Name)
	}
	return strings.Join(all, " and ")
}

// traffic says in words what a network policy lets pass.
func traffic(spec networkingv1.NetworkPolicySpec) string {
	in, out := "the pods are reached by anything", "they may reach anything"
	if slices.Contains(spec.PolicyTypes, networkingv1.PolicyTypeIngress) {
		var from []string
		for _, rule := range spec.Ingress {
			from = append(from, peers(rule.From, rule.Ports))
		}
		in = "the pods are reached by " + alternatives(from)
	}
	if slices.Contains(spec.PolicyTypes, networkingv1.PolicyTypeEgress) {
		var to []string
		for _, rule := range spec.Egress {
			to = append(to, peers(rule.To, rule.Ports))
		}
		out = "they may reach " + alternatives(to)
	}
	return in + "; " + out
}

func alternatives(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", and ")
}

func peers(list []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort) string {
	var all []string
	for _, p := range list {
		switch {
		case p.IPBlock != nil:
			all = append(all, p.IPBlock.CIDR)
		case p.NamespaceSelector == nil:
			all = append(all, "their own namespace")
		default:
			all = append(all, "namespaces with "+metav1.FormatLabelSelector(p.NamespaceSelector))
		}
	}
	text := strings.Join(all, " and ")
	if len(all) == 0 {
		text = "anything"
	}
	var on []string
	for _, p := range ports {
		if p.Port != nil && p.Protocol != nil {
			on = append(on, fmt.Sprintf("%s/%s", p.Port, *p.Protocol))
		}
	}
	if len(on) > 0 {
		text += " on " + strings.Join(on, " and ")
	}
	return text
}

// acmeNamespaceTour goes round as the administrator of the namespace.
func acmeNamespaceTour(s *sample, t tools) (*tour, error) {
	n, err := toAcmeNamespace(s.object)
	if err != nil {
		return nil, err
	}
	name, ns, user := n.Name, n.Spec.NamespaceName, n.Spec.AdminUsername
	second := &v1alpha1.AcmeNamespace{ObjectMeta: metav1.ObjectMeta{Name: name + "-too"}, Spec: n.Spec}
	promote := fmt.Sprintf(`-p '{"spec":{"deploymentTier":"%s"}}'`, common.TierProd)
	return &tour{
		user: user, namespace: ns,
		questions: []authorizationv1.ResourceAttributes{
			{Verb: "create", Group: "apps", Resource: "deployments", Namespace: ns},
			{Verb: "create", Group: rbacv1.GroupName, Resource: "rolebindings", Namespace: ns},
			{Verb: "delete", Resource: "resourcequotas", Namespace: ns},
			{Verb: "patch", Resource: "namespaces", Name: ns, Namespace: ns},
			{Verb: "create", Resource: "pods", Namespace: metav1.NamespaceSystem},
		},
		commands: []command{
			{
				why:   "As " + user + ", start something (pods are simulated here: they run at once, without containers).",
				parts: t.as(t.person(user), "create deployment hello --image=nginx --replicas=3"),
			}, {
				why:   "As " + user + ", see in the quota what it uses.",
				parts: t.as(t.person(user), "describe quota"),
			}, {
				why: "Ask for a namespace that is taken, and be refused by the webhook.",
				parts: append([]string{fmt.Sprintf("sed 's/^  name: .*/  name: %s/' %s |", second.Name, t.sample(s.file))},
					t.as(t.admin, "apply -f -")...),
				refused: second,
			}, {
				why:   "As the platform's administrator, promote the namespace: a larger quota, stricter guardrails.",
				parts: t.as(t.admin, "patch acmenamespace "+name, "--type=merge", promote),
			}, {
				why:   "Delete it. In production the namespace is kept, and a new " + name + " adopts it again.",
				parts: t.as(t.admin, "delete acmenamespace "+name),
			},
		},
	}, nil
}
