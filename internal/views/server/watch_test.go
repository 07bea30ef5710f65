// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/acme/platform-operator/api/views/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv/limit"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// soon is how long a test waits for what a watch shows at once: it only ends what hangs. How soon that is, the bench of the views measures.
const soon = 2 * time.Minute

// stream is a watch of a spec.
type stream struct{ watch.Interface }

// watchAs watches through the API server until the spec ends.
func watchAs(cfg *rest.Config, o metav1.ListOptions) (stream, error) {
	GinkgoHelper()
	o.Watch = true
	w, err := views(cfg).Get().Resource("mynamespaces").VersionedParams(&o, runtime.NewParameterCodec(scheme)).Watch(ctx)
	if err != nil {
		return stream{}, err
	}
	DeferCleanup(w.Stop)
	return stream{w}, nil
}

func mustWatch(cfg *rest.Config, o metav1.ListOptions) stream {
	GinkgoHelper()
	w, err := watchAs(cfg, o)
	Expect(err).NotTo(HaveOccurred())
	return w
}

// from watches from where a list ended.
func from(cfg *rest.Config) stream {
	GinkgoHelper()
	list, err := myNamespaces(cfg)
	Expect(err).NotTo(HaveOccurred())
	return mustWatch(cfg, metav1.ListOptions{ResourceVersion: list.ResourceVersion, AllowWatchBookmarks: true})
}

// next is the next event but bookmarks, which must come soon.
func (s stream) next() watch.Event {
	GinkgoHelper()
	for deadline := time.After(soon); ; {
		select {
		case e, open := <-s.ResultChan():
			Expect(open).To(BeTrue(), "the watch ended")
			if e.Type != watch.Bookmark {
				return e
			}
		case <-deadline:
			Fail("there is no event")
		}
	}
}

// expect has the next event be of a type, about a namespace.
func (s stream) expect(t watch.EventType, name string) *v1alpha1.MyNamespace {
	GinkgoHelper()
	e := s.next()
	n, ok := e.Object.(*v1alpha1.MyNamespace)
	Expect(ok).To(BeTrue(), "%+v", e)
	Expect([]string{string(e.Type), n.Name}).To(Equal([]string{string(t), name}))
	return n
}

// silent has no event come but bookmarks.
func (s stream) silent() {
	GinkgoHelper()
	for deadline := time.After(300 * time.Millisecond); ; {
		select {
		case e, open := <-s.ResultChan():
			Expect(open).To(BeTrue(), "the watch ended")
			Expect(e.Type).To(Equal(watch.Bookmark), "%+v", e)
		case <-deadline:
			return
		}
	}
}

// bookmark is the version of the next event, which is a bookmark.
func (s stream) bookmark() *v1alpha1.MyNamespace {
	GinkgoHelper()
	var e watch.Event
	Eventually(s.ResultChan()).WithTimeout(soon).Should(Receive(&e))
	Expect(e.Type).To(Equal(watch.Bookmark), "%+v", e)
	return e.Object.(*v1alpha1.MyNamespace)
}

var _ = Describe("A watch", func() {
	var name string
	var sam *rest.Config
	BeforeEach(func() { name, sam = newUser("watchers-" + CurrentSpecReport().LeafNodeText[:4]) })

	// V3
	expectDeleted := func(s stream, namespace string) {
		GinkgoHelper()
		gone := s.expect(watch.Deleted, namespace)
		gone.TypeMeta = metav1.TypeMeta{}
		Expect(gone.UID).NotTo(BeEmpty())
		Expect(gone).To(Equal(&v1alpha1.MyNamespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, UID: gone.UID, ResourceVersion: gone.ResourceVersion}}))
		Expect(namesOf(sam)(NewGomegaWithT(GinkgoT()))).NotTo(ContainElement(namespace))
	}

	It("shows a grant and its end (V3)", func() {
		mine := Namespace()
		s := from(sam)
		binding := grant(mine, "view", user(name))
		added := s.expect(watch.Added, mine)
		Expect(added.Roles).To(Equal([]string{"ClusterRole/view"}))
		Expect(added.Phase).To(Equal(corev1.NamespaceActive))
		also := grant(mine, "edit", user(name))
		Expect(s.expect(watch.Modified, mine).Roles).To(Equal([]string{"ClusterRole/edit", "ClusterRole/view"}))
		Remove(binding)
		Expect(s.expect(watch.Modified, mine).Roles).To(Equal([]string{"ClusterRole/edit"}))
		Remove(also)
		expectDeleted(s, mine)
	})

	It("shows a role that is emptied, filled, deleted and created again (V3)", func() {
		mine := Namespace()
		rules := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}}}
		role := Create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: mine, Name: "visitor"}, Rules: rules})
		Create(&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: mine, Name: "visitor"}, Subjects: []rbacv1.Subject{user(name)},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "visitor"},
		})
		Eventually(namesOf(sam)).Should(Equal([]string{mine}))
		s := from(sam)
		Change(role, func(r *rbacv1.Role) { r.Rules = nil })
		expectDeleted(s, mine)
		Change(role, func(r *rbacv1.Role) { r.Rules = rules })
		Expect(s.expect(watch.Added, mine).Roles).To(Equal([]string{"Role/visitor"}))
		Remove(role)
		expectDeleted(s, mine)
		Create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: mine, Name: "visitor"}, Rules: rules})
		s.expect(watch.Added, mine)
	})

	It("shows a group's, a service account's, a cluster-wide and an aggregated grant (V3)", func() {
		mine := Namespace()
		s := from(sam)
		byGroup := grant(mine, "view", group("watchers-show"))
		s.expect(watch.Added, mine)
		Remove(byGroup)
		expectDeleted(s, mine)

		bot := "system:serviceaccount:" + mine + ":bot"
		other := as(bot, "system:serviceaccounts", "system:serviceaccounts:"+mine)
		b := from(other)
		grant(mine, "view", rbacv1.Subject{Kind: "ServiceAccount", Name: "bot", Namespace: mine})
		b.expect(watch.Added, mine)

		everywhere := Create(&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "everywhere-"}, Subjects: []rbacv1.Subject{user(name)},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		})
		seen := map[string]bool{}
		for !seen[mine] {
			e := s.next()
			Expect(e.Type).To(Equal(watch.Added))
			seen[e.Object.(*v1alpha1.MyNamespace).Name] = true
		}
		Remove(everywhere)
		for len(seen) > 0 { // also those that were added after ours
			e := s.next()
			if e.Type == watch.Deleted {
				delete(seen, e.Object.(*v1alpha1.MyNamespace).Name)
			}
		}
		Eventually(namesOf(sam)).Should(BeEmpty())

		s = from(sam)
		whole := Create(&rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "whole-"},
			AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{
				{MatchLabels: map[string]string{"part-of": name}},
			}},
		})
		grant(mine, whole.Name, user(name))
		part := Create(&rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "part-", Labels: map[string]string{"part-of": name}},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}}},
		})
		s.expect(watch.Added, mine)
		Remove(part)
		expectDeleted(s, mine)
	})

	It("ends and begins with the Namespace, and shows its deletion (V3)", func() {
		mine := Namespace()
		grant(mine, "view", user(name))
		Eventually(namesOf(sam)).Should(Equal([]string{mine}))
		s := from(sam)
		Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: mine, Name: "kept", Finalizers: []string{"test/kept"}}})
		Remove(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: mine}})
		terminating := s.expect(watch.Modified, mine)
		Expect(terminating.Phase).To(Equal(corev1.NamespaceTerminating))
		Expect(terminating.DeletionTimestamp).NotTo(BeNil())
		// The controller deletes the binding first, at its own pace: the right is gone before the Namespace.
		Eventually(namesOf(sam)).Should(BeEmpty())
		expectDeleted(s, mine)
		Patch(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: mine, Name: "kept"}}, `{"metadata":{"finalizers":null}}`)
	})

	// V4
	It("resumes from an equal version at the other replica, without events (V4)", func() {
		mine := Namespace()
		grant(mine, "view", user(name))
		Eventually(namesOf(sam)).Should(Equal([]string{mine}))
		DeferCleanup(func() { proxy.to(one, two) })
		proxy.to(one)
		list, err := myNamespaces(sam)
		Expect(err).NotTo(HaveOccurred())
		proxy.to(two)
		s := mustWatch(sam, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		s.silent()
		grant(mine, "edit", user(name))
		s.expect(watch.Modified, mine)
	})

	It("has to list again at the other replica when rows have changed, and not at the same (V4)", func() {
		DeferCleanup(func() { proxy.to(one, two) })
		proxy.to(one) // the other has sent nothing that it could continue from
		mine := Namespace()
		grant(mine, "view", user(name))
		Eventually(namesOf(sam)).Should(Equal([]string{mine}))
		list, err := myNamespaces(sam)
		Expect(err).NotTo(HaveOccurred())
		grant(mine, "edit", user(name))
		Eventually(func(g Gomega) string {
			changed, err := myNamespaces(sam)
			g.Expect(err).NotTo(HaveOccurred())
			return changed.ResourceVersion
		}).ShouldNot(Equal(list.ResourceVersion))
		s := mustWatch(sam, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		Expect(s.expect(watch.Modified, mine).Roles).To(HaveLen(2))
		proxy.to(two)
		Eventually(func() error {
			w, err := watchAs(sam, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
			if err == nil { // that replica has not seen the grant yet
				w.Stop()
			}
			return err
		}).Should(MatchError(apierrors.IsResourceExpired, "expired"))
		_, kim := newUser("watchers-is t")
		_, err = watchAs(kim, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		Expect(err).To(MatchError(apierrors.IsResourceExpired, "expired"), "another user's version")
	})

	It("waits for what a replica ahead has seen, and no longer than three seconds (V4)", func() {
		list, err := myNamespaces(sam)
		Expect(err).NotTo(HaveOccurred())
		far := "9" + list.ResourceVersion
		begin := time.Now()
		err = views(sam).Get().MaxRetries(0).Resource("mynamespaces").Param("resourceVersion", far).Do(ctx).Error()
		Expect(err).To(MatchError(isTooLarge, "too large"))
		if limit.Selected(limit.Timed) {
			Expect(time.Since(begin)).To(BeNumerically("~", 3*time.Second, time.Second))
		}
		exact, err := myNamespaces(sam, metav1.ListOptions{ResourceVersion: list.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
		Expect(err).NotTo(HaveOccurred())
		Expect(exact.ResourceVersion).To(Equal(list.ResourceVersion))
		mine := Namespace()
		grant(mine, "view", user(name))
		Eventually(func() error {
			_, err := myNamespaces(sam, metav1.ListOptions{ResourceVersion: list.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
			return err
		}).Should(MatchError(apierrors.IsResourceExpired, "expired"))
	})

	It("resumes from a bookmark after both replicas started again (V4)", func() {
		mine := Namespace()
		s := from(sam)
		grant(mine, "view", user(name))
		s.expect(watch.Added, mine)
		version := s.bookmark().ResourceVersion
		s.Stop()
		one.stop()
		two.stop()
		one, two = startReplica(), startReplica()
		proxy.to(one, two)
		again := mustWatch(sam, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
		again.silent()
		grant(mine, "edit", user(name))
		again.expect(watch.Modified, mine)
	})

	// V5
	It("begins with what there is, and streams a list (V5)", func() {
		a, b := Namespace(), Namespace()
		grant(a, "view", user(name))
		grant(b, "view", user(name))
		Eventually(namesOf(sam)).Should(HaveLen(2))
		both := []string{min(a, b), max(a, b)}
		for _, version := range []string{"", "0"} {
			s := mustWatch(sam, metav1.ListOptions{ResourceVersion: version})
			s.expect(watch.Added, both[0])
			s.expect(watch.Added, both[1])
			s.silent()
		}
		s := mustWatch(sam, metav1.ListOptions{
			SendInitialEvents: ptr.To(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		})
		s.expect(watch.Added, both[0])
		s.expect(watch.Added, both[1])
		end := s.bookmark()
		Expect(end.Annotations).To(HaveKeyWithValue(metav1.InitialEventsAnnotationKey, "true"))
		list, err := myNamespaces(sam)
		Expect(err).NotTo(HaveOccurred())
		Expect(end.ResourceVersion[len(end.ResourceVersion)-20:]).To(Equal(list.ResourceVersion[len(list.ResourceVersion)-20:]))
		s = mustWatch(sam, metav1.ListOptions{
			SendInitialEvents: ptr.To(false), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		})
		s.silent()
	})

	It("obeys selectors of names and labels, also when labels change (V5)", func() {
		a, b := Namespace(), Namespace()
		label := func(namespace, value string) {
			Patch(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, `{"metadata":{"labels":{"team":`+value+`}}}`)
		}
		label(a, `"x"`)
		grant(a, "view", user(name))
		grant(b, "view", user(name))
		Eventually(namesOf(sam)).Should(HaveLen(2))
		byName, err := myNamespaces(sam, metav1.ListOptions{FieldSelector: "metadata.name=" + b})
		Expect(err).NotTo(HaveOccurred())
		Expect(byName.Items).To(HaveLen(1))
		byLabel, err := myNamespaces(sam, metav1.ListOptions{LabelSelector: "team=x"})
		Expect(err).NotTo(HaveOccurred())
		Expect(byLabel.Items).To(HaveLen(1))
		Expect(byLabel.ResourceVersion).To(Equal(byName.ResourceVersion), "the version is that of all rows")

		s := mustWatch(sam, metav1.ListOptions{LabelSelector: "team=x", ResourceVersion: byLabel.ResourceVersion})
		label(b, `"x"`)
		s.expect(watch.Added, b)
		label(a, `"y"`)
		gone := s.expect(watch.Deleted, a)
		Expect(gone.Labels).To(BeEmpty())
		label(a, `"x"`)
		s.expect(watch.Added, a)
		again := mustWatch(sam, metav1.ListOptions{LabelSelector: "team=x", ResourceVersion: byLabel.ResourceVersion})
		// It knows a with x, which holds again.
		again.expect(watch.Added, b)
		again.silent()
	})

	It("rejects what it cannot answer (V5)", func() {
		list, err := myNamespaces(sam)
		Expect(err).NotTo(HaveOccurred())
		for reason, c := range map[string]struct {
			options metav1.ListOptions
			is      func(error) bool
		}{
			"a field that is none":           {metav1.ListOptions{FieldSelector: "status.phase=Active"}, apierrors.IsBadRequest},
			"the namespace":                  {metav1.ListOptions{FieldSelector: "metadata.namespace=x"}, apierrors.IsBadRequest},
			"a selector that is none":        {metav1.ListOptions{LabelSelector: "a=b=c"}, apierrors.IsBadRequest},
			"a version that is none":         {metav1.ListOptions{ResourceVersion: "abc"}, apierrors.IsBadRequest},
			"a continuation":                 {metav1.ListOptions{Continue: "abc"}, apierrors.IsResourceExpired},
			"a version of the cluster":       {metav1.ListOptions{ResourceVersion: "12345"}, apierrors.IsResourceExpired},
			"a number without end":           {metav1.ListOptions{ResourceVersion: strings.Repeat("9", 1000)}, apierrors.IsResourceExpired},
			"exactly a version that is none": {metav1.ListOptions{ResourceVersion: "5", ResourceVersionMatch: metav1.ResourceVersionMatchExact}, apierrors.IsResourceExpired},
		} {
			_, err := myNamespaces(sam, c.options)
			Expect(c.is(err)).To(BeTrue(), "%s: %v", reason, err)
			if c.options.Continue != "" || c.options.ResourceVersionMatch != "" {
				continue
			}
			_, err = watchAs(sam, c.options)
			Expect(c.is(err)).To(BeTrue(), "a watch with %s: %v", reason, err)
		}
		limited, err := myNamespaces(Plane.Config, metav1.ListOptions{Limit: 1})
		Expect(err).NotTo(HaveOccurred())
		Expect(len(limited.Items)).To(BeNumerically(">", 1))
		Expect(limited.Continue).To(BeEmpty())
		s := mustWatch(sam, metav1.ListOptions{FieldSelector: "metadata.name=never-was", ResourceVersion: list.ResourceVersion})
		s.silent()
	})
})
