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

// Package rollout is the one way to restart pods: exactly once for each change of what they depend on.
//
// A kind observes its sources and hands keyed hashes of what they hold to Restarter.Run. What is new is
// compared with the status of the object, which is the only memory; the decision is pure (decide.go);
// workloads are marked with the keyed hash of the content, so that doing it again changes nothing.
package rollout

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

// Options is what restarts need beside an object.
type Options struct {
	// Client reads from the cache, and writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Clock is the time.
	Clock clock.PassiveClock
	// Namespace is the operator's own: the key of the hashes is kept there, and nothing in it is ever
	// restarted.
	Namespace string
	// Event reports about any object: the workload that was restarted, for instance.
	Event func(about client.Object, eventType, reason, note string)
}

// Restarter restarts pods.
type Restarter struct {
	Options
	keys keyring
}

// New makes a Restarter. One serves all objects of a kind.
func New(o Options) *Restarter { return &Restarter{Options: o} }

// Target is one workload by name.
type Target struct {
	// Kind is Deployment, StatefulSet or DaemonSet.
	Kind string
	// Name is its name, in the namespace of the object.
	Name string
}

// Request asks for the restart of what depends on the content that an object observes.
type Request struct {
	// Kind is the object's kind in lower case, part of the name of the mark: configwatcher.
	Kind string
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
	// Observed is what the sources hold now. A source that could not be read is left out: what was last
	// seen of it stays, and nothing is restarted on its account.
	Observed []Observation
	// Reason is why a change restarts something: ContentChanged, ValueChanged.
	Reason string
	// Told has something counted or reported that the status tells, once that is written.
	Told func(tell func())
}

// Observation is what a source holds.
type Observation struct {
	// Source tells the source from all others of the object, for instance ConfigMap/webapp-config. What
	// follows a "[" says which part of it counts, and does not go into events. A source that was not
	// there before is taken as it is.
	Source string
	// Hash is Key.Hash of the content that counts.
	Hash string
	// Keys are hashes of single keys, for the message which of them changed. Optional.
	Keys map[string]string
	// OnlyKeys says that Keys are all that counts. A key that appears for the first time is taken as it is.
	OnlyKeys bool
	// Absent are keys that count and do not exist now, with OnlyKeys. What was last seen of them stays.
	Absent []string
}

// Check tells what is wrong with a policy or a namespace that the schema cannot tell: a schedule that is
// none or a window that never opens, kube-system or the operator's own namespace. An outcome that is not
// done stops the run. It is the first step of every kind that restarts.
func (r *Restarter) Check(req Request) engine.Outcome { return r.check(req) }

// Key gives the key that hashes are made with. It is made once and kept in a Secret.
func (r *Restarter) Key(ctx context.Context) (Key, error) { return r.keys.get(ctx, r.Options) }

// Run brings the status up to date with what was observed, and restarts what has to be restarted now.
//
// Its outcome is done while all is as it should be, also while a restart waits for its time; it then has
// the object looked at again when that has come. It blocks with Suspended or RestartReverted, waits while
// a PodDisruptionBudget allows no eviction, and is an error, after having done the others, when a
// workload refuses.
func (r *Restarter) Run(ctx context.Context, req Request) (engine.Outcome, error) {
	return r.run(ctx, req)
}

// Forget drops what was seen of sources that do not count any more.
func Forget(status *common.RestartStatus, counts func(source string) bool) {
	status.Observed = slices.DeleteFunc(status.Observed, func(o common.ObservedSource) bool { return !counts(o.Source) })
}

// Rebase takes the content as it is, without a restart: for an object whose spec now asks for something
// else. A restart that is pending is forgotten.
func Rebase(status *common.RestartStatus) {
	status.Observed, status.Pending, status.Mark, status.Workloads = nil, nil, "", nil
}
