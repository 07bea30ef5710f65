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

// Package configwatcher reconciles ConfigWatchers: when the content of a ConfigMap or a Secret changes,
// it restarts the pods that depend on it, once.
//
// It makes and owns nothing. ConfigMaps and Secrets are watched as metadata only and read when one that
// is named changes; of their content nothing is kept but keyed hashes. A ConfigMap or Secret that carries
// the annotation autoreboot.acme.com/podSelector is treated like a ConfigWatcher that watches it.
package configwatcher

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/rollout"
)

// kindName is the controller's name, and part of the mark on pod templates.
const kindName = "configwatcher"

// The conditions of a ConfigWatcher, in the order of its steps.
const (
	// Admitted: what is asked for may be done.
	Admitted = "Admitted"
	// UpToDate: the pods run with the content as it is, or a restart waits for its time.
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
	// MaxConcurrentReconciles is how many objects are worked on at once.
	MaxConcurrentReconciles int
	// RetryMax is the longest time between two tries after errors.
	RetryMax time.Duration
	// Annotations has ConfigMaps and Secrets with the annotation autoreboot.acme.com/podSelector treated
	// like ConfigWatchers.
	Annotations bool
	// Clock is the time; nil is the real one.
	Clock clock.PassiveClock
}

// +kubebuilder:rbac:groups="",namespace=system,resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;patch;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=delete;list
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;patch;watch
// +kubebuilder:rbac:groups=apps,resources=daemonsets,verbs=list;patch;watch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;patch;watch
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=list;patch;watch
// +kubebuilder:rbac:groups=autoreboot.acme.com,resources=configwatchers,verbs=get;list;watch
// +kubebuilder:rbac:groups=autoreboot.acme.com,resources=configwatchers/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Register adds the kind to the manager.
func Register(mgr ctrl.Manager, o Options) error {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	recorder := mgr.GetEventRecorder(kindName)
	k := kind{o, mgr.GetAPIReader(), rollout.New(rollout.Options{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: o.Clock, Namespace: o.Namespace,
		Event: func(about client.Object, eventType, reason, note string) {
			recorder.Eventf(about.(runtime.Object), nil, eventType, reason, "Restart", "%s", note)
		},
	})}
	if err := rollout.ObservePending(kindName, o.Clock, pending(mgr.GetCache())); err != nil {
		return err
	}
	if o.Annotations {
		if err := k.registerAnnotated(mgr); err != nil {
			return err
		}
	}
	var watches []engine.Watch[*v1alpha1.ConfigWatcher]
	for _, w := range rollout.Workloads() {
		watches = append(watches, engine.Watch[*v1alpha1.ConfigWatcher]{Of: w, UIDs: workloadUIDs, Concerns: concerns})
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
	}, k)
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

func workloadUIDs(w *v1alpha1.ConfigWatcher) []types.UID {
	uids := make([]types.UID, 0, len(w.Status.Workloads))
	for _, r := range w.Status.Workloads {
		uids = append(uids, r.UID)
	}
	return uids
}

func concerns(w *v1alpha1.ConfigWatcher, changed client.Object) bool {
	return rollout.Concerns(kindName, w, &w.Status.RestartStatus, changed)
}

// pending lists what is pending of all ConfigWatchers.
func pending(cache client.Reader) func(context.Context) ([]*common.PendingRestart, error) {
	return func(ctx context.Context) ([]*common.PendingRestart, error) {
		list := &v1alpha1.ConfigWatcherList{}
		if err := cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		var all []*common.PendingRestart
		for i := range list.Items {
			all = append(all, list.Items[i].Status.Pending)
		}
		return all, nil
	}
}

type kind struct {
	Options
	live      client.Reader
	restarter *rollout.Restarter
}

// Steps is the whole life of a ConfigWatcher.
func (k kind) Steps(s engine.Scope[*v1alpha1.ConfigWatcher]) []engine.Step {
	return k.steps(s.Obj, rollout.Request{
		Kind: kindName, Object: s.Obj, Selector: labels.SelectorFromSet(s.Obj.Selector()),
		Policy: s.Obj.Spec.Restart, Status: &s.Obj.Status.RestartStatus, Reason: reasonContentChanged, Told: s.Told,
	})
}

// steps are those of a ConfigWatcher, whether it exists or stands for an annotation.
func (k kind) steps(w *v1alpha1.ConfigWatcher, req rollout.Request) []engine.Step {
	r := &run{kind: k, watcher: w, req: req}
	return []engine.Step{
		{Condition: Admitted, Run: func(context.Context) (engine.Outcome, error) { return k.restarter.Check(req), nil }},
		{Condition: UpToDate, Run: r.keepUpToDate},
		{Condition: SourcesFound, Run: r.reportMissing},
	}
}

// run is one run of one object, with what its steps hand on.
type run struct {
	kind
	watcher *v1alpha1.ConfigWatcher
	req     rollout.Request

	missing []string
	reason  string
}

// keepUpToDate reads the sources and restarts what has to be restarted.
func (r *run) keepUpToDate(ctx context.Context) (engine.Outcome, error) {
	key, err := r.restarter.Key(ctx)
	if err != nil {
		return engine.Outcome{}, err
	}
	counts := map[string]bool{}
	for _, s := range r.watcher.AllSources() {
		counts[sourceID(s)] = true
		c, err := r.read(ctx, s)
		switch {
		case client.IgnoreNotFound(err) != nil:
			return engine.Outcome{}, fmt.Errorf("reading %s: %w", sourceID(s), err)
		case err != nil:
			r.reason = "SourceMissing"
			r.missing = append(r.missing, fmt.Sprintf("%s/%s does not exist", s.Kind, s.Name))
			continue
		}
		o := observe(key, s, c)
		for _, name := range o.Absent {
			r.reason = "KeyMissing"
			r.missing = append(r.missing, fmt.Sprintf("%s/%s has no key %s", s.Kind, s.Name, name))
		}
		r.req.Observed = append(r.req.Observed, o)
	}
	rollout.Forget(r.req.Status, func(source string) bool { return counts[source] })
	return r.restarter.Run(ctx, r.req)
}

// read reads the content of a source from the API server: caches hold metadata only.
func (r *run) read(ctx context.Context, s v1alpha1.Source) (map[string][]byte, error) {
	key := client.ObjectKey{Namespace: r.watcher.Namespace, Name: s.Name}
	if s.Kind == v1alpha1.SourceSecret {
		o := &corev1.Secret{}
		err := r.live.Get(ctx, key, o)
		return o.Data, err
	}
	o := &corev1.ConfigMap{}
	err := r.live.Get(ctx, key, o)
	return contentOf(o), err
}

// reportMissing tells what is watched and does not exist.
func (r *run) reportMissing(context.Context) (engine.Outcome, error) {
	if len(r.missing) > 0 {
		return engine.Block(r.reason, strings.Join(r.missing, "; ")+
			". Nothing is restarted on account of what is missing; what comes for the first time is taken as it is"), nil
	}
	return engine.Done().Saying("everything that is watched exists"), nil
}
