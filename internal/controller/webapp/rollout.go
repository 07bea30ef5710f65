// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

// defaultDeadline is how long a revision may take when only autoRollback is set.
const defaultDeadline = 10 * time.Minute

// deadlineOf is how long a revision may take until all its pods are available; 0 is for ever.
func deadlineOf(spec *v1alpha1.WebAppSpec) time.Duration {
	switch {
	case spec.RolloutDeadline != nil:
		return spec.RolloutDeadline.Duration
	case spec.AutoRollback:
		return defaultDeadline
	default:
		return 0
	}
}

// progress is how far a rollout has come.
type progress struct {
	// complete: all pods run the present version and are available.
	complete bool
	// none: no pods are wanted, so that nothing shows whether the version works.
	none bool
	// paused: somebody has paused the Deployment.
	paused bool
	// held: the pods stay as they are until the database or a migration lets a newer version start, and are not judged.
	held bool
}

// track records how far the rollout of the present revision has come. It gives the time at which its deadline passes, which
// is zero when none counts.
func track(app *v1alpha1.WebApp, p progress, now time.Time) (due time.Time) {
	status := &app.Status
	switch r := status.Rollout; {
	case p.complete && !p.none:
		status.ServingRevision, status.Rollout = status.Revision, nil
	case r == nil: // pods of a revision that has served already
	case p.none || p.paused || p.held:
		r.StartedAt = nil
	default:
		if r.StartedAt == nil || r.StartedAt.After(now) {
			r.StartedAt = new(metav1.NewTime(now))
		}
		if d := deadlineOf(&app.Spec); d > 0 {
			due = r.StartedAt.Add(d)
		}
	}
	return due
}

// isLate reports whether a deadline has passed. The zero time is none.
func isLate(due, now time.Time) bool { return !due.IsZero() && !now.Before(due) }

// rollsBack reports whether the present revision is late and has to be replaced by the one that has served last. That one is
// itself never replaced, so that one rollback is not followed by another, and nothing goes to and fro.
func rollsBack(app *v1alpha1.WebApp, due, now time.Time) bool {
	status := &app.Status
	return isLate(due, now) && app.Spec.AutoRollback && app.Spec.RollbackTo == nil &&
		status.ServingRevision != 0 && status.ServingRevision != status.Revision
}

// rollBack records an automatic rollback.
func rollBack(app *v1alpha1.WebApp, why string, now time.Time) {
	status := &app.Status
	status.RolledBack = &v1alpha1.RolledBack{Revision: status.Revision, To: status.ServingRevision, At: metav1.NewTime(now), Message: why}
}

// judgeServing is the outcome when all pods are available.
func judgeServing(app *v1alpha1.WebApp, c course, out engine.Outcome) engine.Outcome {
	switch {
	case c.why == byFailure:
		return engine.Block(ReasonRolledBack, undone(app)+fmt.Sprintf(". Revision %d serves. Change the spec to try again", c.number))
	case out.Reason() == ReasonScaledToZero:
		return out
	case c.why == byBoth:
		return out.Because(ReasonRolledBack).Saying(fmt.Sprintf(
			"revision %d serves, as spec.rollbackTo asks; the spec says the same of pods, so that spec.rollbackTo can be removed", c.number))
	case c.why == byUser:
		return out.Because(ReasonRolledBack).Saying(fmt.Sprintf(
			"revision %d serves, as spec.rollbackTo asks; what the spec says of pods is not rolled out until spec.rollbackTo is removed", c.number))
	default:
		return out
	}
}

// judgeLacking is the outcome when not all pods are available.
func judgeLacking(app *v1alpha1.WebApp, c course, f finding, due, now time.Time) engine.Outcome {
	late := isLate(due, now)
	switch {
	case c.why == byFailure && late:
		return engine.BlockFor(lookAgain, ReasonRolledBack, undone(app)+fmt.Sprintf(". Revision %d does not serve either: %s", c.number, f.message))
	case c.why == byFailure:
		return engine.Wait(lookAgain, ReasonRolledBack, undone(app)+fmt.Sprintf(". Revision %d is rolled out instead: %s", c.number, f.message)).
			Warning().Due(due)
	case late:
		return engine.BlockFor(lookAgain, ReasonRolloutFailed, failure(app, f)+wayOut(app))
	default:
		return engine.Wait(lookAgain, f.reason, f.message).Due(due)
	}
}

// failure says that the present revision is late, and why.
func failure(app *v1alpha1.WebApp, f finding) string {
	return fmt.Sprintf("revision %d (%s) was not complete after %s: %s",
		app.Status.Revision, recordOf(&app.Status, app.Status.Revision).Image, deadlineOf(&app.Spec), f.message)
}

// wayOut says what can be done about a revision that is late and is not rolled back.
func wayOut(app *v1alpha1.WebApp) string {
	switch serving := app.Status.ServingRevision; {
	case serving == 0:
		return ". No revision has served before, so that there is none to roll back to"
	case serving == app.Status.Revision:
		return ". It is the one that has served last, so that there is none to roll back to"
	case app.Spec.RollbackTo != nil:
		return fmt.Sprintf(". Set spec.rollbackTo to %d, the revision that has served last, or remove it", serving)
	default:
		return fmt.Sprintf(". Change the spec, or set spec.rollbackTo to %d, the revision that has served last", serving)
	}
}

// undone says what was rolled back, and why.
func undone(app *v1alpha1.WebApp) string {
	text := strings.TrimSuffix(app.Status.RolledBack.Message, ".")
	if app.Spec.Migration != nil {
		text += ". What its migration has changed is not undone"
	}
	return text
}

// unknown says that a revision cannot be rolled back to, and to which one can.
func unknown(app *v1alpha1.WebApp, number int64, hasRecord func(v1alpha1.Revision) bool) string {
	var all []string
	for _, r := range app.Status.Revisions {
		if r.Number != number && hasRecord(r) {
			all = append(all, fmt.Sprintf("%d (%s)", r.Number, r.Image))
		}
	}
	text := fmt.Sprintf("there is no record of revision %d, so that nothing is changed. ", number)
	if app.Spec.RollbackTo == nil {
		return text + "It was to be rolled back to; change the spec"
	}
	if len(all) == 0 {
		return text + "There are no other revisions: remove spec.rollbackTo"
	}
	return text + "Remove spec.rollbackTo, or choose one of " + strings.Join(all, ", ")
}
