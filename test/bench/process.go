// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a running operator.
type process struct {
	cmd            *exec.Cmd
	kind           string
	metrics, ready string
	log            string
	started        time.Time
	ended          chan struct{} // closed when it has ended
}

// stopGrace is how long an operator may take to stop before it is killed.
const stopGrace = time.Minute

// start starts the operator as the only replica: without an election it renews no lease, so that every
// request that it makes is made for its kinds.
func (l *lab) start(c *cluster, kind string) (*process, error) {
	metrics, err := freeAddress()
	if err != nil {
		return nil, err
	}
	probes, err := freeAddress()
	if err != nil {
		return nil, err
	}
	p := &process{
		kind: kind, metrics: "http://" + metrics + "/metrics", ready: "http://" + probes + "/readyz",
		log: filepath.Join(l.dir, "manager.log"), ended: make(chan struct{}),
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("starting the operator: %w", err)
	}
	defer func() { _ = log.Close() }() // nothing is written through this handle
	p.cmd = exec.Command(l.manager, "--kubeconfig="+c.kubeconfig, "--namespace="+ownNamespace, "--webhook-port=-1",
		"--metrics-secure=false", "--metrics-bind-address="+metrics, "--health-probe-bind-address="+probes)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.started = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the operator: %w", err)
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is asked where it matters, in stop
		close(p.ended)
	}()
	return p, nil
}

// freeAddress is an address on loopback that nobody listens on.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("choosing a port: %w", err)
	}
	return l.Addr().String(), l.Close()
}

// stop ends the operator gracefully. One that had ended before, or does not end well, is an error.
func (p *process) stop() error {
	if err := p.alive(); err != nil {
		return err
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping the operator: %w", err)
	}
	select {
	case <-p.ended:
	case <-time.After(stopGrace):
		return errors.Join(fmt.Errorf("the operator did not stop within %s", stopGrace), p.cmd.Process.Kill())
	}
	if !p.cmd.ProcessState.Success() {
		return fmt.Errorf("the operator ended with %s", p.cmd.ProcessState)
	}
	return nil
}

func (p *process) alive() error {
	select {
	case <-p.ended:
		return fmt.Errorf("the operator has ended (%s)", p.cmd.ProcessState)
	default:
		return nil
	}
}

// logTail is how many lines of a log are shown after an error.
const logTail = 10

// logTail is the end of the operator's log.
func (p *process) logTail() string { return tailOf(p.log) }

// tailOf is the end of a log.
func tailOf(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-logTail):], "\n")
}

// pids is the operator's process.
func (p *process) pids() ([]string, error) { return []string{strconv.Itoa(p.cmd.Process.Pid)}, nil }

// awaitReady waits until the operator says that its caches are filled.
func (p *process) awaitReady(ctx context.Context) error {
	return poll(ctx, "the operator is ready", 20*time.Millisecond, func(ctx context.Context) (bool, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.ready, nil)
		if err != nil {
			return false, err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false, p.alive()
		}
		return resp.StatusCode == http.StatusOK, resp.Body.Close()
	})
}

// quiet is how long the operator must do nothing to count as idle.
const quiet = 3 * time.Second

// awaitIdle waits until the operator has run at least so many reconciles, its queue is empty, and it has
// done nothing for a while. It gives the time when that began, and what the operator counted up to now.
func (p *process) awaitIdle(ctx context.Context, least int) (since time.Time, now counters, err error) {
	err = poll(ctx, "the operator is idle", 50*time.Millisecond, func(ctx context.Context) (bool, error) {
		if err := p.alive(); err != nil {
			return false, err
		}
		got, err := p.count(ctx)
		if err != nil {
			return false, err
		}
		busy := got.queued > 0 || got.reconciles < float64(least)
		if busy || since.IsZero() || got.reconciles != now.reconciles {
			since = time.Now()
		}
		now = got
		return !busy && time.Since(since) >= quiet, nil
	})
	return since, now, err
}

// secondLook is when the operator has looked once more at all that it has restarted: it does so after 20 to 22 seconds.
const secondLook = 23 * time.Second

// looked waits until the operator has looked once more at what it has restarted up to now, and is idle.
func (p *process) looked(ctx context.Context) (counters, error) {
	if err := sleepUntil(ctx, time.Now().Add(secondLook)); err != nil {
		return counters{}, err
	}
	_, now, err := p.awaitIdle(ctx, 0)
	return now, err
}

// memory is what a process has in physical memory, in MiB.
type memory struct {
	Resident float64 `json:"resident"`
	Peak     float64 `json:"peak"`
}

// memory is the operator's.
func (p *process) memory() (memory, error) { return memoryOfProcess(strconv.Itoa(p.cmd.Process.Pid)) }

// memoryOfProcess reads VmRSS and VmHWM.
func memoryOfProcess(pid string) (m memory, err error) {
	data, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return m, fmt.Errorf("reading the memory of a process: %w", err)
	}
	for line := range bytes.Lines(data) {
		name, value, _ := strings.Cut(string(line), ":")
		into := map[string]*float64{"VmRSS": &m.Resident, "VmHWM": &m.Peak}[name]
		if into == nil {
			continue
		}
		kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 64)
		if err != nil {
			return m, fmt.Errorf("reading the memory of a process: %w", err)
		}
		*into = kib / 1024
	}
	return m, nil
}
