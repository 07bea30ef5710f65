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
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
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
			Name: strings.ToLower(string(source)) + "-annotation",
			Of:   of,
			Selects: func(o client.Object) bool {
				_, asks := o.GetAnnotations()[names.AnnotationPodSelector]
				return asks
			},
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

// note is the status of an annotated object, in an annotation of it.
type note struct {
	// UID tells the object from another one that the annotation was copied to.
	UID types.UID `json:"uid"`
	// Ready, Reason and Message are what the condition Ready of a ConfigWatcher would be.
	Ready   metav1.ConditionStatus `json:"ready"`
	Reason  string                 `json:"reason"`
	Message string                 `json:"message,omitempty"`

	common.RestartStatus `json:",inline"`
}

// runAnnotated is one run of one annotated object: that of a ConfigWatcher which watches it.
func (k kind) runAnnotated(
	ctx context.Context, c client.Client, source v1alpha1.SourceKind, o *metav1.PartialObjectMetadata,
) (engine.Outcome, error) {
	if o.Annotations[names.AnnotationPaused] == "true" {
		return engine.Done(), nil
	}
	before := readNote(o)
	after := note{UID: o.UID, RestartStatus: *before.DeepCopy()}
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
	selector, err := parseSelector(o.Annotations[names.AnnotationPodSelector])
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

// parseSelector reads labels as kubectl takes them, all of which must match: app=webapp,tier=front.
func parseSelector(text string) (labels.Selector, error) {
	set, err := labels.ConvertSelectorToLabelsMap(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the annotation %s must be labels such as app=webapp, separated by commas: %w", names.AnnotationPodSelector, err)
	case len(set) == 0:
		return nil, fmt.Errorf("the annotation %s is empty, which would select every pod: give labels such as app=webapp", names.AnnotationPodSelector)
	}
	return set.AsValidatedSelector()
}

// readNote reads the status. One that cannot be read, or is another object's, is none: the content is then
// taken as it is.
func readNote(o *metav1.PartialObjectMetadata) note {
	n := note{}
	if err := json.Unmarshal([]byte(o.Annotations[names.AnnotationRestartStatus]), &n); err != nil || n.UID != o.UID {
		return note{}
	}
	return n
}

// writeNote writes the status. Nothing else of the object is touched, and one that is gone stays gone.
func writeNote(ctx context.Context, c client.Client, o *metav1.PartialObjectMetadata, n note) error {
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
