// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
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

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// rivalPatience is how long another controller has to fill its caches.
const rivalPatience = 15 * time.Second

// rival is another controller that restarts Deployments.
type rival struct {
	cmd   *exec.Cmd
	log   string
	ended chan struct{} // closed when its command has ended
}

// withRival measures another controller on the same objects, after the Deployments have got its annotation.
func (b *bench) withRival(ctx context.Context, res *watcherResult) (err error) {
	if err := b.annotate(ctx, res); err != nil {
		return err
	}
	r, err := b.startRival()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	if err := r.wait(ctx, rivalPatience); err != nil {
		return err
	}
	// Nobody restarts what a rival does not, so its end is the end of the measurement.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		<-r.ended
		cancel(r.failure())
	}()
	settle := func() error { return r.wait(ctx, quiet) }
	times, err := b.times(ctx, res.Watchers, contender{who: "rival", act: b.touch, pids: r.pids, settle: settle})
	if err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	res.Rival = &times
	return nil
}

// annotate asks the rival to restart each Deployment when the ConfigMap of its name changes.
func (b *bench) annotate(ctx context.Context, res *watcherResult) error {
	key, value, _ := strings.Cut(b.rivalAnnotation, "=")
	return each(ctx, b.workers, nameList("app", res.Watchers), func(ctx context.Context, name string) error {
		body := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, strings.ReplaceAll(value, "NAME", name))
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: watchedNamespace, Name: name}}
		if err := b.admin.Patch(ctx, d, client.RawPatch(client.Merge.Type(), body)); err != nil {
			return fmt.Errorf("annotating the Deployments: %w", err)
		}
		return nil
	})
}

// startRival runs the command in a shell with the administrator's KUBECONFIG, as a process group of its own.
func (b *bench) startRival() (*rival, error) {
	r := &rival{cmd: exec.Command("sh", "-c", b.rival), log: filepath.Join(b.dir, "rival.log"), ended: make(chan struct{})}
	r.cmd.Env = append(os.Environ(), "KUBECONFIG="+b.adminKubeconfig)
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	log, err := os.Create(r.log)
	if err != nil {
		return nil, fmt.Errorf("starting the rival: %w", err)
	}
	defer func() { _ = log.Close() }() // nothing is written through this handle
	r.cmd.Stdout, r.cmd.Stderr = log, log
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the rival: %w", err)
	}
	go func() {
		_ = r.cmd.Wait() // a rival has no way to end well
		close(r.ended)
	}()
	return r, nil
}

// wait lets time pass, unless the rival ends.
func (r *rival) wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-r.ended:
		return r.failure()
	case <-ctx.Done():
		return fmt.Errorf("waiting for the rival: %w", ctx.Err())
	}
}

func (r *rival) failure() error {
	return fmt.Errorf("the rival has ended (%s)\nthe end of its log:\n%s", r.cmd.ProcessState, tailOf(r.log))
}

// stop ends all of the rival's processes.
func (r *rival) stop() error {
	group := -r.cmd.Process.Pid
	if err := syscall.Kill(group, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("stopping the rival: %w", err)
	}
	select {
	case <-r.ended:
	case <-time.After(quiet):
	}
	// What its shell has left is not to outlive it.
	if err := syscall.Kill(group, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("killing the rival: %w", err)
	}
	<-r.ended
	return nil
}

// pids are the processes of the rival's group.
func (r *rival) pids() ([]string, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var all []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		text := string(data)
		// After the name, in parentheses: the state, of which Z is a process that has ended; the parent; the group.
		words := strings.Fields(text[strings.LastIndex(text, ")")+1:])
		if len(words) > 2 && words[0] != "Z" && words[2] == strconv.Itoa(r.cmd.Process.Pid) {
			all = append(all, filepath.Base(filepath.Dir(file)))
		}
	}
	return all, nil
}
