// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy_test

import (
	"fmt"
	"net/netip"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	tenancy "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/controller/rebootpolicy"
	"github.com/acme/platform-operator/internal/external/sqldb/sqltest"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("Somebody who means harm", Ordered, func() {
	var server *sqltest.Server

	BeforeAll(func() {
		server = sqltest.StartPostgres(GinkgoT())
		server.SetPassword("canary-password")
		server.Exec("CREATE TABLE settings (value text)", "GRANT SELECT ON settings TO app", "INSERT INTO settings VALUES ('canary-value')",
			"CREATE FUNCTION raise() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'canary-raised'; END $$",
			"CREATE FUNCTION chatter() RETURNS int LANGUAGE plpgsql AS $$ BEGIN SET client_min_messages = 'notice'; "+
				"FOR i IN 1..500 LOOP RAISE NOTICE '%', repeat('canary-notice', 1000); END LOOP; RETURN 1; END $$")
		StartOperator(Configured("rebootPolicy: {allowedNetworks: [127.0.0.0/8]}"))
	})

	// surround gives a namespace the Secret with the credentials.
	surround := func(ns string) {
		Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "real"}, StringData: map[string]string{
			"username": server.User, "password": server.Password, "other": "canary-other", "ca.crt": server.CA,
		}})
	}
	reading := func(ns, name string, with ...func(*v1alpha1.RebootPolicySpec)) *v1alpha1.RebootPolicy {
		return policy(ns, name, append([]func(*v1alpha1.RebootPolicySpec){func(s *v1alpha1.RebootPolicySpec) {
			s.Source = v1alpha1.DatabaseSource{
				Type: v1alpha1.DatabasePostgres, Host: server.Host, Port: int32(server.Port), Database: server.Database,
				CredentialsSecretRef: v1alpha1.CredentialsReference{Name: "real"},
				TLS:                  &v1alpha1.SourceTLS{CASecretRef: &v1alpha1.CAReference{Name: "real"}},
			}
			s.Interval = at(5 * time.Second)
		}}, with...)...)
	}

	It("has neither passwords nor values repeated", func() {
		ns := Namespace()
		surround(ns)
		d := Create(deployment(ns, "web"))
		asking := func(query string) func(*v1alpha1.RebootPolicySpec) {
			return func(s *v1alpha1.RebootPolicySpec) { s.Watch = v1alpha1.Watch{Query: query} }
		}
		for _, c := range []struct {
			name, want string
			with       func(*v1alpha1.RebootPolicySpec)
		}{
			{"password-as-user", "LoginRefused", func(s *v1alpha1.RebootPolicySpec) { s.Source.CredentialsSecretRef.UsernameKey = "password" }},
			{"another-password", "LoginRefused", func(s *v1alpha1.RebootPolicySpec) { s.Source.CredentialsSecretRef.PasswordKey = "other" }},
			{"password-as-authority", "SourceInvalid", func(s *v1alpha1.RebootPolicySpec) { s.Source.TLS.CASecretRef.Key = "password" }},
			{"cast", "StatementRefused", asking("SELECT value::int FROM settings")},
			{"raised", "StatementRefused", asking("SELECT raise()")},
			{"notices", "ValueTooLarge", asking("SELECT chatter()")},
			{"value", "Ready", func(*v1alpha1.RebootPolicySpec) {}},
		} {
			p := Create(reading(ns, c.name, c.with))
			Eventually(Condition(p, "Ready")).Should(HaveSuffix(" "+c.want), c.name)
			Expect(everything(p, d)).NotTo(ContainSubstring("canary"), c.name)
		}
		if line := leaked.Load(); line != nil {
			Fail("the log holds: " + *line)
		}
	})

	It("reaches what a tier lets the namespace's pods reach, and nothing else", func() {
		name := Namespace() + "-prod"
		an := AwaitReady(Create(&tenancy.AcmeNamespace{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: tenancy.AcmeNamespaceSpec{
			NamespaceName: name, AdminUsername: "sam", DeploymentTier: common.TierProd,
		}}))
		DeferCleanup(func() { Remove(an) })
		surround(name)
		Create(deployment(name, "web"))
		address := Create(reading(name, "address"))
		closed := Create(reading(name, "closed", func(s *v1alpha1.RebootPolicySpec) { s.Source.Port = 1 }))
		byName := Create(reading(name, "name", func(s *v1alpha1.RebootPolicySpec) { s.Source.Host = "localhost" }))
		unknown := Create(reading(name, "unknown", func(s *v1alpha1.RebootPolicySpec) { s.Source.Host = "nowhere.invalid" }))
		for _, p := range []*v1alpha1.RebootPolicy{address, closed} {
			Eventually(Ready(p)).Should(Equal("False AddressForbidden"))
		}
		for _, p := range []*v1alpha1.RebootPolicy{byName, unknown} {
			Eventually(Ready(p)).Should(Equal("False SourceUnreachable"))
			Expect(Message(p, "ValueRead")).To(HavePrefix(fmt.Sprintf("cannot connect to %s:%d: the host does not exist, does not answer, or may not be connected to",
				p.Spec.Source.Host, p.Spec.Source.Port)))
		}

		tier := Create(&tenancy.DeploymentTier{ObjectMeta: metav1.ObjectMeta{Name: "prod"}, Spec: tenancy.DeploymentTierSpec{
			Network: &tenancy.NetworkRules{Isolation: tenancy.IsolationIngressAndEgress, ToCIDRs: []string{"127.0.0.0/8"}},
		}})
		DeferCleanup(func() { Remove(tier) })
		AwaitReady(address)
		Eventually(Ready(closed)).Should(Equal("False SourceUnreachable"))
	})

	It("reaches the pods and Services that the namespace's pods reach", func() {
		ns, other := Namespace(), Namespace()
		surround(ns)
		Create(deployment(ns, "web"))
		isolated := Create(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "isolated"}, Spec: networkingv1.NetworkPolicySpec{
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
			Egress:      []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}},
		}})
		served := func(ns string) *corev1.Pod {
			pod := Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "db"}, Spec: template("db").Spec})
			pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, server.Host
			pod.Status.PodIPs = []corev1.PodIP{{IP: server.Host}}
			Expect(Admin.Status().Update(ctx, pod)).To(Succeed())
			return pod
		}
		theirs := served(other)
		p := Create(reading(ns, "p"))
		Eventually(Ready(p)).Should(Equal("False AddressForbidden"))
		Remove(theirs)
		served(ns)
		AwaitReady(p)

		reach := rebootpolicy.Reach{Live: Admin}
		allowed := func(s *corev1.Service, port uint16) bool {
			ok, err := reach.Allowed(ctx, ns, netip.AddrPortFrom(netip.MustParseAddr(s.Spec.ClusterIP), port))
			Expect(err).NotTo(HaveOccurred())
			return ok
		}
		service := func(ns, name string, selector map[string]string) *corev1.Service {
			return Create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: corev1.ServiceSpec{
				Selector: selector, Ports: []corev1.ServicePort{{Port: 5432, TargetPort: intstr.FromInt32(15432)}},
			}})
		}
		selector := map[string]string{"app": "db"}
		mine := service(ns, "db", selector)
		Expect(allowed(mine, 5432)).To(BeTrue())
		Expect(allowed(mine, 5433)).To(BeFalse())
		Expect(allowed(service(other, "db", selector), 5432)).To(BeFalse())
		Expect(allowed(service(ns, "anywhere", nil), 5432)).To(BeFalse())

		By("resolving the name of a Service's port at its pods, where a NetworkPolicy has the number")
		Change(isolated, func(p *networkingv1.NetworkPolicy) {
			p.Spec.Egress[0].Ports = []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt32(15432))}}
		})
		byName := Create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "by-name"}, Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "named"}, Ports: []corev1.ServicePort{{Port: 5432, TargetPort: intstr.FromString("sql")}},
		}})
		Expect(allowed(byName, 5432)).To(BeFalse())
		named := template("named")
		named.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "sql", ContainerPort: 15432}}
		Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "named", Labels: map[string]string{"app": "named"}}, Spec: named.Spec})
		Expect(allowed(byName, 5432)).To(BeTrue())
	})
})
