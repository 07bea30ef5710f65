// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadsv1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/workload"
)

const (
	// maxHeld is the size of an object in a cache, in bytes, above which it is cut, and maxMarks that of the
	// labels, annotations and finalizers that are kept then.
	maxHeld  = 32 << 10
	maxMarks = 4 << 10
)

// hold returns a transform of caches: prune removes what is never read, and an object that is still large is
// cut. It is idempotent.
func hold(prune func(client.Object) client.Object) toolscache.TransformFunc {
	return func(in any) (any, error) {
		o, ok := in.(client.Object)
		if !ok {
			return in, nil
		}
		ownManagedFields(o)
		return bounded(prune(o)), nil
	}
}

func keep(o client.Object) client.Object { return o }

// ownManagedFields removes what other field managers own: the engine compares only with its own fields.
func ownManagedFields(o client.Object) {
	if o.GetManagedFields() == nil {
		return
	}
	var kept []metav1.ManagedFieldsEntry
	for _, e := range o.GetManagedFields() {
		if names.IsFieldManager(e.Manager) {
			kept = append(kept, e)
		}
	}
	o.SetManagedFields(kept)
}

// bounded cuts a large object: first its metadata, which others may fill, and then everything else, unless it
// is cluster-scoped and so cannot be a tenant's. The whole object is read from the API server: see
// engine.Whole.
func bounded(o client.Object) client.Object {
	if fits(o, maxHeld) {
		return o
	}
	marks := marksOf(o)
	o.SetLabels(marks.Labels)
	o.SetAnnotations(marks.Annotations)
	o.SetFinalizers(marks.Finalizers)
	o.SetOwnerReferences(marks.OwnerReferences)
	o.SetManagedFields(nil)
	if o.GetNamespace() == "" || fits(o, maxHeld) {
		return o
	}
	return bare(o)
}

// bare returns what finds an object: its key, its controller, and the operator's labels and annotations.
func bare(o client.Object) client.Object {
	b := reflect.New(reflect.TypeOf(o).Elem()).Interface().(client.Object)
	b.GetObjectKind().SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
	b.SetNamespace(o.GetNamespace())
	b.SetName(o.GetName())
	b.SetUID(o.GetUID())
	b.SetResourceVersion(o.GetResourceVersion())
	b.SetGeneration(o.GetGeneration())
	b.SetCreationTimestamp(o.GetCreationTimestamp())
	b.SetDeletionTimestamp(o.GetDeletionTimestamp())
	marks := marksOf(o)
	b.SetLabels(marks.Labels)
	b.SetAnnotations(marks.Annotations)
	b.SetFinalizers(marks.Finalizers)
	b.SetOwnerReferences(marks.OwnerReferences)
	return b
}

// first are the keys that are kept first if not all can be held.
var first = []string{names.LabelManagedBy, names.LabelOwnerUID, names.AnnotationOwner, names.AnnotationPaused, names.AnnotationPodSelector}

// marksOf returns the metadata of an object that is cut.
func marksOf(o client.Object) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Labels: marks(o.GetLabels()), Annotations: marks(o.GetAnnotations())}
	markCut(&m)
	if f := o.GetFinalizers(); fits(f, maxMarks) {
		m.Finalizers = f
	}
	if owner := metav1.GetControllerOfNoCopy(o); owner != nil && fits(*owner, maxMarks) { // the API server bounds no name in it
		m.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return m
}

// markCut annotates an object as cut: see engine.Whole.
func markCut(o metav1.Object) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[names.AnnotationCut] = "true"
	o.SetAnnotations(annotations)
}

// marks returns those labels or annotations that are the operator's, as many as fit.
func marks(all map[string]string) map[string]string {
	var kept map[string]string
	room := maxMarks
	for _, key := range slices.Concat(first, slices.Sorted(maps.Keys(all))) {
		value, ok := all[key]
		if _, already := kept[key]; !ok || already || !isOurs(key) || len(key)+len(value) > room {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[key] = value
		room -= len(key) + len(value)
	}
	return kept
}

// isOurs reports whether a key of a label or an annotation is one of the operator's.
func isOurs(key string) bool {
	prefix, _, _ := strings.Cut(key, "/")
	return key == names.LabelManagedBy || strings.HasSuffix(prefix, ".acme.com")
}

// dropForeign removes the labels and annotations that are not the operator's, and other metadata that is never
// read.
func dropForeign(o client.Object) {
	foreign := func(key, _ string) bool { return !isOurs(key) }
	labels, annotations := o.GetLabels(), o.GetAnnotations()
	maps.DeleteFunc(labels, foreign)
	maps.DeleteFunc(annotations, foreign)
	if len(labels) == 0 {
		labels = nil
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	o.SetLabels(labels)
	o.SetAnnotations(annotations)
	o.SetFinalizers(nil)
	o.SetOwnerReferences(nil)
}

// pruneSource keeps of a ConfigMap or a Secret only what leads to its dependents: kubectl writes the whole
// content into an annotation.
func pruneSource(o client.Object) client.Object {
	if _, ok := o.(*metav1.PartialObjectMetadata); !ok {
		return bare(o)
	}
	dropForeign(o)
	o.SetManagedFields(nil)
	return o
}

// pruneNode keeps of a Node its labels: which profiles of schedulers select it.
func pruneNode(o client.Object) client.Object {
	cut := engine.IsCut(o)
	if _, ok := o.(*metav1.PartialObjectMetadata); !ok {
		labels := o.GetLabels()
		o, cut = bare(o), true
		o.SetLabels(labels)
	}
	o.SetAnnotations(nil)
	o.SetFinalizers(nil)
	o.SetOwnerReferences(nil)
	o.SetManagedFields(nil)
	if cut {
		markCut(o)
	}
	return o
}

// pruneWorkload keeps of a workload only what restarts need: which pods it creates, its restart marks, and
// whether it is rolling.
func pruneWorkload(o client.Object) client.Object {
	cut, fingerprint := engine.IsCut(o), o.GetAnnotations()[names.AnnotationTemplate]
	o.SetAnnotations(nil)
	o.SetLabels(nil)
	o.SetFinalizers(nil)
	o.SetOwnerReferences(nil)
	switch o := o.(type) {
	case *appsv1.Deployment:
		fingerprint = pruneTemplate(&o.Spec.Template, fingerprint)
		o.Status.Conditions = stuck(o.Status.Conditions)
	case *appsv1.StatefulSet:
		fingerprint = pruneTemplate(&o.Spec.Template, fingerprint)
		o.Spec.VolumeClaimTemplates = nil
		o.Status.Conditions = nil
	case *appsv1.DaemonSet:
		fingerprint = pruneTemplate(&o.Spec.Template, fingerprint)
		o.Status.Conditions = nil
	}
	if fingerprint != "" {
		o.SetAnnotations(map[string]string{names.AnnotationTemplate: fingerprint})
	}
	if cut {
		markCut(o)
	}
	return o
}

// stuck keeps of the conditions of a Deployment that its rollout does not end.
func stuck(all []appsv1.DeploymentCondition) []appsv1.DeploymentCondition {
	for _, c := range all {
		if c.Reason == workload.ProgressDeadlineExceeded {
			return []appsv1.DeploymentCondition{{Type: c.Type, Status: c.Status, Reason: workload.ProgressDeadlineExceeded}}
		}
	}
	return nil
}

// pruneTemplate keeps of a pod template its labels and its marks, and gives a fingerprint of all of it. The API server
// admits none without containers: one that has none was pruned before, and keeps the fingerprint that it has got then.
func pruneTemplate(t *corev1.PodTemplateSpec, before string) (fingerprint string) {
	if len(t.Spec.Containers) == 0 {
		return before
	}
	fingerprint = workload.Fingerprint(t)
	t.Spec = corev1.PodSpec{}
	maps.DeleteFunc(t.Annotations, func(key, _ string) bool { return !isOurs(key) })
	return fingerprint
}

// pruneWebApp keeps of a large WebApp what it is found by: a host name that somebody has must not look free.
func pruneWebApp(o client.Object) client.Object {
	a, ok := o.(*workloadsv1alpha1.WebApp)
	if !ok || fits(o, maxHeld) {
		return o
	}
	b, ok := bare(a).(*workloadsv1alpha1.WebApp)
	if !ok {
		return o
	}
	b.Spec.WebAppHostname, b.Spec.Publish, b.Status.Claims = a.Spec.WebAppHostname, a.Spec.Publish, a.Status.Claims
	b.Spec.DatabaseSecretRef = a.Spec.DatabaseSecretRef
	if i := a.Spec.Ingress; i != nil {
		b.Spec.Ingress = &workloadsv1alpha1.Ingress{ClassName: i.ClassName, Path: i.Path}
	}
	return b
}

// pruneSlice keeps of a large EndpointSlice which Service it is of. One of a hundred pods, as Kubernetes makes them, is large.
func pruneSlice(o client.Object) client.Object {
	service, is := o.GetLabels()[discoveryv1.LabelServiceName]
	if !is || fits(o, maxHeld) {
		return o
	}
	b := bare(o)
	l := b.GetLabels()
	if l == nil {
		l = map[string]string{}
	}
	l[discoveryv1.LabelServiceName] = service
	b.SetLabels(l)
	return b
}

// pruneJob keeps of a run what it was started for and how it ended. The template of its pods is as large as its
// owner made it.
func pruneJob(o client.Object) client.Object {
	owner, finalizers := o.GetOwnerReferences(), o.GetFinalizers()
	dropForeign(o)
	o.SetManagedFields(nil)
	o.SetOwnerReferences(owner)
	o.SetFinalizers(finalizers)
	if j, ok := o.(*batchv1.Job); ok {
		j.Spec.Template, j.Spec.Selector = corev1.PodTemplateSpec{}, nil
		j.Spec.PodFailurePolicy, j.Spec.SuccessPolicy = nil, nil
		j.Status.UncountedTerminatedPods, j.Status.CompletedIndexes, j.Status.FailedIndexes = nil, "", nil
	}
	return o
}
