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

package rollout

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
)

// annotatedKinds are the kinds whose objects restart something when they carry the annotation.
var annotatedKinds = []string{"ConfigMap", "Secret"}

const (
	// indexAnnotated is the index of the objects that carry the annotation. They are few among many.
	indexAnnotated = "restart/annotated"
	asking         = "yes"
)

// Index prepares the caches for what restarts look up. It is called once for a manager.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	for _, kind := range annotatedKinds {
		o := &metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
		err := indexer.IndexField(ctx, o, indexAnnotated, func(o client.Object) []string {
			if Asks(o) {
				return []string{asking}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("indexing %ss by annotation: %w", kind, err)
		}
	}
	return nil
}

// peer is another object whose restart of the same workloads is pending.
type peer struct {
	key, mark string
	selects   Request // only what it selects
}

type peers []peer

// peers lists the other objects of the namespace that wait to restart something. What they wait for has
// been seen already, so that a workload which is restarted now need not be restarted for them again: it
// gets their marks along with ours.
func (x *execution) peers(ctx context.Context) (peers, error) {
	in := []client.ListOption{
		client.InNamespace(x.req.Object.GetNamespace()), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency,
	}
	var all peers
	watchers, policies := &v1alpha1.ConfigWatcherList{}, &v1alpha1.RebootPolicyList{}
	for _, list := range []client.ObjectList{watchers, policies} {
		if err := x.Client.List(ctx, list, in...); err != nil {
			return nil, fmt.Errorf("listing what else waits to restart something: %w", err)
		}
	}
	for i := range watchers.Items {
		w := &watchers.Items[i]
		all = all.with("configwatcher", w.Name, w.Spec.Restart, w.Status.Pending, Request{Selector: labels.SelectorFromSet(w.Selector())})
	}
	for i := range policies.Items {
		p := &policies.Items[i]
		selects := Request{Selector: labels.SelectorFromSet(p.Selector())}
		if t := p.Spec.Target; t != nil {
			selects.Target = &Target{Kind: t.Kind, Name: t.Name}
		}
		all = all.with("rebootpolicy", p.Name, p.Spec.Restart, p.Status.Pending, selects)
	}
	for _, kind := range annotatedKinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind + "List"))
		if err := x.Client.List(ctx, list, append(in, client.MatchingFields{indexAnnotated: asking})...); err != nil {
			return nil, fmt.Errorf("listing what else waits to restart something: %w", err)
		}
		all = all.annotated(kind, list.Items)
	}
	return all, nil
}

// annotated adds those of the objects that restart something because of their annotation.
func (p peers) annotated(kind string, objects []metav1.PartialObjectMetadata) peers {
	for i := range objects {
		o := &objects[i]
		if selector, err := ParseSelector(o.Annotations[names.AnnotationPodSelector]); err == nil {
			p = p.with(strings.ToLower(kind), o.Name, common.RestartPolicy{}, ReadNote(o).Pending, Request{Selector: selector})
		}
	}
	return p
}

// with adds an object, unless nothing of it is pending, or it would not mark workloads.
func (p peers) with(kind, name string, policy common.RestartPolicy, pending *common.PendingRestart, selects Request) peers {
	if pending == nil || policy.DryRun || !(Request{Policy: policy}).rolls() {
		return p
	}
	return append(p, peer{names.RestartMark(kind, name), pending.Mark, selects})
}

// marks are the annotations that a workload gets.
func (p peers) marks(req Request, w workload) map[string]string {
	out := map[string]string{}
	for _, other := range p {
		if other.selects.selects(w) {
			out[other.key] = other.mark
		}
	}
	out[req.annotation()] = req.Status.Mark
	return out
}
