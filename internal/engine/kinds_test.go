// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// Widget is a namespaced kind, Gadget a cluster-scoped one. See testdata/crds.yaml.
type (
	Widget struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Spec              Spec   `json:"spec"`
		Status            Status `json:"status,omitzero"`
	}
	Gadget struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Spec              Spec   `json:"spec"`
		Status            Status `json:"status,omitzero"`
	}
	WidgetList struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata,omitempty"`
		Items           []Widget `json:"items"`
	}
	GadgetList struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata,omitempty"`
		Items           []Gadget `json:"items"`
	}
	Spec struct {
		Value     string `json:"value,omitempty"`
		ConfigMap string `json:"configMap,omitempty"`
		Gadget    string `json:"gadget,omitempty"`
	}
	Status struct {
		common.Status `json:",inline"`
		Summary       string `json:"summary,omitempty"`
	}
)

func (w *Widget) CommonStatus() *common.Status { return &w.Status.Status }
func (g *Gadget) CommonStatus() *common.Status { return &g.Status.Status }

func (s *Status) deepCopy() Status { return Status{Status: *s.Status.DeepCopy(), Summary: s.Summary} }

func (w *Widget) DeepCopyObject() runtime.Object {
	return &Widget{w.TypeMeta, *w.ObjectMeta.DeepCopy(), w.Spec, w.Status.deepCopy()}
}

func (g *Gadget) DeepCopyObject() runtime.Object {
	return &Gadget{g.TypeMeta, *g.ObjectMeta.DeepCopy(), g.Spec, g.Status.deepCopy()}
}

func (l *WidgetList) DeepCopyObject() runtime.Object {
	c := &WidgetList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		c.Items = append(c.Items, *l.Items[i].DeepCopyObject().(*Widget))
	}
	return c
}

func (l *GadgetList) DeepCopyObject() runtime.Object {
	c := &GadgetList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		c.Items = append(c.Items, *l.Items[i].DeepCopyObject().(*Gadget))
	}
	return c
}

var groupVersion = schema.GroupVersion{Group: "test.acme.com", Version: "v1"}

func addToScheme(s *runtime.Scheme) {
	s.AddKnownTypes(groupVersion, &Widget{}, &WidgetList{}, &Gadget{}, &GadgetList{})
	metav1.AddToGroupVersion(s, groupVersion)
}
