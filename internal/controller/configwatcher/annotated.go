// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package configwatcher

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
)

// The reasons of events of annotated objects.
const (
	eventInvalidSelector = "InvalidSelector"
	eventNameTaken       = "NameTaken"
)

const (
	// recheckName is how often it is looked whether a name that was taken is free.
	recheckName = 30 * time.Second
	// maxLabels is how many labels the schema of a ConfigWatcher allows.
	maxLabels = 32
)

// annotated makes the ConfigWatchers of annotated ConfigMaps or Secrets. Such a ConfigWatcher belongs to the
// object by a controller owner reference: Kubernetes deletes it along with the object. Its sources, its selector
// and the annotation platform.acme.com/paused follow the object; its restart policy is for users to set.
type annotated struct {
	client.Client
	live   client.Reader
	source v1alpha1.SourceKind
	warn   func(about client.Object, reason, note string)
}

// registerAnnotated adds the controllers of annotated ConfigMaps and Secrets.
func registerAnnotated(mgr ctrl.Manager, o Options) error {
	recorder := mgr.GetEventRecorder(kindName)
	for source, of := range map[v1alpha1.SourceKind]client.Object{
		v1alpha1.SourceConfigMap: &corev1.ConfigMap{}, v1alpha1.SourceSecret: &corev1.Secret{},
	} {
		a := annotated{mgr.GetClient(), mgr.GetAPIReader(), source, func(about client.Object, reason, note string) {
			recorder.Eventf(about, nil, corev1.EventTypeWarning, reason, "Watch", "%s", names.Note(note))
		}}
		err := engine.RegisterAnnotated(mgr, engine.Annotated{
			Name:                    strings.ToLower(string(source)) + "-annotation",
			Of:                      of,
			Owns:                    &v1alpha1.ConfigWatcher{},
			Selects:                 func(o client.Object) bool { _, asks := o.GetAnnotations()[names.AnnotationPodSelector]; return asks },
			Run:                     a.run,
			MaxConcurrentReconciles: o.MaxConcurrentReconciles,
			RetryMax:                o.RetryMax,
		})
		if err != nil {
			return fmt.Errorf("registering annotated %ss: %w", source, err)
		}
	}
	return nil
}

// run makes, changes or deletes the ConfigWatcher of one object.
func (a annotated) run(ctx context.Context, o *metav1.PartialObjectMetadata) (engine.Outcome, error) {
	is := &v1alpha1.ConfigWatcher{}
	err := a.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: a.watcherName(o)}, is)
	if client.IgnoreNotFound(err) != nil {
		return engine.Outcome{}, err
	}
	exists, ours := err == nil, metav1.IsControlledBy(is, o)
	text, asks := o.Annotations[names.AnnotationPodSelector]
	selector, err := parseSelector(text)
	if asks && err != nil {
		a.warn(o, eventInvalidSelector, err.Error())
	}
	switch want := a.desired(o, selector); {
	case !asks || err != nil:
		if exists && ours {
			return engine.Done(), a.remove(ctx, is)
		}
		return engine.Done(), nil
	case !exists:
		return a.create(ctx, o, want)
	case !ours:
		return a.taken(o), nil
	default:
		return engine.Done(), a.follow(ctx, is, want)
	}
}

func (a annotated) watcherName(o client.Object) string {
	return names.Child(o.GetName(), strings.ToLower(string(a.source)))
}

// desired is the ConfigWatcher of an object.
func (a annotated) desired(o *metav1.PartialObjectMetadata, selector map[string]v1alpha1.LabelValue) *v1alpha1.ConfigWatcher {
	w := &v1alpha1.ConfigWatcher{ObjectMeta: metav1.ObjectMeta{
		Namespace: o.Namespace, Name: a.watcherName(o),
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "v1", Kind: string(a.source), Name: o.Name, UID: o.UID, Controller: new(true),
		}},
	}}
	if o.Annotations[names.AnnotationPaused] == "true" {
		w.Annotations = map[string]string{names.AnnotationPaused: "true"}
	}
	w.Spec.Sources = []v1alpha1.Source{{Kind: a.source, Name: o.Name}}
	w.Spec.PodSelector = selector
	return w
}

func (a annotated) create(ctx context.Context, o, want client.Object) (engine.Outcome, error) {
	err := a.Create(ctx, want, client.FieldOwner(names.FieldManager(kindName)))
	if apierrors.IsAlreadyExists(err) {
		is := &v1alpha1.ConfigWatcher{}
		if err := a.live.Get(ctx, client.ObjectKeyFromObject(want), is); err != nil {
			return engine.Outcome{}, err
		}
		if !metav1.IsControlledBy(is, o) {
			return a.taken(o), nil
		}
		return engine.Done(), nil // its watch brings the object back
	}
	return engine.Done(), err
}

// taken is the outcome when a ConfigWatcher of the wanted name is not the object's: also that of an object of the
// same name that was deleted, until Kubernetes has deleted it.
func (a annotated) taken(o client.Object) engine.Outcome {
	note := fmt.Sprintf("the ConfigWatcher %s exists and does not belong to this object: delete or rename it, and this object is watched",
		a.watcherName(o))
	a.warn(o, eventNameTaken, note)
	return engine.BlockFor(recheckName, eventNameTaken, note)
}

// follow changes what the ConfigWatcher has from its object, when it differs.
func (a annotated) follow(ctx context.Context, is, want *v1alpha1.ConfigWatcher) error {
	paused := want.Annotations[names.AnnotationPaused]
	pauses := (is.Annotations[names.AnnotationPaused] == "true") == (paused == "true")
	if pauses && is.Spec.ConfigMap == "" && equality.Semantic.DeepEqual(is.Spec.Sources, want.Spec.Sources) &&
		equality.Semantic.DeepEqual(is.Spec.PodSelector, want.Spec.PodSelector) {
		return nil
	}
	selector := map[string]any{}
	for k := range is.Spec.PodSelector {
		selector[k] = nil
	}
	for k, v := range want.Spec.PodSelector {
		selector[k] = v
	}
	annotations := map[string]any{names.AnnotationPaused: nil}
	if paused != "" {
		annotations[names.AnnotationPaused] = paused
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": is.UID, "annotations": annotations},
		"spec":     map[string]any{"configMap": nil, "sources": want.Spec.Sources, "podSelector": selector},
	})
	if err != nil {
		return err
	}
	err = a.Patch(ctx, is.DeepCopy(), client.RawPatch(types.MergePatchType, body), client.FieldOwner(names.FieldManager(kindName)))
	return client.IgnoreNotFound(err)
}

func (a annotated) remove(ctx context.Context, is *v1alpha1.ConfigWatcher) error {
	return client.IgnoreNotFound(a.Delete(ctx, is, client.Preconditions{UID: &is.UID}))
}

// parseSelector reads labels as kubectl takes them, all of which must match: app=webapp,tier=front.
func parseSelector(text string) (map[string]v1alpha1.LabelValue, error) {
	set, err := labels.ConvertSelectorToLabelsMap(text)
	if err == nil {
		_, err = set.AsValidatedSelector()
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("the annotation %s must be labels such as app=webapp, separated by commas: %w", names.AnnotationPodSelector, err)
	case len(set) == 0:
		return nil, fmt.Errorf("the annotation %s is empty, which would select every pod: give labels such as app=webapp", names.AnnotationPodSelector)
	case len(set) > maxLabels:
		return nil, fmt.Errorf("the annotation %s has more than %d labels", names.AnnotationPodSelector, maxLabels)
	}
	out := map[string]v1alpha1.LabelValue{}
	for k, v := range set {
		out[k] = v1alpha1.LabelValue(v)
	}
	return out, nil
}
