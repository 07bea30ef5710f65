// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package engine is the frame of every reconcile, written once. A kind is a list of named steps; the engine
// fetches the object, keeps its finalizer, runs the steps in order, applies and prunes children, derives Ready,
// writes the status once, and reports changes as events and metrics.
//
// The engine knows kinds by type parameter only. It writes nothing that already holds. Ownership is decided by
// place and proof (ownership.go), never by labels, annotations or field managers that a tenant may write. Calls
// to the world outside the cluster run in the background (outside.go).
package engine

import (
	"cmp"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
)

// Object is an object of any of the operator's kinds.
type Object interface {
	client.Object
	CommonStatus() *common.Status
}

// Kind is what the engine needs of a kind.
type Kind[T Object] interface {
	// Steps returns the steps of one reconcile, in order.
	Steps(Scope[T]) []Step
}

// Finalizing is implemented by kinds that have something to undo before an object may be removed. While it is
// being deleted, these steps run instead of Steps; when all are done the finalizer is removed.
type Finalizing[T Object] interface {
	Finalize(Scope[T]) []Step
}

// Summarizing is implemented by kinds whose status has a summary of its own, derived from the conditions just
// before the status is written.
type Summarizing[T Object] interface {
	Summarize(T)
}

// Forgetting is implemented by kinds that keep something of their objects in memory. Forget drops it when the object is gone. A run that
// began before may still be in progress, so what is kept must have a bound as well.
type Forgetting interface {
	Forget(key client.ObjectKey, uid types.UID)
}

// Scope is the context of one reconcile of one object.
type Scope[T Object] struct {
	// Client reads from the cache.
	Client client.Client
	// Live reads from the API server, for what the cache does not hold.
	Live client.Reader
	// Obj is the object. Steps read its spec and write its status.
	Obj T
	// Clock is the time.
	Clock clock.PassiveClock
	// Log carries the object's name.
	Log logr.Logger

	runner *runner[T]
	told   *[]func()
	wrong  *bool // what Ready tells
}

// Told runs a function once the status is persisted, for instance to count or report what the status records: a
// reconcile whose status cannot be written is repeated with the same result.
func (s Scope[T]) Told(fn func()) { *s.told = append(*s.told, fn) }

// Event emits an event, in addition to the transitions that the engine reports. The reason is one of a fixed
// list; the note contains no secret.
func (s Scope[T]) Event(eventType, reason, note string, args ...any) {
	s.runner.recorder.Eventf(s.Obj, nil, eventType, reason, "Reconcile", "%s", clip(fmt.Sprintf(note, args...), names.MaxNote))
}

// Config declares a kind once: watches, ownership and pruning follow from it.
type Config[T Object] struct {
	// Name is the kind in lower case: the controller's name, its field manager and its metrics label.
	Name string
	// Finalizer is the finalizer's name; required if the kind is Finalizing.
	Finalizer string
	// Owns lists one empty object of each type of child that is deleted when it is no longer wanted. Types that
	// hold data are rejected: they belong into Keeps.
	Owns []client.Object
	// Keeps lists one empty object of each type of child that is never pruned: a Namespace, a claim, a volume,
	// a backup. Only a finalizer's step deletes them.
	Keeps []client.Object
	// Places returns the namespaces of the children of a cluster-scoped owner; no other is searched. If the
	// kind keeps Namespaces, each of them counts only while its Namespace is proved to be the owner's. Any
	// other kind names only namespaces that no tenant may write into.
	Places func(owner T) []string
	// Proves reports whether a child of a declared type can be the owner's by its name and content, in addition
	// to the proof of ownership.go. It is required with Places, where it is the closed list of names, and with
	// CreateOnce, where it distinguishes a child from a copy of it. It must not change its arguments.
	Proves func(owner T, child client.Object) bool
	// ByMark is for a cluster-scoped owner whose children must outlive it if it is removed without its
	// finalizer, for instance with its CustomResourceDefinition: they get no owner reference.
	ByMark bool
	// References lists what the spec refers to by name.
	References []Reference[T]
	// Watches lists what else requeues objects.
	Watches []Watch[T]
	// Waker requeues objects after events outside of the cluster. Optional.
	Waker *Waker
	// OutsideWorkers is how many calls of one topic run at once (see Ask), at most a quarter of them of one namespace. Default 8.
	OutsideWorkers int
	// OutsideTimeout bounds one such call. Default 20 seconds.
	OutsideTimeout time.Duration
	// MaxConcurrentReconciles is how many objects are reconciled at once, at most a quarter of them of one namespace. Default 1.
	MaxConcurrentReconciles int
	// RetryMax is the longest time between two tries after errors. Default 5 minutes.
	RetryMax time.Duration
	// Clock is the time; the default is the real one.
	Clock clock.PassiveClock
}

func (c Config[T]) withDefaults() Config[T] {
	if c.RetryMax == 0 {
		c.RetryMax = 5 * time.Minute
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Waker == nil {
		c.Waker = NewWaker()
	}
	c.OutsideWorkers = cmp.Or(c.OutsideWorkers, 8)
	c.OutsideTimeout = cmp.Or(c.OutsideTimeout, 20*time.Second)
	return c
}

// Register adds the controller of a kind to the manager. The prototype is an empty object of the kind.
func Register[T Object](mgr ctrl.Manager, prototype T, cfg Config[T], kind Kind[T]) error {
	gvk, err := apiutil.GVKForObject(prototype, mgr.GetScheme())
	if err != nil {
		return err
	}
	cfg = cfg.withDefaults()
	if err := cfg.check(mgr.GetScheme()); err != nil {
		return err
	}
	r := &runner[T]{
		Config:   cfg,
		gvk:      gvk,
		kind:     kind,
		client:   mgr.GetClient(),
		live:     mgr.GetAPIReader(),
		recorder: mgr.GetEventRecorder(cfg.Name),
		queue:    newQueue(cfg.MaxConcurrentReconciles),
		outside:  newOutside(cfg.OutsideWorkers, cfg.OutsideTimeout, cfg.Clock, cfg.Waker.Wake),
	}
	if err := mgr.Add(r.outside); err != nil {
		return fmt.Errorf("adding the outside calls of %s: %w", r.Name, err)
	}
	if err := r.index(mgr, prototype); err != nil {
		return err
	}
	if err := observe(mgr, prototype, cfg.Name, cfg.Clock); err != nil {
		return err
	}
	b, err := r.watches(mgr, prototype)
	if err != nil {
		return err
	}
	return r.Waker.listen(b).Complete(r.queue.reconciler(r.Name, reconcile.AsReconciler[T](mgr.GetClient(), r)))
}
