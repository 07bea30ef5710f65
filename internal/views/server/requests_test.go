// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authuser "k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// A watch keeps its request: the watches of one user, with as much as a connection admits, would take more memory than a replica has.
var _ = Describe("A request", func() {
	It("is rejected if it says more than any client needs, with what to do", func() {
		_, sam := newUser()
		for what, c := range map[string]struct {
			selector, header string
			code             int
			message          string
		}{
			"a long selector":      {selector: strings.Repeat("a!=b,", maxURL/8) + "a!=b", code: http.StatusRequestURITooLong, message: "use a shorter selector"},
			"long headers":         {header: strings.Repeat("x", maxHeaders), code: http.StatusRequestHeaderFieldsTooLarge, message: "send only those that are needed"},
			"many requirements":    {selector: strings.Repeat("a,", 200) + "a", code: http.StatusBadRequest, message: "use at most"},
			"neither":              {selector: strings.Repeat("a!="+strings.Repeat("b", 60)+",", 40) + "a!=b", header: strings.Repeat("x", maxHeaders/2)},
			"nothing that is long": {},
		} {
			for _, watch := range []string{"", "1"} {
				r := views(sam).Get().Resource("mynamespaces").SetHeader("X-Note", c.header).Param("timeoutSeconds", "1")
				if watch != "" {
					r = r.Param("watch", watch)
				}
				if c.selector != "" {
					r = r.Param("labelSelector", c.selector)
				}
				err := r.Do(ctx).Error()
				Expect(statusOf(err)).To(Equal(c.code), "%s: %v", what, err)
				if c.code != 0 {
					Expect(err).To(MatchError(ContainSubstring(c.message)), what)
				}
			}
		}
	})

	It("is answered for users of many groups with odd names (V16)", func() {
		mine := Namespace()
		odd := strings.Repeat("grüße 群 :/%\"\\", 15)
		const many = 1000
		var groups []string
		for i := range many {
			groups = append(groups, fmt.Sprintf("%s-%d", odd, i))
		}
		grant(mine, "view", group(groups[many-1]))
		Eventually(namesOf(as("ödd "+odd, groups...))).Should(Equal([]string{mine}))
		Expect(namesOf(as("ödd "+odd, groups[:many-1]...))(NewGomegaWithT(GinkgoT()))).To(BeEmpty())
	})

	It("is answered for a Namespace of many long labels (V16)", func() {
		mine := Namespace()
		name, sam := newUser()
		grant(mine, "view", user(name))
		labels, key, value := map[string]string{}, "", strings.Repeat("z", 63)
		for i := range 63 {
			key = fmt.Sprintf("%s.example/%s%d", strings.Repeat("x", 63), strings.Repeat("y", 60), i)
			labels[key] = value
		}
		Change(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: mine}}, func(n *corev1.Namespace) { maps.Copy(n.Labels, labels) })
		Eventually(func(g Gomega) {
			list, err := myNamespaces(sam, metav1.ListOptions{LabelSelector: key + "=" + value})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(list.Items).To(HaveLen(1))
			g.Expect(list.Items[0].Labels).To(HaveLen(len(labels)+1), "and that of its name")
		}).Should(Succeed())
	})

	It("for a row is rejected with a version that is none, and one from another view's version has to list again", func() {
		mine := Namespace()
		name, sam := newUser()
		grant(mine, "view", user(name))
		Eventually(namesOf(sam)).Should(Equal([]string{mine}))
		for version, is := range map[string]func(error) bool{"abc": apierrors.IsBadRequest, "12345": apierrors.IsResourceExpired} {
			err := views(sam).Get().Resource("mynamespaces").Name(mine).Param("resourceVersion", version).Do(ctx).Error()
			Expect(is(err)).To(BeTrue(), "%s: %v", version, err)
		}
		list, err := myNamespaces(sam)
		Expect(err).NotTo(HaveOccurred())
		for view, code := range map[string]int{"mynamespaces": 0, "namespaceusages": http.StatusGone, "tenantusages": http.StatusGone} {
			err := views(sam).Get().Resource(view).Param("watch", "1").Param("timeoutSeconds", "1").Param("resourceVersion", list.ResourceVersion).Do(ctx).Error()
			Expect(statusOf(err)).To(Equal(code), "%s: %v", view, err)
		}
	})
})

// One user who asks for more at once than there is room for does not keep out others, watches or probes.
func TestRequestsAreFair(t *testing.T) {
	hold, arrived := make(chan struct{}), make(chan struct{})
	handler := fair(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-hold
	}), func(_ *http.Request, i *request.RequestInfo) bool { return i.Verb == "watch" })
	done := make(chan *httptest.ResponseRecorder, 1000)
	ask := func(who, path, verb string) {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		who, group, _ := strings.Cut(who, " of ")
		c := request.WithRequestInfo(request.WithUser(r.Context(), &authuser.DefaultInfo{Name: who, Groups: []string{group}}), &request.RequestInfo{Verb: verb})
		go func() {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r.WithContext(c))
			done <- w
		}()
	}
	rejected := func(why string) {
		t.Helper()
		var w *httptest.ResponseRecorder
		select {
		case w = <-done:
		case <-arrived:
			t.Fatalf("%s: it is let in", why)
		}
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), `"reason":"TooManyRequests"`) {
			t.Errorf("%s: %d %s", why, w.Code, w.Body)
		}
	}
	answered := 0
	answer := func(who, path, verb string) {
		t.Helper()
		ask(who, path, verb)
		select {
		case <-arrived:
		case w := <-done:
			t.Fatalf("%s is kept out: %d %s", who, w.Code, w.Body)
		}
		answered++
	}
	for range maxRequestsOfOne {
		answer("system:serviceaccount:a:x", base, "list")
	}
	ask("system:serviceaccount:a:y", base, "list")
	rejected("one user's")
	answer("system:serviceaccount:a:x", base, "watch")
	for i := range maxRequests - maxRequestsOfOne {
		answer(fmt.Sprintf("user-%d", i), base, "list")
	}
	ask("sam", base, "list")
	rejected("all users'")
	for range maxRequests {
		answer("system:kube-aggregator", base, "get")
		answer("admin of system:masters", base, "list")
	}
	ask("sam of system:masters-not", base, "list")
	rejected("all users'")
	for range maxStreamingOfOne {
		answer("eve", base, "watch")
	}
	ask("eve", base, "watch") // the storage has given the places of those back whose time is up, also if nobody reads the rest
	rejected("one user's watches")
	answer("kim", base, "watch")
	close(hold)
	for range answered {
		if w := <-done; w.Code != http.StatusOK {
			t.Errorf("answered with %d", w.Code)
		}
	}
	answer("system:serviceaccount:a:x", base, "list")
	if w := <-done; w.Code != http.StatusOK {
		t.Errorf("places are not given back: %d", w.Code)
	}
}
