// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/acme/platform-operator/internal/database/result"
	"github.com/acme/platform-operator/internal/database/server"
	"github.com/acme/platform-operator/internal/database/store"
)

// optional reads a key of the encryption, empty if there is none.
func (o Options) optional(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(o.EncryptionDir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("reading the key of the encryption: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

func ignoreCancelled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// watched passes a dump on. It calls begun once the dump has the mark in it, at the latest at its end, and keeps the end.
type watched struct {
	to    io.Writer
	mark  []byte
	begun func()
	end   []byte
}

const endSize = 512

func (w *watched) Write(b []byte) (int, error) {
	if w.begun != nil && bytes.Contains(append(w.end, b...), w.mark) {
		w.finish()
	}
	w.end = append(w.end, b[max(0, len(b)-endSize):]...)
	w.end = w.end[max(0, len(w.end)-endSize):]
	return w.to.Write(b)
}

func (w *watched) finish() {
	if w.begun != nil {
		w.begun()
		w.begun = nil
	}
}

// pipe runs the dump into a stream. begun is called exactly once.
func (a *admin) pipe(ctx context.Context, snapshot server.Snapshot, to io.Writer, begun func()) error {
	w := &watched{to: to, mark: []byte(a.engine.Begun()), begun: begun}
	defer w.finish()
	cmd, err := a.engine.Dump(a.target, snapshot)
	if err != nil {
		return err
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	output, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return result.Errorf(result.DumpFailed, "starting the dump: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() }) // it may have ended already
	defer stop()
	_, errCopy := io.CopyBuffer(struct{ io.Writer }{w}, output, make([]byte, 128<<10))
	if errCopy != nil {
		_ = cmd.Process.Kill() // nobody reads it
	}
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errCopy != nil:
		return errCopy
	case err != nil:
		return result.Errorf(result.DumpFailed, "the dump: %w: %s", err, server.LastLines(said.String()))
	case !bytes.Contains(w.end, []byte(a.engine.Ending())):
		return result.Errorf(result.DumpFailed, "the dump ends in the middle")
	}
	return nil
}

// rows counts the rows of all tables.
func rows(ctx context.Context, e server.Engine, db server.Queryer) (map[string]int64, error) {
	tables, err := e.Tables(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("listing the tables: %w", err)
	}
	counts := map[string]int64{}
	for _, t := range tables {
		name := e.Ident(t.Name)
		if t.Schema != "" {
			name = "ONLY " + e.Ident(t.Schema) + "." + name
		}
		var n int64
		if err := db.QueryRowContext(ctx, "SELECT count(*) FROM "+name).Scan(&n); err != nil {
			return nil, fmt.Errorf("counting the rows of %s: %w", t, err)
		}
		counts[t.String()] = n
	}
	return counts, nil
}

func total(counts map[string]int64) (n int64) {
	for _, rows := range counts {
		n += rows
	}
	return n
}

// countInto writes what is counted at the moment of the dump into the manifest; without a view of that moment only tables are counted.
func countInto(ctx context.Context, m *store.Manifest, e server.Engine, then server.Queryer, now server.Queryer) error {
	if then == nil {
		tables, err := e.Tables(ctx, now)
		m.Tables, m.Rows = len(tables), -1
		return err
	}
	counts, err := rows(ctx, e, then)
	m.Counts, m.Tables, m.Rows = counts, len(counts), total(counts)
	return err
}

// verifyChecksum reads every stored byte back.
func verifyChecksum(ctx context.Context, d store.Destination, m store.Manifest) error {
	data, err := store.OpenData(ctx, d, m)
	if err != nil {
		return err
	}
	defer data.Close()
	return data.Verify()
}

// verify reads the backup back, and its contents as far as there is a key to them.
func (o Options) verify(ctx context.Context, d store.Destination, m *store.Manifest) error {
	identity, err := o.optional("identity")
	if err != nil {
		return err
	}
	if m.Encrypted && identity == "" {
		if o.Verify == VerifyRestore {
			return result.Errorf(result.KeyMissing, "an encrypted backup can be restored with its key only: mount identity")
		}
		return verifyChecksum(ctx, d, *m)
	}
	if o.Verify == VerifyRestore {
		if err := o.tryRestore(ctx, d, *m, identity); err != nil {
			return err
		}
		m.Verified = result.VerifiedRestore
		return nil
	}
	return o.feed(ctx, d, *m, identity, func() (*exec.Cmd, error) {
		engine, err := o.engine()
		if err != nil {
			return nil, err
		}
		return engine.Contents(server.Target{})
	})
}

// feed gives the dump to a program, if there is one, and hashes all that is stored, also what the program does not read.
func (o Options) feed(ctx context.Context, d store.Destination, m store.Manifest, identity string, program func() (*exec.Cmd, error)) error {
	data, err := store.OpenData(ctx, d, m)
	if err != nil {
		return err
	}
	defer data.Close()
	plain, err := data.Plain(identity)
	if err != nil {
		return err
	}
	cmd, err := program()
	if err != nil {
		return err
	}
	var errProgram error
	if cmd != nil {
		errProgram = feedTo(ctx, cmd, plain)
	}
	_, errPlain := io.Copy(io.Discard, plain)
	if err := data.Verify(); err != nil {
		return err
	}
	if errPlain != nil {
		return result.Errorf(result.Corrupted, "the backup at %s cannot be unpacked: %w", m.Path, errPlain)
	}
	return errProgram
}

// feedTo runs a program with an input, which it need not read to its end.
func feedTo(ctx context.Context, cmd *exec.Cmd, from io.Reader) error {
	var said bytes.Buffer
	cmd.Stderr = &said
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return result.Errorf(result.RestoreFailed, "starting %s: %w", filepath.Base(cmd.Path), err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() }) // it may have ended already
	defer stop()
	_, errCopy := io.CopyBuffer(struct{ io.Writer }{input}, from, make([]byte, 128<<10))
	if errCopy != nil && !isBrokenPipe(errCopy) {
		_ = cmd.Process.Kill() // it is not to take half an input for a whole one
	}
	_ = input.Close() // the program may have closed it
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errCopy != nil && !isBrokenPipe(errCopy):
		return errCopy
	case err != nil:
		return result.Errorf(result.RestoreFailed, "%s: %w: %s", filepath.Base(cmd.Path), err, server.LastLines(said.String()))
	}
	return nil
}
