// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package engine is the frame of every reconcile, written once. A kind is a list of named steps; the
// engine fetches the object, keeps its finalizer, runs the steps in order, applies and prunes
// children, derives Ready, writes the status once, and reports what changed as events and metrics.
//
// The engine knows kinds by type parameter only. Nothing is written that is already true. What belongs to an object is
// decided by place and proof (ownership.go), never by labels, annotations or field managers that a tenant may write.
// What waits for the world outside the cluster waits beside the runs (outside.go).
package engine

import (
	"cmp"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// Object is an object of any of the operator's kinds.
type Object interface {
	client.Object
	CommonStatus() *common.Status
}

// Kind is all that a kind must tell the engine.
type Kind[T Object] interface {
	// Steps lists the steps of one run, in order.
	Steps(Scope[T]) []Step
}

// Finalizing is implemented by a kind that has something to undo before its object may go. Its steps
// run, instead of Steps, while the object is being deleted; when all are done the finalizer is dropped.
type Finalizing[T Object] interface {
	Finalize(Scope[T]) []Step
}

// Summarizing is implemented by a kind whose status has a summary of its own, derived from the
// conditions just before the status is written.
type Summarizing[T Object] interface {
	Summarize(T)
}

// Scope is what one run of one object has at hand.
type Scope[T Object] struct {
	// Client reads from the cache.
	Client client.Client
	// Live reads from the API server. It is for what the cache does not hold.
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

// Told has something counted or reported that the status tells, once that is written: a run whose status cannot be
// written is repeated and comes to the same again.
func (s Scope[T]) Told(tell func()) { *s.told = append(*s.told, tell) }

// Event reports something worth telling beside the transitions that the engine reports by itself. The
// reason is one of a fixed list; the note holds no secret.
func (s Scope[T]) Event(eventType, reason, note string, args ...any) {
	s.runner.recorder.Eventf(s.Obj, nil, eventType, reason, "Reconcile", "%s", clip(fmt.Sprintf(note, args...), maxNote))
}

// Config declares a kind once: what is watched, owned and pruned follows from it.
type Config[T Object] struct {
	// Name is the kind in lower case: the controller's name, its field manager and its metrics label.
	Name string
	// Finalizer is the finalizer's name; needed when the kind is Finalizing.
	Finalizer string
	// Owns lists one empty object of each type of child that is deleted once it is not wanted any more. Types that
	// hold data are refused here: they belong into Keeps.
	Owns []client.Object
	// Keeps lists one empty object of each type of child that is never pruned: a Namespace, a claim, a volume, a
	// backup. Only a finalizer's step deletes such things.
	Keeps []client.Object
	// Places are the namespaces in which the children of a cluster-scoped owner are; no other is looked into. Of a kind
	// that keeps Namespaces each of them counts only while its Namespace is proved to be the owner's. Any other kind
	// names only namespaces that no tenant may write into.
	Places func(owner T) []string
	// Proves tells whether a child of a declared type can be the owner's by its name and content, beyond the proof of
	// ownership.go. It is needed with Places, where it is the closed list of names, and with CreateOnce, where it
	// tells a child from a copy of it. Neither may be changed.
	Proves func(owner T, child client.Object) bool
	// ByMark is for a cluster-scoped owner whose children outlive it when it disappears without its finalizer having
	// run, for instance with its CustomResourceDefinition: they get no owner reference.
	ByMark bool
	// References lists what the spec refers to by name.
	References []Reference[T]
	// Watches lists what else wakes objects up.
	Watches []Watch[T]
	// Waker wakes objects up from outside of the cluster. Optional.
	Waker *Waker
	// OutsideWorkers is how many questions of one topic are asked of the outside at once (see Ask). Default 8.
	OutsideWorkers int
	// OutsideTimeout bounds one such question. Default 20 seconds.
	OutsideTimeout time.Duration
	// MaxConcurrentReconciles is how many objects are worked on at once. Default 1.
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
		outside:  newOutside(cfg.OutsideWorkers, cfg.OutsideTimeout, cfg.Clock, cfg.Waker.Wake),
	}
	if err := mgr.Add(r.outside); err != nil {
		return fmt.Errorf("adding the questions of %s to the outside: %w", r.Name, err)
	}
	if err := r.index(mgr, prototype); err != nil {
		return err
	}
	if err := observe(mgr, prototype, cfg.Name); err != nil {
		return err
	}
	b, err := r.watches(mgr, prototype)
	if err != nil {
		return err
	}
	return r.Waker.listen(b).Complete(reconcile.AsReconciler[T](mgr.GetClient(), r))
}
