/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/acme/platform-operator/hack/cluster/files"
)

const (
	// stopGrace is how long the operator may take to hand its lease over and to end.
	stopGrace = 15 * time.Second
	killGrace = 5 * time.Second
)

// spawn starts the operator in a session of its own, so that it outlives this program and its terminal,
// and with nothing in its environment that could change what it does. The channel tells how it ended.
func (s *session) spawn(want *started) (ended <-chan error, err error) {
	log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // nothing is written through this handle
	cmd := exec.Command(s.operatorBinary(), want.Args...)
	cmd.Dir = s.path()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.path("operator")}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	end := make(chan error, 1)
	go func() {
		if err := cmd.Wait(); err != nil {
			end <- err
			return
		}
		end <- errors.New("exit status 0")
	}()
	want.PID = cmd.Process.Pid
	record, err := json.MarshalIndent(want, "", "  ")
	if err != nil {
		return nil, err
	}
	return end, files.Write(s.startedPath(), append(record, '\n'), 0o600)
}

// operatorPIDs finds the processes of this demo's operator by their command lines: process numbers are
// reused, and a record of one can get lost.
func (d *demo) operatorPIDs() ([]int, error) {
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, path := range paths {
		cmdline, err := os.ReadFile(path)
		if err != nil || !isOperator(cmdline, d.kubeconfigFlag()) { // it has ended, or it is another
			continue
		}
		pid, err := strconv.Atoi(strings.Split(path, "/")[2])
		if err != nil {
			return nil, err
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// isOperator says whether a command line (as in /proc/PID/cmdline) is that of the operator that was
// given the flag, which names a file of this demo.
func isOperator(cmdline []byte, flag string) bool {
	args := bytes.Split(cmdline, []byte{0})
	return filepath.Base(string(args[0])) == manager &&
		slices.ContainsFunc(args[1:], func(arg []byte) bool { return string(arg) == flag })
}

// stopOperator ends the operator and tells whether there was one: it asks first, and kills what is still
// there after a while.
func (d *demo) stopOperator(ctx context.Context) (stopped bool, err error) {
	pids, err := d.operatorPIDs()
	if err != nil {
		return false, err
	}
	for _, pid := range pids {
		if err := d.stopProcess(ctx, pid); err != nil {
			return stopped, fmt.Errorf("stopping the operator (process %d): %w", pid, err)
		}
		stopped = true
	}
	return stopped, nil
}

func (d *demo) stopProcess(ctx context.Context, pid int) error {
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	defer func() { _ = process.Release() }()
	for _, try := range []struct {
		signal os.Signal
		grace  time.Duration
	}{{syscall.SIGTERM, stopGrace}, {syscall.SIGKILL, killGrace}} {
		// The handle means the process that has the number now, so it is looked at once more.
		if pids, err := d.operatorPIDs(); err != nil || !slices.Contains(pids, pid) {
			return err
		}
		if err := process.Signal(try.signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		err = wait.PollUntilContextTimeout(ctx, pollInterval, try.grace, true, func(context.Context) (bool, error) {
			pids, err := d.operatorPIDs()
			return !slices.Contains(pids, pid), err
		})
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}
