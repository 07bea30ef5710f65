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
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/restart"
)

var ours = map[string]string{"app.kubernetes.io/managed-by": "platform-operator"}

// full is metadata with something in every field that may be large.
func full(labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "n", Name: "o", UID: "u", ResourceVersion: "7", Generation: 3, Labels: labels,
		Annotations: map[string]string{
			"kubectl.kubernetes.io/last-applied-configuration": "secret", "autoreboot.acme.com/podSelector": "app=a", "acme.com.example.com/x": "y",
		},
		OwnerReferences: []metav1.OwnerReference{{Name: "owner"}},
		ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubectl"}, {Manager: "platform-operator-rollout"}},
	}
}

func TestTrimSource(t *testing.T) {
	got, err := trimSource(&metav1.PartialObjectMetadata{ObjectMeta: full(map[string]string{"a": "b"})})
	want := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "n", Name: "o", UID: "u", ResourceVersion: "7", Annotations: map[string]string{"autoreboot.acme.com/podSelector": "app=a"},
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	own, err := trimSource(&metav1.PartialObjectMetadata{ObjectMeta: full(ours)})
	if m := own.(*metav1.PartialObjectMetadata); err != nil || len(m.Annotations) != 3 || len(m.OwnerReferences) != 1 || len(m.ManagedFields) != 1 {
		t.Errorf("our own is trimmed to %+v, %v", m, err)
	}
	if in := "no object"; trimmed(t, trimSource, in) != any(in) {
		t.Error("what is no object is changed")
	}
}

func trimmed(t *testing.T, trim func(any) (any, error), in any) any {
	t.Helper()
	out, err := trim(in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTrimWorkload(t *testing.T) {
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "a"}, Annotations: map[string]string{"theirs.example.com/x": "y", "autoreboot.acme.com/k.n": "m"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}},
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
	for _, meta := range []metav1.ObjectMeta{full(nil), full(ours)} {
		whole := len(meta.Labels) > 0
		for _, in := range []client.Object{
			&appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Template: *template.DeepCopy(), Selector: selector, Paused: true, Replicas: new(int32(2))}},
			&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Template: *template.DeepCopy(), Selector: selector}},
			&appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Template: *template.DeepCopy(), Selector: selector}},
		} {
			var got corev1.PodTemplateSpec
			switch o := trimmed(t, trimWorkload, in.DeepCopyObject()).(type) {
			case *appsv1.Deployment:
				got = o.Spec.Template
				if !whole && o.Annotations["autoreboot.acme.com/template"] != restart.Fingerprint(&template) {
					t.Errorf("a Deployment lost what identifies its template: %v", o.Annotations)
				}
				if !o.Spec.Paused || *o.Spec.Replicas != 2 || o.Generation != 3 || len(o.ManagedFields) != 1 {
					t.Errorf("a Deployment lost what tells whether it rolls: %+v", o)
				}
			case *appsv1.StatefulSet:
				got = o.Spec.Template
			case *appsv1.DaemonSet:
				got = o.Spec.Template
			}
			if (len(got.Spec.Containers) == 1) != whole || (len(got.Annotations) == 2) != whole {
				t.Errorf("%T, ours %v: %+v", in, whole, got)
			}
			if got.Labels["app"] != "a" || got.Annotations["autoreboot.acme.com/k.n"] != "m" {
				t.Errorf("%T lost its labels or its mark: %+v", in, got)
			}
		}
	}
}
