// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/acme/platform-operator/internal/scheduling"
)

// Version returns the major and the minor version of an API server, as it writes them.
type Version func(context.Context) (major, minor string, err error)

// asking asks the API server of a manager.
func asking(mgr ctrl.Manager) (Version, error) {
	d, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (string, string, error) {
		text, err := d.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
		if err != nil {
			return "", "", fmt.Errorf("asking the API server for its version: %w", err)
		}
		return readVersion(text)
	}, nil
}

// readVersion reads the answer of an API server. What it emulates counts: APIs and features that are newer are not there.
// https://kubernetes.io/docs/concepts/cluster-administration/compatibility-version
func readVersion(text []byte) (major, minor string, err error) {
	info := version.Info{}
	if err := json.Unmarshal(text, &info); err != nil {
		return "", "", fmt.Errorf("reading the version of the API server: %w", err)
	}
	return cmp.Or(info.EmulationMajor, info.Major), cmp.Or(info.EmulationMinor, info.Minor), nil
}

// cluster knows the version of the cluster. An upgrade is noticed without a restart.
//
// The API servers of a control plane are upgraded one after the other, and each request may reach another one. A scheduler must not be
// newer than any of them, so that the oldest answer counts until no API server has given it for a while: a scheduler is replaced at once
// when the cluster gets older, and once when all of it has become newer.
// https://kubernetes.io/releases/version-skew-policy/#kube-controller-manager-kube-scheduler-and-cloud-controller-manager
type cluster struct {
	ask   Version
	clock clock.PassiveClock

	mu    sync.Mutex
	asked time.Time
	// last is when each minor version was the answer last.
	last map[int]time.Time
}

// version returns the minor version of the oldest API server. While no newer answer can be had, the former ones count.
func (c *cluster) version(ctx context.Context) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	if len(c.last) == 0 || now.Sub(c.asked) >= versionAsked {
		minor, err := c.answer(ctx)
		switch {
		case err == nil:
			c.note(minor, now)
		case len(c.last) == 0:
			return 0, err
		}
	}
	return slices.Min(slices.Collect(maps.Keys(c.last))), nil
}

func (c *cluster) answer(ctx context.Context) (int, error) {
	major, minor, err := c.ask(ctx)
	if err != nil {
		return 0, err
	}
	return scheduling.MinorOf(major, minor)
}

// note notes an answer, and forgets the versions that no API server has any more.
func (c *cluster) note(minor int, now time.Time) {
	if c.last == nil {
		c.last = map[int]time.Time{}
	}
	c.asked, c.last[minor] = now, now
	maps.DeleteFunc(c.last, func(_ int, at time.Time) bool { return now.Sub(at) >= versionKept })
}
