// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"unique"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	tenancy "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/views/access"
)

// handle marks what a change concerns. Handlers compute nothing.
func (s *Source) handle() error {
	inNamespace := func(_, o metav1.Object) { s.mark(o.GetNamespace()) }
	for i, changed := range map[*informer]func(before, now metav1.Object){
		s.informer.namespaces:          func(_, o metav1.Object) { s.mark(o.GetName()) },
		s.informer.roles:               inNamespace,
		s.informer.roleBindings:        inNamespace,
		s.informer.clusterRoles:        s.clusterRoleChanged,
		s.informer.clusterRoleBindings: func(metav1.Object, metav1.Object) { s.markCluster() },
		s.informer.quotas:              func(_, o metav1.Object) { s.markUsage(o.GetNamespace()) },
		s.informer.acmeNamespaces:      s.acmeNamespaceChanged,
	} {
		registration, err := i.AddEventHandler(s.handler(changed))
		if err != nil {
			return fmt.Errorf("handling changes of %s: %w", i.resource, err)
		}
		i.registration = registration
	}
	return nil
}

// handler calls a function with an object before and after a change, the same one for creations and deletions.
func (s *Source) handler(changed func(before, now metav1.Object)) cache.ResourceEventHandler {
	one := func(obj any) {
		if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = gone.Obj
		}
		if o, ok := obj.(metav1.Object); ok {
			s.see(o)
			changed(o, o)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    one,
		DeleteFunc: one,
		UpdateFunc: func(before, now any) {
			b, ok := before.(metav1.Object)
			n, also := now.(metav1.Object)
			if ok && also {
				s.see(n)
				changed(b, n)
			}
		},
	}
}

// clusterRoleChanged marks the namespaces with RoleBindings to a ClusterRole, if it now grants something else or is new or gone.
func (s *Source) clusterRoleChanged(before, now metav1.Object) {
	b, n := before.(*rbacv1.ClusterRole), now.(*rbacv1.ClusterRole)
	if b != n && access.VerdictOf(b.Rules).Equal(access.VerdictOf(n.Rules)) {
		return
	}
	s.mark(s.informer.boundTo(n.Name)...)
	s.markCluster()
}

// acmeNamespaceChanged marks the namespaces that an AcmeNamespace names, and named.
func (s *Source) acmeNamespaceChanged(before, now metav1.Object) {
	s.mark(before.(*tenancy.AcmeNamespace).Spec.NamespaceName, now.(*tenancy.AcmeNamespace).Spec.NamespaceName)
}

// Tenants write RoleBindings: without limits, thirty of the largest in one namespace take more memory than a replica has. What does not
// count hides rows, and never shows one: RBAC only adds.
const (
	// maxSubjects and maxSubjectBytes are how many subjects of a RoleBinding count, the first ones, and how long their names may be in all.
	maxSubjects, maxSubjectBytes = 1000, 64 << 10
	// maxBoundSubjects is how many count of all RoleBindings of a namespace, by the names of these.
	maxBoundSubjects = 10_000
)

// Transforms keep what rows need. They get objects that nobody else has.

// trimMeta keeps by what objects are found. There are tens of thousands of RoleBindings, in some thousand namespaces: equal texts share
// their memory, as far as they are read one after the other.
func trimMeta(o *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: o.Name, Namespace: shared(o.Namespace), ResourceVersion: o.ResourceVersion}
}

// shared returns an equal text.
func shared(text string) string { return unique.Make(text).Value() }

// trimRef leaves out the group, which is always the same.
func trimRef(ref rbacv1.RoleRef) rbacv1.RoleRef {
	return rbacv1.RoleRef{Kind: shared(ref.Kind), Name: shared(ref.Name)}
}

func trim(obj any) (any, error) {
	switch o := obj.(type) {
	case *corev1.Namespace:
		meta := trimMeta(&o.ObjectMeta)
		meta.UID, meta.CreationTimestamp, meta.DeletionTimestamp, meta.Labels = o.UID, o.CreationTimestamp, o.DeletionTimestamp, o.Labels
		return &corev1.Namespace{ObjectMeta: meta, Status: corev1.NamespaceStatus{Phase: o.Status.Phase}}, nil
	case *corev1.ResourceQuota:
		return &corev1.ResourceQuota{ObjectMeta: trimMeta(&o.ObjectMeta), Spec: o.Spec, Status: o.Status}, nil
	case *rbacv1.Role:
		// Tenants write Roles, too. A rule of them may have a million names, of which one matters: that of the namespace.
		return &rbacv1.Role{ObjectMeta: trimMeta(&o.ObjectMeta), Rules: access.RulesOf(access.RightsIn(o.Rules, o.Namespace))}, nil
	case *rbacv1.ClusterRole:
		return &rbacv1.ClusterRole{ObjectMeta: trimMeta(&o.ObjectMeta), Rules: trimRules(o.Rules)}, nil
	case *rbacv1.RoleBinding:
		return &rbacv1.RoleBinding{ObjectMeta: trimMeta(&o.ObjectMeta), RoleRef: trimRef(o.RoleRef), Subjects: firstSubjects(o.Subjects)}, nil
	case *rbacv1.ClusterRoleBinding:
		return &rbacv1.ClusterRoleBinding{ObjectMeta: trimMeta(&o.ObjectMeta), RoleRef: trimRef(o.RoleRef), Subjects: o.Subjects}, nil
	case *unstructured.Unstructured:
		return trimAcmeNamespace(o), nil
	}
	return obj, nil
}

func firstSubjects(subjects []rbacv1.Subject) []rbacv1.Subject {
	count, length := 0, 0
	for count < min(len(subjects), maxSubjects) {
		if length += len(subjects[count].Name) + len(subjects[count].Namespace); length > maxSubjectBytes {
			break
		}
		count++
	}
	kept := make([]rbacv1.Subject, count)
	for i, s := range subjects[:count] {
		kept[i] = rbacv1.Subject{Kind: shared(s.Kind), Name: s.Name, Namespace: shared(s.Namespace)}
	}
	return kept
}

func trimRules(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var kept []rbacv1.PolicyRule
	for _, r := range rules {
		if access.Bears(r) {
			kept = append(kept, rbacv1.PolicyRule{APIGroups: r.APIGroups, Resources: r.Resources, ResourceNames: r.ResourceNames, Verbs: r.Verbs})
		}
	}
	return kept
}

// trimAcmeNamespace reads what rows need, and leaves blank what does not match the schema.
func trimAcmeNamespace(o *unstructured.Unstructured) *tenancy.AcmeNamespace {
	spec := func(field string) string {
		text, _, _ := unstructured.NestedString(o.Object, "spec", field)
		return text
	}
	trimmed := &tenancy.AcmeNamespace{
		ObjectMeta: metav1.ObjectMeta{Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion()},
		Spec: tenancy.AcmeNamespaceSpec{
			NamespaceName: spec("namespaceName"), AdminUsername: spec("adminUsername"), DeploymentTier: common.TierName(spec("deploymentTier")),
		},
	}
	if tenant := o.GetLabels()[LabelTenant]; tenant != "" {
		trimmed.Labels = map[string]string{LabelTenant: tenant}
	}
	return trimmed
}
