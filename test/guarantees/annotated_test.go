// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"fmt"
	"strings"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apilabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/operator"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// annotated is an object of a type of Kubernetes that asks for something by an annotation: for a ConfigWatcher, which is its
// child and has its status.
type annotated struct{ *unstructured.Unstructured }

// DeepCopyObject implements runtime.Object.
func (o *annotated) DeepCopyObject() runtime.Object { return &annotated{o.DeepCopy()} }

// String shows it in messages.
func (o *annotated) String() string { return fmt.Sprintf("%.2000v", o.Object) }

// watcher is its ConfigWatcher; nil when it has none.
func (o *annotated) watcher() *v1alpha1.ConfigWatcher {
	w := &v1alpha1.ConfigWatcher{ObjectMeta: metav1.ObjectMeta{
		Namespace: o.GetNamespace(), Name: names.Child(o.GetName(), strings.ToLower(o.GetKind())),
	}}
	switch err := Reload(w); {
	case apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(w, o):
		return nil
	case err != nil:
		return &v1alpha1.ConfigWatcher{}
	}
	return w
}

// CommonStatus implements engine.Object: the status of its ConfigWatcher or, without one, the warning that says why.
func (o *annotated) CommonStatus() *common.Status {
	if w := o.watcher(); w != nil {
		s := w.CommonStatus()
		s.ObservedGeneration += o.GetGeneration() - w.Generation
		return s
	}
	s := &common.Status{ObservedGeneration: o.GetGeneration()}
	for _, e := range EventsOf(o)() {
		if kind, reason, _ := strings.Cut(e, " "); kind == "Warning" {
			reason, _, _ = strings.Cut(reason, ":")
			s.Conditions = []metav1.Condition{{Type: engine.Ready, Status: metav1.ConditionFalse, Reason: reason}}
		}
	}
	return s
}

// annotatedKinds are the rows of the types whose objects may be annotated.
func annotatedKinds() []*kind {
	var all []*kind
	for _, name := range []string{"ConfigMap", "Secret"} {
		o := &annotated{&unstructured.Unstructured{}}
		o.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: name})
		all = append(all, &kind{
			row: operator.Kind{Object: o}, gvk: o.GroupVersionKind(), name: name, fixture: fixtures[name], namespaced: true,
			controller: strings.ToLower(name) + "-annotation",
		})
	}
	return all
}

// annotations is the fixture of ConfigMaps and Secrets with the annotation. Their act is a change of their ConfigWatcher.
type annotations struct {
	Ordinary
	field     string // of the content
	leavesOut map[string]string
}

const oneCode = "which type it is makes no difference to that: the code is that of ConfigMaps"

var (
	annotatedConfigMaps = &annotations{field: "data"}
	annotatedSecrets    = &annotations{field: "stringData", leavesOut: map[string]string{
		"G10": oneCode, "G11": oneCode,
	}}

	_ = fixture("ConfigMap", annotatedConfigMaps)
	_ = fixture("Secret", annotatedSecrets)
)

// LeavesOut implements Fixture.
func (f *annotations) LeavesOut() map[string]string {
	all := map[string]string{
		"G4 deletion":    "it has no finalizer: its deletion is one request, of the user's",
		"G5 marks":       "its ConfigWatcher carries none: it is known by its name and its owner reference",
		"G6":             "it has no finalizer, and its ConfigWatcher goes by Kubernetes' own garbage collector",
		"G7":             "its type is Kubernetes' own: that everybody can write such objects is what G7 says of all kinds",
		"G10 autoscaler": "it scales and restarts nothing itself: that is what its ConfigWatcher does",
		"G12":            "it has no conditions: those are of its ConfigWatcher, of which G12 is tried; why it has none, an Event says (G11)",
		"G13":            "what it makes is a ConfigWatcher beside it, for which the kind ConfigWatcher is attacked",
		"G14":            "what is poured has the annotation",
		"G15":            "only its metadata is read, in which no string has a parser of its own but the annotation, for which see G11",
	}
	for what, why := range f.leavesOut {
		all[what] = why
		for part := range all {
			if strings.HasPrefix(part, what+" ") {
				delete(all, part)
			}
		}
	}
	return all
}

// Name implements Fixture.
func (f *annotations) Name(sample engine.Object, _ string) {
	sample.SetAnnotations(map[string]string{names.AnnotationPodSelector: "app=webapp"})
	content := map[string]string{"password": canary}
	Expect(unstructured.SetNestedStringMap(sample.(*annotated).Object, content, f.field)).To(Succeed())
}

// Surround implements Fixture: a workload that both selectors find.
func (*annotations) Surround(unique string) {
	d := webapp(unique)
	d.Spec.Template.Labels = map[string]string{"app": "webapp", "tier": "front"}
	Create(d)
}

// Settled implements Fixture: the ConfigWatcher is as the annotation says.
func (*annotations) Settled(o engine.Object) bool {
	w := o.(*annotated).watcher()
	if w == nil || w.Status.Pending != nil || w.Status.ObservedGeneration != w.Generation {
		return false
	}
	got := map[string]string{}
	for key, value := range w.Spec.PodSelector {
		got[key] = string(value)
	}
	return apilabels.Set(got).String() == o.GetAnnotations()[names.AnnotationPodSelector]
}

// Reads implements Fixture: those of the ConfigWatcher are for it, too.
func (*annotations) Reads() float64 { return 3 }

// Change implements Fixture.
func (*annotations) Change(o engine.Object, _ string) {
	a := o.GetAnnotations()
	a[names.AnnotationPodSelector] = "app=webapp,tier=front"
	o.SetAnnotations(a)
}

// Action implements Fixture.
func (f *annotations) Action(unique string) string {
	kind := "configmap"
	if f == annotatedSecrets {
		kind = "secret"
	}
	return "PATCH namespaces/" + unique + "/configwatchers/" + names.Child(unique, kind)
}

// Transitions implements Fixture.
func (f *annotations) Transitions() map[string]func(engine.Object) {
	return map[string]func(engine.Object){"another selector": func(o engine.Object) { f.Change(o, o.GetName()) }}
}

// Invalidate implements Fixture.
func (*annotations) Invalidate(*unstructured.Unstructured) {}

// Breakages implements Fixture.
func (*annotations) Breakages() []Breakage { return nil }

// Tamper implements Fixture.
func (*annotations) Tamper(*unstructured.Unstructured) []string {
	return []string{
		`{"spec":{"podSelector":{"app":"other"}}}`,
		`{"spec":{"podSelector":{"tier":"back"}}}`,
		`{"spec":{"sources":[{"kind":"ConfigMap","name":"other"}]}}`,
		`{"spec":{"configMap":"other"}}`,
		fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, names.AnnotationPaused),
	}
}

// Foreign implements Fixture: how restarts are made is for users to say.
func (*annotations) Foreign(other *unstructured.Unstructured) []string {
	if other.GetKind() == "ConfigWatcher" {
		return []string{`{"spec":{"restart":{"debounce":"7s"}}}`}
	}
	return configWatchers{}.Foreign(other)
}

// annotatedFields are the places of strings that such objects ask by.
func annotatedFields() []field {
	return []field{{"metadata", "annotations", names.AnnotationPodSelector}, {"metadata", "annotations", names.AnnotationPaused}}
}

// isAsked reports whether an object is the child of one with the annotation.
func isAsked(o *unstructured.Unstructured) bool {
	owner := metav1.GetControllerOf(o)
	return o.GetKind() == "ConfigWatcher" && owner != nil && owner.APIVersion == "v1"
}
