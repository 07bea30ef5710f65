// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acme/platform-operator/internal/database/result"
	"github.com/acme/platform-operator/internal/testenv/limit"
)

// kills is how often each verb is killed at a random moment: never where LABELS leaves that out. `make test-agent-kills` sets 30.
func kills() int {
	if !limit.Selected(limit.Random) {
		return 0
	}
	if n, err := strconv.Atoi(os.Getenv("AGENT_KILLS")); err == nil {
		return n
	}
	return 3
}

func (p *pod) remove(name string) {
	p.t.Helper()
	if err := os.Remove(p.path(name)); err != nil {
		p.t.Fatal(err)
	}
}

// noFileHas fails the test if a file with the ending holds the text.
func (p *pod) noFileHas(dir, ending, text string) {
	p.t.Helper()
	files, err := filepath.Glob(p.path(dir) + "/*" + ending)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, file := range files {
		if content, err := os.ReadFile(file); err != nil || strings.Contains(string(content), text) {
			p.t.Errorf("%s holds %q (%v)", file, text, err)
		}
	}
}

// ledger writes rows and keeps, outside of the database, which of them were acknowledged.
type ledger struct {
	p    *pod
	stop context.CancelFunc
	done sync.WaitGroup

	mu  sync.Mutex
	ids []int
}

func (p *pod) keepLedger() *ledger {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	l := &ledger{p: p, stop: cancel}
	db := p.user()
	l.done.Go(func() {
		for id := 1; ctx.Err() == nil; id++ {
			if _, err := db.ExecContext(ctx, "INSERT INTO ledger VALUES ("+strconv.Itoa(id)+")"); err != nil {
				select {
				case <-ctx.Done():
				case <-time.After(20 * time.Millisecond): // the server is away
				}
				continue
			}
			l.mu.Lock()
			l.ids = append(l.ids, id)
			l.mu.Unlock()
		}
	})
	return l
}

func (l *ledger) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.ids)
}

// check stops writing and compares.
func (l *ledger) check() {
	l.p.t.Helper()
	l.stop()
	l.done.Wait()
	rows, err := l.p.user().QueryContext(l.p.t.Context(), "SELECT id FROM ledger")
	if err != nil {
		l.p.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	there := map[int]bool{}
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			l.p.t.Fatal(err)
		}
		there[id] = true
	}
	if err := rows.Err(); err != nil {
		l.p.t.Fatal(err)
	}
	for _, id := range l.ids {
		if !there[id] {
			l.p.t.Errorf("row %d was acknowledged and is gone", id)
		}
	}
	l.p.t.Logf("%d rows were acknowledged", len(l.ids))
}

func random(most time.Duration) time.Duration { return time.Duration(rand.Int64N(int64(most))) }

func TestKillsOfTheServerLoseNoAcknowledgedRow(t *testing.T) {
	limit.Labeled(t, limit.Random)
	t.Parallel()
	forEngines(t, func(t *testing.T, kind string) {
		p := newPod(t, kind)
		p.start()
		p.exec(p.user(), "CREATE TABLE ledger (id int PRIMARY KEY)")
		l := p.keepLedger()
		for range kills() {
			before := l.size()
			p.eventually("rows are written", func() error {
				if l.size() < before+20 {
					return fmt.Errorf("%d rows", l.size())
				}
				return nil
			})
			<-time.After(random(300 * time.Millisecond)) // the random moment is what is tested
			p.kill()
			p.start()
		}
		l.check()
	})
}

func TestKillsWhileItInitialisesLeaveNothingHalfMade(t *testing.T) {
	limit.Labeled(t, limit.Random)
	t.Parallel()
	forEngines(t, func(t *testing.T, kind string) {
		p := newPod(t, kind)
		for range kills() {
			p.launch()
			select {
			case <-p.exited:
			case <-time.After(random(3 * time.Second)):
			}
			p.kill()
		}
		p.start()
		p.exec(p.user(), "CREATE TABLE t (id int)", "INSERT INTO t VALUES (1)")
		if s, err := p.status(); err != nil || s.Phase != result.Running {
			t.Errorf("it is %+v (%v)", s, err)
		}
	})
}

// killJob kills a Job at a random moment, unless it ends before, and returns whether it was killed.
func (p *pod) killJob(most time.Duration, verb string, args ...string) bool {
	p.t.Helper()
	cmd, _ := p.jobCommand(verb, args...)
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	timer := time.AfterFunc(random(most), func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	return cmd.Wait() != nil
}
