// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
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
