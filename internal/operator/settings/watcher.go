// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

const (
	// PollInterval is the time between two reads of the configuration file.
	PollInterval = 5 * time.Second

	reasonInvalid = "ConfigInvalid"
	actionReload  = "ReloadConfig"
	// maxNote is the longest note of an Event that the API server accepts, in bytes.
	maxNote = 1024
)

// Options configures a Watcher.
type Options struct {
	// Running is the configuration in effect, as Load returned it.
	Running *Source
	// File is the configuration file. Empty: the ConfigMap is watched.
	File string
	// Namespace is the operator's own. If both it and File are empty, nothing is watched.
	Namespace string
	// REST configures access to the API server. Needed to watch the ConfigMap.
	REST *rest.Config
	// Recorder emits the Event about an invalid configuration: on the ConfigMap, or for a file on the
	// operator's Namespace.
	Recorder events.EventRecorder
	// Metrics count reloads.
	Metrics *Metrics
	// Restart is called once, after a valid change, with the configuration to continue with. It must not block:
	// it stops the manager, and the caller of the manager starts another one.
	Restart func(next *Source)
}

// Watcher compares the current configuration with the one in effect. A valid change leads to one call of
// Restart. An invalid one is reported once, by an Event, the metrics and the log, and has no effect. An
// equivalent text is not a change; a deleted ConfigMap means the defaults.
type Watcher struct {
	Options
	configMaps toolscache.ListerWatcher
	// rejected is the last text, or error of reading it, that was reported; nil after a valid one.
	rejected *string
}

var (
	_ manager.Runnable               = (*Watcher)(nil)
	_ manager.LeaderElectionRunnable = (*Watcher)(nil)
)

// kustomize replaces the Namespace of a namespaced marker.
//
// +kubebuilder:rbac:groups="",namespace=system,resources=configmaps,resourceNames=platform-operator-config,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,namespace=system,resources=events,verbs=create;patch

// NewWatcher returns a watcher to be added to the manager. It fails if a required option is missing.
func NewWatcher(o Options) (*Watcher, error) {
	if o.Running == nil || o.Recorder == nil || o.Metrics == nil || o.Restart == nil {
		return nil, errors.New("watching the configuration: Running, Recorder, Metrics and Restart are needed")
	}
	w := &Watcher{Options: o}
	if o.File == "" && o.Namespace != "" {
		core, err := corev1client.NewForConfig(o.REST)
		if err != nil {
			return nil, fmt.Errorf("creating a client to watch the configuration: %w", err)
		}
		// By name, so that memory and permissions cover no other ConfigMap.
		w.configMaps = toolscache.NewListWatchFromClient(core.RESTClient(), "configmaps", o.Namespace,
			fields.OneTermEqualSelector("metadata.name", ConfigMapName))
	}
	return w, nil
}

// NeedLeaderElection returns false: each replica runs with the configuration, so each one watches it.
func (w *Watcher) NeedLeaderElection() bool { return false }

// Start watches until the context ends or Restart was called. It returns no error.
func (w *Watcher) Start(ctx context.Context) error {
	w.Metrics.valid.Set(1)
	ctx = log.IntoContext(ctx, log.FromContext(ctx).WithName("settings"))
	switch {
	case w.File != "":
		w.watchFile(ctx)
	case w.configMaps != nil:
		w.watchConfigMap(ctx)
	}
	return nil
}

// watchFile reads the content and ignores file-system events, so that it does not matter how the content is
// replaced, for instance by the symbolic links of a mounted ConfigMap. A content counts when two reads in a row
// have found it, because a file may be half written.
func (w *Watcher) watchFile(ctx context.Context) {
	ticker := time.NewTicker(PollInterval)
	defer ticker.Stop()
	before := readFile(w.File)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := readFile(w.File)
		if now.content() == before.content() && w.consider(ctx, now) {
			return
		}
		before = now
	}
}

func (w *Watcher) watchConfigMap(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	var informing wait.Group
	defer informing.Wait()
	defer stop()

	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default: // one read of the store suffices for several changes
		}
	}
	store, informer := toolscache.NewInformerWithOptions(toolscache.InformerOptions{
		ListerWatcher: w.configMaps,
		ObjectType:    &corev1.ConfigMap{},
		Handler: toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { notify() },
			UpdateFunc: func(any, any) { notify() },
			DeleteFunc: func(any) { notify() },
		},
	})
	informing.StartWithContext(ctx, informer.RunWithContext)
	if !toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return
	}
	notify() // the ConfigMap may have been deleted since the configuration was loaded
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		if w.consider(ctx, fromConfigMap(onlyConfigMap(store))) {
			return
		}
	}
}

// onlyConfigMap returns the content of a store that can hold one object.
func onlyConfigMap(store toolscache.Store) *corev1.ConfigMap {
	for _, object := range store.List() {
		if configMap, ok := object.(*corev1.ConfigMap); ok {
			return configMap
		}
	}
	return nil
}

// consider acts on a reading and returns true after it has called Restart.
func (w *Watcher) consider(ctx context.Context, found reading) bool {
	logger := log.FromContext(ctx)
	source, err := found.parse()
	if err != nil {
		w.reject(logger, found, err)
		return false
	}
	w.rejected = nil
	w.Metrics.valid.Set(1)
	if source.Version == w.Running.Version {
		return false
	}
	logger.Info("Restarting with a changed configuration",
		"from", w.Running.Origin, "fromVersion", w.Running.Version, "to", source.Origin, "toVersion", source.Version)
	w.Metrics.reloads.WithLabelValues(resultApplied).Inc()
	w.Restart(source)
	return true
}

func (w *Watcher) reject(logger logr.Logger, found reading, err error) {
	content := found.content()
	if w.rejected != nil && *w.rejected == content {
		return
	}
	w.rejected = &content
	w.Metrics.valid.Set(0)
	w.Metrics.reloads.WithLabelValues(resultRejected).Inc()
	logger.Error(err, "The changed configuration is invalid; the previous one remains in effect",
		"origin", w.Running.Origin, "version", w.Running.Version)
	if about := w.about(found); about != nil {
		w.Recorder.Eventf(about, nil, corev1.EventTypeWarning, reasonInvalid, actionReload, "%s", note(err))
	}
}

// about returns the object that an Event is about; nil when there is none.
func (w *Watcher) about(found reading) *corev1.ObjectReference {
	if found.configMap != nil {
		// client-go counts an Event as a repetition of an earlier one, and drops its note, unless type, reason,
		// action or this reference differ. With the resource version each content has its own Event.
		return &corev1.ObjectReference{
			APIVersion: "v1", Kind: "ConfigMap",
			Namespace: found.configMap.Namespace, Name: found.configMap.Name,
			UID: found.configMap.UID, ResourceVersion: found.configMap.ResourceVersion,
		}
	}
	if w.Namespace == "" {
		return nil
	}
	// The Event must be in the operator's namespace, although a Namespace itself is in none.
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Namespace: w.Namespace, Name: w.Namespace}
}

func note(err error) string {
	text := "The previous configuration remains in effect: " + err.Error()
	if len(text) <= maxNote {
		return text
	}
	const more = " …"
	return strings.ToValidUTF8(text[:maxNote-len(more)], "") + more
}
