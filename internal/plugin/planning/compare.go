// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/plugin"
)

// What a change does.
const (
	// Create makes an object.
	Create = "create"
	// Update changes fields of one.
	Update = "change"
	// Delete deletes one.
	Delete = "delete"
	// Nothing leaves it as it is.
	Nothing = "none"
	// Blocked means that the name belongs to another object, which is left alone.
	Blocked = "blocked"
	// Unknown means that the user may not read it.
	Unknown = "unknown"
)

// Change is what becomes of an object.
type Change struct {
	// Action is one of the constants above.
	Action string `json:"action"`
	// Kind, Namespace and Name are the object's.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Fields are those that change.
	Fields []Field `json:"fields,omitempty"`
	// Because says why, where that is not obvious.
	Because string `json:"because,omitempty"`
}

// Field is a field that changes. Values that may be secret are left out.
type Field struct {
	Path string `json:"path"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// ObjectPlan is what applying one object does.
type ObjectPlan struct {
	// Change is what becomes of the object itself.
	Change
	// Children are what becomes of what exists because of it; those that do not change are left out.
	Children []Change `json:"children,omitempty"`
	// Notes are what the user should know besides.
	Notes []string `json:"notes,omitempty"`
}

// Plan is what applying files does.
type Plan struct {
	// Objects are in the order of the files.
	Objects []ObjectPlan `json:"objects"`
	// Notes are what the user should know besides.
	Notes []string `json:"notes,omitempty"`
}

// Differs reports whether anything would change.
func (p Plan) Differs() bool {
	return slices.ContainsFunc(p.Objects, func(o ObjectPlan) bool {
		return o.differs() || slices.ContainsFunc(o.Children, Change.differs)
	})
}

func (c Change) differs() bool { return c.Action != Nothing && c.Action != Unknown }

func changeOf(action string, o *unstructured.Unstructured) Change {
	return Change{Action: action, Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// OfObject compares an object with what it becomes; live is nil when there is none.
func OfObject(live, becomes *unstructured.Unstructured) Change {
	if live == nil {
		return changeOf(Create, becomes)
	}
	c := changeOf(Nothing, becomes)
	c.Fields = fieldsOf(becomes.GetKind(), user(live), user(becomes), nil)
	if len(c.Fields) > 0 {
		c.Action = Update
	}
	return c
}

// user is the part of an object that users write.
func user(o *unstructured.Unstructured) map[string]any {
	annotations := o.GetAnnotations()
	delete(annotations, lastApplied)
	out := map[string]any{"metadata": map[string]any{"labels": texts(o.GetLabels()), "annotations": texts(annotations)}}
	for field, value := range o.Object {
		switch field {
		case "apiVersion", "kind", "metadata", "status":
		default:
			out[field] = value
		}
	}
	return out
}

// lastApplied is what kubectl apply remembers.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

func texts(m map[string]string) map[string]any {
	out := map[string]any{}
	for key, value := range m {
		out[key] = value
	}
	return out
}

// Live is what is known of a wanted child.
type Live struct {
	// Object is the live one; nil if there is none. Hidden is whether the user may not read it.
	Object *unstructured.Unstructured
	Hidden bool
}

// Changes compares what is wanted with what exists. The former children are all that exist of the types of Owns.
func (p *Planner) Changes(live map[Key]Live, former []*unstructured.Unstructured) (all []Change, err error) {
	wanted := map[Key]bool{}
	for _, c := range p.wanted.Children {
		key, err := keyOf(c.Object())
		if err != nil {
			return nil, err
		}
		wanted[key] = true
		change, err := p.change(c, key, live[key])
		if err != nil {
			return nil, err
		}
		all = append(all, change)
	}
	for _, o := range p.wanted.Once {
		key, err := keyOf(o)
		if err != nil {
			return nil, err
		}
		wanted[key] = true
		all = append(all, p.once(key, live[key]))
	}
	for _, o := range former {
		key := Key{o.GroupVersionKind(), o.GetNamespace(), o.GetName()}
		if !wanted[key] && p.Proves(o) {
			all = append(all, Change{Action: Delete, Kind: key.Kind, Namespace: p.elsewhere(key), Name: key.Name})
		}
	}
	all = slices.DeleteFunc(all, func(c Change) bool { return c.Action == Nothing })
	slices.SortStableFunc(all, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

func (p *Planner) once(key Key, live Live) Change {
	c := Change{Action: Create, Kind: key.Kind, Namespace: p.elsewhere(key), Name: key.Name}
	switch {
	case live.Hidden:
		c.Action, c.Because = Unknown, hidden
	case live.Object != nil:
		c.Action = Nothing
	}
	return c
}

// Why something is not known, or is not done.
const (
	hidden = "you may not read it, so that it is not known whether it changes"
	taken  = "it exists and does not belong to this object: the operator leaves it alone; delete or rename it, or choose another name"
)

// elsewhere is the namespace of a child; empty where it is its owner's.
func (p *Planner) elsewhere(key Key) string {
	if key.Namespace == p.owner.GetNamespace() {
		return ""
	}
	return key.Namespace
}

func (p *Planner) change(child engine.Child, key Key, live Live) (c Change, err error) {
	c = Change{Action: Nothing, Kind: key.Kind, Namespace: p.elsewhere(key), Name: key.Name}
	switch {
	case live.Hidden:
		c.Action, c.Because = Unknown, hidden
		return c, nil
	case live.Object == nil && child.IsLater():
		c.Action, c.Because = Create, "not at once"
		return c, nil
	case live.Object == nil:
		c.Action = Create
		return c, nil
	case !p.mine(live.Object) && !child.Adopts():
		c.Action, c.Because = Blocked, taken
		return c, nil
	case child.IsLater():
		return c, nil
	}
	c.Fields, err = p.differing(child, key, live.Object)
	if len(c.Fields) > 0 {
		c.Action = Update
	}
	return c, err
}

// differing are the fields of a live child that the operator would change.
func (p *Planner) differing(child engine.Child, key Key, live *unstructured.Unstructured) ([]Field, error) {
	typed, err := typedOf(live)
	if err != nil {
		return nil, err
	}
	d, err := p.plan.Compare(child, typed)
	if err != nil || len(d.Fields) == 0 {
		return nil, err
	}
	return fieldsOf(key.Kind, d.Was, d.Wants, d.Fields), nil
}

// mine reports whether a live object of a wanted name is a child. In a Namespace that is proved to be the owner's, the name does.
func (p *Planner) mine(o *unstructured.Unstructured) bool {
	if p.plan.ByMark {
		return o.GetNamespace() != "" || names.Marked(o, p.plan.Name, p.owner)
	}
	return metav1.IsControlledBy(o, p.owner)
}

// fieldsOf are the fields in which two values differ, among those with the paths, or all.
func fieldsOf(kind string, was, wants map[string]any, paths []string) (all []Field) {
	before, after := leaves(was), leaves(wants)
	for i := range paths {
		paths[i] = dotted(paths[i])
	}
	both := maps.Clone(before)
	maps.Copy(both, after)
	for _, path := range slices.Sorted(maps.Keys(both)) {
		same := before[path] == after[path] && has(before, path) == has(after, path)
		if same || paths != nil && !slices.ContainsFunc(paths, isAbove(path)) {
			continue
		}
		f := Field{Path: path}
		if !secret(kind, path) {
			f.From, f.To = before[path], after[path]
		}
		all = append(all, f)
	}
	return all
}

func has(m map[string]string, key string) bool {
	_, found := m[key]
	return found
}

// dotted writes keys of maps as fields, as leaves does.
func dotted(path string) string {
	var out strings.Builder
	for i, part := range strings.Split(path, "[") {
		key, rest, closed := strings.Cut(part, "]")
		switch {
		case i == 0:
			out.WriteString(part)
		case closed && strings.Trim(key, "0123456789") != "":
			out.WriteString("." + key + rest)
		default:
			out.WriteString("[" + part)
		}
	}
	return out.String()
}

func isAbove(path string) func(string) bool {
	return func(above string) bool {
		rest, below := strings.CutPrefix(path, above)
		return below && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}
}

// leaves are the values in a value, by their paths.
func leaves(value any) map[string]string {
	all := map[string]string{}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for key, each := range value {
				walk(strings.TrimPrefix(path+"."+key, "."), each)
			}
		case []any:
			for i, each := range value {
				walk(fmt.Sprintf("%s[%d]", path, i), each)
			}
		default:
			all[path] = fmt.Sprint(value)
		}
	}
	walk("", value)
	return all
}

// secret reports whether the value of a field is nobody's business.
func secret(kind, path string) bool {
	if kind == "ConfigMap" || kind == "Secret" {
		return true
	}
	return strings.HasSuffix(path, ".value") || plugin.Secretive(path)
}
