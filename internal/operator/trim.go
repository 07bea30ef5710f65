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

package operator

import (
	"maps"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/restart"
)

// trimSource keeps of the metadata of a ConfigMap or a Secret what leads to those who depend on it. The
// rest may be large: kubectl writes the whole content into an annotation.
func trimSource(in any) (any, error) {
	o, ok := in.(*metav1.PartialObjectMetadata)
	if !ok || o.Labels[names.LabelManagedBy] == names.Operator {
		return trimManagedFields(in)
	}
	annotations := maps.Clone(o.Annotations)
	maps.DeleteFunc(annotations, func(key, _ string) bool { return !isOurs(key) })
	if len(annotations) == 0 {
		annotations = nil
	}
	return &metav1.PartialObjectMetadata{TypeMeta: o.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion,
		DeletionTimestamp: o.DeletionTimestamp, Annotations: annotations,
	}}, nil
}

// isOurs tells whether a key of an annotation is one of the operator's.
func isOurs(key string) bool {
	prefix, _, _ := strings.Cut(key, "/")
	return strings.HasSuffix(prefix, ".acme.com")
}

// trimWorkload keeps of a workload that is not the operator's own what restarts need to know: which pods
// it makes, its marks, and whether it is rolling.
func trimWorkload(in any) (any, error) {
	o, ok := in.(client.Object)
	if !ok || o.GetLabels()[names.LabelManagedBy] == names.Operator {
		return trimManagedFields(in)
	}
	o.SetLabels(nil)
	switch o := o.(type) {
	case *appsv1.Deployment:
		trimTemplate(o, &o.Spec.Template)
		o.Status.Conditions = nil
	case *appsv1.StatefulSet:
		trimTemplate(o, &o.Spec.Template)
		o.Spec.VolumeClaimTemplates = nil
		o.Status.Conditions = nil
	case *appsv1.DaemonSet:
		trimTemplate(o, &o.Spec.Template)
		o.Status.Conditions = nil
	}
	return trimManagedFields(o)
}

// trimTemplate keeps of a pod template its labels, its marks, and a fingerprint of the rest.
func trimTemplate(o client.Object, t *corev1.PodTemplateSpec) {
	o.SetAnnotations(map[string]string{names.AnnotationTemplate: restart.Fingerprint(t)})
	t.Spec = corev1.PodSpec{}
	maps.DeleteFunc(t.Annotations, func(key, _ string) bool { return !isOurs(key) })
}
