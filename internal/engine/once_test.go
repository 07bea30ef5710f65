// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// aJob is a child that is made once.
func aJob(namespace, image string) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "once", Namespace: namespace}, Spec: batchv1.JobSpec{
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: image}},
		}},
	}}
}

var _ = Describe("A child that is created once", func() {
	cfg := engine.Config[*Widget]{Owns: []client.Object{&batchv1.Job{}}}
	var made atomic.Int32
	making := script[*Widget](func(s engine.Scope[*Widget]) []engine.Step {
		return []engine.Step{{Condition: "Made", Run: func(ctx context.Context) (engine.Outcome, error) {
			created, out, err := s.CreateOnce(ctx, aJob(s.Obj.Namespace, s.Obj.Spec.Value))
			if created {
				made.Add(1)
			}
			return out, err
		}}}
	})
	BeforeEach(func() { made.Store(0) })
	live := func(w *Widget) *batchv1.Job {
		GinkgoHelper()
		j := &batchv1.Job{}
		Expect(Admin.Get(context.Background(), client.ObjectKey{Namespace: w.Namespace, Name: "once"}, j)).To(Succeed())
		return j
	}

	It("is created with the marks of ownership, and found by every later run", func() {
		w := widget(func(w *Widget) { w.Spec.Value = "one" })
		start(widgets(making, cfg))
		AwaitReady(w)
		first := live(w)
		Expect(first.Labels).To(HaveKeyWithValue(names.LabelOwnerUID, string(w.UID)))
		Expect(metav1.IsControlledBy(first, w)).To(BeTrue())

		Patch(w, `{"spec":{"value":"two"}}`)
		AwaitRun(w)
		Expect(live(w).ResourceVersion).To(Equal(first.ResourceVersion), "it is left as it was made")
		Expect(made.Load()).To(BeEquivalentTo(1))
	})

	It("is created once by two operators that overlap", func() {
		start(widgets(making, cfg))
		start(widgets(making, cfg))
		w := widget(func(w *Widget) { w.Spec.Value = "one" })
		AwaitReady(w)
		Poke(w)
		Expect(live(w).UID).NotTo(BeEmpty())
		Consistently(made.Load).Should(BeEquivalentTo(1))
	})

	It("is seen by the next run, however late the cache is", func() {
		late := &lateWatch{of: "/jobs"}
		single := script[*Widget](func(s engine.Scope[*Widget]) []engine.Step {
			return []engine.Step{{Condition: "Made", Run: func(ctx context.Context) (engine.Outcome, error) {
				there := 0
				err := s.EachOwned(ctx, func(client.Object) error { there++; return nil })
				if err != nil || there > 0 || s.Obj.Spec.Value == "" {
					return engine.Done(), err
				}
				j := aJob(s.Obj.Namespace, "i")
				j.Name = s.Obj.Spec.Value
				_, out, err := s.CreateOnce(ctx, j)
				return out, err
			}}}
		})
		start(widgets(single, cfg), late.use)
		w := widget()
		AwaitReady(w)
		late.Lock()
		unlock := sync.OnceFunc(late.Unlock)
		DeferCleanup(unlock)
		jobs := func() (all []string) {
			list := &batchv1.JobList{}
			Expect(Admin.List(context.Background(), list, client.InNamespace(w.Namespace))).To(Succeed())
			for _, j := range list.Items {
				all = append(all, j.Name)
			}
			return all
		}
		Patch(w, `{"spec":{"value":"one"}}`)
		Eventually(jobs).Should(ConsistOf("one"))
		Patch(w, `{"spec":{"value":"two"}}`)
		Consistently(jobs).Should(ConsistOf("one"))
		unlock()
		AwaitRun(w)
		Expect(jobs()).To(ConsistOf("one"))
	})

	It("is not taken from another owner", func() {
		w := widget(func(w *Widget) { w.Spec.Value = "one" })
		foreign := aJob(w.Namespace, "theirs")
		Create(foreign)
		start(widgets(making, cfg))
		Eventually(Ready(w)).Should(Equal("False NameTaken"))
		Expect(live(w).ResourceVersion).To(Equal(foreign.ResourceVersion))
		Expect(made.Load()).To(BeZero())
	})

	It("waits for that of a former owner of the same name, which is deleted with it", func() {
		w := widget(func(w *Widget) { w.Spec.Value = "one" })
		former := aJob(w.Namespace, "former")
		gvk, err := Admin.GroupVersionKindFor(w)
		Expect(err).NotTo(HaveOccurred())
		former.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(w, gvk)}
		former.OwnerReferences[0].UID = "11111111-1111-1111-1111-111111111111"
		Create(former)
		start(widgets(making, cfg))
		Eventually(Ready(w)).Should(Equal("False ChildTerminating"))
		Expect(live(w).UID).To(Equal(former.UID))

		Expect(Admin.Delete(context.Background(), former, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		Poke(w)
		AwaitReady(w)
		Expect(metav1.IsControlledBy(live(w), w)).To(BeTrue())
	})

	It("is discarded, and one that is gone already is not an error", func() {
		w := widget(func(w *Widget) { w.Spec.Value = "one" })
		var discard atomic.Bool
		kind := script[*Widget](func(s engine.Scope[*Widget]) []engine.Step {
			return []engine.Step{{Condition: "Made", Run: func(ctx context.Context) (engine.Outcome, error) {
				if !discard.Load() {
					_, out, err := s.CreateOnce(ctx, aJob(s.Obj.Namespace, "one"))
					return out, err
				}
				err := s.EachOwned(ctx, func(o client.Object) error {
					gone := o.DeepCopyObject().(client.Object)
					if err := s.Discard(ctx, gone, metav1.DeletePropagationBackground); err != nil {
						return err
					}
					return s.Discard(ctx, gone, metav1.DeletePropagationBackground)
				})
				return engine.Done().Saying("discarded"), err
			}}}
		})
		start(widgets(kind, cfg))
		AwaitReady(w)
		j := live(w)
		discard.Store(true)
		Poke(w)
		Eventually(Gone(j)).Should(Succeed())
		Eventually(conditions(w)).Should(ContainElement("Made=True Done: discarded"))
	})
})
