// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/acme/platform-operator/internal/testenv"
)

func newAuthority(t *testing.T) *testenv.Authority {
	t.Helper()
	a, err := testenv.NewAuthority("front-proxy")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// frontProxyMap is what kube-apiserver publishes.
func frontProxyMap(ca []byte, names string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: authConfigMap}, Data: map[string]string{
			"requestheader-client-ca-file": string(ca), "requestheader-allowed-names": names,
			"requestheader-username-headers": `["X-Remote-User"]`, "requestheader-group-headers": `["X-Remote-Group"]`,
			"requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
		},
	}
}

// A replica that knows no front proxy answers everybody with 401, so it is not ready: it needs the authority and the names of headers.
func TestAReplicaIsNotReadyWithoutAFrontProxy(t *testing.T) {
	client := fake.NewClientset(frontProxyMap(newAuthority(t).PEM, `["front-proxy-client"]`))
	for name, order := range map[string]string{"the authority first": "ch", "the headers first": "hc"} {
		t.Run(name, func(t *testing.T) {
			config := &genericapiserver.Config{SecureServing: &genericapiserver.SecureServingInfo{}}
			f, err := secure(config, Options{Config: &rest.Config{Host: "localhost"}, Clock: clock.RealClock{}}, client)
			if err != nil {
				t.Fatal(err)
			}
			read := map[rune]func(){
				'c': func() {
					go f.ca.Run(t.Context(), 1)
					for known := false; !known && t.Context().Err() == nil; _, known = f.ca.VerifyOptions() {
						runtime.Gosched()
					}
				},
				'h': func() {
					if err := f.headers.RunOnce(t.Context()); err != nil {
						t.Error(err)
					}
				},
			}
			for _, what := range order {
				if err := f.check(); err == nil || !strings.Contains(err.Error(), "--requestheader-client-ca-file") {
					t.Errorf("before it has read %c: %v", what, err)
				}
				read[what]()
			}
			if err := f.check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// believes reports whether a front proxy with a certificate may say who asks.
func believes(t *testing.T, c *genericapiserver.Config, by *testenv.Authority, name string) bool {
	t.Helper()
	text, _, err := by.Issue(name)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, base, nil)
	request.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{certificate}}
	request.Header.Set("X-Remote-User", "sam")
	answer, ok, _ := c.Authentication.Authenticator.AuthenticateRequest(request)
	return ok && answer.User.GetName() == "sam"
}

// The ConfigMap may come after the replica, and what it takes back counts no longer.
func TestTheFrontProxyIsFollowed(t *testing.T) {
	g := NewWithT(t)
	first, second := newAuthority(t), newAuthority(t)
	client := fake.NewClientset()
	config := &genericapiserver.Config{SecureServing: &genericapiserver.SecureServingInfo{}}
	f, err := secure(config, Options{Config: &rest.Config{Host: "localhost"}, Clock: clock.RealClock{}}, client)
	g.Expect(err).NotTo(HaveOccurred())
	go f.ca.Run(t.Context(), 1)
	go f.Run(t.Context(), 1)
	maps := client.CoreV1().ConfigMaps("kube-system")
	// publish writes until it is read: the fake API server loses what is written between a list and a watch.
	publish := func(names string, authorities ...*testenv.Authority) func() {
		var bundle []byte
		for _, a := range authorities {
			bundle = append(bundle, a.PEM...)
		}
		writes := 0
		return func() {
			writes++
			m := frontProxyMap(bundle, names)
			m.Annotations = map[string]string{"write": fmt.Sprint(writes)}
			if _, err := maps.Update(t.Context(), m, metav1.UpdateOptions{}); apierrors.IsNotFound(err) {
				_, err = maps.Create(t.Context(), m, metav1.CreateOptions{})
				g.Expect(err).NotTo(HaveOccurred())
			}
		}
	}
	g.Consistently(f.check).WithTimeout(100 * time.Millisecond).Should(HaveOccurred())
	g.Expect(believes(t, config, first, "a")).To(BeFalse())
	for _, state := range []struct {
		publish                       func()
		firstAsA, firstAsB, secondAsA bool
	}{
		{publish(`["a","b"]`, first, second), true, true, true},
		{publish(`["a"]`, first, second), true, false, true},
		{publish(`["a"]`, second), false, false, true},
	} {
		g.Eventually(func() []bool {
			state.publish()
			return []bool{f.check() == nil, believes(t, config, first, "a"), believes(t, config, first, "b"), believes(t, config, second, "a")}
		}).WithTimeout(soon).WithPolling(20 * time.Millisecond).Should(Equal([]bool{true, state.firstAsA, state.firstAsB, state.secondAsA}))
	}
}
