// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/workload"
)

// wait records why a restart waits, and requeues the object in time. It is settled first what the workloads'
// templates are: one that changes from now on rolls with the content that was seen before.
func (r *Restarter) wait(ctx context.Context, req Request, reason string, at, now time.Time) (engine.Outcome, error) {
	p := req.Status.Pending
	if p.Templates == nil && !p.Started {
		share := r.Peers.Readings.sharing(req)
		all, err := r.look(ctx, req)
		if err != nil {
			return engine.Outcome{}, err
		}
		recordTemplates(req.Status, req.states(all))
		share(p.Templates)
	}
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
				"If the pods themselves change what is watched, that is a loop: watch single keys, or something else", len(within(req.Status.Recent, now)))), nil
	}
	return engine.DoneUntil(in).Saying("a restart waits: " + reason + "; see status.pending"), nil
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

// settled is the end of a run when nothing is pending: it reports workloads that do not run with what the last
// restart gave them.
func (r *Restarter) settled(ctx context.Context, req Request, now time.Time) (engine.Outcome, error) {
	s := req.Status
	if req.Target == nil && (s.Mark == "" || len(s.Workloads) == 0) {
		return engine.Done().Saying(upToDate), nil
	}
	all, err := r.workloads(ctx, req)
	switch {
	case err != nil:
		return engine.Outcome{}, err
	case req.lacksTarget(all):
		return req.missing(), nil
	}
	states := req.states(all)
	if out := r.reverted(req, states, now); !out.GoesOn() {
		return out, nil
	}
	r.memory.confirm(req, states)
	out := req.held(all, 0)
	if r.memory.hang(req, states) && out.GoesOn() {
		return engine.DoneUntil(recheck).Saying(upToDate), nil // so that it is known when it has ended
	}
	return out, nil
}

// reverted is done unless somebody has taken the mark off workloads, in the way of somebody who works against restarts.
func (r *Restarter) reverted(req Request, states []state, now time.Time) engine.Outcome {
	last, lost := req.Status.LastRestart, reverted(req.Status, states)
	soon := last != nil && now.Sub(last.Time) < revertedFor
	if len(lost) == 0 || !soon && !r.memory.hangs(req) {
		return engine.Done()
	}
	return engine.BlockFor(recheck, ReasonReverted, fmt.Sprintf(
		"the restart mark %s was taken off the pod templates of %s, right after it had restarted them or before that had ended. It is not "+
			"set again, for that would restart the pods again and again. Have the tool that manages them ignore this annotation, or "+
			"restart with the strategy Evict",
		req.annotation(), join(lost)))
}

// held is done unless a workload that was restarted keeps pods with older content. Its watch brings the object back, at rest.
func (q Request) held(all []workload.Workload, after time.Duration) engine.Outcome {
	var held []string
	for _, w := range all {
		if by := w.Held(); by != "" && entry(q.Status, w.Meta.UID) != nil {
			held = append(held, fmt.Sprintf("%s: %s", w, by))
		}
	}
	if len(held) == 0 {
		return engine.Done().Saying(upToDate)
	}
	return engine.Wait(after, ReasonRolloutHeld, "some pods still run with older content, because their workloads do not replace them: "+
		join(held)+". Resume the rollout, take the partition away, or see why new pods do not become available").Warning()
}

// lacksTarget reports whether the one workload to restart does not exist.
func (q Request) lacksTarget(all []workload.Workload) bool { return q.Target != nil && len(all) == 0 }

// missing is the outcome when the one workload to restart does not exist.
func (q Request) missing() engine.Outcome {
	return engine.BlockFor(lookAgain, ReasonTargetMissing, fmt.Sprintf(
		"%s/%s does not exist in this namespace, so that nothing is restarted; create it, or correct the target", q.Target.Kind, q.Target.Name))
}

// summary says what the restart reached.
func (x *execution) summary() string {
	alone, onDelete := 0, x.onDelete()
	for i := range x.pods {
		if _, left := restartable(x.req.Policy.Strategy, &x.pods[i], onDelete); left {
			alone++
		}
	}
	text := count(x.reachedNow(), "workload")
	if x.rolledAlready > 0 {
		text += fmt.Sprintf("; %d had rolled since the change", x.rolledAlready)
	}
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
