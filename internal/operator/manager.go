// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	configv1alpha1 "github.com/acme/platform-operator/api/config/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/restart"
	"github.com/acme/platform-operator/internal/tolerant"
)

// The permissions for leader election and the metrics endpoint are in separate roles under config/rbac.
// +kubebuilder:rbac:groups="",namespace=system,resources=configmaps;secrets,verbs=get

// Scheme returns a scheme with every type that the operator uses.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	for _, add := range schemes {
		utilruntime.Must(add(s))
	}
	return s
}

// NewManager returns a manager with all kinds registered, ready to be started.
func NewManager(restConfig *rest.Config, c *configv1alpha1.PlatformOperatorConfig, o Options) (ctrl.Manager, error) {
	restConfig = rest.CopyConfig(restConfig)
	restConfig.QPS, restConfig.Burst = -1, int(c.Manager.Client.Burst)
	if c.Manager.Client.QPS > 0 {
		restConfig.QPS = float32(c.Manager.Client.QPS)
	}
	restConfig.Wrap(engine.CountRequests)
	restConfig.Wrap(engine.EscapeApplied)
	restConfig.WarningHandlerWithContext = log.NewKubeAPIWarningLogger(log.KubeAPIWarningLoggerOptions{Deduplicate: true})
	held := &holding{}
	mgr, err := ctrl.NewManager(restConfig, managerOptions(c, o, held))
	if err != nil {
		return nil, fmt.Errorf("creating the manager: %w", err)
	}
	held.recorder = mgr.GetEventRecorder(names.Operator)
	d := Deps{Options: o, Config: c, Restarts: &restart.Peers{}}
	d.connect(mgr.GetAPIReader(), restConfig.Host)
	for _, k := range Kinds {
		if err := k.Register(mgr, d); err != nil {
			return nil, err
		}
		if k.Webhook == nil || o.WebhookPort < 0 {
			continue
		}
		if err := k.Webhook(mgr, d); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(observeCertificate(o), addUpgradeable(mgr, restConfig, o), addViews(mgr, c.Views, o)); err != nil {
		return nil, err
	}
	return mgr, addChecks(mgr, o, held.cache)
}

func managerOptions(c *configv1alpha1.PlatformOperatorConfig, o Options, held *holding) ctrl.Options {
	metricsOptions := metricsserver.Options{BindAddress: o.MetricsAddress, SecureServing: o.MetricsSecure}
	if o.MetricsSecure {
		metricsOptions.FilterProvider = guardMetrics
	}
	yes, le := true, c.Manager.LeaderElection
	scheme, caches := Scheme(), cacheOptions(Kinds)
	return ctrl.Options{
		Scheme:                  scheme,
		BaseContext:             func() context.Context { return engine.WithRan(context.Background(), o.Ran) },
		Metrics:                 metricsOptions,
		HealthProbeBindAddress:  o.ProbeAddress,
		LeaderElection:          o.LeaderElect,
		LeaderElectionID:        names.Lease,
		LeaderElectionNamespace: o.Namespace,
		// A replica that stops releases the lease at once; nothing runs after the manager has stopped.
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &le.LeaseDuration.Duration,
		RenewDeadline:                 &le.RenewDeadline.Duration,
		RetryPeriod:                   &le.RetryPeriod.Duration,
		GracefulShutdownTimeout:       &c.Manager.GracefulShutdownTimeout.Duration,
		WebhookServer: tolerant.Webhooks{Scheme: scheme, Server: webhook.NewServer(webhook.Options{
			Host: o.WebhookHost, Port: max(o.WebhookPort, 0), CertDir: o.WebhookCertDir,
		})},
		NewClient: o.NewClient,
		Client:    client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: &yes}},
		Cache:     caches,
		NewCache:  held.newCache(expected(Kinds, caches), c.Manager.CacheSyncTimeout.Duration),
		Controller: config.Controller{
			// A kind waits for its own cache, however long that takes, and does not end the manager.
			CacheSyncTimeout: forever,
			// A replica that waits to lead keeps its caches warm, so that it starts to reconcile at once.
			EnableWarmup: &yes,
			// A change of the configuration starts controllers of the same names again in this process.
			SkipNameValidation: &yes,
		},
	}
}
