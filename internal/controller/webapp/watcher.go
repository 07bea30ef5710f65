// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

// maxWatched is how many sources, and keys of a source, a ConfigWatcher can have.
const maxWatched = 32

// watcherName is the name of the ConfigWatcher: those of users are often called like the application.
func watcherName(app *v1alpha1.WebApp) string { return policyName(app) }

// usage is how the environment of pods uses one ConfigMap or Secret.
type usage struct {
	whole    bool
	required bool
	keys     map[string]bool
}

// object is a ConfigMap or a Secret.
type object struct {
	kind autorebootv1alpha1.SourceKind
	name string
}

// usages are the ConfigMaps and Secrets in the environment of pods.
type usages map[object]*usage

// add notes a use; a key that is nil stands for the whole object. A name that no object can have is left out.
func (u usages) add(kind autorebootv1alpha1.SourceKind, name, key *string, optional *bool) {
	if name == nil || len(validation.IsDNS1123Subdomain(*name)) > 0 {
		return
	}
	id := object{kind, *name}
	if u[id] == nil {
		u[id] = &usage{keys: map[string]bool{}}
	}
	if key == nil {
		u[id].whole = true
	} else {
		u[id].keys[*key] = true
	}
	u[id].required = u[id].required || !ptr.Deref(optional, false)
}

func (u usages) addContainer(env []corev1ac.EnvVarApplyConfiguration, from []corev1ac.EnvFromSourceApplyConfiguration) {
	const configMap, secret = autorebootv1alpha1.SourceConfigMap, autorebootv1alpha1.SourceSecret
	for _, f := range from {
		if f.ConfigMapRef != nil {
			u.add(configMap, f.ConfigMapRef.Name, nil, f.ConfigMapRef.Optional)
		}
		if f.SecretRef != nil {
			u.add(secret, f.SecretRef.Name, nil, f.SecretRef.Optional)
		}
	}
	for _, v := range env {
		if v.ValueFrom == nil {
			continue
		}
		if ref := v.ValueFrom.ConfigMapKeyRef; ref != nil {
			u.add(configMap, ref.Name, ref.Key, ref.Optional)
		}
		if ref := v.ValueFrom.SecretKeyRef; ref != nil {
			u.add(secret, ref.Name, ref.Key, ref.Optional)
		}
	}
}

// sources are the ConfigMaps and Secrets in the environment of pods, each once and in a fixed order.
func sources(pods *corev1ac.PodTemplateSpecApplyConfiguration) []autorebootv1alpha1.Source {
	if pods == nil || pods.Spec == nil {
		return nil
	}
	used := usages{}
	for _, c := range slices.Concat(pods.Spec.InitContainers, pods.Spec.Containers) {
		used.addContainer(c.Env, c.EnvFrom)
	}
	var all []autorebootv1alpha1.Source
	for o, u := range used {
		s := autorebootv1alpha1.Source{Kind: o.kind, Name: o.name, Optional: !u.required}
		if !u.whole && len(u.keys) <= maxWatched {
			s.Keys = slices.Sorted(maps.Keys(u.keys))
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b autorebootv1alpha1.Source) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// watched are those sources whose changes have to roll the pods: all with restartOnChange, and always the Secret of the database.
func (in input) watched(pods *corev1ac.PodTemplateSpecApplyConfiguration) []autorebootv1alpha1.Source {
	ref := in.app.Spec.DatabaseSecretRef
	isDatabase := func(s autorebootv1alpha1.Source) bool {
		return ref != nil && s.Kind == autorebootv1alpha1.SourceSecret && s.Name == ref.Name
	}
	all := slices.DeleteFunc(sources(pods), func(s autorebootv1alpha1.Source) bool { return !in.app.Spec.RestartOnChange && !isDatabase(s) })
	if at := slices.IndexFunc(all, isDatabase); at >= maxWatched {
		all = slices.Insert(all[:maxWatched-1], maxWatched-1, all[at]) // of too many it is none that is left out
	}
	return all
}

// watcher is the ConfigWatcher that rolls the pods when what is watched changes; nil when nothing is. Its restart policy is for
// users to set.
func (in input) watcher(watched []autorebootv1alpha1.Source) *autorebootv1alpha1.ConfigWatcher {
	if len(watched) == 0 {
		return nil
	}
	w := &autorebootv1alpha1.ConfigWatcher{ObjectMeta: metav1.ObjectMeta{Namespace: in.app.Namespace, Name: watcherName(in.app)}}
	w.Spec.Sources = watched[:min(len(watched), maxWatched)]
	w.Spec.PodSelector = map[string]autorebootv1alpha1.LabelValue{}
	for k, v := range selectorOf(in.app) {
		w.Spec.PodSelector[k] = autorebootv1alpha1.LabelValue(v)
	}
	return w
}

// watcherChildren are the ConfigWatcher of pods with a template.
func (in input) watcherChildren(pods *corev1ac.PodTemplateSpecApplyConfiguration) ([]engine.Child, error) {
	w := in.watcher(in.watched(pods))
	if w == nil {
		return nil, nil
	}
	child, err := engine.NewCustomChild(autorebootv1alpha1.GroupVersion.WithKind("ConfigWatcher"), w)
	return []engine.Child{child}, err
}

// judgeWatcher reports whether changes roll the pods. What does not exist is no concern of it: pods that cannot start without it
// are reported as such.
func judgeWatcher(w *autorebootv1alpha1.ConfigWatcher) engine.Outcome {
	ready := meta.FindStatusCondition(w.Status.Conditions, engine.Ready)
	if ready != nil && ready.Status == metav1.ConditionFalse && ready.Reason != "SourceMissing" && ready.Reason != "KeyMissing" {
		return engine.Wait(recheck, ready.Reason, "the ConfigWatcher "+w.Name+" does not roll the pods: "+ready.Message)
	}
	return engine.Done().Saying("a change of the content of the environment rolls the pods")
}

// checkWatcher reports whether the pods roll when the content of their environment changes.
func (r *run) checkWatcher(ctx context.Context) (engine.Outcome, error) {
	if r.Obj.Spec.RestartOnChange {
		pods, err := r.in.template()
		if n := len(sources(pods)); err != nil || n > maxWatched {
			return engine.Block(ReasonTooManySources, fmt.Sprintf(
				"the pods take their environment from %d ConfigMaps and Secrets, and restartOnChange watches the first %d only: "+
					"put some of them together, or watch them with ConfigWatchers of your own", n, maxWatched)), err
		}
	}
	w, exists, err := own(ctx, r, client.ObjectKey{Namespace: r.Obj.Namespace, Name: watcherName(r.Obj)}, &autorebootv1alpha1.ConfigWatcher{})
	if err != nil || !exists {
		return engine.Done().Saying("no change of a ConfigMap or Secret has to roll the pods"), err
	}
	return judgeWatcher(w), nil
}
