// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"os/exec"
	"strconv"
	"sync"
	"syscall"
)

// children starts processes and collects all that end, also those of others: the first process of a container inherits every process
// whose parent has ended.
type children struct {
	mu      sync.Mutex
	waiting map[int]chan syscall.WaitStatus
}

// process is a child that was started here.
type process struct {
	cmd    *exec.Cmd
	ended  chan struct{}
	status syscall.WaitStatus // valid when ended is closed
}

func newChildren() *children { return &children{waiting: map[int]chan syscall.WaitStatus{}} }

// reap collects children for each signal SIGCHLD; it ends with the channel.
func (c *children) reap(signals <-chan struct{}) {
	for range signals {
		c.collect()
	}
}

func (c *children) collect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if to := c.waiting[pid]; to != nil {
			delete(c.waiting, pid)
			to <- status
		}
	}
}

// start starts a process. Its output must be files, since nothing copies it.
func (c *children) start(cmd *exec.Cmd) (*process, error) {
	c.mu.Lock() // so that it is known before it is collected
	defer c.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, ended: make(chan struct{})}
	to := make(chan syscall.WaitStatus, 1)
	c.waiting[cmd.Process.Pid] = to
	go func() {
		p.status = <-to
		close(p.ended)
	}()
	return p, nil
}

// signal sends a signal to a process that has not ended.
func (c *children) signal(p *process, s syscall.Signal) {
	c.mu.Lock() // a process that is not collected keeps its number
	defer c.mu.Unlock()
	if c.waiting[p.cmd.Process.Pid] != nil {
		_ = syscall.Kill(p.cmd.Process.Pid, s) // it may have ended, and is collected soon
	}
}

// describe says how a process ended.
func describe(s syscall.WaitStatus) string {
	switch {
	case s.Signaled():
		return "was killed by signal " + s.Signal().String()
	case s.ExitStatus() == 0:
		return "ended"
	default:
		return "ended with exit code " + strconv.Itoa(s.ExitStatus())
	}
}
