// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acme/platform-operator/internal/testenv/schematest"
)

// database is a Database with further lines in its spec.
func database(lines ...string) string {
	text := "apiVersion: databases.acme.com/v1alpha1\nkind: Database\nmetadata: {name: mydb, namespace: default}\nspec:\n"
	if !strings.Contains(strings.Join(lines, "\n"), "type:") {
		text += "  type: postgres\n"
	}
	for _, l := range lines {
		text += "  " + l + "\n"
	}
	return text
}

func TestDatabaseAccepted(t *testing.T) {
	for _, lines := range [][]string{
		{""},
		{"type: mysql", "user: root", "password: root"}, // the seed manifest
		{"version: '14'"},
		{"version: '18'"},
		{"type: mysql", "version: '8.0'"},
		{"user: postgres", "databaseName: select"},
		{`user: 'o"ro'`, "databaseName: 'it''s'"},
		{"user: " + strings.Repeat("u", 63), "databaseName: " + strings.Repeat("d", 63)},
		{"type: mysql", "user: " + strings.Repeat("u", 32)},
		{"type: mysql", "databaseName: postgres"},
		{"passwordSecretRef: {name: chosen}"},
		{"rotation: {requestedAt: '2026-01-01T00:00:00Z', overlap: 24h}"},
		{"storage: {size: 256Mi, storageClassName: fast}"},
		{"resources: {requests: {cpu: 1, memory: 1Gi}, limits: {memory: 1Gi}}"},
		{"image: registry.acme.com:5000/postgres@sha256:0000", "suspended: true", "deletionPolicy: Delete", "deletionProtection: true"},
	} {
		t.Run(strings.Join(lines, " "), func(t *testing.T) { schematest.WantCauses(t, schematest.Create(t, database(lines...))) })
	}
}

func TestDatabaseRejected(t *testing.T) {
	const printable = "must be printable ASCII"
	for lines, want := range map[string][]string{
		"type: oracle":                     {"spec.type", `supported values: "postgres", "mysql"`},
		"version: '13'":                    {"spec.version", "must be a version that is supported"},
		"version: '8.4'":                   {"spec.version", "must be a version that is supported"},
		"type: mysql|version: '5.7'":       {"spec.version", "8.0 or 8.4 of mysql"},
		"user: ''":                         {"spec.user", "should be at least 1 chars long", printable},
		"user: ' a'":                       {"spec.user", printable},
		`user: "a\nb"`:                     {"spec.user", printable},
		"user: acme_agent":                 {"spec.user", "must not be an account of the platform"},
		"user: " + strings.Repeat("u", 64): {"spec.user", "may not be more than 63"},
		"type: mysql|user: " + strings.Repeat("u", 33): {"spec.user", "must have at most 32 characters with mysql"},
		"user: pg_app":                             {"spec.user", "must not begin with pg_"},
		"user: none":                               {"spec.user", "must not be public or none"},
		"user: public":                             {"spec.user", "must not be public or none"},
		"databaseName: template1":                  {"spec.databaseName", "must not be a database of the server itself"},
		"databaseName: Postgres":                   {"spec.databaseName", "must not be a database of the server itself"},
		"databaseName: ACME_agent":                 {"spec.databaseName", "must not be a database of the platform"},
		"databaseName: " + strings.Repeat("d", 64): {"spec.databaseName", "may not be more than 63"},
		"type: mysql|databaseName: sys":            {"spec.databaseName", "must not be a database of the server itself"},
		"password: ''":                             {"spec.password", "should be at least 1 chars long", printable},
		`password: "a\nb"`:                         {"spec.password", printable},
		"password: a|passwordSecretRef: {name: b}": {"spec.password", "must not be set together with spec.passwordSecretRef"},
		"passwordSecretRef: {name: A}":             {"spec.passwordSecretRef.name", "must be the name of a Secret"},
		"passwordSecretRef: {name: a, key: a/b}":   {"spec.passwordSecretRef.key", "must be a key of a Secret"},
		"password: a|rotation: {requestedAt: '2026-01-01T00:00:00Z'}":    {"spec.rotation", "needs a password that is generated"},
		"rotation: {overlap: 59s}":                                       {"spec.rotation.overlap", "must be from 1m to 8760h"},
		"storage: {size: '1e-100000000'}":                                {"spec.storage.size", "should match"},
		"resources: {requests: {cpu: '1e-100000000'}, limits: {cpu: 1}}": {"spec.resources.requests.cpu", "should match"},
		"resources: {requests: {cpu: 1}, limits: {cpu: '1e-100000000'}}": {"spec.resources.limits.cpu", "should match"},
		"storage: {size: 255Mi}":                                         {"spec.storage.size", "must be at least 256Mi"},
		"storage: {storageClassName: A}":                                 {"spec.storage.storageClassName", "must be the name of a StorageClass"},
		"resources: {limits: {gpu: 1}}":                                  {"spec.resources.limits", "may only have cpu and memory"},
		"resources: {requests: {cpu: 2}, limits: {cpu: 1}}":              {"spec.resources.limits", "must not be less than the request"},
		"image: 'a b'":             {"spec.image", "must be the reference of an image"},
		"deletionPolicy: Snapshot": {"spec.deletionPolicy", `supported values: "Retain", "Delete"`},
	} {
		t.Run(lines, func(t *testing.T) {
			schematest.WantRefused(t, schematest.Create(t, database(strings.Split(lines, "|")...)), want[0], want[1:]...)
		})
	}
}

func TestDatabaseDefaults(t *testing.T) {
	u := defaulted(t, database("passwordSecretRef: {name: chosen}"))
	want := map[string]any{
		"type": "postgres", "user": "app", "databaseName": "app", "storage": map[string]any{"size": "1Gi"}, "deletionPolicy": "Retain",
		"passwordSecretRef": map[string]any{"name": "chosen", "key": "password"},
	}
	if diff := cmp.Diff(want, u.Object["spec"]); diff != "" {
		t.Errorf("the spec: -want +got\n%s", diff)
	}
}

func TestDatabaseWhatCannotBeChanged(t *testing.T) {
	u := schematest.Parse(t, database("version: '17'", "storage: {size: 2Gi, storageClassName: fast}"))
	store(t, u)
	for path, want := range map[string]struct{ value, message string }{
		"type":                     {"mysql", "cannot be changed: the data belongs to this type"},
		"version":                  {"18", "cannot be changed: the data belongs to this version"},
		"user":                     {"other", "cannot be changed: the tables belong to this user"},
		"databaseName":             {"other", "cannot be changed: the data is in this database"},
		"storage.size":             {"1Gi", "must not shrink"},
		"storage.storageClassName": {"slow", "cannot be changed: a volume stays in its class"},
	} {
		t.Run(path, func(t *testing.T) {
			if all := strings.Join(changed(t, u, path, want.value), "\n"); !strings.Contains(all, "spec."+path) || !strings.Contains(all, want.message) {
				t.Errorf("got %s, want %s", all, want.message)
			}
		})
	}
}
