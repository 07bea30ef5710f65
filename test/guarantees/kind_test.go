// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// kind is a row of the table of kinds with its fixture.
type kind struct {
	row     operator.Kind
	gvk     schema.GroupVersionKind
	name    string
	fixture Fixture

	namespaced bool
	// controller is the name of the kind's controller.
	controller string
}

// table are the operator's kinds, and the types that ask for something by an annotation.
func table() []*kind {
	var all []*kind
	for _, row := range operator.Kinds {
		all = append(all, newKind(row))
	}
	return append(all, annotatedKinds()...)
}

func newKind(row operator.Kind) *kind {
	gvk, err := apiutil.GVKForObject(row.Object, operator.Scheme())
	if err != nil {
		panic(err)
	}
	k := &kind{row: row, gvk: gvk, name: gvk.Kind, fixture: fixtures[gvk.Kind], controller: strings.ToLower(gvk.Kind)}
	k.namespaced = k.crd().Spec.Scope == apiextensionsv1.NamespaceScoped
	return k
}

// sampleFile is where the kind's sample is, if it has one.
func (k *kind) sampleFile() string {
	if k.gvk.Group == "" {
		return ""
	}
	group, _, _ := strings.Cut(k.gvk.Group, ".")
	return testenv.RepoFile("config", "samples", fmt.Sprintf("%s_%s_%s.yaml", group, k.gvk.Version, strings.ToLower(k.name)))
}

func (k *kind) empty() engine.Object { return k.row.Object.DeepCopyObject().(engine.Object) }

// object is the sample under a unique name.
func (k *kind) object(unique string) engine.Object {
	GinkgoHelper()
	o := k.empty()
	if sample := k.sampleFile(); sample != "" {
		text, err := os.ReadFile(sample)
		Expect(err).NotTo(HaveOccurred())
		Expect(yaml.UnmarshalStrict(text, o)).To(Succeed())
	}
	if k.namespaced {
		o.SetNamespace(unique)
	}
	o.SetName(unique)
	k.fixture.Name(o, unique)
	return o
}

// uniques numbers unique names, whose beginning tells what they are for.
var uniques = map[string]int{}

func unique(prefix string) string {
	uniques[prefix]++
	return fmt.Sprintf("%s-%d", prefix, uniques[prefix])
}

// make creates an object, which is deleted when the spec ends.
func (k *kind) make(name string, change ...func(engine.Object)) engine.Object {
	GinkgoHelper()
	o := k.object(name)
	for _, c := range change {
		c(o)
	}
	k.surround(o)
	Create(o)
	discardLater(o)
	return o
}

// surround makes the Namespace of an object, and what the object is about.
func (k *kind) surround(o engine.Object) {
	GinkgoHelper()
	if o.GetNamespace() == "" {
		return
	}
	ns := namespaceNamed(o.GetNamespace())
	err := Admin.Create(context.Background(), ns)
	Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
	if err == nil {
		discardLater(ns)
		k.fixture.Surround(ns.Name)
	}
}

// briefly changes an object so that its deletion takes little time, where the kind has such a way.
func (k *kind) briefly(o engine.Object) {
	for _, d := range k.fixture.Deletions() {
		if d.Keeps {
			d.Prepare(o)
		}
	}
}

// discardLater deletes an object when the spec ends. What has a finalizer goes when an operator, maybe
// the one of the next spec, lets it.
func discardLater(o client.Object) {
	DeferCleanup(func(ctx context.Context) {
		Expect(client.IgnoreNotFound(Admin.Delete(ctx, o))).To(Succeed())
	})
}

// several makes n settled objects.
func (k *kind) several(n int, prefix string, change ...func(engine.Object)) []engine.Object {
	GinkgoHelper()
	var all []engine.Object
	for range n {
		all = append(all, k.make(unique(prefix), change...))
	}
	for _, o := range all {
		Eventually(k.settled(o)).Should(Succeed())
	}
	return all
}

// settled gives a function that tells what an object still waits for.
func (k *kind) settled(o engine.Object) func() error {
	return func() error {
		if err := Reload(o); err != nil {
			return err
		}
		s := o.CommonStatus()
		if s.ObservedGeneration != o.GetGeneration() || !meta.IsStatusConditionTrue(s.Conditions, engine.Ready) || !k.fixture.Settled(o) {
			return fmt.Errorf("%s is not settled: generation %d, status %+v", o.GetName(), o.GetGeneration(), *s)
		}
		return nil
	}
}

// ready is an object's condition Ready.
func ready(o engine.Object) metav1.Condition {
	if err := Reload(o); err != nil {
		return metav1.Condition{Reason: err.Error()}
	}
	return *cmp.Or(meta.FindStatusCondition(o.CommonStatus().Conditions, engine.Ready), &metav1.Condition{})
}

// kstatus is what tools that know nothing of the kind make of an object.
func kstatus(k *kind, o client.Object) status.Status {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(k.gvk)
	err := Admin.Get(context.Background(), client.ObjectKeyFromObject(o), u)
	if apierrors.IsNotFound(err) {
		return status.NotFoundStatus
	}
	result, computeErr := status.Compute(u)
	if err != nil || computeErr != nil {
		return status.UnknownStatus
	}
	return result.Status
}

// quiet waits until the operator writes nothing more for some objects, and forgets what it has written. What is left of earlier
// specs may still be going.
func quiet(op *Operator, objects ...engine.Object) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		op.Wire.Forget()
		g.Consistently(func() []testenv.Write { return op.Wire.Writes(aboutAny(objects)) }, "700ms").Should(BeEmpty())
	}).Should(Succeed())
}

// alone waits until nothing of earlier specs is being deleted, and the operator writes nothing at all.
func alone(op *Operator) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		for _, row := range operator.Kinds {
			list := &metav1.PartialObjectMetadataList{}
			k := newKind(row)
			list.SetGroupVersionKind(k.gvk.GroupVersion().WithKind(k.name + "List"))
			g.Expect(Admin.List(context.Background(), list)).To(Succeed())
			list.Items = slices.DeleteFunc(list.Items, func(m metav1.PartialObjectMetadata) bool { return m.DeletionTimestamp == nil })
			g.Expect(list.Items).To(BeEmpty())
		}
		op.Wire.Forget()
		g.Consistently(op.Wire.Writes, "700ms").Should(BeEmpty())
	}).WithPolling(100 * time.Millisecond).Should(Succeed())
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
