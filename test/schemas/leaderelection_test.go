// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acme/platform-operator/internal/testenv/schematest"
)

// election is a LeaderElection with further lines in its spec.
func election(lines ...string) string {
	text := "apiVersion: coordination.acme.com/v1alpha1\nkind: LeaderElection\nmetadata: {name: ledger, namespace: default}\nspec:\n"
	if !strings.Contains(strings.Join(lines, "\n"), "podSelector:") {
		text += "  podSelector: {app: ledger}\n"
	}
	for _, l := range lines {
		text += "  " + l + "\n"
	}
	return text
}

func TestLeaderElectionAccepted(t *testing.T) {
	for _, line := range []string{
		"",
		"podSelector: {" + list("l%d: v", 8) + "}",
		"podSelector: {app.example.com/name: '', tier: db}",
		"label: {key: example.com/role, value: primary}",
		"label: {value: primary}",
		"service: {ports: [{port: 80}]}",
		"service: {name: primary, type: LoadBalancer, externalTrafficPolicy: Local, sessionAffinity: ClientIP, ports: [{port: 80, targetPort: 8080}]}",
		"service: {ports: [{name: web, port: 80}, {name: dns, port: 53, protocol: UDP}], annotations: {service.beta.kubernetes.io/x: internal}}",
		"members: {ports: [{port: 80, appProtocol: kubernetes.io/h2c}]}",
		"members: {}",
		"discovery: {configMap: Enabled}",
		"handover: {notReadyFor: 0s}",
		"handover: {notReadyFor: 10m, stopOld: Delete, unreachable: Take, takeAfter: 2m}",
		"handover: {stopOld: Delete, unreachable: Wait}",
		"preferred: [{weight: 1, podName: ledger-0}, {weight: 100, zone: a}, {weight: 5, podLabels: {disk: fast}}]",
		"failback: {policy: Prefer, after: 0s}",
		"failback: {policy: Never}",
		"deletionPolicy: Keep",
	} {
		t.Run(line, func(t *testing.T) { schematest.WantCauses(t, schematest.Create(t, election(line))) })
	}
}

func TestLeaderElectionRefused(t *testing.T) {
	const labelKey, labelValue = "every key must be a label key", "every value must be a label value"
	for line, want := range map[string][]string{
		"podSelector: {}":                                                           {"spec.podSelector", "should have at least 1 properties"},
		"podSelector: {" + list("l%d: v", 9) + "}":                                  {"spec.podSelector", "must have at most 8 items"},
		"podSelector: {'a b': x}":                                                   {"spec.podSelector", labelKey},
		"podSelector: {app: 'a b'}":                                                 {"spec.podSelector", labelValue},
		"podSelector: {leader: 'true'}":                                             {"spec.podSelector", "must not have the key of spec.label"},
		"label: {key: a/b/c}":                                                       {"spec.label.key", "must be a label key"},
		"label: {key: kubernetes.io/x}":                                             {"spec.label.key", "must not have a prefix of Kubernetes"},
		"label: {key: apps.k8s.io/x}":                                               {"spec.label.key", "must not have a prefix of Kubernetes"},
		"label: {key: platform.acme.com/x}":                                         {"spec.label.key", "or of the platform (acme.com)"},
		"label: {key: pod-template-hash}":                                           {"spec.label.key", "must not be a label by which Kubernetes' controllers find their pods"},
		"label: {value: 'a b'}":                                                     {"spec.label.value", "must be a label value"},
		"service: {ports: []}":                                                      {"spec.service.ports", "should have at least 1 items"},
		"service: {type: ExternalName, ports: [{port: 80}]}":                        {"spec.service.type", `supported values: "ClusterIP", "NodePort", "LoadBalancer"`},
		"service: {name: 0ledger, ports: [{port: 80}]}":                             {"spec.service.name", "must be the name of a Service"},
		"service: {ports: [{port: 0}]}":                                             {"spec.service.ports[0].port", "should be greater than or equal to 1"},
		"service: {ports: [{port: 80}, {port: 81}]}":                                {"spec.service.ports", "must have names for all ports if there are several", "must not have two ports of one name"},
		"service: {ports: [{name: a, port: 80}, {name: a, port: 81}]}":              {"spec.service.ports", "must not have two ports of one name"},
		"service: {ports: [{name: A, port: 80}]}":                                   {"spec.service.ports[0].name", "must be at most 63 lower-case letters"},
		"service: {externalTrafficPolicy: Local, ports: [{port: 80}]}":              {"spec.service.externalTrafficPolicy", "needs the type NodePort or LoadBalancer"},
		"service: {ports: [{port: 80}], annotations: {platform.acme.com/owner: x}}": {"spec.service.annotations", "must not have keys of the platform"},
		"service: {ports: [{port: 80}], annotations: {'a b': x}}":                   {"spec.service.annotations", "every key must be an annotation key"},
		"members: {ports: [{port: 80}, {port: 81}]}":                                {"spec.members.ports", "must have a name of its own"},
		"discovery: {configMap: Maybe}":                                             {"spec.discovery.configMap", `supported values: "Disabled", "Enabled"`},
		"handover: {notReadyFor: 11m}":                                              {"spec.handover.notReadyFor", "must be from 0s to 10m, for instance 5s"},
		"handover: {notReadyFor: soon}":                                             {"spec.handover.notReadyFor", "should match", "must be from 0s to 10m"},
		"handover: {stopOld: Maybe}":                                                {"spec.handover.stopOld", `supported values: "Never", "Delete"`},
		"handover: {unreachable: Take}":                                             {"spec.handover.unreachable", "needs stopOld: Delete"},
		"handover: {takeAfter: 5m}":                                                 {"spec.handover.takeAfter", "needs unreachable: Take"},
		"handover: {stopOld: Delete, unreachable: Take, takeAfter: 1m}":             {"spec.handover.takeAfter", "must be from 2m to 1h"},
		"preferred: [{weight: 0, zone: a}]":                                         {"spec.preferred[0].weight", "should be greater than or equal to 1"},
		"preferred: [{weight: 101, zone: a}]":                                       {"spec.preferred[0].weight", "should be less than or equal to 100"},
		"preferred: [{weight: 1}]":                                                  {"spec.preferred[0]", "must have exactly one of podName, zone and podLabels"},
		"preferred: [{weight: 1, zone: a, podName: b}]":                             {"spec.preferred[0]", "must have exactly one of podName, zone and podLabels"},
		"preferred: [{weight: 1, podName: A}]":                                      {"spec.preferred[0].podName", "must be the name of a pod"},
		"preferred: [{weight: 1, zone: 'a b'}]":                                     {"spec.preferred[0].zone", "must be the value of the label"},
		"preferred: [{weight: 1, podLabels: {'a b': x}}]":                           {"spec.preferred[0].podLabels", labelKey},
		"failback: {policy: Maybe}":                                                 {"spec.failback.policy", `supported values: "Never", "Prefer"`},
		"failback: {after: 25h}":                                                    {"spec.failback.after", "must be from 0s to 24h"},
		"deletionPolicy: Maybe":                                                     {"spec.deletionPolicy", `supported values: "Clear", "Keep"`},
	} {
		t.Run(line, func(t *testing.T) {
			schematest.WantRefused(t, schematest.Create(t, election(line)), want[0], want[1:]...)
		})
	}
}

func TestLeaderElectionDefaults(t *testing.T) {
	u := defaulted(t, election("service: {ports: [{port: 80}]}"))
	want := map[string]any{
		"podSelector":    map[string]any{"app": "ledger"},
		"label":          map[string]any{"key": "leader", "value": "true"},
		"service":        map[string]any{"type": "ClusterIP", "ports": []any{map[string]any{"port": int64(80), "protocol": "TCP"}}},
		"discovery":      map[string]any{"configMap": "Disabled"},
		"handover":       map[string]any{"notReadyFor": "5s", "stopOld": "Never", "unreachable": "Wait"},
		"failback":       map[string]any{"policy": "Never", "after": "5m"},
		"deletionPolicy": "Clear",
	}
	if diff := cmp.Diff(want, u.Object["spec"]); diff != "" {
		t.Errorf("the spec: -want +got\n%s", diff)
	}
}

func TestLeaderElectionLabelIsImmutable(t *testing.T) {
	u := schematest.Parse(t, election())
	store(t, u)
	schematest.WantRefused(t, changed(t, u, "label.key", "other"), "spec.label", "cannot be changed: pods and Services would be left with the old one")
	schematest.WantRefused(t, changed(t, u, "label.value", "other"), "spec.label", "cannot be changed: pods and Services would be left with the old one")
	schematest.WantCauses(t, changed(t, u, "podSelector.app", "other"))
	schematest.WantCauses(t, changed(t, u, "label", nil))
}
