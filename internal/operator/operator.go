// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package operator wires the operator together: the configuration, the ports to the outside, the manager, and
// the table of kinds. It is the only package that uses all of them.
package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/operator-framework/operator-lib/conditions"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	configv1alpha1 "github.com/acme/platform-operator/api/config/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/external/billing"
	"github.com/acme/platform-operator/internal/external/dbagent"
	"github.com/acme/platform-operator/internal/external/identity"
	"github.com/acme/platform-operator/internal/external/sqldb"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/operator/settings"
	"github.com/acme/platform-operator/internal/restart"
)

// Options are the settings of the command line.
type Options struct {
	// Version is the operator's own, such as v0.1.0; "unknown" if it was built by hand.
	Version string
	// ConfigFile is the configuration file. Empty: the ConfigMap platform-operator-config in Namespace.
	ConfigFile string
	// Namespace is the operator's own namespace.
	Namespace string
	// MetricsAddress is where metrics are served; "0" serves none.
	MetricsAddress string
	// MetricsSecure serves metrics over TLS and authorizes scrapes.
	MetricsSecure bool
	// ProbeAddress is where the liveness and readiness probes are served; "0" serves none.
	ProbeAddress string
	// WebhookHost and WebhookPort are where webhooks are served; a negative port serves none.
	WebhookHost string
	WebhookPort int
	// WebhookCertDir holds tls.crt and tls.key. They are read again when they change.
	WebhookCertDir string
	// ViewsService is the Service in front of the program that serves the views; empty leaves them alone.
	ViewsService string
	// LeaderElect makes only one of several replicas reconcile.
	LeaderElect bool

	// Clock, NewClient, Directory, Ledger, Values, Agents, LeaderDelay and Upgradeable replace the defaults in tests.
	Clock     clock.PassiveClock
	NewClient client.NewClientFunc
	Directory identity.Directory
	Ledger    billing.Ledger
	Values    sqldb.Reader
	Agents    dbagent.Agent
	// LeaderDelay is how long a leader waits before it restarts with a changed configuration.
	LeaderDelay time.Duration
	// Upgradeable is the condition that OLM reads before it replaces the operator.
	Upgradeable conditions.Condition
	// Ran is called at the end of each run, by several runs at once. Tests alone have one.
	Ran engine.Ran
}

// Deps are the dependencies of the kinds.
type Deps struct {
	Options
	// Config is the configuration in effect.
	Config *configv1alpha1.PlatformOperatorConfig
	// Restarts are the kinds that restart workloads.
	Restarts *restart.Peers
}

// Run runs the operator until ctx ends. A valid change of the configuration stops the manager gracefully and
// starts another one; an invalid one is reported and has no effect. An invalid configuration at the start is an
// error.
func Run(ctx context.Context, restConfig *rest.Config, o Options) error {
	reader, err := client.New(restConfig, client.Options{Scheme: Scheme()})
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	source, err := settings.Load(ctx, reader, o.ConfigFile, o.Namespace)
	if err != nil {
		return err
	}
	counters, err := settings.NewMetrics(metrics.Registry)
	if err != nil {
		return fmt.Errorf("registering the metrics of the configuration: %w", err)
	}
	for ctx.Err() == nil && source != nil {
		ctrl.Log.Info("Starting", "configuration", source.Origin, "version", source.Version)
		traces, err := startTracing(ctx, source.Config.Tracing, ownNamespace{reader, o.Namespace}, o.Version)
		if err != nil {
			return err
		}
		source, err = runOnce(ctx, traces.requests(restConfig), o, source, counters)
		traces.stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// runOnce runs one manager and returns the configuration to continue with, nil when ctx has ended.
func runOnce(ctx context.Context, restConfig *rest.Config, o Options, source *settings.Source, counters *settings.Metrics) (*settings.Source, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	mgr, err := NewManager(restConfig, source.Config, o)
	if err != nil {
		return nil, err
	}
	var next *settings.Source
	watcher, err := settings.NewWatcher(settings.Options{
		Running: source, File: o.ConfigFile, Namespace: o.Namespace, REST: restConfig,
		Recorder: mgr.GetEventRecorder(names.Operator), Metrics: counters,
		Restart: func(s *settings.Source) { next = s; time.AfterFunc(restartDelay(o, mgr.Elected()), stop) },
	})
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(watcher); err != nil {
		return nil, fmt.Errorf("watching the configuration: %w", err)
	}
	if err := mgr.Start(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return nil, fmt.Errorf("running the manager: %w", err)
	}
	return next, nil
}

// leaderDelay is longer than a replica that does not lead takes to restart.
const leaderDelay = 10 * time.Second

// restartDelay returns how long a replica waits before it restarts with a changed configuration. The leader is
// the last, so that one replica always answers webhooks.
func restartDelay(o Options, elected <-chan struct{}) time.Duration {
	select {
	case <-elected:
		if o.LeaderElect {
			return cmp.Or(o.LeaderDelay, leaderDelay)
		}
	default:
	}
	return 0
}
