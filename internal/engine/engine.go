/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package engine

import (
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
	// Owns lists one empty object of each type of child.
	Owns []client.Object
	// ByMark owns children by the operator's marks (a label with the owner's UID and an annotation with
	// its name) and gives them no owner reference, so that they outlive an owner that disappears without
	// its finalizer having run, for instance with its CustomResourceDefinition.
	ByMark bool
	// References lists what the spec refers to by name.
	References []Reference[T]
	// Watches lists what else wakes objects up.
	Watches []Watch[T]
	// Waker wakes objects up from outside of the cluster. Optional.
	Waker *Waker
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
	return c
}

// Register adds the controller of a kind to the manager. The prototype is an empty object of the kind.
func Register[T Object](mgr ctrl.Manager, prototype T, cfg Config[T], kind Kind[T]) error {
	gvk, err := apiutil.GVKForObject(prototype, mgr.GetScheme())
	if err != nil {
		return err
	}
	r := &runner[T]{
		Config:   cfg.withDefaults(),
		gvk:      gvk,
		kind:     kind,
		client:   mgr.GetClient(),
		live:     mgr.GetAPIReader(),
		recorder: mgr.GetEventRecorder(cfg.Name),
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
