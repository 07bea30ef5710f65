// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/acme/platform-operator/docs"
	"github.com/acme/platform-operator/internal/plugin"
)

// The pages are written for people: this fails when a change of their tables hides ways out.
func TestWaysOutComeFromThePages(t *testing.T) {
	for _, c := range []struct{ kind, condition, reason, want string }{
		{"crontab", "Scheduled", "InvalidSchedule", "the message says what is expected"},
		{"crontab", "Ready", "Suspended", "set it to false"},
		{"configwatcher", "UpToDate", "Suspended", "raise maxPerHour"},
		{"configwatcher", "SourcesFound", "KeyMissing", "create it"},
		{"webapp", "Deployed", "RollingOut", "wait"},
		{"webapp", "Composed", "NameTaken", "delete or rename it"},
		{"newer", "Composed", "NameTaken", "delete or rename it"},
		{"newer", "Composed", "Invented", ""},
	} {
		got := plugin.ReadWays(docs.Pages, c.kind).Out(c.condition, c.reason)
		if !strings.Contains(got, c.want) || (c.want == "") != (got == "") || strings.ContainsAny(got, "`[|") {
			t.Errorf("%s: %s %s: %q", c.kind, c.condition, c.reason, got)
		}
	}
}

func TestWhySomethingWaits(t *testing.T) {
	ready := "observedGeneration: 0, conditions: [" + condition("Ready", "True", "Ready") + "]"
	for status, want := range map[string]string{
		ready: "ready||",
		ready + `, pending: {reason: MinInterval, notBefore: "2027-03-02T12:10:00Z"}`: "ready, and something waits|the last restart is less than restart.minInterval ago; " +
			"not before 2027-03-02T12:10:00Z, in 10m|wait, or lower restart.minInterval",
		ready + `, pending: {reason: MinInterval, notBefore: "2027-03-02T11:10:00Z"}`: "ready, and something waits|the last restart is less than restart.minInterval ago|" +
			"wait, or lower restart.minInterval",
		ready + ", pending: {reason: Invented}":                              "ready, and something waits|what is pending waits (Invented)|see `kubectl explain` for status.pending",
		ready + ", runNow: {request: x, dropped: ten wait}":                  `ready, and something waits|the request "x" for a run by hand was dropped: ten wait|request it again with another value`,
		ready + `, ledger: {queue: ["2027-03-02T11:10:00Z"]}`:                "ready, and something waits|slots in the queue wait for runs in progress: 1|wait, or make runs shorter",
		ready[:len(ready)-1] + "," + condition("X", "Unknown", "Lost") + "]": "ready, but X is unknown (Lost)|the message of Lost|",
		"": "not served yet||wait some seconds; if it stays, see whether the operator runs: kubectl get pods -n op",
	} {
		f := plugin.Fetched{
			Kind:   plugin.Kind{Kind: "ConfigWatcher", Namespaced: true, Status: true},
			Object: object(t, "{apiVersion: autoreboot.acme.com/v1alpha1, kind: ConfigWatcher, metadata: {name: w, namespace: a}, status: {"+status+"}}"),
		}
		a := plugin.Why(f, plugin.StatusOf(f, "op"), plugin.ReadWays(docs.Pages, "configwatcher"), "op", now)
		a.Because = strings.TrimPrefix(a.Because, "the operator has not acted on this version of the object yet")
		if got := fmt.Sprintf("%s|%s|%s", a.Is, a.Because, a.Do); got != want {
			t.Errorf("%s:\n%s, not\n%s", status, got, want)
		}
	}
}
