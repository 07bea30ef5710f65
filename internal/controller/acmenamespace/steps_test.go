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

package acmenamespace

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/external/identity"
)

// answering is a directory with one answer for everybody.
type answering struct {
	known bool
	err   error
	asked int
}

// Lookup implements identity.Directory.
func (a *answering) Lookup(context.Context, string) (bool, error) {
	a.asked++
	return a.known, a.err
}

func TestVerifyAdmin(t *testing.T) {
	said := func(status metav1.ConditionStatus, generation int64, message string) []metav1.Condition {
		return []metav1.Condition{{Type: AdminVerified, Status: status, ObservedGeneration: generation, Message: message}}
	}
	verified := func(status metav1.ConditionStatus, generation int64) []metav1.Condition {
		return said(status, generation, "the identity provider knows the user")
	}
	const unanswered = "the identity provider could not be asked; the namespace is provided, and the question is asked again"
	known := engine.Done().Saying("the identity provider knows the user")
	for _, tc := range []struct {
		reason    string
		directory *answering
		user      string
		before    []metav1.Condition
		want      engine.Outcome
		asked     int
	}{
		{"none is configured", nil, "sam", nil, engine.Done().Saying("no identity provider is configured; the name is taken as it is"), 0},
		{"a service account", &answering{}, "system:serviceaccount:ci:deployer", nil, engine.Done().Saying("a service account; no identity provider knows those"), 0},
		{"it knows the user", &answering{known: true}, "sam", nil, known, 1},
		{"it has said so for this version of the spec", &answering{err: errors.New("down")}, "sam", verified("True", 3), known, 0},
		{
			"none was configured before", &answering{known: true}, "sam",
			said("True", 3, "no identity provider is configured; the name is taken as it is"), known, 1,
		},
		{"it has said so for an earlier version", &answering{known: true}, "sam", verified("True", 2), known, 1},
		{"it did not answer for this version", &answering{known: true}, "sam", verified("Unknown", 3), known, 1},
		{"it did not know the user for this version", &answering{known: true}, "sam", verified("False", 3), known, 1},
		{"it does not know the user", &answering{}, "sam", nil, engine.BlockFor(time.Minute, "UnknownUser",
			`adminUsername "sam" is not known to the identity provider; give the name exactly as it has it`), 1},
		{
			"it cannot be asked: again in a minute", &answering{err: errors.New("canary")}, "sam", nil,
			engine.Uncertain(time.Minute, "IdentityUnreachable", unanswered), 1,
		},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			n := &v1alpha1.AcmeNamespace{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
			n.Spec.AdminUsername, n.Status.Conditions = tc.user, tc.before
			var d identity.Directory
			if tc.directory != nil {
				d = tc.directory
			}
			r := &run{Scope: engine.Scope[*v1alpha1.AcmeNamespace]{Obj: n, Log: logr.Discard()}, kind: kind{Options: Options{Directory: d}}}
			got, err := r.verifyAdmin(t.Context())
			if err != nil || got != tc.want {
				t.Errorf("got %+v, %v, want %+v", got, err, tc.want)
			}
			if tc.directory != nil && tc.directory.asked != tc.asked {
				t.Errorf("asked %d times, want %d", tc.directory.asked, tc.asked)
			}
		})
	}
}

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
