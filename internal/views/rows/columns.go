// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/acme/platform-operator/api/views/v1alpha1"
)

// none is what kubectl prints where there is nothing.
const none = "<none>"

func column(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "string", Description: description}
}

func wide(c metav1.TableColumnDefinition) metav1.TableColumnDefinition {
	c.Priority = 1
	return c
}

func nameColumn(description string) metav1.TableColumnDefinition {
	c := column("Name", description)
	c.Format = "name"
	return c
}

// MyNamespaceColumns are what kubectl prints of MyNamespaces.
func MyNamespaceColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn("The name of the Namespace."),
		column("Status", "The phase of the Namespace."),
		column("Tier", "The deployment tier of the AcmeNamespace that owns it."),
		column("Roles", "The roles that you have."),
		column("Age", "The time since the Namespace was created."),
	}
}

// MyNamespaceCells are the cells of a MyNamespace.
func MyNamespaceCells(o runtime.Object) []any {
	n, ok := o.(*v1alpha1.MyNamespace)
	if !ok {
		return make([]any, len(MyNamespaceColumns()))
	}
	return []any{
		n.Name, text(string(n.Phase)), text(string(n.Tier)), text(strings.Join(n.Roles, ",")), table.ConvertToHumanReadableDateType(n.CreationTimestamp),
	}
}

func usageColumns() []metav1.TableColumnDefinition {
	const of = ", as used/hard."
	return []metav1.TableColumnDefinition{
		column("CPU", "The CPU requests"+of),
		column("Memory", "The memory requests"+of),
		column("Pods", "The number of pods"+of),
		column("Storage", "The requested storage"+of),
		column("Max%", "The largest share of a limit that is in use, of all resources, in percent."),
		wide(column("CPU-Limits", "The CPU limits"+of)),
		wide(column("Memory-Limits", "The memory limits"+of)),
	}
}

func usageCells(r resources, scoped []v1alpha1.ScopedUsage) []any {
	return []any{
		share(r, corev1.ResourceRequestsCPU, corev1.ResourceCPU), share(r, corev1.ResourceRequestsMemory, corev1.ResourceMemory),
		share(r, corev1.ResourcePods, "count/pods"), share(r, corev1.ResourceRequestsStorage), most(r, scoped),
		share(r, corev1.ResourceLimitsCPU), share(r, corev1.ResourceLimitsMemory),
	}
}

// NamespaceUsageColumns are what kubectl prints of NamespaceUsages.
func NamespaceUsageColumns() []metav1.TableColumnDefinition {
	return append([]metav1.TableColumnDefinition{
		nameColumn("The name of the Namespace."),
		column("Tenant", "Who pays for the Namespace."),
		column("Tier", "The deployment tier of the AcmeNamespace that owns it."),
	}, usageColumns()...)
}

// NamespaceUsageCells are the cells of a NamespaceUsage.
func NamespaceUsageCells(o runtime.Object) []any {
	n, ok := o.(*v1alpha1.NamespaceUsage)
	if !ok {
		return make([]any, len(NamespaceUsageColumns()))
	}
	return append([]any{n.Name, text(n.Tenant), text(string(n.Tier))}, usageCells(n.Resources, n.Scoped)...)
}

// TenantUsageColumns are what kubectl prints of TenantUsages.
func TenantUsageColumns() []metav1.TableColumnDefinition {
	return append([]metav1.TableColumnDefinition{
		nameColumn("A name made of the tenant."),
		column("Tenant", "Who pays for the Namespaces."),
		column("Namespaces", "The number of Namespaces."),
	}, usageColumns()...)
}

// TenantUsageCells are the cells of a TenantUsage.
func TenantUsageCells(o runtime.Object) []any {
	t, ok := o.(*v1alpha1.TenantUsage)
	if !ok {
		return make([]any, len(TenantUsageColumns()))
	}
	return append([]any{t.Name, text(t.Tenant), fmt.Sprint(len(t.Namespaces))}, usageCells(t.Resources, nil)...)
}

func text(s string) string {
	if s == "" {
		return none
	}
	return s
}

// share prints used/hard of the first of some resources that there is.
func share(r resources, names ...corev1.ResourceName) string {
	for _, name := range names {
		usage, ok := r[name]
		if !ok {
			continue
		}
		used, hard := "?", "∞"
		if usage.Used != nil {
			used = usage.Used.String()
		}
		if usage.Hard != nil {
			hard = usage.Hard.String()
		}
		return used + "/" + hard
	}
	return none
}

// most is the largest percentage of all resources.
func most(r resources, scoped []v1alpha1.ScopedUsage) string {
	var largest *int32
	see := func(r resources) {
		for _, usage := range r {
			if p := usage.Percent; p != nil && (largest == nil || *p > *largest) {
				largest = p
			}
		}
	}
	see(r)
	for _, s := range scoped {
		see(s.Resources)
	}
	if largest == nil {
		return none
	}
	return fmt.Sprint(*largest)
}
