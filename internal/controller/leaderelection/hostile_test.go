// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/coordination/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// at is a clock that stands still until it is set.
func at(c *clocktesting.FakePassiveClock) func(*operator.Options) {
	return func(o *operator.Options) { o.Clock = c }
}

// refused makes the API server reject writes to a pod, as an admission policy of a tenant does.
func refused(op *Operator, method, pod string) *testenv.Injected {
	return op.Wire.Inject(testenv.Fault{Status: http.StatusForbidden, Match: func(w testenv.Write) bool {
		return w.Method == method && strings.HasSuffix(w.Path, "/pods/"+pod)
	}})
}

func stops(e *v1alpha1.LeaderElection) { e.Spec.Handover.StopOld = v1alpha1.StopDelete }

var _ = Describe("What may go wrong with an election", func() {
	It("hands over between 120 candidates", func() {
		StartOperator()
		e := election()
		for i := range 120 {
			pod(e.Namespace, fmt.Sprintf("ledger-%03d", i))
		}
		AwaitReady(Create(e))
		Eventually(func() int32 { _ = Reload(e); return e.Status.ReadyCandidates }).Should(BeEquivalentTo(120))
		Eventually(routed(e, "ledger-leader")).Should(Equal([]string{"ledger-000"}))
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: "ledger-000"}}
		SetPodReady(p, false)
		Eventually(leader(e)).Should(Equal("ledger-001 2"))
	})

	It("takes no text from a Lease that somebody else has written", func() {
		StartOperator()
		e := election()
		pod(e.Namespace, "ledger-0")
		AwaitReady(Create(e))
		forged := strings.Repeat("forged", 1000)
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: "ledger-leader"}}
		Expect(Reload(lease)).To(Succeed())
		Patch(lease, fmt.Sprintf(`{"metadata":{"annotations":{"%s":"{\"reason\":\"%s\",\"from\":\"%s/uid\",\"request\":\"%[2]s\"}"}},"spec":{"leaseTransitions":7}}`,
			names.AnnotationLast, forged, forged))
		Eventually(leader(e)).Should(Equal("ledger-0 7"))
		Expect(e.Status.History[0]).To(And(HaveField("Epoch", BeEquivalentTo(7)), HaveField("Reason", BeEmpty()), HaveField("From", BeEmpty())))
		Expect(Metric("platform_operator_leaderelection_hand_overs_total", forged)).To(BeZero())
		Expect(Metric("platform_operator_leaderelection_hand_overs_total", "Other")).To(BeNumerically(">=", 1))
	})

	It("knows the zones before the first leader is chosen", func() {
		StartOperator()
		e := election(func(e *v1alpha1.LeaderElection) {
			e.Spec.Preferred = []v1alpha1.Preference{{Weight: 1, Zone: "zone-b"}}
		})
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-2", Labels: map[string]string{corev1.LabelTopologyZone: "zone-b"}}}
		Expect(client.IgnoreAlreadyExists(Admin.Create(ctx, n))).To(Succeed())
		pod(e.Namespace, "ledger-0")
		pod(e.Namespace, "ledger-1", func(p *corev1.Pod) { p.Spec.NodeName = "node-2" })
		AwaitReady(Create(e))
		Expect(leader(e)()).To(Equal("ledger-1 1"))
	})

	It("hands over although a Service cannot be as wanted", func() {
		StartOperator()
		e := election()
		p := pod(e.Namespace, "ledger-0")
		pod(e.Namespace, "ledger-1")
		AwaitReady(Create(e))
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: "ledger-leader"}}
		Patch(svc, `{"metadata":{"finalizers":["example.com/load-balancer"]}}`)
		DeferCleanup(func() { Patch(svc, `{"metadata":{"finalizers":null}}`) })
		Remove(svc)
		Eventually(Ready(e)).Should(Equal("False ChildTerminating"))
		kill(p)
		Eventually(labelled(e.Namespace)).Should(Equal([]string{"ledger-1"}))
		Eventually(leader(e)).Should(Equal("ledger-1 2"))
		Expect(Ready(e)()).To(Equal("False ChildTerminating"))
	})

	It("does not make two Services of one name", func() {
		op := StartOperator()
		e := election(func(e *v1alpha1.LeaderElection) { e.Spec.Service.Name = "ledger-members" })
		pod(e.Namespace, "ledger-0")
		Create(e)
		Eventually(Ready(e)).Should(Equal("False NameTaken"))
		Expect(Message(e, "Accepted")).To(ContainSubstring("spec.service.name"))
		Expect(op.Wire.Writes(func(w testenv.Write) bool { return strings.HasPrefix(w.Path, "namespaces/"+e.Namespace+"/services") })).To(BeEmpty())
	})

	It("goes by what a pod can serve, whatever its Service publishes", func() {
		StartOperator()
		e := election()
		p := pod(e.Namespace, "ledger-0")
		pod(e.Namespace, "ledger-1")
		AwaitReady(Create(e))
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: "ledger-members"}}
		Patch(svc, `{"spec":{"publishNotReadyAddresses":true}}`)
		SetPodReady(p, false)
		Eventually(leader(e)).Should(Equal("ledger-1 2"))
	})

	It("counts from when it has seen that the leader is not Ready, if the node's clock is ahead", func() {
		StartOperator()
		e := election(func(e *v1alpha1.LeaderElection) {
			e.Spec.Handover.NotReadyFor = &metav1.Duration{Duration: time.Second}
		})
		p := pod(e.Namespace, "ledger-0")
		pod(e.Namespace, "ledger-1")
		AwaitReady(Create(e))
		Expect(Reload(p)).To(Succeed())
		p.Status.Conditions[0].Status, p.Status.Conditions[0].LastTransitionTime = corev1.ConditionFalse, metav1.NewTime(time.Now().Add(time.Hour))
		Expect(Admin.Status().Update(ctx, p)).To(Succeed())
		Eventually(leader(e)).Should(Equal("ledger-1 2"))
	})

	It("takes off at once what somebody has put on all pods", func() {
		op := StartOperator()
		e := election()
		for i := range 30 {
			pod(e.Namespace, fmt.Sprintf("ledger-%02d", i))
		}
		AwaitReady(Create(e))
		Eventually(routed(e, "ledger-leader")).Should(HaveLen(1))
		op.Stop()
		Expect(Admin.DeleteAllOf(ctx, &corev1.Event{}, client.InNamespace(e.Namespace))).To(Succeed())
		list := &corev1.PodList{}
		Expect(Admin.List(ctx, list, client.InNamespace(e.Namespace))).To(Succeed())
		for i := range list.Items {
			Patch(&list.Items[i], `{"metadata":{"labels":{"leader":"true"}}}`)
		}
		op.Wire.Forget()
		op.Start()
		Eventually(labelled(e.Namespace)).Should(Equal([]string{"ledger-00"}))
		lists := slices.DeleteFunc(op.Wire.Reads(), func(path string) bool { return !strings.HasPrefix(path, "namespaces/"+e.Namespace+"/pods?") })
		Expect(len(lists)).To(And(BeNumerically(">", 0), BeNumerically("<", 30)), "pages of candidates")
	})

	It("stays without a leader while more than 1,000 pods match", func() {
		StartOperator()
		e := election()
		all := func(do func(*corev1.Pod)) {
			work := make(chan string)
			done := make(chan struct{})
			for range 8 {
				go func() {
					defer GinkgoRecover()
					for name := range work {
						p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: name, Labels: map[string]string{"app": "ledger"}}}
						p.Spec.Containers = []corev1.Container{{Name: "main", Image: "registry.acme.com/ledger"}}
						do(p)
					}
					done <- struct{}{}
				}()
			}
			for i := range 1002 {
				work <- fmt.Sprintf("ledger-%04d", i)
			}
			close(work)
			for range 8 {
				<-done
			}
		}
		all(func(p *corev1.Pod) { Expect(Admin.Create(ctx, p)).To(Succeed()) })
		Create(e)
		Eventually(Ready(e)).Should(Equal("False TooMany"))
		Expect(Message(e, "Elected")).To(ContainSubstring("more than 1000 pods match spec.podSelector; add a label that only the candidates have"))
		Expect(labelled(e.Namespace)()).To(BeEmpty())
		all(func(p *corev1.Pod) { Expect(Admin.Delete(ctx, p, client.GracePeriodSeconds(0))).To(Succeed()) })
		pod(e.Namespace, "ledger-0")
		Eventually(leader(e)).Should(Equal("ledger-0 1"))
	})

	It("says that the label is rejected, and what to do", func() {
		op := StartOperator()
		e := election()
		p := pod(e.Namespace, "ledger-0")
		pod(e.Namespace, "ledger-1")
		AwaitReady(Create(e))
		fault := refused(op, http.MethodPatch, "ledger-1")
		kill(p)
		Eventually(Ready(e)).Should(Equal("False LabelRefused"))
		Expect(Message(e, "Elected")).To(And(ContainSubstring("of the pod ledger-1"), ContainSubstring("Let the admission policy or webhook that rejects it admit it")))
		Expect(leader(e)()).To(HavePrefix("none"))
		Eventually(files(e)).Should(HaveKeyWithValue("leader", ""))
		fault.Heal()
		Poke(e)
		Eventually(leader(e)).Should(Equal("ledger-1 2"))
	})

	It("does not say that a pod leads which has been revoked, and cannot be deleted", func() {
		op := StartOperator()
		e := election(stops)
		p := pod(e.Namespace, "ledger-0")
		pod(e.Namespace, "ledger-1")
		AwaitReady(Create(e))
		fault := refused(op, http.MethodDelete, "ledger-0")
		SetPodReady(p, false)
		Eventually(Ready(e)).Should(Equal("False Forbidden"))
		Expect(leader(e)()).To(Equal("none"))
		Expect(labelled(e.Namespace)()).To(BeEmpty())
		fault.Heal()
		Poke(e)
		Eventually(Ready(e)).Should(Equal("False OldStillStopping"))
	})
})

var _ = Describe("The end of the old leader", func() {
	It("is awaited also when the ledger is lost, and cannot be rebuilt at once", func() {
		op := StartOperator()
		e := election(stops)
		a := pod(e.Namespace, "ledger-0")
		pod(e.Namespace, "ledger-1")
		AwaitReady(Create(e))
		fault := refused(op, http.MethodPatch, "ledger-1")
		Remove(leaseOf(e))
		Eventually(Ready(e)).Should(Equal("False LabelRefused"))
		fault.Heal()
		Poke(e)
		Eventually(Ready(e)).Should(Equal("False OldStillStopping"))
		Expect(Reload(a)).To(Succeed())
		Expect(a.DeletionTimestamp).NotTo(BeNil())
		Consistently(labelled(e.Namespace)).Should(BeEmpty())
		kill(a)
		Eventually(labelled(e.Namespace)).Should(Equal([]string{"ledger-1"}))
	})

	It("is awaited although it has lost its mark and its labels at once", func() {
		op := StartOperator()
		e := election(stops)
		a := pod(e.Namespace, "ledger-0")
		pod(e.Namespace, "ledger-1")
		AwaitReady(Create(e))
		op.Stop()
		Patch(a, `{"metadata":{"labels":null,"annotations":null}}`)
		op.Start()
		Eventually(Ready(e)).Should(Equal("False OldStillStopping"))
		kill(a)
		Eventually(leader(e)).Should(Equal("ledger-1 2"))
	})

	It("is noticed although no Service has the pod any more", func() {
		StartOperator()
		e := election(stops)
		a := pod(e.Namespace, "ledger-0", func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64(600)) })
		pod(e.Namespace, "ledger-1")
		AwaitReady(Create(e))
		Patch(a, `{"metadata":{"labels":{"app":"other"}}}`)
		Eventually(Ready(e)).Should(Equal("False OldStillStopping"))
		Eventually(routed(e, "ledger-members")).Should(Equal([]string{"ledger-1"}))
		Eventually(routed(e, "ledger-leader")).Should(BeEmpty())
		Consistently(leader(e)).Should(Equal("none"))
		kill(a)
		Eventually(leader(e)).Should(Equal("ledger-1 2"))
	})

	It("is not awaited longer than asked for, when the node is lost", func() {
		clock := clocktesting.NewFakePassiveClock(time.Now())
		StartOperator(at(clock))
		e := election(stops, func(e *v1alpha1.LeaderElection) {
			e.Spec.Handover.Unreachable, e.Spec.Handover.TakeAfter = v1alpha1.UnreachableTake, &metav1.Duration{Duration: 5 * time.Minute}
		})
		a := pod(e.Namespace, "ledger-0")
		pod(e.Namespace, "ledger-1")
		AwaitReady(Create(e))
		SetPodReady(a, false)
		clock.SetTime(time.Now().Add(time.Second))
		Poke(e)
		Eventually(Ready(e)).Should(Equal("False OldStillStopping"))
		clock.SetTime(time.Now().Add(2 * time.Minute)) // 30 s of grace, and as much overdue
		Poke(e)
		Eventually(Ready(e)).Should(Equal("False NodeUnreachable"))
		Expect(Message(e, "Elected")).To(And(ContainSubstring("its node does not confirm that"), ContainSubstring("another one leads 5m0s after that")))
		Expect(labelled(e.Namespace)()).To(BeEmpty())
		clock.SetTime(time.Now().Add(6 * time.Minute))
		Poke(e)
		Eventually(leader(e)).Should(Equal("ledger-1 2"))
		Expect(labelled(e.Namespace)()).To(Equal([]string{"ledger-1"}))
	})
})

var _ = Describe("A LeaderElection that is deleted", func() {
	It("leaves the label of another one's leader", func() {
		StartOperator()
		e := election(func(e *v1alpha1.LeaderElection) { e.Spec.Service = nil })
		pod(e.Namespace, "ledger-0")
		AwaitReady(Create(e))
		other := &v1alpha1.LeaderElection{ObjectMeta: metav1.ObjectMeta{Name: "z-second", Namespace: e.Namespace}, Spec: e.Spec}
		Create(other)
		Eventually(Ready(other)).Should(Equal("False Overlaps"))
		Remove(other)
		Eventually(Gone(other)).Should(Succeed())
		Expect(labelled(e.Namespace)()).To(Equal([]string{"ledger-0"}))
		Expect(markOf(e, "ledger-0")).To(Equal("leader 1"))
	})

	It("takes the label off a leader that it does not select any more", func() {
		op := StartOperator()
		e := election()
		pod(e.Namespace, "ledger-0")
		AwaitReady(Create(e))
		op.Stop()
		Change(e, func(e *v1alpha1.LeaderElection) { e.Spec.PodSelector = map[string]v1alpha1.LabelValue{"app": "other"} })
		Remove(e)
		op.Start()
		Eventually(Gone(e)).Should(Succeed())
		Expect(labelled(e.Namespace)()).To(BeEmpty())
	})

	It("says that the label cannot be taken off, for five minutes since the first try", func() {
		clock := clocktesting.NewFakePassiveClock(time.Now())
		op := StartOperator(at(clock))
		e := election()
		pod(e.Namespace, "ledger-0")
		AwaitReady(Create(e))
		op.Stop()
		refused(op, http.MethodPatch, "ledger-0")
		Remove(e)
		clock.SetTime(time.Now().Add(time.Hour)) // it was away for long
		op.Start()
		Eventually(Condition(e, "Cleared")).Should(Equal("False CannotClear"))
		Expect(Message(e, "Cleared")).To(And(ContainSubstring("of the pod ledger-0"), ContainSubstring(names.AnnotationSkipClearing+"=true")))
		clock.SetTime(clock.Now().Add(4 * time.Minute))
		Poke(e)
		Consistently(func() error { return Reload(e) }).Should(Succeed())
		clock.SetTime(clock.Now().Add(2 * time.Minute))
		Poke(e)
		Eventually(Gone(e)).Should(Succeed())
		Expect(labelled(e.Namespace)()).To(Equal([]string{"ledger-0"}))
	})

	It("leaves the label on request", func() {
		op := StartOperator()
		e := election()
		pod(e.Namespace, "ledger-0")
		AwaitReady(Create(e))
		refused(op, http.MethodPatch, "ledger-0")
		Remove(e)
		Eventually(Condition(e, "Cleared")).Should(Equal("False CannotClear"))
		Annotate(e, names.AnnotationSkipClearing, "true")
		Eventually(Gone(e)).Should(Succeed())
	})

	It("leaves a Lease that its successor awaits", func() {
		StartOperator()
		e := election()
		pod(e.Namespace, "ledger-0")
		lease := leaseOf(e)
		lease.Finalizers = []string{"example.com/held"}
		lease.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "LeaderElection", Name: e.Name, UID: "00000000-0000-0000-0000-000000000001", Controller: new(true),
		}}
		Create(lease)
		Create(e)
		Eventually(Ready(e)).Should(Equal("False ChildTerminating"))
		Eventually(func() error { // the garbage collector deletes it
			if err := Reload(lease); err != nil || lease.DeletionTimestamp == nil {
				return fmt.Errorf("it is not being deleted: %w", err)
			}
			lease.Finalizers = nil
			return Admin.Update(ctx, lease)
		}).Should(Succeed())
		Eventually(leader(e)).Should(Equal("ledger-0 1"))
	})
})
