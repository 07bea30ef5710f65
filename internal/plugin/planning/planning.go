// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	configv1alpha1 "github.com/acme/platform-operator/api/config/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/operator/settings"
	"github.com/acme/platform-operator/internal/plugin"
)

// ConfigMapName and ConfigMapKey are where the operator's configuration is.
const (
	ConfigMapName = settings.ConfigMapName
	ConfigMapKey  = settings.ConfigMapKey
)

// Configuration reads a configuration of the operator; an empty one is the defaults. The error says what this version does not know of
// it: fields that it leaves out, else all, and then the defaults are returned.
func Configuration(text string) (*configv1alpha1.PlatformOperatorConfig, error) {
	config, unknown, err := settings.ParseKnown([]byte(text))
	switch {
	case err != nil:
		config = &configv1alpha1.PlatformOperatorConfig{}
		configv1alpha1.Default(config)
		return config, fmt.Errorf("this plugin cannot read it, and assumes the defaults: %w", err)
	case unknown != nil:
		return config, fmt.Errorf("this plugin does not know some of it, which is left out: %w", unknown)
	}
	return config, nil
}

// Key names an object.
type Key struct {
	schema.GroupVersionKind
	Namespace, Name string
}

func keyOf(o client.Object) (Key, error) {
	gvk, err := apiutil.GVKForObject(o, scheme)
	return Key{gvk, o.GetNamespace(), o.GetName()}, err
}

// Planner plans for one object.
type Planner struct {
	plan    engine.Plan
	owner   client.Object
	unknown []string // fields that this version does not know
	wanted  engine.Planned
}

// For returns what plans for an object; nil if nothing is known of its kind.
func For(o *unstructured.Unstructured, operator Operator) (*Planner, error) {
	at := slices.IndexFunc(plans(operator), func(p engine.Plan) bool { return p.Of == o.GroupVersionKind() })
	if at < 0 {
		return nil, nil
	}
	plan := plans(operator)[at]
	owner, unknown, err := plan.Decode(o)
	if err != nil {
		return nil, err
	}
	return &Planner{plan: plan, owner: owner, unknown: unknown}, nil
}

// Stopped says why nothing follows from an object at present; empty if something does.
func Stopped(k plugin.Kind, o *unstructured.Unstructured) string {
	switch {
	case plugin.IsPaused(o):
		return fmt.Sprintf("it is paused, so that the operator does nothing for it until it is resumed: "+
			"remove the annotation %s, from the file, too, or `kubectl acme resume %s/%s%s`",
			names.AnnotationPaused, k.Word(), o.GetName(), plugin.In(o.GetNamespace()))
	case o.GetDeletionTimestamp() != nil:
		return "it is being deleted, so that the operator makes nothing for it: apply it again once it is gone"
	}
	return ""
}

// Reads are the objects that the children depend on besides.
func (p *Planner) Reads() ([]Key, error) { return keysOf(p.plan.Reads(p.owner)) }

func keysOf(objects []client.Object) (all []Key, err error) {
	for _, o := range objects {
		k, err := keyOf(o)
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, nil
}

// Want decides what is wanted, and returns its keys. What was found is that of Reads which exists.
func (p *Planner) Want(found []*unstructured.Unstructured) ([]Key, error) {
	var known engine.Known
	for _, o := range found {
		typed, err := typedOf(o)
		if err != nil {
			return nil, err
		}
		known = append(known, typed)
	}
	var err error
	if p.wanted, err = p.plan.Children(p.owner, known); err != nil {
		return nil, err
	}
	var objects []client.Object
	for _, c := range p.wanted.Children {
		objects = append(objects, c.Object())
	}
	return keysOf(append(objects, p.wanted.Once...))
}

// typedOf decodes an object; what this version does not know of it does not count.
func typedOf(o *unstructured.Unstructured) (client.Object, error) {
	empty, err := scheme.New(o.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	typed := empty.(client.Object)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
		return nil, fmt.Errorf("decoding %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return typed, nil
}

// Owns are the types of children that are deleted once they are not wanted any more.
func (p *Planner) Owns() (all []schema.GroupVersionKind) {
	for _, o := range p.plan.Owns {
		if k, err := keyOf(o); err == nil {
			all = append(all, k.GroupVersionKind)
		}
	}
	return all
}

// Proves reports whether an object that was found by its marks, in a place that is right, may be a child.
func (p *Planner) Proves(o *unstructured.Unstructured) bool {
	if p.plan.ByMark && o.GetNamespace() == "" {
		return names.Marked(o, p.plan.Name, p.owner)
	}
	if !p.plan.ByMark && !metav1.IsControlledBy(o, p.owner) {
		return false
	}
	empty, err := scheme.New(o.GroupVersionKind())
	if err != nil {
		return false
	}
	child := empty.(client.Object)
	child.SetNamespace(o.GetNamespace())
	child.SetName(o.GetName())
	return p.plan.Proves(p.owner, child)
}

// Proof returns what tells the children of an object from what only bears its marks, in a place that is right. It is nil if nothing is
// known of its kind.
func Proof(o *unstructured.Unstructured) (func(*unstructured.Unstructured) bool, error) {
	all := plans(Operator{Config: &configv1alpha1.PlatformOperatorConfig{}})
	at := slices.IndexFunc(all, func(p engine.Plan) bool { return p.Of == o.GroupVersionKind() })
	if at < 0 {
		return nil, nil
	}
	owner := all[at].Empty()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, owner); err != nil {
		return nil, fmt.Errorf("decoding %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return (&Planner{plan: all[at], owner: owner}).Proves, nil
}

// Notes are what the user should know besides.
func (p *Planner) Notes() []string {
	if len(p.unknown) == 0 {
		return p.wanted.Notes
	}
	return append([]string{"this plugin is older than the operator, and what follows from these is not in the plan: " + strings.Join(p.unknown, ", ")},
		p.wanted.Notes...)
}
