// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// The steps of docs/views.md that say who may ask.
var _ = Describe("The right to ask", func() {
	It("is checked by the API server, and by the replica: without the role a user is forbidden", func() {
		front := front509(Plane.FrontProxy, testenv.FrontProxyName)
		vouched := func(name string) any {
			return front.names(map[string]string{"X-Remote-User": name, "X-Remote-Group": "system:authenticated"})
		}
		_, sam := newUser()
		kim, _ := newUser()
		Eventually(namesOf(sam)).Should(BeEmpty())
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "platform-operator-views-user"}}
		Expect(Reload(binding)).To(Succeed())
		restore := func() {
			Create(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: binding.Name}, RoleRef: binding.RoleRef, Subjects: binding.Subjects})
			Eventually(namesOf(sam)).Should(BeEmpty())
			Eventually(vouched).WithArguments(kim).Should(Equal([]string{}))
		}
		Remove(binding)
		DeferCleanup(restore)
		Eventually(func() error {
			_, err := myNamespaces(sam)
			return err
		}).Should(MatchError(apierrors.IsForbidden, "forbidden"))
		Expect(vouched(kim)).To(Equal(http.StatusForbidden), "although the front proxy asks")
	})

	It("of a token for the metrics is reviewed", func() {
		mine := Namespace()
		scraper := Create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: mine, Name: "scraper"}})
		token := &authenticationv1.TokenRequest{}
		Expect(Admin.SubResource("token").Create(ctx, scraper, token)).To(Succeed())
		scrape := func() int {
			return bypass().get("/metrics", map[string]string{"Authorization": "Bearer " + token.Status.Token}).StatusCode
		}
		Expect(scrape()).To(Equal(http.StatusForbidden))
		Create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: mine}, Rules: []rbacv1.PolicyRule{
			{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}},
		}})
		Create(&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: mine}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: mine},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: mine, Name: scraper.Name}},
		})
		Eventually(scrape).Should(Equal(http.StatusOK))
	})
})
