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
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

// execution is one go at a pending restart.
type execution struct {
	*Restarter
	req       Request
	status    *common.RestartStatus
	view      view
	workloads []workload
	listed    bool
	pods      []metav1.PartialObjectMetadata
	refused   []string
	errs      []error
}

func (r *Restarter) execute(ctx context.Context, req Request, v view, now time.Time) (engine.Outcome, error) {
	x := &execution{Restarter: r, req: req, status: req.Status, view: v}
	if err := x.survey(ctx); err != nil {
		return engine.Outcome{}, err
	}
	if req.Policy.DryRun {
		return x.tellOnly(now), nil
	}
	if !x.status.Pending.Started {
		begin(x.status, req.Reason, x.hasTargets(), now)
		if !x.hasTargets() {
			return x.end(common.OutcomeNothing, "no workload or pod is selected that can be restarted"), nil
		}
		what := x.status.History[0].Source + " changed"
		req.Told(func() {
			restarts.WithLabelValues(req.Kind).Inc()
			r.Event(req.Object, corev1.EventTypeNormal, eventRestarting, what)
		})
	}
	if waiting, err := x.roll(ctx); err != nil || waiting > 0 {
		return x.waitForReady(waiting), err
	}
	return x.removePods(ctx)
}

// survey lists what is selected: pods only when it depends on them what is to be done first, for it is a
// request to the API server.
func (x *execution) survey(ctx context.Context) error {
	var err error
	if x.workloads, err = x.Restarter.workloads(ctx, x.Client, x.req); err != nil {
		return err
	}
	if x.req.Policy.MaxConcurrent > 0 && x.status.Pending.Started {
		// Whoever was restarted a moment ago takes a turn, also when the cache does not show it yet.
		if x.workloads, err = x.certain(ctx, x.req, x.workloads); err != nil {
			return err
		}
	}
	if len(x.workloads) == 0 || !x.req.rolls() || x.req.Policy.DryRun {
		return x.listPods(ctx)
	}
	return nil
}

// hasTargets tells whether there is anything to restart.
func (x *execution) hasTargets() bool {
	return x.req.rolls() && len(x.workloads) > 0 || len(x.doomed()) > 0
}

// tellOnly says what would be restarted.
func (x *execution) tellOnly(now time.Time) engine.Outcome {
	n := len(x.workloads)
	if !x.req.rolls() {
		n = 0
	}
	text := fmt.Sprintf("would restart %s and %s", count(n, "workload"), count(len(x.doomed()), "pod"))
	note := join(x.status.Pending.Sources) + " changed: " + text
	x.req.Told(func() { x.Event(x.req.Object, corev1.EventTypeNormal, eventWouldRestart, note) })
	x.req.suppressed(SuppressedDryRun)
	mark, workloads := x.status.Mark, x.status.Workloads
	begin(x.status, x.req.Reason, false, now)
	x.status.Mark, x.status.Workloads = mark, workloads
	return x.end(common.OutcomeDryRun, text)
}

// end takes the content as what the pods run with.
func (x *execution) end(outcome common.RestartOutcome, message string) engine.Outcome {
	conclude(x.status, outcome, message)
	settle(x.status, x.view)
	if len(x.status.Workloads) > 0 {
		// Whoever takes the mark off at once is faster than the status that finds whom that concerns.
		return engine.DoneUntil(lookBack).Saying(asItIs)
	}
	return engine.Done().Saying(asItIs)
}

// roll marks the workloads whose turn it is, and counts those that wait. One that refuses stops none of
// the others, nor does it take a turn.
func (x *execution) roll(ctx context.Context) (waiting int, err error) {
	if !x.req.rolls() {
		return 0, nil
	}
	states := x.req.states(x.workloads)
	todo, room := wave(x.status, states, int(x.req.Policy.MaxConcurrent))
	for _, s := range states {
		if s.mark == x.status.Mark {
			x.reached(s.id)
		}
	}
	if len(todo) == 0 {
		return 0, nil
	}
	peers, err := x.peers(ctx)
	if err != nil {
		return 0, err
	}
	for _, i := range todo {
		switch {
		case room == 0:
			waiting++
		case x.rollOne(ctx, x.workloads[i], peers):
			room--
		}
	}
	return waiting, nil
}

// rollOne marks a workload and tells whether it rolls now.
func (x *execution) rollOne(ctx context.Context, w workload, peers peers) bool {
	err := x.mark(ctx, w, peers.marks(x.req, w))
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err): // it is gone
		return false
	case err != nil:
		x.refused = append(x.refused, w.String())
		x.errs = append(x.errs, fmt.Errorf("restarting %s: %w", w, err))
		return false
	}
	x.reached(w.id())
	x.tell(x.req, w.object())
	return true
}

func (x *execution) reached(id common.RestartedWorkload) {
	if !slices.Contains(x.status.Workloads, id) {
		x.status.Workloads = append(x.status.Workloads, id)
	}
}

// tell reports a restart as an event of what was restarted. That has been done, whatever becomes of the status,
// and is not done again.
func (r *Restarter) tell(req Request, target client.Object) {
	h := req.Status.History
	if len(h) == 0 {
		return
	}
	r.Event(target, corev1.EventTypeNormal, eventRestarted, fmt.Sprintf("%s changed (%s %s)", h[0].Source, req.Kind, req.Object.GetName()))
}

// waitForReady is the end of a run when workloads wait for those before them.
func (x *execution) waitForReady(waiting int) engine.Outcome {
	if waiting == 0 {
		return engine.Done()
	}
	x.setReason(ReasonMaxConcurrent)
	conclude(x.status, common.OutcomeRestarting, x.summary())
	return engine.DoneUntil(lookAgain).Saying(fmt.Sprintf(
		"%s restarted, %d to come once those that are rolling are ready", count(len(x.status.Workloads), "workload"), waiting))
}

func (x *execution) setReason(reason string) {
	if x.status.Pending.Reason != reason {
		x.req.suppressed(reason)
	}
	x.status.Pending.Reason = reason
}

// listPods reads the selected pods, once in a run.
func (x *execution) listPods(ctx context.Context) error {
	if x.listed {
		return nil
	}
	selector, err := x.req.podSelector(x.workloads)
	if err != nil {
		return fmt.Errorf("reading the selector of the workload: %w", err)
	}
	x.listed = true
	if selector.Empty() || selector.String() == "" {
		return nil
	}
	x.pods, err = x.Restarter.pods(ctx, x.req, selector)
	return err
}

// onDelete are the workloads whose pods the mark alone does not restart.
func (x *execution) onDelete() []types.UID {
	var uids []types.UID
	for _, w := range x.workloads {
		if w.onDelete {
			uids = append(uids, w.meta.UID)
		}
	}
	return uids
}

// doomed are the pods that are to be evicted or deleted.
func (x *execution) doomed() []metav1.PartialObjectMetadata {
	var all []metav1.PartialObjectMetadata
	onDelete := x.onDelete()
	for i := range x.pods {
		if yes, _ := restartable(x.req.Policy.Strategy, &x.pods[i], onDelete); yes {
			all = append(all, x.pods[i])
		}
	}
	return all
}

// removePods evicts or deletes what has to go. The first time it only writes down which pods these are.
func (x *execution) removePods(ctx context.Context) (engine.Outcome, error) {
	p := x.status.Pending
	if err := x.listPods(ctx); err != nil {
		return engine.Outcome{}, err
	}
	if !p.PodsListed {
		p.PodsListed = true
		for _, pod := range x.doomed() {
			p.Pods = append(p.Pods, pod.UID)
		}
		p.PodCount = int32(len(p.Pods)) //nolint:gosec // a list of objects in memory is not that long
		conclude(x.status, common.OutcomeRestarting, x.summary())
		if len(p.Pods) > 0 {
			x.setReason(ReasonEvicting)
			return engine.DoneUntil(atOnce).Saying(count(len(p.Pods), "pod") + " to restart"), nil
		}
		return x.finish(removal{})
	}
	if len(p.Pods) == 0 {
		return x.finish(removal{})
	}
	out := x.remove(ctx, x.req, x.pods)
	p.Pods = out.left
	return x.finish(out)
}

// finish is the end of a run in which everything had its turn.
func (x *execution) finish(out removal) (engine.Outcome, error) {
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
		return engine.Wait(askBudgetAgain, ReasonDisruptionBudget, fmt.Sprintf(
			"a PodDisruptionBudget does not allow to evict %s now", count(out.guarded, "more pod"))), nil
	case len(out.left) > 0:
		x.setReason(ReasonEvicting)
		return engine.DoneUntil(askBudgetAgain).Saying(count(len(out.left), "pod") + " to restart, as many at once as restart.maxConcurrent allows"), nil
	}
	return x.end(common.OutcomeRestarted, x.summary()), nil
}

// summary says what the restart reached.
func (x *execution) summary() string {
	alone, onDelete := 0, x.onDelete()
	for i := range x.pods {
		if _, left := restartable(x.req.Policy.Strategy, &x.pods[i], onDelete); left {
			alone++
		}
	}
	text := count(len(x.status.Workloads), "workload")
	if n := x.status.Pending.PodCount; n > 0 {
		text += ", " + count(int(n), "pod")
	}
	if alone > 0 {
		text += "; " + count(alone, "pod") + " without a controller left alone"
	}
	if len(x.refused) > 0 {
		text += "; refused: " + join(x.refused)
	}
	return text
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
