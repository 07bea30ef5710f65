// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy_test

import (
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	"github.com/acme/platform-operator/internal/external/sqldb/sqltest"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("A real PostgreSQL", Ordered, func() {
	var (
		server *sqltest.Server
		ns     string
		d      *appsv1.Deployment
	)

	BeforeAll(func() {
		server = sqltest.StartPostgres(GinkgoT())
		server.Exec("CREATE TABLE settings (name text PRIMARY KEY, value text)", "GRANT SELECT ON settings TO app",
			"INSERT INTO settings VALUES ('release', 'the-first-value'), ('other', 'x')")
		StartOperator(Configured("rebootPolicy: {allowedNetworks: [127.0.0.0/8]}"))
		ns = namespaceWithSecret()
		d = Create(deployment(ns, "web"))
		Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "real"}, StringData: map[string]string{
			"username": server.User, "password": server.Password, "ca.crt": server.CA,
		}})
	})

	served := func(name string) *v1alpha1.RebootPolicy {
		return policy(ns, name, func(s *v1alpha1.RebootPolicySpec) {
			s.Source = v1alpha1.DatabaseSource{
				Type: v1alpha1.DatabasePostgres, Host: server.Host, Port: int32(server.Port), Database: server.Database,
				CredentialsSecretRef: v1alpha1.CredentialsReference{Name: "real"},
				TLS:                  &v1alpha1.SourceTLS{CASecretRef: &v1alpha1.CAReference{Name: "real"}},
			}
			s.Watch.Where, s.Interval = "name = 'release'", at(5*time.Second)
		})
	}

	It("serves 200 policies over two connections", func() {
		var all []*v1alpha1.RebootPolicy
		for i := range 200 {
			all = append(all, Create(served("many-"+strconv.Itoa(i))))
		}
		most := 0
		for _, p := range all {
			Eventually(func() string {
				most = max(most, server.Sessions())
				return Ready(p)()
			}).Should(Equal("True Ready"))
		}
		Expect(most).To(BeElementOf(1, 2))
		for _, p := range all {
			Remove(p)
		}
		Expect(templates(d)).To(Equal(int64(1)))
	})

	It("restarts once for each change, and for nothing else", func() {
		p := watching(served("p"))

		By("changing the value")
		server.Exec("UPDATE settings SET value = 'the-second-value' WHERE name = 'release'")
		Eventually(restarts(p)).Should(Equal(int64(1)))

		By("restarting the server with another password")
		server.SetPassword(`p@:/?#%'\ {`)
		server.Restart()
		Eventually(Ready(p)).Should(Equal("False LoginRefused"))
		Change(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "real"}}, func(s *corev1.Secret) { s.Data["password"] = []byte(server.Password) })
		AwaitReady(p)
		Expect(restarts(p)()).To(Equal(int64(1)))

		By("taking the row away and bringing it back")
		server.Exec("DELETE FROM settings WHERE name = 'release'")
		Eventually(Ready(p)).Should(Equal("False NoRow"))
		server.Exec("INSERT INTO settings VALUES ('release', 'the-second-value')")
		AwaitReady(p)
		Expect(restarts(p)()).To(Equal(int64(1)))
		Expect(templates(d)).To(Equal(int64(2)))
		Expect(everything(p, d)).NotTo(Or(ContainSubstring("-value"), ContainSubstring("app-password"), ContainSubstring("p@:")))
		Expect(server.Sessions()).To(BeElementOf(1, 2))

		By("asking for what a query may not do")
		for query, reason := range map[string]string{
			"SELECT value, name FROM settings WHERE name = 'release'": "ManyColumns",
			"SELECT 1; DROP TABLE settings":                           "StatementRefused",
			"DELETE FROM settings RETURNING value":                    "StatementRefused",
			"SELECT value FROM settings":                              "ManyRows",
		} {
			Change(p, func(p *v1alpha1.RebootPolicy) { p.Spec.Watch = v1alpha1.Watch{Query: query} })
			Eventually(Ready(p)).Should(Equal("False "+reason), query)
		}
		Expect(server.Int("SELECT count(*) FROM settings")).To(Equal(2))
	})
})
