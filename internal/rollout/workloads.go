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
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
)

// The kinds of workloads that do rolling updates.
const (
	kindDeployment  = "Deployment"
	kindStatefulSet = "StatefulSet"
	kindDaemonSet   = "DaemonSet"
)

// Workloads lists one empty object of each kind that is restarted by its pod template. A kind that
// restarts watches them.
func Workloads() []client.Object {
	return []client.Object{&appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}}
}

// workload is what a Deployment, a StatefulSet and a DaemonSet have in common. It refers to the cache's
// own object, which is not to be changed.
type workload struct {
	kind     string
	meta     *metav1.ObjectMeta
	template *metav1.ObjectMeta
	selector *metav1.LabelSelector
	rolling  bool
	onDelete bool // its pods stay as they are until somebody deletes them
}

func (w workload) id() common.RestartedWorkload {
	return common.RestartedWorkload{Kind: w.kind, Name: w.meta.Name, UID: w.meta.UID}
}

func (w workload) String() string { return w.kind + "/" + w.meta.Name }

// object stands for the workload in events and patches.
func (w workload) object() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(w.kind))
	o.Namespace, o.Name, o.UID = w.meta.Namespace, w.meta.Name, w.meta.UID
	return o
}

// workloadOf reads a workload of any kind; false when it is none.
func workloadOf(o client.Object) (workload, bool) {
	switch o := o.(type) {
	case *appsv1.Deployment:
		return deployment(o), true
	case *appsv1.StatefulSet:
		return statefulSet(o), true
	case *appsv1.DaemonSet:
		return daemonSet(o), true
	}
	return workload{}, false
}

// deployment reads a Deployment. A paused one does not roll, and is not waited for.
func deployment(o *appsv1.Deployment) workload {
	want := int32(1)
	if o.Spec.Replicas != nil {
		want = *o.Spec.Replicas
	}
	s := o.Status
	rolling := s.ObservedGeneration < o.Generation || s.UpdatedReplicas < want || s.Replicas > s.UpdatedReplicas || s.AvailableReplicas < want
	return workload{kindDeployment, &o.ObjectMeta, &o.Spec.Template.ObjectMeta, o.Spec.Selector, rolling && !o.Spec.Paused, false}
}

// statefulSet reads a StatefulSet. With a partition only the pods above it are updated; one that is
// updated OnDelete does not roll, and is not waited for.
func statefulSet(o *appsv1.StatefulSet) workload {
	want := int32(1)
	if o.Spec.Replicas != nil {
		want = *o.Spec.Replicas
	}
	updated := want
	if u := o.Spec.UpdateStrategy.RollingUpdate; u != nil && u.Partition != nil {
		updated = max(0, want-*u.Partition)
	}
	s := o.Status
	rolling := s.ObservedGeneration < o.Generation || s.AvailableReplicas < want ||
		(s.UpdateRevision != s.CurrentRevision && s.UpdatedReplicas < updated)
	onDelete := o.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType
	return workload{kindStatefulSet, &o.ObjectMeta, &o.Spec.Template.ObjectMeta, o.Spec.Selector, rolling && !onDelete, onDelete}
}

// daemonSet reads a DaemonSet.
func daemonSet(o *appsv1.DaemonSet) workload {
	s := o.Status
	rolling := s.ObservedGeneration < o.Generation || s.UpdatedNumberScheduled < s.DesiredNumberScheduled || s.NumberAvailable < s.DesiredNumberScheduled
	onDelete := o.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType
	return workload{kindDaemonSet, &o.ObjectMeta, &o.Spec.Template.ObjectMeta, o.Spec.Selector, rolling && !onDelete, onDelete}
}

// workloads lists what a request selects, in the order of kind and name. Objects that are being deleted
// are left out.
func (r *Restarter) workloads(ctx context.Context, reader client.Reader, req Request) ([]workload, error) {
	var all []workload
	for _, kind := range []string{kindDaemonSet, kindDeployment, kindStatefulSet} {
		some, err := list(ctx, reader, kind, req)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// list lists what a request selects of one kind, in the order of names.
func list(ctx context.Context, reader client.Reader, kind string, req Request, opts ...client.ListOption) ([]workload, error) {
	objects := map[string]client.ObjectList{
		kindDeployment: &appsv1.DeploymentList{}, kindStatefulSet: &appsv1.StatefulSetList{}, kindDaemonSet: &appsv1.DaemonSetList{},
	}[kind]
	opts = append(opts, client.InNamespace(req.Object.GetNamespace()), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err := reader.List(ctx, objects, opts...); err != nil {
		return nil, fmt.Errorf("listing workloads: %w", err)
	}
	var all []workload
	_ = meta.EachListItem(objects, func(item runtime.Object) error {
		o := item.(client.Object)
		if w, ok := workloadOf(o); ok && o.GetDeletionTimestamp().IsZero() && req.selects(w) {
			all = append(all, w)
		}
		return nil
	})
	slices.SortFunc(all, inOrder)
	return all, nil
}

func inOrder(a, b workload) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.meta.Name, b.meta.Name))
}

// certain reads those of the workloads that seem to have lost the mark from the API server: the cache may
// be late, and then they have it.
func (r *Restarter) certain(ctx context.Context, req Request, all []workload) ([]workload, error) {
	suspects := map[string][]string{} // names by kind
	for _, s := range req.states(all) {
		if lost(req.Status, s) {
			suspects[s.id.Kind] = append(suspects[s.id.Kind], s.id.Name)
		}
	}
	for kind, names := range suspects {
		var opts []client.ListOption
		if len(names) == 1 {
			opts = append(opts, client.MatchingFields{"metadata.name": names[0]})
		}
		live, err := list(ctx, r.Live, kind, req, opts...)
		if err != nil {
			return nil, err
		}
		suspect := func(w workload) bool { return w.kind == kind && slices.Contains(names, w.meta.Name) }
		all = slices.DeleteFunc(all, suspect)
		for _, w := range live {
			if suspect(w) {
				all = append(all, w)
			}
		}
	}
	slices.SortFunc(all, inOrder)
	return all, nil
}

// selects tells whether a workload is to be restarted.
func (q Request) selects(w workload) bool {
	if q.Target != nil {
		return q.Target.Kind == w.kind && q.Target.Name == w.meta.Name
	}
	return q.Selector.Matches(labels.Set(w.template.Labels))
}

// rolls tells whether workloads are restarted by their templates.
func (q Request) rolls() bool {
	return q.Policy.Strategy == common.RestartRollout || q.Policy.Strategy == ""
}

// annotation is the mark of the request's object on pod templates.
func (q Request) annotation() string { return names.RestartMark(q.Kind, q.Object.GetName()) }

// states is what the decision needs to know of workloads.
func (q Request) states(all []workload) []state {
	key := q.annotation()
	out := make([]state, 0, len(all))
	for _, w := range all {
		out = append(out, state{w.id(), w.template.Annotations[key], ownsMark(w, key), w.rolling})
	}
	return out
}

// mark restarts a workload: it sets marks on its pod template. The patch can only change the very object
// that was seen, by its UID, and never create one. It claims nothing but its annotations, so that nothing
// that others own is taken from them.
func (r *Restarter) mark(ctx context.Context, w workload, marks map[string]string) error {
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": w.meta.UID},
		"spec":     map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": marks}}},
	})
	if err != nil {
		return err
	}
	return r.Client.Patch(ctx, w.object(), client.RawPatch(types.MergePatchType, body),
		client.FieldOwner(names.FieldManager("rollout")), client.DisableReadYourWritesConsistency)
}

// Concerns tells whether a change of a workload is of interest for an object that has restarted it: it
// lost the mark, or others wait until it is ready.
func Concerns(kind string, obj client.Object, status *common.RestartStatus, changed client.Object) bool {
	w, ok := workloadOf(changed)
	if !ok || !slices.Contains(status.Workloads, w.id()) {
		return false
	}
	if p := status.Pending; p != nil {
		return p.Reason == ReasonMaxConcurrent && !w.rolling
	}
	key := names.RestartMark(kind, obj.GetName())
	return w.template.Annotations[key] != status.Mark && !ownsMark(w, key)
}

// ownsMark tells whether the mark on a workload is ours: then it is one that the status does not know yet.
func ownsMark(w workload, key string) bool {
	return slices.ContainsFunc(w.meta.ManagedFields, func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == names.FieldManager("rollout") && m.FieldsV1 != nil && containsField(m.FieldsV1.GetRawBytes(), key)
	})
}
