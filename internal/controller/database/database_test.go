// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package database_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/fakedb"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("A Database", func() {
	var operator *Operator
	BeforeEach(func() { operator = start() })

	It("runs, and applications find their connection", func() {
		db := AwaitReady(Create(database()))
		Expect(db.Status.Phase).To(Equal(v1alpha1.PhaseRunning))
		Expect(db.Status.Version).To(Equal("18"))
		Expect(db.Status.Endpoint).To(Equal("db." + db.Namespace + ".svc:5432"))
		Expect(db.Status.Binding.Name).To(Equal("db"))
		Eventually(works(db)).Should(Succeed())
		Eventually(Condition(db, "CredentialsInSync")).Should(HavePrefix("True"))
		secret := secretOf(db)
		Expect(Reload(secret)).To(Succeed())
		Expect(secret.Type).To(BeEquivalentTo("servicebinding.io/postgresql"))
		claim := claimOf(db)
		Expect(Reload(claim)).To(Succeed())
		Expect(claim.OwnerReferences).To(BeEmpty())
		Expect(claim.Finalizers).To(ContainElement(names.FinalizerData))
	})

	It("accepts the manifest of a user called root", func() {
		db := AwaitReady(Create(database(func(db *v1alpha1.Database) {
			db.Spec = v1alpha1.DatabaseSpec{Type: v1alpha1.MySQL, User: "root", Password: "root"}
		})))
		Expect(shown(db)()).To(Equal("root root"))
		Eventually(works(db)).Should(Succeed())
		Expect(db.Status.Phase).To(Equal(v1alpha1.PhaseRunning))
	})

	It("starts with amounts that the API server rounds", func() {
		db := AwaitReady(Create(database(func(db *v1alpha1.Database) {
			db.Spec.Resources.Requests = v1alpha1.ResourceAmounts{"cpu": resource.MustParse("100u")}
		})))
		server := serverOf(db)
		Expect(Reload(server)).To(Succeed())
		Expect(server.Spec.Template.Spec.Containers[0].Resources.Requests.Cpu().String()).To(Equal("1m"))
	})

	It("keeps its password when its Secrets are deleted, one after the other", func() {
		db := AwaitReady(Create(database()))
		Eventually(works(db)).Should(Succeed())
		before := shown(db)()
		Remove(secretOf(db))
		Eventually(shown(db)).Should(Equal(before))
		Remove(adminOf(db))
		Eventually(func() error { return Reload(adminOf(db)) }).Should(Succeed())
		Eventually(Condition(db, "CredentialsInSync")).Should(HavePrefix("True"))
		Expect(shown(db)()).To(Equal(before))
		Expect(works(db)()).To(Succeed())
	})

	It("applies a password that is written into the connection Secret, and restores one when that is rejected", func() {
		db := AwaitReady(Create(database()))
		Eventually(Condition(db, "CredentialsInSync")).Should(HavePrefix("True"))
		edit := func(password string) {
			secret := secretOf(db)
			Expect(Reload(secret)).To(Succeed())
			Change(secret, func(s *corev1.Secret) { s.Data["password"] = []byte(password) })
		}
		edit("chosen")
		Eventually(works(db)).Should(Succeed())
		Eventually(Condition(db, "CredentialsInSync")).Should(HavePrefix("True"))
		Expect(shown(db)()).To(Equal("app chosen"))
		edit(fakedb.Rejected)
		Eventually(Condition(db, "CredentialsInSync")).Should(HavePrefix("False PasswordRejected"))
		Expect(Ready(db)()).To(HavePrefix("True"))
		Expect(servers.Works(db.Namespace+"/db-g1", "app", "chosen")).To(Succeed())
		Remove(secretOf(db))
		Eventually(shown(db)).Should(Equal("app chosen"))
		Eventually(Condition(db, "CredentialsInSync")).Should(HavePrefix("True"))
	})

	It("takes no password back that is written while it decides about another one", func() {
		db := AwaitReady(Create(database()))
		Eventually(Condition(db, "CredentialsInSync")).Should(HavePrefix("True"))
		edit := func(with string) { Patch(secretOf(db), `{"stringData":`+with+`}`) }
		// The first run that writes the administration Secret has decided, and has yet to write the connection Secret.
		between := sync.OnceFunc(func() {
			defer GinkgoRecover()
			edit(`{"password":"second"}`)
		})
		operator.Wire.Inject(testenv.Fault{Match: func(w testenv.Write) bool {
			if w.Method == http.MethodPatch && strings.HasSuffix(w.Path, db.Namespace+"/secrets/db-admin") {
				between()
			}
			return false
		}})
		edit(`{"password":"first","host":"to be put right"}`)
		Eventually(works(db)).Should(Succeed())
		Eventually(shown(db)).Should(Equal("app second"))
		Eventually(Condition(db, "CredentialsInSync")).Should(HavePrefix("True"))
		Expect(works(db)()).To(Succeed())
		Expect(shown(db)()).To(Equal("app second"))
	})

	It("rotates the password, once for each request, and both work", func() {
		db := AwaitReady(Create(database()))
		Eventually(Condition(db, "CredentialsInSync")).Should(HavePrefix("True"))
		_, first, _ := strings.Cut(shown(db)(), " ")
		Annotate(db, names.AnnotationRotate, "one")
		Eventually(shown(db)).Should(HavePrefix("app_b "))
		Eventually(Condition(db, "CredentialsInSync")).Should(HavePrefix("True"))
		Expect(works(db)()).To(Succeed())
		Expect(servers.Works(db.Namespace+"/db-g1", "app", first)).To(Succeed())
		Expect(Reload(db)).To(Succeed())
		Expect(db.Status.Credentials.RotatedAt).NotTo(BeNil())
		Poke(db)
		AwaitRun(db)
		Expect(shown(db)()).To(HavePrefix("app_b "))
		Annotate(db, names.AnnotationRotate, "two")
		Eventually(shown(db)).Should(And(HavePrefix("app "), Not(Equal("app "+first))))
		Expect(works(db)()).To(Succeed())
	})

	It("reads its password from a Secret", func() {
		db := database(func(db *v1alpha1.Database) {
			db.Spec.PasswordSecretRef = &v1alpha1.PasswordReference{Name: "chosen", Key: "pw"}
		})
		Create(db)
		Eventually(Ready(db)).Should(HavePrefix("False PasswordMissing"))
		secret := Create(&corev1.Secret{ObjectMeta: meta(db, "chosen"), Data: map[string][]byte{"other": []byte("x")}})
		Change(secret, func(s *corev1.Secret) { s.Data = map[string][]byte{"pw": []byte("one")} })
		AwaitReady(db)
		Expect(shown(db)()).To(Equal("app one"))
		Eventually(Condition(db, "CredentialsInSync")).Should(HavePrefix("True"))
		Change(secret, func(s *corev1.Secret) { s.Data["pw"] = []byte("two") })
		Eventually(shown(db)).Should(Equal("app two"))
		Eventually(works(db)).Should(Succeed())
	})

	It("stops and starts", func() {
		db := AwaitReady(Create(database()))
		Patch(db, `{"spec":{"suspended":true}}`)
		Eventually(Ready(db)).Should(HavePrefix("True Suspended"))
		set := serverOf(db)
		Expect(Reload(set)).To(Succeed())
		Expect(*set.Spec.Replicas).To(BeZero())
		Expect(Reload(db)).To(Succeed())
		Expect(db.Status.Phase).To(Equal(v1alpha1.PhaseSuspended))
		Patch(db, `{"spec":{"suspended":false}}`)
		Eventually(Ready(db)).Should(HavePrefix("True Ready"))
		Expect(Reload(claimOf(db))).To(Succeed())
	})

	It("says that its class cannot grow", func() {
		db := AwaitReady(Create(database()))
		Patch(db, `{"spec":{"storage":{"size":"2Gi"}}}`)
		Eventually(Condition(db, "Stored")).Should(HavePrefix("False ClassCannotExpand"))
		Expect(Ready(db)()).To(HavePrefix("True"))
	})

	It("says that something else rejects a larger volume, and grows once it does not", func() {
		class := Create(&storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: "grows"}, Provisioner: "example.com/none", AllowVolumeExpansion: new(true),
		})
		db := database()
		db.Spec.Storage.StorageClassName = &class.Name
		AwaitReady(Create(db))
		quota := Create(&corev1.ResourceQuota{ObjectMeta: meta(db, "small"), Spec: corev1.ResourceQuotaSpec{
			Hard: corev1.ResourceList{corev1.ResourceRequestsStorage: resource.MustParse("1Gi")},
		}})
		Eventually(func() bool { return Reload(quota) == nil && len(quota.Status.Used) == 1 }).Should(BeTrue())
		Patch(db, `{"spec":{"storage":{"size":"2Gi"}}}`)
		Eventually(Condition(db, "Stored")).Should(Equal("False GrowthRejected"))
		Expect(Message(db, "Stored")).To(ContainSubstring("exceeded quota"))
		Expect(Ready(db)()).To(HavePrefix("True"))
		Remove(quota)
		Eventually(Gone(quota)).Should(Succeed())
		Poke(db)
		Eventually(Condition(db, "Stored")).Should(HavePrefix("True"))
		Expect(Reload(claimOf(db))).To(Succeed())
	})

	It("says that the volume is full", func() {
		db := AwaitReady(Create(database()))
		key := db.Namespace + "/db-g1"
		servers.Change(key, func(s *fakedb.Server) { s.Free = 1 << 20 })
		Poke(db)
		Eventually(Ready(db)).Should(HavePrefix("False StorageFull"))
		servers.Change(key, func(s *fakedb.Server) { s.Free = s.Total })
		Poke(db)
		Eventually(Ready(db)).Should(HavePrefix("True"))
	})

	It("leaves a claim alone that is not its own", func() {
		db := database()
		theirs := &corev1.PersistentVolumeClaim{ObjectMeta: meta(db, "db-g1")}
		theirs.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		theirs.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		theirs.Annotations = map[string]string{names.AnnotationOwner: names.OwnerMark("database", db)}
		Create(theirs)
		Create(db)
		Eventually(Ready(db)).Should(HavePrefix("False NameTaken"))
		Expect(Reload(theirs)).To(Succeed())
		Expect(theirs.Finalizers).NotTo(ContainElement(names.FinalizerData))
		Expect(client.IgnoreNotFound(Reload(serverOf(db)))).To(Succeed())
		for _, other := range []string{"true", "another-volume"} {
			Annotate(db, names.AnnotationAdoptClaim, other)
			Poke(db)
			Consistently(Ready(db), "1s").Should(HavePrefix("False NameTaken"))
		}
		Annotate(db, names.AnnotationAdoptClaim, volumeOf(db).Name)
		Eventually(Ready(db)).Should(HavePrefix("False VersionFixed"))
		Change(db, func(db *v1alpha1.Database) { db.Spec.Version = "17" })
		AwaitReady(db)
		Expect(db.Status.Storage.Adopted).To(BeTrue())
		Expect(Reload(serverOf(db))).To(Succeed())
		args := func() []string {
			set := serverOf(db)
			Expect(Reload(set)).To(Succeed())
			return set.Spec.Template.Spec.Containers[0].Args
		}
		Expect(args()).To(ContainElements("--adopted", "--version=17"))
	})
})

var _ = Describe("The deletion of a Database", func() {
	BeforeEach(func() { start() })

	It("keeps the data, with which another one of its name runs", func() {
		db := AwaitReady(Create(database()))
		Eventually(works(db)).Should(Succeed())
		before, volume := shown(db)(), volumeOf(db)
		Remove(db)
		Eventually(Gone(db)).Should(Succeed())
		Expect(Reload(volume)).To(Succeed())
		Expect(volume.Spec.PersistentVolumeReclaimPolicy).To(Equal(corev1.PersistentVolumeReclaimRetain))
		Expect(volume.Annotations).To(HaveKeyWithValue(names.AnnotationVolumeOf, "database/"+db.Namespace+"/db"))
		Expect(Reload(claimOf(db))).To(Succeed())
		Eventually(Gone(secretOf(db))).Should(Succeed())

		next := AwaitReady(Create(again(db)))
		Expect(shown(next)()).To(Equal(before))
		Expect(next.Status.Storage.Volume).To(Equal(volume.Name))
		Expect(works(next)()).To(Succeed())
	})

	It("keeps the version, which the data belongs to", func() {
		db := AwaitReady(Create(database(func(db *v1alpha1.Database) { db.Spec.Version = "16" })))
		Remove(db)
		Eventually(Gone(db)).Should(Succeed())
		other := again(db)
		other.Spec.Version = "17"
		other.Spec.DeletionPolicy = v1alpha1.DeletionDelete // of what it never took up
		Create(other)
		Eventually(Ready(other)).Should(HavePrefix("False VersionFixed"))
		Remove(other)
		Eventually(Gone(other)).Should(Succeed())
		next := again(db)
		next.Spec.Version = ""
		Expect(AwaitReady(Create(next)).Status.Version).To(Equal("16"))
	})

	It("deletes the data if it is to", func() {
		db := AwaitReady(Create(database(func(db *v1alpha1.Database) { db.Spec.DeletionPolicy = v1alpha1.DeletionDelete })))
		volume := volumeOf(db)
		Remove(db)
		Eventually(Gone(db)).Should(Succeed())
		Eventually(Gone(adminOf(db))).Should(Succeed())
		Eventually(func() error { // its protection is not the operator's
			claim := claimOf(db)
			if err := Reload(claim); err != nil {
				return client.IgnoreNotFound(err)
			}
			if claim.DeletionTimestamp == nil || controllerutil.ContainsFinalizer(claim, names.FinalizerData) {
				return errors.New("the claim is not deleted")
			}
			return nil
		}).Should(Succeed())
		Expect(Reload(volume)).To(Succeed())
		Expect(volume.Spec.PersistentVolumeReclaimPolicy).To(Equal(corev1.PersistentVolumeReclaimDelete))
	})

	It("waits while it is protected, also when Kubernetes deletes it", func() {
		db := AwaitReady(Create(database(func(db *v1alpha1.Database) { db.Spec.DeletionProtection = true })))
		Expect(asKubernetes().Delete(ctx, db.DeepCopy())).To(Succeed())
		Eventually(Ready(db)).Should(HavePrefix("False DeletionProtected"))
		Expect(Reload(serverOf(db))).To(Succeed())
		Expect(serverOf(db).DeletionTimestamp).To(BeNil())
		volume := volumeOf(db)
		Expect(Reload(volume)).To(Succeed())
		Expect(volume.Spec.PersistentVolumeReclaimPolicy).To(Equal(corev1.PersistentVolumeReclaimRetain))
		Patch(db, `{"spec":{"deletionProtection":false}}`)
		Eventually(Gone(db)).Should(Succeed())
	})

	It("ends although somebody has taken the marks off the claim", func() {
		db := AwaitReady(Create(database(func(db *v1alpha1.Database) { db.Spec.DeletionProtection = true })))
		Expect(asKubernetes().Delete(ctx, db.DeepCopy())).To(Succeed())
		Eventually(Ready(db)).Should(HavePrefix("False DeletionProtected"))
		claim := claimOf(db)
		Expect(Reload(claim)).To(Succeed())
		Change(claim, func(c *corev1.PersistentVolumeClaim) { c.Annotations, c.Labels = nil, nil })
		Patch(db, `{"spec":{"deletionProtection":false}}`)
		Eventually(Gone(db)).Should(Succeed())
	})

	It("does not mark a claim again that is released", func() {
		db := AwaitReady(Create(database(func(db *v1alpha1.Database) { db.Spec.DeletionProtection = true })))
		Expect(asKubernetes().Delete(ctx, db.DeepCopy())).To(Succeed())
		Eventually(Ready(db)).Should(HavePrefix("False DeletionProtected"))
		claim := claimOf(db)
		Expect(Reload(claim)).To(Succeed())
		Change(claim, func(c *corev1.PersistentVolumeClaim) {
			delete(c.Labels, names.LabelDataUID)
			c.Finalizers = slices.DeleteFunc(c.Finalizers, func(f string) bool { return f == names.FinalizerData })
		})
		released := claim.ResourceVersion
		Patch(db, `{"spec":{"deletionProtection":false}}`)
		Eventually(Gone(db)).Should(Succeed())
		Expect(Reload(claim)).To(Succeed())
		Expect(claim.ResourceVersion).To(Equal(released))
	})

	It("keeps the volume when the namespace goes", func() {
		db := AwaitReady(Create(database()))
		volume := volumeOf(db)
		Remove(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: db.Namespace}})
		Eventually(Gone(db)).Should(Succeed())
		Expect(Reload(volume)).To(Succeed())
		Expect(volume.Spec.PersistentVolumeReclaimPolicy).To(Equal(corev1.PersistentVolumeReclaimRetain))
	})

	It("keeps the volume of a claim that somebody deletes", func() {
		db := AwaitReady(Create(database()))
		volume := volumeOf(db)
		Remove(claimOf(db))
		Poke(db)
		Eventually(Ready(db)).Should(HavePrefix("False ClaimTerminating"))
		Expect(Reload(volume)).To(Succeed())
		Expect(volume.Spec.PersistentVolumeReclaimPolicy).To(Equal(corev1.PersistentVolumeReclaimRetain))
		Expect(Reload(claimOf(db))).To(Succeed())
	})
})
