// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	schedulingv1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
	"github.com/acme/platform-operator/internal/scheduling"
)

// scheduler is a kube-scheduler with the configuration of a SchedulerProfile.
type scheduler struct {
	cmd   *exec.Cmd
	log   string
	ended chan struct{}
}

// startScheduler starts a replica.
func (b *bench) startScheduler(name string) (*scheduler, error) {
	spec := &schedulingv1alpha1.SchedulerProfileSpec{Profiles: []schedulingv1alpha1.Profile{{
		SchedulerName: schedulerProfile, Strategy: schedulingv1alpha1.Balanced,
	}}}
	text, err := scheduling.Config(spec, scheduling.Lease{Namespace: ownNamespace, Name: schedulerProfile}, scheduling.Of(spec, 36))
	if err != nil {
		return nil, fmt.Errorf("rendering a configuration: %w", err)
	}
	var config map[string]any
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		return nil, fmt.Errorf("reading a configuration: %w", err)
	}
	// Of the default scheduler, the local cluster raises the limits of requests as well.
	config["clientConnection"] = map[string]any{"kubeconfig": b.adminKubeconfig, "qps": 500, "burst": 1000}
	data, err := yaml.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("writing a configuration: %w", err)
	}
	file := filepath.Join(b.dir, name+".yaml")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return nil, fmt.Errorf("writing a configuration: %w", err)
	}
	s := &scheduler{
		cmd: exec.Command(b.path("bin", "kube-scheduler"), "--config="+file, "--secure-port=0"),
		log: filepath.Join(b.dir, name+".log"), ended: make(chan struct{}),
	}
	log, err := os.Create(s.log)
	if err != nil {
		return nil, fmt.Errorf("starting a scheduler: %w", err)
	}
	defer func() { _ = log.Close() }() // nothing is written through this handle
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting a scheduler: %w", err)
	}
	go func() {
		_ = s.cmd.Wait() // it is stopped by a signal
		close(s.ended)
	}()
	return s, nil
}

func (s *scheduler) awaitLead(ctx context.Context) error {
	return s.awaitLine(ctx, "Successfully acquired lease")
}

// awaitTry waits until it has tried to become the active one.
func (s *scheduler) awaitTry(ctx context.Context) error {
	return s.awaitLine(ctx, "Attempting to acquire leader lease")
}

func (s *scheduler) awaitLine(ctx context.Context, line string) error {
	return poll(ctx, "a scheduler logs "+line, 50*time.Millisecond, func(context.Context) (bool, error) {
		data, err := os.ReadFile(s.log)
		return bytes.Contains(data, []byte(line)), err
	})
}

// stop ends it as the kubelet does.
func (s *scheduler) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping a scheduler: %w", err)
	}
	select {
	case <-s.ended:
		return nil
	case <-time.After(stopGrace):
		return errors.Join(fmt.Errorf("a scheduler did not stop within %s", stopGrace), s.cmd.Process.Kill())
	}
}

// changeScheduler creates a pod every tenth of a second, ends the active scheduler as a Deployment does that rolls out another
// configuration, and returns the longest time, in seconds, that one of the pods has waited for a node.
func (b *bench) changeScheduler(ctx context.Context, active, next *scheduler) (float64, error) {
	events, err := b.admin.Watch(ctx, &corev1.PodList{}, client.InNamespace(placedNamespace))
	if err != nil {
		return 0, fmt.Errorf("watching pods: %w", err)
	}
	defer events.Stop()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	created, longest := map[string]time.Time{}, time.Duration(0)
	tick := time.NewTicker(changeEvery)
	defer tick.Stop()
	for sent := 0; sent < changePods || len(created) > 0; {
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("%d pods have no node: %w", len(created), ctx.Err())
		case <-tick.C:
			if err := b.changeStep(ctx, sent, active, created); err != nil {
				return 0, err
			}
			sent++
		case event := <-events.ResultChan():
			name := placed(event.Object)
			if at, waits := created[name]; waits {
				longest = max(longest, time.Since(at))
				delete(created, name)
			}
		}
	}
	return longest.Seconds(), errors.Join(active.stop(), next.awaitLead(ctx))
}

// changeStep creates a pod, as long as there are to be more, and ends the active scheduler when it is time.
func (b *bench) changeStep(ctx context.Context, sent int, active *scheduler, created map[string]time.Time) error {
	if sent == changeAfter {
		if err := active.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return fmt.Errorf("stopping a scheduler: %w", err)
		}
	}
	if sent >= changePods {
		return nil
	}
	name := fmt.Sprintf("change-%d", sent)
	created[name] = time.Now()
	return b.admin.Create(ctx, podFor(schedulerProfile, name))
}

// placed is the name of a pod that has a node, else empty.
func placed(o runtime.Object) string {
	if p, is := o.(*corev1.Pod); is && p.Spec.NodeName != "" {
		return p.Name
	}
	return ""
}
