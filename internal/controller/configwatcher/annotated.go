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

package configwatcher

import (
	"context"
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/rollout"
)

// registerAnnotated adds the controllers of annotated ConfigMaps and Secrets.
func (k kind) registerAnnotated(mgr ctrl.Manager) error {
	for source, of := range map[v1alpha1.SourceKind]client.Object{
		v1alpha1.SourceConfigMap: &corev1.ConfigMap{}, v1alpha1.SourceSecret: &corev1.Secret{},
	} {
		err := engine.RegisterAnnotated(mgr, engine.Annotated{
			Name:    strings.ToLower(string(source)) + "-annotation",
			Of:      of,
			Selects: rollout.Asks,
			Run: func(ctx context.Context, o *metav1.PartialObjectMetadata) (engine.Outcome, error) {
				return k.runAnnotated(ctx, mgr.GetClient(), source, o)
			},
			MaxConcurrentReconciles: k.MaxConcurrentReconciles,
			RetryMax:                k.RetryMax,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// runAnnotated is one run of one annotated object: that of a ConfigWatcher which watches it.
func (k kind) runAnnotated(
	ctx context.Context, c client.Client, source v1alpha1.SourceKind, o *metav1.PartialObjectMetadata,
) (engine.Outcome, error) {
	if o.Annotations[names.AnnotationPaused] == "true" {
		return engine.Done(), nil
	}
	before := rollout.ReadNote(o)
	after := rollout.Note{UID: o.UID, RestartStatus: *before.DeepCopy()}
	var told []func()
	out, err := k.work(ctx, source, o, &after.RestartStatus, func(tell func()) { told = append(told, tell) })
	after.Ready, after.Reason, after.Message = engine.Verdict(out, err)
	if err != nil && ctx.Err() != nil || equality.Semantic.DeepEqual(before, after) {
		return out, err
	}
	if writeErr := writeNote(ctx, c, o, after); writeErr != nil {
		return out, client.IgnoreNotFound(writeErr)
	}
	for _, tell := range told {
		tell()
	}
	return out, err
}

// work runs the steps until one does not let the next one run.
func (k kind) work(
	ctx context.Context, source v1alpha1.SourceKind, o *metav1.PartialObjectMetadata, s *common.RestartStatus, told func(func()),
) (engine.Outcome, error) {
	selector, err := rollout.ParseSelector(o.Annotations[names.AnnotationPodSelector])
	if err != nil {
		return engine.Block("InvalidSelector", err.Error()), nil
	}
	w := &v1alpha1.ConfigWatcher{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: o.UID}}
	w.Spec.Sources = []v1alpha1.Source{{Kind: source, Name: o.Name}}
	steps := k.steps(w, rollout.Request{
		Kind: strings.ToLower(string(source)), Object: o, Selector: selector, Status: s, Reason: reasonContentChanged, Told: told,
	})
	return engine.Steps(ctx, steps)
}

// writeNote writes the status. Nothing else of the object is touched, and one that is gone stays gone.
func writeNote(ctx context.Context, c client.Client, o *metav1.PartialObjectMetadata, n rollout.Note) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": o.UID, "annotations": map[string]any{names.AnnotationRestartStatus: string(text)},
	}})
	if err != nil {
		return err
	}
	return c.Patch(ctx, o.DeepCopy(), client.RawPatch(types.MergePatchType, body), client.FieldOwner(names.FieldManager("rollout")))
}
