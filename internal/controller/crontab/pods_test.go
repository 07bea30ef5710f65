// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
)

func TestStuck(t *testing.T) {
	begin := instant(t, "12:10:00")
	job := func(name string, status batchv1.JobStatus) *batchv1.Job {
		return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.JobSpec{Parallelism: new(int32(2))}, Status: status}
	}
	seen := func(change func(*batchv1.JobStatus)) batchv1.JobStatus {
		s := batchv1.JobStatus{StartTime: &metav1.Time{Time: begin}, Ready: new(int32(0)), Terminating: new(int32(0))}
		change(&s)
		return s
	}
	none := func(*batchv1.JobStatus) {}
	for _, tc := range []struct {
		reason string
		after  time.Duration
		status batchv1.JobStatus
		want   string
	}{
		{"the Job controller has not seen it", time.Hour, batchv1.JobStatus{}, ""},
		{"pods may take a minute", 59 * time.Second, seen(none), "12:11:00"},
		{"no pod comes", time.Minute, seen(none), ReasonPodsMissing},
		{"one of two comes", time.Minute, seen(func(s *batchv1.JobStatus) { s.Active, s.Ready = 1, new(int32(1)) }), ReasonPodsMissing},
		{"both run", time.Hour, seen(func(s *batchv1.JobStatus) { s.Active, s.Ready = 2, new(int32(2)) }), ""},
		{"both are over", time.Hour, seen(func(s *batchv1.JobStatus) { s.Succeeded, s.Failed = 1, 1 }), ""},
		{"both are about to be counted", time.Hour, seen(func(s *batchv1.JobStatus) {
			s.Failed = 1
			s.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{"a"}}
		}), ""},
		{"one goes, one failed", time.Hour, seen(func(s *batchv1.JobStatus) { s.Terminating, s.Failed = new(int32(1)), 1 }), ""},
		{"pods that do not start", 5*time.Minute - time.Second, seen(func(s *batchv1.JobStatus) { s.Active = 2 }), "12:15:00"},
		{"for five minutes", 5 * time.Minute, seen(func(s *batchv1.JobStatus) { s.Active = 2 }), ReasonPodsNotStarting},
		{"one of two starts", 5 * time.Minute, seen(func(s *batchv1.JobStatus) { s.Active, s.Ready = 2, new(int32(1)) }), ""},
		{"one has failed, the other does not start", 5 * time.Minute, seen(func(s *batchv1.JobStatus) { s.Active, s.Failed = 1, 1 }), ""},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			v := view{now: begin.Add(tc.after), tab: newScene(t, "12:10:00", "").tab}
			v.tab.Namespace = "app"
			v.jobs = append(v.jobs, observed(job("t-202703011210", tc.status), begin))
			reason, message, again := stuck(v)
			got := reason
			if !again.IsZero() {
				got = again.Format("15:04:05")
			}
			if got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
			if reason != "" && (!strings.Contains(message, "t-202703011210") || !strings.Contains(message, "-n app")) {
				t.Errorf("the message is %q", message)
			}
		})
	}
	t.Run("what is over or is being deleted is not looked at", func(t *testing.T) {
		v := view{now: begin.Add(time.Hour), tab: newScene(t, "12:10:00", "").tab}
		over, leaving := observed(job("t-a", seen(none)), begin), observed(job("t-b", seen(none)), begin)
		over.outcome, leaving.deleting = v1alpha1.OutcomeFailed, true
		v.jobs = append(v.jobs, over, leaving)
		if reason, message, _ := stuck(v); reason != "" {
			t.Error(message)
		}
	})
}
