// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/acme/platform-operator/internal/names"
)

// This file holds all that the engine knows of ownership. Labels, annotations, owner references in another
// namespace and the names of field managers can be written by tenants, so they prove nothing. The proof is
//
// - for a namespaced owner: its own namespace, and a controller reference with its UID;
// - for a cluster-scoped owner and a cluster-scoped child: a controller reference with its UID or, with ByMark,
// its marks, which no tenant can write there;
// - for a cluster-scoped owner and a namespaced child: that the child's namespace is one of the declared places
// and is itself proved to be the owner's, and that Config.Proves has the child's name.
//
// Config.Proves may require more than each of these.

// holdsData reports whether objects of a type hold what cannot be created again.
func holdsData(kind schema.GroupKind) bool {
	switch kind.Group {
	case "":
		return slices.Contains([]string{"Namespace", "PersistentVolumeClaim", "PersistentVolume"}, kind.Kind)
	case "apiextensions.k8s.io", "snapshot.storage.k8s.io", "databases.acme.com":
		return true
	default:
		return false
	}
}

// check rejects a declaration by which the engine could delete or touch what it must not.
func (c Config[T]) check(scheme *runtime.Scheme) error {
	for _, o := range c.Owns {
		gvk, err := apiutil.GVKForObject(o, scheme)
		if err != nil {
			return err
		}
		if holdsData(gvk.GroupKind()) {
			return fmt.Errorf("the kind %s declares that it owns the type %s, which is never pruned: declare it in Keeps", c.Name, gvk.Kind)
		}
	}
	switch {
	case c.ByMark && c.Places == nil:
		return fmt.Errorf("the kind %s owns by marks and declares no Places", c.Name)
	case c.Places != nil && c.Proves == nil:
		return fmt.Errorf("the kind %s declares Places, but no Proves with the names of its children", c.Name)
	}
	return nil
}

// marks returns the labels and the annotations of a child.
func (s Scope[T]) marks() (labels, annotations map[string]string) {
	return marksOf(s.runner.Name, s.Obj)
}

// marksOf returns the marks of a kind, in lower case, and an owner.
func marksOf(kind string, owner client.Object) (labels, annotations map[string]string) {
	return map[string]string{names.LabelManagedBy: names.Operator, names.LabelOwnerUID: string(owner.GetUID())},
		map[string]string{names.AnnotationOwner: names.OwnerMark(kind, owner)}
}

// stamp adds the marks and, unless ByMark, the owner reference to an apply configuration.
func (s Scope[T]) stamp(c Child) { c.stamp(s.runner.Name, s.runner.gvk, s.runner.ByMark, s.Obj) }

func (c Child) stamp(kind string, gvk schema.GroupVersionKind, byMark bool, owner client.Object) {
	var ref *metav1ac.OwnerReferenceApplyConfiguration
	if !byMark {
		ref = metav1ac.OwnerReference().WithAPIVersion(gvk.GroupVersion().String()).WithKind(gvk.Kind).
			WithName(owner.GetName()).WithUID(owner.GetUID()).WithController(true).WithBlockOwnerDeletion(true)
	}
	labels, annotations := marksOf(kind, owner)
	c.mark(labels, annotations, ref)
}

// mark is stamp for a plain object.
func (s Scope[T]) mark(child client.Object) error {
	labels, annotations := s.marks()
	child.SetLabels(merged(child.GetLabels(), labels))
	child.SetAnnotations(merged(child.GetAnnotations(), annotations))
	if s.runner.ByMark {
		return nil
	}
	return controllerutil.SetControllerReference(s.Obj, child, s.Client.Scheme())
}

func merged(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

// Owned reports whether an object alone proves that it is a child of this object. A namespaced child of a
// cluster-scoped owner never does, because its Namespace has to be checked, too: see EachOwned.
func (s Scope[T]) Owned(live client.Object) bool {
	return (s.Obj.GetNamespace() != "" || live.GetNamespace() == "") && s.claims(live)
}

// owned reports whether an object is proved to be a child of this object.
func (s Scope[T]) owned(ctx context.Context, live client.Object) (bool, error) {
	if s.Obj.GetNamespace() != "" || live.GetNamespace() == "" {
		return s.claims(live), nil
	}
	if !s.claims(live) {
		return false, nil
	}
	return s.ownPlace(ctx, live.GetNamespace())
}

// claims returns the part of the proof that is in the child itself.
func (s Scope[T]) claims(live client.Object) bool {
	switch {
	case !s.declares(live):
		return false
	case !s.runner.ByMark:
		return s.controls(live)
	default:
		return live.GetNamespace() != "" || names.Marked(live, s.runner.Name, s.Obj)
	}
}

// former reports whether an object's controller is another object of this kind and name. Only one can exist at
// a time, so that one is gone, and the garbage collector deletes its children.
func (s Scope[T]) former(live client.Object) bool {
	ref := metav1.GetControllerOfNoCopy(live)
	return ref != nil && ref.Name == s.Obj.GetName() && ref.UID != s.Obj.GetUID() && s.runner.refersToKind(ref)
}

// controls reports whether this object is the controller of another one that it may own.
func (s Scope[T]) controls(live client.Object) bool {
	ns := s.Obj.GetNamespace()
	ref := metav1.GetControllerOfNoCopy(live)
	return (ns == "" || ns == live.GetNamespace()) && ref != nil && ref.UID == s.Obj.GetUID() && s.runner.refersToKind(ref)
}

// refersToKind reports whether an owner reference is to an object of this kind, of any version.
func (r *runner[T]) refersToKind(ref *metav1.OwnerReference) bool {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == r.gvk.Group && ref.Kind == r.gvk.Kind
}

// declares reports whether the kind has declared that this object may own such an object.
func (s Scope[T]) declares(o client.Object) bool {
	place, isPlace := placeOf(o)
	switch {
	case s.Obj.GetNamespace() == "" && place != "" && !slices.Contains(s.places(), place):
		return false
	case isPlace || s.runner.Proves == nil:
		return true
	default:
		return s.runner.Proves(s.Obj, o)
	}
}

func (s Scope[T]) places() []string {
	if s.runner.Places == nil {
		return nil
	}
	return s.runner.Places(s.Obj)
}

// placeOf returns the namespace in which an object is, or which it is itself.
func placeOf(o client.Object) (place string, isPlace bool) {
	if _, isPlace := o.(*corev1.Namespace); isPlace {
		return o.GetName(), true
	}
	return o.GetNamespace(), false
}

// ownPlace reports whether a namespace is one of the places of a cluster-scoped owner, and proved to be.
func (s Scope[T]) ownPlace(ctx context.Context, place string) (bool, error) {
	if !s.runner.keepsPlaces() {
		return slices.Contains(s.places(), place), nil
	}
	ns := &corev1.Namespace{}
	err := s.Client.Get(ctx, client.ObjectKey{Name: place}, ns)
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return s.Owned(ns), nil
}

// keepsPlaces reports whether the Namespaces of the kind's children are children themselves.
func (r *runner[T]) keepsPlaces() bool {
	return slices.ContainsFunc(r.Keeps, func(o client.Object) bool { _, isPlace := placeOf(o); return isPlace })
}

// strayed reports whether a child of the wanted name has lost its owner reference, and has no other controller.
// Its marks prove nothing, but the author of the marks could have written the whole child. So it is applied to
// once more; it is neither counted nor deleted.
func (s Scope[T]) strayed(live client.Object) bool {
	labels, annotations := s.marks()
	return !s.runner.ByMark && s.Obj.GetNamespace() == live.GetNamespace() && metav1.GetControllerOfNoCopy(live) == nil &&
		live.GetLabels()[names.LabelOwnerUID] == labels[names.LabelOwnerUID] &&
		live.GetAnnotations()[names.AnnotationOwner] == annotations[names.AnnotationOwner]
}

// EachOwned calls do for every child that exists: those of Config.Owns first, then those of Config.Keeps, in
// their order. The objects may be the cache's own and must not be changed.
func (s Scope[T]) EachOwned(ctx context.Context, do func(client.Object) error) error {
	return s.eachOwned(ctx, slices.Concat(s.runner.Owns, s.runner.Keeps), do)
}

// eachOwned is EachOwned for some of the types. It searches only where children can be.
func (s Scope[T]) eachOwned(ctx context.Context, types []client.Object, do func(client.Object) error) error {
	if err := s.awaitFresh(ctx); err != nil {
		return err
	}
	places, err := s.ownPlaces(ctx)
	if err != nil {
		return err
	}
	for _, proto := range types {
		if _, isPlace := placeOf(proto); isPlace && s.runner.Places != nil {
			if err := s.eachPlace(ctx, places, do); err != nil {
				return err
			}
			continue
		}
		searches, err := s.searches(proto, places)
		if err != nil {
			return fmt.Errorf("finding the children of type %T: %w", proto, err)
		}
		for _, search := range searches {
			if err := s.search(ctx, proto, search, do); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachPlace calls do for Namespaces that are places. Their names are known, so there is no search.
func (s Scope[T]) eachPlace(ctx context.Context, places []string, do func(client.Object) error) error {
	for _, place := range places {
		ns := &corev1.Namespace{}
		err := s.Client.Get(ctx, client.ObjectKey{Name: place}, ns)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return fmt.Errorf("reading the Namespace %s: %w", place, err)
		}
		if err := do(ns); err != nil {
			return err
		}
	}
	return nil
}

// search calls do for the children of a type in one list.
func (s Scope[T]) search(ctx context.Context, proto client.Object, where []client.ListOption, do func(client.Object) error) error {
	newList, err := ListOf(s.Client.Scheme(), proto)
	if err != nil {
		return err
	}
	list := newList()
	if err := s.Client.List(ctx, list, append(where, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)...); err != nil {
		return fmt.Errorf("listing the children of type %T: %w", proto, err)
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		if o := item.(client.Object); s.claims(o) {
			return do(o)
		}
		return nil
	})
}

// ownPlaces returns the places that are proved to be the object's.
func (s Scope[T]) ownPlaces(ctx context.Context) ([]string, error) {
	var proved []string
	for _, place := range s.places() {
		own, err := s.ownPlace(ctx, place)
		switch {
		case err != nil:
			return nil, fmt.Errorf("reading the Namespace %s: %w", place, err)
		case own:
			proved = append(proved, place)
		}
	}
	return proved, nil
}

// searches returns the lists that find the children of a type.
func (s Scope[T]) searches(proto client.Object, places []string) ([][]client.ListOption, error) {
	controlled := client.MatchingFields{s.runner.ownerIndex(): string(s.Obj.GetUID())}
	if ns := s.Obj.GetNamespace(); ns != "" {
		return [][]client.ListOption{{client.InNamespace(ns), controlled}}, nil
	}
	namespaced, err := s.Client.IsObjectNamespaced(proto)
	switch {
	case err != nil:
		return nil, err
	case !namespaced && s.runner.ByMark:
		return [][]client.ListOption{{}}, nil
	case !namespaced:
		return [][]client.ListOption{{controlled}}, nil
	}
	var within [][]client.ListOption
	for _, place := range places {
		within = append(within, []client.ListOption{client.InNamespace(place)})
	}
	return within, nil
}

// Reclaim writes this object's marks on what an earlier owner of the same place has left there, so that the
// next Compose finds it, and keeps or prunes it. The objects are identified by place and name. It is for a kind
// that is about to adopt the place: the place need not be proved yet.
func (s Scope[T]) Reclaim(ctx context.Context, o client.Object) error {
	if !s.declares(o) || !o.GetDeletionTimestamp().IsZero() {
		return nil
	}
	after := o.DeepCopyObject().(client.Object)
	if err := s.mark(after); err != nil {
		return fmt.Errorf("reclaiming %s: %w", identityOf(o), err)
	}
	return s.change(ctx, "reclaiming", o, after)
}

// Release removes this object's marks and owner reference from a child, and adds annotations. The child
// remains. An object that is not proved to be a child is left alone.
func (s Scope[T]) Release(ctx context.Context, o client.Object, note map[string]string) error {
	if own, err := s.owned(ctx, o); err != nil || !own {
		return err
	}
	after := o.DeepCopyObject().(client.Object)
	labels, annotations := after.GetLabels(), merged(after.GetAnnotations(), note)
	delete(labels, names.LabelOwnerUID)
	delete(labels, names.LabelManagedBy)
	delete(annotations, names.AnnotationOwner)
	after.SetLabels(labels)
	after.SetAnnotations(annotations)
	after.SetOwnerReferences(slices.DeleteFunc(after.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return ref.UID == s.Obj.GetUID()
	}))
	return s.change(ctx, "releasing", o, after)
}

// change writes the difference between two versions of an object, if there is one and no other writer was
// faster.
func (s Scope[T]) change(ctx context.Context, doing string, before, after client.Object) error {
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	// A cache may select on a mark that is removed: what was written may never be seen again.
	err := s.Client.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}),
		client.DisableReadYourWritesConsistency)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("%s %s: %w", doing, identityOf(after), err)
	}
	return nil
}

// errHoldsData is the error of deleting data other than at the end of its owner.
var errHoldsData = errors.New("it holds data, which only the deletion of its owner may delete")

// remove deletes a child. Every deletion of the engine happens here: of the object that was checked and no
// other (its UID), unchanged since (its resourceVersion), and of what holds data only while its owner is being
// deleted.
func (s Scope[T]) remove(ctx context.Context, live client.Object, options ...client.DeleteOption) error {
	gvk, err := apiutil.GVKForObject(live, s.Client.Scheme())
	if err == nil && holdsData(gvk.GroupKind()) && s.Obj.GetDeletionTimestamp().IsZero() {
		err = errHoldsData
	}
	if err == nil {
		// A cache that selects on the marks may have dropped the object already: no read may wait for it.
		err = s.Client.Delete(ctx, live, append(options, client.DisableReadYourWritesConsistency,
			client.Preconditions{UID: new(live.GetUID()), ResourceVersion: new(live.GetResourceVersion())})...)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s: %w", identityOf(live), err)
	}
	return nil
}
