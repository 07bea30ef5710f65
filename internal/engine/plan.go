// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Plan says how the children of a kind follow from its objects, for a program that shows what would be done without doing it:
// the kubectl plugin. It is pure. The program reads what is needed with the rights of its user.
type Plan struct {
	// Of is the kind, and Name its name in lower case.
	Of   schema.GroupVersionKind
	Name string
	// Owns are the types of children that are deleted once they are not wanted any more.
	Owns []client.Object
	// ByMark is as in Config.
	ByMark bool

	empty    func() client.Object
	reads    func(client.Object) []client.Object
	proves   func(owner, child client.Object) bool
	children func(client.Object, Known) (Planned, error)
}

// Known are the objects of Reads that exist.
type Known []client.Object

// Get fills an object, of which the name and the namespace are set; false when there is none.
func (k Known) Get(o client.Object) bool {
	for _, each := range k {
		if identityOf(each) == identityOf(o) {
			reflect.ValueOf(o).Elem().Set(reflect.ValueOf(each.DeepCopyObject()).Elem())
			return true
		}
	}
	return false
}

// Planned is what follows from an object.
type Planned struct {
	// Children is the complete list, as for Scope.Compose.
	Children []Child
	// Once are created, and then left alone, as by Scope.CreateOnce.
	Once []client.Object
	// Notes say what the user should know besides, each in a sentence.
	Notes []string
}

// PlanOf is a Plan for the objects of one type.
type PlanOf[T Object] struct {
	// Of, Name, Owns and ByMark are as in Plan.
	Of     schema.GroupVersionKind
	Name   string
	Owns   []client.Object
	ByMark bool
	// Reads are the objects that the children depend on besides, with nothing but their keys; nil when there are none.
	Reads func(T) []client.Object
	// Proves is as in Config.
	Proves func(T, client.Object) bool
	// Children returns what follows from an object.
	Children func(T, Known) (Planned, error)
}

// Plan returns the plan for objects of any type.
func (p PlanOf[T]) Plan() Plan {
	plan := Plan{
		Of: p.Of, Name: p.Name, Owns: p.Owns, ByMark: p.ByMark,
		empty:    func() client.Object { return reflect.New(reflect.TypeFor[T]().Elem()).Interface().(client.Object) },
		children: func(o client.Object, k Known) (Planned, error) { return p.Children(o.(T), k) },
		reads:    func(client.Object) []client.Object { return nil },
		proves:   func(client.Object, client.Object) bool { return true },
	}
	if p.Reads != nil {
		plan.reads = func(o client.Object) []client.Object { return p.Reads(o.(T)) }
	}
	if p.Proves != nil {
		plan.proves = func(owner, child client.Object) bool { return p.Proves(owner.(T), child) }
	}
	return plan
}

// PlanNothing is the plan of a kind whose objects have no children, or none that can be planned, with what there is to know.
func PlanNothing[T Object](of schema.GroupVersionKind, note string) Plan {
	return PlanOf[T]{Of: of, Children: func(T, Known) (Planned, error) { return Planned{Notes: []string{note}}, nil }}.Plan()
}

// Empty returns an empty object of the kind.
func (p Plan) Empty() client.Object { return p.empty() }

// Decode decodes an object of the kind. It returns the fields that this version does not know, too.
func (p Plan) Decode(o *unstructured.Unstructured) (typed client.Object, unknown []string, err error) {
	typed = p.Empty()
	content := o.DeepCopy()
	content.SetManagedFields(nil)
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content.Object, typed, true)
	if strict, is := runtime.AsStrictDecodingError(err); is {
		for _, each := range strict.Errors() {
			unknown = append(unknown, each.Error())
		}
		err = nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("decoding %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return typed, unknown, nil
}

// Reads returns the objects that the children of an object depend on, with nothing but their keys.
func (p Plan) Reads(o client.Object) []client.Object { return p.reads(o) }

// Proves reports whether an object whose place is right may be a child, as Config.Proves does.
func (p Plan) Proves(owner, child client.Object) bool { return p.proves(owner, child) }

// Children returns what follows from an object. Each child has the marks of its owner.
func (p Plan) Children(o client.Object, known Known) (Planned, error) {
	planned, err := p.children(o, known)
	for _, c := range planned.Children {
		c.stamp(p.Name, p.Of, p.ByMark, o)
	}
	return planned, err
}

// Object is an empty object of the child's type, with its key.
func (c Child) Object() client.Object {
	o := c.newLive()
	o.SetName(c.key.Name)
	o.SetNamespace(c.key.Namespace)
	return o
}

// Adopts reports whether an object of the wanted name that is not the owner's is adopted.
func (c Child) Adopts() bool { return c.adopt }

// IsLater reports whether the child is left as it is.
func (c Child) IsLater() bool { return c.later }

// Difference is how a child differs from the live object.
type Difference struct {
	// Fields are the paths of the fields that differ.
	Fields []string
	// Was has what the kind owns of the live object, Wants what it wants.
	Was, Wants map[string]any
}

// Compare compares a child with the live object, as the operator does: only what the kind owns of it counts.
func (p Plan) Compare(c Child, live client.Object) (d Difference, err error) {
	owned, fields, err := c.differing(live, p.Name)
	if err != nil {
		return d, fmt.Errorf("reading the owned fields of %s: %w", c, err)
	}
	d.Fields = fields
	for to, from := range map[*map[string]any]any{&d.Was: owned, &d.Wants: c.intent} {
		text, err := json.Marshal(from)
		if err == nil {
			err = json.Unmarshal(text, to)
		}
		if err != nil {
			return d, fmt.Errorf("encoding %s: %w", c, err)
		}
	}
	return d, nil
}
