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

package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/engine"
)

// The reasons of conditions and events.
const (
	// ReasonProtectedNamespace: nothing in this namespace is ever restarted.
	ReasonProtectedNamespace = "ProtectedNamespace"
	// ReasonInvalidWindow: a window's schedule or time zone is none.
	ReasonInvalidWindow = "InvalidWindow"
	// ReasonWindowNeverOpens: a window's schedule never fires.
	ReasonWindowNeverOpens = "WindowNeverOpens"
	// ReasonReverted: somebody took our mark off a workload.
	ReasonReverted = "RestartReverted"
	// ReasonDisruptionBudget: a PodDisruptionBudget allows no eviction now.
	ReasonDisruptionBudget = "DisruptionBudget"
	// ReasonRestartRefused: a workload could not be restarted.
	ReasonRestartRefused = "RestartRefused"

	eventRestarting   = "Restarting"
	eventRestarted    = "Restarted"
	eventWouldRestart = "WouldRestart"
	eventKeyChanged   = "KeyChanged"
)

// asItIs is what is said when nothing is to be done.
const asItIs = "the pods run with the content as it is"

const (
	// askBudgetAgain is when an eviction is tried again that a PodDisruptionBudget did not allow.
	askBudgetAgain = 5 * time.Second
	// lookAgain is when workloads and pods that others wait for are looked at again without any event.
	lookAgain = 10 * time.Second
	// lookBack is when workloads are looked at once more that have been restarted: late enough to be in no other
	// restart's way when hundreds come at once.
	lookBack = 20 * time.Second
	// recheck is how often it is looked whether a mark that was taken off has been put back.
	recheck = time.Minute
	// atOnce has the object looked at again as soon as its status is written.
	atOnce = time.Millisecond
)

func (r *Restarter) check(req Request) engine.Outcome {
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

func (r *Restarter) run(ctx context.Context, req Request) (engine.Outcome, error) {
	key, err := r.Key(ctx)
	if err != nil {
		return engine.Outcome{}, err
	}
	s, now := req.Status, r.Clock.Now()
	r.expectKey(req, key)
	v := compare(key, s.Observed, req.Observed, now)
	if err := r.recall(ctx, req, v); err != nil {
		return engine.Outcome{}, err
	}
	if advance(s, v, now) {
		req.suppressed(SuppressedUndone)
	}
	if s.Pending == nil {
		return r.settled(ctx, req, v, now)
	}
	t, err := readTiming(req.Policy, string(req.Object.GetUID()))
	if err != nil {
		return engine.Outcome{}, err
	}
	if reason, at := t.due(s, now); reason != "" {
		return r.wait(req, reason, at, now), nil
	}
	return r.execute(ctx, req, v, now)
}

// recall finds out whether a restart that is about to be superseded has reached workloads already. The
// cache may be late, which matters when no other restart follows.
func (r *Restarter) recall(ctx context.Context, req Request, v view) error {
	yes, undone := superseded(req.Status, v)
	if !yes {
		return nil
	}
	var reader client.Reader = r.Client
	if undone {
		reader = r.Live
	}
	all, err := r.workloads(ctx, reader, req)
	if err != nil {
		return err
	}
	req.Status.Pending.Replaces = unrecorded(req.Status, req.states(all))
	return nil
}

// expectKey takes the content as it is when the hashes were made with another key: they say nothing.
func (r *Restarter) expectKey(req Request, key Key) {
	s := req.Status
	if s.KeyID == key.ID() {
		return
	}
	if s.KeyID != "" {
		Rebase(s)
		req.Told(func() {
			r.Event(req.Object, corev1.EventTypeWarning, eventKeyChanged,
				"the key of the hashes is another one; the content is taken as it is, and nothing is restarted for it")
		})
	}
	s.KeyID = key.ID()
}

// wait tells why a restart waits and has the object looked at again in time.
func (r *Restarter) wait(req Request, reason string, at, now time.Time) engine.Outcome {
	p := req.Status.Pending
	if p.Reason != reason {
		req.suppressed(reason)
	}
	p.Reason, p.NotBefore = reason, nil
	if !at.IsZero() {
		p.NotBefore = new(metav1.NewTime(at.Add(time.Second - time.Nanosecond).Truncate(time.Second)))
	}
	in := soon(at, now)
	if reason == ReasonSuspended {
		return engine.BlockFor(in, ReasonSuspended, fmt.Sprintf(
			"there were %d restarts within an hour, as many as restart.maxPerHour allows; what changed meanwhile waits. "+
				"If the pods themselves change what is watched, that is a loop: watch single keys, or something else", len(within(req.Status.Recent, now))))
	}
	return engine.DoneUntil(in).Saying("a restart waits: " + reason + "; see status.pending")
}

// soon is when to look again so as not to be late: the engine adds up to a tenth to long delays.
func soon(at, now time.Time) time.Duration {
	d := at.Sub(now)
	switch {
	case at.IsZero():
		return lookAgain
	case d > 20*time.Second:
		return d * 9 / 10
	}
	return max(d, atOnce)
}

// settled is the end of a run when nothing is pending: it only looks whether the marks are still there.
func (r *Restarter) settled(ctx context.Context, req Request, v view, now time.Time) (engine.Outcome, error) {
	s := req.Status
	if s.Mark == "" || len(s.Workloads) == 0 {
		return engine.Done().Saying(asItIs), nil
	}
	all, err := r.workloads(ctx, r.Client, req)
	if err != nil {
		return engine.Outcome{}, err
	}
	if all, err = r.certain(ctx, req, all); err != nil {
		return engine.Outcome{}, err
	}
	states := req.states(all)
	if unrecorded(s, states) && !req.Policy.DryRun {
		repeat(s, v, now)
		return engine.DoneUntil(atOnce).Saying("workloads were restarted for other content meanwhile, and are to be restarted for this"), nil
	}
	if lost := reverted(s, states); len(lost) > 0 {
		return engine.BlockFor(recheck, ReasonReverted, fmt.Sprintf(
			"somebody took the annotation %s, by which they were restarted, off the pod templates of %s. "+
				"It is not put back, for that would restart the pods again and again. Have whoever manages them leave this annotation "+
				"alone, or restart with the strategy Evict",
			req.annotation(), join(lost))), nil
	}
	return engine.Done().Saying(asItIs), nil
}
