// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/controller/crontab"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/kindtest"
)

// Patches are computed from what the cache holds: what it does not hold must survive them.
func TestALargeObjectIsServedAndLosesNothing(t *testing.T) {
	w := newWorld(t)
	kindtest.Start(t, w.plane)
	tab := &batchv1alpha1.CronTab{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "large", Finalizers: []string{"theirs.example.com/hold"},
			Labels:      map[string]string{"theirs.example.com/label": "x"},
			Annotations: map[string]string{"theirs.example.com/note": strings.Repeat("x", 200<<10)},
		},
		Spec: batchv1alpha1.CronTabSpec{CronSpec: "0 3 1 1 *", Image: "example.com/none", Args: slices.Repeat([]string{strings.Repeat("x", 400)}, 100)},
	}
	w.must(w.admin.Create(t.Context(), tab))
	wanted := tab.DeepCopy()
	reload := func() { w.must(w.admin.Get(t.Context(), client.ObjectKeyFromObject(tab), tab)) }
	w.eventually("a large CronTab is ready, with a finalizer", func() bool {
		reload()
		return meta.IsStatusConditionTrue(tab.Status.Conditions, engine.Ready) && slices.Contains(tab.Finalizers, crontab.Finalizer)
	})
	if !equality.Semantic.DeepEqual(wanted.Spec, tab.Spec) || !slices.Contains(tab.Finalizers, "theirs.example.com/hold") ||
		!equality.Semantic.DeepEqual(wanted.Labels, tab.Labels) || !equality.Semantic.DeepEqual(wanted.Annotations, tab.Annotations) {
		t.Errorf("it lost something: %+v", tab.ObjectMeta)
	}
	w.must(w.admin.Delete(t.Context(), tab))
	w.eventually("the operator lets it go, and leaves the other finalizer", func() bool {
		reload()
		return slices.Equal(tab.Finalizers, []string{"theirs.example.com/hold"})
	})
	tab.Finalizers = nil
	w.must(w.admin.Update(t.Context(), tab))
}

func TestALargeGuardrailIsRepairedAndThenLeftAlone(t *testing.T) {
	w := newWorld(t)
	op := kindtest.Start(t, w.plane)
	n := team("large")
	w.must(w.admin.Create(t.Context(), n))
	w.eventually("its namespace is provided", func() bool { return w.ready(n) == "True Ready" })

	role := &rbacv1.Role{}
	key := client.ObjectKey{Namespace: n.Spec.NamespaceName, Name: "namespace-admin"}
	w.must(w.admin.Get(t.Context(), key, role))
	rules := role.DeepCopy().Rules
	before := role.DeepCopy()
	role.Rules = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{strings.Repeat("x", 60<<10)}, Verbs: []string{"get"}}}
	w.must(w.admin.Patch(t.Context(), role, client.MergeFrom(before)))
	w.eventually("a Role that became large is as it was", func() bool {
		w.must(w.admin.Get(t.Context(), key, role))
		return equality.Semantic.DeepEqual(role.Rules, rules)
	})

	ns := &corev1.Namespace{}
	w.must(w.admin.Get(t.Context(), client.ObjectKey{Name: n.Spec.NamespaceName}, ns))
	unnoted := ns.DeepCopy()
	ns.Annotations["theirs.example.com/note"] = strings.Repeat("x", 200<<10)
	w.must(w.admin.Patch(t.Context(), ns, client.MergeFrom(unnoted)))
	op.Wire.Forget()
	before2 := n.DeepCopy()
	n.Spec.Labels = map[string]v1alpha1.LabelValue{"team": "large"}
	w.must(w.admin.Patch(t.Context(), n, client.MergeFrom(before2)))
	w.eventually("a large Namespace is changed as wanted", func() bool {
		w.must(w.admin.Get(t.Context(), client.ObjectKeyFromObject(ns), ns))
		return ns.Labels["team"] == "large" && w.ready(n) == "True Ready" && n.Status.ObservedGeneration == n.Generation
	})
	if len(ns.Annotations["theirs.example.com/note"]) != 200<<10 {
		t.Error("the note of others is lost")
	}
	if applied := op.Wire.Writes(func(x testenv.Write) bool { return x.String() == "PATCH namespaces/"+ns.Name }); len(applied) != 1 {
		t.Errorf("it is applied %d times", len(applied))
	}
}
