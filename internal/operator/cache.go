// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"maps"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	workloadsv1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
)

// cacheOptions limits what the caches hold, so that memory does not grow with foreign objects or with what
// tenants write into objects. Of foreign objects only the keys and references that find them are held, and no
// large object is held whole. What is held does not depend on owner marks, which tenants can write.
func cacheOptions(kinds []Kind) cache.Options {
	types := map[reflect.Type]*heldType{}
	for _, t := range []*heldType{
		{of: &autorebootv1alpha1.ConfigWatcher{}, foreign: keep},
		{of: &appsv1.DaemonSet{}, foreign: pruneWorkload},
		{of: &appsv1.Deployment{}, foreign: pruneWorkload},
		{of: &appsv1.StatefulSet{}, foreign: pruneWorkload},
		{of: &batchv1.Job{}, foreign: bare, child: pruneJob},
		{of: &corev1.ConfigMap{}, foreign: pruneSource},
		{of: &corev1.Node{}, foreign: pruneNode},
		{of: &corev1.Secret{}, foreign: pruneSource},
		{of: &workloadsv1alpha1.WebApp{}, foreign: pruneWebApp},
		// A cluster has many of these, which nodes and components renew all the time. What is read of those that have lost
		// the label is read from the API server.
		{of: &coordinationv1.Lease{}, foreign: bare, selector: managed},
		{of: &discoveryv1.EndpointSlice{}, foreign: pruneSlice, selector: managed},
	} {
		types[reflect.TypeOf(t.of)] = t
	}
	groups := map[string]bool{}
	for _, k := range kinds {
		groups[groupOf(k.Object)] = true
		for _, h := range k.Holds {
			t := types[reflect.TypeOf(h.Of)]
			if t == nil {
				t = &heldType{of: h.Of, foreign: bare}
				types[reflect.TypeOf(h.Of)] = t
			}
			t.add(h)
		}
	}
	options := cache.Options{NewInformer: newInformer, DefaultTransform: hold(keep), ByObject: map[client.Object]cache.ByObject{}}
	for _, t := range types {
		options.ByObject[t.of] = t.options(groups)
	}
	return options
}

// managed selects what has the operator's label, as the EndpointSlices of its Services do.
var managed = labels.SelectorFromSet(labels.Set{names.LabelManagedBy: names.Operator})

// expected returns the types without which the operator is not ready: its kinds, the types that they read, and
// the types that the caches have rules for.
func expected(kinds []Kind, caches cache.Options) []client.Object {
	out := slices.Collect(maps.Keys(caches.ByObject))
	for _, k := range kinds {
		out = append(append(out, k.Object), k.Reads...)
	}
	return out
}

// groupOf returns the API group of one of the operator's kinds.
func groupOf(o client.Object) string {
	gvks, _, err := Scheme().ObjectKinds(o)
	if err != nil {
		panic(err) // Scheme lacks a kind of the table
	}
	return gvks[0].Group
}

// heldType defines what the cache holds of a type.
type heldType struct {
	of client.Object
	// names are the names of all children of the type; controlled is true if children may have any name.
	names      []string
	controlled bool
	// selector selects what the API server sends; nil selects all.
	selector labels.Selector
	// foreign removes from an object that is nobody's child what is never read, and child does so from a child;
	// nil removes nothing.
	foreign, child func(client.Object) client.Object
}

func (t *heldType) add(h engine.Held) {
	t.names = append(t.names, h.Names...)
	t.controlled = t.controlled || len(h.Names) == 0
}

// options makes the API server send no other objects if all children have one name.
func (t *heldType) options(groups map[string]bool) cache.ByObject {
	o := cache.ByObject{Transform: hold(func(o client.Object) client.Object { return t.prune(o, groups) })}
	o.Label = t.selector
	if len(t.names) == 1 && !t.controlled {
		o.Field = fields.OneTermEqualSelector(metav1.ObjectNameField, t.names[0])
	}
	return o
}

// prune keeps children whole, unless they are large.
func (t *heldType) prune(o client.Object, groups map[string]bool) client.Object {
	own := slices.Contains(t.names, o.GetName()) || t.controlled && controlledBy(o, groups)
	if !own {
		return t.foreign(o)
	}
	if t.child != nil {
		o = t.child(o)
	}
	if fits(o, maxHeld) {
		return o
	}
	o = t.foreign(o)
	markCut(o)
	return o
}

// controlledBy reports whether the controller of an object is of one of the groups. Tenants can write that,
// too: it decides how much of an object is held, never whether the operator acts on it.
func controlledBy(o client.Object, groups map[string]bool) bool {
	owner := metav1.GetControllerOfNoCopy(o)
	if owner == nil {
		return false
	}
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && groups[gv.Group]
}
