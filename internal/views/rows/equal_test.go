// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"testing"

	"github.com/acme/platform-operator/internal/views/access"
)

// Namespaces of which any row of anybody differs are not equal: otherwise a change is not shown.
func TestNamespacesAreEqualIfAllRowsAre(t *testing.T) {
	plain := func(change func(*Facts)) *Namespace {
		return NewNamespace(facts(func(f *Facts) {
			f.Quotas = nil // without usage, which has the tenant and the versions, too
			if change != nil {
				change(f)
			}
		}))
	}
	same := plain(nil)
	if !same.Equal(plain(nil)) {
		t.Error("equal facts differ")
	}
	for reason, other := range map[string]*Namespace{
		"the version": plain(func(f *Facts) { f.Version = 999 }),
		"the tenant":  plain(func(f *Facts) { f.Owner = &Owner{Name: "acme-a", Tenant: "kim", Tier: "dev", Version: 120} }),
		"a label":     plain(func(f *Facts) { f.Labels = nil }),
		"a grant":     plain(func(f *Facts) { f.Grants = access.Grants{access.UserSubject("sam"): {Version: 1}} }),
		"a quota":     NewNamespace(facts(nil)),
	} {
		if same.Equal(other) || other.Equal(same) {
			t.Errorf("%s makes no difference", reason)
		}
	}
}

// Replicas read ResourceQuotas in any order, and make the same of them.
func TestTheOrderOfQuotasIsOfNoImportance(t *testing.T) {
	a := Quota{Name: "a", Scopes: []string{"BestEffort"}, Hard: list("pods", "3"), Version: 1}
	b := Quota{Name: "b", Scopes: []string{"NotBestEffort"}, Hard: list("pods", "5"), Version: 2}
	one := NewNamespace(facts(func(f *Facts) { f.Quotas = []Quota{a, b} }))
	two := NewNamespace(facts(func(f *Facts) { f.Quotas = []Quota{b, a} }))
	if !one.Equal(two) {
		t.Error("the rows depend on the order")
	}
}
