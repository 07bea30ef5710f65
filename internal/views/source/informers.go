// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	tenancy "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/views/access"
	"github.com/acme/platform-operator/internal/views/rows"
)

// LabelTenant on an AcmeNamespace names who pays, if that is not its administrator.
const LabelTenant = "tenancy.acme.com/tenant"

const (
	byNamespace   = cache.NamespaceIndex
	byClusterRole = "clusterRole"
	byTarget      = "namespaceName"
)

// informer is an informer that records when it last heard from the API server.
type informer struct {
	cache.SharedIndexInformer
	resource     string
	registration cache.ResourceEventHandlerRegistration
	beat         atomic.Int64
	// missing is true once the API server has answered that it has no such resource.
	missing atomic.Bool
}

func (i *informer) heard() time.Time { return time.Unix(0, i.beat.Load()) }

// informers are one for each source.
type informers struct {
	namespaces, quotas, roles, roleBindings, clusterRoles, clusterRoleBindings *informer
	// acmeNamespaces may never sync, because their CustomResourceDefinition may be missing.
	acmeNamespaces *informer
}

// hard are those without which there are no rows.
func (i informers) hard() []*informer {
	return []*informer{i.namespaces, i.quotas, i.roles, i.roleBindings, i.clusterRoles, i.clusterRoleBindings}
}

func (i informers) all() []*informer { return append(i.hard(), i.acmeNamespaces) }

// synced report, for each source, whether the handlers have seen all that it had at first. AcmeNamespaces are waited for, too, unless
// their CustomResourceDefinition is missing: without them tenants and tiers are blank, and sums of tenants are incomplete.
func (i informers) synced() []cache.InformerSynced {
	var all []cache.InformerSynced
	for _, h := range i.hard() {
		all = append(all, h.registration.HasSynced)
	}
	return append(all, func() bool { return i.acmeNamespaces.missing.Load() || i.acmeNamespaces.registration.HasSynced() })
}

func newInformers(cfg *rest.Config, c clock.PassiveClock) (informers, error) {
	core, err := restClient(cfg, corev1.SchemeGroupVersion, "/api")
	if err != nil {
		return informers{}, err
	}
	rbac, err := restClient(cfg, rbacv1.SchemeGroupVersion, "/apis")
	if err != nil {
		return informers{}, err
	}
	acme, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return informers{}, err
	}
	namespaced := cache.Indexers{byNamespace: cache.MetaNamespaceIndexFunc}
	bindings := cache.Indexers{byNamespace: cache.MetaNamespaceIndexFunc, byClusterRole: indexClusterRole}
	set := informers{
		namespaces:          newInformer(typed(core, "namespaces"), c, "namespaces", &corev1.Namespace{}, nil),
		quotas:              newInformer(typed(core, "resourcequotas"), c, "resourcequotas", &corev1.ResourceQuota{}, namespaced),
		roles:               newInformer(typed(rbac, "roles"), c, "roles", &rbacv1.Role{}, nil),
		roleBindings:        newInformer(typed(rbac, "rolebindings"), c, "rolebindings", &rbacv1.RoleBinding{}, bindings),
		clusterRoles:        newInformer(typed(rbac, "clusterroles"), c, "clusterroles", &rbacv1.ClusterRole{}, nil),
		clusterRoleBindings: newInformer(typed(rbac, "clusterrolebindings"), c, "clusterrolebindings", &rbacv1.ClusterRoleBinding{}, nil),
		acmeNamespaces:      newInformer(untyped(acme), c, "acmenamespaces", &unstructured.Unstructured{}, cache.Indexers{byTarget: indexTarget}),
	}
	for _, i := range set.all() {
		if err := i.SetTransform(trim); err != nil {
			return informers{}, fmt.Errorf("trimming %s: %w", i.resource, err)
		}
	}
	return set, set.acmeNamespaces.SetWatchErrorHandlerWithContext(set.acmeNamespaces.quietIfMissing)
}

// quietIfMissing reports errors as client-go does, but records that a CustomResourceDefinition is missing.
func (i *informer) quietIfMissing(ctx context.Context, r *cache.Reflector, err error) {
	if apierrors.IsNotFound(err) {
		i.missing.Store(true)
		return
	}
	cache.DefaultWatchErrorHandler(ctx, r, err)
}

func restClient(cfg *rest.Config, gv schema.GroupVersion, path string) (rest.Interface, error) {
	own := rest.CopyConfig(cfg)
	own.GroupVersion, own.APIPath = &gv, path
	own.ContentType = runtime.ContentTypeProtobuf
	own.NegotiatedSerializer = clientgoscheme.Codecs.WithoutConversion()
	return rest.RESTClientFor(own)
}

func typed(client rest.Interface, resource string) *cache.ListWatch {
	return cache.NewListWatchFromClient(client, resource, metav1.NamespaceAll, fields.Everything())
}

// untyped reads AcmeNamespaces without their quantities: an older schema may have admitted one that takes minutes to
// read, or no reader understands, and it would hide the objects of all others.
func untyped(client dynamic.Interface) *cache.ListWatch {
	objects := client.Resource(tenancy.GroupVersion.WithResource("acmenamespaces"))
	return &cache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return objects.List(ctx, o) },
		WatchFuncWithContext: objects.Watch,
	}
}

func newInformer(lw *cache.ListWatch, c clock.PassiveClock, resource string, o runtime.Object, indexers cache.Indexers) *informer {
	i := &informer{resource: resource}
	heard := func() { i.beat.Store(c.Now().UnixNano()) }
	heard()
	i.SharedIndexInformer = cache.NewSharedIndexInformer(counting(lw, heard), o, 0, indexers)
	return i
}

func indexClusterRole(obj any) ([]string, error) {
	if b, ok := obj.(*rbacv1.RoleBinding); ok && b.RoleRef.Kind == "ClusterRole" {
		return []string{b.RoleRef.Name}, nil
	}
	return nil, nil
}

func indexTarget(obj any) ([]string, error) {
	if a, ok := obj.(*tenancy.AcmeNamespace); ok {
		return []string{a.Spec.NamespaceName}, nil
	}
	return nil, nil
}

// indexed are the objects under a key of an index that exists.
func indexed[T any](i *informer, index, key string) []T {
	objects, err := i.GetIndexer().ByIndex(index, key)
	if err != nil {
		panic(err) // there is no such index
	}
	found := make([]T, 0, len(objects))
	for _, o := range objects {
		if t, ok := o.(T); ok {
			found = append(found, t)
		}
	}
	return found
}

// keyed is the object with a key, or false.
func keyed[T any](i *informer, key string) (T, bool) {
	o, exists, err := i.GetIndexer().GetByKey(key)
	t, ok := o.(T)
	return t, err == nil && exists && ok
}

// boundTo are the namespaces with RoleBindings to a ClusterRole.
func (i informers) boundTo(clusterRole string) []string {
	var found []string
	for _, b := range indexed[*rbacv1.RoleBinding](i.roleBindings, byClusterRole, clusterRole) {
		found = append(found, b.Namespace)
	}
	return found
}

// verdict is what a role grants. False if there is no such role.
func (i informers) verdict(namespace string, ref rbacv1.RoleRef) (access.Verdict, bool) {
	if ref.Kind == "ClusterRole" {
		role, ok := keyed[*rbacv1.ClusterRole](i.clusterRoles, ref.Name)
		if !ok {
			return access.Verdict{}, false
		}
		return access.VerdictOf(role.Rules), true
	}
	role, ok := keyed[*rbacv1.Role](i.roles, namespace+"/"+ref.Name)
	if !ok || ref.Kind != "Role" || namespace == "" {
		return access.Verdict{}, false
	}
	return access.VerdictOf(role.Rules), true
}

// clusterBindings are the ClusterRoleBindings whose roles exist.
func (i informers) clusterBindings() []access.Binding {
	var found []access.Binding
	for _, o := range i.clusterRoleBindings.GetIndexer().List() {
		b, ok := o.(*rbacv1.ClusterRoleBinding)
		if !ok {
			continue
		}
		if v, exists := i.verdict("", b.RoleRef); exists {
			found = append(found, access.Binding{Role: access.Role(b.RoleRef), Verdict: v, Subjects: access.SubjectsOf("", b.Subjects)})
		}
	}
	return found
}

// bindings are the RoleBindings of a namespace whose roles exist.
func (i informers) bindings(namespace string) []access.Binding {
	var found []access.Binding
	for _, b := range bounded(indexed[*rbacv1.RoleBinding](i.roleBindings, byNamespace, namespace)) {
		if v, exists := i.verdict(namespace, b.RoleRef); exists {
			found = append(found, access.Binding{
				Role: access.Role(b.RoleRef), Verdict: v, Subjects: access.SubjectsOf(namespace, b.Subjects), Version: number(b),
			})
		}
	}
	return found
}

// bounded are the RoleBindings of a namespace that count: by their names, so that replicas agree.
func bounded(bindings []*rbacv1.RoleBinding) []*rbacv1.RoleBinding {
	total := 0
	for _, b := range bindings {
		total += len(b.Subjects)
	}
	if total <= maxBoundSubjects {
		return bindings
	}
	slices.SortFunc(bindings, func(a, b *rbacv1.RoleBinding) int { return strings.Compare(a.Name, b.Name) })
	total = 0
	for n, b := range bindings {
		if total += len(b.Subjects); total > maxBoundSubjects {
			return bindings[:n]
		}
	}
	return bindings
}

// namespace is what the sources contain about a namespace now, or nil if it does not exist.
func (i informers) namespace(name string) *rows.Namespace {
	ns, ok := keyed[*corev1.Namespace](i.namespaces, name)
	if !ok {
		return nil
	}
	f := rows.Facts{
		Name: ns.Name, UID: ns.UID, Created: ns.CreationTimestamp, Deleted: ns.DeletionTimestamp, Labels: ns.Labels, Phase: ns.Status.Phase,
		Version: number(ns), Owner: i.owner(ns), Grants: access.GrantsOf(name, i.bindings(name)),
	}
	for _, q := range indexed[*corev1.ResourceQuota](i.quotas, byNamespace, name) {
		f.Quotas = append(f.Quotas, rows.NewQuota(q, number(q)))
	}
	return rows.NewNamespace(f)
}

// owner is the AcmeNamespace that owns a Namespace: tenants cannot write the UID on it.
func (i informers) owner(ns *corev1.Namespace) *rows.Owner {
	for _, a := range indexed[*tenancy.AcmeNamespace](i.acmeNamespaces, byTarget, ns.Name) {
		if a.UID == "" || ns.Labels[names.LabelOwnerUID] != string(a.UID) {
			continue
		}
		tenant := a.Labels[LabelTenant]
		if tenant == "" {
			tenant = a.Spec.AdminUsername
		}
		return &rows.Owner{Name: a.Name, Tenant: tenant, Tier: a.Spec.DeploymentTier, Version: number(a)}
	}
	return nil
}
