// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/acme/platform-operator/internal/database/result"
	"github.com/acme/platform-operator/internal/database/server"
)

// runner runs a server: the verb run.
type runner struct {
	Options
	engine   server.Engine
	children *children
	hold     *hold
	admin    *admin

	mu     sync.Mutex
	status result.Status

	inForce     map[string]string // the parameters that the server has
	tried       map[string]string // those that were mounted when they were last acted on
	certificate string            // the one that the server has
	seen        string            // what the files were when they were last acted on
}

// Run runs a server until the context ends, then stops it. As the first process of a container it collects all processes that end.
// childEnded gets a value for each signal SIGCHLD.
func Run(ctx context.Context, o Options, childEnded <-chan struct{}) (err error) {
	r := &runner{Options: o, children: newChildren(), status: result.Status{Protocol: result.Protocol, Phase: result.Waiting}}
	if r.engine, err = o.engine(); err != nil {
		return err
	}
	if _, err := o.secret("admin-password"); err != nil {
		return err
	}
	go r.children.reap(childEnded)
	stop, err := r.serve(ctx)
	if err != nil {
		return err
	}
	defer stop()
	err = r.run(ctx)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // SIGTERM ends it in order
	}
	if s := r.storage(); err != nil && s.Total > 0 && s.Free < noRoom {
		return result.Errorf(result.StorageFull, "the volume is full (%d of %d bytes are free): make it larger: %w", s.Free, s.Total, err)
	}
	return err
}

// noRoom is less than a server needs to start: PostgreSQL writes its log in segments of 16 MiB.
const noRoom = 20 << 20

func (r *runner) run(ctx context.Context) (err error) {
	if r.hold, err = takeHold(ctx, filepath.Join(r.DataDir, "agent"), r.report); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.hold.release()) }()
	if err := r.checkProgram(ctx); err != nil {
		return err
	}
	if err := r.initialize(ctx); err != nil {
		return err
	}
	if err := r.awaitForeign(ctx); err != nil {
		return err
	}
	p, err := r.start(ctx)
	if err != nil {
		return err
	}
	beating, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	go r.keepBeating(beating)
	err = r.attend(ctx, p)
	if errStop := r.stop(p); errStop != nil || ctx.Err() != nil {
		return errors.Join(err, errStop)
	}
	return err
}

func (r *runner) report(message string) {
	r.mu.Lock()
	changed := r.status.Message != message
	r.status.Message = message
	r.mu.Unlock()
	if changed && message != "" {
		r.Log.Info(message)
	}
}

func (r *runner) setPhase(phase string) {
	r.mu.Lock()
	r.status.Phase, r.status.Message = phase, ""
	r.status.Ready = r.status.Ready && phase == result.Running
	r.mu.Unlock()
	r.Log.Info("Phase", "phase", phase)
}

func (r *runner) data() string { return filepath.Join(r.DataDir, "data") }

// launch describes the server with the mounted password and certificate.
func (r *runner) launch(parameters map[string]string) (server.Launch, error) {
	password, err := r.secret("admin-password")
	if err != nil {
		return server.Launch{}, err
	}
	tls, err := r.copyCertificate()
	return server.Launch{
		Data: r.data(), Run: r.RunDir, Listen: r.Listen, Port: r.port(), AdminPassword: password, TLS: tls, Parameters: parameters,
	}, err
}

// awaitForeign removes a server's lock file that a server of ours has left, which is proved by the agent's own lock, and waits for
// one that something else has made.
func (r *runner) awaitForeign(ctx context.Context) error {
	// The folder of the sockets is the pod's own, and outlives a container that was killed.
	for _, pattern := range []string{".s.PGSQL.*", "mysql.sock*", "server.pid"} {
		left, err := filepath.Glob(filepath.Join(r.RunDir, pattern))
		for _, file := range left {
			err = errors.Join(err, os.Remove(file))
		}
		if err != nil {
			return fmt.Errorf("removing sockets of a server that was killed: %w", err)
		}
	}
	file := r.engine.PidFile(r.data())
	if file == "" {
		return nil
	}
	if r.hold.wasServing() {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing the lock of a server that was killed: %w", err)
		}
		return nil
	}
	return poll(ctx, 500*time.Millisecond, func() (bool, error) {
		if _, err := os.Stat(file); err != nil {
			return errors.Is(err, os.ErrNotExist), nil
		}
		r.report("a server that this agent did not start has this data: stop it, and if none runs remove " + file)
		return false, nil
	})
}

// start starts the server with the mounted parameters, and if it rejects these with those that were last in force.
func (r *runner) start(ctx context.Context) (*process, error) {
	r.setPhase(result.Starting)
	mounted, err := r.mountedParameters()
	if err != nil {
		return nil, err
	}
	p, errMounted := r.startWith(ctx, mounted)
	r.tried = mounted
	if errMounted == nil || ctx.Err() != nil {
		r.setParameters(result.Parameters{InForce: errMounted == nil})
		return p, errMounted
	}
	good := r.goodParameters()
	if maps.Equal(good, mounted) {
		return nil, errMounted
	}
	r.setParameters(result.Parameters{Error: errMounted.Error()})
	r.Log.Error("The server does not start with these parameters; trying those that were last in force", "error", errMounted.Error())
	if p, err = r.startWith(ctx, good); err != nil {
		return nil, errors.Join(errMounted, err)
	}
	return p, nil
}

func (r *runner) setParameters(p result.Parameters) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Parameters = p
}

func (r *runner) startWith(ctx context.Context, parameters map[string]string) (*process, error) {
	l, err := r.launch(parameters)
	if err == nil {
		err = r.check(ctx, l)
	}
	if err != nil {
		return nil, err
	}
	cmd, err := r.engine.Command(l)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = os.Stdout, os.Stderr, []*os.File{r.hold.file}
	if err := r.hold.setServing(true); err != nil {
		return nil, err
	}
	p, err := r.children.start(cmd)
	if err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	if err := r.awaitServer(ctx, p, l); err != nil {
		return nil, errors.Join(err, r.stop(p))
	}
	r.inForce = parameters
	if err := r.keepParameters(parameters); err != nil { // a server on a full volume is better than none
		r.Log.Error("Keeping the parameters", "error", err.Error())
	}
	return p, nil
}

// awaitServer waits until the server answers; recovery may take as long as it takes.
func (r *runner) awaitServer(ctx context.Context, p *process, l server.Launch) error {
	r.admin = &admin{engine: r.engine, names: r.Names, now: r.Now, target: server.Target{
		Socket: r.RunDir, Port: l.Port, User: result.Admin, Password: l.AdminPassword, Database: r.Names.Database, Client: r.RunDir,
	}}
	return poll(ctx, 50*time.Millisecond, func() (bool, error) {
		select {
		case <-p.ended:
			return true, fmt.Errorf("the server %s while it started; its log says why", describe(p.status))
		default:
		}
		err := r.engine.Prepare(ctx, r.admin.target, r.Names)
		if err != nil {
			r.report("the server does not answer yet: " + err.Error())
		}
		return err == nil, err
	})
}

// stop ends the server safely, and when the time is over at once; what is committed is kept both ways.
func (r *runner) stop(p *process) error {
	r.setPhase(result.Stopping)
	safely, atOnce := r.engine.Signals()
	r.children.signal(p, safely)
	timer := time.NewTimer(r.StopTimeout)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		r.Log.Error("The server does not stop in time; it will recover at its next start", "timeout", r.StopTimeout)
		r.children.signal(p, atOnce)
		<-p.ended
	}
	if p.status.ExitStatus() != 0 {
		return fmt.Errorf("the server %s", describe(p.status))
	}
	return r.hold.setServing(false)
}

func (r *runner) keepBeating(ctx context.Context) {
	_ = poll(ctx, beatEvery, func() (bool, error) {
		if err := r.hold.beat(); err != nil {
			r.Log.Error("Writing the lock", "error", err.Error())
		}
		return false, nil
	})
}

// output runs a program to its end and puts the end of what it said into the error.
func (r *runner) output(ctx context.Context, cmd *exec.Cmd) error {
	said, err := os.CreateTemp(r.RunDir, "output")
	if err != nil {
		return err
	}
	defer func() { _, _ = said.Close(), os.Remove(said.Name()) }() // the folder ends with the pod
	cmd.Stderr = said
	if cmd.Stdout == nil {
		cmd.Stdout = said
	}
	p, err := r.children.start(cmd)
	if err != nil {
		return err
	}
	select {
	case <-p.ended:
	case <-ctx.Done():
		r.children.signal(p, syscall.SIGKILL)
		<-p.ended
		return ctx.Err()
	}
	if p.status.ExitStatus() == 0 {
		return nil
	}
	text, err := os.ReadFile(said.Name())
	return errors.Join(fmt.Errorf("%s %s: %s", filepath.Base(cmd.Path), describe(p.status), server.LastLines(string(text))), err)
}

// goodParameters are those that the server last ran with.
func (r *runner) goodParameters() map[string]string {
	var good map[string]string
	text, err := os.ReadFile(filepath.Join(r.DataDir, "agent", "parameters.json"))
	if err == nil {
		_ = json.Unmarshal(text, &good) // a file that was cut has none
	}
	return good
}

func (r *runner) keepParameters(parameters map[string]string) error {
	text, err := json.Marshal(parameters)
	if err != nil {
		return err
	}
	file := filepath.Join(r.DataDir, "agent", "parameters.json")
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		return fmt.Errorf("keeping the parameters: %w", err)
	}
	return os.Rename(file+".new", file)
}

// mountedParameters reads a folder with a file for each parameter; the kubelet's own files begin with two dots.
func (r *runner) mountedParameters() (map[string]string, error) {
	parameters := map[string]string{}
	entries, err := os.ReadDir(r.ParametersDir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("reading the parameters: %w", err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "..") {
			continue
		}
		value, err := os.ReadFile(filepath.Join(r.ParametersDir, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("reading the parameters: %w", err)
		}
		parameters[entry.Name()] = strings.TrimSuffix(string(value), "\n")
	}
	return parameters, nil
}
