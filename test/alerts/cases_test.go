// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"strings"
	"testing"
)

// An operator that is well. A case replaces the series of which it gives others.
const well = `
up{job="platform-operator",pod="a"} 1x120
up{job="platform-operator",pod="b"} 1x120
leader_election_master_status{job="platform-operator",pod="a",name="platform-operator.acme.com"} 1x120
leader_election_master_status{job="platform-operator",pod="b",name="platform-operator.acme.com"} 0x120
platform_operator_objects{job="platform-operator",pod="a",kind="webapp",ready="True"} 3x120
platform_operator_objects{job="platform-operator",pod="b",kind="webapp",ready="True"} 3x120
platform_operator_object_state_age_seconds{job="platform-operator",kind="webapp",state="NotReady"} 0x120
platform_operator_object_state_age_seconds{job="platform-operator",kind="webapp",state="Stalled"} 0x120
platform_operator_object_state_age_seconds{job="platform-operator",kind="webapp",state="Deleting"} 0x120
platform_operator_api_writes_total{job="platform-operator",kind="webapp",verb="apply"} 7x120
platform_operator_webhook_certificate_expiry_timestamp_seconds{job="platform-operator"} 7776000x120
platform_operator_cache_synced{job="platform-operator",type="webapp.workloads.acme.com"} 1x120
platform_operator_unreadable_objects{job="platform-operator",kind="webapp"} 0x120
platform_operator_crontab_missed_runs_total{job="platform-operator"} 2x120
platform_operator_restarts_suppressed_total{job="platform-operator",kind="configwatcher",reason="Suspended"} 0x120
platform_operator_restarts_suppressed_total{job="platform-operator",kind="configwatcher",reason="Refused"} 0x120
platform_operator_restarts_suppressed_total{job="platform-operator",kind="configwatcher",reason="Debounce"} 0+1x120
platform_operator_config_valid{job="platform-operator",pod="a"} 1x120
platform_operator_guardrails_protected{job="platform-operator",pod="a"} 1x120
platform_operator_guardrails_protected{job="platform-operator",pod="b"} -1x120
platform_operator_views_registered{job="platform-operator",pod="a"} 1x120
aggregator_unavailable_apiservice{name="v1alpha1.views.acme.com"} 0x120
platform_operator_views_mismatches_total{job="platform-operator-views",pod="a"} 0x120
platform_operator_views_mismatches_total{job="platform-operator-views",pod="b"} 2x120
apiserver_admission_webhook_fail_open_count{name="vcrontab.batch.acme.com",type="validating"} 1x120
workqueue_queue_duration_seconds_bucket{job="platform-operator",controller="webapp",le="1"} 0+60x120
workqueue_queue_duration_seconds_bucket{job="platform-operator",controller="webapp",le="1000"} 0+60x120
workqueue_queue_duration_seconds_bucket{job="platform-operator",controller="webapp",le="+Inf"} 0+60x120
`

const (
	age   = `platform_operator_object_state_age_seconds{job="platform-operator",kind="webapp",state=`
	queue = `workqueue_queue_duration_seconds_bucket{job="platform-operator",controller="webapp",le=`
)

// cases are faults that begin at minute 30: when the alert fires first and last, and a fault that is not enough for it.
var cases = []struct {
	alert    string
	fault    string
	from, to int
	label    string
	near     string
}{
	{
		"Down", `
		up{job="platform-operator",pod="a"} 1x29 0x29 1x60
		up{job="platform-operator",pod="b"} 1x29 0x29 1x60`, 35, 59, `severity="critical"`,
		`up{job="platform-operator",pod="a"} 1x29 0x90`,
	},
	{"NoLeader", `leader_election_master_status{job="platform-operator",pod="a",name="platform-operator.acme.com"} 1x29 0x29 1x60`, 35, 59, "", `
		leader_election_master_status{job="platform-operator",pod="a",name="platform-operator.acme.com"} 1x29 0x90
		leader_election_master_status{job="platform-operator",pod="b",name="platform-operator.acme.com"} 0x32 1x87`},
	{"ObjectNotReady", age + `"NotReady"} 0x29 0+60x29 0x60`, 46, 59, `kind="webapp"`, age + `"NotReady"} 0x29 0+60x14 0+60x14 0+60x14 0x60`},
	{"ObjectStalled", age + `"Stalled"} 0x29 0+60x29 0x60`, 46, 59, `kind="webapp"`, age + `"Stalled"} 0x29 0+60x14 0x75`},
	{"DeletionStuck", age + `"Deleting"} 0x29 0+60x44 0x60`, 61, 74, `kind="webapp"`, age + `"Deleting"} 0x29 0+60x29 0x60`},
	{
		"WriteStorm", `platform_operator_api_writes_total{job="platform-operator",kind="webapp",verb="apply"} 7x29 7+60x29 1747x60`,
		48, 60, `kind="webapp"`, `platform_operator_api_writes_total{job="platform-operator",kind="webapp",verb="apply"} 7x29 7+25x90`,
	},
	{
		"WebhookUnavailable", `apiserver_admission_webhook_fail_open_count{name="vcrontab.batch.acme.com",type="validating"} 1x29 1+2x29 59x60`,
		36, 62, `name="vcrontab.batch.acme.com"`, `apiserver_admission_webhook_fail_open_count{name="of.another.operator",type="validating"} 1+2x120`,
	},
	{
		"CertificateExpires", `platform_operator_webhook_certificate_expiry_timestamp_seconds{job="platform-operator"} 66600x59 7776000x60`,
		46, 59, `severity="critical"`, `platform_operator_webhook_certificate_expiry_timestamp_seconds{job="platform-operator"} 86400x120`,
	},
	{"QueueSlow", queue + `"1"} 0+60x29 1740x29 1740+60x60`, 45, 63, `controller="webapp"`, `
		workqueue_queue_duration_seconds_bucket{job="of-another",controller="x",le="1"} 0x120
		workqueue_queue_duration_seconds_bucket{job="of-another",controller="x",le="1000"} 0+60x120
		workqueue_queue_duration_seconds_bucket{job="of-another",controller="x",le="+Inf"} 0+60x120`},
	{
		"KindNotServed", `platform_operator_cache_synced{job="platform-operator",type="webapp.workloads.acme.com"} 1x29 0x29 1x60`, 35, 59,
		`type="webapp.workloads.acme.com"`, `platform_operator_cache_synced{job="platform-operator",type="webapp.workloads.acme.com"} 1x29 0x3 1x86`,
	},
	{
		"ObjectUnreadable", `platform_operator_unreadable_objects{job="platform-operator",kind="webapp"} 0x29 2x29 0x60`, 35, 59, `kind="webapp"`,
		`platform_operator_unreadable_objects{job="platform-operator",kind="webapp"} 0x29 1x3 0x86`,
	},
	{
		"RunsMissed", `platform_operator_crontab_missed_runs_total{job="platform-operator"} 2x29 5x90`, 30, 43, "",
		`platform_operator_crontab_missed_runs_total{job="platform-operator"} 9x120`,
	},
	{
		"RestartsSuspended", `platform_operator_restarts_suppressed_total{job="platform-operator",kind="configwatcher",reason="Suspended"} 0x29 1x90`,
		30, 58, `kind="configwatcher"`, `platform_operator_restarts_suppressed_total{job="platform-operator",kind="configwatcher",reason="MinInterval"} 0+1x120`,
	},
	{
		"RestartsRefused", `platform_operator_restarts_suppressed_total{job="platform-operator",kind="configwatcher",reason="Refused"} 0x29 1x90`,
		30, 58, `kind="configwatcher"`, `platform_operator_restarts_suppressed_total{job="platform-operator",kind="configwatcher",reason="DryRun"} 0+1x120`,
	},
	{
		"ConfigInvalid", `platform_operator_config_valid{job="platform-operator",pod="a"} 1x29 0x29 1x60`, 35, 59, "",
		`platform_operator_config_valid{job="platform-operator",pod="a"} 1x29 0x3 1x86`,
	},
	{
		"GuardRailsMissing", `platform_operator_guardrails_protected{job="platform-operator",pod="a"} 1x29 0x29 1x60`, 35, 59, `severity="critical"`,
		`platform_operator_guardrails_protected{job="platform-operator",pod="a"} 1x29 -1x3 1x86`,
	},
	{
		"ViewsUnavailable", `aggregator_unavailable_apiservice{name="v1alpha1.views.acme.com"} 0x29 1x29 0x60`, 33, 59, `severity="critical"`, `
		aggregator_unavailable_apiservice{name="v1alpha1.views.acme.com"} 0x29 1x1 0x88
		aggregator_unavailable_apiservice{name="v1beta1.metrics.k8s.io"} 1x120`,
	},
	{
		"ViewsUnregistered", `platform_operator_views_registered{job="platform-operator",pod="a"} 1x29 0x29 1x60`, 40, 59, "",
		`platform_operator_views_registered{job="platform-operator",pod="a"} 1x29 0x3 _x86`,
	},
	{
		"ViewsMismatch", `platform_operator_views_mismatches_total{job="platform-operator-views",pod="a"} 0x29 1x90`, 30, 88, `severity="warning"`,
		`platform_operator_views_mismatches_total{job="platform-operator-views",pod="a"} 5x120`,
	},
	{
		"PodsUnserved", `platform_operator_unserved_pods{job="platform-operator",scheduler="fast"} _x30 4x29 0x60`, 35, 59, `scheduler="fast"`,
		`platform_operator_unserved_pods{job="platform-operator",scheduler="fast"} _x30 4x3 0x80`,
	},
}

// with are the series of an operator that is well, but for those that are given.
func with(series string) string {
	out, given := series+"\n", map[string]bool{}
	for line := range strings.Lines(series) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), "} ")
		given[name] = true
	}
	for line := range strings.Lines(well) {
		if name, _, _ := strings.Cut(line, "} "); !given[name] {
			out += line
		}
	}
	return out
}

func TestAnOperatorThatIsWellHasNoAlert(t *testing.T) {
	for name := range newPrometheus(t, well).firing(t, 120) {
		t.Errorf("%s fires", name)
	}
}

// TestEachAlert makes a fault for each alert, at minute 30, and repairs it: that alert fires in the minutes that the case has, and
// no other does. A fault that is not enough lets nothing fire.
func TestEachAlert(t *testing.T) {
	tested := map[string]bool{}
	for _, tc := range cases {
		name := "PlatformOperator" + tc.alert
		tested[name] = true
		t.Run(tc.alert, func(t *testing.T) {
			all := newPrometheus(t, with(tc.fault)).firing(t, 120)
			f := all[name]
			if f == nil {
				t.Fatal("it does not fire")
			}
			if f.from != tc.from || f.to != tc.to || f.gaps {
				t.Errorf("it fires from minute %d to %d, with gaps: %v; want %d to %d without", f.from, f.to, f.gaps, tc.from, tc.to)
			}
			if !strings.Contains(f.labels.String(), tc.label) {
				t.Errorf("it has the labels %s, want %s among them", f.labels, tc.label)
			}
			if f.summary == "" || strings.Contains(f.summary, "<error") || strings.Contains(f.summary, "<no value>") {
				t.Errorf("its summary is %q", f.summary)
			}
			for other := range all {
				if other != name {
					t.Errorf("%s fires, too", other)
				}
			}
			for other := range newPrometheus(t, with(tc.near)).firing(t, 120) {
				t.Errorf("%s fires although the fault is not enough: %s", other, tc.near)
			}
		})
	}
	for name := range newPrometheus(t, well).alerting(t) {
		if !tested[name] {
			t.Errorf("%s has no case", name)
		}
	}
}
