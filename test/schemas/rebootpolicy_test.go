// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/internal/testenv/schematest"
)

// rebootPolicy is the sample with fields of its spec set, or with an empty value taken away: PATH=VALUE, the value in YAML.
func rebootPolicy(t *testing.T, changes ...string) string {
	t.Helper()
	u := sample(t, "autoreboot_v1alpha1_rebootpolicy")
	for _, c := range changes {
		path, value, _ := strings.Cut(c, "=")
		fields := append([]string{"spec"}, strings.Split(path, ".")...)
		if value == "" {
			unstructured.RemoveNestedField(u.Object, fields...)
			continue
		}
		var v any
		if err := yaml.Unmarshal([]byte(value), &v); err != nil {
			t.Fatalf("%s: %v", value, err)
		}
		if n, ok := v.(float64); ok {
			v = int64(n)
		}
		if err := unstructured.SetNestedField(u.Object, v, fields...); err != nil {
			t.Fatal(err)
		}
	}
	out, err := yaml.Marshal(u.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestRebootPolicyAccepted(t *testing.T) {
	for _, changes := range [][]string{
		{},
		{"source.type=mysql"},
		{"source.host=10.0.0.1"},
		{"source.host='fd00::1'"},
		{"source.host=db_1.team-a.svc.cluster.local."},
		{"source.port=6432"},
		{"source.tls={mode: Disable}"},
		{"source={databaseRef: {name: ledger}}"},
		{"source={databaseRef: {name: 1.ledger-of-2026}}"},
		{"source.tls={caSecretRef: {name: ca}, serverName: db.acme.com}"},
		{"source.credentialsSecretRef={name: db, usernameKey: user, passwordKey: pass.word}"},
		{"watch.where="},
		{"watch.table=app.settings"},
		{"watch.table='we\"ird; DROP'"},
		{"watch={query: SELECT 1}"},
		{"interval=5s"},
		{"interval=24h"},
		{"target=", "podSelector={app: webapp}"},
		{"target={kind: StatefulSet, name: db.primary}"},
		{"restart={debounce: 0s, minInterval: 10m, maxPerHour: 1, maxConcurrent: 2, dryRun: true}"},
		{"restart={windows: [{schedule: '0 2 * * MON-FRI', duration: 2h, timeZone: Europe/Berlin}]}"},
	} {
		t.Run(fmt.Sprint(changes), func(t *testing.T) {
			schematest.WantCauses(t, schematest.Create(t, rebootPolicy(t, changes...)))
		})
	}
}

func TestRebootPolicyRefused(t *testing.T) {
	const (
		noHost    = "must be a DNS name or an IP address without a port, for instance db.team-a.svc"
		noTable   = "must be TABLE or SCHEMA.TABLE; use query for names with a dot in them"
		oneSource = "must have databaseRef, for a Database in this namespace, or else type, host, database and credentialsSecretRef"
		alone     = "must have nothing beside databaseRef: the Database has the rest. Remove type, host, port, database, credentialsSecretRef and tls, or databaseRef"
		oneWatch  = "must be either query, or table and column (and where)"
		together  = "table and column must be given together"
		oneTarget = "must have either podSelector or target: they select what is restarted"
		intervals = "must be from 5s to 24h"
		noTLS     = "caSecretRef and serverName have no effect with the mode Disable: leave them out, or use VerifyFull"
		noKey     = "every key must be a label key: an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' or '.'"
		noValue   = "every value must be a label value: at most 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit"
	)
	for _, c := range []struct {
		field, message string
		changes        []string
	}{
		{"spec.source.type", `Unsupported value: "oracle"`, []string{"source.type=oracle"}},
		{"spec.source.host", noHost, []string{"source.host=/var/run/postgresql"}},
		{"spec.source.host", noHost, []string{"source.host='db:5432'"}},
		{"spec.source.host", noHost, []string{"source.host='a,b'"}},
		{"spec.source.host", noHost, []string{"source.host=db sslmode=disable"}},
		{"spec.source", oneSource, []string{"source.host="}},
		{"spec.source.port", "should be greater than or equal to 1", []string{"source.port=-1"}},
		{"spec.source.port", "should be less than or equal to 65535", []string{"source.port=65536"}},
		{"spec.source", oneSource, []string{"source.database="}},
		{"spec.source", oneSource, []string{"source.credentialsSecretRef="}},
		{"spec.source", oneSource, []string{"source.type="}},
		{"spec.source", oneSource, []string{"source={}"}},
		{"spec.source.credentialsSecretRef.name", "Required value", []string{"source.credentialsSecretRef={}"}},
		{"spec.source", alone, []string{"source.databaseRef={name: ledger}"}},
		{"spec.source", alone, []string{"source={databaseRef: {name: ledger}, type: postgres}"}},
		{"spec.source", alone, []string{"source={databaseRef: {name: ledger}, host: db}"}},
		{"spec.source", alone, []string{"source={databaseRef: {name: ledger}, port: 5432}"}},
		{"spec.source", alone, []string{"source={databaseRef: {name: ledger}, database: app}"}},
		{"spec.source", alone, []string{"source={databaseRef: {name: ledger}, credentialsSecretRef: {name: ledger}}"}},
		{"spec.source", alone, []string{"source={databaseRef: {name: ledger}, tls: {}}"}},
		{"spec.source.databaseRef.name", "Required value", []string{"source={databaseRef: {}}"}},
		{"spec.source.databaseRef.name", "must be the name of a Database", []string{"source={databaseRef: {name: Ledger}}"}},
		{"spec.source.databaseRef.name", "must be the name of a Database", []string{"source={databaseRef: {name: team-b/ledger}}"}},
		{"spec.source.credentialsSecretRef.name", "must be the name of a Secret", []string{"source.credentialsSecretRef.name=../other"}},
		{"spec.source", "at most 64 characters with the type mysql", []string{"source.type=mysql", "source.database=" + strings.Repeat("d", 65)}},
		{"spec.source.tls.mode", `Unsupported value: "require"`, []string{"source.tls={mode: require}"}},
		{"spec.source.tls", noTLS, []string{"source.tls={mode: Disable, serverName: db}"}},
		{"spec.source.tls", noTLS, []string{"source.tls={mode: Disable, caSecretRef: {name: ca}}"}},
		{"spec.watch", oneWatch, []string{"watch.query=SELECT 1"}},
		{"spec.watch", oneWatch, []string{"watch={query: SELECT 1, where: 'true'}"}},
		{"spec.watch", oneWatch, []string{"watch={}"}},
		{"spec.watch", together, []string{"watch={table: settings}"}},
		{"spec.watch", together, []string{"watch={column: value}"}},
		{"spec.watch.table", noTable, []string{"watch.table=a.b.c"}},
		{"spec.watch.table", noTable, []string{"watch.table=a."}},
		{"spec.interval", intervals, []string{"interval=4999ms"}},
		{"spec.interval", intervals, []string{"interval=0s"}},
		{"spec.interval", intervals + " && should match", []string{"interval=-30s"}},
		{"spec.interval", "should match && rule", []string{"interval=soon"}},
		{"spec.interval", "Too long", []string{"interval=" + strings.Repeat("1h", 17)}},
		{"spec.source.database", "should match", []string{"source.database=\"a\\0b\""}},
		{"spec.source.credentialsSecretRef.passwordKey", "should match", []string{"source.credentialsSecretRef={name: db, passwordKey: a/b}"}},
		{"spec.source.tls.serverName", "should match", []string{"source.tls={serverName: 'a b'}"}},
		{"spec.watch.where", "should match", []string{"watch.where=\"a\\0b\""}},
		{"spec.restart.windows[0].schedule", "should match", []string{"restart={windows: [{schedule: \"0 2 * * *\\n\", duration: 1h}]}"}},
		{"spec.restart.windows[0].timeZone", "should match", []string{"restart={windows: [{schedule: '0 2 * * *', duration: 1h, timeZone: ../../etc/passwd}]}"}},
		{"spec.interval", intervals, []string{"interval=25h"}},
		{"spec", oneTarget, []string{"target="}},
		{"spec", oneTarget, []string{"podSelector={app: webapp}"}},
		{"spec.podSelector", "should have at least 1 properties", []string{"target=", "podSelector={}"}},
		{"spec.podSelector", noKey, []string{"target=", "podSelector={'a b': c}"}},
		{"spec.podSelector", noValue, []string{"target=", "podSelector={a: 'b c'}"}},
		{"spec.target.kind", `Unsupported value: "Job"`, []string{"target={kind: Job, name: x}"}},
		{"spec.target.name", "must be the name of an object", []string{"target={kind: Deployment, name: a/b}"}},
		{"spec.restart.debounce", "must be from 0s to 1h && should match", []string{"restart={debounce: -1s}"}},
		{"spec.restart.minInterval", "must be from 0s to 24h && should match", []string{"restart={minInterval: -1s}"}},
		{"spec.restart.maxPerHour", "should be greater than or equal to 1", []string{"restart={maxPerHour: -1}"}},
		{"spec.restart.maxConcurrent", "should be greater than or equal to 0", []string{"restart={maxConcurrent: -1}"}},
		{"spec.restart.windows[0].duration", "must be from 1m to 168h && should match", []string{"restart={windows: [{schedule: '0 2 * * *', duration: -1h}]}"}},
		{"spec.restart.strategy", `Unsupported value: "Reboot"`, []string{"restart={strategy: Reboot}"}},
	} {
		t.Run(fmt.Sprint(c.changes), func(t *testing.T) {
			schematest.WantRefused(t, schematest.Create(t, rebootPolicy(t, c.changes...)), c.field, strings.Split(c.message, " && ")...)
		})
	}
}

// TestRebootPolicyDefaults wants what a user reads in the field's documentation.
func TestRebootPolicyDefaults(t *testing.T) {
	u := defaulted(t, rebootPolicy(t, "source.tls={}"))
	for path, want := range map[string]any{
		"spec.interval":        "30s",
		"spec.source.tls.mode": "VerifyFull",
		"spec.source.credentialsSecretRef.usernameKey": "username",
		"spec.source.credentialsSecretRef.passwordKey": "password",
		"spec.restart.strategy":                        "RolloutRestart",
		"spec.restart.debounce":                        "2s",
		"spec.restart.maxPerHour":                      int64(12),
		"status.observedGeneration":                    int64(-1),
	} {
		if got, _, _ := unstructured.NestedFieldNoCopy(u.Object, strings.Split(path, ".")...); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
}
