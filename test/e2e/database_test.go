// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	databasesv1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
)

// kills is how often the server is killed.
const kills = 5

// A writer outside of the cluster remembers each number whose commit was acknowledged, and none may be lost.
var _ = withOperator("Database", func() {
	records := &recorder{}

	It("runs a server, and an application logs in with its Secret", func(ctx SpecContext) {
		lab.pushBook(ctx)
		ns := namespaceOf(vault)
		ns.Labels = map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}
		Expect(lab.client.Create(ctx, ns)).To(Succeed())
		start := time.Now()
		Expect(lab.client.Create(ctx, book())).To(Succeed())
		lab.awaitRunning(ctx)
		say("from the manifest to Running: %s", since(start))
		lab.employ(ctx)
		records.startAt(lab.clerk(ctx, Default))
		records.awaitMore(ctx)
		records.expectNoneLost(ctx)
	}, NodeTimeout(3*soon))

	It("loses nothing when the server, or the operator beside it, is killed", func(ctx SpecContext) {
		records.startAt(lab.clerk(ctx, Default))
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: vault, Name: bookServer + "-0"}}
		for i := range kills {
			records.awaitMore(ctx)
			if i == kills-1 {
				operator := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: lab.leader(ctx)}}
				signal(ctx, operator, "manager", syscall.SIGKILL)
			}
			signal(ctx, pod, "config_file", syscall.SIGKILL) // the server, not the agent
		}
		records.awaitMore(ctx)
		records.expectNoneLost(ctx)
		lab.awaitRunning(ctx)
	}, NodeTimeout(3*soon))

	It("has a Secret that is restored with the password that works, and takes one that is written into it", func(ctx SpecContext) {
		before := lab.connection(ctx, Default)
		Expect(lab.client.Delete(ctx, bookSecret())).To(Succeed())
		eventually(ctx, "the Secret is back", soon, func(g Gomega) { g.Expect(lab.connection(ctx, g)).To(Equal(before)) })
		Expect(lab.query(ctx, before)).To(Succeed())

		Expect(lab.client.Patch(ctx, bookSecret(), client.RawPatch(types.MergePatchType, []byte(`{"stringData":{"password":"chosen by hand"}}`)))).To(Succeed())
		start := time.Now()
		eventually(ctx, "the password that was written is in force", 2*soon, func(g Gomega) {
			now := lab.connection(ctx, g)
			g.Expect(now).NotTo(Equal(before))
			g.Expect(lab.query(ctx, now)).To(Succeed())
			g.Expect(lab.query(ctx, before)).To(MatchError(ContainSubstring("password authentication failed")))
			g.Expect(lab.condition(ctx, g, "CredentialsInSync")).To(HavePrefix("True"))
		})
		say("in force %s after the edit: the kubelet hands it over", since(start))
	}, NodeTimeout(4*soon))

	It("stops and starts, and says that its class cannot grow", func(ctx SpecContext) {
		lab.changeBook(ctx, func(s *databasesv1alpha1.DatabaseSpec) { s.Suspended = true })
		eventually(ctx, "it is suspended", soon, func(g Gomega) { g.Expect(lab.condition(ctx, g, "Ready")).To(HavePrefix("True Suspended")) })
		lab.changeBook(ctx, func(s *databasesv1alpha1.DatabaseSpec) {
			s.Suspended, s.Storage.Size = false, resource.MustParse("2Gi")
		})
		eventually(ctx, "the class cannot grow", soon, func(g Gomega) { g.Expect(lab.condition(ctx, g, "Stored")).To(HavePrefix("False ClassCannotExpand")) })
		lab.awaitRunning(ctx)
	}, NodeTimeout(3*soon))

	It("is deleted and created again, with all that was in it", func(ctx SpecContext) {
		lab.restartClerk(ctx)
		before := lab.connection(ctx, Default)
		records.startAt(lab.clerk(ctx, Default))
		records.awaitMore(ctx)
		Expect(lab.client.Delete(ctx, book())).To(Succeed())
		lab.awaitGone(ctx, book())
		Expect(lab.client.Create(ctx, book())).To(Succeed())
		lab.awaitRunning(ctx)
		Expect(lab.connection(ctx, Default)).To(Equal(before))
		records.awaitMore(ctx)
		records.expectNoneLost(ctx)
	}, NodeTimeout(4*soon))

	It("is brought back after its namespace was deleted", func(ctx SpecContext) {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: vault, Name: bookServer}}
		Expect(lab.client.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		Expect(lab.client.Delete(ctx, namespaceOf(vault))).To(Succeed())
		lab.awaitGone(ctx, namespaceOf(vault))
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName}}
		Expect(lab.client.Get(ctx, client.ObjectKeyFromObject(volume), volume)).To(Succeed())
		Expect(volume.Annotations).To(HaveKeyWithValue("databases.acme.com/volume-of", "database/"+vault+"/"+bookName))

		// What docs/kinds/database.md says.
		Expect(lab.client.Create(ctx, namespaceOf(vault))).To(Succeed())
		Expect(lab.client.Patch(ctx, volume, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"claimRef":{"uid":null,"resourceVersion":null}}}`)))).To(Succeed())
		next := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: vault, Name: bookServer}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: claim.Spec.AccessModes, StorageClassName: claim.Spec.StorageClassName, VolumeName: volume.Name,
			Resources: claim.Spec.Resources,
		}}
		Expect(lab.client.Create(ctx, next)).To(Succeed())
		Expect(lab.client.Create(ctx, book())).To(Succeed())
		lab.awaitRunning(ctx)
		lab.employ(ctx)
		records.startAt(lab.clerk(ctx, Default))
		records.awaitMore(ctx)
		records.expectNoneLost(ctx)
	}, NodeTimeout(5*soon))

	It("goes with its data where that is asked for", func(ctx SpecContext) {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: vault, Name: bookServer}}
		Expect(lab.client.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		lab.changeBook(ctx, func(s *databasesv1alpha1.DatabaseSpec) { s.DeletionPolicy = databasesv1alpha1.DeletionDelete })
		Expect(lab.client.Delete(ctx, book())).To(Succeed())
		lab.awaitGone(ctx, claim.DeepCopy())
		lab.awaitGone(ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName}})
		Expect(lab.client.Delete(ctx, namespaceOf(vault))).To(Succeed())
	}, NodeTimeout(2*soon))
})
