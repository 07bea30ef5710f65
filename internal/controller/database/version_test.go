// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	v1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

func TestPace(t *testing.T) {
	for unchanged, want := range map[time.Duration]time.Duration{
		-time.Hour: soon, 0: soon, time.Minute: 6 * time.Second, time.Hour: recheck,
	} {
		if got := paceAfter(unchanged); got != want {
			t.Errorf("after %s it looks after %s, want %s", unchanged, got, want)
		}
	}
}

// TestPaceSlowsDown has what a tenant can keep from changing for ever: an agent that does not answer, or does not apply a password.
func TestPaceSlowsDown(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		unreachable error
		pending     bool
		want        func(time.Duration) engine.Outcome
	}{
		"the agent does not answer": {
			unreachable: errors.New("no route"),
			want: func(d time.Duration) engine.Outcome {
				return engine.Uncertain(d, ReasonAgentUnreachable, "the agent in the pod does not answer: no route")
			},
		},
		"the agent has not applied a password": {
			pending: true,
			want: func(d time.Duration) engine.Outcome {
				return engine.Uncertain(d, ReasonPasswordPending, "the agent has not applied a new password yet")
			},
		},
	} {
		for since, after := range map[time.Duration]time.Duration{0: soon, time.Hour: recheck} {
			db := &v1alpha1.Database{}
			db.Status.Conditions = []metav1.Condition{{Type: CredentialsInSync, LastTransitionTime: metav1.NewTime(now.Add(-since))}}
			r := &run{agentErr: c.unreachable}
			r.Obj, r.Clock, r.verdict.pending = db, clocktesting.NewFakePassiveClock(now), c.pending
			got, err := r.checkCredentials(t.Context())
			if want := c.want(after); got != want || err != nil {
				t.Errorf("%s for %s: it gives %+v, %v, want %+v", name, since, got, err, want)
			}
		}
	}
}

// TestRetainedAccountsAreNotReportedAsRotated: without a place for events, one would panic. Their old password ends after the overlap.
func TestRetainedAccountsAreNotReportedAsRotated(t *testing.T) {
	now := time.Now()
	r := &run{}
	r.Obj, r.Clock, r.verdict.accounts.granted = &v1alpha1.Database{}, clocktesting.NewFakePassiveClock(now), "x"
	r.recordAccounts()
	if c := r.Obj.Status.Credentials; c == nil || c.Request != "x" || c.RotatedAt == nil || !c.RotatedAt.Time.Equal(now) {
		t.Errorf("the status has %+v", c)
	}
}

// TestTheFirstAnswerIsAwaited: the answer wakes the object, so that nothing has to look for it every two seconds.
func TestTheFirstAnswerIsAwaited(t *testing.T) {
	r := &run{set: &appsv1.StatefulSet{}, asked: true}
	r.Obj = &v1alpha1.Database{}
	r.Obj.Status.Conditions = []metav1.Condition{{Type: Running, Status: metav1.ConditionTrue}}
	if got, err := r.checkServer(t.Context()); got != engine.Again(recheck) || err != nil {
		t.Errorf("it gives %+v, %v", got, err)
	}
}

// TestRejectedPasswords: one that never worked leaves nobody who can log in.
func TestRejectedPasswords(t *testing.T) {
	if got := (verdict{trouble: "no", accounts: accounts{last: "former"}}).rejected("s"); !got.GoesOn() {
		t.Errorf("with a former password: %+v", got)
	}
	if got := (verdict{trouble: "no"}).rejected("s"); got.GoesOn() || got.Reason() != ReasonPasswordRejected {
		t.Errorf("with none: %+v", got)
	}
}

func TestVersionIsThatOfTheData(t *testing.T) {
	for name, c := range map[string]struct {
		kind                   v1alpha1.Type
		chosen, status, server string
		old                    bool
		want, problem          string
	}{
		"nothing is chosen":                    {kind: v1alpha1.Postgres, want: newest[v1alpha1.Postgres]},
		"one is chosen":                        {kind: v1alpha1.MySQL, chosen: "8.0", want: "8.0"},
		"the status has one":                   {kind: v1alpha1.Postgres, status: "16", server: "postgres 15", want: "16"},
		"the data has one":                     {kind: v1alpha1.Postgres, server: "postgres 15", want: "15"},
		"the data has the one that is chosen":  {kind: v1alpha1.MySQL, chosen: "8.0", server: "mysql 8.0", want: "8.0"},
		"the data has another one":             {kind: v1alpha1.MySQL, chosen: "8.4", server: "mysql 8.0", problem: "belongs to version 8.0"},
		"the status has another one":           {kind: v1alpha1.Postgres, chosen: "17", status: "16", problem: "belongs to version 16"},
		"the data is of another type":          {kind: v1alpha1.MySQL, server: "postgres 18", problem: "has data of postgres, not of mysql"},
		"the data says something unknown":      {kind: v1alpha1.Postgres, server: "postgres evil:1", want: newest[v1alpha1.Postgres]},
		"old data says nothing":                {kind: v1alpha1.MySQL, old: true, problem: "set spec.version"},
		"old data, whose version is chosen":    {kind: v1alpha1.MySQL, old: true, chosen: "8.0", want: "8.0"},
		"old data, and the status has one":     {kind: v1alpha1.MySQL, old: true, status: "8.0", want: "8.0"},
		"old data has another than the status": {kind: v1alpha1.MySQL, old: true, status: "8.4", server: "mysql 8.0", want: "8.0"},
		"old data has another type":            {kind: v1alpha1.MySQL, old: true, status: "8.4", server: "postgres 18", problem: "has data of postgres, not of mysql"},
		"the data has a version and no type":   {kind: v1alpha1.Postgres, server: "15", want: newest[v1alpha1.Postgres]},
	} {
		t.Run(name, func(t *testing.T) {
			got, problem := decideVersion(v1alpha1.DatabaseSpec{Type: c.kind, Version: c.chosen}, c.status, c.old, c.server)
			if got != c.want || (problem == "") != (c.problem == "") || !strings.Contains(problem, c.problem) {
				t.Errorf("got %q (%s), want %q (%s)", got, problem, c.want, c.problem)
			}
		})
	}
}
