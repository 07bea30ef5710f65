// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

func order(mode corev1.PersistentVolumeMode) controller.ProvisionOptions {
	policy := corev1.PersistentVolumeReclaimDelete
	return controller.ProvisionOptions{
		PVName:       "pvc-1",
		StorageClass: &storagev1.StorageClass{ReclaimPolicy: &policy},
		PVC: &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
			VolumeMode: &mode, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			},
		}},
	}
}

func TestAVolumeIsAFolderForEverybody(t *testing.T) {
	f := folders{root: t.TempDir(), node: "node-1"}
	volume, _, err := f.Provision(t.Context(), order(corev1.PersistentVolumeFilesystem))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(f.root, "pvc-1")
	if info, err := os.Stat(path); err != nil || info.Mode() != os.ModeDir|0o777 {
		t.Errorf("%v, %v; want a folder that everybody can write", info, err)
	}
	spec := volume.Spec
	terms := spec.NodeAffinity.Required.NodeSelectorTerms
	if volume.Name != "pvc-1" || spec.Local.Path != path || spec.Capacity.Storage().String() != "1Gi" ||
		spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete || terms[0].MatchExpressions[0].Values[0] != "node-1" {
		t.Errorf("the volume is %+v", volume)
	}
	if err := f.Delete(t.Context(), volume); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the folder is still there (%v)", err)
	}
}

func TestThereAreNoBlockVolumes(t *testing.T) {
	f := folders{root: t.TempDir()}
	if _, state, err := f.Provision(t.Context(), order(corev1.PersistentVolumeBlock)); err == nil || state != controller.ProvisioningFinished {
		t.Errorf("got %v, %v; want a final error", state, err)
	}
}

func TestOnlyTheVolumesOwnFolderIsRemoved(t *testing.T) {
	f := folders{root: t.TempDir()}
	other := t.TempDir()
	err := f.Delete(t.Context(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pvc-1"},
		Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
			Local: &corev1.LocalVolumeSource{Path: other},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("a folder that the object named is gone: %v", err)
	}
}

func TestHealth(t *testing.T) {
	ready := false
	handler := health(func() bool { return ready })
	for _, want := range []int{http.StatusServiceUnavailable, http.StatusOK} {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/healthz", nil))
		if answer.Code != want {
			t.Errorf("ready is %t: answer %d, want %d", ready, answer.Code, want)
		}
		ready = true
	}
}
