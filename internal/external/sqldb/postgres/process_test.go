// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"net/netip"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/acme/platform-operator/internal/external/sqldb"
	"github.com/acme/platform-operator/internal/external/sqldb/sqltest"
)

// TestTerminate ends a process of the user, and no other that has its number by now.
func TestTerminate(t *testing.T) {
	server := sqltest.StartPostgres(t)
	dialer := &sqldb.Dialer{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	opened, err := Driver{}.Open(server.Source, dialer.For("ns"), sqldb.Limits{Connect: time.Minute, Statement: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	d := opened.(*database)
	session, err := pgconn.ConnectConfig(t.Context(), &d.config.Config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close(t.Context()) })
	p, known := session.CustomData()[processKey].(process)
	if !known || p.pid != session.PID() {
		t.Fatalf("the process is %+v, want %d", p, session.PID())
	}
	for _, other := range []process{{p.pid, "2026-01-02 03:04:05.000006"}, {p.pid + 1, p.started}} {
		d.terminate(t.Context(), other)
		if err := session.Exec(t.Context(), "SELECT 1").Close(); err != nil {
			t.Fatalf("%+v was to be ended, and %+v was: %v", other, p, err)
		}
	}
	d.terminate(t.Context(), p)
	if err := session.Exec(t.Context(), "SELECT pg_sleep(60)").Close(); err == nil {
		t.Error("the process is still there")
	}
}
