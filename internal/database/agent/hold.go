// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// beatEvery is how often the holder of the data shows that it lives, silence how long it must be still to be dead. They matter
	// between machines only, and where the file system has no locks.
	beatEvery = 5 * time.Second
	silence   = 3*beatEvery + time.Second
)

// holder is the record of who has the data. Serving is true from before a server starts until it has ended in order: a lock file of a
// server that is found then was left by a server of ours.
type holder struct {
	Boot    string `json:"boot"`
	Beat    int64  `json:"beat"`
	Serving bool   `json:"serving"`
}

// hold is the lock on a data folder. The server inherits the file, so that the lock lasts until the server has ended too.
type hold struct {
	file *os.File

	mu   sync.Mutex
	mine holder
}

// bootFile changes with each start of a machine.
var bootFile = "/proc/sys/kernel/random/boot_id"

// takeHold waits until nobody else has the data: for the file's lock, and when another machine had it last and did not let go, until its
// beat stands still.
func takeHold(ctx context.Context, dir string, report func(string)) (*hold, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the agent's folder: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	boot, err := os.ReadFile(bootFile)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading which machine this is: %w", err), file.Close())
	}
	h := &hold{file: file, mine: holder{Boot: strings.TrimSpace(string(boot))}}
	if err := h.await(ctx, report); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return h, nil
}

func (h *hold) await(ctx context.Context, report func(string)) error {
	err := poll(ctx, 200*time.Millisecond, func() (bool, error) {
		err := syscall.Flock(int(h.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			report("another pod has this data: delete it, or wait until it ends")
			return false, nil
		}
		return true, err
	})
	if err != nil && !errors.Is(err, syscall.ENOLCK) && !errors.Is(err, syscall.ENOSYS) && !errors.Is(err, syscall.EOPNOTSUPP) {
		return fmt.Errorf("locking the data: %w", err)
	}
	locks := err == nil
	last := h.read()
	if last.Serving && (last.Boot != h.mine.Boot || !locks) {
		if err := h.awaitSilence(ctx, last, report); err != nil {
			return err
		}
	}
	h.mine.Serving, h.mine.Beat = h.read().Serving, last.Beat
	return nil
}

func (h *hold) awaitSilence(ctx context.Context, last holder, report func(string)) error {
	report("another machine had this data and did not let go: waiting until it shows no life for " + silence.String())
	for {
		timer := time.NewTimer(silence)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
		now := h.read()
		if now == last {
			return nil
		}
		last = now
	}
}

func (h *hold) read() (r holder) {
	text := make([]byte, 512)
	n, _ := h.file.ReadAt(text, 0) // a short file is what is expected
	_ = json.Unmarshal([]byte(strings.TrimRight(string(text[:n]), "\x00 \n")), &r)
	return r
}

// beat writes the record, in place: it always has the same length.
func (h *hold) beat() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mine.Beat++
	text, err := json.Marshal(h.mine)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(&at{h.file}, "%-511s\n", text); err != nil {
		return fmt.Errorf("writing the lock: %w", err)
	}
	return h.file.Sync()
}

// at writes at the begin of a file.
type at struct{ file *os.File }

func (a *at) Write(text []byte) (int, error) { return a.file.WriteAt(text, 0) }

// wasServing reports whether the last server here, which was one of ours, did not end in order.
func (h *hold) wasServing() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mine.Serving
}

func (h *hold) setServing(serving bool) error {
	h.mu.Lock()
	h.mine.Serving = serving
	h.mu.Unlock()
	return h.beat()
}

// release lets go of the data.
func (h *hold) release() error { return h.file.Close() }
