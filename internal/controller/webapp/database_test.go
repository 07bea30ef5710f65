// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

func TestTheEnvironmentOfADatabase(t *testing.T) {
	// of are the variables, each with the key that it is taken from.
	of := func(ref v1alpha1.DatabaseSecretReference, env ...corev1.EnvVar) (all []string) {
		for _, v := range environment(v1alpha1.WebAppSpec{DatabaseSecretRef: &ref, Env: env}) {
			from := v.Value
			if v.ValueFrom != nil {
				from = v.ValueFrom.SecretKeyRef.Name + "/" + v.ValueFrom.SecretKeyRef.Key
			}
			all = append(all, v.Name+"="+from)
		}
		return all
	}
	for reason, tc := range map[string]struct{ got, want []string }{
		"the keys of a Database": {of(v1alpha1.DatabaseSecretReference{Name: "db"}), []string{
			"DATABASE_HOST=db/host", "DATABASE_PORT=db/port", "DATABASE_USER=db/username", "DATABASE_PASSWORD=db/password", "DATABASE_NAME=db/database", "DATABASE_URL=db/uri",
		}},
		"other keys, and less": {of(v1alpha1.DatabaseSecretReference{
			Name: "db", HostKey: new("h"), PortKey: new(""), UsernameKey: new("user"), PasswordKey: new("pw"), DatabaseKey: new("dbname"), URIKey: new(""),
		}), []string{"DATABASE_HOST=db/h", "DATABASE_USER=db/user", "DATABASE_PASSWORD=db/pw", "DATABASE_NAME=db/dbname"}},
		"variables that refer to it, and one that replaces it": {of(v1alpha1.DatabaseSecretReference{Name: "db", PortKey: new(""), DatabaseKey: new("")},
			corev1.EnvVar{Name: "PGHOST", Value: "$(DATABASE_HOST)"}, corev1.EnvVar{Name: "DATABASE_URL", Value: "x"}), []string{
			"DATABASE_HOST=db/host", "DATABASE_USER=db/username", "DATABASE_PASSWORD=db/password", "PGHOST=$(DATABASE_HOST)", "DATABASE_URL=x",
		}},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s, -want +got:\n%s", reason, diff)
		}
	}
}

func TestWhatAConnectionLacks(t *testing.T) {
	full := map[string]string{"host": "h", "port": "5432", "username": "u", "password": "hunter2", "database": "d", "uri": "u://"}
	with := func(changes ...string) map[string][]byte {
		content := map[string][]byte{"ca.crt": nil}
		for k, v := range full {
			content[k] = []byte(v)
		}
		for _, c := range changes {
			key, value, set := strings.Cut(c, "=")
			delete(content, key)
			if set {
				content[key] = []byte(value)
			}
		}
		return content
	}
	ref := v1alpha1.DatabaseSecretReference{Name: "db"}
	for _, tc := range []struct {
		reason  string
		ref     v1alpha1.DatabaseSecretReference
		content map[string][]byte
		want    []string
	}{
		{"nothing", ref, with(), nil},
		{"a key", ref, with("uri"), []string{`the Secret db has no key "uri"`, `spec.databaseSecretRef.uriKey`}},
		{"a value", ref, with("password="), []string{`no key "password", or an empty one`}},
		{"all of it", ref, nil, []string{`no key "host"`}},
		{"a key that is called otherwise", v1alpha1.DatabaseSecretReference{Name: "db", DatabaseKey: new("dbname")}, with(), []string{`no key "dbname"`}},
		{"nothing that is asked for", v1alpha1.DatabaseSecretReference{Name: "db", URIKey: new("")}, with("uri"), nil},
	} {
		lacks := lacking(&tc.ref, tc.content)
		got := lacks.what + lacks.advice
		if (got == "") != (tc.want == nil) || strings.Contains(got, "hunter2") {
			t.Errorf("%s: got %q", tc.reason, got)
		}
		for _, part := range tc.want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: got %q, want %q in it", tc.reason, got, part)
			}
		}
	}
}

func TestAMissingDatabaseIsReported(t *testing.T) {
	rolledBack := &v1alpha1.RolledBack{Revision: 2, To: 1, Message: "revision 2 (i) was not complete after 10m0s: no luck."}
	for _, tc := range []struct {
		reason  string
		course  course
		wants   []string
		stalled bool
	}{
		{"of the spec", course{number: 2, why: bySpec}, []string{"the Secret db has no key; correct it", "those that serve continue"}, false},
		{
			"of a revision that was asked for",
			course{number: 1, why: byUser},
			[]string{"spec.rollbackTo asks for revision 1, and the Secret db has no key. ", "Create it, choose another revision, or remove spec.rollbackTo"},
			true,
		},
		{
			"of a revision that replaces one that has failed",
			course{number: 1, why: byFailure},
			[]string{"10m0s: no luck. Revision 1 is to serve instead, and the Secret db has no key. ", "Create it, or change the spec"},
			true,
		},
	} {
		a := app(common.TierDev)
		a.Status.RolledBack = rolledBack
		out := judgeLack(a, tc.course, lack{"the Secret db has no key", "; correct it"})
		got, blocked := fmt.Sprintf("%+v", out), engine.BlockFor(recheck, "", "")
		if out.Reason() != ReasonWaitingForDatabase || out.GoesOn() || (out.Because("").Saying("") == blocked) != tc.stalled {
			t.Errorf("%s: got %s", tc.reason, got)
		}
		for _, want := range tc.wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s: got %s, want %q", tc.reason, got, want)
			}
		}
	}
}

func TestTheMigrationHasTheEnvironmentOfTheDatabase(t *testing.T) {
	a := app(common.TierDev, func(s *v1alpha1.WebAppSpec) {
		s.Migration, s.DatabaseSecretRef = &v1alpha1.Migration{}, &v1alpha1.DatabaseSecretReference{Name: "db"}
	})
	job, err := input{app: a}.migrationJob()
	if err != nil {
		t.Fatal(err)
	}
	if env := job.Spec.Template.Spec.Containers[0].Env; len(env) != 6 || env[3].Name != "DATABASE_PASSWORD" || env[3].ValueFrom.SecretKeyRef.Name != "db" || env[3].Value != "" {
		t.Errorf("got %+v", env)
	}
}
