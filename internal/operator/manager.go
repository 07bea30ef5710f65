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

package operator

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	configv1alpha1 "github.com/acme/platform-operator/api/config/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/restart"
)

// leaseName is the Lease that replicas elect their leader by. It is frozen: replicas of two versions
// meet during an upgrade.
const leaseName = "platform-operator.acme.com"

// probeTimeout bounds what a readiness probe asks.
const probeTimeout = 2 * time.Second

// What leader election and the metrics endpoint need stands in roles of their own under config/rbac.
// +kubebuilder:rbac:groups="",namespace=system,resources=configmaps;secrets,verbs=get

// Scheme knows every type that the operator works with.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	for _, add := range schemes {
		utilruntime.Must(add(s))
	}
	return s
}

// NewManager makes a manager with all kinds registered, ready to be started.
func NewManager(restConfig *rest.Config, c *configv1alpha1.PlatformOperatorConfig, o Options) (ctrl.Manager, error) {
	restConfig = rest.CopyConfig(restConfig)
	restConfig.QPS, restConfig.Burst = -1, int(c.Manager.Client.Burst)
	if c.Manager.Client.QPS > 0 {
		restConfig.QPS = float32(c.Manager.Client.QPS)
	}
	restConfig.Wrap(engine.CountWrites)
	restConfig.WarningHandlerWithContext = log.NewKubeAPIWarningLogger(log.KubeAPIWarningLoggerOptions{Deduplicate: true})
	mgr, err := ctrl.NewManager(restConfig, managerOptions(c, o))
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
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
	if err := addUpgradeable(mgr, restConfig, o); err != nil {
		return nil, err
	}
	return mgr, addChecks(mgr, o)
}

func managerOptions(c *configv1alpha1.PlatformOperatorConfig, o Options) ctrl.Options {
	metricsOptions := metricsserver.Options{BindAddress: o.MetricsAddress, SecureServing: o.MetricsSecure}
	if o.MetricsSecure {
		metricsOptions.FilterProvider = guardMetrics
	}
	yes, le := true, c.Manager.LeaderElection
	return ctrl.Options{
		Scheme:                  Scheme(),
		Metrics:                 metricsOptions,
		HealthProbeBindAddress:  o.ProbeAddress,
		LeaderElection:          o.LeaderElect,
		LeaderElectionID:        leaseName,
		LeaderElectionNamespace: o.Namespace,
		// A replica that stops hands over at once; nothing runs after the manager has stopped.
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &le.LeaseDuration.Duration,
		RenewDeadline:                 &le.RenewDeadline.Duration,
		RetryPeriod:                   &le.RetryPeriod.Duration,
		GracefulShutdownTimeout:       &c.Manager.GracefulShutdownTimeout.Duration,
		WebhookServer:                 webhook.NewServer(webhook.Options{Host: o.WebhookHost, Port: max(o.WebhookPort, 0), CertDir: o.WebhookCertDir}),
		NewClient:                     o.NewClient,
		Client:                        client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: &yes}},
		Cache:                         cacheOptions(),
		Controller: config.Controller{
			CacheSyncTimeout: c.Manager.CacheSyncTimeout.Duration,
			// The caches of a replica that waits to lead are warm, so that it takes over in no time.
			EnableWarmup: &yes,
			// A change of the configuration starts the same controllers again in this process.
			SkipNameValidation: &yes,
		},
	}
}

// cacheOptions keep memory from growing with the cluster: of the types that matter only where the
// operator made them, only those are held.
func cacheOptions() cache.Options {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{names.LabelManagedBy: names.Operator})}
	return cache.Options{
		DefaultTransform: trimManagedFields,
		ByObject: map[client.Object]cache.ByObject{
			&appsv1.DaemonSet{}:           {Transform: trimWorkload},
			&appsv1.Deployment{}:          {Transform: trimWorkload},
			&appsv1.StatefulSet{}:         {Transform: trimWorkload},
			&corev1.ConfigMap{}:           {Transform: trimSource},
			&corev1.Secret{}:              {Transform: trimSource},
			&batchv1.Job{}:                ours,
			&corev1.LimitRange{}:          ours,
			&corev1.ResourceQuota{}:       ours,
			&networkingv1.NetworkPolicy{}: ours,
			&rbacv1.Role{}:                ours,
			&rbacv1.RoleBinding{}:         ours,
		},
	}
}

// trimManagedFields drops from cached objects what other field managers own: the engine compares only
// with its own.
func trimManagedFields(in any) (any, error) {
	o, ok := in.(client.Object)
	if !ok || o.GetManagedFields() == nil {
		return in, nil
	}
	var kept []metav1.ManagedFieldsEntry
	for _, e := range o.GetManagedFields() {
		if names.IsFieldManager(e.Manager) {
			kept = append(kept, e)
		}
	}
	o.SetManagedFields(kept)
	return o, nil
}

// addChecks answers probes: alive when the process answers, ready when the caches are filled, the
// custom resources are served, and the webhooks listen.
func addChecks(mgr ctrl.Manager, o Options) error {
	ready := map[string]healthz.Checker{
		"caches": func(req *http.Request) error {
			ctx, cancel := context.WithTimeout(req.Context(), probeTimeout)
			defer cancel()
			if !mgr.GetCache().WaitForCacheSync(ctx) {
				return fmt.Errorf("the caches are not filled yet")
			}
			return nil
		},
		"crds": lastAnswer(func(ctx context.Context) error { return crdsServed(ctx, mgr) }),
	}
	if o.WebhookPort >= 0 {
		ready["webhooks"] = mgr.GetWebhookServer().StartedChecker()
	}
	for name, check := range ready {
		if err := mgr.AddReadyzCheck(name, check); err != nil {
			return fmt.Errorf("adding the readiness check %s: %w", name, err)
		}
	}
	return mgr.AddHealthzCheck("ping", healthz.Ping)
}

// lastAnswer is a check of the API server that stays what it was while that does not answer. A slow API server says nothing
// about this replica, and would take all replicas out of the webhooks' Service at the same time.
func lastAnswer(ask func(context.Context) error) healthz.Checker {
	var mu sync.Mutex
	var answered bool
	var last error
	return func(req *http.Request) error {
		err := ask(req.Context())
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil || apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
			answered, last = true, err
		case !answered:
			return err
		}
		return last
	}
}

// crdsServed reads one object of each kind from the API server.
func crdsServed(ctx context.Context, mgr ctrl.Manager) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	for _, k := range Kinds {
		gvk, err := apiutil.GVKForObject(k.Object, mgr.GetScheme())
		if err != nil {
			return err
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := mgr.GetAPIReader().List(ctx, list, client.Limit(1)); err != nil {
			return fmt.Errorf("%s is not served: %w", gvk.GroupKind(), err)
		}
	}
	return nil
}
