// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/acme/platform-operator/api/views/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// direct is a client that goes around kube-apiserver, to a replica; nil is the first one.
type direct struct {
	http.Client
	replica *replica
}

// to is the client of another replica.
func (d direct) to(r *replica) direct {
	d.replica = r
	return d
}

// bypass is such a client, with a certificate or without one.
func bypass(certificates ...tls.Certificate) direct {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(serving.PEM)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: certificates, MinVersion: tls.VersionTLS12}}
	DeferCleanup(transport.CloseIdleConnections)
	return direct{Client: http.Client{Transport: transport}}
}

// front509 is such a client with a certificate of an authority.
func front509(a *testenv.Authority, name string) direct {
	GinkgoHelper()
	certPEM, keyPEM, err := a.Issue(name)
	Expect(err).NotTo(HaveOccurred())
	certificate, err := tls.X509KeyPair(certPEM, keyPEM)
	Expect(err).NotTo(HaveOccurred())
	return bypass(certificate)
}

// get gives an answer whose body was read.
func (d direct) get(path string, headers map[string]string) *http.Response {
	GinkgoHelper()
	r := d.replica
	if r == nil {
		r = one
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://localhost:%d%s", r.port(), path), nil)
	Expect(err).NotTo(HaveOccurred())
	for key, value := range headers {
		request.Header.Set(key, value)
	}
	answer, err := d.Do(request)
	Expect(err).NotTo(HaveOccurred())
	return answer
}

// names are those of the namespaces that a list has, or the code of an answer without one.
func (d direct) names(headers map[string]string) any {
	GinkgoHelper()
	answer := d.get(base+"/mynamespaces", headers)
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return answer.StatusCode
	}
	text, err := io.ReadAll(answer.Body)
	Expect(err).NotTo(HaveOccurred())
	list := &v1alpha1.MyNamespaceList{}
	Expect(json.Unmarshal(text, list)).To(Succeed())
	names := []string{}
	for _, n := range list.Items {
		names = append(names, n.Name)
	}
	return names
}

// Which identities are believed (V7).
var _ = Describe("Users", func() {
	var mine, name string
	var sam *rest.Config
	BeforeEach(func() {
		mine = Namespace()
		name, sam = newUser()
		grant(mine, "view", user(name))
		Eventually(namesOf(sam)).Should(Equal([]string{mine}))
	})
	spoofed := func() map[string]string {
		return map[string]string{"X-Remote-User": name, "X-Remote-Group": "system:authenticated"}
	}

	It("are vouched for by the front proxy's certificate, and by nothing else", func() {
		Expect(front509(Plane.FrontProxy, "front-proxy-client").names(spoofed())).To(Equal([]string{mine}))
		Expect(front509(Plane.FrontProxy, "front-proxy-client").names(nil)).To(Equal(http.StatusUnauthorized), "without headers")
		Expect(bypass().names(spoofed())).To(Equal(http.StatusUnauthorized), "without a certificate")
		Expect(front509(Plane.FrontProxy, "somebody").names(spoofed())).To(Equal(http.StatusUnauthorized), "another name")
		own, err := tls.X509KeyPair(sam.CertData, sam.KeyData)
		Expect(err).NotTo(HaveOccurred())
		Expect(bypass(own).names(spoofed())).To(Equal(http.StatusUnauthorized), "a user's own certificate")
		other, err := testenv.NewAuthority("front-proxy")
		Expect(err).NotTo(HaveOccurred())
		Expect(front509(other, "front-proxy-client").names(spoofed())).To(Equal(http.StatusUnauthorized), "another authority")
		Expect(bypass().names(map[string]string{"Authorization": "Bearer nonsense"})).To(Equal(http.StatusUnauthorized))
		for _, probe := range probes {
			Expect(bypass().get(probe, nil).StatusCode).To(Equal(http.StatusOK), probe)
			Expect(bypass().get(probe+"/ping", nil).StatusCode).To(Equal(http.StatusUnauthorized), probe)
		}
		Expect(bypass().get("/metrics", nil).StatusCode).To(Equal(http.StatusUnauthorized))
	})

	It("are who the token says for metrics only, whatever the headers say, and impersonate nobody", func() {
		Create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: mine, Name: "bot"}})
		review := &authenticationv1.TokenRequest{}
		Expect(Admin.SubResource("token").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: mine, Name: "bot"}}, review)).To(Succeed())
		account := rbacv1.Subject{Kind: "ServiceAccount", Namespace: mine, Name: "bot"}
		grant(mine, "view", account)
		headers := spoofed()
		headers["X-Remote-Group"] = "system:masters"
		headers["Authorization"] = "Bearer " + review.Status.Token
		metrics := func() int { return bypass().get("/metrics", headers).StatusCode }
		Expect(metrics()).To(Equal(http.StatusForbidden))
		Create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: mine}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"users"}, Verbs: []string{"impersonate"}},
			{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}},
		}})
		Create(&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: mine}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: mine},
			Subjects: []rbacv1.Subject{account},
		})
		Eventually(metrics).Should(Equal(http.StatusOK))
		Expect(bypass().names(headers)).To(Equal(http.StatusUnauthorized), "views are for kube-apiserver to ask")
		bot := rest.AnonymousClientConfig(Plane.Config)
		bot.BearerToken, bot.Impersonate = review.Status.Token, rest.ImpersonationConfig{UserName: name}
		Eventually(namesOf(bot)).Should(Equal([]string{mine}), "through kube-apiserver it may")
		headers["Impersonate-User"] = name
		Expect(metrics()).To(Equal(http.StatusForbidden))
	})

	It("cannot be spoofed through the API server", func() {
		_, eve := newUser()
		eve.NextProtos = []string{"http/1.1"} // HTTP/2 knows no such headers
		for _, header := range []string{"X-Remote-User", "x-remote-user", "X-Remote-Group", "X-Remote-Uid", "X-Remote-Extra-Scopes"} {
			value := name
			if header == "X-Remote-Group" {
				value = "system:masters"
			}
			for _, connection := range []string{"", "X-Remote-User, X-Remote-Group"} {
				list := &v1alpha1.MyNamespaceList{}
				r := views(eve).Get().Resource("mynamespaces").SetHeader(header, value)
				if connection != "" {
					r = r.SetHeader("Connection", connection)
				}
				Expect(r.Do(ctx).Into(list)).To(Succeed())
				Expect(list.Items).To(BeEmpty(), header)
			}
		}
		nobody := rest.AnonymousClientConfig(Plane.Config)
		_, err := myNamespaces(nobody)
		Expect(err).To(MatchError(apierrors.IsForbidden, "forbidden"))
	})

	It("are those that an administrator impersonates, with UID, groups and extras", func() {
		cfg := rest.CopyConfig(Plane.Config)
		cfg.Impersonate = rest.ImpersonationConfig{
			UserName: name, UID: "some-uid", Groups: []string{"system:authenticated"}, Extra: map[string][]string{"scopes": {"system:masters"}},
		}
		Expect(namesOf(cfg)(NewGomegaWithT(GinkgoT()))).To(Equal([]string{mine}))
		other := Namespace()
		grant(other, "view", group("impersonated"))
		cfg.Impersonate.Groups = append(cfg.Impersonate.Groups, "impersonated")
		Eventually(namesOf(cfg)).Should(ConsistOf(mine, other))
	})

	It("are believed from a new authority and a new name of the front proxy without a restart", func() {
		next, err := testenv.NewAuthority("front-proxy-2")
		Expect(err).NotTo(HaveOccurred())
		client := front509(next, "front-proxy-client")
		Expect(client.names(spoofed())).To(Equal(http.StatusUnauthorized))
		Expect(os.WriteFile(Plane.FrontProxyFile, slices.Concat(Plane.FrontProxy.PEM, next.PEM), 0o600)).To(Succeed())
		Eventually(func() any { return front509(next, "front-proxy-client").names(spoofed()) }).Should(Equal([]string{mine}))
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: authConfigMap}}
		Change(config, func(c *corev1.ConfigMap) { c.Data["requestheader-allowed-names"] = `["front-proxy-client","renamed"]` })
		Eventually(func() any { return front509(next, "renamed").names(spoofed()) }).Should(Equal([]string{mine}))
	})

	It("get no other's answer, many at a time", func() {
		var asking sync.WaitGroup
		wrong := make(chan string, 1000)
		namespaces := make([]string, 10)
		for i := range namespaces {
			namespaces[i] = Namespace()
		}
		for i := range 100 {
			grant(namespaces[i%10], "view", user(fmt.Sprintf("crowd-%d", i)))
		}
		Eventually(namesOf(as("crowd-99"))).Should(HaveLen(1))
		for i := range 100 {
			client := views(as(fmt.Sprintf("crowd-%d", i)))
			asking.Go(func() {
				for range 5 {
					list := &v1alpha1.MyNamespaceList{}
					if err := client.Get().Resource("mynamespaces").Do(ctx).Into(list); err != nil || len(list.Items) != 1 || list.Items[0].Name != namespaces[i%10] {
						wrong <- fmt.Sprintf("crowd-%d: %d rows, %v", i, len(list.Items), err)
					}
				}
			})
		}
		asking.Wait()
		close(wrong)
		Expect(wrong).NotTo(Receive())
	})
})
