// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	. "github.com/acme/platform-operator/internal/testenv/suite"
)

func TestPathsThatAreServed(t *testing.T) {
	for path, want := range map[string]bool{
		"/apis": true, "/apis/views.acme.com": true, base: true, base + "/": true, "/version": true, "/openapi/v2": true, "/openapi/v3": true,
		"/openapi/v3" + base: true, "/openapi/v3/version": true, "/livez": true, "/readyz": true, "/metrics": true,
		base + "/mynamespaces": true, base + "/namespaceusages/a": true, base + "/tenantusages/a/": true,
		base + "/mynamespaces/" + strings.Repeat("x", maxName):   true,
		base + "/mynamespaces/" + strings.Repeat("x", maxName+1): false,
		base + "/mynamespaces/a/status":                          false,
		base + "/watch/mynamespaces":                             false,
		base + "/namespaces/a/mynamespaces":                      false,
		base + "/anything":                                       false,
		base + "//mynamespaces":                                  false,
		"/":                                                      false, "": false, "/apis/views.acme.com/v1/mynamespaces": false, "/apis/apps/v1/deployments": false, "/api/v1/pods": false,
		"/openapi/v3/apis/apps/v1": false, "/healthz": false, "/readyz/ping": false, "/debug/pprof": false,
	} {
		if got := isServed(path); got != want {
			t.Errorf("%q is served: %t", path, got)
		}
	}
}

var _ = Describe("Paths that a client makes up", func() {
	It("are rejected before they are counted", func() {
		reviews := holdReviews("subjectaccessreviews", true)
		r := reviews.replica()
		client := front509(Plane.FrontProxy, "front-proxy-client")
		client.Transport.(*http.Transport).ForceAttemptHTTP2 = true
		as := func(name string) map[string]string {
			return map[string]string{"X-Remote-User": name, "X-Remote-Group": "system:authenticated"}
		}
		Expect(client.send(r, "", "/readyz", nil, "")).To(Equal(http.StatusOK), "there is a connection for all")
		var waiting sync.WaitGroup
		for i := range maxArrived {
			waiting.Go(func() {
				defer GinkgoRecover()
				client.send(r, "", base+"/mynamespaces", as(fmt.Sprint("waits-", i)), "")
			})
		}
		Eventually(reviews.count.Load).Should(BeNumerically(">=", maxArrived))
		const madeUp = "made-up"
		for i := range 100 {
			for _, path := range []string{"/apis/%s/v1/things", "/apis/views.acme.com/v1alpha1/%s", "/apis/views.acme.com/v1alpha1/mynamespaces/a/%s", "/%s"} {
				path = fmt.Sprintf(path, fmt.Sprint(madeUp, i))
				Expect(client.send(r, "", path, as("eve"), "")).To(Equal(http.StatusNotFound), path)
			}
		}
		reviews.letGo()
		waiting.Wait()
		families, err := legacyregistry.DefaultGatherer.Gather()
		Expect(err).NotTo(HaveOccurred())
		for _, f := range families {
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					Expect(l.GetValue()).NotTo(ContainSubstring(madeUp), "%s has %s", f.GetName(), l.GetName())
				}
			}
		}
	})

	It("are rejected, and so are methods", func() {
		client := front509(Plane.FrontProxy, "front-proxy-client")
		headers := map[string]string{"X-Remote-User": "sam", "X-Remote-Group": "system:authenticated"}
		for _, method := range []string{http.MethodPost, http.MethodOptions, "MADEUP"} {
			Expect(client.send(one, method, base+"/mynamespaces", headers, "")).To(Equal(http.StatusMethodNotAllowed), method)
		}
		Expect(client.send(one, "", base+"/mynamespaces/"+strings.Repeat("x", maxName+1), headers, "")).To(Equal(http.StatusNotFound))
	})
})

var _ = Describe("A selector that cannot be read", func() {
	It("is rejected, and not logged", func() {
		_, sam := newUser()
		for _, watch := range []string{"", "1"} {
			for key, value := range map[string]string{"labelSelector": "((canary-1", "fieldSelector": "canary-2"} {
				err := views(sam).Get().Resource("mynamespaces").Param("watch", watch).Param(key, value).Do(ctx).Error()
				Expect(statusOf(err)).To(Equal(http.StatusBadRequest), "%s: %v", key, err)
				Expect(err).To(MatchError(Or(ContainSubstring("expected"), ContainSubstring("invalid selector"))), "its user learns what is wrong")
			}
		}
		klog.Flush()
		Expect(logs.String()).NotTo(ContainSubstring("canary"))
	})
})
