// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/acme/platform-operator/api/coordination/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

// maxHistory is how many hand-overs the status has.
const maxHistory = 10

// leads is what the condition says while there is a leader.
func (r *run) leads() string {
	return fmt.Sprintf("the pod %s leads since epoch %d", r.Obj.Status.Leader.Pod, r.Obj.Status.Epoch)
}

// settle records the leader.
func (r *run) settle(ctx context.Context, v view, a action) (engine.Outcome, error) {
	if !r.isMarked(r.lease) {
		if err := r.put(ctx, v.ledger); err != nil {
			return engine.Outcome{}, err
		}
	}
	r.record(v, a)
	s := &r.Obj.Status
	switch {
	case !a.pod.ready:
		r.pend(reasonNotReady, a.due)
		return dueAt(engine.Wait(0, ReasonLeaderNotReady, fmt.Sprintf("the pod %s, which leads, is not Ready; another one leads if it stays so for %s "+
			"(spec.handover.notReadyFor)", a.pod.name, v.notReadyFor)), a.due), nil
	case v.requested():
		r.pend(reasonRequested, time.Time{})
		return dueAt(engine.Done().Saying(r.leads()+"; a hand-over is requested, and waits for another candidate that is Ready"), a.due), nil
	case !a.due.IsZero():
		r.pend(reasonFailback, a.due)
	default:
		s.Pending = nil
	}
	return dueAt(engine.Done().Saying(r.leads()), a.due), nil
}

func dueAt(out engine.Outcome, at time.Time) engine.Outcome {
	if at.IsZero() {
		return out
	}
	return out.Due(at)
}

// record writes the leader into the status, and a hand-over that is new.
func (r *run) record(v view, a action) {
	s := &r.Obj.Status
	s.Request = v.granted
	if v.ledger.request != "" {
		s.Request = v.ledger.request
	}
	leader := &v1alpha1.Leader{Pod: a.pod.name, UID: types.UID(a.pod.uid), Since: metav1.NewTime(v.now)}
	same := s.Leader != nil && s.Leader.UID == leader.UID && s.Epoch == v.ledger.epoch
	if same {
		leader = s.Leader
	} else {
		s.Pending = nil
	}
	s.Leader = leader
	r.locate()
	if len(s.History) > 0 && s.History[0].Epoch == v.ledger.epoch {
		return
	}
	s.Epoch = v.ledger.epoch
	s.HandOvers++
	h := v1alpha1.HandOver{Epoch: v.ledger.epoch, From: v.ledger.from.name, To: a.pod.name, Reason: v.ledger.reason, At: metav1.NewTime(v.now)}
	if !v.ledger.at.IsZero() {
		h.Took = metav1.Duration{Duration: max(time.Millisecond, v.now.Sub(v.ledger.at).Round(time.Millisecond))}
	}
	s.History = append([]v1alpha1.HandOver{h}, s.History[:min(len(s.History), maxHistory-1)]...)
	r.Told(func() { r.announce(h) })
}

// locate records where the leader is, as soon as it is published.
func (r *run) locate() {
	leader := r.Obj.Status.Leader
	if i := slices.IndexFunc(r.members, func(e endpoint) bool { return e.uid == string(leader.UID) }); i >= 0 {
		m := r.members[i]
		leader.Node, leader.Zone, leader.Address = m.node, m.zone, m.address
	}
}

// announce reports a hand-over.
func (r *run) announce(h v1alpha1.HandOver) {
	handOvers.Inc(h.Reason)
	if h.From == "" {
		r.Event(corev1.EventTypeNormal, EventElected, "The pod %s leads, in epoch %d", h.To, h.Epoch)
		return
	}
	withoutLeader.Observe(h.Took.Seconds())
	r.Event(corev1.EventTypeNormal, EventHandedOver, "The pod %s leads instead of %s (%s), in epoch %d, after %s",
		h.To, h.From, h.Reason, h.Epoch, h.Took.Duration)
}

// pend records what a change of the leader waits for.
func (r *run) pend(reason string, due time.Time) {
	p := &v1alpha1.Pending{Reason: reason, Since: metav1.NewMicroTime(r.Clock.Now().Truncate(time.Microsecond))}
	if !due.IsZero() {
		p.Due = &metav1.Time{Time: due}
	}
	if was := r.Obj.Status.Pending; was != nil && was.Reason == reason {
		p.Since = was.Since
	}
	r.Obj.Status.Pending = p
}

// await records that there is no leader, and what is waited for.
func (r *run) await(v view, a action) engine.Outcome {
	s := &r.Obj.Status
	s.Leader = nil
	s.Epoch = max(s.Epoch, v.ledger.epoch)
	r.pend(a.reason, a.due)
	return dueAt(engine.Wait(r.lookAgain(a), a.reason, awaiting(v, a)), a.due)
}

// lookAgain is when to look again for what is waited for. The end of a pod that is not published is reported by nothing.
func (r *run) lookAgain(a action) time.Duration {
	switch {
	case a.reason == ReasonNoCandidate:
		return 0
	case a.reason == ReasonOldStillStopping && !r.published(a.pod.identity):
		return 5 * time.Second
	default:
		return recheck
	}
}

// awaiting is what the condition says while there is no leader.
func awaiting(v view, a action) string {
	switch a.reason {
	case ReasonOldStillStopping:
		return fmt.Sprintf("the pod %s, which has led, is being deleted; there is a new leader when it is gone (spec.handover.stopOld)", a.pod.name)
	case ReasonNodeUnreachable:
		text := fmt.Sprintf("the pod %s, which has led, should be gone since %s, but its node does not confirm that, or a finalizer holds it",
			a.pod.name, a.pod.deleted.UTC().Format(time.RFC3339))
		if v.takeAfter > 0 {
			return text + fmt.Sprintf("; another one leads %s after that (spec.handover.takeAfter)", v.takeAfter)
		}
		return text + ". Make sure that the node is off, then delete the Node, or the pod by force; or set spec.handover.unreachable to Take"
	}
	return "no candidate is Ready: start pods with the labels of spec.podSelector, or see why theirs are not Ready"
}
