// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// workload is what a Deployment, a StatefulSet and a DaemonSet have in common. It refers to the cache's
// own object, which is not to be changed.
type workload struct {
	kind     string
	meta     *metav1.ObjectMeta
	template *corev1.PodTemplateSpec
	selector *metav1.LabelSelector
	rolling  bool
	onDelete bool   // its pods stay as they are until somebody deletes them
	heldBy   string // why a new template does not reach all of its pods: it is paused, or has a partition
	behind   bool   // some pods do not have the present template
	want     int32  // how many pods it shall have
	minReady int32  // for how many seconds a pod must be ready to be available
}

func (w workload) id() common.RestartedWorkload {
	return common.RestartedWorkload{Kind: w.kind, Name: w.meta.Name, UID: w.meta.UID, Generation: w.meta.Generation}
}

// fingerprint identifies the pod template. The cache holds it instead of the template.
func (w workload) fingerprint() string {
	if len(w.template.Spec.Containers) == 0 {
		return w.meta.Annotations[names.AnnotationTemplate]
	}
	return Fingerprint(w.template)
}

// Fingerprint identifies a pod template.
func Fingerprint(t *corev1.PodTemplateSpec) string {
	text, err := json.Marshal(t)
	if err != nil {
		return "" // a type that was decoded can be encoded
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
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
	want, s := replicas(o.Spec.Replicas), o.Status
	w := workload{kind: kindDeployment, meta: &o.ObjectMeta, template: &o.Spec.Template, selector: o.Spec.Selector}
	w.want, w.minReady = want, o.Spec.MinReadySeconds
	w.behind = s.ObservedGeneration < o.Generation || s.UpdatedReplicas < want || s.Replicas > s.UpdatedReplicas
	if o.Spec.Paused {
		w.heldBy = "it is paused"
	}
	w.rolling = (w.behind || s.AvailableReplicas < want) && w.heldBy == ""
	return w
}

// statefulSet reads a StatefulSet. With a partition only the pods from that number on are updated; one that is
// updated OnDelete does not roll, and is not waited for.
func statefulSet(o *appsv1.StatefulSet) workload {
	want, s := replicas(o.Spec.Replicas), o.Status
	w := workload{kind: kindStatefulSet, meta: &o.ObjectMeta, template: &o.Spec.Template, selector: o.Spec.Selector}
	w.want, w.minReady = want, o.Spec.MinReadySeconds
	w.onDelete = o.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType
	updated := want
	if p := partition(o); p > 0 && !w.onDelete {
		updated = max(0, want-p)
		w.heldBy = fmt.Sprintf("the partition of its update strategy is %d", p)
	}
	seen := s.ObservedGeneration >= o.Generation
	old := s.UpdateRevision != s.CurrentRevision
	w.behind = !seen || old && s.UpdatedReplicas < want
	w.rolling = !w.onDelete && (!seen || s.AvailableReplicas < want || old && s.UpdatedReplicas < updated)
	return w
}

func partition(o *appsv1.StatefulSet) int32 {
	if u := o.Spec.UpdateStrategy.RollingUpdate; u != nil && u.Partition != nil {
		return *u.Partition
	}
	return 0
}

// daemonSet reads a DaemonSet.
func daemonSet(o *appsv1.DaemonSet) workload {
	s := o.Status
	w := workload{kind: kindDaemonSet, meta: &o.ObjectMeta, template: &o.Spec.Template, selector: o.Spec.Selector}
	w.want, w.minReady = s.DesiredNumberScheduled, o.Spec.MinReadySeconds
	w.onDelete = o.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType
	w.behind = s.ObservedGeneration < o.Generation || s.UpdatedNumberScheduled < s.DesiredNumberScheduled
	w.rolling = (w.behind || s.NumberAvailable < s.DesiredNumberScheduled) && !w.onDelete
	return w
}

func replicas(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

// workloads lists from the cache what a request selects, in the order of kind and name. Objects that are being deleted
// are left out.
func (r *Restarter) workloads(ctx context.Context, req Request) ([]workload, error) {
	var all []workload
	var opts []client.ListOption
	if key := req.key(); key != "" {
		opts = append(opts, client.MatchingFields{selectIndex: key})
	}
	for _, kind := range []string{kindDaemonSet, kindDeployment, kindStatefulSet} {
		some, err := list(ctx, r.Client, kind, req, opts...)
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

// look reads from the API server the workloads that seem to be selected: a cache may be late. Kinds of which none
// seems to be are not asked for.
func (r *Restarter) look(ctx context.Context, req Request) ([]workload, error) {
	seen, err := r.workloads(ctx, req)
	if err != nil {
		return nil, err
	}
	var all []workload
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

func namesByKind(all []workload) map[string][]string {
	out := map[string][]string{}
	for _, w := range all {
		out[w.kind] = append(out[w.kind], w.meta.Name)
	}
	return out
}

// selects tells whether a workload is to be restarted.
func (q Request) selects(w workload) bool {
	if q.Target != nil {
		return q.Target.Kind == w.kind && q.Target.Name == w.meta.Name
	}
	return q.Selector.Matches(labels.Set(w.template.Labels))
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

// keys are all that may select a workload.
func (w workload) keys() []string {
	all := []string{w.String()}
	for k, v := range w.template.Labels {
		all = append(all, k+"="+v)
	}
	return all
}

// rolls tells whether workloads are restarted by their templates.
func (q Request) rolls() bool {
	return q.Policy.Strategy == common.RestartRollout || q.Policy.Strategy == ""
}

// annotation is the mark of the request's object on pod templates.
func (q Request) annotation() string { return names.RestartMark(q.kind, q.Object.GetName()) }

// states is what the decision needs to know of workloads.
func (q Request) states(all []workload) []state {
	key := q.annotation()
	out := make([]state, 0, len(all))
	for _, w := range all {
		out = append(out, state{
			id: w.id(), mark: w.template.Annotations[key], template: w.fingerprint(), rolling: w.rolling, behind: w.behind,
			byItself: !w.onDelete && w.heldBy == "",
		})
	}
	return out
}

// mark restarts a workload: it sets marks on its pod template, and gives the generation that the workload then
// has. The patch changes the very object that was seen, by its UID, and never creates one; with a version it
// fails unless that is the latest. It claims nothing but its annotations.
func (r *Restarter) mark(ctx context.Context, w workload, marks map[string]string, version string) (generation int64, err error) {
	meta := map[string]any{"uid": w.meta.UID}
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
	o := w.object()
	err = r.Client.Patch(ctx, o, client.RawPatch(types.MergePatchType, body),
		client.FieldOwner(fieldManager), client.DisableReadYourWritesConsistency)
	return o.Generation, err
}

// gone tells whether an object that could not be changed is not there any more. Conflicts have many reasons: only
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

// concerns tells whether a change of a workload is of interest for an object that has restarted it: it lost the
// mark, others wait until it is ready, or it is not held back any more.
func concerns(key string, status *common.RestartStatus, heldBack bool, changed client.Object) bool {
	w, ok := workloadOf(changed)
	if !ok {
		return false
	}
	e := entry(status, w.meta.UID)
	switch p := status.Pending; {
	case e == nil:
		return false
	case p != nil:
		return p.Reason == ReasonMaxConcurrent && !w.rolling
	}
	return heldBack && !w.isHeldBack() || w.meta.Generation >= e.Generation && w.template.Annotations[key] != status.Mark
}

// isHeldBack tells whether some pods keep an older template until somebody changes the workload.
func (w workload) isHeldBack() bool { return w.heldBy != "" && w.behind }
