// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancy "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/api/views/v1alpha1"
	. "github.com/acme/platform-operator/internal/testenv/suite"
	"github.com/acme/platform-operator/internal/views/rows"
)

// tenantOf is an administrator with some namespaces, each with an AcmeNamespace and a ResourceQuota.
func tenantOf(admin, label string, count int) (namespaces []string) {
	GinkgoHelper()
	for range count {
		namespace := Namespace()
		acme := &tenancy.AcmeNamespace{
			ObjectMeta: metav1.ObjectMeta{Name: "acme-" + namespace},
			Spec:       tenancy.AcmeNamespaceSpec{NamespaceName: namespace, AdminUsername: admin, DeploymentTier: "stg"},
		}
		if label != "" {
			acme.Labels = map[string]string{"tenancy.acme.com/tenant": label}
		}
		Create(acme)
		// An impostor that names the same namespace.
		Create(&tenancy.AcmeNamespace{
			ObjectMeta: metav1.ObjectMeta{Name: "impostor-" + namespace},
			Spec:       tenancy.AcmeNamespaceSpec{NamespaceName: namespace, AdminUsername: "impostor"},
		})
		Patch(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, fmt.Sprintf(
			`{"metadata":{"labels":{"platform.acme.com/owner-uid":%q,"team":"canary-label"},"annotations":{"note":"canary-annotation"}}}`, acme.UID))
		Create(&corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "canary-quota"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"configmaps": resource.MustParse("10"), "cpu": resource.MustParse("4")}},
		})
		namespaces = append(namespaces, namespace)
	}
	return namespaces
}

// roleFor makes a ClusterRole for one verb of one resource.
func roleFor(resource, verb string) string {
	GinkgoHelper()
	return Create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "only-"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{verb}},
	}}).Name
}

// rowsOf are the rows of a view that a user sees, by name.
func rowsOf(cfg *rest.Config, view, query string) map[string]string {
	GinkgoHelper()
	content, err := views(cfg).Get().AbsPath(base+"/"+view).Param("labelSelector", query).DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred())
	var list struct{ Items []json.RawMessage }
	Expect(json.Unmarshal(content, &list)).To(Succeed())
	found := map[string]string{}
	for _, item := range list.Items {
		o := metav1.PartialObjectMetadata{}
		Expect(json.Unmarshal(item, &o)).To(Succeed())
		found[o.Name] = string(item)
	}
	return found
}

var _ = Describe("Usage", func() {
	It("is that of the quotas, and changes with them", func() {
		name, sam := newUser()
		namespaces := tenantOf("sam@acme.com", "", 2)
		reader := Create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "usage-"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}},
			{APIGroups: []string{""}, Resources: []string{"resourcequotas"}, Verbs: []string{"list"}},
		}}).Name
		for _, namespace := range namespaces {
			grant(namespace, reader, user(name))
		}
		Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespaces[0], Name: "a"}})
		Eventually(func() string { return rowsOf(sam, "namespaceusages", "")[namespaces[0]] }).Should(And(
			ContainSubstring(`"configmaps":{"used":"1","hard":"10","percent":10}`), ContainSubstring(`"tenant":"sam@acme.com"`),
			ContainSubstring(`"tier":"stg"`), ContainSubstring(`"acmeNamespace":"acme-`+namespaces[0])))
		tenant := rows.TenantName("sam@acme.com")
		Eventually(func() string { return rowsOf(sam, "tenantusages", "")[tenant] }).Should(And(
			ContainSubstring(`"configmaps":{"used":"1","hard":"20","percent":5}`), ContainSubstring(`"tenant":"sam@acme.com"`)))

		list := &v1alpha1.TenantUsageList{}
		Expect(views(sam).Get().Resource("tenantusages").Do(ctx).Into(list)).To(Succeed())
		w, err := views(sam).Get().Resource("tenantusages").Param("watch", "true").Param("resourceVersion", list.ResourceVersion).Watch(ctx)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(w.Stop)
		Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespaces[1], Name: "a"}})
		var e watch.Event
		Eventually(w.ResultChan()).WithTimeout(soon).Should(Receive(&e))
		Expect(e.Type).To(Equal(watch.Modified))
		Expect(e.Object.(*v1alpha1.TenantUsage).Resources["configmaps"].Used.String()).To(Equal("2"))
	})
})

// An older schema may have admitted what no reader of quantities can read: it says nothing of the objects of others.
var _ = Describe("A stored quantity that takes minutes to read", func() {
	It("hides no tenant", func() {
		const quota = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/quota/additionalProperties/"
		crd := &metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
			ObjectMeta: metav1.ObjectMeta{Name: "acmenamespaces.tenancy.acme.com"},
		}
		admit := func(pattern string) {
			GinkgoHelper()
			Expect(Admin.Patch(ctx, crd, client.RawPatch(types.JSONPatchType, fmt.Appendf(nil, `[{"op":"replace","path":%q,"value":%q}]`, quota+"pattern", pattern)))).To(Succeed())
		}
		was := &unstructured.Unstructured{Object: map[string]any{"apiVersion": crd.APIVersion, "kind": crd.Kind, "metadata": map[string]any{"name": crd.Name}}}
		Expect(Reload(was)).To(Succeed())
		versions, _, err := unstructured.NestedSlice(was.Object, "spec", "versions")
		Expect(err).NotTo(HaveOccurred())
		strict, found, err := unstructured.NestedString(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "spec", "properties", "quota", "additionalProperties", "pattern")
		Expect(found, err).To(BeTrue())
		admit(".*")
		DeferCleanup(admit, strict)

		endless := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": tenancy.GroupVersion.String(), "kind": "AcmeNamespace", "metadata": map[string]any{"name": "endless"},
			"spec": map[string]any{"namespaceName": "endless", "adminUsername": "sam", "quota": map[string]any{"cpu": "1e-999999999"}},
		}}
		Eventually(func() error { return Admin.Create(ctx, endless) }).Should(Succeed(), "the schema admits it")
		DeferCleanup(Remove, endless)
		namespace := tenantOf("kim@acme.com", "", 1)[0]
		late := startReplica() // it lists what the others watch
		DeferCleanup(late.stop)
		for _, r := range []*replica{late, one} {
			proxy.switchTo(r)
			DeferCleanup(proxy.switchTo, one, two)
			Eventually(func() error { return views(Plane.Config).Get().AbsPath(base + "/namespaceusages").Do(ctx).Error() }).Should(Succeed())
			Eventually(func() string { return rowsOf(Plane.Config, "namespaceusages", "")[namespace] }).Should(ContainSubstring(`"tenant":"kim@acme.com"`))
		}
	})
})

// A view shows nothing that plain kubectl hides (V8, V18).
var _ = Describe("What is hidden", func() {
	It("is not in rows, selectors, single reads, errors, logs or metrics", func() {
		get, list := roleFor("namespaces", "get"), roleFor("resourcequotas", "list")
		ours, theirs := tenantOf("canary-admin", "canary-tenant", 2), tenantOf("canary-others", "", 1)
		type reader struct {
			get, list []string // the namespaces in which the user has the right
		}
		readers := map[string]reader{
			"nobody": {}, "getter": {get: ours}, "lister": {list: ours}, "both": {get: ours, list: ours},
			"half-get": {get: ours[:1], list: ours}, "half-list": {get: ours, list: ours[:1]}, "one": {get: ours[:1], list: ours[:1]},
			"other": {get: theirs, list: theirs}, "all": {get: append(ours[:2:2], theirs...), list: append(ours[:2:2], theirs...)},
			"cross": {get: ours, list: theirs},
		}
		for name, r := range readers {
			for _, n := range r.get {
				grant(n, get, user("hidden-"+name))
			}
			for _, n := range r.list {
				grant(n, list, user("hidden-"+name))
			}
		}
		tenants := map[string][]string{"canary-tenant": ours, "canary-others": theirs}
		for name, r := range readers {
			By(name)
			cfg := as("hidden-" + name)
			may := func(names []string, namespace string) bool {
				for _, n := range names {
					if n == namespace {
						return true
					}
				}
				return false
			}
			visible := map[string][]string{"mynamespaces": r.get, "namespaceusages": r.list, "tenantusages": nil}
			for tenant, namespaces := range tenants {
				whole := true
				for _, n := range namespaces {
					whole = whole && may(r.get, n) && may(r.list, n)
				}
				if whole {
					visible["tenantusages"] = append(visible["tenantusages"], tenant)
				}
			}
			for view, names := range visible {
				Eventually(func() []string { return keys(rowsOf(cfg, view, "")) }).Should(ConsistOf(names), view)
				for row, text := range rowsOf(cfg, view, "") {
					Expect(text).NotTo(ContainSubstring("canary-annotation"), view)
					if view == "namespaceusages" && !may(r.get, row) {
						Expect(text).NotTo(ContainSubstring("canary"), view)
						Expect(text).NotTo(ContainSubstring("stg"), view)
						Expect(text).NotTo(ContainSubstring("creationTimestamp\":\"2"), view)
					}
				}
				for _, row := range append(append([]string{"canary-tenant", "canary-others"}, ours...), theirs...) {
					err := views(cfg).Get().AbsPath(base + "/" + view + "/" + row).Do(ctx).Error()
					if may(names, row) {
						Expect(err).NotTo(HaveOccurred(), view)
						continue
					}
					Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%s %s: %v", view, row, err)
					none := views(cfg).Get().AbsPath(base + "/" + view + "/never-was").Do(ctx).Error()
					Expect(err.Error()).To(Equal(strings.ReplaceAll(none.Error(), "never-was", row)))
				}
			}
			selected := rowsOf(cfg, "namespaceusages", "team=canary-label")
			for row := range selected {
				Expect(may(r.get, row)).To(BeTrue(), "the selector reveals the labels of %s", row)
			}
		}
		scrape := front509(Plane.FrontProxy, "front-proxy-client").get("/metrics", map[string]string{"X-Remote-User": "x", "X-Remote-Group": "system:masters"})
		defer func() { _ = scrape.Body.Close() }()
		metrics, err := io.ReadAll(scrape.Body)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(metrics)).To(ContainSubstring("platform_operator_views_mismatches_total"))
		for _, canary := range append([]string{"canary", "hidden-"}, ours...) {
			Expect(string(metrics)).NotTo(ContainSubstring(canary))
			Expect(logs.String()).NotTo(ContainSubstring(canary))
		}
		Expect(logs.String()).To(ContainSubstring("Serving securely"), "the log is captured")
	})
})

// What the program cannot read it cannot show, and it cannot write what it has read (V13).
var _ = Describe("The account of the program", func() {
	DescribeTable("may not", func(verb, group, resource string) {
		review := Create(&authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: accountName, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + home, "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource, Namespace: home},
		}})
		Expect(review.Status.Allowed).To(BeFalse())
	},
		Entry("emit events", "create", "events.k8s.io", "events"),
		Entry("emit events of the old API", "create", "", "events"),
		Entry("read Secrets", "get", "", "secrets"),
		Entry("list Secrets", "list", "", "secrets"),
		Entry("list pods", "list", "", "pods"),
		Entry("create Namespaces", "create", "", "namespaces"),
		Entry("patch Namespaces", "patch", "", "namespaces"),
		Entry("patch APIServices", "patch", "apiregistration.k8s.io", "apiservices"),
		Entry("bind roles", "create", "rbac.authorization.k8s.io", "rolebindings"),
		Entry("impersonate", "impersonate", "", "users"),
	)
})

// keys are those of a map, sorted.
func keys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
