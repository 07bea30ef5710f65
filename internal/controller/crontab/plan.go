// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"fmt"
	"strings"
	"time"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/schedule"
)

// plannedRuns is how many of the next runs a plan names.
const plannedRuns = 3

// Plan says when a CronTab runs, at a time: its Jobs are made then.
func Plan(now time.Time) engine.Plan {
	return engine.PlanOf[*v1alpha1.CronTab]{
		Of: v1alpha1.GroupVersion.WithKind("CronTab"), Name: Name, Proves: isRun,
		Children: func(t *v1alpha1.CronTab, _ engine.Known) (engine.Planned, error) { return planned(t, now) },
	}.Plan()
}

func planned(t *v1alpha1.CronTab, now time.Time) (p engine.Planned, err error) {
	parsed, err := schedule.Parse(t.Spec.CronSpec, t.Spec.TimeZone, string(t.UID))
	switch {
	case err != nil:
		return p, err
	case t.Spec.Suspend:
		p.Notes = append(p.Notes, "it is suspended: the schedule starts no run")
		return p, nil
	case parsed.NeverFires():
		p.Notes = append(p.Notes, "the schedule never fires")
		return p, nil
	}
	if t.ResourceVersion == "" && (t.Spec.Jitter != nil || parsed.Seeded()) {
		p.Notes = append(p.Notes, "each run makes a Job; the times follow from H and the jitter, which are chosen when it is created")
		return p, nil
	}
	runs := &planner{view: view{now: now, tab: t, schedule: parsed}}
	runs.openLedger()
	runs.forecast()
	var next []string
	for _, at := range runs.next[:min(len(runs.next), plannedRuns)] {
		next = append(next, at.UTC().Format(time.RFC3339))
	}
	if len(next) == 0 {
		p.Notes = append(p.Notes, "the schedule starts no run until spec.notAfter")
		return p, nil
	}
	p.Notes = append(p.Notes, fmt.Sprintf("each run makes a Job; the next ones are at %s", strings.Join(next, ", ")))
	return p, nil
}
