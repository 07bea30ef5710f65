// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/client-go/tools/events"
)

// fileWatch is a watcher of a file. It runs in a synctest bubble, where time passes only while everybody waits.
type fileWatch struct {
	t         *testing.T
	file      string
	metrics   *Metrics
	events    chan string
	restarted []*Source
}

func newFileWatch(ctx context.Context, t *testing.T, text, namespace string) *fileWatch {
	t.Helper()
	f := &fileWatch{t: t, file: filepath.Join(t.TempDir(), "config.yaml"), events: make(chan string, 10)}
	writeFile(t, f.file, text)
	running, err := Load(ctx, nil, f.file, namespace)
	if err != nil {
		t.Fatal(err)
	}
	if f.metrics, err = NewMetrics(prometheus.NewRegistry()); err != nil {
		t.Fatal(err)
	}
	watcher, err := NewWatcher(Options{
		Running: running, File: f.file, Namespace: namespace, Metrics: f.metrics,
		Recorder: &events.FakeRecorder{Events: f.events, Verbose: true},
		Restart:  func(next *Source) { f.restarted = append(f.restarted, next) },
	})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if err := watcher.Start(ctx); err != nil {
			t.Errorf("watching ended with %v", err)
		}
	}()
	synctest.Wait()
	return f
}

// look lets time pass until the watcher has looked at the file the given number of times.
func (f *fileWatch) look(times int) {
	<-time.After(time.Duration(times) * PollInterval) // in the time of the bubble
	synctest.Wait()
}

// expect compares all that the watcher has done so far.
func (f *fileWatch) expect(when string, restarts, events int, valid, applied, rejected float64) {
	f.t.Helper()
	got := fmt.Sprint(len(f.restarted), len(f.events), testutil.ToFloat64(f.metrics.valid),
		testutil.ToFloat64(f.metrics.reloads.WithLabelValues("applied")), testutil.ToFloat64(f.metrics.reloads.WithLabelValues("rejected")))
	if want := fmt.Sprint(restarts, events, valid, applied, rejected); got != want {
		f.t.Errorf("%s: restarts, events, valid, applied, rejected = %s, want %s", when, got, want)
	}
}

// inBubble runs test in a synctest bubble, which ends when the watcher has: by the end of its context.
func inBubble(t *testing.T, test func(ctx context.Context, t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t.Context(), t) })
}

func TestFileChanges(t *testing.T) {
	inBubble(t, func(ctx context.Context, t *testing.T) {
		f := newFileWatch(ctx, t, header, "ops")
		f.look(3)
		f.expect("unchanged", 0, 0, 1, 0, 0)

		writeFile(t, f.file, "# the same meaning\n"+header)
		f.look(3)
		f.expect("equal", 0, 0, 1, 0, 0)

		writeFile(t, f.file, header+"foo: 1")
		f.look(5)
		f.expect("invalid for long", 0, 1, 0, 0, 1)

		writeFile(t, f.file, header+"foo: 2")
		f.look(3)
		f.expect("invalid in another way", 0, 2, 0, 0, 2)

		writeFile(t, f.file, header)
		f.look(3)
		f.expect("as it was", 0, 2, 1, 0, 2)

		writeFile(t, f.file, header+"foo: 2")
		f.look(3)
		f.expect("invalid again", 0, 3, 0, 0, 3)

		if err := os.Remove(f.file); err != nil {
			t.Fatal(err)
		}
		f.look(3)
		f.expect("gone", 0, 4, 0, 0, 4)

		writeFile(t, f.file, header+"acmeNamespace: {maxConcurrentReconciles: 11}")
		f.look(2)
		f.expect("valid", 1, 4, 1, 1, 4)
		if got := *f.restarted[0].Config.AcmeNamespace.MaxConcurrentReconciles; got != 11 {
			t.Errorf("restarted with %d reconciles, want 11", got)
		}

		writeFile(t, f.file, header+"acmeNamespace: {maxConcurrentReconciles: 12}")
		f.look(5)
		f.expect("after the restart was asked for", 1, 4, 1, 1, 4)
	})
}

// A mounted ConfigMap is a link to a directory that is swapped as a whole.
func TestFileBehindSwappedLink(t *testing.T) {
	inBubble(t, func(ctx context.Context, t *testing.T) {
		f := newFileWatch(ctx, t, header, "ops")
		next := filepath.Join(filepath.Dir(f.file), "next")
		writeFile(t, next, header+"acmeNamespace: {maxConcurrentReconciles: 11}")
		link := next + ".link"
		if err := os.Symlink(next, link); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(link, f.file); err != nil {
			t.Fatal(err)
		}
		f.look(2)
		f.expect("swapped", 1, 0, 1, 1, 0)
	})
}

// An editor that empties the file before it writes must not bring the defaults into effect.
func TestFileHalfWritten(t *testing.T) {
	inBubble(t, func(ctx context.Context, t *testing.T) {
		text := header + "acmeNamespace: {maxConcurrentReconciles: 11}"
		f := newFileWatch(ctx, t, text, "ops")
		writeFile(t, f.file, "")
		f.look(1)
		writeFile(t, f.file, text)
		f.look(3)
		f.expect("emptied and written again", 0, 0, 1, 0, 0)
	})
}

func TestFileEvent(t *testing.T) {
	inBubble(t, func(ctx context.Context, t *testing.T) {
		f := newFileWatch(ctx, t, header, "ops")
		writeFile(t, f.file, header+strings.Repeat("é", 2*maxNote)+": 1")
		f.look(2)
		event := <-f.events
		const want = "Warning ConfigInvalid ReloadConfig The previous configuration remains in effect: reading the configuration from file "
		if !strings.HasPrefix(event, want) || !strings.Contains(event, "Namespace") {
			t.Errorf("event %q", event)
		}
	})
}

func TestFileEventNeedsANamespace(t *testing.T) {
	inBubble(t, func(ctx context.Context, t *testing.T) {
		f := newFileWatch(ctx, t, header, "")
		writeFile(t, f.file, header+"foo: 1")
		f.look(2)
		f.expect("invalid", 0, 0, 0, 0, 1)
	})
}

// The API server rejects a longer note, and one that is cut within a character.
func TestNoteFits(t *testing.T) {
	for length := range 8 {
		got := note(errors.New(strings.Repeat("x", length) + strings.Repeat("é", maxNote)))
		if len(got) > maxNote || len(got) < maxNote-4 || !utf8.ValidString(got) || !strings.HasSuffix(got, " …") {
			t.Errorf("note of %d bytes: %q", len(got), got)
		}
	}
	if got := note(errors.New("short")); got != "The previous configuration remains in effect: short" {
		t.Errorf("short note: %q", got)
	}
}

func TestNewWatcherNeedsItsOptions(t *testing.T) {
	if _, err := NewWatcher(Options{}); err == nil {
		t.Error("no error")
	}
}

func TestNothingToWatch(t *testing.T) {
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	running, err := Load(t.Context(), nil, "", "")
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := NewWatcher(Options{
		Running: running, Metrics: metrics, Recorder: &events.FakeRecorder{},
		Restart: func(*Source) { t.Error("restarted") },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := watcher.Start(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestMetricsRegisterOnce(t *testing.T) {
	registry := prometheus.NewRegistry()
	if _, err := NewMetrics(registry); err != nil {
		t.Fatal(err)
	}
	if _, err := NewMetrics(registry); err == nil {
		t.Error("registered twice without an error")
	}
	names := []string{"platform_operator_config_valid", "platform_operator_config_reloads_total"}
	if got, err := testutil.GatherAndCount(registry, names...); err != nil || got != 3 {
		t.Errorf("%d series of %v, %v; want 3", got, names, err)
	}
}
