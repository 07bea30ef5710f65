// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/coordination/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
)

// maxActions bounds one run. A hand-over takes four actions.
const maxActions = 12

var (
	errTooMany = fmt.Errorf("more than %d pods match spec.podSelector", maxCandidates)
	// errChanged: the ledger has changed since it was read, so that nothing may follow from it.
	errChanged = apierrors.NewConflict(coordinationv1.Resource("leases"), "", errors.New("it has changed since it was read"))
)

// elect acts by decide until there is nothing to do, or something else has to happen first.
func (r *run) elect(ctx context.Context) (engine.Outcome, error) {
	switch rests, err := r.rests(ctx); {
	case err != nil:
		return engine.Outcome{}, err
	case rests:
		r.Obj.Status.Pending = nil
		r.locate()
		return engine.Done().Saying(r.leads()), nil
	}
	for range maxActions {
		v, out, err := r.observe(ctx)
		if err != nil || !out.GoesOn() {
			return out, err
		}
		a := decide(v)
		if a.do == rest {
			return r.settle(ctx, v, a)
		}
		if a.do == await {
			return r.await(v, a), nil
		}
		if out, err := r.carryOut(ctx, v, a); err != nil || !out.GoesOn() {
			return out, err
		}
	}
	return engine.Again(time.Second), nil
}

// leader is the leader that the status has recorded; the zero identity if there is none.
func (r *run) leader() identity {
	if l := r.Obj.Status.Leader; l != nil {
		return identity{l.Pod, string(l.UID)}
	}
	return identity{}
}

// mustLook reports whether the object itself, or the readiness of its leader, asks for a decision.
func (r *run) mustLook() bool {
	s, request := &r.Obj.Status, names.Request(r.Obj.Annotations[names.AnnotationHandOver])
	if s.Leader == nil || s.ObservedGeneration != r.Obj.Generation || r.Obj.Spec.Failback.Policy == v1alpha1.FailbackPrefer {
		return true
	}
	id := r.leader()
	return request != "" && request != s.Request ||
		!slices.ContainsFunc(r.members, func(e endpoint) bool { return e.identity == id && e.ready })
}

// rests reports, from the cache alone, whether nothing has happened since the last decision.
func (r *run) rests(ctx context.Context) (bool, error) {
	if r.mustLook() {
		return false, nil
	}
	id := r.leader()
	lease := &coordinationv1.Lease{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.Obj.Namespace, Name: leaderName(r.Obj)}, lease, client.DisableReadYourWritesConsistency)
	if err != nil || !r.isMarked(lease) || !isHeldBy(lease, r.Obj.UID, id, r.Obj.Status.Epoch) {
		return false, client.IgnoreNotFound(err)
	}
	if r.Obj.Spec.Service == nil {
		return true, nil
	}
	routed, err := r.endpoints(ctx, serviceName(r.Obj))
	return err == nil && len(routed) == 1 && routed[0].identity == id, err
}

// isHeldBy reports whether the Lease of the object with a UID says that a pod leads in an epoch.
func isHeldBy(lease *coordinationv1.Lease, uid types.UID, id identity, epoch int64) bool {
	l := readLedger(lease, uid)
	return !foreign(lease) && !l.damaged && l.holder == id && l.epoch == epoch
}

// observe reads the ledger, then the pods.
func (r *run) observe(ctx context.Context) (view, engine.Outcome, error) {
	v := view{now: r.Clock.Now(), known: r.Obj.Status.Epoch, granted: r.Obj.Status.Request, rules: rulesOf(r.Obj)}
	v.request = names.Request(r.Obj.Annotations[names.AnnotationHandOver])
	if p := r.Obj.Status.Pending; p != nil && p.Reason == reasonNotReady {
		v.notReady = p.Since.Time
	}
	lease, out, err := r.readLease(ctx)
	if err != nil || !out.GoesOn() {
		return v, out, err
	}
	if r.lease = lease; lease != nil {
		v.ledger = readLedger(lease, r.Obj.UID)
	}
	v.pods, err = r.readPods(ctx, v.ledger)
	if errors.Is(err, errTooMany) {
		// Some may be in no EndpointSlice, which would report that they are gone.
		return v, engine.BlockFor(recheck, ReasonTooMany, tooMany), nil
	}
	return v, engine.Done(), err
}

func rulesOf(e *v1alpha1.LeaderElection) rules {
	h := e.Spec.Handover
	out := rules{notReadyFor: durationOr(h.NotReadyFor, 5*time.Second), stop: h.StopOld == v1alpha1.StopDelete, failback: -1}
	if h.Unreachable == v1alpha1.UnreachableTake {
		out.takeAfter = durationOr(h.TakeAfter, 5*time.Minute)
	}
	if e.Spec.Failback.Policy == v1alpha1.FailbackPrefer {
		out.failback = durationOr(e.Spec.Failback.After, 5*time.Minute)
	}
	return out
}

func durationOr(d *metav1.Duration, otherwise time.Duration) time.Duration {
	if d == nil {
		return otherwise
	}
	return d.Duration
}

// carryOut does what was decided.
func (r *run) carryOut(ctx context.Context, v view, a action) (engine.Outcome, error) {
	if a.confirm {
		if err := r.confirm(ctx, v.ledger); err != nil {
			return engine.Outcome{}, err
		}
	}
	switch a.do {
	case create:
		return r.create(ctx)
	case rebuild:
		return engine.Done(), r.rebuild(ctx, v, a)
	case fence:
		return engine.Done(), r.fence(ctx, v, a)
	case remove:
		return engine.Done(), r.remove(ctx, a)
	case promote:
		return engine.Done(), r.promote(ctx, a)
	case choose:
		if !r.placed(v) {
			return engine.Again(time.Second), nil
		}
		return engine.Done(), r.write(ctx, v, a)
	default:
		return engine.Done(), r.write(ctx, v, a)
	}
}

// write writes into the ledger who leads, or that nobody does.
func (r *run) write(ctx context.Context, v view, a action) error {
	next := v.ledger
	next.holder, next.revoking = a.pod.identity, identity{}
	if a.do == revoke {
		next.epoch, next.holder, next.revoking = a.epoch, identity{}, v.ledger.holder
		next.record = record{from: v.ledger.holder, reason: a.reason, at: v.now, request: v.ledger.request}
	}
	if a.reason == reasonRequested {
		next.request = v.request
	}
	if err := r.put(ctx, next); err != nil {
		return err
	}
	if a.do == revoke {
		r.Obj.Status.Leader = nil // what follows may fail
		r.Event(corev1.EventTypeNormal, EventRevoked, "The pod %s does not lead any more (%s)", v.ledger.holder.name, a.reason)
	}
	return nil
}

// promote puts label and mark on the leader.
func (r *run) promote(ctx context.Context, a action) error {
	m := mark{markLeader, a.epoch}
	err := r.mark(ctx, a.pod, m)
	if err == nil && a.pod.mark == m {
		r.repaired("Put the label on the pod %s again, which leads", a.pod.name)
	}
	return err
}

// confirm reads the ledger once more.
func (r *run) confirm(ctx context.Context, was ledger) error {
	lease, _, err := r.readLease(ctx)
	switch {
	case err != nil:
		return err
	case lease == nil || lease.ResourceVersion != was.version:
		return errChanged
	}
	return nil
}

// create creates the ledger.
func (r *run) create(ctx context.Context) (engine.Outcome, error) {
	_, out, err := r.CreateOnce(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: r.Obj.Namespace, Name: leaderName(r.Obj)}})
	return out, err
}

// rebuild fences every pod, then writes the ledger. What fails on the way starts over, with a higher epoch.
func (r *run) rebuild(ctx context.Context, v view, a action) error {
	for _, p := range a.pods {
		if err := r.mark(ctx, p, v.fencing(&p, a.epoch)); err != nil {
			return err
		}
	}
	next := ledger{epoch: a.epoch, record: record{from: a.pod.identity, reason: a.reason, at: v.now, request: v.granted}}
	if a.reason == reasonFirst {
		next.request, next.at = v.request, time.Time{}
	}
	if v.stop {
		next.revoking = a.pod.identity
	}
	return r.put(ctx, next)
}

// put writes the ledger, if it is still the one that was read.
func (r *run) put(ctx context.Context, next ledger) error {
	lease := r.lease.DeepCopy()
	if err := next.write(lease); err != nil {
		return err
	}
	r.adopt(lease)
	if err := r.Client.Update(ctx, lease, client.FieldOwner(names.FieldManager(Name)), client.DisableReadYourWritesConsistency); err != nil {
		return fmt.Errorf("writing the Lease %s: %w", lease.Name, err)
	}
	return nil
}

// fence takes the label off the old leader, or off pods on which somebody else has put it.
func (r *run) fence(ctx context.Context, v view, a action) error {
	for _, p := range a.pods {
		if p.identity != v.ledger.revoking {
			r.repaired("Took the label off the pod %s, which does not lead", p.name)
		}
		if err := r.mark(ctx, p, v.fencing(&p, a.epoch)); err != nil {
			return err
		}
	}
	return nil
}

// mark writes label and mark of a pod in one patch, if the pod is still the one that was read.
func (r *run) mark(ctx context.Context, p pod, m mark) error {
	label := labelOf(r.Obj)
	var value any
	if m.kind == markLeader {
		value = label.Value
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": p.uid, "resourceVersion": p.version,
		"labels":      map[string]any{label.Key: value},
		"annotations": map[string]any{names.LeaderMark(r.Obj.Name): m.String(), names.LeaderMarkBy(r.Obj.Name): r.Obj.UID},
	}})
	if err != nil {
		return err
	}
	target := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: r.Obj.Namespace, Name: p.name}}
	err = r.Client.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch),
		client.FieldOwner(names.FieldManager(Name)), client.DisableReadYourWritesConsistency)
	isAnother := apierrors.HasStatusCause(err, metav1.CauseTypeFieldValueInvalid) && slices.Contains(engine.RejectedFields(err), "metadata.uid")
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err), isAnother:
		return errChanged
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err):
		told := fmt.Sprintf("the API server rejects the change of the label %s and of the annotation %s "+
			"of the pod %s: %v. Let the admission policy or webhook that rejects it admit it; this is retried with growing delays",
			label.Key, names.LeaderMark(r.Obj.Name), p.name, err)
		return engine.Explain(fmt.Errorf("changing the label of the pod %s: %w", p.name, err), ReasonLabelRefused, told)
	}
	return fmt.Errorf("marking the pod %s: %w", p.name, err)
}

// remove deletes the pod that has led, if it is still as it was read: it may have become the leader again since.
func (r *run) remove(ctx context.Context, a action) error {
	target := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: r.Obj.Namespace, Name: a.pod.name}}
	err := r.Client.Delete(ctx, target, client.Preconditions{UID: new(types.UID(a.pod.uid)), ResourceVersion: &a.pod.version},
		client.DisableReadYourWritesConsistency)
	switch {
	case err == nil || apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		return errChanged
	}
	return fmt.Errorf("deleting the pod %s, which has led: %w", a.pod.name, err)
}

func (r *run) repaired(note string, args ...any) {
	r.Event(corev1.EventTypeNormal, EventRepaired, note, args...)
}
