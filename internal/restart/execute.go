// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/workload"
)

// The reasons of conditions and events.
const (
	// ReasonProtectedNamespace: nothing in this namespace is ever restarted.
	ReasonProtectedNamespace = "ProtectedNamespace"
	// ReasonInvalidWindow: a window's schedule or time zone is none.
	ReasonInvalidWindow = "InvalidWindow"
	// ReasonWindowNeverOpens: a window's schedule never fires.
	ReasonWindowNeverOpens = "WindowNeverOpens"
	// ReasonReverted: somebody took the restart mark off a workload.
	ReasonReverted = "RestartReverted"
	// ReasonDisruptionBudget: a PodDisruptionBudget allows no eviction now.
	ReasonDisruptionBudget = "DisruptionBudget"
	// ReasonRestartRefused: a workload could not be restarted.
	ReasonRestartRefused = "RestartRefused"
	// ReasonTargetMissing: the workload that the object names does not exist.
	ReasonTargetMissing = "TargetMissing"
	// ReasonRolloutHeld: a workload is paused, has a partition or has exceeded its progress deadline, so that some pods run with
	// older content.
	ReasonRolloutHeld = "RolloutHeld"

	eventRestarting   = "Restarting"
	eventRestarted    = "Restarted"
	eventWouldRestart = "WouldRestart"
	eventKeyChanged   = "KeyChanged"
)

// upToDate is the message when nothing is to be done.
const upToDate = "the pods run with the present content"

const (
	// askBudgetFirst is when an eviction is tried again that a PodDisruptionBudget did not allow, the first time;
	// askBudgetLast is the longest time between two attempts.
	askBudgetFirst, askBudgetLast = 5 * time.Second, time.Minute
	// takeIn is when the rest of a restart is done that has marked its workloads: by then the cache shows the marks.
	takeIn = 250 * time.Millisecond
	// lookAgain is when workloads and pods that others wait for are looked at again without any event.
	lookAgain = 10 * time.Second
	// lookBack is when workloads are looked at once more that have been restarted: late enough to be in no other
	// restart's way when hundreds come at once.
	lookBack = 20 * time.Second
	// recheck is how often it is looked whether a mark that was taken off has been restored.
	recheck = time.Minute
	// revertedFor is for how long after a restart a mark that is missing counts as taken off by somebody who works
	// against restarts. Later it is an upgrade or a rollback like any other.
	revertedFor = 10 * time.Minute
	// atOnce is the shortest delay.
	atOnce = time.Millisecond
)

// execution is one run of a pending restart.
type execution struct {
	*Restarter
	req       Request
	status    *common.RestartStatus
	workloads []workload.Workload
	listed    bool
	pods      []metav1.PartialObjectMetadata
	ready     map[types.UID]metav1.Time // since when each pod is, with restart.maxConcurrent
	refused   []string
	// rolledAlready is how many workloads have rolled by themselves since the content changed.
	rolledAlready int
	errs          []error
}

// execute starts the pending restart, or continues it. The start is written before the first pod is removed, and before
// the first workload is patched unless the workloads' generations are recorded, which tell the same.
func (r *Restarter) execute(ctx context.Context, req Request, now time.Time) (engine.Outcome, error) {
	x := &execution{Restarter: r, req: req, status: req.Status}
	if err := x.survey(ctx); err != nil {
		return engine.Outcome{}, err
	}
	begun := x.status.Pending.Started
	switch {
	case begun:
	case req.Policy.DryRun:
		return x.reportOnly(now), nil
	case !x.hasTargets():
		remember(x.status, req.Reason, now)
		return x.end(common.OutcomeNothing, "no workload or pod is selected that can be restarted"), nil
	default:
		x.start(now)
		if req.rolls() && x.status.Pending.Templates == nil {
			return engine.Done().Saying("a restart begins").Repeat(), nil
		}
	}
	return x.goOn(ctx, begun, now)
}

// goOn marks the workloads whose turn it is, and removes pods once all are marked. What is not urgent yields if it is recorded
// that the restart has begun.
func (x *execution) goOn(ctx context.Context, begun bool, now time.Time) (engine.Outcome, error) {
	x.memory.resume(x.req)
	t := x.roll(ctx)
	switch {
	case begun && t.done() && len(t.now) > 0 && len(x.errs) == 0:
		x.memory.yield(x.req)
		return engine.Yield(takeIn), nil
	case t.done():
		return x.removePods(ctx, now)
	case len(x.errs) > 0:
		return x.finish(removal{}, now)
	default:
		return x.waitForRollouts(t), nil
	}
}

// start records the start.
func (x *execution) start(now time.Time) {
	begin(x.status, x.req.Reason, now)
	what := x.status.History[0].Source + " changed"
	x.req.Told(func() {
		restarts.WithLabelValues(x.req.kind).Inc()
		x.event(x.req.Object, corev1.EventTypeNormal, eventRestarting, what)
	})
}

// survey lists what is selected: pods only when the run depends on them, for that is a request to the API server.
func (x *execution) survey(ctx context.Context) error {
	var err error
	if x.workloads, err = x.Restarter.workloads(ctx, x.req); err != nil {
		return err
	}
	if len(x.workloads) == 0 || !x.req.rolls() || x.req.Policy.DryRun {
		return x.listPods(ctx)
	}
	return nil
}

// hasTargets reports whether there is anything to restart.
func (x *execution) hasTargets() bool {
	return x.req.rolls() && len(x.workloads) > 0 || len(x.doomed()) > 0
}

// reportOnly says what would be restarted.
func (x *execution) reportOnly(now time.Time) engine.Outcome {
	n := len(x.workloads)
	if !x.req.rolls() {
		n = 0
	}
	text := fmt.Sprintf("would restart %s and %s", count(n, "workload"), count(len(x.doomed()), "pod"))
	note := join(x.status.Pending.Sources) + " changed: " + text
	x.req.Told(func() { x.event(x.req.Object, corev1.EventTypeNormal, eventWouldRestart, note) })
	x.req.suppressed(SuppressedDryRun)
	remember(x.status, x.req.Reason, now)
	return x.end(common.OutcomeDryRun, text)
}

// end makes the target the baseline.
func (x *execution) end(outcome common.RestartOutcome, message string) engine.Outcome {
	conclude(x.status, outcome, message)
	started := x.status.Pending.Started
	settle(x.status)
	switch {
	case x.req.lacksTarget(x.workloads):
		return x.req.missing()
	case !started || len(x.status.Workloads) == 0:
		return engine.Done().Saying(upToDate)
	}
	for i := range x.workloads {
		x.workloads[i].Behind = true // the cache may not yet hold what the rollout has changed
	}
	out := x.req.held(x.workloads, 0)
	if !out.GoesOn() {
		return out
	}
	// A mark that is taken off at once may be gone before the status lists the workload, so look again.
	return engine.DoneUntil(lookBack).Saying(upToDate)
}

// roll marks the workloads whose turn it is, and counts those that wait. One that refuses stops none of
// the others, nor does it take a turn.
func (x *execution) roll(ctx context.Context) (t turns) {
	if !x.req.rolls() {
		return t
	}
	states := x.req.states(x.workloads)
	for _, s := range states {
		if s.mark == x.status.Pending.Mark {
			reach(x.status, s.id)
		}
		if rolledAlready(x.status.Pending, s) && s.mark != x.status.Pending.Mark {
			x.rolledAlready++
		}
	}
	t = turn(x.status, states, int(x.req.Policy.MaxConcurrent))
	for _, i := range t.now {
		x.rollOne(ctx, &x.workloads[i])
	}
	return t
}

// rollOne marks a workload, and notes when it refuses.
func (x *execution) rollOne(ctx context.Context, w *workload.Workload) {
	generation, err := x.markAll(ctx, *w)
	switch {
	case err == nil:
		id := idOf(*w)
		id.Generation = generation
		reach(x.status, id)
		w.Stuck = false // the cache does not show yet what the patch has begun
		x.tell(x.req, w.Object())
	case !x.gone(ctx, w.Object(), err):
		x.refused = append(x.refused, w.String())
		x.errs = append(x.errs, fmt.Errorf("restarting %s: %w", w, err))
	}
}

// markAll sets the mark of the restart on a workload. The marks of peers go along only when the cache shows the latest
// version of the workload: a newer mark of theirs may be on it already.
func (x *execution) markAll(ctx context.Context, w workload.Workload) (generation int64, err error) {
	all, err := x.Peers.marks(ctx, x.Client, x.req, w)
	if err != nil {
		return 0, err
	}
	own := map[string]string{x.req.annotation(): x.status.Pending.Mark}
	if len(all) > 0 {
		maps.Copy(all, own)
		if generation, err = x.mark(ctx, w, all, w.Meta.ResourceVersion); !apierrors.IsConflict(err) {
			return generation, err
		}
	}
	return x.mark(ctx, w, own, "")
}

// tell reports a restart as an event of what was restarted. That has been done, whatever becomes of the status,
// and is not done again.
func (r *Restarter) tell(req Request, target client.Object) {
	r.event(target, corev1.EventTypeNormal, eventRestarted,
		fmt.Sprintf("%s changed (%s %s)", join(req.Status.Pending.Sources), req.kind, req.Object.GetName()))
}

// reachedNow is how many workloads the pending restart has reached.
func (x *execution) reachedNow() int {
	n := 0
	for _, w := range x.status.Workloads {
		if w.Number == x.status.Pending.Number {
			n++
		}
	}
	return n
}

// waitForRollouts is the end of a run when workloads wait for those before them, or for the end of a rollout that
// somebody else has begun.
func (x *execution) waitForRollouts(t turns) engine.Outcome {
	text, reason := count(x.reachedNow(), "workload")+" restarted", ReasonRolloutUnfinished
	if t.waiting > 0 {
		reason = ReasonMaxConcurrent
		text += fmt.Sprintf(", %d wait until those that are rolling are ready: %s", t.waiting, join(t.rolling))
	}
	if t.unfinished > 0 {
		text += fmt.Sprintf(", %d roll for another reason since the change and run with it at the end; one that is rolled back is restarted", t.unfinished)
	}
	x.setReason(reason)
	conclude(x.status, common.OutcomeRestarting, x.summary())
	if out := x.req.held(x.workloads, lookAgain); !out.GoesOn() {
		return out
	}
	return engine.DoneUntil(lookAgain).Saying(text)
}

func (x *execution) setReason(reason string) {
	if x.status.Pending.Reason != reason {
		x.req.suppressed(reason)
	}
	x.status.Pending.Reason = reason
}

// removePods evicts or deletes what has to go. The first time it only writes down which pods these are.
func (x *execution) removePods(ctx context.Context, now time.Time) (engine.Outcome, error) {
	p := x.status.Pending
	if !p.PodsListed {
		if err := x.writeDownPods(ctx); err != nil {
			return engine.Outcome{}, err
		}
		if len(p.Pods) > 0 {
			x.setReason(ReasonEvicting)
			return engine.Done().Saying(count(len(p.Pods), "pod") + " to restart").Repeat(), nil
		}
	}
	if len(p.Pods) == 0 {
		return x.finish(removal{}, now)
	}
	if p.NotBefore != nil && now.Before(p.NotBefore.Time) && len(x.errs) == 0 {
		return x.guarded(now), nil
	}
	if err := x.listPods(ctx); err != nil {
		return engine.Outcome{}, err
	}
	return x.finish(x.removeNow(ctx, now), now)
}

// removeNow removes what it can of the pods that are left, and records the rest.
func (x *execution) removeNow(ctx context.Context, now time.Time) removal {
	p := x.status.Pending
	out := x.remove(ctx, now)
	if len(out.left) < len(p.Pods) || out.going > 0 {
		p.Attempts = 0
	}
	p.Pods, p.NotBefore = out.left, nil
	return out
}

func (x *execution) writeDownPods(ctx context.Context) error {
	if err := x.listPods(ctx); err != nil {
		return err
	}
	p := x.status.Pending
	p.PodsListed = true
	for _, pod := range x.doomed() {
		p.Pods = append(p.Pods, pod.UID)
	}
	p.PodCount = int32(len(p.Pods)) //nolint:gosec // a list of objects in memory is not that long
	conclude(x.status, common.OutcomeRestarting, x.summary())
	return nil
}

// guarded is the end of a run when no PodDisruptionBudget allows an eviction: it is asked again after a while,
// which doubles from time to time.
func (x *execution) guarded(now time.Time) engine.Outcome {
	p := x.status.Pending
	if p.NotBefore == nil {
		delay := min(askBudgetLast, askBudgetFirst<<min(p.Attempts, 4))
		p.Attempts++
		p.NotBefore = new(metav1.NewTime(now.Add(delay + time.Second - time.Nanosecond).Truncate(time.Second)))
	}
	return engine.Wait(p.NotBefore.Sub(now), ReasonDisruptionBudget, fmt.Sprintf(
		"a PodDisruptionBudget does not allow to evict %s now; it is asked again. Change the budget, or make more of its pods ready",
		count(len(p.Pods), "more pod")))
}

// finish is the end of a run in which everything had its turn.
func (x *execution) finish(out removal, now time.Time) (engine.Outcome, error) {
	if out.failed != nil {
		x.errs = append(x.errs, out.failed)
	}
	switch {
	case len(x.errs) > 0:
		x.setReason(ReasonRefused)
		conclude(x.status, common.OutcomeRefused, x.summary())
		err := errors.Join(x.errs...)
		return engine.Outcome{}, engine.Explain(err, ReasonRestartRefused, fmt.Sprintf("everything else was restarted; it is tried again: %v", err))
	case out.guarded > 0:
		x.setReason(ReasonEvicting)
		return x.guarded(now), nil
	case len(out.left) > 0:
		x.setReason(out.reason())
		return engine.DoneUntil(askBudgetFirst).Saying(out.awaits()), nil
	}
	return x.end(common.OutcomeRestarted, x.summary()), nil
}
