// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	databasesv1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
	"github.com/acme/platform-operator/internal/database/result"
	"github.com/acme/platform-operator/internal/names"
)

// TestNextReading lets a thousand policies begin together.
func TestNextReading(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, interval := range []time.Duration{5 * time.Second, 30 * time.Second, time.Hour, 24 * time.Hour} {
		slices := map[int64]int{}
		for i := range 1000 {
			uid := types.UID(fmt.Sprintf("uid-%d", i))
			first := nextReading(start, interval, uid)
			if d := first.Sub(start); d < interval/2 || d > interval*3/2 {
				t.Fatalf("every %s: the second reading comes %s after the first", interval, d)
			}
			second := nextReading(first, interval, uid)
			if d := second.Sub(first); d != interval {
				t.Fatalf("every %s: the third reading comes %s after the second", interval, d)
			}
			// What comes late, as after a run that took long, does not move those after it.
			if late := nextReading(first.Add(interval/5), interval, uid); late != second {
				t.Fatalf("every %s: a reading that comes late moves the next one from %s to %s", interval, second, late)
			}
			slices[int64(first.Sub(start)%interval)*10/int64(interval)]++
		}
		for tenth, n := range slices {
			if n < 50 || n > 150 {
				t.Errorf("every %s: %d of 1000 read in tenth %d of the interval", interval, n, tenth)
			}
		}
	}
}

func TestIdentity(t *testing.T) {
	policy := func(change func(*v1alpha1.RebootPolicySpec)) *v1alpha1.RebootPolicy {
		p := &v1alpha1.RebootPolicy{Spec: v1alpha1.RebootPolicySpec{
			Source: v1alpha1.DatabaseSource{Type: v1alpha1.DatabasePostgres, Host: "db", Database: "app"},
			Watch:  v1alpha1.Watch{Table: "t", Column: "c"},
		}}
		change(&p.Spec)
		return p
	}
	was := identity(policy(func(*v1alpha1.RebootPolicySpec) {}))
	for name, change := range map[string]func(*v1alpha1.RebootPolicySpec){
		"type":     func(s *v1alpha1.RebootPolicySpec) { s.Source.Type = v1alpha1.DatabaseMySQL },
		"host":     func(s *v1alpha1.RebootPolicySpec) { s.Source.Host = "other" },
		"port":     func(s *v1alpha1.RebootPolicySpec) { s.Source.Port = 1 },
		"database": func(s *v1alpha1.RebootPolicySpec) { s.Source.Database = "other" },
		"table":    func(s *v1alpha1.RebootPolicySpec) { s.Watch.Table = "tc"; s.Watch.Column = "" },
		"column":   func(s *v1alpha1.RebootPolicySpec) { s.Watch.Column = "other" },
		"where":    func(s *v1alpha1.RebootPolicySpec) { s.Watch.Where = "true" },
		"query":    func(s *v1alpha1.RebootPolicySpec) { s.Watch.Query = "SELECT 1" },
	} {
		if identity(policy(change)) == was {
			t.Errorf("another %s is the same watch", name)
		}
	}
	for name, change := range map[string]func(*v1alpha1.RebootPolicySpec){
		"Secret":         func(s *v1alpha1.RebootPolicySpec) { s.Source.CredentialsSecretRef.Name = "other" },
		"TLS":            func(s *v1alpha1.RebootPolicySpec) { s.Source.TLS = &v1alpha1.SourceTLS{Mode: v1alpha1.TLSDisable} },
		"usual port":     func(s *v1alpha1.RebootPolicySpec) { s.Source.Port = 5432 },
		"restart policy": func(s *v1alpha1.RebootPolicySpec) { s.Restart.MaxPerHour = 7 },
		"target":         func(s *v1alpha1.RebootPolicySpec) { s.Target = &v1alpha1.Target{Kind: "Deployment", Name: "x"} },
	} {
		if identity(policy(change)) != was {
			t.Errorf("another %s is another watch", name)
		}
	}
}

// Readings are shared by policies that read the same, in the same way.
func TestSharedName(t *testing.T) {
	with := func(change func(*v1alpha1.RebootPolicy)) string {
		p := &v1alpha1.RebootPolicy{}
		p.Namespace, p.Name, p.Spec.Source.Host = "a", "p", "db"
		p.Spec.Source.CredentialsSecretRef.Name = "reader"
		change(p)
		return sharedName(p)
	}
	is := with(func(*v1alpha1.RebootPolicy) {})
	if other := with(func(p *v1alpha1.RebootPolicy) { p.Name, p.Spec.Target = "q", &v1alpha1.Target{} }); other != is {
		t.Errorf("%q and %q are the same", other, is)
	}
	for reason, change := range map[string]func(*v1alpha1.RebootPolicy){
		"namespace":   func(p *v1alpha1.RebootPolicy) { p.Namespace = "b" },
		"host":        func(p *v1alpha1.RebootPolicy) { p.Spec.Source.Host = "other" },
		"query":       func(p *v1alpha1.RebootPolicy) { p.Spec.Watch.Query = "SELECT 1" },
		"credentials": func(p *v1alpha1.RebootPolicy) { p.Spec.Source.CredentialsSecretRef.Name = "other" },
		"trust":       func(p *v1alpha1.RebootPolicy) { p.Spec.Source.TLS = &v1alpha1.SourceTLS{Mode: v1alpha1.TLSDisable} },
	} {
		if with(change) == is {
			t.Errorf("another %s is another reading", reason)
		}
	}
}

func database(with ...func(*databasesv1alpha1.Database)) *databasesv1alpha1.Database {
	db := &databasesv1alpha1.Database{Spec: databasesv1alpha1.DatabaseSpec{Type: databasesv1alpha1.Postgres, DatabaseName: "orders"}}
	db.Namespace, db.Name, db.Status.SecretName, db.Status.Phase = "team-a", "db", "db", databasesv1alpha1.PhaseRunning
	for _, w := range with {
		w(db)
	}
	return db
}

func TestUnavailable(t *testing.T) {
	phase := func(phase databasesv1alpha1.Phase) *databasesv1alpha1.Database {
		return database(func(db *databasesv1alpha1.Database) { db.Status.Phase = phase })
	}
	for name, tt := range map[string]struct {
		db      *databasesv1alpha1.Database
		reason  string // empty when it can be read
		passes  bool
		message string
	}{
		"missing": {nil, "DatabaseMissing", false, "the Database db does not exist; create it, or name another one in source.databaseRef"},
		"being deleted": {
			database(func(db *databasesv1alpha1.Database) { db.DeletionTimestamp = &metav1.Time{} }), "DatabaseTerminating", false,
			"the Database db is being deleted; name another one in source.databaseRef, or create it again once it is gone",
		},
		"suspended": {
			database(func(db *databasesv1alpha1.Database) { db.Spec.Suspended = true }), "DatabaseSuspended", false,
			"the Database db is suspended; set its spec.suspended to false",
		},
		"no longer suspended": {phase(databasesv1alpha1.PhaseSuspended), "DatabaseNotReady", true, "the Database db does not run; see its conditions"},
		"new":                 {phase(""), "DatabaseNotReady", true, "the Database db does not run; see its conditions"},
		"creating":            {phase(databasesv1alpha1.PhaseCreating), "DatabaseNotReady", true, "the Database db does not run; see its conditions"},
		"starting":            {phase(databasesv1alpha1.PhaseStarting), "DatabaseNotReady", true, "the Database db does not run; see its conditions"},
		"failed":              {phase(databasesv1alpha1.PhaseFailed), "DatabaseNotReady", true, "the Database db does not run; see its conditions"},
		"pending from the first": {
			database(func(db *databasesv1alpha1.Database) {
				db.Status = databasesv1alpha1.DatabaseStatus{Phase: databasesv1alpha1.PhasePending}
			}),
			"DatabaseNotReady", true, "the Database db does not run; see its conditions",
		},
		"not served any more": {phase(databasesv1alpha1.PhasePending), "", false, ""},
		"running":             {phase(databasesv1alpha1.PhaseRunning), "", false, ""},
	} {
		is := unavailable("db", tt.db)
		if tt.reason == "" {
			if is != nil {
				t.Errorf("%s: it cannot be read: %+v", name, is)
			}
			continue
		}
		if want := (problem{tt.reason, tt.message + ". The last value is kept, and nothing is restarted", tt.passes}); is == nil || *is != want {
			t.Errorf("%s: is %+v, want %+v", name, is, want)
		}
	}
}

// A policy that names a Database watches the same as one that names its host and its Secret.
func TestSourceOf(t *testing.T) {
	for _, tt := range []struct {
		db   *databasesv1alpha1.Database
		want v1alpha1.DatabaseSource
		port int32
	}{
		{database(), v1alpha1.DatabaseSource{
			Type: "postgres", Host: "db.team-a.svc", Database: "orders",
			CredentialsSecretRef: v1alpha1.CredentialsReference{Name: "db", UsernameKey: "username", PasswordKey: "password"},
			TLS:                  &v1alpha1.SourceTLS{Mode: "Disable"},
		}, result.PostgresPort},
		{database(func(db *databasesv1alpha1.Database) { db.Name, db.Spec.Type = "a.b", databasesv1alpha1.MySQL }), v1alpha1.DatabaseSource{
			Type: "mysql", Host: names.DatabaseName("a.b") + ".team-a.svc", Database: "orders",
			CredentialsSecretRef: v1alpha1.CredentialsReference{Name: names.DatabaseName("a.b"), UsernameKey: "username", PasswordKey: "password"},
			TLS:                  &v1alpha1.SourceTLS{Mode: "Disable"},
		}, result.MySQLPort},
	} {
		is := sourceOf(tt.db)
		if !reflect.DeepEqual(is, tt.want) {
			t.Errorf("the source is %+v, want %+v", is, tt.want)
		}
		if port := is.EffectivePort(); port != tt.port {
			t.Errorf("the port is %d, want %d", port, tt.port)
		}
	}
}

// What kept a value from being read is over once it is read again, also when the operator has been restarted meanwhile.
func TestBefore(t *testing.T) {
	for reason, want := range map[string]string{
		"CredentialsMissing": "Reading", "DatabaseMissing": "Reading", "DatabaseTerminating": "Reading", "DatabaseSuspended": "Reading",
		"DatabaseNotReady": "Reading", "Reading": "Reading", "NoRow": "NoRow", "SourceUnreachable": "SourceUnreachable",
	} {
		p := &v1alpha1.RebootPolicy{}
		p.Status.Conditions = []metav1.Condition{{Type: ValueRead, Status: metav1.ConditionFalse, Reason: reason}}
		if is := before(p).Reason(); is != want {
			t.Errorf("after %s: is %s, want %s", reason, is, want)
		}
	}
}

func TestDatabasesOf(t *testing.T) {
	p := &v1alpha1.RebootPolicy{}
	p.Namespace, p.Spec.Source.CredentialsSecretRef.Name = "team-a", "reader"
	if keys := databasesOf(p); len(keys) > 0 {
		t.Errorf("a policy without databaseRef refers to %v", keys)
	}
	p.Spec.Source = v1alpha1.DatabaseSource{DatabaseRef: &v1alpha1.DatabaseReference{Name: "a.b"}}
	if keys := databasesOf(p); !slices.Equal(keys, []client.ObjectKey{{Namespace: "team-a", Name: "a.b"}}) {
		t.Errorf("the Databases are %v", keys)
	}
	if keys := secretsOf(p); !slices.Equal(keys, []client.ObjectKey{{Namespace: "team-a", Name: names.DatabaseName("a.b")}}) {
		t.Errorf("the Secrets are %v", keys)
	}
}
