// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

const (
	quarter    = 15 * 60
	halfHour   = 30 * 60
	lastHours  = 18 * 3600
	byKind     = "{{kind}}"
	half       = gridWidth / 2
	third      = gridWidth / 3
	lease      = `name="platform-operator.acme.com"`
	notReady   = `state="NotReady"`
	controller = "controller"
)

// fleet is the dashboard of the operator and all that it serves. Its limits are those of the alerts.
func fleet() *builder {
	b := newDashboard(fleetUID, "Acme Platform Operator / Fleet",
		"The operator, and the objects of all kinds. `kubectl acme status` shows which objects are meant, the worst first.")
	health(b)
	kinds(b)
	work(b)
	actions(b)
	process(b)
	return b
}

// health is one line of numbers that should all be green.
func health(b *builder) {
	b.WithRow(dashboard.NewRowBuilder("Is it well?")).
		WithPanel(number("Replicas", "Replicas that can be scraped.", count, `sum(up{job="platform-operator"})`,
			thresholds(red, step{1, orange}, step{2, green}))).
		WithPanel(number("Leader", "One replica leads; without it nothing is reconciled.", count, "sum("+mine("leader_election_master_status", lease)+")",
			thresholds(red, step{1, green}, step{2, red})).Mappings(words(map[string]string{"0": "nobody leads", "1": "one leads"}))).
		WithPanel(number("Objects not Ready", "Of all kinds, paused ones among them.", count,
			`sum(`+replicas("kind, ready", "platform_operator_objects", `ready!="True"`)+`)`, thresholds(green, step{1, orange}))).
		WithPanel(number("Longest not Ready", "An alert fires after 15 minutes.", seconds,
			"max("+mine("platform_operator_object_state_age_seconds", notReady)+")", thresholds(green, step{60, orange}, step{quarter, red}))).
		WithPanel(number("Guardrail policy", "While it is not in force, tenants' changes of guardrails are undone instead of rejected.", count,
			"max("+mine("platform_operator_guardrails_protected", "")+")", thresholds(orange, step{0, red}, step{1, green})).
			Mappings(words(map[string]string{"1": "in force", "0": "not in force", "-1": "unknown"}))).
		WithPanel(number("Configuration", "An invalid change is ignored; the previous configuration remains in effect.", count,
			"min("+mine("platform_operator_config_valid", "")+")", thresholds(red, step{1, green})).
			Mappings(words(map[string]string{"1": "valid", "0": "invalid"}))).
		WithPanel(number("Kinds not served", "Types whose cache cannot be filled.", count,
			"count("+mine("platform_operator_cache_synced", "")+" == 0) or vector(0)", thresholds(green, step{1, red}))).
		WithPanel(number("Unreadable objects", "Objects that cannot be decoded are not reconciled.", count,
			"sum("+replicas("kind", "platform_operator_unreadable_objects", "")+") or vector(0)", thresholds(green, step{1, red}))).
		WithPanel(number("Certificate ends in", "Of the webhooks. OLM renews it a day before, cert-manager weeks before.", seconds,
			"min("+mine("platform_operator_webhook_certificate_expiry_timestamp_seconds", "")+") - time()", thresholds(red, step{lastHours, green}))).
		WithPanel(number("Runs missed", "Runs of CronTabs that were later than their deadline, in the last hour.", count,
			"sum(increase("+mine("platform_operator_crontab_missed_runs_total", "")+"[1h]))", thresholds(green, step{1, orange}))).
		WithPanel(number("Restarts suspended", "Workloads that restarted as often as maxPerHour allows, or cannot be restarted, in the last hour.", count,
			"sum(increase("+mine("platform_operator_restarts_suppressed_total", `reason=~"Suspended|Refused"`)+"[1h])) or vector(0)",
			thresholds(green, step{1, orange}))).
		WithPanel(number("Pods nobody looks at", "Pods whose scheduler does not exist or does not serve.", count,
			"sum("+mine("platform_operator_unserved_pods", "")+") or vector(0)", thresholds(green, step{1, orange})))
}

// inSeconds shows a cell as a duration.
var inSeconds = dashboard.DynamicConfigValue{Id: "unit", Value: seconds}

// kinds is a table, whose rows lead to the dashboard of an object of the kind.
func kinds(b *builder) {
	age := func(state string) string {
		return replicas("kind", "platform_operator_object_state_age_seconds", `state="`+state+`"`)
	}
	overview := rows("Kinds", "How many objects there are, and for how long the one that is worst off has been so.", map[string]string{"kind": "Kind"},
		query{"sum by (kind) (" + replicas("kind, ready", "platform_operator_objects", "") + ")", "Objects"},
		query{"sum by (kind) (" + replicas("kind, ready", "platform_operator_objects", `ready!="True"`) + ")", "Not Ready"},
		query{age("NotReady"), "Longest not Ready"}, query{age("Stalled"), "Longest Stalled"}, query{age("Deleting"), "Longest deletion"},
		query{replicas("kind", "platform_operator_restart_pending_age_seconds", ""), "Oldest pending restart"}).
		OverrideByName("Kind", []dashboard.DynamicConfigValue{{Id: "links", Value: []map[string]string{
			{"title": "One object", "url": "/d/" + objectUID + "?var-kind=${__value.raw}&${datasource:queryparam}&${__url_time_range}"},
		}}}).
		OverrideByName("Not Ready", colored(step{1, orange})).
		OverrideByName("Longest not Ready", append(colored(step{60, orange}, step{quarter, red}), inSeconds)).
		OverrideByName("Longest Stalled", append(colored(step{quarter, orange}), inSeconds)).
		OverrideByName("Longest deletion", append(colored(step{60, orange}, step{halfHour, red}), inSeconds)).
		OverrideByName("Oldest pending restart", []dashboard.DynamicConfigValue{inSeconds})
	b.WithRow(dashboard.NewRowBuilder("Objects")).WithPanel(overview).
		WithPanel(lines("Not Ready", "Objects whose condition Ready is not True.", count, half, query{
			"sum by (kind) (" + replicas("kind, ready", "platform_operator_objects", `ready!="True"`) + ")", byKind,
		})).
		WithPanel(lines("From creation to Ready", "Nine of ten objects took no longer.", seconds, half, query{
			quantile(0.9, "kind", "platform_operator_time_to_ready_seconds", ""), byKind,
		}))
}

// colored colors a cell by its value.
func colored(steps ...step) []dashboard.DynamicConfigValue {
	limits, err := thresholds("transparent", steps...).Build()
	if err != nil {
		panic(err) // it has constants only
	}
	background := map[string]string{"type": "color-background", "mode": "basic"}
	return []dashboard.DynamicConfigValue{{Id: "thresholds", Value: limits}, {Id: "custom.cellOptions", Value: background}}
}

// work is what the operator does, and how long that takes.
func work(b *builder) {
	b.WithRow(dashboard.NewRowBuilder("Work")).
		WithPanel(lines("Runs", "Reconciles, by kind.", perSecond, third,
			query{rate(controller, "controller_runtime_reconcile_total", ""), "{{controller}}"})).
		WithPanel(lines("Failed runs", "They are retried, later each time.", perSecond, third,
			query{rate(controller, "controller_runtime_reconcile_errors_total", ""), "{{controller}}"})).
		WithPanel(lines("Writes", "Writes to the API server; none while nothing changes.", perSecond, third,
			query{rate("kind", "platform_operator_api_writes_total", ""), byKind})).
		WithPanel(lines("Waiting for a run", "99 of 100 objects waited no longer. An alert fires at one minute.", seconds, third,
			query{quantile(0.99, controller, "workqueue_queue_duration_seconds", ""), "{{controller}}"})).
		WithPanel(lines("Duration of a run", "99 of 100 runs took no longer.", seconds, third,
			query{quantile(0.99, controller, "controller_runtime_reconcile_time_seconds", ""), "{{controller}}"})).
		WithPanel(lines("Requests to the API server", "By status code.", perSecond, third,
			query{rate("code", "rest_client_requests_total", ""), "{{code}}"}))
}

// actions are restarts and runs of CronTabs.
func actions(b *builder) {
	b.WithRow(dashboard.NewRowBuilder("Restarts, runs, polls")).
		WithPanel(lines("Restarts", "Restarts that were begun.", perSecond, third, query{rate("kind", "platform_operator_restarts_total", ""), byKind})).
		WithPanel(lines("Restarts delayed or not done", "By reason.", perSecond, third,
			query{rate("reason", "platform_operator_restarts_suppressed_total", ""), "{{reason}}"})).
		WithPanel(lines("Readings of databases", "By result; all but Value are failures.", perSecond, third,
			query{rate("result", "platform_operator_database_polls_total", ""), "{{result}}"})).
		WithPanel(lines("Runs of CronTabs", "In progress.", count, third, query{"max(" + mine("platform_operator_crontab_active_runs", "") + ")", "runs"})).
		WithPanel(lines("Delay of runs", "From the time at which a run was due to its Job: 99 of 100 were not later.", seconds, third,
			query{"histogram_quantile(0.99, " + rate("le", "platform_operator_crontab_start_delay_seconds_bucket", "") + ") >= 0", "delay"})).
		WithPanel(lines("Changes of conditions", "By kind: one that changes all the time flaps.", perSecond, third,
			query{rate("kind", "platform_operator_condition_transitions_total", ""), byKind}))
}

// process is what the replicas take.
func process(b *builder) {
	b.WithRow(dashboard.NewRowBuilder("Process")).
		WithPanel(lines("Memory", "Resident.", bytes, half, query{mine("process_resident_memory_bytes", ""), "{{instance}}"})).
		WithPanel(lines("Processor", "Cores.", count, half, query{"rate(" + mine("process_cpu_seconds_total", "") + "[$__rate_interval])", "{{instance}}"}))
}
