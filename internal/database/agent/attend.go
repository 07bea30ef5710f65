// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/acme/platform-operator/internal/database/result"
	"github.com/acme/platform-operator/internal/database/server"
)

// refreshEvery is how often the accounts are compared though no file has changed.
const refreshEvery = 30 * time.Second

// check writes the configuration and has the server look at it.
func (r *runner) check(ctx context.Context, l server.Launch) error {
	if err := r.engine.Configure(l); err != nil {
		return err
	}
	cmd, err := r.engine.Check(l)
	if err != nil {
		return err
	}
	quiet, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = quiet.Close() }() // nothing is in it
	cmd.Stdout = quiet                   // all parameters; what is wrong is an error
	if err := r.output(ctx, cmd); err != nil {
		return fmt.Errorf("the server rejects the parameters: %w", err)
	}
	return nil
}

// copyCertificate puts the certificate where only the server reads it, which the server insists on; false without one.
func (r *runner) copyCertificate() (bool, error) {
	for _, name := range []string{"tls.crt", "tls.key"} {
		text, err := os.ReadFile(filepath.Join(r.TLSDir, name))
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("reading the certificate: %w", err)
		}
		if name == "tls.crt" && r.admin == nil {
			r.certificate = string(text)
		}
		to := filepath.Join(r.RunDir, strings.Replace(name, "tls", "server", 1))
		if err := os.WriteFile(to+".new", text, 0o600); err != nil {
			return false, fmt.Errorf("copying the certificate: %w", err)
		}
		if err := os.Rename(to+".new", to); err != nil {
			return false, fmt.Errorf("copying the certificate: %w", err)
		}
	}
	return true, nil
}

// attend keeps accounts, door and parameters as the files say, until the context or the server ends.
func (r *runner) attend(ctx context.Context, p *process) error {
	if err := r.admin.open(); err != nil {
		return err
	}
	defer r.admin.close()
	r.admin.db.SetMaxOpenConns(4)
	r.setPhase(result.Running)
	var refreshed time.Time
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		due := r.Now().Sub(refreshed).Abs() >= refreshEvery // a clock that was set back delays nothing
		err := r.tick(ctx, due)
		switch {
		case err == nil && due:
			refreshed = r.Now()
		case err != nil:
			refreshed = time.Time{}
			r.report(err.Error())
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.ended:
			return fmt.Errorf("the server %s; its log says why", describe(p.status))
		case <-ticker.C:
		}
	}
}

func (r *runner) tick(ctx context.Context, due bool) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	state, outside, err := r.admin.door(ctx)
	if err != nil {
		r.unready()
		return err
	}
	wanted, err := r.accounts()
	if err != nil {
		return err
	}
	mounted, err := r.mountedParameters()
	if err != nil {
		return err
	}
	certificate, err := os.ReadFile(filepath.Join(r.TLSDir, "tls.crt"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	seen := fingerprint(wanted, mounted, state, outside, string(certificate))
	if !due && seen == r.seen {
		return nil
	}
	if err := r.refresh(ctx, wanted, state); err != nil {
		r.unready()
		return err
	}
	r.applyParameters(ctx, mounted)
	r.seen = seen
	return r.applyCertificate(ctx, string(certificate))
}

func fingerprint(parts ...any) string {
	h := fnv.New128a()
	fmt.Fprintf(h, "%#v", parts)
	return string(h.Sum(nil))
}

func (r *runner) unready() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Ready = false
}

// refresh applies accounts and door, and asks for what the status has.
func (r *runner) refresh(ctx context.Context, wanted []account, state string) error {
	var accounts []result.Account
	err := r.admin.locked(ctx, func(conn *sql.Conn) error {
		_, outside, err := r.admin.door(ctx) // as of now that nobody else changes it
		if err != nil {
			return err
		}
		if err := run(ctx, conn, r.engine.SetDoor(r.Names, outside)); err != nil {
			return err
		}
		if err := r.applyAdmin(ctx, conn); err != nil {
			return err
		}
		accounts, err = r.admin.applyAccounts(ctx, conn, wanted, outside)
		return err
	})
	if err != nil {
		return fmt.Errorf("applying the accounts: %w", err)
	}
	version, errVersion := r.engine.Version(ctx, r.admin.db)
	filling, errFilling := r.admin.record(ctx, fillKey)
	setups, errSetups := r.admin.setups(ctx)
	if err := errors.Join(errVersion, errFilling, errSetups); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.status
	s.Accounts, s.Door, s.ServerVersion, s.Setups = accounts, state, version, setups
	if restored, found := strings.CutPrefix(filling, done); found && restored != copied {
		s.Restored = restored
	}
	if !s.Ready {
		s.Ready, s.Message, s.StartedAt = s.Phase == result.Running, "", r.Now().UTC().Format(time.RFC3339)
	}
	return nil
}

// applyAdmin gives the agent's own account the password that Jobs log in with.
func (r *runner) applyAdmin(ctx context.Context, conn *sql.Conn) error {
	password, err := r.secret("admin-password")
	if err != nil {
		return err
	}
	login, err := r.engine.Account(ctx, conn, result.Admin)
	if err != nil {
		return err
	}
	own := account{slot: "admin", name: result.Admin, password: password}
	if err := r.admin.applyPassword(ctx, conn, own, login.Stored, &result.Account{}); err != nil {
		return errors.New("the administrator's password: " + hide(err.Error(), password))
	}
	return nil
}

// applyParameters brings changed parameters into force without a restart, as far as the server can. What needs a restart is no part of
// those that were in force, with which a server starts that rejects the mounted ones.
func (r *runner) applyParameters(ctx context.Context, mounted map[string]string) {
	if maps.Equal(mounted, r.tried) {
		return
	}
	r.tried = mounted
	pending, err := r.reload(ctx, mounted)
	if err != nil {
		if l, errLaunch := r.launch(r.inForce); errLaunch == nil {
			err = errors.Join(err, r.engine.Configure(l)) // the files are to be those of the server, too
		}
		r.Log.Error("The parameters are not in force", "error", err.Error())
		r.setParameters(result.Parameters{Error: err.Error()})
		return
	}
	inForce := maps.Clone(mounted)
	for _, name := range pending {
		delete(inForce, name)
		if old, had := r.inForce[name]; had {
			inForce[name] = old
		}
	}
	r.inForce = inForce
	if err := r.keepParameters(inForce); err != nil {
		r.Log.Error("Keeping the parameters", "error", err.Error())
	}
	r.setParameters(result.Parameters{InForce: true, PendingRestart: pending})
}

func (r *runner) reload(ctx context.Context, mounted map[string]string) ([]string, error) {
	l, err := r.launch(mounted)
	if err != nil {
		return nil, err
	}
	if err := r.check(ctx, l); err != nil {
		return nil, err
	}
	return r.engine.Reload(ctx, r.admin.db, r.inForce, mounted)
}

// applyCertificate has the server read a renewed certificate.
func (r *runner) applyCertificate(ctx context.Context, certificate string) error {
	if certificate == r.certificate {
		return nil
	}
	before := r.certificate
	l, err := r.launch(r.inForce)
	if err != nil {
		return err
	}
	if before == "" {
		if err := r.engine.Configure(l); err != nil {
			return err
		}
	}
	if err := r.engine.ReloadCertificate(ctx, r.admin.db, l); err != nil {
		return fmt.Errorf("renewing the certificate: %w", err)
	}
	r.Log.Info("The certificate is renewed")
	r.certificate = certificate
	return nil
}

// storage asks the file system; what it does not say is 0.
func (r *runner) storage() (s result.Storage) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(r.DataDir, &fs); err == nil {
		s.Total, s.Free = int64(fs.Blocks)*fs.Bsize, int64(fs.Bavail)*fs.Bsize //nolint:gosec // G115: no file system is so large
	}
	return s
}
