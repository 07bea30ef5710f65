// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Annotated configures a controller of objects that are not of the operator's kinds and request something by an
// annotation. They are watched as metadata only.
type Annotated struct {
	// Name is the controller's name and its metrics label, in lower case.
	Name string
	// Of is an empty object of the type.
	Of client.Object
	// Owns is an empty object of the type that Run creates for such an object, with that object as its
	// controller. All recorded state is in it. Optional.
	Owns client.Object
	// Selects reports whether an object requests anything. Run is also called when one no longer does.
	Selects func(client.Object) bool
	// Run reconciles one object.
	Run func(ctx context.Context, o *metav1.PartialObjectMetadata) (Outcome, error)
	// MaxConcurrentReconciles is how many objects are reconciled at once, at most a quarter of them of one namespace. Default 1.
	MaxConcurrentReconciles int
	// RetryMax is the longest time between two tries after errors. Default 5 minutes.
	RetryMax time.Duration
}

// RegisterAnnotated adds the controller to the manager.
func RegisterAnnotated(mgr ctrl.Manager, a Annotated) error {
	gvk, err := apiutil.GVKForObject(a.Of, mgr.GetScheme())
	if err != nil {
		return err
	}
	if a.RetryMax == 0 {
		a.RetryMax = 5 * time.Minute
	}
	asks := predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return a.Selects(e.Object) },
		UpdateFunc:  func(e event.UpdateEvent) bool { return a.Selects(e.ObjectOld) || a.Selects(e.ObjectNew) },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
	b := ctrl.NewControllerManagedBy(mgr).Named(a.Name).For(a.Of, builder.OnlyMetadata, builder.WithPredicates(asks))
	if a.Owns != nil {
		b = b.Owns(a.Owns, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})))
	}
	q := newQueue(a.MaxConcurrentReconciles)
	return b.
		WithOptions(controllerOptions(q, a.MaxConcurrentReconciles, a.RetryMax)).
		Complete(q.reconciler(a.Name, reconcile.Func(func(ctx context.Context, req reconcile.Request) (ctrl.Result, error) {
			o := &metav1.PartialObjectMetadata{}
			o.SetGroupVersionKind(gvk)
			if err := mgr.GetClient().Get(ctx, req.NamespacedName, o); err != nil {
				return ctrl.Result{}, client.IgnoreNotFound(err)
			}
			defer reportRun(ctx, a.Name, req.NamespacedName, o.ResourceVersion)
			o, err := Whole(ctx, mgr.GetAPIReader(), o)
			if err != nil {
				return ctrl.Result{}, client.IgnoreNotFound(err)
			}
			if !o.DeletionTimestamp.IsZero() {
				return ctrl.Result{}, nil
			}
			ctx, span := startRun(ctx, a.Name, o)
			out, err := a.Run(ctx, o)
			endSpan(span, err)
			return resultOf(ctx, clock.RealClock{}, out, err)
		})))
}
