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

package crontab

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

// look takes in all runs that there are. One that goes on according to the status and that the cache does not show is
// looked for on the API server: the cache may be late, and a run that goes on must not be taken for gone.
func (r *run) look(ctx context.Context) error {
	r.view = view{now: r.Clock.Now(), tab: r.Obj.DeepCopy(), schedule: r.schedule}
	r.live = map[string]*batchv1.Job{}
	if err := r.EachOwned(ctx, func(o client.Object) error {
		r.add(o.(*batchv1.Job))
		return nil
	}); err != nil {
		return err
	}
	for _, a := range r.Obj.Status.Active {
		if r.live[a.Job] != nil {
			continue
		}
		live := &batchv1.Job{}
		err := r.Live.Get(ctx, client.ObjectKey{Namespace: r.Obj.Namespace, Name: a.Job}, live)
		switch {
		case err == nil && r.Owned(live):
			r.add(live)
		case client.IgnoreNotFound(err) != nil:
			return fmt.Errorf("reading the Job %s: %w", a.Job, err)
		}
	}
	slices.SortFunc(r.view.jobs, func(a, b job) int { return strings.Compare(a.name, b.name) })
	return nil
}

// isRun tells whether a Job has the name that follows from what it says it runs for. A copy of one has another name.
func isRun(tab *v1alpha1.CronTab, o client.Object) bool {
	if request, byHand := o.GetAnnotations()[AnnotationRunNow]; byHand {
		return o.GetName() == jobOfRequest(tab.Name, request)
	}
	slot, err := time.Parse(time.RFC3339, o.GetAnnotations()[AnnotationSlot])
	return err == nil && o.GetName() == jobOf(tab.Name, slot)
}

func (r *run) add(live *batchv1.Job) {
	r.live[live.Name] = live
	r.view.jobs = append(r.view.jobs, observed(live))
}

// observed is what matters of a Job.
func observed(live *batchv1.Job) job {
	j := job{
		name: live.Name, started: live.CreationTimestamp.Time, outcome: v1alpha1.OutcomeRunning,
		deleting: !live.DeletionTimestamp.IsZero(), pods: 1,
	}
	if live.Spec.Parallelism != nil {
		j.pods = *live.Spec.Parallelism
	}
	if slot, err := time.Parse(time.RFC3339, live.Annotations[AnnotationSlot]); err == nil {
		j.slot = slot
	}
	for _, c := range live.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == batchv1.JobComplete:
			j.outcome, j.ended = v1alpha1.OutcomeSucceeded, c.LastTransitionTime.Time
		case c.Type == batchv1.JobFailed:
			j.outcome, j.ended = v1alpha1.OutcomeFailed, c.LastTransitionTime.Time
		}
	}
	return j
}

// stop stops a run. Its Job stays until the pods are gone, so that what follows does not meet them.
func (r *run) stop(ctx context.Context, name string) error {
	return r.Discard(ctx, r.live[name].DeepCopy(), metav1.DeletePropagationForeground)
}

// prune deletes ended runs that are not kept any more, with their pods.
func (r *run) prune(ctx context.Context) (engine.Outcome, error) {
	gone, again := prunable(r.view)
	for _, name := range gone {
		if err := r.Discard(ctx, r.live[name].DeepCopy(), metav1.DeletePropagationBackground); err != nil {
			return engine.Outcome{}, err
		}
	}
	return engine.Done().Due(again), nil
}

// Finalize is what happens between the deletion of a CronTab and its disappearance.
func (kind) Finalize(s engine.Scope[*v1alpha1.CronTab]) []engine.Step {
	r := &run{Scope: s}
	return []engine.Step{{Condition: RunsEnded, Run: r.end}}
}

// stopFor is how long a deletion waits for runs that it stops. Their Jobs are being deleted then, and the garbage
// collector has their owner's end as a reason of its own: what keeps a pod, such as a lost node, does not keep the
// CronTab.
const stopFor = 5 * time.Minute

// end stops or awaits the runs that go on.
func (r *run) end(ctx context.Context) (engine.Outcome, error) {
	if err := r.look(ctx); err != nil {
		return engine.Outcome{}, err
	}
	running := slices.DeleteFunc(r.view.jobs, func(j job) bool { return j.outcome != v1alpha1.OutcomeRunning })
	deadline := r.Obj.DeletionTimestamp.Add(stopFor)
	switch {
	case len(running) == 0:
		return engine.Done(), nil
	case r.Obj.Spec.DeletionPolicy == v1alpha1.DeletionAwait:
		return engine.Wait(0, ReasonRunsGoingOn, fmt.Sprintf("%d runs are going on, and deletionPolicy is Await; to stop them, "+
			"set it to Stop or delete their Jobs", len(running))), nil
	case !r.view.now.Before(deadline):
		r.Log.Info("Gave up waiting for the pods of stopped runs; they go with their Jobs", "runs", len(running))
		return engine.Done(), nil
	}
	for _, j := range running {
		if j.deleting {
			continue
		}
		switch err := r.stop(ctx, j.name); {
		case apierrors.IsConflict(err): // The Job has changed meanwhile.
			return engine.Outcome{}, err
		case err != nil:
			return engine.Outcome{}, engine.Explain(err, ReasonCannotStop, fmt.Sprintf("%v; it is tried again until %s after the "+
				"deletion, then the Jobs are left to the garbage collector", err, stopFor))
		}
	}
	return engine.Wait(0, ReasonRunsGoingOn, fmt.Sprintf("%d runs are being stopped; this object goes when their pods are gone, "+
		"or %s after its deletion", len(running), stopFor)).Due(deadline), nil
}

// requester is who set the annotation that asks for a run by hand, and when, as the API server has recorded it.
func requester(fields []metav1.ManagedFieldsEntry, now time.Time) (by string, at metav1.Time) {
	by, at = "unknown", metav1.NewTime(now.Truncate(time.Second))
	for _, f := range fields {
		if f.FieldsV1 == nil || f.Time == nil {
			continue
		}
		var owned struct {
			Metadata struct {
				Annotations map[string]any `json:"f:annotations"`
			} `json:"f:metadata"`
		}
		if json.Unmarshal(f.FieldsV1.GetRawBytes(), &owned) != nil {
			continue
		}
		if _, sets := owned.Metadata.Annotations["f:"+AnnotationRunNow]; sets {
			by, at = f.Manager, *f.Time
		}
	}
	return by, at
}
