// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package configwatcher reconciles ConfigWatchers: when the content of a ConfigMap or a Secret changes,
// it restarts the pods that depend on it, once.
//
// ConfigMaps and Secrets are watched as metadata only and read when one that is named changes; of their content
// nothing is kept but keyed hashes. A ConfigMap or Secret that carries the annotation
// autoreboot.acme.com/podSelector gets a ConfigWatcher, which it owns (annotated.go). A ConfigWatcher itself
// makes and owns nothing.
package configwatcher

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/restart"
)

// kindName is the controller's name, and part of the restart mark on pod templates.
const kindName = "configwatcher"

// The conditions of a ConfigWatcher, in the order of its steps.
const (
	// Admitted: what is asked for may be done.
	Admitted = "Admitted"
	// UpToDate: the pods run with the present content, or a restart waits for its time.
	UpToDate = "UpToDate"
	// SourcesFound: everything that is watched exists.
	SourcesFound = "SourcesFound"
)

// reasonContentChanged is why it restarts.
const reasonContentChanged = "ContentChanged"

// Options is what the kind needs beside the cluster.
type Options struct {
	// Namespace is the operator's own.
	Namespace string
	// Peers are the kinds that restart workloads.
	Peers *restart.Peers
	// MaxConcurrentReconciles is how many objects are worked on at once.
	MaxConcurrentReconciles int
	// RetryMax is the longest time between two tries after errors.
	RetryMax time.Duration
	// Annotations makes ConfigWatchers for ConfigMaps and Secrets with the annotation
	// autoreboot.acme.com/podSelector.
	Annotations bool
	// Clock is the time; nil is the real one.
	Clock clock.PassiveClock
}

// +kubebuilder:rbac:groups="",namespace=system,resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=delete;list
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=daemonsets,verbs=list;patch;watch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;patch;watch
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=list;patch;watch
// +kubebuilder:rbac:groups=autoreboot.acme.com,resources=configwatchers,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=autoreboot.acme.com,resources=configwatchers/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Register adds the kind to the manager.
func Register(mgr ctrl.Manager, o Options) error {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	restarter, watches, err := restart.Register(mgr, &v1alpha1.ConfigWatcher{}, restart.Config[*v1alpha1.ConfigWatcher]{
		Kind: kindName, Namespace: o.Namespace, Clock: o.Clock, Peers: o.Peers, Request: requestFor,
	})
	if err != nil {
		return fmt.Errorf("registering what restarts: %w", err)
	}
	if o.Annotations {
		if err := registerAnnotated(mgr, o); err != nil {
			return err
		}
	}
	return engine.Register(mgr, &v1alpha1.ConfigWatcher{}, engine.Config[*v1alpha1.ConfigWatcher]{
		Name: kindName,
		References: []engine.Reference[*v1alpha1.ConfigWatcher]{
			{To: &corev1.ConfigMap{}, Keys: keysOf(v1alpha1.SourceConfigMap)},
			{To: &corev1.Secret{}, Keys: keysOf(v1alpha1.SourceSecret)},
		},
		Watches:                 watches,
		MaxConcurrentReconciles: o.MaxConcurrentReconciles,
		RetryMax:                o.RetryMax,
		Clock:                   o.Clock,
	}, kind{mgr.GetClient(), mgr.GetAPIReader(), restarter, restart.NewCache[string, reading](restart.Remembered)})
}

func keysOf(kind v1alpha1.SourceKind) func(*v1alpha1.ConfigWatcher) []client.ObjectKey {
	return func(w *v1alpha1.ConfigWatcher) []client.ObjectKey {
		var keys []client.ObjectKey
		for _, s := range w.AllSources() {
			if s.Kind == kind {
				keys = append(keys, client.ObjectKey{Namespace: w.Namespace, Name: s.Name})
			}
		}
		return keys
	}
}

type kind struct {
	cache     client.Reader
	live      client.Reader
	restarter *restart.Restarter
	// readings are the last readings of ConfigWatchers of annotated objects, by name.
	readings *restart.Cache[string, reading]
}

// Forget implements engine.Forgetting. The readings remain, for the successor of an annotated object.
func (k kind) Forget(key client.ObjectKey, uid types.UID) { k.restarter.Forget(key, uid) }

// requestFor is what a ConfigWatcher asks for.
func requestFor(w *v1alpha1.ConfigWatcher) restart.Request {
	return restart.Request{
		Object: w, Selector: labels.SelectorFromSet(w.Selector()), Policy: w.Spec.Restart, Status: w.Restarts(), Reason: reasonContentChanged,
	}
}

// Steps is the whole life of a ConfigWatcher.
func (k kind) Steps(s engine.Scope[*v1alpha1.ConfigWatcher]) []engine.Step {
	r := &run{kind: k, watcher: s.Obj, req: requestFor(s.Obj)}
	r.req.Told = s.Told
	return []engine.Step{
		{Condition: Admitted, Run: func(context.Context) (engine.Outcome, error) { return k.restarter.Check(r.req), nil }},
		{Condition: UpToDate, Run: r.keepUpToDate},
		{Condition: SourcesFound, Run: r.reportMissing},
	}
}

// run is one run of one object, with what its steps hand on.
type run struct {
	kind
	watcher *v1alpha1.ConfigWatcher
	req     restart.Request

	missing []string
	reason  string
	own     *common.ObservedSource // of the annotated object that the watcher belongs to
}

// keepUpToDate reads the sources and restarts what has to be restarted.
func (r *run) keepUpToDate(ctx context.Context) (engine.Outcome, error) {
	key, err := r.restarter.Key(ctx, r.watcher)
	if err != nil {
		return engine.Outcome{}, err
	}
	counts := map[string]bool{}
	for _, s := range r.watcher.AllSources() {
		counts[sourceID(s)] = true
		if err := r.observe(ctx, key, s); err != nil {
			return engine.Outcome{}, fmt.Errorf("reading %s: %w", sourceID(s), err)
		}
	}
	restart.Forget(r.req.Status, func(source string) bool { return counts[source] })
	defer r.remember()
	return r.restarter.Run(ctx, r.req)
}

// observe reads a source, unless it still is in the version that is recorded.
func (r *run) observe(ctx context.Context, key restart.Key, s v1alpha1.Source) error {
	if o, unchanged := r.recorded(ctx, s); unchanged {
		r.req.Observed = append(r.req.Observed, o)
		return nil
	}
	content, meta, err := r.read(ctx, s)
	if apierrors.IsNotFound(err) && s.Optional {
		r.req.Observed = append(r.req.Observed, observe(key, s, nil, &metav1.ObjectMeta{}))
		return nil
	}
	if apierrors.IsNotFound(err) {
		r.reason = "SourceMissing"
		r.missing = append(r.missing, fmt.Sprintf("%s/%s does not exist", s.Kind, s.Name))
		return nil
	}
	if err != nil {
		return err
	}
	r.inherit(meta, key)
	o := observe(key, s, content, meta)
	if r.belongsTo(s) {
		r.own = new(o.Legacy())
	}
	for _, name := range o.Absent {
		r.reason = "KeyMissing"
		r.missing = append(r.missing, fmt.Sprintf("%s/%s has no key %s", s.Kind, s.Name, name))
	}
	r.req.Observed = append(r.req.Observed, o)
	return nil
}

// recorded is what is recorded of a source that is still in the same version. A missing key has to be reported at every
// run, so that a source of which keys are named is always read; and an annotated object is read once, for its successor.
func (r *run) recorded(ctx context.Context, s v1alpha1.Source) (restart.Observation, bool) {
	if _, known := r.last(); len(s.Keys) > 0 || !known && r.belongsTo(s) {
		return restart.Observation{}, false
	}
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(string(s.Kind)))
	if err := r.cache.Get(ctx, client.ObjectKey{Namespace: r.watcher.Namespace, Name: s.Name}, o); err != nil {
		return restart.Observation{}, false
	}
	return restart.Recorded(r.req.Status, sourceID(s), o.ResourceVersion)
}

// belongsTo reports whether a source is the annotated object that the watcher belongs to, or has taken its place: until
// Kubernetes has deleted the watcher, that restarts for the new one.
func (r *run) belongsTo(s v1alpha1.Source) bool {
	owner := metav1.GetControllerOf(r.watcher)
	return owner != nil && owner.Kind == string(s.Kind) && owner.Name == s.Name
}

// read reads the content of a source from the API server: caches hold metadata only.
func (r *run) read(ctx context.Context, s v1alpha1.Source) (map[string][]byte, client.Object, error) {
	key := client.ObjectKey{Namespace: r.watcher.Namespace, Name: s.Name}
	if s.Kind == v1alpha1.SourceSecret {
		o := &corev1.Secret{}
		err := r.live.Get(ctx, key, o)
		return o.Data, o, err
	}
	o := &corev1.ConfigMap{}
	err := r.live.Get(ctx, key, o)
	return contentOf(o), o, err
}

// reportMissing reports what is watched and does not exist.
func (r *run) reportMissing(context.Context) (engine.Outcome, error) {
	if len(r.missing) > 0 {
		return engine.Block(r.reason, strings.Join(r.missing, "; ")+
			". Nothing is restarted because of what is missing; what appears for the first time is the baseline"), nil
	}
	return engine.Done().Saying("everything that is watched exists"), nil
}
