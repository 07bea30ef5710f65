// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process runs programs in the background, each in a folder that knows it, and finds and ends them again.
package process

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/acme/platform-operator/hack/cluster/files"
)

const (
	// PollInterval is the pace at which the end of a process is looked at.
	PollInterval = 50 * time.Millisecond
	killGrace    = 5 * time.Second
)

// Process is a program in the background, running or not. Its folder has its process id in pids/Name and its
// log in logs/Name.log.
type Process struct {
	Name string // file name of the program
	Dir  string // absolute; an argument names a file in it, as in --flag=Dir/file
}

// Running is a process that this program has started.
type Running struct {
	Ended chan struct{} // closed when it has ended
	err   error         // how it ended; read it only after that
}

// LogPath is the file with all that the process writes.
func (p Process) LogPath() string { return filepath.Join(p.Dir, "logs", p.Name+".log") }

func (p Process) pidPath() string { return filepath.Join(p.Dir, "pids", p.Name) }

// LogTail returns the last n lines of the log, none when it cannot be read.
func (p Process) LogTail(n int) string {
	data, err := os.ReadFile(p.LogPath())
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Start runs cmd as the process, in a session of its own, so that it outlives this program and its terminal.
// cmd.Env should not be empty: what the process does must not depend on who starts it. launch starts cmd; nil is cmd.Start.
func (p Process) Start(cmd *exec.Cmd, launch func() error) (*Running, error) {
	for _, path := range []string{p.LogPath(), p.pidPath()} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("starting %s: %w", p.Name, err)
		}
	}
	log, err := os.OpenFile(p.LogPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.Name, err)
	}
	defer func() { _ = log.Close() }() // nothing is written through this handle
	cmd.Dir = p.Dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if launch == nil {
		launch = cmd.Start
	}
	if err := launch(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.Name, err)
	}
	r := &Running{Ended: make(chan struct{})}
	go func() {
		r.err = cmd.Wait()
		close(r.Ended)
	}()
	if err := files.Write(p.pidPath(), []byte(strconv.Itoa(cmd.Process.Pid)), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", p.Name, err), cmd.Process.Kill())
	}
	// One that never shows its command line is known by its number alone, as before.
	_ = awaitCommandLine(r, func() ([]byte, error) { return os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", cmd.Process.Pid)) })
	return r, nil
}

// awaitCommandLine waits until a command line can be read. Linux says that a program has started a moment before: in that
// moment its process would be taken for another one, and Stop would leave it running.
func awaitCommandLine(r *Running, read func() ([]byte, error)) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return Poll(ctx, time.Millisecond, r, func() error {
		if cmdline, err := read(); err != nil || len(cmdline) == 0 {
			return cmp.Or(err, errors.New("its command line is empty"))
		}
		return nil
	})
}

// Args is the command line of the process, nil when it does not run.
func (p Process) Args() []string {
	pid := p.PID()
	if pid == 0 {
		return nil
	}
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(cmdline), "\x00"), "\x00")
}

// PID is the process id, 0 when it does not run.
func (p Process) PID() int {
	data, err := os.ReadFile(p.pidPath())
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(data))
	if err != nil {
		return 0
	}
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !p.is(cmdline) {
		return 0
	}
	return pid
}

// is reports whether a command line (as in /proc/PID/cmdline) is that of the process. Linux gives the numbers of ended
// processes to new ones, so a number alone proves nothing.
func (p Process) is(cmdline []byte) bool {
	args := bytes.Split(cmdline, []byte{0})
	if filepath.Base(string(args[0])) != p.Name {
		return false
	}
	for _, arg := range args[1:] {
		if strings.Contains(string(arg), "="+p.Dir+"/") {
			return true
		}
	}
	return false
}

// Stop ends the process: asks first, and kills it when it is still there after grace. A process that does not run is
// no error.
func (p Process) Stop(grace time.Duration) error {
	pid := p.PID()
	if pid == 0 {
		return nil
	}
	handle, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("stopping %s: %w", p.Name, err)
	}
	defer func() { _ = handle.Release() }()
	if p.PID() != pid { // from here on the handle cannot mean another process
		return nil
	}
	if err := handle.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping %s (process %d): %w", p.Name, pid, err)
	}
	if p.awaitEnd(grace) == nil {
		return nil
	}
	if err := handle.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing %s (process %d): %w", p.Name, pid, err)
	}
	return p.awaitEnd(killGrace)
}

// awaitEnd waits until the process has ended. The error says that it did not within limit.
func (p Process) awaitEnd(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return Poll(ctx, PollInterval, nil, func() error {
		if pid := p.PID(); pid != 0 {
			return fmt.Errorf("%s (process %d) does not end", p.Name, pid)
		}
		return nil
	})
}

// Exit says how the process ended; call it only when it has.
func (r *Running) Exit() error {
	if r.err == nil {
		return errors.New("exit status 0")
	}
	return r.err
}

// Poll calls try every interval until it gives no error. It gives up when ctx ends, with the last error of try, or
// when r, which may be nil, has ended.
func Poll(ctx context.Context, interval time.Duration, r *Running, try func() error) error {
	var ended chan struct{} // stays nil, and silent, without r
	if r != nil {
		ended = r.Ended
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		last := try()
		if last == nil {
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("it ended: %w", r.Exit())
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), last)
		case <-ticker.C:
		}
	}
}
