// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/acme/platform-operator/internal/database/result"
	"github.com/acme/platform-operator/internal/database/server"
)

// account is what the mounted Secret wants of one account.
type account struct {
	slot, name string
	password   string // without one there is no login
	revision   string
	problem    string
}

// verifier matches what PostgreSQL stores as it is, in place of the digest of a password.
var verifier = regexp.MustCompile(`^(md5[0-9a-f]{32}$|SCRAM-SHA-256\$)`)

// checkPassword returns a password that can be set, or what is wrong with it.
func checkPassword(databaseType, password string) (good, problem string) {
	switch {
	case strings.ContainsRune(password, 0):
		return "", "the password has a NUL character: set another"
	case !utf8.ValidString(password): // what a server says of it has some of its bytes
		return "", "the password is not UTF-8 text: set another"
	case databaseType == result.Postgres && verifier.MatchString(password):
		return "", "PostgreSQL takes a password like this for the digest of another one: set another"
	}
	return password, ""
}

// accounts reads what is wanted of the user's accounts.
func (o Options) accounts() ([]account, error) {
	var list []account
	for _, slot := range []string{result.SlotA, result.SlotB} {
		w := account{slot: slot, name: result.AccountName(o.Type, o.Names.User, slot)}
		password, err := o.secret(slot + "-password")
		switch {
		case result.ReasonOf(err) == result.KeyMissing:
			if _, missing := os.Stat(filepath.Join(o.AccountsDir, slot+"-password")); missing == nil {
				w.problem = err.Error()
			}
		case err != nil:
			return nil, err
		default:
			w.password, w.problem = checkPassword(o.Type, password)
		}
		revision, err := os.ReadFile(filepath.Join(o.AccountsDir, slot+"-revision"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		w.revision = strings.TrimSpace(string(revision))
		list = append(list, w)
	}
	return list, nil
}

// applied is the record of the password that was set last. Stored is a digest of what the server keeps: when that changes, somebody
// else has set the password.
type applied struct {
	Name     string `json:"name"`
	Salt     []byte `json:"salt"`
	Sum      []byte `json:"sum"`
	Stored   []byte `json:"stored"`
	Revision string `json:"revision"`
}

func (r applied) matches(password, stored string) bool {
	sum, err := derive(password, r.Salt)
	return err == nil && bytes.Equal(sum, r.Sum) && bytes.Equal(digest(stored), r.Stored)
}

func derive(password string, salt []byte) ([]byte, error) {
	return pbkdf2.Key(sha256.New, password, salt, 4096, 32)
}

func digest(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// applyAccounts makes the accounts what the Secret wants. The trouble of one account does not stop the other; it is in the account's
// error. conn holds the agents' lock.
func (a *admin) applyAccounts(ctx context.Context, conn *sql.Conn, wanted []account, outside bool) ([]result.Account, error) {
	var list []result.Account
	for _, w := range wanted {
		login, err := a.engine.Account(ctx, conn, w.name)
		if err != nil {
			return nil, fmt.Errorf("reading the account %s: %w", w.name, err)
		}
		if !login.Exists && w.password == "" && w.problem == "" {
			continue
		}
		state := result.Account{Slot: w.slot, Name: w.name, Error: w.problem}
		if err := a.applyAccount(ctx, conn, w, outside, &state); err != nil {
			state.Error = strings.TrimPrefix(state.Error+"; "+hide(err.Error(), w.password), "; ")
		}
		list = append(list, state)
	}
	return list, nil
}

// hide takes a password out of a message.
func hide(message, password string) string {
	if password == "" {
		return message
	}
	return strings.ReplaceAll(message, password, "***")
}

func (a *admin) applyAccount(ctx context.Context, conn *sql.Conn, w account, outside bool, state *result.Account) error {
	login, err := a.makeAccount(ctx, conn, w)
	if err != nil || !login.Exists {
		return err
	}
	var errPassword error
	if w.problem == "" && w.password != "" {
		errPassword = a.applyPassword(ctx, conn, w, login.Stored, state)
	}
	// With a problem the account keeps the password that it has.
	can := !outside && (w.password != "" || w.problem != "")
	state.Login = can
	return errors.Join(errPassword, a.applyLogin(ctx, conn, w.name, login.CanLogin, can))
}

// makeAccount returns the account, and makes it if it is missing and nothing is wrong with what is wanted.
func (a *admin) makeAccount(ctx context.Context, conn *sql.Conn, w account) (server.Login, error) {
	login, err := a.engine.Account(ctx, conn, w.name)
	if err != nil || login.Exists || w.problem != "" {
		return login, err
	}
	if err := run(ctx, conn, a.engine.Create(a.names, w.name)); err != nil {
		return login, err
	}
	return a.engine.Account(ctx, conn, w.name)
}

// applyLogin gives an account its login, or takes it together with its sessions.
func (a *admin) applyLogin(ctx context.Context, conn *sql.Conn, name string, could, can bool) error {
	if could == can {
		return nil
	}
	if err := run(ctx, conn, a.engine.SetLogin(name, can)); err != nil || can {
		return err
	}
	_, err := a.engine.EndSessions(ctx, conn, []string{name})
	return err
}

// applyPassword sets the password unless it is in force, and records what it has set. After a crash between the two it sets it again.
func (a *admin) applyPassword(ctx context.Context, conn *sql.Conn, w account, stored string, state *result.Account) error {
	text, err := a.record(ctx, accountKey+w.slot)
	if err != nil {
		return err
	}
	var r applied
	if text != "" {
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			return fmt.Errorf("reading the record of the account: %w", err)
		}
	}
	state.Revision = r.Revision
	if r.Name == w.name && r.matches(w.password, stored) {
		state.InForce = true
		if r.Revision == w.revision {
			return nil
		}
	} else if err := run(ctx, conn, a.engine.SetPassword(w.name, w.password)); err != nil {
		return err
	}
	return a.recordPassword(ctx, conn, w, state)
}

func (a *admin) recordPassword(ctx context.Context, conn *sql.Conn, w account, state *result.Account) error {
	login, err := a.engine.Account(ctx, conn, w.name)
	if err != nil {
		return err
	}
	r := applied{Name: w.name, Salt: make([]byte, 16), Stored: digest(login.Stored), Revision: w.revision}
	_, _ = rand.Read(r.Salt) // it never fails
	if r.Sum, err = derive(w.password, r.Salt); err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := a.setRecord(ctx, accountKey+w.slot, string(text)); err != nil {
		return err
	}
	state.InForce, state.Revision = true, w.revision
	return nil
}

// run runs statements; an error does not quote them.
func run(ctx context.Context, conn *sql.Conn, statements []string) error {
	for _, statement := range statements {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("changing an account: %w", err)
		}
	}
	return nil
}
