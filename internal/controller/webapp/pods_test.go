// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// ofSet is a pod of the application, of a ReplicaSet.
func ofSet(p corev1.Pod, set string) *corev1.Pod {
	p.Namespace, p.Labels = "shop", map[string]string{LabelWebApp: "web", "pod-template-hash": set}
	return &p
}

// replicaSet is one of a Deployment with a UID.
func replicaSet(hash, number, of string) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web-" + hash, Labels: map[string]string{LabelWebApp: "web", "pod-template-hash": hash},
		Annotations:     map[string]string{"deployment.kubernetes.io/revision": number},
		OwnerReferences: []metav1.OwnerReference{{UID: "d", Name: of, Controller: new(true)}},
	}}
}

func TestPodsOfTheVersionBeforeAreNotBlamed(t *testing.T) {
	old, young := replicaSet("old", "1", "web"), replicaSet("new", "2", "web")
	theirs := replicaSet("theirs", "2", "other")
	theirs.OwnerReferences[0].UID = "e"
	crash, pull := pod("web-old", crashing(ended(3, "Error", ""))), pod("web-new", waiting("CreateContainerConfigError", `secret "s" not found`))
	unready := pod("web-new", corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, Started: new(true)})
	for _, tc := range []struct {
		why, number string
		objects     []client.Object
		want        string
	}{
		{"both", "2", []client.Object{old, theirs, young, ofSet(crash, "old"), ofSet(unready, "new")}, ReasonNotServing},
		{"the new one, which is worse", "2", []client.Object{old, young, ofSet(crash, "old"), ofSet(pull, "new")}, ReasonConfigMissing},
		{"the old one, and the new one has no pods yet", "2", []client.Object{old, young, ofSet(crash, "old")}, ""},
		{"an earlier one, to which the Deployment has gone back", "3", []client.Object{replicaSet("old", "3", "web"), young, ofSet(crash, "old"), ofSet(pull, "new")}, ReasonCrashLoop},
		{"one, and nobody has numbered them", "", []client.Object{old, young, ofSet(crash, "old")}, ReasonCrashLoop},
		{"one, of which the ReplicaSet is gone", "3", []client.Object{old, young, ofSet(crash, "old")}, ReasonCrashLoop},
	} {
		r := runAgainst(t, app(common.TierDev), tc.objects...)
		r.seen.deployment = rolled(2, func(d *appsv1.Deployment) {
			d.Namespace, d.UID, d.Annotations = "shop", "d", map[string]string{"deployment.kubernetes.io/revision": tc.number}
		})
		if got, err := r.findFaults(t.Context()); err != nil || got.reason != tc.want {
			t.Errorf("%s fails: got %+v, %v", tc.why, got, err)
		}
	}
}

func TestAVolumeThatCannotBeMountedIsNamed(t *testing.T) {
	at := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "shop", Name: name} }
	secret := func(name string, optional bool, keys ...string) corev1.VolumeSource {
		s := &corev1.SecretVolumeSource{SecretName: name, Optional: &optional}
		for _, k := range keys {
			s.Items = append(s.Items, corev1.KeyToPath{Key: k})
		}
		return corev1.VolumeSource{Secret: s}
	}
	files := func(name string, keys ...string) corev1.VolumeSource {
		c := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}
		for _, k := range keys {
			c.Items = append(c.Items, corev1.KeyToPath{Key: k})
		}
		return corev1.VolumeSource{ConfigMap: c}
	}
	there := []client.Object{
		&corev1.Secret{ObjectMeta: at("s"), Data: map[string][]byte{"a": nil}},
		&corev1.ConfigMap{ObjectMeta: at("c"), Data: map[string]string{"a": ""}, BinaryData: map[string][]byte{"b": nil}},
	}
	optional := files("missing")
	optional.ConfigMap.Optional = new(true)
	for _, tc := range []struct {
		why  string
		of   corev1.VolumeSource
		want string
	}{
		{"a Secret that there is not", secret("missing", false), "the volume v of the pod web-a cannot be mounted: the Secret missing does not exist"},
		{"a ConfigMap that there is not", files("missing"), "the ConfigMap missing does not exist"},
		{"a key that there is not", secret("s", false, "a", "z"), `the Secret s has no key "z"`},
		{"a file that there is not", files("c", "a", "b", "z"), `the ConfigMap c has no key "z"`},
		{"all there is", secret("s", false, "a"), ""},
		{"all files that there are", files("c", "b"), ""},
		{"what need not exist", secret("missing", true), ""},
		{"files that need not exist", optional, ""},
		{"a claim", corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "missing"}}, ""},
	} {
		for _, state := range []string{"ContainerCreating", "PodInitializing", "Other"} {
			p := pod("web-a", waiting(state, ""))
			p.Spec.Volumes = []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}, {Name: "v", VolumeSource: tc.of}}
			r := runAgainst(t, app(common.TierDev), append(there, ofSet(p, ""))...)
			r.seen.deployment = rolled(2)
			got, err := r.findFaults(t.Context())
			want := tc.want
			if state == "Other" {
				want = ""
			}
			if err != nil || (got.reason == ReasonConfigMissing) != (want != "") || !strings.HasSuffix(got.message, want) {
				t.Errorf("%s, %s: got %+v, %v", tc.why, state, got, err)
			}
		}
	}
}
