// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acme/platform-operator/internal/views/access"
)

// endless reports whether a quantity has an exponent below -50: parsing it rounds it up, and takes for ever where that is large.
func endless(quantity string) bool {
	_, exponent, found := strings.Cut(strings.ToLower(quantity), "e-")
	return found && (len(exponent) > 2 || exponent > "50")
}

func FuzzRows(f *testing.F) {
	f.Add("a", "sam@acme.com", "cpu", "1", "4", uint8(0))
	f.Add("a", "sam", "cpu", "1e999999999", "1n", uint8(1))
	f.Add("", "\x00\xff", "", "1e30", "1n", uint8(255))
	f.Add("a", "sam", "cpu", "1e-9", "3e-9", uint8(0))
	f.Fuzz(func(t *testing.T, name, tenant, resourceName, used, hard string, bits uint8) {
		if endless(used) || endless(hard) {
			return // the API server itself reads no quantity with a large negative exponent
		}
		read := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if q, err := resource.ParseQuantity(used); err == nil {
			read.Status.Used = corev1.ResourceList{corev1.ResourceName(resourceName): q}
		}
		if q, err := resource.ParseQuantity(hard); err == nil {
			read.Spec.Hard = corev1.ResourceList{corev1.ResourceName(resourceName): q}
		}
		quota := NewQuota(read, 1)
		if bits&1 == 0 {
			quota.Scopes = []string{tenant}
		}
		n := NewNamespace(Facts{Name: name, Owner: &Owner{Tenant: tenant}, Labels: map[string]string{tenant: name}, Quotas: []Quota{quota, quota}})
		a := access.Answer{Rights: access.Rights{Get: bits&2 == 0, List: bits&4 == 0}, Roles: []string{tenant, name}}
		my := MyNamespace(n, a)
		if again := MyNamespace(NewNamespace(n.Facts), a); again.Sum != my.Sum || !n.Equal(NewNamespace(n.Facts)) {
			t.Error("the same facts give another row")
		}
		MyNamespaceCells(my.Object)
		all := []Row{my}
		if usage, ok := NamespaceUsage(n, a); ok {
			NamespaceUsageCells(usage.Object)
			all = append(all, usage)
		}
		whole := NewTenant(tenant, []*Namespace{n, n}).Row
		TenantUsageCells(whole.Object)
		if whole.GetName() == "" {
			t.Error("the row of the tenant has no name")
		}
		for _, row := range append(all, whole) {
			if row.GetNamespace() != "" {
				t.Errorf("%T is in the namespace %q", row.Object, row.GetNamespace())
			}
		}
	})
}
