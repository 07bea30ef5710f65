// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/acme/platform-operator/internal/names"
)

// Reference declares objects that objects of a kind refer to by name. The engine watches them, so that an
// object that is blocked on one is requeued when it appears or changes.
type Reference[T Object] struct {
	// To is an empty object of the type. Secrets, ConfigMaps and Nodes are watched as metadata only: read the rest of
	// the named ones with Scope.Live.
	To client.Object
	// Keys are the names that one object refers to.
	Keys func(T) []client.ObjectKey
	// As are the names under which an object of the type is referred to, when these are not its own.
	As func(client.Object) []client.ObjectKey
	// Changed reports whether an update of an object of the type concerns what refers to it. Without it, every update does.
	Changed func(before, now client.Object) bool
}

// options are how the engine watches what is referred to.
func (ref Reference[T]) options() (opts []builder.WatchesOption) {
	switch ref.To.(type) {
	case *corev1.Secret, *corev1.ConfigMap, *corev1.Node:
		opts = append(opts, builder.OnlyMetadata)
	}
	if ref.Changed != nil {
		concerns := func(e event.UpdateEvent) bool { return ref.Changed(e.ObjectOld, e.ObjectNew) }
		opts = append(opts, builder.WithPredicates(predicate.Funcs{UpdateFunc: concerns}))
	}
	return opts
}

// index adds the indexes that watches and pruning need: children by owner, and objects by what they refer to.
func (r *runner[T]) index(mgr ctrl.Manager, prototype T) error {
	ctx, indexer := context.Background(), mgr.GetFieldIndexer()
	if err := r.indexOwners(ctx, indexer, prototype); err != nil {
		return err
	}
	for i, ref := range r.References {
		keys := func(o client.Object) []string {
			var out []string
			for _, k := range ref.Keys(o.(T)) {
				out = append(out, k.String())
			}
			return out
		}
		if err := indexer.IndexField(ctx, prototype, referenceIndex(i), keys); err != nil {
			return fmt.Errorf("indexing %s by its references to %T: %w", r.Name, ref.To, err)
		}
	}
	return r.indexWatched(ctx, indexer, prototype)
}

func (r *runner[T]) ownerIndex() string { return "owner/" + r.Name }

func referenceIndex(i int) string { return fmt.Sprintf("reference/%d", i) }

const placeIndex = "places"

// indexOwners adds the indexes of children by the UID of their controller, and of owners by the places of their
// children.
func (r *runner[T]) indexOwners(ctx context.Context, indexer client.FieldIndexer, prototype T) error {
	if r.Places != nil {
		places := func(o client.Object) []string { return r.Places(o.(T)) }
		if err := indexer.IndexField(ctx, prototype, placeIndex, places); err != nil {
			return fmt.Errorf("indexing %s by the places of its children: %w", r.Name, err)
		}
	}
	if r.ByMark {
		return nil
	}
	for _, o := range slices.Concat(r.Owns, r.Keeps) {
		if err := indexer.IndexField(ctx, o, r.ownerIndex(), controllerOf); err != nil {
			return fmt.Errorf("indexing %T by owner: %w", o, err)
		}
	}
	return nil
}

// controllerOf returns the UID of an object's controller. Lists by it name a namespace, too.
func controllerOf(o client.Object) []string {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return []string{string(ref.UID)}
	}
	return nil
}

// watches builds the controller: the kind itself, its children, and what it refers to.
func (r *runner[T]) watches(mgr ctrl.Manager, prototype T) (*builder.Builder, error) {
	b := ctrl.NewControllerManagedBy(mgr).Named(r.Name).
		For(prototype, builder.WithPredicates(predicate.Funcs{DeleteFunc: r.forget}, predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.Funcs{UpdateFunc: r.mustLook}))).
		WithOptions(controllerOptions(r.queue, r.MaxConcurrentReconciles, r.RetryMax))
	ownersOf, err := r.ownersOf(mgr, prototype)
	if err != nil {
		return nil, err
	}
	for _, o := range slices.Concat(r.Owns, r.Keeps) {
		b = b.Watches(o, handler.EnqueueRequestsFromMapFunc(ownersOf))
	}
	for i, ref := range r.References {
		byReference, err := r.referringTo(mgr, prototype, ref.As, referenceIndex(i))
		if err != nil {
			return nil, err
		}
		b = b.Watches(ref.To, handler.EnqueueRequestsFromMapFunc(byReference), ref.options()...)
	}
	return r.watchMore(mgr, prototype, b)
}

// forget drops what is kept of an object that is gone.
func (r *runner[T]) forget(e event.DeleteEvent) bool {
	r.outside.forget(e.Object.GetUID())
	if k, ok := r.kind.(Forgetting); ok {
		k.Forget(client.ObjectKeyFromObject(e.Object), e.Object.GetUID())
	}
	return true
}

// mustLook reports whether an object has lost the operator's finalizer, or is now being deleted. The addition
// of the finalizer is no reason to look: it is the operator's own write.
func (r *runner[T]) mustLook(e event.UpdateEvent) bool {
	lost := controllerutil.ContainsFinalizer(e.ObjectOld, r.Finalizer) && !controllerutil.ContainsFinalizer(e.ObjectNew, r.Finalizer)
	return lost || e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
}

// ownersOf maps a child to its possible owners. A mark leads only to owners that a proof leads to as well.
func (r *runner[T]) ownersOf(mgr ctrl.Manager, prototype T) (handler.MapFunc, error) {
	newList, err := ListOf(mgr.GetScheme(), prototype)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		place, isPlace := placeOf(o)
		if r.Places != nil && place != "" {
			return r.indexed(ctx, newList(), placeIndex, place, func(owner T) bool { return isPlace || r.Proves(owner, o) })
		}
		if r.ByMark {
			return r.markedBy(o)
		}
		if ref := metav1.GetControllerOfNoCopy(o); ref != nil && r.refersToKind(ref) {
			return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: ref.Name}}}
		}
		return nil
	}, nil
}

// markedBy maps a cluster-scoped child to the owner that its mark names.
func (r *runner[T]) markedBy(o client.Object) []reconcile.Request {
	kind, _, name := names.ParseOwnerMark(o.GetAnnotations()[names.AnnotationOwner])
	if kind != r.Name {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: name}}}
}

// referringTo maps a referenced object to the other objects that refer to it.
func (r *runner[T]) referringTo(
	mgr ctrl.Manager, prototype T, as func(client.Object) []client.ObjectKey, index string,
) (handler.MapFunc, error) {
	newList, err := ListOf(mgr.GetScheme(), prototype)
	if err != nil {
		return nil, err
	}
	if as == nil {
		as = func(o client.Object) []client.ObjectKey { return []client.ObjectKey{client.ObjectKeyFromObject(o)} }
	}
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		var all []reconcile.Request
		for _, key := range as(o) {
			all = append(all, r.indexed(ctx, newList(), index, key.String(), func(obj T) bool { return obj.GetUID() != o.GetUID() })...)
		}
		return all
	}, nil
}

// indexed returns the requests for the objects that an index has under a key, and that a function selects.
func (r *runner[T]) indexed(ctx context.Context, list client.ObjectList, index, key string, selects func(T) bool) []reconcile.Request {
	if err := r.client.List(ctx, list, client.MatchingFields{index: key},
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Cannot list what refers to an object", "kind", r.Name, "reference", key)
		return nil
	}
	var out []reconcile.Request
	_ = meta.EachListItem(list, func(item runtime.Object) error {
		if selects(item.(T)) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(item.(client.Object))})
		}
		return nil
	})
	return out
}

// ListOf returns the constructor of the list type of an object's type.
func ListOf(scheme *runtime.Scheme, o client.Object) (func() client.ObjectList, error) {
	gvk, err := apiutil.GVKForObject(o, scheme)
	if err != nil {
		return nil, err
	}
	gvk.Kind += "List"
	if _, err := scheme.New(gvk); err != nil {
		return nil, err
	}
	return func() client.ObjectList {
		list, _ := scheme.New(gvk)
		return list.(client.ObjectList)
	}, nil
}
