// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package database_test

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/internal/testenv"
)

// instructions are what the page has users do to bring a volume back: the patch of the volume, and the claim.
func instructions(t *testing.T) (patch []byte, claim *corev1.PersistentVolumeClaim) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/kinds/database.md")
	if err != nil {
		t.Fatal(err)
	}
	patches := regexp.MustCompile(`kubectl patch pv pvc-1f3a --type=merge -p '(.*)'`).FindAllSubmatch(page, -1)
	claims := regexp.MustCompile(`(?s)<<EOF\n(.*?kind: PersistentVolumeClaim.*?)EOF\n`).FindAllSubmatch(page, -1)
	if len(patches) != 1 || len(claims) != 1 {
		t.Fatalf("the page has %d patches and %d claims", len(patches), len(claims))
	}
	claim = &corev1.PersistentVolumeClaim{}
	if err := yaml.UnmarshalStrict(claims[0][1], claim); err != nil {
		t.Fatal(err)
	}
	return patches[0][1], claim
}

// TestNoInstructionGivesAVolumeAway: the volume that the page brings back goes to the claim of its owner, although another tenant's claim
// that it fits is waiting.
func TestNoInstructionGivesAVolumeAway(t *testing.T) {
	g := NewWithT(t)
	patch, claim := instructions(t)
	plane, err := testenv.Start(testenv.Options{WithControllers: true, MoreControllers: []string{"persistentvolume-binder-controller"}})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(plane.Stop()).To(Succeed()) })
	admin, err := client.New(plane.Config, client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	reload := func(o client.Object) { g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed()) }

	volume := func(name string, size resource.Quantity, ref *corev1.ObjectReference) *corev1.PersistentVolume {
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: size}, AccessModes: claim.Spec.AccessModes, ClaimRef: ref,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/x"}},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain, StorageClassName: *claim.Spec.StorageClassName,
		}}
		g.Expect(admin.Create(ctx, v)).To(Succeed())
		return v
	}
	phase := func(v *corev1.PersistentVolume) func() corev1.PersistentVolumePhase {
		return func() corev1.PersistentVolumePhase { reload(v); return v.Status.Phase }
	}
	kept := volume(claim.Spec.VolumeName, claim.Spec.Resources.Requests[corev1.ResourceStorage], &corev1.ObjectReference{
		Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: "00000000-0000-0000-0000-000000000001",
	})
	g.Eventually(phase(kept)).WithContext(t.Context()).Should(Equal(corev1.VolumeReleased))
	for _, ns := range []string{claim.Namespace, "hostile"} {
		g.Expect(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})).To(Succeed())
	}
	hostile := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "hostile", Name: claim.Name}, Spec: *claim.Spec.DeepCopy()}
	hostile.Spec.VolumeName = ""
	g.Expect(admin.Create(ctx, hostile)).To(Succeed())

	g.Expect(json.Valid(patch)).To(BeTrue())
	g.Expect(admin.Patch(ctx, kept, client.RawPatch(client.Merge.Type(), patch))).To(Succeed())
	g.Eventually(phase(kept)).WithContext(t.Context()).ShouldNot(Equal(corev1.VolumeReleased))
	larger := volume("larger", resource.MustParse("20Gi"), nil) // it gets this one, since it fits best of what is free
	g.Eventually(phase(larger)).WithContext(t.Context()).ShouldNot(Equal(corev1.VolumePending))
	g.Expect(admin.Patch(ctx, hostile, client.RawPatch(client.Merge.Type(), []byte(`{"metadata":{"annotations":{"look":"again"}}}`)))).To(Succeed())
	g.Eventually(func() string { reload(hostile); return hostile.Spec.VolumeName }).WithContext(t.Context()).ShouldNot(BeEmpty())
	g.Expect(hostile.Spec.VolumeName).To(Equal(larger.Name))

	g.Expect(admin.Create(ctx, claim)).To(Succeed())
	g.Eventually(phase(kept)).WithContext(t.Context()).Should(Equal(corev1.VolumeBound))
	g.Expect(kept.Spec.ClaimRef.UID).To(Equal(claim.UID))
}
