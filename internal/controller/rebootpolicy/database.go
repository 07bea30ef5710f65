// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	databasesv1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
	"github.com/acme/platform-operator/internal/external/sqldb"
)

// databasesOf are the Databases that a RebootPolicy names.
func databasesOf(p *v1alpha1.RebootPolicy) []client.ObjectKey {
	if ref := p.Spec.Source.DatabaseRef; ref != nil {
		return []client.ObjectKey{{Namespace: p.Namespace, Name: ref.Name}}
	}
	return nil
}

// source is the database with its credentials, that of the spec or the Database that it names, or why there is none.
func (r *run) source(ctx context.Context) (sqldb.Source, *problem, error) {
	ref := r.Obj.Spec.Source.DatabaseRef
	if ref == nil {
		r.direct = r.Obj
		return r.secrets.source(ctx, r.Obj, "")
	}
	db, err := r.database(ctx, client.ObjectKey{Namespace: r.Obj.Namespace, Name: ref.Name})
	if err != nil {
		return sqldb.Source{}, nil, err
	}
	if fault := unavailable(ref.Name, db); fault != nil {
		return sqldb.Source{}, fault, nil
	}
	direct := *r.Obj
	direct.Spec.Source = sourceOf(db)
	r.direct = &direct
	source, fault, err := r.secrets.source(ctx, r.direct, db.UID)
	if fault != nil {
		fault = unconnected(ref.Name)
	}
	return source, fault, err
}

// database reads a Database, nil if it does not exist.
func (r *run) database(ctx context.Context, key client.ObjectKey) (*databasesv1alpha1.Database, error) {
	db := &databasesv1alpha1.Database{}
	err := r.Client.Get(ctx, key, db)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the Database %s: %w", key.Name, err)
	}
	return db, nil
}
