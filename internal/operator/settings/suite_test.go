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
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/testenv/suite"
)

// operatorUser runs the watcher with exactly the permissions of the markers in watcher.go.
const operatorUser = "operator"

var (
	admin        client.Client
	adminREST    *rest.Config
	operatorREST *rest.Config
)

func TestWatcherAgainstAPIServer(t *testing.T) {
	s := suite.Setup{Scheme: clientgoscheme.Scheme, Log: GinkgoLogr}
	s.Prepare = func() {
		var err error
		admin, adminREST = suite.Admin, suite.Plane.Config
		operatorREST, err = suite.Plane.User(operatorUser)
		Expect(err).NotTo(HaveOccurred())
	}
	s.Run(t, "settings")
}

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
	}).Should(Succeed())
	return namespace.Name
}

func newConfigMap(namespace, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: ConfigMapName},
		Data:       map[string]string{ConfigMapKey: text},
	}
}
