// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/workload"
)

// workloads lists from the cache what a request selects, in the order of kind and name. Objects that are being deleted
// are left out.
func (r *Restarter) workloads(ctx context.Context, req Request) ([]workload.Workload, error) {
	var all []workload.Workload
	for _, kind := range []string{workload.DaemonSet, workload.Deployment, workload.StatefulSet} {
		some, err := list(ctx, r.Client, kind, req, client.MatchingFields{selectIndex: req.key()})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// list lists what a request selects of one kind, in the order of names.
func list(ctx context.Context, reader client.Reader, kind string, req Request, opts ...client.ListOption) ([]workload.Workload, error) {
	objects := map[string]client.ObjectList{
		workload.Deployment: &appsv1.DeploymentList{}, workload.StatefulSet: &appsv1.StatefulSetList{}, workload.DaemonSet: &appsv1.DaemonSetList{},
	}[kind]
	opts = append(opts, client.InNamespace(req.Object.GetNamespace()), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err := reader.List(ctx, objects, opts...); err != nil {
		return nil, fmt.Errorf("listing workloads: %w", err)
	}
	var all []workload.Workload
	_ = meta.EachListItem(objects, func(item runtime.Object) error {
		o := item.(client.Object)
		if w, ok := workload.Of(o); ok && o.GetDeletionTimestamp().IsZero() && req.selects(w) {
			all = append(all, w)
		}
		return nil
	})
	slices.SortFunc(all, inOrder)
	return all, nil
}

func inOrder(a, b workload.Workload) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Meta.Name, b.Meta.Name))
}

// look reads from the API server the workloads that seem to be selected: a cache may be late. Kinds of which none
// seems to be are not asked for.
func (r *Restarter) look(ctx context.Context, req Request) ([]workload.Workload, error) {
	seen, err := r.workloads(ctx, req)
	if err != nil {
		return nil, err
	}
	var all []workload.Workload
	for kind, n := range namesByKind(seen) {
		var opts []client.ListOption
		if len(n) == 1 {
			opts = append(opts, client.MatchingFields{"metadata.name": n[0]})
		}
		live, err := list(ctx, r.Live, kind, req, opts...)
		if err != nil {
			return nil, err
		}
		all = append(all, live...)
	}
	return all, nil
}

func namesByKind(all []workload.Workload) map[string][]string {
	out := map[string][]string{}
	for _, w := range all {
		out[w.Kind] = append(out[w.Kind], w.Meta.Name)
	}
	return out
}

// idOf is how a restart records a workload.
func idOf(w workload.Workload) common.RestartedWorkload {
	return common.RestartedWorkload{Kind: w.Kind, Name: w.Meta.Name, UID: w.Meta.UID, Generation: w.Meta.Generation}
}

// selects reports whether a workload is to be restarted.
func (q Request) selects(w workload.Workload) bool {
	if q.Target != nil {
		return q.Target.Kind == w.Kind && q.Target.Name == w.Meta.Name
	}
	return q.Selector.Matches(labels.Set(w.Template.Labels))
}

// selectIndex is the index of workloads by what selects them, and of objects whose restart is pending by what they select.
const selectIndex = "restart/selects"

// key is what every workload that a request selects has among its keys; empty when there is no such thing.
func (q Request) key() string {
	if q.Target != nil {
		return q.Target.Kind + "/" + q.Target.Name
	}
	all, _ := q.Selector.Requirements()
	for _, r := range all {
		if value, exact := q.Selector.RequiresExactMatch(r.Key()); exact {
			return r.Key() + "=" + value
		}
	}
	return ""
}

// keysOf are the keys of all requests that may select a workload.
func keysOf(w workload.Workload) []string {
	all := []string{"", w.String()}
	for k, v := range w.Template.Labels {
		all = append(all, k+"="+v)
	}
	return all
}

// rolls reports whether workloads are restarted by their templates.
func (q Request) rolls() bool {
	return q.Policy.Strategy == common.RestartRollout || q.Policy.Strategy == ""
}

// annotation is the mark of the request's object on pod templates.
func (q Request) annotation() string { return names.RestartMark(q.kind, q.Object.GetName()) }

// states is what the decision needs to know of workloads.
func (q Request) states(all []workload.Workload) []state {
	key := q.annotation()
	out := make([]state, 0, len(all))
	for _, w := range all {
		out = append(out, state{
			id: idOf(w), mark: w.Template.Annotations[key], template: w.Fingerprint(), rolling: w.Rolling, behind: w.Behind,
			byItself: !w.OnDelete && w.HeldBy == "",
		})
	}
	return out
}

// mark restarts a workload: it sets marks on its pod template, and gives the generation that the workload then
// has. The patch changes the very object that was seen, by its UID, and never creates one; with a version it
// fails unless that is the latest. It claims nothing but its annotations.
func (r *Restarter) mark(ctx context.Context, w workload.Workload, marks map[string]string, version string) (generation int64, err error) {
	meta := map[string]any{"uid": w.Meta.UID}
	if version != "" {
		meta["resourceVersion"] = version
	}
	body, err := json.Marshal(map[string]any{
		"metadata": meta,
		"spec":     map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": marks}}},
	})
	if err != nil {
		return 0, err
	}
	o := w.Object()
	err = r.Client.Patch(ctx, o, client.RawPatch(types.MergePatchType, body),
		client.FieldOwner(fieldManager), client.DisableReadYourWritesConsistency)
	return o.Generation, err
}

// gone reports whether an object that could not be changed is not there any more. Conflicts have many reasons: only
// an object that is missing, or has another UID, is gone.
func (r *Restarter) gone(ctx context.Context, o *metav1.PartialObjectMetadata, err error) bool {
	switch {
	case apierrors.IsNotFound(err):
		return true
	case !apierrors.IsConflict(err):
		return false
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(o.GroupVersionKind().GroupVersion().WithKind(o.Kind + "List"))
	if err := r.Live.List(ctx, list, client.InNamespace(o.Namespace), client.MatchingFields{"metadata.name": o.Name}); err != nil {
		return false
	}
	return len(list.Items) == 0 || list.Items[0].UID != o.UID
}

// concerns reports whether a change of a workload is of interest for an object that has restarted it: it lost the
// mark, others wait until it is ready, or it is not held back any more.
func concerns(key string, status *common.RestartStatus, heldBack bool, changed client.Object) bool {
	w, ok := workload.Of(changed)
	if !ok {
		return false
	}
	e := entry(status, w.Meta.UID)
	switch p := status.Pending; {
	case e == nil:
		return false
	case p != nil:
		return p.Reason == ReasonMaxConcurrent && !w.Rolling
	}
	return heldBack && w.Held() == "" || w.Meta.Generation >= e.Generation && w.Template.Annotations[key] != status.Mark
}
