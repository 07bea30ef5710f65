// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/acme/platform-operator/api/views/v1alpha1"
	"github.com/acme/platform-operator/internal/views/access"
	"github.com/acme/platform-operator/internal/views/rows"
	"github.com/acme/platform-operator/internal/views/source"
)

// View is one resource of the API.
type View struct {
	// Resource, Singular and Kind are its names, ShortName another that kubectl knows.
	Resource, Singular, Kind, ShortName string

	// names are those of all rows that a user may be able to see, sorted; row decides, and makes the row.
	names func(*source.Snapshot, access.User) []string
	row   func(*source.Snapshot, access.User, string) (rows.Row, bool)
	// visible is whether there is a row. It takes less than to make the row.
	visible func(*source.Snapshot, access.User, string) bool
	// changed are the names of the rows that a change concerns.
	changed func(source.Change) []string

	object func() rows.Object
	list   func([]rows.Row) objects

	columns []metav1.TableColumnDefinition
	cells   func(runtime.Object) []any
}

// objects is a list of objects of a view.
type objects interface {
	runtime.Object
	metav1.ListInterface
}

// Views are all resources of the API.
func Views() []View {
	return []View{{
		Resource: "mynamespaces", Singular: "mynamespace", Kind: "MyNamespace", ShortName: "myns",
		names: (*source.Snapshot).Gettable, row: (*source.Snapshot).MyNamespace, changed: changedNamespaces,
		visible: (*source.Snapshot).SeesMyNamespace,
		object:  func() rows.Object { return &v1alpha1.MyNamespace{} },
		list: func(found []rows.Row) objects {
			return &v1alpha1.MyNamespaceList{Items: items[v1alpha1.MyNamespace](found)}
		},
		columns: rows.MyNamespaceColumns(), cells: rows.MyNamespaceCells,
	}, {
		Resource: "namespaceusages", Singular: "namespaceusage", Kind: "NamespaceUsage", ShortName: "nsusage",
		names: (*source.Snapshot).Listable, row: (*source.Snapshot).NamespaceUsage, changed: changedNamespaces,
		visible: made((*source.Snapshot).NamespaceUsage),
		object:  func() rows.Object { return &v1alpha1.NamespaceUsage{} },
		list: func(found []rows.Row) objects {
			return &v1alpha1.NamespaceUsageList{Items: items[v1alpha1.NamespaceUsage](found)}
		},
		columns: rows.NamespaceUsageColumns(), cells: rows.NamespaceUsageCells,
	}, {
		Resource: "tenantusages", Singular: "tenantusage", Kind: "TenantUsage", ShortName: "tusage",
		names: (*source.Snapshot).Tenants, row: (*source.Snapshot).TenantUsage, changed: changedTenants,
		visible: made((*source.Snapshot).TenantUsage),
		object:  func() rows.Object { return &v1alpha1.TenantUsage{} },
		list: func(found []rows.Row) objects {
			return &v1alpha1.TenantUsageList{Items: items[v1alpha1.TenantUsage](found)}
		},
		columns: rows.TenantUsageColumns(), cells: rows.TenantUsageCells,
	}}
}

// made is whether a row that costs nothing to make is visible.
func made(row func(*source.Snapshot, access.User, string) (rows.Row, bool)) func(*source.Snapshot, access.User, string) bool {
	return func(s *source.Snapshot, u access.User, name string) bool {
		_, ok := row(s, u, name)
		return ok
	}
}

func changedNamespaces(c source.Change) []string { return c.Namespaces }

// changedTenants are the tenants of changed namespaces: what is visible of a tenant depends on the rights in all of them.
func changedTenants(c source.Change) []string { return c.Tenants }

// items copies rows: what they point to is shared.
func items[T any, P interface {
	*T
	rows.Object
}](found []rows.Row) []T {
	all := make([]T, 0, len(found))
	for _, r := range found {
		all = append(all, *r.Object.(P))
	}
	return all
}

// all are the rows that a user sees, sorted by name.
func (v View) all(s *source.Snapshot, u access.User) []rows.Row {
	names := v.names(s, u)
	found := make([]rows.Row, 0, len(names))
	for _, name := range names {
		if r, ok := v.row(s, u, name); ok {
			found = append(found, r)
		}
	}
	return found
}

// table makes a Table of an object or a list.
func (v View) table(o runtime.Object, options runtime.Object) (*metav1.Table, error) {
	t := &metav1.Table{}
	if opts, ok := options.(*metav1.TableOptions); !ok || !opts.NoHeaders {
		t.ColumnDefinitions = v.columns
	}
	add := func(o runtime.Object) error {
		t.Rows = append(t.Rows, metav1.TableRow{Cells: v.cells(o), Object: runtime.RawExtension{Object: o}})
		return nil
	}
	if l, ok := o.(objects); ok {
		t.ResourceVersion = l.GetResourceVersion()
		return t, meta.EachListItem(o, add)
	}
	if m, err := meta.CommonAccessor(o); err == nil {
		t.ResourceVersion = m.GetResourceVersion()
	}
	return t, add(o)
}
