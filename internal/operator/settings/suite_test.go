// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/acme/platform-operator/internal/testenv/limit"
)

// operatorUser runs the watcher with exactly the permissions of the markers in watcher.go.
const operatorUser = "operator"

var (
	admin        client.Client
	adminREST    *rest.Config
	operatorREST *rest.Config
)

func TestWatcherAgainstAPIServer(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "settings", limit.Of(t))
}

var _ = BeforeSuite(func() {
	ctrl.SetLogger(GinkgoLogr)
	env := &envtest.Environment{}
	var err error
	adminREST, err = env.Start()
	Expect(err).NotTo(HaveOccurred(), "starting etcd and kube-apiserver from the folder in KUBEBUILDER_ASSETS")
	DeferCleanup(env.Stop)

	admin, err = client.New(adminREST, client.Options{})
	Expect(err).NotTo(HaveOccurred())
	user, err := env.AddUser(envtest.User{Name: operatorUser}, nil)
	Expect(err).NotTo(HaveOccurred())
	operatorREST = user.Config()
})

// newNamespace makes a namespace in which the operator may do what it does in its own.
func newNamespace(ctx context.Context) string {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "settings-"}}
	Expect(admin.Create(ctx, namespace)).To(Succeed())
	meta := metav1.ObjectMeta{Namespace: namespace.Name, Name: operatorUser}
	Expect(admin.Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{
			APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{ConfigMapName},
			Verbs: []string{"get", "list", "watch"},
		},
		{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
	}})).To(Succeed())
	Expect(admin.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: operatorUser},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: operatorUser}},
	})).To(Succeed())
	may := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: operatorUser,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace.Name, Verb: "get", Resource: "configmaps", Name: ConfigMapName,
		},
	}}
	Eventually(func(g Gomega) {
		g.Expect(admin.Create(ctx, may)).To(Succeed())
		g.Expect(may.Status.Allowed).To(BeTrue(), "the API server has not seen the Role yet")
	}).WithTimeout(soon).Should(Succeed())
	return namespace.Name
}

func newConfigMap(namespace, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: ConfigMapName},
		Data:       map[string]string{ConfigMapKey: text},
	}
}
