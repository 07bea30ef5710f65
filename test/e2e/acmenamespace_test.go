// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
)

const (
	platformAdmin = "priya" // hands out namespaces
	teamName      = "team-x"
	teamNamespace = "app-y"
	teamAdmin     = "sam"
	seeds         = "internal/controller/acmenamespace/testdata/seeds"
)

var acmeNamespaceGVK = tenancyv1alpha1.GroupVersion.WithKind("AcmeNamespace")

var _ = withOperator("AcmeNamespace", func() {
	var sam client.Client
	var kubeconfig string

	It("provides a namespace for a platform administrator", func(ctx SpecContext) {
		Expect(lab.client.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "platform-admins"},
			RoleRef: rbacv1.RoleRef{
				APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "platform-operator-tenancy-acmenamespace-editor-role",
			},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: platformAdmin}},
		})).To(Succeed())
		manifests, err := testenv.ReadObjects(testenv.RepoFile(filepath.Join(seeds, "acmenamespace-minimal.yaml")))
		Expect(err).NotTo(HaveOccurred())
		admin := lab.impersonate(platformAdmin)
		for _, m := range manifests {
			eventually(ctx, "the role counts", soon, func(g Gomega) { g.Expect(admin.Create(ctx, m)).To(Succeed()) })
		}
		lab.awaitNamespace(ctx, teamName)
		out, err := lab.kubectl(ctx, lab.cluster.KubeconfigPath(), "get", "acmenamespaces")
		Expect(err).NotTo(HaveOccurred(), out)
		say("%s applied the AcmeNamespace; kubectl get acmenamespaces:\n%s", platformAdmin, out)
	}, NodeTimeout(3*soon))

	It("lets its administrator work there with a client certificate", func(ctx SpecContext) {
		kubeconfig, sam = lab.login(teamAdmin, teamNamespace)
		pod := lab.pod(teamNamespace, "web", "serve")
		eventually(ctx, "the role, the quota and the service account are there", soon, func(g Gomega) {
			g.Expect(client.IgnoreAlreadyExists(sam.Create(ctx, pod.DeepCopy()))).To(Succeed())
		})
		eventually(ctx, "the pod runs", soon, func(g Gomega) {
			g.Expect(sam.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
			g.Expect(ready(*pod)).To(BeTrue())
		})
		out, err := lab.kubectl(ctx, kubeconfig, "exec", "web", "--", "/app", "get", "http://127.0.0.1:8080/")
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).To(Equal("hello"))
		say("%s logged in, runs a pod under the restricted rules, and the pod says %q", teamAdmin, out)
	}, NodeTimeout(3*soon))

	It("does not let the administrator out, nor undo the guardrails", func(ctx SpecContext) {
		checkCannotCreate(ctx, sam)
		checkCannotUndo(ctx, sam)
	}, NodeTimeout(soon))
})

// awaitNamespace waits until an AcmeNamespace is ready.
func (w *world) awaitNamespace(ctx context.Context, name string) *tenancyv1alpha1.AcmeNamespace {
	GinkgoHelper()
	n := &tenancyv1alpha1.AcmeNamespace{}
	eventually(ctx, name+" is ready", soon, func(g Gomega) {
		g.Expect(w.client.Get(ctx, client.ObjectKey{Name: name}, n)).To(Succeed())
		c := meta.FindStatusCondition(n.Status.Conditions, "Ready")
		g.Expect(c).NotTo(BeNil())
		g.Expect(c.Status).To(Equal(metav1.ConditionTrue), c.Message)
		g.Expect(c.ObservedGeneration).To(Equal(n.Generation))
	})
	return n
}

// pod is one that runs the test program, under the rules of the level restricted.
func (w *world) pod(namespace, name string, args ...string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "main", Image: w.app, Args: args,
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}

// checkCannotCreate expects that the administrator of a namespace cannot get beyond it.
func checkCannotCreate(ctx context.Context, sam client.Client) {
	GinkgoHelper()
	elsewhere := lab.pod("default", "elsewhere", "serve")
	privileged := lab.pod(teamNamespace, "privileged", "serve")
	privileged.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
	host := lab.pod(teamNamespace, "host", "serve")
	host.Spec.HostNetwork = true
	user := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: teamAdmin}}
	everything := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}
	for what, object := range map[string]client.Object{
		"a pod in another namespace":    elsewhere,
		"a privileged pod":              privileged,
		"a pod in the node's network":   host,
		"a ClusterRoleBinding":          &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "sam"}, RoleRef: everything, Subjects: user},
		"a RoleBinding to everything":   &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: teamNamespace, Name: "sam"}, RoleRef: everything, Subjects: user},
		"a Namespace":                   &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "mine"}},
		"an AcmeNamespace":              &tenancyv1alpha1.AcmeNamespace{ObjectMeta: metav1.ObjectMeta{Name: "mine"}},
		"a NetworkPolicy that opens up": &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: teamNamespace, Name: "open"}},
	} {
		err := sam.Create(ctx, object)
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "creating %s: %v", what, err)
		say("forbidden: to create %s", what)
	}
}

// checkCannotUndo expects that guardrails stay what they are.
func checkCannotUndo(ctx context.Context, sam client.Client) {
	GinkgoHelper()
	lists := []client.ObjectList{&corev1.ResourceQuotaList{}, &corev1.LimitRangeList{}, &networkingv1.NetworkPolicyList{}}
	for _, list := range lists {
		Expect(lab.client.List(ctx, list, client.InNamespace(teamNamespace))).To(Succeed())
		Expect(meta.LenList(list)).To(BeNumerically(">", 0), "%T", list)
	}
	for what, object := range map[string]client.Object{
		"the quota":                &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: teamNamespace, Name: "dev"}},
		"the administrator's role": &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: teamNamespace, Name: "namespace-admin"}},
		"the namespace":            &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: teamNamespace}},
		"the AcmeNamespace":        &tenancyv1alpha1.AcmeNamespace{ObjectMeta: metav1.ObjectMeta{Name: teamName}},
	} {
		err := sam.Delete(ctx, object)
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "deleting %s: %v", what, err)
		say("forbidden: to delete %s", what)
	}
}
