// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/acme/platform-operator/api/views/v1alpha1"
)

// Tenant is a tenant's row, for those who may see all of its namespaces. It never changes.
type Tenant struct {
	// Namespaces are the names of its namespaces, sorted.
	Namespaces []string
	// Row is the TenantUsage.
	Row Row
}

// NewTenant sums the usage of all namespaces of a tenant, sorted by name.
func NewTenant(tenant string, namespaces []*Namespace) *Tenant {
	o := v1alpha1.TenantUsage{ObjectMeta: metav1.ObjectMeta{Name: TenantName(tenant), UID: derivedUID("tenantusage", tenant)}, Tenant: tenant}
	sum, limited := resources{}, map[corev1.ResourceName]int{}
	var source uint64
	for _, n := range namespaces {
		o.Namespaces = append(o.Namespaces, n.Name)
		source = max(source, n.myVersion)
		if n.usage == nil {
			continue
		}
		sum.plus(n.usage.resources)
		for name, usage := range n.usage.resources {
			if usage.Hard != nil {
				limited[name]++
			}
		}
		for _, q := range n.Quotas {
			source = max(source, q.Version)
		}
	}
	for name, usage := range sum {
		if limited[name] < len(namespaces) { // a namespace has no limit
			usage.Hard = nil
			sum[name] = usage
		}
	}
	o.Resources = sum.percents()
	return &Tenant{Namespaces: o.Namespaces, Row: sealed(&o, source)}
}

var (
	notInSubdomains = regexp.MustCompile(`[^a-z0-9]+`)
	hashedTail      = regexp.MustCompile(`-[0-9a-f]{32}$`)
)

const (
	// longestTenant leaves room for the hash.
	longestTenant = 200
	// hashLength is that of the hash. It cannot be searched for two tenants of one name, of which the sum of one would hide that of the other.
	hashLength = 32
)

// TenantName is the name of a tenant's row: the tenant if that is a DNS subdomain, else one that is made of it and ends in a hash. No
// other tenant has it: one that looks as if it ended in a hash gets another.
func TenantName(tenant string) string {
	if len(validation.IsDNS1123Subdomain(tenant)) == 0 && !hashedTail.MatchString(tenant) {
		return tenant
	}
	readable := strings.Trim(notInSubdomains.ReplaceAllString(strings.ToLower(tenant), "-"), "-")
	readable = strings.Trim(readable[:min(len(readable), longestTenant)], "-")
	if readable == "" {
		readable = "tenant"
	}
	sum := sha256.Sum256([]byte(tenant))
	return readable + "-" + hex.EncodeToString(sum[:])[:hashLength]
}
