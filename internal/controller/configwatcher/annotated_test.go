// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package configwatcher_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

const (
	annotationPaused = "platform.acme.com/paused"
	annotationStatus = "autoreboot.acme.com/status"
)

// annotatedMap is a ConfigMap that asks for restarts of app=webapp.
func annotatedMap(ns string) *corev1.ConfigMap {
	cm := configMap(ns, "config", "k", "v")
	cm.Annotations = map[string]string{annotationSelector: "app=webapp"}
	return cm
}

var _ = Describe("The annotation on a ConfigMap or a Secret", Ordered, func() {
	var (
		ns string
		op *Operator
	)

	BeforeAll(func() { op = StartOperator() })
	BeforeEach(func() { ns = Namespace() })

	It("makes a ConfigWatcher that belongs to the object and restarts", func() {
		d := Create(deployment(ns, "d", "webapp"))
		cm := Create(annotatedMap(ns))
		Eventually(noted(cm)).Should(Equal("True Ready 0"))
		w := watcherOf(cm)
		Expect(Reload(w)).To(Succeed())
		Expect(metav1.IsControlledBy(w, cm)).To(BeTrue())
		set(cm, "k", "w")
		Eventually(noted(cm)).Should(Equal("True Ready 1"))
		Expect(marks(d)).To(HaveKey("autoreboot.acme.com/configwatcher.config-configmap"))
		Expect(templates(d)()).To(Equal(int64(2)))
		Expect(Reload(cm)).To(Succeed())
		Expect(cm.Annotations).To(HaveLen(1), "nothing is written into the object")

		By("changing it while the operator is away")
		op.Stop()
		set(cm, "k", "x")
		op.Start()
		Eventually(noted(cm)).Should(Equal("True Ready 2"))
		Expect(templates(d)()).To(Equal(int64(3)))
		label(cm)
		op.Stop()
		op.Wire.Forget()
		op.Start()
		Consistently(func() []testenv.Write { return op.Wire.Writes(func(w testenv.Write) bool { return w.For(ns) }) }).Should(BeEmpty())
	})

	It("works on Secrets and shows nothing of them", func() {
		d := Create(deployment(ns, "d", "webapp"))
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "s", Annotations: map[string]string{annotationSelector: "app=webapp"}}}
		secret.StringData = map[string]string{"password": "canary-1"}
		Create(secret)
		Eventually(noted(secret)).Should(Equal("True Ready 0"))
		Change(secret, func(o *corev1.Secret) { o.Data["password"] = []byte("canary-2") })
		Eventually(noted(secret)).Should(Equal("True Ready 1"))
		Expect(templates(d)()).To(Equal(int64(2)))
		w := watcherOf(secret)
		Expect(Reload(w)).To(Succeed())
		Expect(fmt.Sprint(secret.Annotations, d, w)).NotTo(ContainSubstring("canary"))
		Eventually(EventsOf(w)).Should(ContainElement("Normal Restarting: Secret/s: password changed"))
	})

	It("follows the annotation, and goes with it", func() {
		cm := Create(annotatedMap(ns))
		Eventually(noted(cm)).Should(Equal("True Ready 0"))
		Change(cm, func(o *corev1.ConfigMap) { o.Annotations[annotationSelector] = "tier=front" })
		selector := func() map[string]string {
			w := watcherOf(cm)
			Expect(Reload(w)).To(Succeed())
			return w.Selector()
		}
		Eventually(selector).Should(Equal(map[string]string{"tier": "front"}))

		By("changing the ConfigWatcher: what it has from the object is restored, its policy stays")
		w := watcherOf(cm)
		Change(w, func(w *v1alpha1.ConfigWatcher) {
			w.Spec.PodSelector, w.Spec.ConfigMap = map[string]v1alpha1.LabelValue{"app": "other"}, "other"
			w.Spec.Restart.MaxPerHour = 7
		})
		Eventually(selector).Should(Equal(map[string]string{"tier": "front"}))
		Expect(Reload(w)).To(Succeed())
		Expect(w.Spec.ConfigMap).To(BeEmpty())
		Expect(w.Spec.Restart.MaxPerHour).To(Equal(int32(7)))

		By("deleting the ConfigWatcher")
		Remove(w)
		Eventually(noted(cm)).Should(Equal("True Ready 0"))

		By("taking the annotation off")
		Change(cm, func(o *corev1.ConfigMap) { delete(o.Annotations, annotationSelector) })
		Eventually(noted(cm)).Should(Equal("none"))
	})

	It("does nothing while the object is paused", func() {
		d := Create(deployment(ns, "d", "webapp"))
		cm := Create(annotatedMap(ns))
		Eventually(noted(cm)).Should(Equal("True Ready 0"))
		w := watcherOf(cm)
		Change(cm, func(o *corev1.ConfigMap) { o.Annotations[annotationPaused] = "true" })
		Eventually(Condition(w, "Paused")).Should(Equal("True PausedByAnnotation"))
		set(cm, "k", "w")
		Change(cm, func(o *corev1.ConfigMap) { o.Labels = map[string]string{"a": "b"} })
		Consistently(templates(d)).Should(Equal(int64(1)))
		Change(cm, func(o *corev1.ConfigMap) { delete(o.Annotations, annotationPaused) })
		Eventually(noted(cm)).Should(Equal("True Ready 1"))
		Expect(templates(d)()).To(Equal(int64(2)))
	})

	It("touches no ConfigWatcher of somebody else, and says so", func() {
		cm := annotatedMap(ns)
		theirs := Create(watcher(ns, "config-configmap", "theirs"))
		Create(cm)
		Eventually(EventsOf(cm)).Should(ContainElement(HavePrefix("Warning NameTaken: the ConfigWatcher config-configmap exists")))
		Expect(Reload(theirs)).To(Succeed())
		Expect(theirs.Selector()).To(Equal(map[string]string{"app": "theirs"}))
		Change(cm, func(o *corev1.ConfigMap) { delete(o.Annotations, annotationSelector) })
		Consistently(func() error { return Reload(theirs) }).Should(Succeed())
	})

	It("restarts for an object that is deleted and created again with other content", func() {
		d := Create(deployment(ns, "d", "webapp"))
		cm := Create(annotatedMap(ns))
		Eventually(noted(cm)).Should(Equal("True Ready 0"))
		again := func(value string) {
			was := watcherOf(cm)
			Expect(Reload(was)).To(Succeed())
			Remove(cm)
			next := annotatedMap(ns)
			next.Data["k"] = value
			cm = Create(next)
			err := Admin.Delete(ctx, was, client.Preconditions{UID: &was.UID}) // as Kubernetes does, if it has not yet
			Expect(err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
			Eventually(func() bool {
				is := watcherOf(cm)
				return Reload(is) == nil && metav1.IsControlledBy(is, cm)
			}).Should(BeTrue())
		}
		again("w")
		Eventually(noted(cm)).Should(Equal("True Ready 1"))
		Expect(templates(d)()).To(Equal(int64(2)))

		By("creating it again with the same content")
		again("w")
		Eventually(noted(cm)).Should(Equal("True Ready 0"))
		Expect(templates(d)()).To(Equal(int64(2)))

		By("creating it again while a restart waits")
		w := watcherOf(cm)
		Expect(Reload(w)).To(Succeed())
		Change(w, func(w *v1alpha1.ConfigWatcher) { w.Spec.Restart.Debounce = at(time.Hour) })
		set(cm, "k", "x")
		Eventually(noted(cm)).Should(Equal("pending"))
		again("x")
		Eventually(noted(cm)).Should(Equal("True Ready 1"))
		Expect(templates(d)()).To(Equal(int64(3)))

		By("turning the annotation off, and on with other content, which is a new baseline")
		Change(cm, func(o *corev1.ConfigMap) { delete(o.Annotations, annotationSelector) })
		Eventually(noted(cm)).Should(Equal("none"))
		Change(cm, func(o *corev1.ConfigMap) {
			o.Annotations = map[string]string{annotationSelector: "app=webapp"}
			o.Data["k"] = "y"
		})
		Eventually(noted(cm)).Should(Equal("True Ready 0"))
		Expect(templates(d)()).To(Equal(int64(3)))
	})

	DescribeTable("takes no forged record that no status can hold", func(observed map[string]any) {
		cm := annotatedMap(ns)
		Create(cm)
		Eventually(noted(cm)).Should(Equal("True Ready 0"))
		w := watcherOf(cm)
		Expect(Reload(w)).To(Succeed())
		observed["source"] = "ConfigMap/config"
		text, err := json.Marshal(map[string]any{"uid": cm.UID, "keyID": w.Status.KeyID, "observed": []any{observed}})
		Expect(err).NotTo(HaveOccurred())
		Change(cm, func(o *corev1.ConfigMap) { o.Annotations[annotationStatus] = string(text) })
		was := w.UID
		Remove(w)
		Eventually(func() types.UID {
			is := watcherOf(cm)
			Expect(client.IgnoreNotFound(Reload(is))).To(Succeed())
			return is.UID
		}).ShouldNot(Or(BeEmpty(), Equal(was)))
		Eventually(noted(cm)).Should(Equal("True Ready 0"))
	},
		Entry("no hash", map[string]any{"hash": ""}),
		Entry("a long hash", map[string]any{"hash": strings.Repeat("a", 50_000)}),
		Entry("a long key", map[string]any{"hash": strings.Repeat("a", 32), "keys": map[string]string{strings.Repeat("k", 50_000): strings.Repeat("a", 16)}}),
		Entry("the long hash of a key", map[string]any{"hash": strings.Repeat("a", 32), "keys": map[string]string{"k": strings.Repeat("a", 50_000)}}),
	)

	It("trusts nothing that others can write: forged status restarts and removes nothing", func() {
		p := runningPod(ownedPod(ns, "p", "webapp"))
		d := Create(deployment(ns, "d", "webapp"))
		cm := Create(configMap(ns, "config", "k", "v"))
		forged := map[string]any{
			"uid": cm.UID, "ready": "True", "restarts": 99, "recent": []string{},
			"pending": map[string]any{"mark": "m", "started": true, "podsListed": true, "pods": []any{p.UID}, "since": "2026-01-01T00:00:00.000000Z", "changed": "2026-01-01T00:00:00.000000Z"},
		}
		text, err := json.Marshal(forged)
		Expect(err).NotTo(HaveOccurred())
		Change(cm, func(o *corev1.ConfigMap) {
			o.Annotations = map[string]string{annotationSelector: "app=webapp", annotationStatus: string(text)}
		})
		Eventually(noted(cm)).Should(Equal("True Ready 0"))
		Consistently(func() string { return fmt.Sprintf("%s %v %d", noted(cm)(), away(p)(), templates(d)()) }).Should(Equal("True Ready 0 false 1"))
	})

	DescribeTable("is reported when it selects nothing that can be meant", func(value string) {
		cm := configMap(ns, "config", "k", "v")
		cm.Annotations = map[string]string{annotationSelector: value}
		Create(cm)
		Eventually(EventsOf(cm)).Should(ContainElement(HavePrefix("Warning InvalidSelector: the annotation autoreboot.acme.com/podSelector ")))
		Expect(noted(cm)()).To(Equal("none"))
		Change(cm, func(o *corev1.ConfigMap) { o.Annotations[annotationSelector] = "app=webapp" })
		Eventually(noted(cm)).Should(Equal("True Ready 0"))
	},
		Entry("empty", ""),
		Entry("no label", "webapp"),
		Entry("longer than an event may be", strings.Repeat("a", 5000)),
		Entry("no value that a label may have", "app=a b"),
		Entry("something long", "app="+strings.Repeat("a", 64)),
	)

	It("does nothing in protected namespaces", func() {
		cm := configMap("kube-system", "annotated", "k", "v")
		cm.Annotations = map[string]string{annotationSelector: "app=webapp"}
		Create(cm)
		DeferCleanup(func() {
			Remove(cm)
			Expect(client.IgnoreNotFound(Admin.Delete(ctx, watcherOf(cm)))).To(Succeed()) // unless the garbage collector was faster
		})
		Eventually(noted(cm)).Should(Equal("False ProtectedNamespace 0"))
	})
})

var _ = Describe("The switch for annotations", func() {
	It("turns them off", func() {
		StartOperator(Configured("configWatcher: {annotations: Disabled}"))
		ns := Namespace()
		cm := Create(annotatedMap(ns))
		watching(watcher(ns, "w", "web")) // which has seen the same ConfigMap
		Consistently(noted(cm)).Should(Equal("none"))
	})
})
