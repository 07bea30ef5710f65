// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package database_test

import (
	"context"
	"reflect"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// byTheOperator writes with the identity and the rights of the operator, and changes nothing.
type byTheOperator struct{ client.Client }

func asOperator() byTheOperator {
	GinkgoHelper()
	return byTheOperator{User(testenv.OperatorUser, "system:serviceaccounts", "system:serviceaccounts:"+testenv.OperatorNamespace)}
}

// asKubernetes is the client of what deletes the objects of a namespace that is being deleted.
func asKubernetes() client.Client {
	return User("system:serviceaccount:kube-system:namespace-controller", "system:masters")
}

func (o byTheOperator) patch(object client.Object, text string) func() error {
	return func() error {
		return o.Patch(ctx, object.DeepCopyObject().(client.Object), client.RawPatch(client.Merge.Type(), []byte(text)), client.DryRunAll)
	}
}

var _ = Describe("The policy database-bounds", func() {
	It("lets the operator keep volumes, and do nothing else with them", func() {
		operator, ns := asOperator(), Namespace()
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: ns}, Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/x"}},
			ClaimRef:                      &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: ns, Name: "db-g1", UID: "1"},
		}}
		Create(volume)
		DeferCleanup(func() { Remove(volume) })
		Expect(operator.patch(volume, `{"metadata":{"annotations":{"databases.acme.com/volume-of":"database/`+ns+`/db",
			"databases.acme.com/reclaim-policy":"Delete"}},"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`)()).To(Succeed())
		for text, want := range map[string]string{
			`{"spec":{"claimRef":null}}`:                                                    "must not change the spec of volumes",
			`{"spec":{"claimRef":{"namespace":"other"}}}`:                                   "must not change the spec of volumes",
			`{"spec":{"persistentVolumeReclaimPolicy":"Recycle"}}`:                          "must not change the reclaim policy",
			`{"metadata":{"annotations":{"a":"b"}}}`:                                        "must not change the metadata of volumes",
			`{"metadata":{"labels":{"a":"b"}}}`:                                             "must not change the metadata of volumes",
			`{"metadata":{"annotations":{"databases.acme.com/volume-of":"database/o/db"}}}`: "must not mark a volume",
		} {
			Eventually(operator.patch(volume, text)).Should(MatchError(ContainSubstring(want)), text)
		}
		kept := volume.DeepCopy()
		Patch(kept, `{"metadata":{"annotations":{"databases.acme.com/reclaim-policy":"Delete"}},"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`)
		Expect(operator.patch(kept, `{"metadata":{"annotations":{"databases.acme.com/reclaim-policy":null}},"spec":{"persistentVolumeReclaimPolicy":"Delete"}}`)()).To(Succeed())
	})

	It("lets the operator write the claims and Secrets of Databases, and no others", func() {
		operator := asOperator()
		db := database()
		theirs := Create(&corev1.Secret{ObjectMeta: meta(db, "theirs")})
		marks := `"annotations":{"platform.acme.com/owner":"` + names.OwnerMark("database", db) + `"}`
		Eventually(operator.patch(theirs, `{"data":{"a":"Yg=="}}`)).Should(MatchError(ContainSubstring("must not write Secrets")))
		Expect(operator.patch(theirs, `{"metadata":{`+marks+`},"data":{"a":"Yg=="}}`)()).To(MatchError(ContainSubstring("must not write Secrets")))
		Expect(operator.Delete(ctx, theirs.DeepCopy(), client.DryRunAll)).To(MatchError(ContainSubstring("must not write Secrets")))
		Expect(operator.Create(ctx, &corev1.Secret{ObjectMeta: meta(db, "new")}, client.DryRunAll)).To(MatchError(ContainSubstring("must not write Secrets")))

		own := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: "own"}}
		Expect(operator.Create(ctx, own, client.DryRunAll)).To(Succeed())

		claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta(db, "their-claim")}
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		Create(claim)
		Expect(operator.patch(claim, `{"metadata":{"finalizers":["databases.acme.com/data"]}}`)()).To(MatchError(ContainSubstring("must not write claims")))
		Expect(operator.Delete(ctx, claim.DeepCopy(), client.DryRunAll)).To(MatchError(ContainSubstring("must not write claims")))
		Expect(operator.patch(claim, `{"metadata":{`+marks+`,"finalizers":["other.example.com/x"]}}`)()).To(MatchError(ContainSubstring("no finalizers but its own")))
		Expect(operator.patch(claim, `{"metadata":{`+marks+`},"spec":{"volumeName":"x"}}`)()).To(MatchError(ContainSubstring("must not change the spec of claims")))
	})
})

var _ = Describe("The policy database-rights", func() {
	mayWrite := rbacv1.PolicyRule{APIGroups: []string{"databases.acme.com"}, Resources: []string{"databases"}, Verbs: []string{"create", "patch"}}
	may := func(resource, verb string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{verb}}
	}

	It("rejects an author who may not read the Secret, or write claims", func() {
		db := database(func(db *v1alpha1.Database) {
			db.Spec.PasswordSecretRef = &v1alpha1.PasswordReference{Name: "chosen"}
			db.Annotations = map[string]string{names.AnnotationAdoptClaim: "their-volume"}
		})
		without := func(name string, rules ...rbacv1.PolicyRule) func() error {
			author := Author(db.Namespace, name, append(rules, mayWrite)...)
			return func() error { return author.Create(ctx, db.DeepCopy(), client.DryRunAll) }
		}
		Eventually(without("no-secrets", may("persistentvolumeclaims", "update"))).Should(MatchError(ContainSubstring("needs the right to get the Secret chosen")))
		Eventually(without("no-claims", may("secrets", "get"))).Should(MatchError(ContainSubstring("needs the right to update persistentvolumeclaims")))
		Eventually(without("both", may("secrets", "get"), may("persistentvolumeclaims", "update"))).Should(Succeed())
		Create(db)
		other := Author(db.Namespace, "other", mayWrite)
		patch := client.RawPatch(client.Merge.Type(), []byte(`{"spec":{"suspended":true}}`))
		Eventually(func() error { return other.Patch(ctx, db.DeepCopy(), patch, client.DryRunAll) }).Should(Succeed())
		ref := reflect.TypeFor[v1alpha1.PasswordReference]()
		for i := range ref.NumField() { // another key of the same Secret is another secret
			member, _, _ := strings.Cut(ref.Field(i).Tag.Get("json"), ",")
			patch = client.RawPatch(client.Merge.Type(), []byte(`{"spec":{"passwordSecretRef":{"`+member+`":"other"}}}`))
			Expect(other.Patch(ctx, db.DeepCopy(), patch, client.DryRunAll)).To(MatchError(ContainSubstring("needs the right to get the Secret")), member)
		}
		patch = client.RawPatch(client.Merge.Type(), []byte(`{"metadata":{"annotations":{"`+names.AnnotationAdoptClaim+`":"another-volume"}}}`))
		Expect(other.Patch(ctx, db.DeepCopy(), patch, client.DryRunAll)).To(MatchError(ContainSubstring("needs the right to update persistentvolumeclaims")))
	})
})

// heard are the warnings of the API server.
type heard struct {
	mu   sync.Mutex
	text []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (h *heard) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, text)
}

func (h *heard) all() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.text, "\n")
}

var _ = Describe("Admission of Databases", func() {
	It("warns of a password that everybody can read, and only of that", func() {
		warnings := &heard{}
		config := rest.CopyConfig(Plane.Config)
		config.WarningHandlerWithContext = warnings
		author := ClientOf(config)
		db := database(func(db *v1alpha1.Database) {
			db.Spec = v1alpha1.DatabaseSpec{Type: v1alpha1.MySQL, User: "root", Password: "root"}
		})
		// Until the API server knows the policy, it warns of nothing.
		Eventually(func() string {
			Expect(author.Create(ctx, db.DeepCopy(), client.DryRunAll)).To(Succeed())
			return warnings.all()
		}).Should(ContainSubstring("prefer spec.passwordSecretRef"))
		before := warnings.all()
		Expect(author.Create(ctx, database(), client.DryRunAll)).To(Succeed())
		Expect(warnings.all()).To(Equal(before))
	})

	It("rejects the deletion of one that is protected, but not by Kubernetes", func() {
		db := Create(database(func(db *v1alpha1.Database) { db.Spec.DeletionProtection = true }))
		remove := func() error { return Admin.Delete(ctx, db.DeepCopy(), client.DryRunAll) }
		Eventually(remove).Should(MatchError(ContainSubstring("spec.deletionProtection of this Database is true")))
		Expect(asKubernetes().Delete(ctx, db.DeepCopy(), client.DryRunAll)).To(Succeed())
		Patch(db, `{"spec":{"deletionProtection":false}}`)
		Remove(db)
	})
})

var _ = Describe("A Database without the policy database-bounds", func() {
	const name = "platform-operator-database-bounds"
	// withdrawn takes the binding away, as in a cluster in which nobody has installed it.
	withdrawn := func() *admissionregistrationv1.ValidatingAdmissionPolicyBinding {
		GinkgoHelper()
		binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
		Expect(Reload(binding)).To(Succeed())
		DeferCleanup(func() { Expect(testenv.InstallOperator(Plane)).To(Succeed()) })
		Remove(binding.DeepCopy())
		binding.ResourceVersion, binding.UID = "", ""
		return binding
	}
	const often = "database: {retryMax: 1s, policyInterval: 100ms, agentImage: registry.acme.com/operator}\n"

	It("is not served until the policy is installed", func() {
		binding := withdrawn()
		start(Configured(often))
		db := Create(database())
		Eventually(Ready(db)).Should(HavePrefix("False PolicyMissing"))
		Expect(Message(db, "Bounded")).To(And(ContainSubstring("the binding of the admission policy "+name+" is not installed"),
			ContainSubstring("kubectl apply --server-side -k '")))
		for _, o := range []client.Object{secretOf(db), adminOf(db), claimOf(db), serverOf(db)} {
			Expect(apierrors.IsNotFound(Reload(o))).To(BeTrue(), "%T", o)
		}
		Create(binding)
		AwaitReady(db)
		Expect(Condition(db, "Bounded")()).To(Equal("True Done"))
	})

	It("runs on, and can be deleted", func() {
		start(Configured(often))
		db := AwaitReady(Create(database()))
		withdrawn()
		Eventually(Ready(db)).Should(HavePrefix("False PolicyMissing"))
		set := serverOf(db)
		Expect(Reload(set)).To(Succeed())
		Expect(*set.Spec.Replicas).To(BeEquivalentTo(1))
		Remove(db)
		Eventually(Gone(db)).Should(Succeed())
		Expect(Reload(claimOf(db))).To(Succeed())
	})
})
