// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"context"
	"encoding/json"
	"fmt"
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
		info := version.Info{}
		if err := json.Unmarshal(text, &info); err != nil {
			return "", "", fmt.Errorf("reading the version of the API server: %w", err)
		}
		return info.Major, info.Minor, nil
	}, nil
}

// cluster remembers the version of the API server for a while. An upgrade is noticed without a restart.
type cluster struct {
	ask   Version
	clock clock.PassiveClock

	mu    sync.Mutex
	minor int
	at    time.Time
}

// version returns the minor version of the API server. While a newer answer cannot be had, the last one counts.
func (c *cluster) version(ctx context.Context) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.minor != 0 && c.clock.Since(c.at) < versionKept {
		return c.minor, nil
	}
	major, minor, err := c.ask(ctx)
	if err == nil {
		var n int
		if n, err = scheduling.MinorOf(major, minor); err == nil {
			c.minor, c.at = n, c.clock.Now()
		}
	}
	if c.minor != 0 {
		return c.minor, nil
	}
	return 0, err
}
