// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

// chosen selects the object that the variables name. A cluster-scoped one has no namespace.
const (
	chosen = `{kind="$kind", object_namespace="$namespace", object="$object"}`
	ready  = `{kind="$kind", object_namespace="$namespace", object="$object", type="Ready"}`
)

// object is the dashboard of one object. What it shows of that comes from kube-state-metrics, as the operator's own series
// have no names: see docs/adr/0046-alerts.md. Below is how its kind fares, to compare.
func object() *builder {
	b := newDashboard(objectUID, "Acme Platform Operator / Object",
		"One object, as kube-state-metrics sees it, and its kind. `kubectl acme status KIND/NAME` shows its children and events, too.").
		WithVariable(values("kind", "Kind", mine("platform_operator_objects", ""), "kind")).
		WithVariable(values("namespace", "Namespace", `acme_object_generation{kind="$kind"}`, "object_namespace")).
		WithVariable(values("object", "Object", `acme_object_generation{kind="$kind", object_namespace="$namespace"}`, "object"))
	thisObject(b)
	itsKind(b)
	return b
}

func thisObject(b *builder) {
	condition := `max by (type) (acme_object_condition` + chosen + `)`
	of := func(metric string) string { return "max(acme_object_" + metric + chosen + ")" }
	b.WithRow(dashboard.NewRowBuilder("$kind $namespace/$object")).
		WithPanel(number("Ready", "The summary of all conditions.", count, "max(acme_object_condition"+ready+")",
			thresholds(red, step{1, green})).Span(6).Mappings(words(map[string]string{"1": "True", "0": "not True"}))).
		WithPanel(number("For", "Since Ready changed.", seconds, "time() - "+of("ready_since_timestamp_seconds"), thresholds(green)).Span(6)).
		WithPanel(number("Age", "Since it was created.", seconds, "time() - "+of("created_timestamp_seconds"), thresholds(green)).Span(6)).
		WithPanel(number("Generations behind", "Changes of the spec that the operator has not looked at.", count,
			of("generation")+" - "+of("observed_generation"), thresholds(green, step{1, orange})).Span(6)).
		WithPanel(states("Conditions", "One line for each step of the kind. Those after the first that is not True were not reached.",
			query{condition, "{{type}}"})).
		WithPanel(rows("Reasons", "Troubleshooting, and the page of the kind, explain every reason.",
			map[string]string{"type": "Condition", "reason": "Reason"}, query{"max by (type, reason) (acme_object_condition" + chosen + ")", "True"}))
}

func itsKind(b *builder) {
	kind, controlled := `kind="$kind"`, `controller="$kind"`
	b.WithRow(dashboard.NewRowBuilder("All objects of the kind $kind")).
		WithPanel(lines("Objects", "By the status of Ready.", count, half, query{replicas("ready", "platform_operator_objects", kind), "{{ready}}"})).
		WithPanel(lines("Worst off", "For how long the object that is worst off has been so.", seconds, half,
			query{replicas("state", "platform_operator_object_state_age_seconds", kind), "{{state}}"})).
		WithPanel(lines("Runs", "By result.", perSecond, third, query{rate("result", "controller_runtime_reconcile_total", controlled), "{{result}}"})).
		WithPanel(lines("Waiting for a run", "99 of 100 objects waited no longer.", seconds, third,
			query{quantile(0.99, controller, "workqueue_queue_duration_seconds", controlled), "wait"})).
		WithPanel(lines("Writes", "By verb; none while nothing changes.", perSecond, third,
			query{rate("verb", "platform_operator_api_writes_total", kind), "{{verb}}"})).
		WithPanel(lines("From creation to Ready", "Half of the objects, and nine of ten, took no longer.", seconds, half,
			query{quantile(0.5, "kind", "platform_operator_time_to_ready_seconds", kind), "half"},
			query{quantile(0.9, "kind", "platform_operator_time_to_ready_seconds", kind), "nine of ten"})).
		WithPanel(lines("Changes of conditions", "By condition and its new status.", perSecond, half,
			query{rate("condition, status", "platform_operator_condition_transitions_total", kind), "{{condition}} {{status}}"}))
}
