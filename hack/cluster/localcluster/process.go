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

package localcluster

import (
	"bytes"
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
	"github.com/acme/platform-operator/hack/cluster/machine"
)

const (
	// stopGrace is how long a component may take to end by itself. It is short because the API
	// server waits for the clients that still watch, and nothing of a cluster is kept.
	stopGrace = 5 * time.Second
	killGrace = 5 * time.Second
	// pollInterval is the pace at which health and the end of a process are looked at.
	pollInterval = 50 * time.Millisecond
	// nodePollInterval is the pace at which nodes are listed, which costs more.
	nodePollInterval = 250 * time.Millisecond
)

// process is a component that this launcher started.
type process struct {
	ended chan struct{} // closed when it has ended
	err   error         // how it ended; read it only after that
}

// start runs a component in a session of its own, so that it outlives the launcher and its terminal.
// Its environment is empty but for a path and a home: what a cluster does must not depend on who starts it.
func (c *Cluster) start(comp component) (*process, error) {
	log, err := os.OpenFile(c.logPath(comp.name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", comp.name, err)
	}
	defer func() { _ = log.Close() }() // nothing is written through this handle
	program := filepath.Join(c.BinDir, comp.name)
	if comp.system {
		program = machine.Find(comp.name)
	}
	cmd := exec.Command(program, comp.args...)
	cmd.Dir = c.dir
	cmd.Env = []string{"PATH=" + machine.Path(), "HOME=" + c.dir}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.launch(cmd, comp.place); err != nil {
		return nil, fmt.Errorf("starting %s: %w", comp.name, err)
	}
	p := &process{ended: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.ended)
	}()
	if err := files.Write(c.pidPath(comp.name), []byte(strconv.Itoa(cmd.Process.Pid)), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", comp.name, err), cmd.Process.Kill())
	}
	return p, nil
}

// launch starts cmd where it belongs.
func (c *Cluster) launch(cmd *exec.Cmd, where place) error {
	switch where {
	case asNode:
		machine.OwnNamespaces(cmd)
	case onNode:
		return machine.StartInside(c.pid(nodeInit), cmd)
	case onMachine:
	}
	return cmd.Start()
}

// pid is the process id of a component, 0 when it does not run.
func (c *Cluster) pid(name string) int {
	data, err := os.ReadFile(c.pidPath(name))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(data))
	if err != nil {
		return 0
	}
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !isComponent(cmdline, name, c.dir) {
		return 0
	}
	return pid
}

// isComponent says whether a command line (as in /proc/PID/cmdline) is that of the component name of
// the cluster in dir. Linux gives the numbers of ended processes to new ones, so a number alone
// proves nothing.
func isComponent(cmdline []byte, name, dir string) bool {
	args := bytes.Split(cmdline, []byte{0})
	if filepath.Base(string(args[0])) != name {
		return false
	}
	for _, arg := range args[1:] {
		if strings.Contains(string(arg), "="+dir+"/") {
			return true
		}
	}
	return false
}

// stop ends a component: asks first, and kills it when it is still there after grace. A component
// that does not run is no error.
func (c *Cluster) stop(name string, grace time.Duration) error {
	pid := c.pid(name)
	if pid == 0 {
		return nil
	}
	handle, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("stopping %s: %w", name, err)
	}
	defer func() { _ = handle.Release() }()
	if c.pid(name) != pid { // from here on the handle cannot mean another process
		return nil
	}
	if err := handle.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping %s (process %d): %w", name, pid, err)
	}
	if c.awaitEnd(name, grace) == nil {
		return nil
	}
	if err := handle.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing %s (process %d): %w", name, pid, err)
	}
	return c.awaitEnd(name, killGrace)
}

// awaitEnd waits until a component has ended. The error says that it did not within limit.
func (c *Cluster) awaitEnd(name string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return poll(ctx, pollInterval, nil, func() error {
		if pid := c.pid(name); pid != 0 {
			return fmt.Errorf("%s (process %d) does not end", name, pid)
		}
		return nil
	}, nil)
}
