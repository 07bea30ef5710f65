// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/testenv/limit"
	. "github.com/acme/platform-operator/internal/testenv/suite"
	"github.com/acme/platform-operator/internal/views/access"
)

// The specification of who sees what is the API server's own answer.
var _ = Describe("Rights", func() {
	compared := func(states int) {
		GinkgoHelper()
		seed := uint64(GinkgoRandomSeed())
		w := newWorld(rand.New(rand.NewPCG(seed, 1)))
		allowed := 0
		for state := range states {
			By(fmt.Sprintf("state %d of seed %d", state, seed))
			w.shake()
			w.awaitAggregation()
			w.compare()
			allowed += len(w.allowed)
			w.compareLists()
			w.compareRules()
		}
		questions := states * len(w.users) * len(w.namespaces) * 2
		AddReportEntry("questions", fmt.Sprintf("%d, of which %d allowed; %d objects made, %d changed in place", questions, allowed, w.made, w.changed))
		Expect(allowed).To(And(BeNumerically(">", questions/200), BeNumerically("<", questions*9/10)), "the states decide nothing")
	}
	It("are those of SubjectAccessReview, in states of RBAC that follow from the seed (V1)", func() { compared(2) })
	It("are those of SubjectAccessReview, in 25 states of RBAC (V1)", Label(limit.Slow), func() { compared(25) })
})

// world is a state of RBAC with the users that it is about.
type world struct {
	*rand.Rand
	reviews    kubernetes.Interface
	namespaces []string
	users      []access.User
	objects    map[string]client.Object
	allowed    map[question]bool // by SubjectAccessReview, in the present state
	made       int
	changed    int // in place
}

func newWorld(r *rand.Rand) *world {
	cfg := rest.CopyConfig(Plane.Config)
	cfg.ContentType = runtime.ContentTypeProtobuf
	w := &world{Rand: r, reviews: kubernetes.NewForConfigOrDie(cfg), objects: map[string]client.Object{}}
	for i := range 60 {
		w.namespaces = append(w.namespaces, fmt.Sprintf("world-%d", i))
		Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespaces[i]}})
		Create(&corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespaces[i], Name: "world"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"persistentvolumeclaims": resource.MustParse("1")}},
		})
	}
	for i := range 40 {
		name, groups := fmt.Sprintf("who-%d", i%25), []string{"system:authenticated"}
		if i%4 == 3 {
			namespace := w.namespaces[i%5]
			name = access.ServiceAccountName(namespace, fmt.Sprintf("bot-%d", i%2))
			groups = append(groups, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
		}
		for range r.IntN(4) {
			groups = append(groups, w.group())
		}
		if i == 8 {
			groups = append(groups, "system:masters")
		}
		w.users = append(w.users, access.NewUser(name, groups))
	}
	DeferCleanup(func() {
		for _, o := range w.objects {
			Remove(o)
		}
	})
	return w
}

func pick[T any](w *world, of ...T) T { return of[w.IntN(len(of))] }

func (w *world) namespace() string { return pick(w, w.namespaces...) }

// group is one that users have, is about service accounts, or has a user's name.
func (w *world) group() string {
	return pick(w, "team-"+strconv.Itoa(w.IntN(6)), "team-"+strconv.Itoa(w.IntN(6)), "who-1", "system:serviceaccounts", "system:serviceaccounts:"+w.namespaces[w.IntN(5)])
}

func (w *world) subject(inNamespace bool) rbacv1.Subject {
	account := rbacv1.Subject{Kind: "ServiceAccount", Name: fmt.Sprintf("bot-%d", w.IntN(2)), Namespace: w.namespaces[w.IntN(5)]}
	switch w.IntN(40) {
	case 36, 37:
		if inNamespace { // otherwise the API server rejects it
			account.Namespace = ""
		}
		return account
	case 38:
		return group("system:authenticated")
	case 39:
		return group("system:masters")
	}
	switch w.IntN(8) {
	case 0:
		return account
	case 1:
		return user(access.ServiceAccountName(account.Namespace, account.Name))
	case 2, 3:
		return group(w.group())
	case 4:
		return group(fmt.Sprintf("who-%d", w.IntN(25)))
	default:
		return user(fmt.Sprintf("who-%d", w.IntN(25)))
	}
}

func (w *world) subjects(inNamespace bool) []rbacv1.Subject {
	var all []rbacv1.Subject
	for range w.IntN(4) {
		all = append(all, w.subject(inNamespace))
	}
	if len(all) > 0 && w.IntN(3) == 0 {
		all = append(all, all[0])
	}
	return all
}

// rule bears on the questions, or nearly so.
func (w *world) rule() rbacv1.PolicyRule {
	r := rbacv1.PolicyRule{
		APIGroups: pick(w, []string{""}, []string{""}, []string{"*"}, []string{"apps", ""}, []string{"apps"}),
		Resources: pick(w, []string{"namespaces"}, []string{"resourcequotas"}, []string{"pods", "namespaces", "resourcequotas"}, []string{"*"},
			[]string{"namespaces/status"}, []string{"*/status"}, []string{"resourcequotas/status", "namespaces/finalize"}),
		Verbs: pick(w, []string{"get"}, []string{"list"}, []string{"get", "list", "watch"}, []string{"*"}, []string{"watch"}, []string{"delete"}),
	}
	if w.IntN(2) == 0 {
		for range 1 + w.IntN(3) {
			r.ResourceNames = append(r.ResourceNames, pick(w, w.namespace(), w.namespaces[w.IntN(5)], "", "compute"))
		}
	}
	return r
}

func (w *world) rules() []rbacv1.PolicyRule {
	var all []rbacv1.PolicyRule
	for range w.IntN(3) {
		all = append(all, w.rule())
	}
	return all
}

// dropped draws a part of the objects, by their keys in order: the seed decides which.
func (w *world) dropped() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.objects)), func(string) bool { return w.IntN(3) > 0 })
}

// shake changes a part of the objects: some are deleted, some created again under their names with another content.
func (w *world) shake() {
	GinkgoHelper()
	for _, key := range w.dropped() {
		Remove(w.objects[key])
		delete(w.objects, key)
	}
	for i := range 12 {
		labels := map[string]string{"part": strconv.Itoa(w.IntN(3))}
		w.make(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("world-%d", i), Labels: labels}, Rules: w.rules()})
	}
	for i := range 2 {
		w.make(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("world-whole-%d", i)}, AggregationRule: &rbacv1.AggregationRule{
			ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"part": strconv.Itoa(w.IntN(4))}}},
		}})
	}
	for range 60 {
		namespace := w.namespace()
		w.make(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("r-%d", w.IntN(3))}, Rules: w.rules()})
	}
	for range 120 {
		w.make(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace(), Name: fmt.Sprintf("b-%d", w.IntN(4))}, RoleRef: w.role(true), Subjects: w.subjects(true)})
	}
	for i := range 6 {
		w.make(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("world-%d", i)}, RoleRef: w.role(false), Subjects: w.subjects(false)})
	}
}

// role refers to a role that exists, mostly.
func (w *world) role(inNamespace bool) rbacv1.RoleRef {
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: pick(w, fmt.Sprintf("world-%d", w.IntN(14)), fmt.Sprintf("world-whole-%d", w.IntN(2)))}
	if inNamespace && w.IntN(3) > 0 {
		ref.Kind, ref.Name = "Role", fmt.Sprintf("r-%d", w.IntN(4))
	}
	return ref
}

func (w *world) make(o client.Object) {
	GinkgoHelper()
	key := fmt.Sprintf("%T/%s/%s", o, o.GetNamespace(), o.GetName())
	if exists, ok := w.objects[key]; ok {
		if w.IntN(2) == 0 {
			w.change(exists, o)
		}
		return
	}
	Eventually(func() error {
		err := Admin.Create(ctx, o)
		if apierrors.IsAlreadyExists(err) { // the controller of aggregated roles applies them, and may create one again that was just deleted
			Expect(client.IgnoreNotFound(Admin.Delete(ctx, o))).To(Succeed())
		}
		return err
	}).Should(Succeed())
	w.objects[key] = o
	w.made++
}

// change gives an object that exists the content of another: the rules of a role, and the subjects of a binding, whose role cannot change.
func (w *world) change(exists, to client.Object) {
	GinkgoHelper()
	switch now := exists.(type) {
	case *rbacv1.Role:
		Change(now, func(r *rbacv1.Role) { r.Rules = to.(*rbacv1.Role).Rules })
	case *rbacv1.ClusterRole:
		if now.AggregationRule == nil { // the controller writes the rules of the others
			Change(now, func(r *rbacv1.ClusterRole) { r.Rules, r.Labels = to.(*rbacv1.ClusterRole).Rules, to.GetLabels() })
		}
	case *rbacv1.RoleBinding:
		Change(now, func(b *rbacv1.RoleBinding) { b.Subjects = to.(*rbacv1.RoleBinding).Subjects })
	case *rbacv1.ClusterRoleBinding:
		Change(now, func(b *rbacv1.ClusterRoleBinding) { b.Subjects = to.(*rbacv1.ClusterRoleBinding).Subjects })
	}
	w.changed++
}

// awaitAggregation waits until the controller has filled the aggregated roles.
func (w *world) awaitAggregation() {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		roles := &rbacv1.ClusterRoleList{}
		g.Expect(Admin.List(ctx, roles)).To(Succeed())
		for _, whole := range roles.Items {
			if whole.AggregationRule == nil {
				continue
			}
			var want []rbacv1.PolicyRule
			for _, part := range roles.Items {
				selector, err := metav1.LabelSelectorAsSelector(&whole.AggregationRule.ClusterRoleSelectors[0])
				g.Expect(err).NotTo(HaveOccurred())
				if part.Name != whole.Name && selector.Matches(labelSet(part.Labels)) {
					want = append(want, part.Rules...)
				}
			}
			if len(whole.AggregationRule.ClusterRoleSelectors) == 1 {
				g.Expect(access.VerdictOf(whole.Rules)).To(Equal(access.VerdictOf(want)), whole.Name)
			}
		}
	}).Should(Succeed())
}

// question is one of the two, of a user, about a namespace.
type question struct {
	user      int
	namespace string
	list      bool
}

func (w *world) ours(q question) bool {
	rights := one.source.Now().May(w.users[q.user], q.namespace)
	if q.list {
		return rights.List
	}
	return rights.Get
}

func (w *world) review(q question) bool {
	about := &authorizationv1.ResourceAttributes{Namespace: q.namespace, Verb: "get", Version: "v1", Resource: "namespaces", Name: q.namespace}
	if q.list {
		about.Verb, about.Resource, about.Name = "list", "resourcequotas", ""
	}
	u := w.users[q.user]
	r, err := w.reviews.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: u.Name, Groups: u.Groups, ResourceAttributes: about},
	}, metav1.CreateOptions{})
	if err != nil {
		panic(err)
	}
	return r.Status.Allowed
}

// compare asks all questions of both, and records what is allowed. What differs is asked again for a while: both lag.
func (w *world) compare() {
	GinkgoHelper()
	questions := make(chan question)
	var asking sync.WaitGroup
	var mu sync.Mutex
	var differing []question
	w.allowed = map[question]bool{}
	for range 16 {
		asking.Go(func() {
			for q := range questions {
				theirs := w.review(q)
				mu.Lock()
				if theirs {
					w.allowed[q] = true
				}
				if theirs != w.ours(q) {
					differing = append(differing, q)
				}
				mu.Unlock()
			}
		})
	}
	for u := range w.users {
		for _, n := range w.namespaces {
			questions <- question{user: u, namespace: n}
			questions <- question{user: u, namespace: n, list: true}
		}
	}
	close(questions)
	asking.Wait()
	Eventually(func() []question {
		differing = slices.DeleteFunc(differing, func(q question) bool {
			theirs := w.review(q)
			if delete(w.allowed, q); theirs {
				w.allowed[q] = true
			}
			return theirs == w.ours(q)
		})
		return differing
	}).Should(BeEmpty())
}

// compareLists compares the rows of lists, which an index finds, with what is allowed.
func (w *world) compareLists() {
	GinkgoHelper()
	for i, u := range w.users {
		for view, list := range map[string]bool{"mynamespaces": false, "namespaceusages": true} {
			want := []string{}
			for _, n := range w.namespaces {
				if w.allowed[question{i, n, list}] {
					want = append(want, n)
				}
			}
			Eventually(func() []string {
				return slices.DeleteFunc(keys(rowsOf(as(u.Name, u.Groups...), view, "")), func(name string) bool { return !slices.Contains(w.namespaces, name) })
			}).Should(ConsistOf(want), "%s of %s in %v", view, u.Name, u.Groups)
		}
	}
}

// compareRules compares a sample with the rules that the API server reports to users.
func (w *world) compareRules() {
	GinkgoHelper()
	for range 10 {
		u, namespace := pick(w, w.users...), w.namespace()
		c := kubernetes.NewForConfigOrDie(as(u.Name, u.Groups...))
		r, err := c.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
			Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
		}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		var rules []rbacv1.PolicyRule
		for _, rule := range r.Status.ResourceRules {
			rules = append(rules, rbacv1.PolicyRule{Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames})
		}
		Expect(one.source.Now().May(u, namespace)).To(Equal(access.VerdictOf(rules).In(namespace)), "%s in %s", u.Name, namespace)
	}
}
