// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"strings"
	"testing"

	"github.com/acme/platform-operator/internal/plugin"
)

func TestServed(t *testing.T) {
	const annotated = `annotations: {platform.acme.com/paused: "true"}`
	ready, paused := condition("Ready", "True", "Ready"), condition("Paused", "True", "PausedByAnnotation")
	for _, c := range []struct {
		metadata, status string
		want             bool
	}{
		{"generation: 2", "observedGeneration: 2, conditions: [" + ready + "]", true},
		{"generation: 3", "observedGeneration: 2, conditions: [" + ready + "]", false},
		{"generation: 2, " + annotated, "observedGeneration: 2, conditions: [" + ready + "]", false},
		{"generation: 2, " + annotated, "observedGeneration: 2, conditions: [" + ready + "," + paused + "]", true},
		{"generation: 2", "observedGeneration: 2, conditions: [" + ready + "," + paused + "]", false},
	} {
		o := object(t, "{apiVersion: batch.acme.com/v1alpha1, kind: CronTab, metadata: {"+c.metadata+"}, status: {"+c.status+"}}")
		if got := plugin.Served(o); got != c.want {
			t.Errorf("%s; %s: %v", c.metadata, c.status, got)
		}
	}
}

func TestRolledOut(t *testing.T) {
	for text, want := range map[string]bool{
		"kind: Deployment, metadata: {generation: 2}, spec: {replicas: 2}, status: {observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2}": true,
		"kind: Deployment, metadata: {generation: 3}, spec: {replicas: 2}, status: {observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2}": false,
		"kind: Deployment, metadata: {generation: 2}, spec: {replicas: 2}, status: {observedGeneration: 2, replicas: 3, updatedReplicas: 2, availableReplicas: 2}": false,
		"kind: Deployment, metadata: {generation: 2}, spec: {replicas: 2}, status: {observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 1}": false,
		"kind: StatefulSet, metadata: {generation: 2}, status: {observedGeneration: 2}":                                                                            false,
		"kind: DaemonSet, metadata: {generation: 2}, status: {observedGeneration: 2, desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 3}":    true,
		"kind: DaemonSet, metadata: {generation: 2}, status: {observedGeneration: 2, desiredNumberScheduled: 3, updatedNumberScheduled: 2, numberAvailable: 3}":    false,
	} {
		if got := plugin.RolledOut(object(t, "{apiVersion: apps/v1, "+text+"}")); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestJobEnded(t *testing.T) {
	for text, want := range map[string]string{
		"status: {active: 1}": "false ",
		"status: {conditions: [" + condition("Complete", "True", "x") + "]}":              "true ",
		"status: {conditions: [" + condition("Failed", "True", "DeadlineExceeded") + "]}": "false the run failed: DeadlineExceeded",
		"status: {conditions: [" + condition("Suspended", "True", "x") + "]}":             "false the run was stopped",
		`metadata: {deletionTimestamp: "2027-03-02T11:00:00Z"}, status: {active: 1}`:      "false the run was stopped",
	} {
		ended, err := plugin.JobEnded(object(t, "{apiVersion: batch/v1, kind: Job, "+text+"}"))
		got := map[bool]string{true: "true ", false: "false "}[ended]
		if err != nil {
			got += err.Error()
		}
		if !strings.HasPrefix(got, want) || (err == nil) != strings.HasSuffix(want, " ") {
			t.Errorf("%s: %q", text, got)
		}
	}
}

func TestDropped(t *testing.T) {
	o := object(t, "{apiVersion: batch.acme.com/v1alpha1, kind: CronTab, status: {runNow: {request: mine, dropped: ten wait}}}")
	if plugin.Dropped(o, "mine") != "ten wait" || plugin.Dropped(o, "another") != "" {
		t.Error("a request gets the end of another one")
	}
}
