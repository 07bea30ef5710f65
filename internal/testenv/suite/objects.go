// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/acme/platform-operator/internal/engine"
)

var ctx = context.Background()

// Namespace makes a namespace of the spec's own.
func Namespace() string {
	ginkgo.GinkgoHelper()
	return Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "spec-"}}).Name
}

// Create creates an object. While a quota that counts such objects changes, the API server may answer with a conflict.
func Create[T client.Object](o T) T {
	ginkgo.GinkgoHelper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { return Admin.Create(ctx, o) })
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return o
}

// Remove deletes an object.
func Remove(o client.Object, opts ...client.DeleteOption) {
	ginkgo.GinkgoHelper()
	gomega.Expect(Admin.Delete(ctx, o, opts...)).To(gomega.Succeed())
}

// Reload reads an object as it is now.
func Reload(o client.Object) error { return Admin.Get(ctx, client.ObjectKeyFromObject(o), o) }

// Change changes an object, even if others change it meanwhile.
func Change[T client.Object](o T, do func(T)) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(func(g gomega.Gomega) {
		g.Expect(Reload(o)).To(gomega.Succeed())
		do(o)
		g.Expect(Admin.Update(ctx, o)).To(gomega.Succeed())
	}).Should(gomega.Succeed())
}

// Patch changes an object by a merge patch.
func Patch(o client.Object, patch string, opts ...client.PatchOption) {
	ginkgo.GinkgoHelper()
	gomega.Expect(Admin.Patch(ctx, o, client.RawPatch(client.Merge.Type(), []byte(patch)), opts...)).To(gomega.Succeed(), patch)
}

// Annotate sets an annotation, or takes it away when the value is empty.
func Annotate(o client.Object, key, value string, opts ...client.PatchOption) {
	ginkgo.GinkgoHelper()
	if value = strconv.Quote(value); value == `""` {
		value = "null"
	}
	Patch(o, fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, key, value), opts...)
}

var pokes int

// Poke makes the operator run an object, by a change that means nothing to it.
func Poke(o client.Object) {
	ginkgo.GinkgoHelper()
	pokes++
	Annotate(o, "test/poke", fmt.Sprint(pokes))
}

// Condition gives a function that reads a condition as "Status Reason", once it is about the latest version of the spec.
func Condition(o engine.Object, name string) func() string {
	return func() string {
		if err := Reload(o); err != nil {
			return err.Error()
		}
		c := meta.FindStatusCondition(o.CommonStatus().Conditions, name)
		switch {
		case c == nil:
			return "none"
		case c.ObservedGeneration != o.GetGeneration():
			return "of an older version"
		default:
			return string(c.Status) + " " + c.Reason
		}
	}
}

// Ready is Condition of Ready.
func Ready(o engine.Object) func() string { return Condition(o, engine.Ready) }

// AwaitReady waits until an object is ready in its latest version.
func AwaitReady[T engine.Object](o T) T {
	ginkgo.GinkgoHelper()
	gomega.Eventually(Ready(o)).Should(gomega.Equal("True Ready"), func() string { return describe(o) })
	return o
}

// AwaitRun waits until the operator has acted on the latest version of an object's spec.
func AwaitRun(o engine.Object) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(func(g gomega.Gomega) {
		g.Expect(Reload(o)).To(gomega.Succeed())
		g.Expect(o.CommonStatus().ObservedGeneration).To(gomega.Equal(o.GetGeneration()))
	}).Should(gomega.Succeed())
}

// Message is what a condition says, as the object was read last.
func Message(o engine.Object, name string) string {
	ginkgo.GinkgoHelper()
	c := meta.FindStatusCondition(o.CommonStatus().Conditions, name)
	gomega.Expect(c).NotTo(gomega.BeNil(), name)
	return c.Message
}

// Gone gives a function that fails, and shows the object, as long as there is one of that name.
func Gone(o client.Object) func() error {
	return func() error {
		if err := Reload(o); err != nil {
			return client.IgnoreNotFound(err)
		}
		return errors.New(describe(o))
	}
}

// describe shows why an object may be as it is.
func describe(o client.Object) string {
	text := fmt.Sprintf("%T %s is there, with the finalizers %v", o, o.GetName(), o.GetFinalizers())
	if e, ok := o.(engine.Object); ok {
		text += fmt.Sprintf(" and the conditions %+v", e.CommonStatus().Conditions)
	}
	return text
}

// EventsOf gives a function that lists the events about an object as "Type Reason: note".
func EventsOf(o client.Object) func() []string {
	return func() []string {
		list := &eventsv1.EventList{}
		gomega.Expect(Admin.List(ctx, list, client.InNamespace(o.GetNamespace()))).To(gomega.Succeed())
		var all []string
		for _, e := range list.Items {
			if e.Regarding.UID == o.GetUID() {
				all = append(all, e.Type+" "+e.Reason+": "+e.Note)
			}
		}
		return all
	}
}

// Author is the client of a user who may do in a namespace what the rules say, as soon as the API server knows them.
func Author(ns, name string, rules ...rbacv1.PolicyRule) client.Client {
	ginkgo.GinkgoHelper()
	at := metav1.ObjectMeta{Namespace: ns, Name: name}
	Create(&rbacv1.Role{ObjectMeta: at, Rules: rules})
	Create(&rbacv1.RoleBinding{
		ObjectMeta: at,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	})
	return User(name)
}

// Metric adds up the series of a metric that have all the given label values. Of a histogram it is the number of
// observations.
func Metric(name string, labels ...string) float64 {
	ginkgo.GinkgoHelper()
	families, err := metrics.Registry.Gather()
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	var sum float64
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && hasAll(m, labels) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

func hasAll(m *dto.Metric, values []string) bool {
	for _, v := range values {
		if !slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == v }) {
			return false
		}
	}
	return true
}
