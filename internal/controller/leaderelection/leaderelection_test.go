// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/coordination/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// routed gives a function that lists the pods behind the Service of the leader.
func routed(e *v1alpha1.LeaderElection, service string) func() []string {
	return func() []string {
		list := &discoveryv1.EndpointSliceList{}
		Expect(Admin.List(ctx, list, client.InNamespace(e.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service})).To(Succeed())
		all := []string{}
		for _, s := range list.Items {
			for _, x := range s.Endpoints {
				if x.Conditions.Ready != nil && *x.Conditions.Ready {
					all = append(all, x.TargetRef.Name)
				}
			}
		}
		return all
	}
}

func files(e *v1alpha1.LeaderElection) func() map[string]string {
	return func() map[string]string {
		c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: "ledger-leader"}}
		if err := Reload(c); err != nil {
			return map[string]string{"error": err.Error()}
		}
		return c.Data
	}
}

// writesFor is what an operator has written of an election, or for it: those of other specs may be under way.
func writesFor(op *Operator, e *v1alpha1.LeaderElection) []testenv.Write {
	return op.Wire.Writes(func(w testenv.Write) bool { return w.For(e.Namespace) })
}

var _ = Describe("A LeaderElection", func() {
	It("marks one pod, routes a Service to it, and publishes who it is", func() {
		StartOperator()
		e := election()
		a, b := pod(e.Namespace, "ledger-0"), pod(e.Namespace, "ledger-1")
		Create(e)
		AwaitReady(e)
		Expect(leader(e)()).To(Equal("ledger-0 1"))
		Expect(labelled(e.Namespace)()).To(Equal([]string{"ledger-0"}))
		Expect(markOf(e, "ledger-0")).To(Equal("leader 1"))
		Expect(markOf(e, "ledger-1")).To(Equal("fenced 1"))
		Eventually(routed(e, "ledger-leader")).Should(Equal([]string{"ledger-0"}))
		Expect(routed(e, "ledger-members")()).To(ConsistOf("ledger-0", "ledger-1"))
		Eventually(files(e)).Should(Equal(map[string]string{
			"leader": "ledger-0", "address": a.Status.PodIP, "epoch": "1",
			"members": fmt.Sprintf("ledger-0 %s\nledger-1 %s\n", a.Status.PodIP, b.Status.PodIP),
		}))
		Eventually(func(g Gomega) {
			g.Expect(Reload(e)).To(Succeed())
			g.Expect(e.Status.Candidates).To(BeEquivalentTo(2))
			g.Expect(e.Status.ReadyCandidates).To(BeEquivalentTo(2))
			g.Expect(e.Status.HandOvers).To(BeEquivalentTo(1))
			g.Expect(*e.Status.Leader).To(Equal(v1alpha1.Leader{
				Pod: "ledger-0", UID: a.UID, Node: node, Zone: "zone-a", Address: a.Status.PodIP, Since: e.Status.Leader.Since,
			}))
			g.Expect(e.Status.History[0].Reason).To(Equal("FirstLeader"))
		}).Should(Succeed())
		Eventually(EventsOf(e)).Should(ContainElement("Normal Elected: The pod ledger-0 leads, in epoch 1"))
	})

	It("hands over when the leader is gone, terminates, ends, is not Ready, or is not selected any more", func() {
		StartOperator()
		e := election()
		for _, name := range []string{"ledger-0", "ledger-1", "ledger-2", "ledger-3", "ledger-4", "ledger-5"} {
			pod(e.Namespace, name)
		}
		at := func(name string) *corev1.Pod {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: name}}
			Expect(Reload(p)).To(Succeed())
			return p
		}
		AwaitReady(Create(e))
		kill(at("ledger-0"))
		Eventually(leader(e)).Should(Equal("ledger-1 2"))
		Remove(at("ledger-1")) // its kubelet never confirms
		Eventually(leader(e)).Should(Equal("ledger-2 3"))
		Expect(markOf(e, "ledger-1")).To(Equal("fenced 3"))
		SetPodReady(at("ledger-2"), false)
		Eventually(leader(e)).Should(Equal("ledger-3 4"))
		Patch(at("ledger-3"), `{"metadata":{"labels":{"app":"other"}}}`)
		Eventually(leader(e)).Should(Equal("ledger-4 5"))
		Expect(markOf(e, "ledger-3")).To(Equal("fenced 5"))
		last := at("ledger-4")
		last.Status.Phase = corev1.PodFailed // the kubelet says then that it is not Ready, too: only that lets Kubernetes look at its Services
		last.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "PodFailed", LastTransitionTime: metav1.Now()}}
		Expect(Admin.Status().Update(ctx, last)).To(Succeed())
		Eventually(leader(e)).Should(Equal("ledger-5 6"))
		Expect(labelled(e.Namespace)()).To(Equal([]string{"ledger-5"}))
		Eventually(routed(e, "ledger-leader")).Should(Equal([]string{"ledger-5"}))
		var reasons []string
		for _, h := range e.Status.History {
			reasons = append(reasons, h.From+" "+h.Reason+" "+h.To)
		}
		Expect(reasons).To(Equal([]string{
			"ledger-4 PodEnded ledger-5", "ledger-3 NotSelected ledger-4", "ledger-2 NotReady ledger-3", "ledger-1 PodTerminating ledger-2",
			"ledger-0 PodGone ledger-1", " FirstLeader ledger-0",
		}))
		Eventually(EventsOf(e)).Should(ContainElement(HavePrefix("Normal HandedOver: The pod ledger-1 leads instead of ledger-0 (PodGone), in epoch 2")))
		Expect(Metric("platform_operator_leaderelection_hand_overs_total", "PodEnded")).To(BeNumerically(">=", 1))
		Expect(Metric("platform_operator_leaderelection_seconds_without_leader")).To(BeNumerically(">=", 5))
	})

	It("takes four writes for a hand-over, and one for the status", func() {
		op := StartOperator()
		e := election(func(e *v1alpha1.LeaderElection) { e.Spec.Discovery.ConfigMap = v1alpha1.Disabled })
		a := pod(e.Namespace, "ledger-0")
		pod(e.Namespace, "ledger-1")
		AwaitReady(Create(e))
		Eventually(routed(e, "ledger-leader")).Should(HaveLen(1))
		Eventually(func() (int32, error) { // the slices may show one first
			err := Reload(e)
			return e.Status.ReadyCandidates, err
		}).Should(BeEquivalentTo(2))
		op.Wire.Forget()
		SetPodReady(a, false)
		Eventually(leader(e)).Should(Equal("ledger-1 2"))
		Eventually(Ready(e)).Should(Equal("True Ready"))
		var writes []string
		for _, w := range writesFor(op, e) {
			writes = append(writes, strings.ReplaceAll(w.String(), e.Namespace, "NS"))
		}
		// How many are Ready may be a status of its own: the slices decide when that is heard of.
		Expect(slices.CompactFunc(writes, func(a, b string) bool { return a == b && strings.HasSuffix(b, "/status") })).To(Equal([]string{
			"PUT namespaces/NS/leases/ledger-leader", "PATCH namespaces/NS/pods/ledger-0", "PUT namespaces/NS/leases/ledger-leader",
			"PATCH namespaces/NS/pods/ledger-1", "PATCH namespaces/NS/leaderelections/ledger/status",
		}))
	})

	It("says that there is no candidate, and waits", func() {
		StartOperator()
		e := Create(election())
		Eventually(Ready(e)).Should(Equal("False NoCandidate"))
		Expect(Message(e, "Elected")).To(ContainSubstring("no candidate is Ready: start pods with the labels of spec.podSelector"))
		Eventually(files(e)).Should(HaveKeyWithValue("leader", ""))
		pod(e.Namespace, "ledger-0")
		Eventually(leader(e)).Should(Equal("ledger-0 1"))
		AwaitReady(e)
	})

	It("publishes that there is no leader any more", func() {
		StartOperator()
		e := election()
		p := pod(e.Namespace, "ledger-0")
		AwaitReady(Create(e))
		SetPodReady(p, false)
		Eventually(Ready(e)).Should(Equal("False NoCandidate"))
		Eventually(files(e)).Should(HaveKeyWithValue("leader", ""))
		Expect(labelled(e.Namespace)()).To(BeEmpty())
		SetPodReady(p, true)
		Eventually(leader(e)).Should(Equal("ledger-0 2"))
	})

	It("leaves a leader that is not Ready for a while", func() {
		StartOperator()
		e := election(func(e *v1alpha1.LeaderElection) { e.Spec.Handover.NotReadyFor = long() })
		p := pod(e.Namespace, "ledger-0")
		pod(e.Namespace, "ledger-1")
		AwaitReady(Create(e))
		SetPodReady(p, false)
		Eventually(Ready(e)).Should(Equal("False LeaderNotReady"))
		Expect(e.Status.Pending.Reason).To(Equal("NotReady"))
		Expect(e.Status.Pending.Due.Time).To(BeTemporally("~", time.Now().Add(10*time.Minute), time.Minute))
		Expect(labelled(e.Namespace)()).To(Equal([]string{"ledger-0"}))
		SetPodReady(p, true)
		AwaitReady(e)
		Expect(leader(e)()).To(Equal("ledger-0 1"))
	})

	It("hands over once for each request by hand", func() {
		StartOperator()
		e := election(func(e *v1alpha1.LeaderElection) {
			e.Annotations = map[string]string{names.AnnotationHandOver: "before there was a leader"}
		})
		pod(e.Namespace, "ledger-0")
		AwaitReady(Create(e))
		Annotate(e, names.AnnotationHandOver, "sam: maintenance")
		Eventually(func() string { _ = Reload(e); return fmt.Sprint(e.Status.Pending) }).Should(ContainSubstring("Requested"))
		Expect(leader(e)()).To(Equal("ledger-0 1"))
		pod(e.Namespace, "ledger-1")
		Eventually(leader(e)).Should(Equal("ledger-1 2"))
		Expect(e.Status.Request).To(Equal("sam: maintenance"))
		Poke(e)
		Consistently(leader(e)).Should(Equal("ledger-1 2"))
		Annotate(e, names.AnnotationHandOver, "sam: back")
		Eventually(leader(e)).Should(Equal("ledger-0 3"))
	})

	It("prefers some candidates, and fails back to them if asked to", func() {
		StartOperator()
		e := election(func(e *v1alpha1.LeaderElection) {
			e.Spec.Preferred = []v1alpha1.Preference{{Weight: 10, PodLabels: map[string]v1alpha1.LabelValue{"disk": "fast"}}, {Weight: 5, Zone: "zone-a"}, {Weight: 6, PodName: "ledger-2"}}
		})
		for _, name := range []string{"ledger-0", "ledger-1", "ledger-2"} {
			pod(e.Namespace, name)
		}
		AwaitReady(Create(e))
		Expect(leader(e)()).To(Equal("ledger-2 1"))
		pod(e.Namespace, "ledger-3", func(p *corev1.Pod) { p.Labels["disk"] = "fast" })
		Consistently(leader(e)).Should(Equal("ledger-2 1"))
		Change(e, func(e *v1alpha1.LeaderElection) {
			e.Spec.Failback = v1alpha1.Failback{Policy: v1alpha1.FailbackPrefer, After: long()}
		})
		Eventually(func() string { _ = Reload(e); return fmt.Sprint(e.Status.Pending) }).Should(ContainSubstring("Failback"))
		Change(e, func(e *v1alpha1.LeaderElection) { e.Spec.Failback.After = &metav1.Duration{} })
		Eventually(leader(e)).Should(Equal("ledger-3 2"))
	})

	It("repairs a label that was moved by hand, and a ledger that was deleted or emptied", func() {
		StartOperator()
		e := election()
		a, b := pod(e.Namespace, "ledger-0"), pod(e.Namespace, "ledger-1")
		AwaitReady(Create(e))
		Eventually(routed(e, "ledger-leader")).Should(Equal([]string{"ledger-0"}))
		Patch(a, `{"metadata":{"labels":{"leader":null}}}`)
		Eventually(labelled(e.Namespace)).Should(Equal([]string{"ledger-0"}))
		Patch(b, `{"metadata":{"labels":{"leader":"true"}}}`)
		Eventually(labelled(e.Namespace)).Should(Equal([]string{"ledger-0"}))
		Expect(leader(e)()).To(Equal("ledger-0 1"))
		Eventually(EventsOf(e)).Should(ContainElement(HavePrefix("Normal Repaired: "))) // the second one counts as its repetition
		Remove(leaseOf(e))
		Eventually(leader(e)).Should(Equal("ledger-0 2"))
		Patch(leaseOf(e), `{"spec":null}`)
		Eventually(leader(e)).Should(Equal("ledger-0 3"))
		Patch(leaseOf(e), `{"metadata":{"ownerReferences":null,"labels":{"app.kubernetes.io/managed-by":null}}}`)
		Poke(e)
		Eventually(func() int {
			l := leaseOf(e)
			Expect(Reload(l)).To(Succeed())
			return len(l.OwnerReferences) + len(l.Labels)
		}).Should(Equal(3))
		Expect(leader(e)()).To(Equal("ledger-0 3"))
	})

	It("leaves a ledger alone that somebody else renews", func() {
		StartOperator()
		e := election()
		pod(e.Namespace, "ledger-0")
		AwaitReady(Create(e))
		Patch(leaseOf(e), `{"spec":{"holderIdentity":"me","renewTime":"2026-01-01T00:00:00.000000Z","leaseDurationSeconds":15}}`)
		Eventually(Ready(e)).Should(Equal("False LedgerTaken"))
		Expect(Message(e, "Elected")).To(ContainSubstring("is renewed by somebody else (me); stop that, then delete the Lease"))
		Expect(labelled(e.Namespace)()).To(Equal([]string{"ledger-0"}))
		Remove(leaseOf(e))
		Eventually(leader(e)).Should(Equal("ledger-0 2"))
		AwaitReady(e)
	})

	It("deletes the old leader if asked to, and awaits its end", func() {
		StartOperator()
		e := election(func(e *v1alpha1.LeaderElection) { e.Spec.Handover.StopOld = v1alpha1.StopDelete })
		a := pod(e.Namespace, "ledger-0")
		pod(e.Namespace, "ledger-1")
		AwaitReady(Create(e))
		SetPodReady(a, false)
		Eventually(Ready(e)).Should(Equal("False OldStillStopping"))
		Expect(Reload(a)).To(Succeed())
		Expect(a.DeletionTimestamp).NotTo(BeNil())
		Expect(labelled(e.Namespace)()).To(BeEmpty())
		Consistently(leader(e)).Should(Equal("none"))
		kill(a)
		Eventually(leader(e)).Should(Equal("ledger-1 2"))
	})

	It("does not take a pod of the same name for the leader", func() {
		op := StartOperator()
		e := election()
		a := pod(e.Namespace, "ledger-0")
		AwaitReady(Create(e))
		op.Stop()
		kill(a)
		pod(e.Namespace, "ledger-0")
		op.Start()
		Eventually(leader(e)).Should(Equal("ledger-0 2"))
	})

	It("continues where a former object of the name has ended, and takes the label off", func() {
		StartOperator()
		e := election()
		pod(e.Namespace, "ledger-0")
		AwaitReady(Create(e))
		Remove(e)
		Eventually(Gone(e)).Should(Succeed())
		Expect(labelled(e.Namespace)()).To(BeEmpty())
		Expect(markOf(e, "ledger-0")).To(Equal("fenced 2"))
		Eventually(Gone(leaseOf(e))).Should(Succeed())
		again := Create(&v1alpha1.LeaderElection{ObjectMeta: metav1.ObjectMeta{Name: e.Name, Namespace: e.Namespace}, Spec: e.Spec})
		Eventually(leader(again)).Should(Equal("ledger-0 3"))
	})

	It("leaves the label with deletionPolicy Keep", func() {
		StartOperator()
		e := election(func(e *v1alpha1.LeaderElection) { e.Spec.DeletionPolicy = v1alpha1.DeletionKeep })
		pod(e.Namespace, "ledger-0")
		AwaitReady(Create(e))
		Remove(e)
		Eventually(Gone(e)).Should(Succeed())
		Expect(labelled(e.Namespace)()).To(Equal([]string{"ledger-0"}))
	})

	It("does not mark what an older one marks", func() {
		StartOperator()
		e := election()
		pod(e.Namespace, "ledger-0")
		AwaitReady(Create(e))
		Eventually(func() bool { return time.Now().Unix() > e.CreationTimestamp.Unix() }).Should(BeTrue())
		var others []*v1alpha1.LeaderElection
		for i := range 6 {
			other := &v1alpha1.LeaderElection{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("a-later-one-%d", i), Namespace: e.Namespace}}
			other.Spec.PodSelector = map[string]v1alpha1.LabelValue{"app": "ledger", "tier": "db"}
			others = append(others, Create(other))
		}
		for _, other := range others { // the oldest, however many there are: else the message would change each time
			Eventually(Ready(other)).Should(Equal("False Overlaps"))
			Expect(Message(other, "Accepted")).To(ContainSubstring("the LeaderElection ledger, which is older"))
		}
		for _, other := range others[1:] {
			Remove(other)
		}
		Remove(e)
		Eventually(Ready(others[0])).Should(Equal("False NoCandidate"))
	})

	It("does not elect pods of Jobs", func() {
		StartOperator()
		e := election()
		pod(e.Namespace, "ledger-0", func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "j", UID: "00000000-0000-0000-0000-000000000001", Controller: new(true)}}
		})
		Create(e)
		Eventually(Ready(e)).Should(Equal("False NoCandidate"))
		Expect(labelled(e.Namespace)()).To(BeEmpty())
	})

	It("works under a name of 253 characters", func() {
		StartOperator()
		e := election(func(e *v1alpha1.LeaderElection) { e.Name = strings.Repeat("ledger.", 36) + "x" })
		pod(e.Namespace, "ledger-0")
		AwaitReady(Create(e))
		Expect(markOf(e, "ledger-0")).To(Equal("leader 1"))
	})

	It("writes nothing when the operator starts again", func() {
		op := StartOperator()
		e := election()
		pod(e.Namespace, "ledger-0")
		pod(e.Namespace, "ledger-1")
		AwaitReady(Create(e))
		Eventually(files(e)).Should(HaveKeyWithValue("leader", "ledger-0"))
		Eventually(routed(e, "ledger-leader")).Should(HaveLen(1))
		writes := func() []testenv.Write { return writesFor(op, e) }
		Eventually(func(g Gomega) { // what it has heard of is recorded
			op.Wire.Forget()
			g.Consistently(writes).Should(BeEmpty())
		}).Should(Succeed())
		op.Stop()
		op.Start()
		Consistently(writes, 2*time.Second).Should(BeEmpty())
		Expect(leader(e)()).To(Equal("ledger-0 1"))
	})
})
