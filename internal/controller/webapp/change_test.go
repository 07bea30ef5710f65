// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp_test

import (
	"encoding/json"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

const (
	mark     = "autoreboot.acme.com/configwatcher.web-webapp"
	password = "hunter2-of-the-database"
)

func secret(ns, name string, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, StringData: data}
}

// databaseSecret has the keys of the connection Secret of a Database.
func databaseSecret(ns, password string) *corev1.Secret {
	return secret(ns, "db", map[string]string{
		"type": "postgres", "host": "db", "port": "5432", "username": "app", "password": password, "database": "app", "uri": "postgres://app:" + password + "@db:5432/app",
	})
}

// set changes one key of a Secret.
func set(s *corev1.Secret, key, value string) {
	GinkgoHelper()
	Change(s, func(s *corev1.Secret) { s.StringData = map[string]string{key: value} })
}

func fromSecret(name string) corev1.EnvFromSource {
	return corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}
}

func watcherOf(a *v1alpha1.WebApp) *autorebootv1alpha1.ConfigWatcher {
	return &autorebootv1alpha1.ConfigWatcher{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: a.Name + "-webapp"}}
}

// atOnce makes a WebApp's ConfigWatcher restart without a debounce, as its user may, and waits until it has its baseline.
func atOnce(a *v1alpha1.WebApp) *autorebootv1alpha1.ConfigWatcher {
	GinkgoHelper()
	w := live(watcherOf(a))
	Patch(w, `{"spec":{"restart":{"debounce":"0s","maxPerHour":60}}}`, client.FieldOwner("a-user"))
	AwaitRun(w)
	return w
}

// rollouts counts the versions of the pods' template since it was called.
func rollouts(a *v1alpha1.WebApp) func() int64 {
	GinkgoHelper()
	d := live(deploymentOf(a))
	before := d.Generation
	return func() int64 {
		Expect(Reload(d)).To(Succeed())
		return d.Generation - before
	}
}

var _ = Describe("A change of what others own in the environment", Ordered, func() {
	var op *Operator
	BeforeAll(func() { op = StartOperator() })

	// watching is a WebApp that serves with the Secret s, which it lists twice, and the key k of the ConfigMap c.
	watching := func(with ...func(*v1alpha1.WebAppSpec)) (*v1alpha1.WebApp, *corev1.Secret, *corev1.ConfigMap) {
		GinkgoHelper()
		ns := Namespace()
		s := Create(secret(ns, "s", map[string]string{"password": "1"}))
		c := Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "c"}, Data: map[string]string{"k": "1"}})
		return serving(webApp(ns, append(with, func(spec *v1alpha1.WebAppSpec) {
			spec.RestartOnChange, spec.EnvFrom = true, append(spec.EnvFrom, fromSecret("s"), fromSecret("s"))
			spec.Env = []corev1.EnvVar{{Name: "K", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "c"}, Key: "k",
			}}}}
		})...)), s, c
	}

	It("rolls the pods exactly once", func() {
		a, s, c := watching()
		w := atOnce(a)
		Eventually(Ready(w)).Should(Equal("True Ready"))
		Expect(Condition(a, "UpToDate")()).To(Equal("True Done"))
		rolled, times := rollouts(a), int64(0)
		once := func(why string) {
			GinkgoHelper()
			times++
			Eventually(rolled).Should(Equal(times), why)
			roll(a)
			AwaitReady(a)
			Eventually(Ready(w)).Should(Equal("True Ready"))
			Poke(a)
			Consistently(rolled, "700ms").Should(Equal(times), why)
			Expect(live(deploymentOf(a)).Spec.Template.Annotations).To(HaveKey(mark), why)
		}
		set(s, "password", "2")
		once("the Secret has changed")
		Change(c, func(c *corev1.ConfigMap) { c.Data["k"] = "2" })
		once("the key of the ConfigMap has changed")
		Change(c, func(c *corev1.ConfigMap) { c.Data["other"] = "x" })
		Annotate(s, "a", "b")
		Consistently(rolled, "700ms").Should(Equal(times), "nothing of the environment has changed")
		Change(a, func(a *v1alpha1.WebApp) { a.Spec.Config = map[string]v1alpha1.FileContent{"a": "b"} })
		once("its own files have changed")
		Change(a, func(a *v1alpha1.WebApp) { a.Spec.WebAppImage += ".1" })
		once("the image has changed, which keeps the restart mark")
		op.Stop()
		set(s, "password", "3")
		op.Start()
		once("the Secret has changed while the operator was away")
		op.Restart()
		Consistently(rolled, "700ms").Should(Equal(times), "the operator was started again")
		Expect(live(w).Spec.Restart.Debounce.Duration).To(BeZero(), "that is for users to set")

		By("being asked for no more")
		Change(a, func(a *v1alpha1.WebApp) { a.Spec.RestartOnChange = false })
		Eventually(Gone(w)).Should(Succeed())
		set(s, "password", "4")
		Consistently(rolled, "700ms").Should(Equal(times))

		By("being asked for again")
		Change(a, func(a *v1alpha1.WebApp) { a.Spec.RestartOnChange = true })
		live(w)
		AwaitReady(w)
		Consistently(rolled, "700ms").Should(Equal(times))
		Remove(a)
		Eventually(Gone(w)).Should(Succeed())
	})

	It("is one rollout with a ConfigWatcher of a user for the same pods", func() {
		a, s, _ := watching()
		theirs := Create(&autorebootv1alpha1.ConfigWatcher{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: "web"}, Spec: autorebootv1alpha1.ConfigWatcherSpec{
			Sources:     []autorebootv1alpha1.Source{{Kind: autorebootv1alpha1.SourceSecret, Name: "s"}},
			PodSelector: map[string]autorebootv1alpha1.LabelValue{"workloads.apps.acme.com/webapp": "web"},
		}})
		AwaitReady(theirs)
		AwaitReady(live(watcherOf(a)))
		rolled := rollouts(a)
		set(s, "password", "2")
		for _, w := range []*autorebootv1alpha1.ConfigWatcher{theirs, watcherOf(a)} {
			Eventually(func() int64 { Expect(Reload(w)).To(Succeed()); return w.Status.Restarts }).Should(Equal(int64(1)))
		}
		Consistently(rolled, "700ms").Should(Equal(int64(1)))
	})

	It("counts of what does not exist only what the pods do without", func() {
		a, _, _ := watching(func(s *v1alpha1.WebAppSpec) {
			later := fromSecret("later")
			later.SecretRef.Optional = new(true)
			s.EnvFrom = []corev1.EnvFromSource{later, fromSecret("missing")}
		})
		w := atOnce(a)
		Eventually(Ready(w)).Should(Equal("False SourceMissing"))
		Expect(Message(w, "SourcesFound")).NotTo(ContainSubstring("later"))
		Expect(Condition(a, "UpToDate")()).To(Equal("True Done"), "pods that cannot start are reported as such")
		rolled := rollouts(a)
		Create(secret(a.Namespace, "missing", map[string]string{"a": "1"}))
		Eventually(Ready(w)).Should(Equal("True Ready"))
		Consistently(rolled, "700ms").Should(Equal(int64(0)), "no pod has started without it")
		later := Create(secret(a.Namespace, "later", map[string]string{"a": "1"}))
		Eventually(rolled).Should(Equal(int64(1)))
		roll(a)
		Remove(later)
		Eventually(rolled).Should(Equal(int64(2)))
	})

	It("rolls no pods but its own, for an author who may do nothing but write WebApps", func() {
		ns := Namespace()
		author := Author(ns, ns+"-author", rbacv1.PolicyRule{APIGroups: []string{"workloads.apps.acme.com"}, Resources: []string{"webapps"}, Verbs: []string{"*"}})
		Eventually(func() error {
			return author.Create(ctx, webApp(ns, func(s *v1alpha1.WebAppSpec) {
				s.RestartOnChange, s.EnvFrom = true, []corev1.EnvFromSource{fromSecret("s")}
			}))
		}).Should(Succeed())
		a := webApp(ns)
		w := live(watcherOf(a))
		Expect(w.Spec.PodSelector).To(Equal(map[string]autorebootv1alpha1.LabelValue{"workloads.apps.acme.com/webapp": "web"}))
		Expect(apierrors.IsForbidden(author.Delete(ctx, w.DeepCopy()))).To(BeTrue())

		By("somebody changing the ConfigWatcher")
		Patch(w, `{"spec":{"podSelector":{"workloads.apps.acme.com/webapp":"other"},"sources":[{"kind":"Secret","name":"other"}]}}`)
		Eventually(func(g Gomega) {
			g.Expect(Reload(w)).To(Succeed())
			g.Expect(w.Spec.PodSelector).To(HaveKeyWithValue("workloads.apps.acme.com/webapp", autorebootv1alpha1.LabelValue("web")))
			g.Expect(w.Spec.Sources).To(ContainElement(autorebootv1alpha1.Source{Kind: autorebootv1alpha1.SourceSecret, Name: "s"}), "what they add stays")
		}).Should(Succeed())
	})

	It("is left to somebody else's ConfigWatcher of the name", func() {
		ns := Namespace()
		a := webApp(ns, func(s *v1alpha1.WebAppSpec) {
			s.RestartOnChange, s.EnvFrom = true, []corev1.EnvFromSource{fromSecret("s")}
		})
		theirs := watcherOf(a)
		theirs.Spec = autorebootv1alpha1.ConfigWatcherSpec{ConfigMap: "c", PodSelector: map[string]autorebootv1alpha1.LabelValue{"a": "b"}}
		Create(theirs)
		Create(a)
		Eventually(Ready(a)).Should(Equal("False NameTaken"))
		Expect(Message(a, "Composed")).To(ContainSubstring("ConfigWatcher " + ns + "/web-webapp"))
		live(deploymentOf(a))
		Expect(live(theirs).Spec.ConfigMap).To(Equal("c"))
	})

	It("says when there is more than can be watched", func() {
		ns := Namespace()
		a := Create(webApp(ns, func(s *v1alpha1.WebAppSpec) {
			s.RestartOnChange = true
			for i := range 33 {
				s.EnvFrom = append(s.EnvFrom, fromSecret(fmt.Sprint("s", i)))
			}
		}))
		roll(a)
		Eventually(Ready(a)).Should(Equal("False TooManySources"))
		Expect(Message(a, "UpToDate")).To(ContainSubstring("from 33 ConfigMaps and Secrets"))
		Expect(live(watcherOf(a)).Spec.Sources).To(HaveLen(32))
	})
})

var _ = Describe("A database", Ordered, func() {
	BeforeAll(func() { StartOperator() })
	withDatabase := func(s *v1alpha1.WebAppSpec) { s.DatabaseSecretRef = &v1alpha1.DatabaseSecretReference{Name: "db"} }
	waiting := "False WaitingForDatabase"

	It("is waited for before anything of the application starts", func() {
		ns := Namespace()
		a := Create(webApp(ns, withDatabase, func(s *v1alpha1.WebAppSpec) { s.Migration = &v1alpha1.Migration{Command: []string{"migrate"}} }))
		Eventually(Ready(a)).Should(Equal(waiting))
		Expect(Message(a, "DatabaseReady")).To(ContainSubstring("the Secret db does not exist"))
		Expect(Condition(a, "Composed")()).To(Equal("True Done"))
		live(&corev1.Service{ObjectMeta: meta(a)})

		s := databaseSecret(ns, password)
		delete(s.StringData, "uri")
		Create(s)
		Eventually(func() string { Expect(Reload(a)).To(Succeed()); return Message(a, "DatabaseReady") }).Should(ContainSubstring(`the Secret db has no key "uri"`))
		jobs := &batchv1.JobList{}
		Expect(Admin.List(ctx, jobs, client.InNamespace(ns))).To(Succeed())
		Expect(jobs.Items).To(BeEmpty())
		Expect(client.IgnoreNotFound(Reload(deploymentOf(a)))).To(Succeed())
		Expect(deploymentOf(a).UID).To(BeEmpty())

		set(s, "uri", "postgres://app:"+password+"@db")
		Eventually(Ready(a)).Should(Equal("False Migrating"))
		Expect(Condition(a, "DatabaseReady")()).To(Equal("True Done"))
		Expect(Admin.List(ctx, jobs, client.InNamespace(ns))).To(Succeed())
		Expect(jobs.Items[0].Spec.Template.Spec.Containers[0].Env).To(HaveLen(6))
		endMigrations(ns, 1)
		roll(a)
		address(a)
		AwaitReady(a)
		Expect(live(deploymentOf(a)).Spec.Template.Spec.Containers[0].Env[5].Name).To(Equal("DATABASE_URL"))
	})

	It("rolls the pods once for a new password, and tells nobody of it", func() {
		ns := Namespace()
		s := Create(databaseSecret(ns, "first-"+password))
		a := serving(webApp(ns, withDatabase))
		w := AwaitReady(atOnce(a))
		rolled := rollouts(a)
		Change(s, func(s *corev1.Secret) { s.StringData = databaseSecret(ns, "second-"+password).StringData })
		Eventually(rolled).Should(Equal(int64(1)))
		roll(a)
		AwaitReady(a)
		set(s, "ca.crt", "a new certificate, which is none of the variables")
		Poke(a)
		Consistently(rolled, "700ms").Should(Equal(int64(1)))

		events := &eventsv1.EventList{}
		Expect(Admin.List(ctx, events, client.InNamespace(ns))).To(Succeed())
		for _, o := range []any{live(a), live(w), live(deploymentOf(a)), events} {
			text, err := json.Marshal(o)
			Expect(err).NotTo(HaveOccurred())
			Expect(string(text)).NotTo(ContainSubstring(password))
		}
	})

	It("that vanishes stops nothing that serves, and holds what is new back", func() {
		ns := Namespace()
		s := Create(databaseSecret(ns, password))
		a := serving(webApp(ns, withDatabase))
		w := AwaitReady(atOnce(a))
		rolled := rollouts(a)
		Remove(s)
		Eventually(Ready(a)).Should(Equal(waiting))
		Expect(Message(a, "DatabaseReady")).To(ContainSubstring("those that serve continue"))
		Change(a, func(a *v1alpha1.WebApp) { a.Spec.WebAppImage += ".1" })
		AwaitRun(a)
		Consistently(rolled, "700ms").Should(BeZero())
		Expect(live(w).UID).NotTo(BeEmpty())

		Create(databaseSecret(ns, password))
		Eventually(rolled).Should(Equal(int64(1)), "the new image")
		roll(a)
		AwaitReady(a)
		Consistently(rolled, "700ms").Should(Equal(int64(1)), "it is the same as before")
	})
})

var _ = Describe("An external name", Ordered, func() {
	BeforeAll(func() { StartOperator() })
	published := func(host, external string) *v1alpha1.WebApp {
		return Create(webApp(Namespace(), func(s *v1alpha1.WebAppSpec) {
			s.WebAppHostname, s.Publish = host, &v1alpha1.Publish{ExternalName: &external}
		}))
	}

	It("is served and published by external-dns, and rolls no pod", func() {
		a := serving(webApp(Namespace()))
		rolled := rollouts(a)
		name := "www." + a.Spec.WebAppHostname
		Change(a, func(a *v1alpha1.WebApp) { a.Spec.Publish = &v1alpha1.Publish{ExternalName: &name} })
		composed(a)
		ingress := live(ingressOf(a))
		Expect(ingress.Spec.Rules).To(HaveLen(2))
		Expect(ingress.Spec.Rules[1].Host).To(Equal(name))
		Expect(ingress.Annotations).To(And(HaveKeyWithValue("external-dns.alpha.kubernetes.io/hostname", name), HaveKeyWithValue("external-dns.kubernetes.io/hostname", name)))
		Expect(a.Status.Claims).To(Equal([]string{a.Spec.WebAppHostname + "/", name + "/"}))
		Change(a, func(a *v1alpha1.WebApp) { a.Spec.Publish = nil })
		composed(a)
		ingress = live(ingressOf(a))
		Expect(ingress.Spec.Rules).To(HaveLen(1))
		Expect(ingress.Annotations).NotTo(HaveKey(ContainSubstring("external-dns")))
		Expect(rolled()).To(BeZero())
	})

	It("belongs to one WebApp of the cluster, like a host name", func() {
		first := composed(published("pub-one.acme.com", "pub-www.acme.com"))
		second := composed(Create(webApp(Namespace(), func(s *v1alpha1.WebAppSpec) { s.WebAppHostname = "pub-two.acme.com" })))
		Change(second, func(a *v1alpha1.WebApp) { a.Spec.Publish = &v1alpha1.Publish{ExternalName: new("pub-www.acme.com")} })
		Eventually(Condition(second, "Admitted")).Should(Equal("False HostnameTaken"))
		Expect(Message(second, "Admitted")).To(And(ContainSubstring(`"pub-www.acme.com"`), Not(ContainSubstring(first.Namespace))))
		Expect(second.Status.Claims).To(Equal([]string{"pub-two.acme.com/"}))
		Expect(second.Status.URL).To(Equal("http://pub-two.acme.com/"))
		Consistently(func() error { return Reload(ingressOf(second)) }, "500ms").Should(Succeed(), "its own host name is served")

		By("another one asking that is younger, by the seconds that are recorded")
		Eventually(func() time.Time { return time.Now().Truncate(time.Second) }).Should(BeTemporally(">", second.CreationTimestamp.Time))
		third := published("pub-www.acme.com", "pub-three.acme.com")
		Eventually(Ready(third)).Should(Equal("False HostnameTaken"))
		Expect(Reload(ingressOf(third))).NotTo(Succeed())
		Expect(third.Status.Claims).To(Equal([]string{"pub-three.acme.com/"}), "what it may have is its own")
		Remove(first)
		composed(second)
		Eventually(Ready(third)).Should(Equal("False HostnameTaken"))
		Change(second, func(a *v1alpha1.WebApp) { a.Spec.Publish = nil })
		composed(third)
	})
})
