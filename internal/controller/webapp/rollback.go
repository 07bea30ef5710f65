// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

// steer decides which revision the pods are to be made from, whether they may, and what the children are made from. A revision
// counts from when its pods may start.
func (r *run) steer(ctx context.Context, deployment *held) error {
	own, err := contentOf(r.Obj.Spec)
	if err != nil {
		return err
	}
	status := &r.Obj.Status
	r.course = choose(r.Obj, own.hash)
	wanted, err := r.recall(ctx, r.course.hash, own)
	if err != nil {
		return err
	}
	if wanted.app == nil {
		r.missing = r.course.number
	} else if r.lacks, err = r.findDatabase(ctx, wanted.app.Spec.DatabaseSecretRef); err != nil {
		return err
	}
	r.target = cmp.Or(wanted.app, r.Obj)
	if r.hold = r.missing != 0 || r.lacks.what != "" || r.holds(); !r.hold {
		take(r.Obj, r.course, wanted.app, own.hash)
		r.in = lead(r.Obj, wanted, version{}, false)
	} else {
		present, err := r.recall(ctx, madeFrom(deployment, status), own)
		if err != nil {
			return err
		}
		if present.app != nil { // the run that has made the pods from it may have lost its status
			take(r.Obj, course{numberOf(status, present.hash), present.hash, byUser}, present.app, own.hash)
		}
		r.in = lead(r.Obj, wanted, present, true)
	}
	r.in.revision = status.Revision
	return nil
}

// recall gives the version with a hash: that of the spec, or of a ControllerRevision that holds it unchanged.
func (r *run) recall(ctx context.Context, hash string, ofSpec content) (version, error) {
	switch hash {
	case "":
		return version{}, nil
	case ofSpec.hash:
		return versionOf(r.Obj, ofSpec)
	}
	key := client.ObjectKey{Namespace: r.Obj.Namespace, Name: revisionName(r.Obj, hash)}
	live, exists, err := own(ctx, r, key, &appsv1.ControllerRevision{})
	if err != nil || !exists {
		return version{}, err
	}
	what, unchanged := readRevision(live, hash)
	if !unchanged {
		return version{}, nil
	}
	return versionOf(r.Obj, what)
}

// hasRecord reports whether there is a ControllerRevision of a revision.
func (r *run) hasRecord(of v1alpha1.Revision) bool {
	return of.Hash == r.in.content.hash || slices.ContainsFunc(r.records, func(c *appsv1.ControllerRevision) bool {
		return c.Name == revisionName(r.Obj, of.Hash) && c.DeletionTimestamp.IsZero()
	})
}

// forget deletes the ControllerRevisions that are not on record any more.
func (r *run) forget(ctx context.Context) error {
	for _, c := range r.records {
		if isKept(r.Obj, c.Name) || !c.DeletionTimestamp.IsZero() {
			continue
		}
		if err := r.Discard(ctx, c, metav1.DeletePropagationBackground); err != nil {
			return err
		}
	}
	return nil
}

// holds reports whether migrations keep the Deployment as it is.
func (r *run) holds() bool {
	if r.course.why == bySpec {
		return r.migrations.holds(r.Obj)
	}
	return r.migrations.unended()
}

// migrateNothing is what there is to do about migrations during a rollback: one that runs is awaited, none is started.
func (r *run) migrateNothing(ctx context.Context) (engine.Outcome, error) {
	if current := r.migrations.current; current != nil {
		end := endOf(current)
		if end == "" {
			return r.awaitMigration(ctx, current, "")
		}
		if end == batchv1.JobComplete {
			r.Obj.Status.Migrated = current.Name
		}
	}
	return engine.Done().Saying(fmt.Sprintf(
		"the pods are rolled back to revision %d: no migration runs for that, and none is undone", r.course.number)), nil
}

// judgeLate reports why not all pods are available, and rolls back when that has taken too long.
func (r *run) judgeLate(ctx context.Context, f finding, due time.Time) (engine.Outcome, error) {
	now := r.Clock.Now()
	if !rollsBack(r.Obj, due, now) {
		return judgeLacking(r.Obj, r.course, f, due, now), nil
	}
	to := r.Obj.Status.ServingRevision
	obstacle, err := r.findObstacle(ctx, to)
	if err != nil {
		return engine.Outcome{}, err
	}
	if obstacle != "" {
		return engine.BlockFor(lookAgain, ReasonRolloutFailed, failure(r.Obj, f)+". "+obstacle), nil
	}
	rollBack(r.Obj, failure(r.Obj, f), now)
	return engine.Wait(lookAgain, ReasonRolledBack, undone(r.Obj)+fmt.Sprintf(". Revision %d is rolled out instead", to)).Warning().Due(now), nil
}

// findObstacle finds out why a revision cannot be rolled back to; empty when it can.
func (r *run) findObstacle(ctx context.Context, to int64) (string, error) {
	earlier, err := r.recall(ctx, hashOf(&r.Obj.Status, to), content{})
	if err != nil {
		return "", err
	}
	if earlier.app == nil {
		return unknown(r.Obj, to, r.hasRecord), nil
	}
	lacks, err := r.findDatabase(ctx, earlier.app.Spec.DatabaseSecretRef)
	if err != nil || lacks.what == "" {
		return "", err
	}
	return fmt.Sprintf("Revision %d, which has served last, is not rolled back to, because %s. Create it, or change the spec", to, lacks.what), nil
}
