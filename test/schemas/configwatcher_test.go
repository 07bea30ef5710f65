// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"fmt"
	"strings"
	"testing"

	"github.com/acme/platform-operator/internal/testenv/schematest"
)

// configWatcher is a ConfigWatcher with these lines in its spec.
func configWatcher(lines ...string) string {
	return "apiVersion: autoreboot.acme.com/v1alpha1\nkind: ConfigWatcher\nmetadata: {name: w, namespace: default}\nspec:\n  " +
		strings.Join(lines, "\n  ") + "\n"
}

const (
	watched  = "configMap: webapp-config"
	selector = "podSelector: {app: webapp}"
)

func TestConfigWatcherSample(t *testing.T) {
	u := sample(t, "autoreboot_v1alpha1_configwatcher")
	store(t, u)
	want := map[string]any{"strategy": "RolloutRestart", "debounce": "2s", "maxPerHour": int64(12)}
	if got := u.Object["spec"].(map[string]any)["restart"]; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("defaults %v, want %v", got, want)
	}
}

func TestConfigWatcherAccepted(t *testing.T) {
	for _, lines := range [][]string{
		{watched, selector},
		{"sources: [{kind: Secret, name: s}]", selector},
		{watched, "sources: [{kind: ConfigMap, name: c, keys: [a, b.c]}, {kind: Secret, name: c}]", selector},
		{watched, "podSelector: {app.kubernetes.io/name: webapp, tier: ''}"},
		{watched, selector, "restart: {strategy: Evict, debounce: 0s, minInterval: 1h, maxPerHour: 60, maxConcurrent: 3, dryRun: true}"},
		{watched, selector, "restart: {strategy: Delete, debounce: 1h, minInterval: 24h, windows: [{schedule: '0 2 * * *', duration: 1m}]}"},
	} {
		t.Run(fmt.Sprint(lines), func(t *testing.T) { schematest.WantCauses(t, schematest.Create(t, configWatcher(lines...))) })
	}
}

func TestConfigWatcherRefused(t *testing.T) {
	const (
		objectName = "must be the name of an object: lower-case letters, digits, '-' and '.', for instance webapp-config"
		labelKey   = "every key must be a label key"
		labelValue = "every value must be a label value"
	)
	restart := func(text string) []string { return []string{watched, selector, "restart: {" + text + "}"} }
	window := func(text string) []string {
		return restart("windows: [{schedule: '0 2 * * *', duration: 1h, timeZone: UTC}, {" + text + "}]")
	}
	for _, tc := range []struct {
		reason string
		lines  []string
		field  string
		want   string
	}{
		{"nothing is watched", []string{selector}, "spec", "nothing is watched: set configMap, sources, or both"},
		{"no sources", []string{"sources: []", selector}, "spec.sources", "at least 1 items"},
		{"no selector", []string{watched}, "spec.podSelector", "Required"},
		{"an empty selector", []string{watched, "podSelector: {}"}, "spec.podSelector", "at least 1 properties"},
		{"a key that is none", []string{watched, "podSelector: {a b: c}"}, "spec.podSelector", labelKey},
		{"a value that is none", []string{watched, "podSelector: {a: b c}"}, "spec.podSelector", labelValue},
		{"a value too long", []string{watched, "podSelector: {a: " + strings.Repeat("x", 64) + "}"}, "spec.podSelector.a", "63"},
		{"a name that is none", []string{"configMap: Webapp_Config", selector}, "spec.configMap", objectName},
		{"an empty name", []string{"configMap: ''", selector}, "spec.configMap", objectName},
		{"an unknown kind of source", []string{"sources: [{kind: Deployment, name: d}]", selector}, "spec.sources[0].kind", "Unsupported value"},
		{"a source without a kind", []string{"sources: [{name: d}]", selector}, "spec.sources[0].kind", "Required"},
		{"a source without a name", []string{"sources: [{kind: Secret}]", selector}, "spec.sources[0].name", "Required"},
		{"a source whose name is none", []string{"sources: [{kind: Secret, name: a/b}]", selector}, "spec.sources[0].name", objectName},
		{"a source twice", []string{"sources: [{kind: Secret, name: s}, {kind: Secret, name: s}]", selector}, "spec.sources[1]", "Duplicate"},
		{"a key twice", []string{"sources: [{kind: Secret, name: s, keys: [a, a]}]", selector}, "spec.sources[0].keys[1]", "Duplicate"},
		{"an empty key", []string{"sources: [{kind: Secret, name: s, keys: ['']}]", selector}, "spec.sources[0].keys[0]", "at least 1 chars"},
		{"a key that no object has", []string{"sources: [{kind: Secret, name: s, keys: [a/b]}]", selector}, "spec.sources[0].keys[0]", "should match"},
		{"an unknown strategy", restart("strategy: Reboot"), "spec.restart.strategy", "Unsupported value"},
		{"a negative debounce", restart("debounce: -1s"), "spec.restart.debounce", "must be from 0s to 1h && should match"},
		{"a debounce too long", restart("debounce: 2h"), "spec.restart.debounce", "must be from 0s to 1h"},
		{"a negative interval", restart("minInterval: -1m"), "spec.restart.minInterval", "must be from 0s to 24h && should match"},
		{"an interval too long", restart("minInterval: 25h"), "spec.restart.minInterval", "must be from 0s to 24h"},
		{"none an hour", restart("maxPerHour: 0"), "spec.restart.maxPerHour", "greater than or equal to 1"},
		{"too many an hour", restart("maxPerHour: 61"), "spec.restart.maxPerHour", "less than or equal to 60"},
		{"a negative limit", restart("maxConcurrent: -1"), "spec.restart.maxConcurrent", "greater than or equal to 0"},
		{"a window without a schedule", window("duration: 1h"), "spec.restart.windows[1].schedule", "Required"},
		{"a window without a duration", window("schedule: '0 0 * * *'"), "spec.restart.windows[1].duration", "Required"},
		{"a negative window", window("schedule: '0 0 * * *', duration: -1h"), "spec.restart.windows[1].duration", "must be from 1m to 168h && should match"},
		{"a control character in a schedule", window(`schedule: "0 0 * * *\u009b", duration: 1h`), "spec.restart.windows[1].schedule", "should match"},
		{"a time zone that is a path", window("schedule: '0 0 * * *', duration: 1h, timeZone: ../UTC"), "spec.restart.windows[1].timeZone", "should match"},
		{"a window too short", window("schedule: '0 0 * * *', duration: 59s"), "spec.restart.windows[1].duration", "must be from 1m to 168h"},
		{"a window too long", window("schedule: '0 0 * * *', duration: 169h"), "spec.restart.windows[1].duration", "must be from 1m to 168h"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			schematest.WantRefused(t, schematest.Create(t, configWatcher(tc.lines...)), tc.field, strings.Split(tc.want, " && ")...)
		})
	}
}

func TestConfigWatcherDurationsThatAreNone(t *testing.T) {
	for _, text := range []string{"debounce: soon", "minInterval: '5'", "windows: [{schedule: '0 0 * * *', duration: a day}]"} {
		if got := schematest.Create(t, configWatcher(watched, selector, "restart: {"+text+"}")); len(got) == 0 {
			t.Errorf("%s is accepted", text)
		}
	}
}
