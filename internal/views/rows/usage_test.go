// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/acme/platform-operator/api/views/v1alpha1"
)

// What a quota counts without a limit is shown, and has no share: of the Namespace, of its tenant, and in tables.
func TestUsedWithoutHard(t *testing.T) {
	q := NewQuota(&corev1.ResourceQuota{Status: corev1.ResourceQuotaStatus{Used: list("pods", "3", "cpu", "1")}}, 1)
	n := NewNamespace(facts(func(f *Facts) { f.Quotas = []Quota{q} }))
	row, ok := NamespaceUsage(n, reader)
	if !ok {
		t.Fatal("it is not visible")
	}
	tenant := NewTenant("sam@acme.com", []*Namespace{n, n}).Row.Object
	for used, r := range map[string]v1alpha1.ResourceUsage{
		"3": row.Object.(*v1alpha1.NamespaceUsage).Resources["pods"], "6": tenant.(*v1alpha1.TenantUsage).Resources["pods"],
	} {
		if r.Used == nil || r.Used.String() != used || r.Hard != nil || r.Percent != nil {
			t.Errorf("of %s pods it reports %+v", used, r)
		}
	}
	if got := fmt.Sprint(NamespaceUsageCells(row.Object)); got != "[a sam@acme.com dev 1/∞ <none> 3/∞ <none> <none> <none> <none>]" {
		t.Errorf("the cells of the Namespace are %s", got)
	}
	if got := fmt.Sprint(TenantUsageCells(tenant)[3:]); got != "[2/∞ <none> 6/∞ <none> <none> <none> <none>]" {
		t.Errorf("the cells of the tenant are %s", got)
	}
}
