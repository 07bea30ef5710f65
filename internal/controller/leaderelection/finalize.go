// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/coordination/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/tenancy"
)

// clearFor is how long a deletion tries to take the label off pods that cannot be changed.
const clearFor = 5 * time.Minute

// Finalize returns the steps between the deletion of a LeaderElection and its disappearance.
func (kind) Finalize(s engine.Scope[*v1alpha1.LeaderElection]) []engine.Step {
	r := newRun(s)
	return []engine.Step{{Condition: Cleared, Run: r.clearMarks}}
}

// clearMarks takes the label off all pods. The annotation stays, with a higher epoch: it invalidates writes that are under way, and a
// LeaderElection that is created again continues from it.
func (r *run) clearMarks(ctx context.Context) (engine.Outcome, error) {
	if r.Obj.Spec.DeletionPolicy == v1alpha1.DeletionKeep || r.Obj.Annotations[names.AnnotationSkipClearing] == "true" {
		return engine.Done(), nil
	}
	marked, epoch, err := r.markedPods(ctx)
	if err == nil {
		var errs []error
		for _, p := range marked {
			errs = append(errs, r.mark(ctx, p, mark{markFenced, epoch}))
		}
		err = errors.Join(errs...)
	}
	switch {
	case err == nil:
		return engine.Done(), nil
	case apierrors.IsConflict(err):
		return engine.Outcome{}, err
	case r.failsFor() >= clearFor:
		r.Log.Error(err, "Gave up clearing the label of pods; remove it by hand", "label", labelOf(r.Obj).Key)
		return engine.Done(), nil
	}
	return engine.Outcome{}, engine.Explain(err, ReasonCannotClear, fmt.Sprintf("the label %s cannot be taken off: %v. This is tried again for %s. "+
		"To leave the label on the pods at once, annotate this object with %s=true",
		labelOf(r.Obj).Key, err, clearFor, names.AnnotationSkipClearing))
}

// failsFor is how long the clearing has failed, as far as it is recorded: the operator may have been away when the object was deleted.
func (r *run) failsFor() time.Duration {
	c := meta.FindStatusCondition(r.Obj.Status.Conditions, Cleared)
	if c == nil || c.Status != metav1.ConditionFalse {
		return 0
	}
	return r.Clock.Since(c.LastTransitionTime.Time)
}

// markedPods returns the pods that have the label, that lead by their mark, or that the ledger names, and an epoch above all marks. What
// another object has marked is not among them.
func (r *run) markedPods(ctx context.Context) (marked []pod, epoch int64, err error) {
	lease, _, err := r.readLease(ctx)
	if err != nil {
		return nil, 0, err
	}
	l := ledger{}
	if lease != nil {
		l = readLedger(lease, r.Obj.UID)
	}
	known := max(r.Obj.Status.Epoch, l.epoch)
	epoch = known
	selector := labels.SelectorFromSet(selectorOf(r.Obj))
	var all []pod
	_, err = tenancy.Each(ctx, r.Live, r.Obj.Namespace, &corev1.PodList{}, math.MaxInt, func(p *corev1.Pod) {
		x := r.observed(p, selector)
		epoch = max(epoch, x.mark.epoch)
		if x.labelled || x.mark.led() {
			all = append(all, x)
		}
	}, client.MatchingLabelsSelector{Selector: selector})
	if err != nil {
		return nil, 0, fmt.Errorf("listing the candidates: %w", err)
	}
	all, err = r.addNamed(ctx, all, selector, l)
	if err != nil {
		return nil, 0, err
	}
	others, err := r.othersLeaders(ctx)
	return slices.DeleteFunc(all, func(p pod) bool {
		cleared := !p.labelled && p.mark.kind == markFenced && p.mark.epoch > known // by an earlier try
		return cleared || slices.Contains(others, p.identity)
	}), epoch + 1, err
}

// othersLeaders are the pods that other objects have marked with the same label.
func (r *run) othersLeaders(ctx context.Context) (all []identity, err error) {
	list := &v1alpha1.LeaderElectionList{}
	if err := r.list(ctx, list); err != nil {
		return nil, fmt.Errorf("listing the other LeaderElections: %w", err)
	}
	for i := range list.Items {
		o := &list.Items[i]
		if l := o.Status.Leader; l != nil && o.UID != r.Obj.UID && labelOf(o).Key == labelOf(r.Obj).Key {
			all = append(all, identity{l.Pod, string(l.UID)})
		}
	}
	return all, nil
}
