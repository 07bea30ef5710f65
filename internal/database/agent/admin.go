// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/acme/platform-operator/internal/database/result"
	"github.com/acme/platform-operator/internal/database/server"
)

// Keys of the records that the agent keeps inside the server.
const (
	doorKey    = "door"
	fillKey    = "filling" // a restore or a copy: "begun WHAT" or "done WHAT"
	accountKey = "account/"

	checking = "checking " // whether the database is empty; nothing was done yet
	begun    = "begun "
	done     = "done "

	copied = "copy" // WHAT of a copy; that of a restore is the path of the backup
)

// admin is the agent's own account in a server.
type admin struct {
	engine server.Engine
	names  server.Names
	target server.Target
	now    func() time.Time
	db     *sql.DB // connected to the agent's database
}

func (a *admin) open() (err error) {
	t := a.target
	t.Database = result.AdminDatabase
	a.db, err = a.engine.Open(t)
	return err
}

func (a *admin) close() { _ = a.db.Close() } // nothing was left to write

// use runs f with a pool of connections to the user's database.
func (a *admin) use(f func(db *sql.DB) error) (err error) {
	db, err := a.engine.Open(a.target)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return f(db)
}

// record returns a record of the agent, empty if there is none.
func (a *admin) record(ctx context.Context, key string) (value string, err error) {
	err = a.db.QueryRowContext(ctx, "SELECT v FROM "+a.engine.Records()+" WHERE k = "+a.engine.Literal(key)).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the record %s: %w", key, err)
	}
	return value, nil
}

func (a *admin) setRecord(ctx context.Context, key, value string) error {
	if _, err := a.db.ExecContext(ctx, a.engine.Upsert(key, value)); err != nil {
		return fmt.Errorf("writing the record %s: %w", key, err)
	}
	return nil
}

// locked runs f while no other agent of this server does.
func (a *admin) locked(ctx context.Context, f func(conn *sql.Conn) error) (err error) {
	conn, err := a.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	var got int
	if err := conn.QueryRowContext(ctx, a.engine.Lock()).Scan(&got); err != nil || got != 1 {
		return errors.Join(err, errors.New("another agent has been changing accounts for a minute"))
	}
	defer func() {
		_, errUnlock := conn.ExecContext(context.WithoutCancel(ctx), a.engine.Unlock())
		err = errors.Join(err, errUnlock)
	}()
	return f(conn)
}

// door tells what is recorded, and whether users have to stay outside: also while a restore or a copy fills the database.
func (a *admin) door(ctx context.Context) (state string, outside bool, err error) {
	state, err = a.record(ctx, doorKey)
	if err != nil {
		return "", false, err
	}
	if state == "" {
		state = result.DoorOpen
	}
	filling, err := a.record(ctx, fillKey)
	return state, state == result.DoorClosed || strings.HasPrefix(filling, begun) || strings.HasPrefix(filling, checking), err
}

// setDoor records the state, then applies it, and when the door is closed waits until no session of the user is left.
func (a *admin) setDoor(ctx context.Context, state string, wanted []account) (ended int, err error) {
	if err := a.setRecord(ctx, doorKey, state); err != nil {
		return 0, err
	}
	return a.applyDoor(ctx, wanted)
}

func (a *admin) applyDoor(ctx context.Context, wanted []account) (ended int, err error) {
	outside := false
	err = a.locked(ctx, func(conn *sql.Conn) error {
		var err error
		if _, outside, err = a.door(ctx); err != nil {
			return err
		}
		for _, statement := range a.engine.SetDoor(a.names, outside) {
			if _, err := conn.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("closing or opening the door: %w", err)
			}
		}
		if outside { // those that there are; accounts that lose their login lose their sessions with it
			if ended, err = a.engine.EndSessions(ctx, conn, namesOf(wanted)); err != nil {
				return err
			}
		}
		_, err = a.applyAccounts(ctx, conn, wanted, outside)
		return err
	})
	if err != nil || !outside {
		return 0, err
	}
	return ended, a.endSessions(ctx, wanted)
}

func namesOf(wanted []account) []string {
	names := make([]string, len(wanted))
	for i, w := range wanted {
		names[i] = w.name
	}
	return names
}

// endSessions returns when the accounts have no session.
func (a *admin) endSessions(ctx context.Context, wanted []account) (err error) {
	conn, err := a.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	err = poll(ctx, 50*time.Millisecond, func() (bool, error) {
		n, err := a.engine.EndSessions(ctx, conn, namesOf(wanted))
		return err != nil || n == 0, err
	})
	if err != nil {
		return result.Errorf(result.DoorNotClosed, "ending the sessions of the user: %w", err)
	}
	return nil
}

// Door closes or opens the door of a server. The state is recorded inside the server before anything is done, so that the next to come
// finishes or undoes it.
func Door(ctx context.Context, o Options) (*result.Door, error) {
	if o.State != result.DoorClosed && o.State != result.DoorOpen {
		return nil, result.Errorf(result.InvalidInput, "the state %q is neither %s nor %s", o.State, result.DoorOpen, result.DoorClosed)
	}
	a, err := o.connect(ctx, o.Host)
	if err != nil {
		return nil, err
	}
	defer a.close()
	wanted, err := o.accounts()
	if err != nil {
		return nil, err
	}
	ended, err := a.setDoor(ctx, o.State, wanted)
	return &result.Door{State: o.State, Ended: ended}, err
}
