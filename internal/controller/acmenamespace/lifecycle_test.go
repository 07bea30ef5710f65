// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

func amounts(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// holdAmounts wants these amounts, however they are written, among others.
func holdAmounts(pairs ...string) OmegaMatcher {
	var all []OmegaMatcher
	for name, q := range amounts(pairs...) {
		all = append(all, HaveKeyWithValue(name, WithTransform(func(have resource.Quantity) int { return have.Cmp(q) }, BeZero())))
	}
	return And(all...)
}

// seed reads one of the manifests that users already have.
func seed(name string) *v1alpha1.AcmeNamespace {
	GinkgoHelper()
	objects, err := testenv.ReadObjects("testdata/seeds/" + name + ".yaml")
	Expect(err).NotTo(HaveOccurred())
	Expect(objects).To(HaveLen(1))
	Create(objects[0])
	return in("", objects[0].GetName(), &v1alpha1.AcmeNamespace{})
}

var _ = Describe("An AcmeNamespace", Ordered, ContinueOnFailure, func() {
	var (
		op     *Operator
		billed = &ledger{}
	)
	BeforeAll(func() { op = StartOperator(func(o *operator.Options) { o.Ledger = billed }) })

	Describe("of the manifests that users have", func() {
		It("minimal: a namespace with its administrator, and the tier dev", func() {
			n := seed("acmenamespace-minimal")
			AwaitReady(n)
			Expect(n.Spec.DeploymentTier).To(BeEquivalentTo("dev"))
			Expect(n.Status.Phase).To(Equal(v1alpha1.PhaseCreated))
			ns := namespaceOf(n)
			Expect(ns.Name).To(Equal("app-y"))
			Expect(ns.Labels).To(And(HaveKeyWithValue("admin", "sam"), HaveKeyWithValue("pod-security.kubernetes.io/enforce", "baseline")))
			Expect(n.Status.NamespaceUID).To(Equal(ns.UID))
			Expect(in("app-y", "namespace-admin", &rbacv1.Role{}).Rules).NotTo(BeEmpty())
			b := bindingOf(n)
			Expect(b.RoleRef).To(Equal(rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "namespace-admin"}))
			Expect(b.Subjects).To(ConsistOf(rbacv1.Subject{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: "sam"}))
			in("app-y", "defaults", &corev1.LimitRange{})
			in("app-y", "tenant-isolation", &networkingv1.NetworkPolicy{})
			Expect(n.Finalizers).To(Equal([]string{finalizer}))
		})

		It("dev: a quota named dev; changed to prod it is named prod, and dev's is gone", func() {
			n := seed("acmenamespace-dev")
			AwaitReady(n)
			Expect(in("app-z", "dev", &corev1.ResourceQuota{}).Spec.Hard).To(holdAmounts("cpu", "5", "memory", "10Gi", "pods", "10"))
			Expect(n.Status.DeletionPolicy).To(Equal(v1alpha1.DeletionDelete))

			Change(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.DeploymentTier = "prod" })
			AwaitReady(n)
			Eventually(quotas).WithArguments("app-z").Should(Equal([]string{"prod"}))
			Expect(in("app-z", "prod", &corev1.ResourceQuota{}).Spec.Hard).To(holdAmounts("cpu", "500", "memory", "200Gi", "pods", "100"))
			Expect(namespaceOf(n).Labels).To(HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted"))
			Expect(n.Status.DeletionPolicy).To(Equal(v1alpha1.DeletionRetain))
		})

		It("finalizer: billing gets the report first; only then the namespace and the finalizer are removed", func() {
			n := seed("acmenamespace-finalizer")
			AwaitReady(n)
			Expect(n.Finalizers).To(Equal([]string{finalizer}))
			ns := namespaceOf(n)
			billed.answer(errBilling)
			Remove(n)
			Eventually(Condition(n, "BillingReleased")).Should(Equal("False BillingFailed"))
			Expect(Reload(ns)).To(Succeed())
			Expect(ns.DeletionTimestamp).To(BeNil())

			billed.answer(nil)
			Eventually(Condition(n, "NamespaceReleased")).Should(Equal("False NamespaceTerminating"))
			Expect(Condition(n, "BillingReleased")()).To(Equal("True Done"))
			heard := len(billed.Of(n)())
			Eventually(Gone(n)).Should(Succeed())
			Expect(Gone(ns)()).To(Succeed(), "the finalizer stays until the namespace is gone")
			Expect(billed.Of(n)()).To(HaveLen(heard), "it gets no second report while the namespace is deleted")
		})
	})

	It("reports what the quota controller counts", func() {
		n := created(team("counting"))
		Eventually(func(g Gomega) {
			g.Expect(Reload(n)).To(Succeed())
			g.Expect(n.Status.Quota).NotTo(BeNil())
			g.Expect(n.Status.Quota.Hard).To(holdAmounts("cpu", "5", "memory", "10Gi", "pods", "10"))
			g.Expect(n.Status.Quota.Used).To(holdAmounts("cpu", "0", "memory", "0", "pods", "0"))
		}).Should(Succeed())
		Create(pod("app-counting", "one"))
		Eventually(func(g Gomega) {
			g.Expect(Reload(n)).To(Succeed())
			g.Expect(n.Status.Quota.Used).To(holdAmounts("cpu", "100m", "memory", "128Mi", "pods", "1"))
		}).Should(Succeed(), "a plain pod is admitted, with the defaults of the limit range")
	})

	It("overrides the tier's quota, and removes the override again", func() {
		n := created(team("own-quota", func(s *v1alpha1.AcmeNamespaceSpec) {
			s.Quota = amounts("cpu", "8000m", "requests.storage", "102400Mi", "count/jobs.batch", "3")
		}))
		rq := in("app-own-quota", "dev", &corev1.ResourceQuota{})
		Expect(rq.Spec.Hard).To(holdAmounts("cpu", "8", "memory", "10Gi", "pods", "10", "requests.storage", "100Gi", "count/jobs.batch", "3"))
		Change(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.Quota = amounts("cpu", "6") })
		AwaitReady(n)
		Expect(in("app-own-quota", "dev", rq).Spec.Hard).To(holdAmounts("cpu", "6", "memory", "10Gi", "pods", "10", "requests.storage", "50Gi", "count/jobs.batch", "100"))
		Change(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.Quota = nil })
		AwaitReady(n)
		Expect(in("app-own-quota", "dev", rq).Spec.Hard).To(holdAmounts("cpu", "5", "memory", "10Gi", "pods", "10"))
	})

	It("sets labels on its namespace and removes only its own", func() {
		n := created(team("labels", func(s *v1alpha1.AcmeNamespaceSpec) {
			s.Labels = map[string]v1alpha1.LabelValue{"team": "a", "empty": ""}
		}))
		ns := namespaceOf(n)
		Expect(ns.Labels).To(And(HaveKeyWithValue("team", "a"), HaveKeyWithValue("empty", "")))
		Change(ns, func(ns *corev1.Namespace) { ns.Labels["somebody"] = "else" })
		Change(n, func(n *v1alpha1.AcmeNamespace) {
			n.Spec.Labels = map[string]v1alpha1.LabelValue{"example.org/cost": "4711"}
		})
		AwaitReady(n)
		Expect(namespaceOf(n).Labels).To(And(HaveKeyWithValue("example.org/cost", "4711"), HaveKeyWithValue("somebody", "else"),
			Not(HaveKey("team")), Not(HaveKey("empty"))))
	})

	It("follows its administrator from the label to the annotation and back", func() {
		n := created(team("admins"))
		Change(n, func(n *v1alpha1.AcmeNamespace) {
			n.Spec.AdminUsername, n.Spec.AdminGroups = "CN=kim,OU=x", []string{"oidc:ops"}
		})
		AwaitReady(n)
		ns := namespaceOf(n)
		Expect(ns.Labels).NotTo(HaveKey("admin"))
		Expect(ns.Annotations).To(HaveKeyWithValue("admin", "CN=kim,OU=x"))
		Expect(bindingOf(n).Subjects).To(ConsistOf(
			rbacv1.Subject{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: "CN=kim,OU=x"},
			rbacv1.Subject{APIGroup: "rbac.authorization.k8s.io", Kind: "Group", Name: "oidc:ops"}))

		Change(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.AdminUsername, n.Spec.AdminGroups = "kim", nil })
		AwaitReady(n)
		ns = namespaceOf(n)
		Expect(ns.Labels).To(HaveKeyWithValue("admin", "kim"))
		Expect(ns.Annotations).NotTo(HaveKey("admin"))
		Expect(bindingOf(n).Subjects).To(ConsistOf(rbacv1.Subject{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: "kim"}))
	})

	DescribeTable("accepts any administrator name that an identity provider may have", func(name, user string) {
		n := created(team(name, func(s *v1alpha1.AcmeNamespaceSpec) { s.AdminUsername = user }))
		Expect(bindingOf(n).Subjects).To(HaveLen(1))
		Expect(bindingOf(n).Subjects[0].Name).To(Equal(user))
		ns := namespaceOf(n)
		Expect(ns.Labels["admin"] + ns.Annotations["admin"]).To(Equal(user))
	},
		Entry("prefixed", "user-oidc", "oidc:sam"),
		Entry("an address", "user-mail", "sam@acme.com"),
		Entry("a distinguished name", "user-dn", "CN=sam,OU=x"),
		Entry("256 characters", "user-long", strings.Repeat("s", 256)),
		Entry("256 characters that are not ASCII", "user-unicode", strings.Repeat("山", 256)),
		Entry("a service account", "user-robot", "system:serviceaccount:ci:deployer"),
	)

	It("writes nothing while nothing changes, whatever the spelling of the spec", func() {
		n := created(team("quiet", func(s *v1alpha1.AcmeNamespaceSpec) {
			s.AdminUsername, s.AdminGroups = "CN=sam,OU=x", []string{"b", "a"}
			s.Quota = amounts("cpu", "8000m", "memory", "2048Mi", "requests.storage", "0.5Ti", "services.nodeports", "0")
			s.Labels = map[string]v1alpha1.LabelValue{"empty": "", "team": "a"}
		}))
		Eventually(func() bool {
			_ = Reload(n)
			return n.Status.Quota != nil && QuotaCounted("app-quiet", corev1.ResourceQuotaStatus(*n.Status.Quota))
		}).Should(BeTrue())
		op.Wire.Forget()
		Change(n, func(n *v1alpha1.AcmeNamespace) { n.Annotations = map[string]string{"look": "again"} })
		Consistently(func() []testenv.Write {
			return op.Wire.Writes(func(w testenv.Write) bool { return w.For("quiet") || w.For("app-quiet") })
		}).Should(BeEmpty())
	})

	It("emits an event at each transition", func() {
		n := created(team("eventful"))
		Eventually(EventsOf(n)).Should(ContainElement(HavePrefix("Normal Ready: ")))
		Change(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.Quota = amounts("cpus", "1") })
		Eventually(EventsOf(n)).Should(ContainElement(HavePrefix("Warning QuotaInvalid: ")))
	})

	It("goes through its phases", func() {
		stuck := op.Wire.Inject(testenv.Fault{Match: func(w testenv.Write) bool { return w.For("app-phases") }})
		n := team("phases", retained)
		Create(n)
		phase := func() v1alpha1.Phase {
			_ = Reload(n)
			return n.Status.Phase
		}
		Eventually(phase).Should(Equal(v1alpha1.PhaseCreationInProgress))
		stuck.Heal()
		AwaitReady(n)
		Expect(phase()).To(Equal(v1alpha1.PhaseCreated))

		Change(n, func(n *v1alpha1.AcmeNamespace) { n.Spec.Quota = amounts("cpus", "1") })
		Eventually(Ready(n)).Should(Equal("False QuotaInvalid"))
		Expect(phase()).To(Equal(v1alpha1.PhaseCreated), "the namespace exists, whatever came after")

		billed.answer(errBilling)
		Remove(n)
		Eventually(phase).Should(Equal(v1alpha1.PhaseTerminating))
		billed.answer(nil)
		Eventually(Gone(n)).Should(Succeed())
	})

	It("reports that its namespace is being deleted, and creates it again", func() {
		n := created(team("deleted"))
		old := namespaceOf(n)
		Remove(old)
		Eventually(Ready(n)).Should(Equal("False NamespaceTerminating"))
		Expect(Message(n, "Admitted")).To(HavePrefix(`the Namespace "app-deleted" is being deleted; it is created again once it is gone`))
		Expect(Condition(n, "Stalled")()).To(Equal("none"), "no user has to do anything")
		AwaitReady(n)
		Expect(namespaceOf(n).UID).NotTo(Equal(old.UID))
		Expect(namespaceOf(n).UID).To(Equal(n.Status.NamespaceUID))
		bindingOf(n)
	})

	Describe("whose children are changed", func() {
		var n *v1alpha1.AcmeNamespace
		BeforeAll(func() { n = created(team("drift", func(s *v1alpha1.AcmeNamespaceSpec) { s.DeploymentTier = "stg" })) })

		DescribeTable("repairs", func(o client.Object, name string, spoil func(), restored func(Gomega)) {
			o.SetName(name)
			if name != "app-drift" {
				o.SetNamespace("app-drift")
			}
			Change(o, func(client.Object) { spoil() })
			Eventually(func(g Gomega) {
				g.Expect(Reload(o)).To(Succeed())
				restored(g)
			}).Should(Succeed())
		},
			func() []TableEntry {
				ns, rq, lr := &corev1.Namespace{}, &corev1.ResourceQuota{}, &corev1.LimitRange{}
				role, rb, np := &rbacv1.Role{}, &rbacv1.RoleBinding{}, &networkingv1.NetworkPolicy{}
				return []TableEntry{
					Entry("the Namespace's security level", ns, "app-drift", func() { ns.Labels["pod-security.kubernetes.io/enforce"] = "privileged" },
						func(g Gomega) {
							g.Expect(ns.Labels).To(HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted"))
						}),
					Entry("the Namespace's marks", ns, "app-drift", func() { delete(ns.Labels, labelOwnerUID) },
						func(g Gomega) { g.Expect(ns.Labels).To(HaveKey(labelOwnerUID)) }),
					Entry("the Namespace's other mark", ns, "app-drift", func() { delete(ns.Annotations, annotationOwner) },
						func(g Gomega) { g.Expect(ns.Annotations).To(HaveKey(annotationOwner)) }),
					Entry("the quota", rq, "stg", func() { rq.Spec.Hard["cpu"] = resource.MustParse("1k") },
						func(g Gomega) { g.Expect(rq.Spec.Hard).To(holdAmounts("cpu", "50", "memory", "50Gi", "pods", "50")) }),
					Entry("the quota's mark that caches select on", rq, "stg", func() { delete(rq.Labels, labelManagedBy) },
						func(g Gomega) { g.Expect(rq.Labels).To(HaveKey(labelManagedBy)) }),
					Entry("the limit range", lr, "defaults", func() { lr.Spec.Limits = nil },
						func(g Gomega) { g.Expect(lr.Spec.Limits).To(HaveLen(1)) }),
					Entry("the role", role, "namespace-admin", func() {
						role.Rules = []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
					}, func(g Gomega) { g.Expect(len(role.Rules)).To(BeNumerically(">", 10)) }),
					Entry("the binding", rb, "namespace-admin", func() {
						rb.Subjects = append(rb.Subjects, rbacv1.Subject{Kind: "User", Name: "kim", APIGroup: "rbac.authorization.k8s.io"})
					}, func(g Gomega) { g.Expect(rb.Subjects).To(HaveLen(1)) }),
					Entry("the network policy", np, "tenant-isolation", func() { np.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{}} },
						func(g Gomega) { g.Expect(np.Spec.Ingress[0].From).NotTo(BeEmpty()) }),
				}
			}(),
		)

		DescribeTable("creates again", func(o client.Object, name string) {
			o.SetName(name)
			o.SetNamespace("app-drift")
			Expect(Reload(o)).To(Succeed())
			was := o.GetUID()
			Remove(o)
			Eventually(func(g Gomega) {
				g.Expect(Reload(o)).To(Succeed())
				g.Expect(o.GetUID()).NotTo(Equal(was))
			}).Should(Succeed())
		},
			Entry("the quota", &corev1.ResourceQuota{}, "stg"),
			Entry("the limit range", &corev1.LimitRange{}, "defaults"),
			Entry("the role", &rbacv1.Role{}, "namespace-admin"),
			Entry("the binding", &rbacv1.RoleBinding{}, "namespace-admin"),
			Entry("the network policy", &networkingv1.NetworkPolicy{}, "tenant-isolation"),
		)

		It("replaces a binding to another role, which cannot be changed", func() {
			rb := bindingOf(n)
			Remove(rb)
			foreign := &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: "namespace-admin", Namespace: "app-drift"},
				RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "cluster-admin"},
				Subjects:   []rbacv1.Subject{{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: "mallory"}},
			}
			// The operator creates it again at once: this is the race.
			Eventually(func(g Gomega) {
				_ = Admin.Delete(ctx, rb.DeepCopy())
				foreign.ResourceVersion = ""
				g.Expect(Admin.Create(ctx, foreign)).To(Succeed())
			}).Should(Succeed())
			Eventually(func(g Gomega) {
				g.Expect(Reload(rb)).To(Succeed())
				g.Expect(rb.RoleRef.Name).To(Equal("namespace-admin"))
				g.Expect(rb.Subjects).To(ConsistOf(person("sam")))
			}).Should(Succeed())
		})
	})
})

// pod makes a pod that states no resources and meets the strictest Pod Security level.
func pod(namespace, name string) *corev1.Pod {
	yes, no := true, false
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{Name: "main", Image: "registry.acme.com/app:v1", SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			}}},
		},
	}
}
