// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace

import (
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/external/identity"
)

func TestJudge(t *testing.T) {
	const unanswered = "the identity provider could not be queried; the namespace is provided, and the query is repeated. The operator's log shows why"
	for _, tc := range []struct {
		reason          string
		known, answered bool
		err             error
		want            engine.Outcome
	}{
		{"it knows the user", true, true, nil, engine.Done().Saying("the identity provider knows the user")},
		{"it has not answered yet", false, false, nil, engine.Wait(time.Minute, "IdentityPending",
			"waiting for the identity provider to confirm the user")},
		{"it does not know the user", false, true, nil, engine.BlockFor(time.Minute, "UnknownUser",
			`adminUsername "sam" is not known to the identity provider; set the name exactly as the provider spells it`)},
		{"it cannot be asked: again in a minute", false, true, errors.New("canary"), engine.Uncertain(time.Minute, "IdentityUnreachable", unanswered)},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			if got := adminOutcome("sam", tc.known, tc.answered, tc.err); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

// A question that need not be asked is answered at once.
func TestVerifyAdminWithoutAQuestion(t *testing.T) {
	const knows = "the identity provider knows the user"
	for _, tc := range []struct {
		reason, user string
		directory    identity.Directory
		before       []metav1.Condition
		want         string
	}{
		{"none is configured", "sam", nil, nil, "no identity provider is configured; the name is not verified"},
		{"a service account", "system:serviceaccount:ci:deployer", refusing{}, nil, "adminUsername is a service account, which identity providers do not know"},
		{
			"it has said so for this version of the spec", "sam",
			refusing{},
			[]metav1.Condition{{Type: AdminVerified, Status: "True", ObservedGeneration: 3, Message: knows}},
			knows,
		},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			n := &v1alpha1.AcmeNamespace{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
			n.Spec.AdminUsername, n.Status.Conditions = tc.user, tc.before
			r := &run{Scope: engine.Scope[*v1alpha1.AcmeNamespace]{Obj: n, Log: logr.Discard()}, kind: kind{Options: Options{Directory: tc.directory}}}
			got, err := r.verifyAdmin(t.Context())
			if want := engine.Done().Saying(tc.want); err != nil || got != want {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		})
	}
}

func TestMayReuseAnswer(t *testing.T) {
	for _, tc := range []struct {
		reason     string
		status     metav1.ConditionStatus
		generation int64
		message    string
		want       bool
	}{
		{"it has said so for this version of the spec", "True", 3, knownUser, true},
		{"none was configured before", "True", 3, "no identity provider is configured; the name is not verified", false},
		{"it has said so for an earlier version", "True", 2, knownUser, false},
		{"it did not answer for this version", "Unknown", 3, knownUser, false},
		{"it did not know the user for this version", "False", 3, knownUser, false},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			n := &v1alpha1.AcmeNamespace{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
			n.Status.Conditions = []metav1.Condition{{Type: AdminVerified, Status: tc.status, ObservedGeneration: tc.generation, Message: tc.message}}
			if got := verified(n); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
	if verified(&v1alpha1.AcmeNamespace{}) {
		t.Error("there was no answer")
	}
}

// refusing is a directory that must not be asked.
type refusing struct{ identity.Directory }

func TestPhases(t *testing.T) {
	now := metav1.NewTime(time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC))
	composed := []metav1.Condition{{Type: Composed, Status: metav1.ConditionTrue}}
	for _, tc := range []struct {
		reason     string
		deleted    *metav1.Time
		conditions []metav1.Condition
		was, want  v1alpha1.Phase
	}{
		{"at first", nil, nil, "", v1alpha1.PhaseCreationInProgress},
		{"while it takes", nil, nil, v1alpha1.PhaseCreationInProgress, v1alpha1.PhaseCreationInProgress},
		{"once all is there", nil, composed, v1alpha1.PhaseCreationInProgress, v1alpha1.PhaseCreated},
		{"whatever comes after", nil, nil, v1alpha1.PhaseCreated, v1alpha1.PhaseCreated},
		{"at its end", &now, composed, v1alpha1.PhaseCreated, v1alpha1.PhaseTerminating},
		{"at an early end", &now, nil, "", v1alpha1.PhaseTerminating},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			n := &v1alpha1.AcmeNamespace{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: tc.deleted}}
			n.Status.Phase, n.Status.Conditions = tc.was, tc.conditions
			kind{}.Summarize(n)
			if n.Status.Phase != tc.want {
				t.Errorf("phase %s, want %s", n.Status.Phase, tc.want)
			}
		})
	}
}
