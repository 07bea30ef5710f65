// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restart is the one way to restart pods: once for each change of what they depend on.
//
// A kind observes its sources and hands keyed hashes of their content to Restarter.Run. The status of the
// object is the memory: the content that all pods are known to run with (the baseline), and the pending
// restart, which has a number and the content it is for (its target).
//
//	            changed                       time has come              all reached
//	settled ───────────────▶ waiting ────────────────────────▶ started ─────────────▶ settled
//	   ▲                    │   ▲  │ changed again:               │ changed again:      baseline = target
//	   └────────────────────┘   └──┘ next number                  ▼ next number
//	     undone, and no workload                               waiting, which is not undone:
//	     has rolled meanwhile                                  the baseline lacks what has started
//
// Each arrow is one write of the status. It comes before the first patch of a workload, so that a crash
// repeats what it interrupted; but a restart for which the workloads' generations are recorded may start and end in one
// write, because a generation that differs later tells that it had started. A workload is restarted by a mark on its pod
// template: the number, and a keyed hash of the object's UID, the number and the target. A mark is unique: a workload that
// carries it has been reached by this very restart, and setting it again changes nothing. A source that cannot be seen has
// the value of the target, else of the baseline; that it is not seen never says that it is unchanged. One that was written
// while the operator was away may have changed and changed back: then its content is not the baseline any more.
//
// What a restart is, is in four files: decide.go decides, and is pure; record.go writes down in the status what was decided;
// targets.go selects workloads, and marks them; execute.go goes through a restart that is due. Beside them:
//
//	register.go              what a kind calls, its watches and indexes
//	content.go, key.go       what is compared, and the keyed hashes of it
//	due.go                   when a restart may begin
//	pods.go, available.go    pods that are evicted or deleted, and how many may be missing at once
//	report.go                the outcome of a run that waits, or in which nothing is pending
//	peers.go, readings.go    what several objects that restart one workload have to do with each other
//	memory.go                what need not survive the operator
//	legacy.go                what version 0.1.0 has recorded
//
// model_test.go explores what decide.go, record.go and readings.go do under every order of changes, outages and crashes.
package restart

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
)

// fieldManager is under which marks are set. Version 0.1.0 had the same.
var fieldManager = names.FieldManager("rollout")

// Options is what restarts need beside an object.
type Options struct {
	// Kind is the kind of the objects in lower case, part of the name of the mark: configwatcher.
	Kind string
	// Client reads from the cache, and writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Clock is the time.
	Clock clock.PassiveClock
	// Namespace is the operator's own: the key of the hashes is kept there, and nothing in it is ever
	// restarted.
	Namespace string
	// Peers are the kinds that restart.
	Peers *Peers
	// Event reports about any object: the workload that was restarted, for instance.
	Event func(about client.Object, eventType, reason, note string)
}

// Restarter restarts pods. One serves all objects of a kind.
type Restarter struct {
	Options
	keys   keyring
	memory memory
}

// New returns a Restarter.
func New(o Options) *Restarter { return &Restarter{memory: newMemory(), Options: o} }

// Forget implements engine.Forgetting for the kinds that restart.
func (r *Restarter) Forget(key client.ObjectKey, uid types.UID) { r.memory.forget(key.Namespace, uid) }

// Target is one workload by name.
type Target struct {
	// Kind is Deployment, StatefulSet or DaemonSet.
	Kind string
	// Name is its name, in the namespace of the object.
	Name string
}

// Request asks for the restart of what depends on the content that an object observes.
type Request struct {
	// Object is the object, for events and its namespace.
	Object client.Object
	// Selector selects pods by label; nil when Target is set.
	Selector labels.Selector
	// Target is the one workload to restart; nil when Selector is set.
	Target *Target
	// Policy is how and how often.
	Policy common.RestartPolicy
	// Status is the object's: Run reads and changes it, the engine writes it.
	Status *common.RestartStatus
	// Observed is what the sources hold now. A source that could not be read is left out.
	Observed []Observation
	// Reason is why a change restarts something: ContentChanged, ValueChanged.
	Reason string
	// Told has something counted or reported once the status is written.
	Told func(tell func())
	// kind is that of the Restarter.
	kind string
}

// Observation is what a source holds.
type Observation struct {
	// Source identifies the source among all others of the object, for instance ConfigMap/webapp-config. What
	// follows a "[" says which part of it counts, and does not go into events. The first observation of a source
	// is its baseline.
	Source string
	// Hash is the hash of the content that counts.
	Hash Hash
	// Keys are hashes of single keys, for the message which of them changed. Optional.
	Keys map[string]Hash
	// OnlyKeys says that Keys are all that counts. The first observation of a key is its baseline.
	OnlyKeys bool
	// Shared identifies the source among all that objects share, and have read with Peers.Readings. Optional.
	Shared string
	// Absent are keys that count and do not exist now, with OnlyKeys. What was last seen of them stays.
	Absent []string
	// Version is the resourceVersion of the source, if it has one.
	Version string
	// Written identifies the last writes of the content, if that is known: another one says that it may have changed and
	// changed back.
	Written string
	// unattended: the operator has not seen the source since it started.
	unattended bool
}

// Check reports what is wrong with a policy or a namespace that the schema cannot tell: an invalid schedule,
// a window that never opens, kube-system or the operator's own namespace. An outcome that is not done stops
// the run. It is the first step of every kind that restarts.
func (r *Restarter) Check(req Request) engine.Outcome {
	ns := req.Object.GetNamespace()
	if ns == metav1.NamespaceSystem || ns == r.Namespace {
		return engine.Block(ReasonProtectedNamespace,
			fmt.Sprintf("nothing in the namespace %s is restarted: it belongs to the cluster or to the operator itself", ns))
	}
	_, err := readTiming(req.Policy, string(req.Object.GetUID()))
	switch {
	case errors.As(err, new(neverOpens)):
		return engine.Block(ReasonWindowNeverOpens, err.Error())
	case err != nil:
		return engine.Block(ReasonInvalidWindow, err.Error())
	}
	return engine.Done()
}

// Key gives the key that the hashes of an object are made with.
func (r *Restarter) Key(ctx context.Context, object client.Object) (Key, error) {
	root, err := r.keys.get(ctx, r.Options)
	return KeyOf(root, object.GetUID()), err
}

// Recorded is what is recorded of a source; false unless it was seen in this very version, so that it need not be read
// again.
func Recorded(s *common.RestartStatus, source, version string) (Observation, bool) {
	o := find(s.Observed, source)
	if p := s.Pending; p != nil {
		o = cmp.Or(find(p.Target, source), o)
	}
	if o == nil || o.Version == "" || o.Version != version || len(o.Hash) == legacyHash {
		return Observation{}, false
	}
	out := Observation{Source: source, Hash: Hash{now: o.Hash}, Version: version, Written: o.Written}
	if o.Keys != nil {
		out.Keys = make(map[string]Hash, len(o.Keys))
		for k, h := range o.Keys {
			out.Keys[k] = Hash{now: h}
		}
	}
	return out, true
}

// Run brings the status up to date with what was observed, and restarts what has to be restarted now.
//
// Its outcome is done while the pods run with the content, or a restart waits for its time; the object is then
// requeued for that time. It blocks with TargetMissing, Suspended or RestartReverted, waits while a PodDisruptionBudget allows
// no eviction or a workload is held back, and is an error, after having done the others, when a workload
// refuses.
func (r *Restarter) Run(ctx context.Context, req Request) (engine.Outcome, error) {
	req.kind = r.Kind
	key, err := r.Key(ctx, req.Object)
	if err != nil {
		return engine.Outcome{}, err
	}
	s, now := req.Status, r.Clock.Now()
	r.expectKey(req, key)
	adoptLegacy(key, s, req.Observed, now)
	r.memory.attend(req)
	seen := revise(key, s, req.Observed, now)
	f, err := r.facts(ctx, req, seen)
	if err != nil {
		return engine.Outcome{}, err
	}
	if plan(key, s, seen, f, now) {
		req.suppressed(SuppressedUndone)
	}
	if s.Pending == nil {
		return r.settled(ctx, req, now)
	}
	if reason, at, err := req.due(now); reason != "" || err != nil {
		if err != nil {
			return engine.Outcome{}, err
		}
		return r.wait(ctx, req, reason, at, now)
	}
	return r.execute(ctx, req, now)
}

// facts finds out what a plan needs to know.
func (r *Restarter) facts(ctx context.Context, req Request, seen revision) (facts, error) {
	s := req.Status
	f := facts{confirmed: s.Number == 0 || r.memory.confirms(req)}
	if s.Number == 0 && len(seen.changed) > 0 {
		all, err := r.workloads(ctx, req)
		if err != nil {
			return f, err
		}
		countFrom(s, req.states(all))
	}
	if !seen.replaces(s.Pending) {
		return f, nil
	}
	all, err := r.look(ctx, req)
	f.rolled = anyRolled(s.Pending, req.states(all))
	return f, err
}

// due reports whether the pending restart may happen now: then the reason is empty.
func (q Request) due(now time.Time) (reason string, at time.Time, err error) {
	t, err := readTiming(q.Policy, string(q.Object.GetUID()))
	if err != nil {
		return "", time.Time{}, err
	}
	reason, at = t.due(q.Status, now)
	return reason, at, nil
}

// expectKey makes the content the baseline when the hashes were made with another key: they say nothing.
func (r *Restarter) expectKey(req Request, key Key) {
	s := req.Status
	if s.KeyID != "" && s.KeyID != key.ID() {
		Rebase(s)
		req.Told(func() {
			r.event(req.Object, corev1.EventTypeWarning, eventKeyChanged,
				"the key of the hashes was lost and created again; the present content is the new baseline, and nothing is restarted for it")
		})
	}
	s.KeyID = key.ID()
}

// event reports about an object. A note that is too long is cut: the API server would reject the event.
func (r *Restarter) event(about client.Object, eventType, reason, note string) {
	r.Event(about, eventType, reason, names.Note(note))
}
