// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const (
	// electorGroups is how many elections client-go's electors hold, with candidatesEach of them in each: what one requests does
	// not depend on how many there are.
	electorGroups = 5
	electorsFor   = 20 * time.Second
)

// counted counts the requests of a client.
type counted struct {
	http.RoundTripper
	n *atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.RoundTripper.RoundTrip(r)
}

// electors runs electors of client-go with the defaults of Kubernetes, as a sidecar of each pod would, and gives how many requests a
// second each of them sends once there are leaders.
func (b *bench) electors(ctx context.Context) (float64, error) {
	config, err := clientcmd.BuildConfigFromFlags("", b.cluster.adminKubeconfig)
	if err != nil {
		return 0, fmt.Errorf("running electors of client-go: %w", err)
	}
	var n, leaders atomic.Int64
	config.QPS = -1
	config.Wrap(func(t http.RoundTripper) http.RoundTripper { return counted{t, &n} })
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for i := range electorGroups * candidatesEach {
		elector, err := newElector(config, fmt.Sprintf("elector-%d", i%electorGroups), fmt.Sprintf("pod-%d", i), &leaders)
		if err != nil {
			return 0, fmt.Errorf("running electors of client-go: %w", err)
		}
		running.Go(func() { elector.Run(logr.NewContext(ctx, logr.Discard())) })
	}
	if err := poll(ctx, "client-go's electors have leaders", 100*time.Millisecond, func(context.Context) (bool, error) {
		return leaders.Load() == electorGroups, nil
	}); err != nil {
		return 0, err
	}
	before, start := n.Load(), time.Now()
	if err := sleepUntil(ctx, start.Add(electorsFor)); err != nil {
		return 0, err
	}
	return float64(n.Load()-before) / time.Since(start).Seconds() / (electorGroups * candidatesEach), nil
}

func newElector(config *rest.Config, name, identity string, leaders *atomic.Int64) (*leaderelection.LeaderElector, error) {
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Client: c.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { leaders.Add(1) }, OnStoppedLeading: func() {},
		},
	})
}
