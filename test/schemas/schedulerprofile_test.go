// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"fmt"
	"strings"
	"testing"

	"github.com/acme/platform-operator/internal/testenv/schematest"
)

// scheduler is a SchedulerProfile with these lines in its spec.
func scheduler(lines ...string) string {
	text := "apiVersion: scheduling.acme.com/v1alpha1\nkind: SchedulerProfile\nmetadata: {name: gpu}\nspec:\n"
	if !strings.Contains(strings.Join(lines, "\n"), "profiles:") {
		text += "  profiles: [{schedulerName: gpu}]\n"
	}
	for _, l := range lines {
		text += "  " + l + "\n"
	}
	return text
}

// profile is a SchedulerProfile with these fields in its only profile.
func profile(fields string) string {
	return scheduler("profiles: [{schedulerName: gpu, " + fields + "}]")
}

func TestSchedulerProfileAccepted(t *testing.T) {
	for name, text := range map[string]string{
		"the least":             scheduler(),
		"eight profiles":        scheduler("profiles: [" + list("{schedulerName: s%d}", 8) + "]"),
		"a name with dots":      scheduler("profiles: [{schedulerName: gpu.acme.com}]"),
		"a long name":           scheduler("profiles: [{schedulerName: " + strings.Repeat("a", 63) + "}]"),
		"label keys":            profile("nodes: {labelKeys: [" + list("acme.com/k%d", 16) + "]}"),
		"expressions":           profile("nodes: {expressions: [" + list("{key: k%d, operator: Exists}", 16) + "]}"),
		"every operator":        profile("nodes: {expressions: [{key: a, operator: In, values: ['', x]}, {key: a, operator: NotIn, values: [x]}, {key: a, operator: DoesNotExist, values: []}, {key: a, operator: Gt, values: ['0']}, {key: a, operator: Lt, values: ['999999999999999999']}]}"),
		"64 values":             profile("nodes: {expressions: [{key: a, operator: In, values: [" + list("v%d", 64) + "]}]}"),
		"packing":               profile("strategy: BinPacking, resources: [{name: cpu, weight: 1}, {name: nvidia.com/gpu, weight: 100}]"),
		"spread":                profile("spread: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, minDomains: 2}, {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]"),
		"weights":               profile("weights: {ImageLocality: 0, InterPodAffinity: 1, NodeAffinity: 1, NodeResourcesBalancedAllocation: 1, NodeResourcesFit: 1, PodTopologySpread: 1, TaintToleration: 100}"),
		"no preemption":         profile("preemption: Disabled"),
		"percentage":            profile("percentageOfNodesToScore: 0"),
		"raw":                   profile("raw: {plugins: {score: {disabled: [{name: '*'}]}}, pluginConfig: [{name: NodeAffinity, args: {}}], unknown: 1}"),
		"an image of one's own": scheduler("image: registry.acme.com/scheduler@sha256:0123", "pluginNames: [Coscheduling, my.Plugin_2-x]"),
		"a program":             scheduler("program: {image: registry.acme.com/mine:v1, command: [/mine], args: [--fast]}", "replicas: 3"),
		"its own pods":          scheduler("replicas: 1", "resources: {requests: {cpu: 100m}}", "priorityClassName: system-cluster-critical", "tolerations: [{operator: Exists}]", "nodeSelector: {node-role.kubernetes.io/control-plane: ''}", "serviceAccountName: other"),
		"retry after 10s":       scheduler("retryAfter: 10s"),
		"retry after 5m":        scheduler("retryAfter: 5m0s"),
		"routing":               scheduler("routing: {profile: gpu, namespaceLabels: {a: b, acme.com/c: ''}, whenUnavailable: UseDefault}"),
		"use":                   scheduler("use: {namespaceLabels: {team: ml}}"),
	} {
		t.Run(name, func(t *testing.T) { schematest.WantCauses(t, schematest.Create(t, text)) })
	}
}

func TestSchedulerProfileRejected(t *testing.T) {
	const labelKey, values, gt = "must be a label key", "In, NotIn, Gt and Lt need values", "Gt and Lt need exactly one value"
	program := "program: {image: mine}"
	for text, want := range map[string][]string{
		scheduler("profiles: []"): {"spec.profiles", "should have at least 1 items"},
		scheduler("profiles: [" + list("{schedulerName: s%d}", 9) + "]"):          {"spec.profiles", "must have at most 8 items"},
		scheduler("profiles: [{schedulerName: a}, {schedulerName: a}]"):           {"spec.profiles[1]", "Duplicate value"},
		scheduler("profiles: [{schedulerName: default-scheduler}]"):               {"spec.profiles[0].schedulerName", "must not be default-scheduler"},
		scheduler("profiles: [{schedulerName: A}]"):                               {"spec.profiles[0].schedulerName", "must be at most 63 lower-case letters"},
		scheduler("profiles: [{schedulerName: ''}]"):                              {"spec.profiles[0].schedulerName", "should be at least 1 chars long", "must be at most 63 lower-case letters"},
		scheduler("profiles: [{schedulerName: " + strings.Repeat("a", 64) + "}]"): {"spec.profiles[0].schedulerName", "may not be more than 63 bytes"},
		scheduler("profiles: [{strategy: Balanced}]"):                             {"spec.profiles[0].schedulerName", "Required value"},

		profile("nodes: {}"):                                                                       {"spec.profiles[0].nodes", "must have labelKeys or expressions"},
		profile("nodes: {labelKeys: []}"):                                                          {"spec.profiles[0].nodes", "must have labelKeys or expressions"},
		profile("nodes: {labelKeys: ['a b']}"):                                                     {"spec.profiles[0].nodes.labelKeys[0]", labelKey},
		profile("nodes: {labelKeys: [a/b/c]}"):                                                     {"spec.profiles[0].nodes.labelKeys[0]", labelKey},
		profile("nodes: {labelKeys: [a, a]}"):                                                      {"spec.profiles[0].nodes.labelKeys[1]", "Duplicate value"},
		profile("nodes: {labelKeys: [" + list("k%d", 17) + "]}"):                                   {"spec.profiles[0].nodes.labelKeys", "must have at most 16 items"},
		profile("nodes: {expressions: [" + list("{key: k%d, operator: Exists}", 17) + "]}"):        {"spec.profiles[0].nodes.expressions", "must have at most 16 items"},
		profile("nodes: {expressions: [{key: a, operator: exists}]}"):                              {"spec.profiles[0].nodes.expressions[0].operator", "Unsupported value"},
		profile("nodes: {expressions: [{key: a, operator: Exists, values: [b]}]}"):                 {"spec.profiles[0].nodes.expressions[0].values", values},
		profile("nodes: {expressions: [{key: a, operator: In}]}"):                                  {"spec.profiles[0].nodes.expressions[0].values", values},
		profile("nodes: {expressions: [{key: a, operator: Gt}]}"):                                  {"spec.profiles[0].nodes.expressions[0].values", values},
		profile("nodes: {expressions: [{key: a, operator: Gt, values: ['1', '2']}]}"):              {"spec.profiles[0].nodes.expressions[0].values", gt},
		profile("nodes: {expressions: [{key: a, operator: Lt, values: [x]}]}"):                     {"spec.profiles[0].nodes.expressions[0].values", gt},
		profile("nodes: {expressions: [{key: a, operator: Lt, values: ['1.5']}]}"):                 {"spec.profiles[0].nodes.expressions[0].values", gt},
		profile("nodes: {expressions: [{key: a, operator: Lt, values: ['1234567890123456789']}]}"): {"spec.profiles[0].nodes.expressions[0].values", gt},
		profile("nodes: {expressions: [{key: a, operator: In, values: ['-1']}]}"):                  {"spec.profiles[0].nodes.expressions[0].values[0]", "must be a label value"},

		profile("strategy: Packing"):                                                                        {"spec.profiles[0].strategy", "Unsupported value"},
		profile("resources: [{name: cpu, weight: 0}]"):                                                      {"spec.profiles[0].resources[0].weight", "should be greater than or equal to 1"},
		profile("resources: [{name: cpu, weight: 101}]"):                                                    {"spec.profiles[0].resources[0].weight", "should be less than or equal to 100"},
		profile("resources: [{name: cpu, weight: 1}, {name: cpu, weight: 2}]"):                              {"spec.profiles[0].resources[1]", "Duplicate value"},
		profile("resources: [{name: 'a b', weight: 1}]"):                                                    {"spec.profiles[0].resources[0].name", "must be the name of a resource"},
		profile("spread: [{maxSkew: 0, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]"):                 {"spec.profiles[0].spread[0].maxSkew", "should be greater than or equal to 1"},
		profile("spread: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: Never}]"):                         {"spec.profiles[0].spread[0].whenUnsatisfiable", "Unsupported value"},
		profile("spread: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, minDomains: 2}]"): {"spec.profiles[0].spread[0].minDomains", "needs whenUnsatisfiable: DoNotSchedule"},
		profile("spread: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]"): {"spec.profiles[0].spread[1]", "Duplicate value"},
		profile("spread: [" + list("{maxSkew: 1, topologyKey: k%d, whenUnsatisfiable: DoNotSchedule}", 5) + "]"):                                            {"spec.profiles[0].spread", "must have at most 4 items"},
		profile("weights: {NodePorts: 1}"):       {"spec.profiles[0].weights", "every key must be a plugin that scores nodes"},
		profile("weights: {NodeAffinity: -1}"):   {"spec.profiles[0].weights.NodeAffinity", "should be greater than or equal to 0"},
		profile("weights: {NodeAffinity: 101}"):  {"spec.profiles[0].weights.NodeAffinity", "should be less than or equal to 100"},
		profile("preemption: None"):              {"spec.profiles[0].preemption", "Unsupported value"},
		profile("percentageOfNodesToScore: 101"): {"spec.profiles[0].percentageOfNodesToScore", "should be less than or equal to 100"},
		profile("raw: []"):                       {"spec.profiles[0].raw", "must be of type object"},
		profile("raw: text"):                     {"spec.profiles[0].raw", "must be of type object"},

		scheduler("pluginNames: [A]"):                                                        {"spec.pluginNames", "needs image"},
		scheduler("image: a", "pluginNames: []"):                                             {"spec.pluginNames", "should have at least 1 items"},
		scheduler("image: a", "pluginNames: ['a b']"):                                        {"spec.pluginNames[0]", "should match"},
		scheduler("image: 'a b'"):                                                            {"spec.image", "should match"},
		scheduler(program, "image: a"):                                                       {"spec.program", "must not have image or pluginNames beside it"},
		scheduler(program, "retryAfter: 30s"):                                                {"spec.program", "must not have retryAfter beside it"},
		scheduler("program: {}"):                                                             {"spec.program.image", "Required value"},
		scheduler("replicas: 0"):                                                             {"spec.replicas", "should be greater than or equal to 1"},
		scheduler("replicas: 4"):                                                             {"spec.replicas", "should be less than or equal to 3"},
		scheduler("retryAfter: 1s"):                                                          {"spec.retryAfter", "must be from 10s to 5m"},
		scheduler("retryAfter: 301s"):                                                        {"spec.retryAfter", "must be from 10s to 5m"},
		scheduler("serviceAccountName: 'a b'"):                                               {"spec.serviceAccountName", "must be the name of a ServiceAccount"},
		scheduler("nodeSelector: {a: 'b c'}"):                                                {"spec.nodeSelector.a", "should match"},
		scheduler("resources: {limits: {cpu: '1e-1000000'}}"):                                {"spec.resources.limits.cpu", "should match"},
		scheduler("routing: {profile: other, namespaceLabels: {a: b}}"):                      {"spec.routing.profile", "must be the schedulerName of one of spec.profiles"},
		scheduler("routing: {namespaceLabels: {a: b}}"):                                      {"spec.routing.profile", "Required value"},
		scheduler("routing: {profile: gpu}"):                                                 {"spec.routing.namespaceLabels", "Required value"},
		scheduler("routing: {profile: gpu, namespaceLabels: {}}"):                            {"spec.routing.namespaceLabels", "should have at least 1 properties"},
		scheduler("routing: {profile: gpu, namespaceLabels: {'a b': c}}"):                    {"spec.routing.namespaceLabels", "every key must be a label key"},
		scheduler("routing: {profile: gpu, namespaceLabels: {a: 'b c'}}"):                    {"spec.routing.namespaceLabels[a]", "must be a label value"},
		scheduler("routing: {profile: gpu, namespaceLabels: {a: b}, whenUnavailable: Skip}"): {"spec.routing.whenUnavailable", "Unsupported value"},
		scheduler("use: {namespaceLabels: {}}"):                                              {"spec.use.namespaceLabels", "should have at least 1 properties"},
	} {
		t.Run(text, func(t *testing.T) { schematest.WantRefused(t, schematest.Create(t, text), want[0], want[1:]...) })
	}
}

// TestProgram: a program gets no configuration, so that every field of a profile would be in vain, its defaults included.
func TestSchedulerProfileProgram(t *testing.T) {
	for _, field := range []string{
		"nodes: {labelKeys: [a]}", "strategy: Balanced", "resources: []", "spread: []", "weights: {}", "preemption: Enabled",
		"percentageOfNodesToScore: 0", "raw: {}",
	} {
		t.Run(field, func(t *testing.T) {
			text := scheduler("program: {image: mine}", "profiles: [{schedulerName: gpu}, {schedulerName: b, "+field+"}]")
			schematest.WantRefused(t, schematest.Create(t, text), "spec.program", "must have profiles with schedulerName only")
		})
	}
}

// TestStored: nothing is set that was not given. The raw part is kept as it is.
func TestSchedulerProfileStored(t *testing.T) {
	u := schematest.Parse(t, profile("raw: {plugins: {a: [1, {b: null}]}, c: 1.5}"))
	store(t, u)
	want := "map[profiles:[map[raw:map[c:1.5 plugins:map[a:[1 map[b:<nil>]]]] schedulerName:gpu]]]"
	if got := fmt.Sprint(u.Object["spec"]); got != want {
		t.Errorf("stored: %s, want %s", got, want)
	}
}
