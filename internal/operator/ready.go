// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/tolerant"
)

const (
	// probeTimeout bounds the requests of a readiness probe.
	probeTimeout = 2 * time.Second
	// patience is how long the types wait for each other at the start.
	patience = 5 * time.Second
	// forever is how long a kind waits for its own cache.
	forever = 10 * 365 * 24 * time.Hour
)

// holding is the manager's cache, and where objects are reported that it cannot hold.
type holding struct {
	cache    *tolerant.Cache
	recorder events.EventRecorder
}

func (h *holding) newCache(expected []client.Object, reportAfter time.Duration) cache.NewCacheFunc {
	return tolerant.NewCache(tolerant.Options{
		Ours: isOurGroup, Expected: expected, Report: h.report, Patience: patience, ReportAfter: reportAfter,
	}, func(c *tolerant.Cache) { h.cache = c })
}

// isOurGroup reports whether a type is one of the operator's own.
func isOurGroup(gvk schema.GroupVersionKind) bool { return strings.HasSuffix(gvk.Group, ".acme.com") }

// report reports an object that cannot be decoded, by the log and an event.
func (h *holding) report(o client.Object, err error) {
	kind := o.GetObjectKind().GroupVersionKind().Kind
	ctrl.Log.Error(err, "An object cannot be decoded, so it is not reconciled until it is corrected. All others are.",
		"kind", kind, "namespace", o.GetNamespace(), "name", o.GetName())
	h.recorder.Eventf(o, nil, corev1.EventTypeWarning, "Unreadable", "Read",
		"The operator cannot decode this %s and does not reconcile it: %s. Correct that field with kubectl edit.", kind, names.Clip(err.Error(), 700))
}

// addChecks adds the probes: alive if the process answers; ready if the caches are filled, or have had the time
// for it, and the webhooks listen. The checks kinds and crds name what is not served. The probe of the
// Deployment leaves them out, because one kind must not make the webhooks of the others unavailable.
func addChecks(mgr ctrl.Manager, o Options, held *tolerant.Cache) error {
	ready := map[string]healthz.Checker{
		"caches": func(*http.Request) error {
			if held.Overdue() {
				return nil
			}
			return unfilled(held)
		},
		"kinds": func(*http.Request) error { return unfilled(held) },
		"crds":  lastAnswer(func(ctx context.Context) error { return crdsServed(ctx, mgr) }),
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

// unfilled returns an error that names the types whose caches are not filled.
func unfilled(held *tolerant.Cache) error {
	missing := held.Unfilled()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		if err := missing[name]; err != nil {
			errs = append(errs, fmt.Errorf("the cache of %s is not filled: %w", name, err))
		} else {
			errs = append(errs, fmt.Errorf("the cache of %s is not filled yet", name))
		}
	}
	return errors.Join(errs...)
}

// lastAnswer caches the result of a check of the API server while that does not answer. A slow API server does
// not make this replica unready, and would remove all replicas from the webhooks' Service at the same time.
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
