// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace_test

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/external/identity/ldaptest"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	"github.com/acme/platform-operator/internal/testenv/loopback"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

func pemOf(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

// otherAuthority is a certificate authority that has signed nothing.
func otherAuthority() []byte {
	GinkgoHelper()
	ca, _, err := cert.GenerateSelfSignedCertKey("elsewhere.acme.com", nil, nil)
	Expect(err).NotTo(HaveOccurred())
	return ca
}

// line is a connection to a server that can be cut.
type line struct {
	address, to string

	mu       sync.Mutex
	listener net.Listener
	open     []net.Conn
}

func newLine(to string) *line {
	GinkgoHelper()
	l := &line{address: loopback.Address(), to: to}
	l.mend()
	DeferCleanup(l.cut)
	return l
}

func (l *line) mend() {
	GinkgoHelper()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", l.address)
	Expect(err).NotTo(HaveOccurred())
	l.mu.Lock()
	l.listener = listener
	l.mu.Unlock()
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := new(net.Dialer).DialContext(ctx, "tcp", l.to)
			if err != nil {
				_ = in.Close()
				continue
			}
			l.mu.Lock()
			l.open = append(l.open, in, out)
			l.mu.Unlock()
			go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
			go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
		}
	}()
}

func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.listener.Close()
	for _, c := range l.open {
		_ = c.Close()
	}
	l.open = nil
}

// directory is a real directory with the user sam, and an operator that is configured to ask it.
type directory struct {
	server *ldaptest.Server
	line   *line
	ca     *corev1.ConfigMap
	bind   *corev1.Secret
	config func(*operator.Options)
}

func newDirectory() *directory {
	GinkgoHelper()
	s := ldaptest.Start(GinkgoT())
	s.AddUser("sam")
	d := &directory{server: s, line: newLine(s.LDAPS[len("ldaps://"):])}
	d.ca = &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: "directory-ca"},
		Data:       map[string]string{"ca.crt": string(s.CA)},
	}
	d.bind = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: "directory-bind"},
		StringData: map[string]string{"username": s.BindDN, "password": s.Password},
	}
	Create(d.ca)
	Create(d.bind)
	DeferCleanup(func() {
		Remove(d.ca)
		Remove(d.bind)
	})
	d.config = Configured(fmt.Sprintf("acmeNamespace: {identity: {type: LDAP, timeout: 3s, usernamePrefix: 'oidc:', "+
		"knownFor: 1ms, unknownFor: 1ms, ldap: {url: ldaps://%s, baseDN: '%s', credentialsSecret: {name: directory-bind}, "+
		"caConfigMap: {name: directory-ca}}}}", d.line.address, s.BaseDN))
	return d
}

const unanswered = "the identity provider could not be queried; the namespace is provided, and the query is repeated. The operator's log shows why"

func asked(user string) func(*v1alpha1.AcmeNamespaceSpec) {
	return func(s *v1alpha1.AcmeNamespaceSpec) { s.AdminUsername = user }
}

var _ = Describe("With a directory and webhooks, the administrator", Ordered, ContinueOnFailure, func() {
	var d *directory
	BeforeAll(func() {
		d = newDirectory()
		StartOperator(d.config, func(o *operator.Options) { o.WebhookPort = 0 })
	})
	BeforeEach(func() { Warned.Take() })

	DescribeTable("is verified", func(name, username string) {
		n := team(name, asked(username))
		Create(n)
		Expect(Warned.Take()).To(BeEmpty())
		AwaitReady(n)
		Expect(Condition(n, "AdminVerified")()).To(Equal("True Done"))
	},
		Entry("when the directory knows the user", "known", "sam"),
		Entry("without the prefix that the cluster puts before the name", "known-prefix", "oidc:sam"),
		Entry("without a query when it is a service account", "known-robot", "system:serviceaccount:ci:deployer"),
	)

	It("is rejected at once when the directory does not know the user", func() {
		n := team("unknown", asked("nobody"))
		err := Admin.Create(ctx, n)
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(ContainSubstring(
			`spec.adminUsername: Forbidden: adminUsername "nobody" is not known to the identity provider; set the name exactly as the provider spells it`)))
		Expect(Gone(n)()).To(Succeed())
	})

	It("cannot be changed to an unknown user", func() {
		n := created(team("unknown-later"))
		patch := client.RawPatch(client.Merge.Type(), []byte(`{"spec":{"adminUsername":"nobody"}}`))
		Expect(Admin.Patch(ctx, n, patch)).To(MatchError(ContainSubstring(`adminUsername "nobody" is not known`)))
	})

	It("is admitted with a warning while the directory is down, and verified when it is up again", func() {
		d.line.cut()
		n := team("unasked")
		Create(n)
		Expect(Warned.Take()).To(ConsistOf(`the identity provider could not be queried for adminUsername "sam"; ` +
			"the object is admitted, and the query is repeated"))
		Eventually(Condition(n, "AdminVerified")).Should(Equal("Unknown IdentityUnreachable"))
		Expect(Message(n, "AdminVerified")).To(Equal(unanswered))
		AwaitReady(n)
		Expect(n.Status.Phase).To(Equal(v1alpha1.PhaseCreated))
		d.line.mend()
		awaitVerified(n)
	})

	It("is admitted with a warning while the directory cannot be trusted, until its authority is correct", func() {
		Change(d.ca, func(cm *corev1.ConfigMap) { cm.Data["ca.crt"] = string(otherAuthority()) })
		n := team("untrusted")
		Create(n)
		Expect(Warned.Take()).To(HaveLen(1))
		Eventually(Condition(n, "AdminVerified")).Should(Equal("Unknown IdentityUnreachable"))
		Change(d.ca, func(cm *corev1.ConfigMap) { cm.Data["ca.crt"] = string(d.server.CA) })
		awaitVerified(n)
	})

	It("is queried with the current password in the Secret", func() {
		d.server.SetPassword("rotated")
		n := team("rotated")
		Create(n)
		Expect(Warned.Take()).To(HaveLen(1))
		Eventually(Condition(n, "AdminVerified")).Should(Equal("Unknown IdentityUnreachable"))
		Change(d.bind, func(s *corev1.Secret) { s.StringData = map[string]string{"password": "rotated"} })
		awaitVerified(n)
	})
})

// awaitVerified has the directory asked until it knows the administrator: a question that was asked before it did may still be
// under way, and its answer counts until the next one.
func awaitVerified(n *v1alpha1.AcmeNamespace) {
	GinkgoHelper()
	Eventually(func() string {
		Poke(n)
		return Condition(n, "AdminVerified")()
	}).WithPolling(time.Second).Should(Equal("True Done"))
}

var _ = Describe("With a directory and without webhooks, the administrator", Ordered, ContinueOnFailure, func() {
	var d *directory
	BeforeAll(func() {
		d = newDirectory()
		StartOperator(d.config)
	})

	It("gets no namespace while the directory does not know the user, and gets it once it does", func() {
		n := team("stranger", asked("oidc:kim"))
		Create(n)
		Eventually(Ready(n)).Should(Equal("False UnknownUser"))
		Expect(Message(n, "AdminVerified")).To(Equal(`adminUsername "oidc:kim" is not known to the identity provider; set the name exactly as the provider spells it`))
		Expect(Condition(n, "Stalled")()).To(Equal("True UnknownUser"))
		Expect(Gone(bareNamespace("app-stranger"))()).To(Succeed())
		d.server.AddUser("kim")
		awaitVerified(n)
		AwaitReady(n)
	})

	It("keeps the namespace when an unknown user replaces a known one", func() {
		n := created(team("replaced"))
		Change(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.AdminUsername = "nobody" })
		Eventually(Ready(n)).Should(Equal("False UnknownUser"))
		Expect(bindingOf(n).Subjects[0].Name).To(Equal("sam"))
		Expect(n.Status.Phase).To(Equal(v1alpha1.PhaseCreated))
		Change(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.AdminUsername = "oidc:sam" })
		AwaitReady(n)
		Expect(bindingOf(n).Subjects[0].Name).To(Equal("oidc:sam"))
	})

	It("gets the namespace while the directory is down, and the query is repeated", func() {
		d.line.cut()
		n := created(team("unasked-loop"))
		Expect(Condition(n, "AdminVerified")()).To(Equal("Unknown IdentityUnreachable"))
		Expect(Message(n, "AdminVerified")).To(Equal(unanswered))
		d.line.mend()
		awaitVerified(n)
	})
})
