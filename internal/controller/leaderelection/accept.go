// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/coordination/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/workload"
)

// accept checks what the schema cannot know, and reads the candidates from the cache.
func (r *run) accept(ctx context.Context) (engine.Outcome, error) {
	members, err := r.endpoints(ctx, membersName(r.Obj))
	if err != nil {
		return engine.Outcome{}, err
	}
	r.members = members
	r.count()
	if len(members) > maxCandidates {
		return engine.Block(ReasonTooMany, tooMany), nil
	}
	if serviceName(r.Obj) == membersName(r.Obj) {
		return engine.Block(engine.ReasonNameTaken, fmt.Sprintf("spec.service.name is %s, the name of the Service of all candidates; choose another one",
			membersName(r.Obj))), nil
	}
	if out, err := r.overlaps(ctx); err != nil || !out.GoesOn() {
		return out, err
	}
	return r.labelInUse(ctx)
}

// count records how many candidates there are.
func (r *run) count() {
	r.Obj.Status.Candidates, r.Obj.Status.ReadyCandidates = int32(min(len(r.members), maxCandidates+1)), 0 //nolint:gosec // it is small
	for _, m := range r.members {
		if m.ready {
			r.Obj.Status.ReadyCandidates++
		}
	}
}

// overlaps blocks if an older object marks some of the same pods with the same label. Of several, the message names the oldest: the
// cache lists them in another order each time, and a message that changes is a write.
func (r *run) overlaps(ctx context.Context) (engine.Outcome, error) {
	list := &v1alpha1.LeaderElectionList{}
	if err := r.list(ctx, list); err != nil {
		return engine.Outcome{}, fmt.Errorf("listing the other LeaderElections: %w", err)
	}
	var oldest *v1alpha1.LeaderElection
	for i := range list.Items {
		other := &list.Items[i]
		if other.UID == r.Obj.UID || labelOf(other).Key != labelOf(r.Obj).Key || !older(other, r.Obj) || disjoint(selectorOf(other), selectorOf(r.Obj)) {
			continue
		}
		if oldest == nil || older(other, oldest) {
			oldest = other
		}
	}
	if oldest == nil {
		return engine.Done(), nil
	}
	shared := r.shared(selectorOf(oldest))
	return engine.Block(ReasonOverlaps, fmt.Sprintf("the LeaderElection %s, which is older, marks %s with the label %s, too; "+
		"choose another spec.podSelector, or another spec.label in a new LeaderElection", oldest.Name, shared, labelOf(r.Obj).Key)), nil
}

// list lists objects of the namespace from the cache.
func (r *run) list(ctx context.Context, list client.ObjectList) error {
	return r.Client.List(ctx, list, client.InNamespace(r.Obj.Namespace), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
}

// shared returns what both select: pods that are selected by both must have the labels of both selectors. The labels of pods are
// not in the cache, so selectors that do not contradict each other count as overlapping.
func (r *run) shared(other map[string]string) string {
	selector := labels.SelectorFromSet(other)
	if selector.Matches(labels.Set(selectorOf(r.Obj))) {
		return "all pods that this one selects"
	}
	return "pods that have the labels of both"
}

func older(a, b *v1alpha1.LeaderElection) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}

// disjoint reports whether no pod can have the labels of both.
func disjoint(a, b map[string]string) bool {
	for k, v := range a {
		if w, both := b[k]; both && v != w {
			return true
		}
	}
	return false
}

// labelInUse blocks if a workload whose pods are candidates uses the label: its pods would all be created with it, or leave it
// when they get it.
func (r *run) labelInUse(ctx context.Context) (engine.Outcome, error) {
	key := labelOf(r.Obj).Key
	of, in, err := r.workloads(ctx, key)
	switch {
	case err != nil:
		return engine.Outcome{}, err
	case len(in) > 0:
		return engine.BlockFor(recheck, ReasonLabelInUse, fmt.Sprintf("the label %s is in the selector or the pod template of %s, so that it cannot "+
			"mark one pod; take it out there, or choose another spec.label in a new LeaderElection", key, some(in))), nil
	case len(of) > 1:
		return engine.Done().Saying(fmt.Sprintf("spec.podSelector selects pods of %d workloads, one of which leads: %s", len(of), some(of))), nil
	}
	return engine.Done(), nil
}

// some names the first of many.
func some(all []string) string {
	slices.Sort(all)
	return strings.Join(all[:min(len(all), 5)], ", ")
}

// workloads are those whose pods are candidates, and those of them that use the label.
func (r *run) workloads(ctx context.Context, key string) (of, in []string, err error) {
	selector := labels.SelectorFromSet(selectorOf(r.Obj))
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &appsv1.DaemonSetList{}} {
		if err := r.list(ctx, list); err != nil {
			return nil, nil, fmt.Errorf("listing the workloads: %w", err)
		}
		_ = meta.EachListItem(list, func(item runtime.Object) error {
			w, is := workload.Of(item.(client.Object))
			if !is || !selector.Matches(labels.Set(w.Template.Labels)) {
				return nil
			}
			if of = append(of, w.String()); usesKey(w, key) {
				in = append(in, w.String())
			}
			return nil
		})
	}
	return of, in, nil
}

func usesKey(w workload.Workload, key string) bool {
	if _, inTemplate := w.Template.Labels[key]; inTemplate || w.Selector == nil {
		return inTemplate
	}
	_, selects := w.Selector.MatchLabels[key]
	return selects || slices.ContainsFunc(w.Selector.MatchExpressions, func(e metav1.LabelSelectorRequirement) bool { return e.Key == key })
}
