// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
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

// steer decides which revision the pods are made from, and reads what is in it. When there is no such revision they stay
// with the one that they are made from already. A revision counts from when its pods may start.
func (r *run) steer(ctx context.Context) error {
	app := *r.Obj
	r.app = &app
	own, err := contentOf(r.Obj.Spec)
	if err != nil {
		return err
	}
	r.course = choose(r.Obj, own.hash)
	wanted, found, err := r.recall(ctx, r.course.hash, own)
	if err == nil && !found {
		r.missing = r.course.number
		r.course = named(r.Obj, r.Obj.Status.Revision, byUser, own.hash)
		wanted, found, err = r.recall(ctx, r.course.hash, own)
	}
	if err != nil || !found {
		r.hold = true
		return err
	}
	if app.Spec, err = restored(r.Obj.Spec, wanted); err != nil {
		return err
	}
	if r.lacks, err = r.findDatabase(ctx, app.Spec.DatabaseSecretRef); err != nil {
		return err
	}
	if r.hold = r.lacks.what != "" || r.holds(); !r.hold {
		take(r.Obj, r.course, app.Spec.WebAppImage, own.hash)
		r.taken = wanted
	}
	return nil
}

// recall gives the content with a hash: that of the spec, or of a ControllerRevision that holds it unchanged.
func (r *run) recall(ctx context.Context, hash string, ofSpec content) (what content, found bool, err error) {
	switch hash {
	case "":
		return content{}, false, nil
	case ofSpec.hash:
		return ofSpec, true, nil
	}
	key := client.ObjectKey{Namespace: r.Obj.Namespace, Name: revisionName(r.Obj, hash)}
	live, exists, err := own(ctx, r, key, &appsv1.ControllerRevision{})
	if err != nil || !exists {
		return content{}, false, err
	}
	what, found = readRevision(live, hash)
	return what, found, nil
}

// hasRecord reports whether there is a ControllerRevision of a revision.
func (r *run) hasRecord(of v1alpha1.Revision) bool {
	return of.Hash == r.taken.hash || slices.ContainsFunc(r.records, func(c *appsv1.ControllerRevision) bool {
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
			return r.watchMigration(ctx, current, "")
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
	what, found, err := r.recall(ctx, hashOf(&r.Obj.Status, to), content{})
	if err != nil {
		return "", err
	}
	if !found {
		return unknown(r.Obj, to, r.hasRecord), nil
	}
	then, err := restored(r.Obj.Spec, what)
	if err != nil {
		return "", err
	}
	lacks, err := r.findDatabase(ctx, then.DatabaseSecretRef)
	if err != nil || lacks.what == "" {
		return "", err
	}
	return fmt.Sprintf("Revision %d, which has served last, is not rolled back to, because %s. Create it, or change the spec", to, lacks.what), nil
}
