// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/api/coordination/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = fixture("LeaderElection", leaderElections{})

// leaderElections is the fixture of LeaderElection. There are two candidates, which nothing runs. The ledger is a Lease, which
// the harness does not look at: it is neither repaired nor pruned, and the kind's own suite says what becomes of it.
type leaderElections struct{ Ordinary }

// candidateNode is the node of the candidates: Kubernetes publishes only pods of nodes that exist.
const candidateNode = "candidates"

func election(o engine.Object) *v1alpha1.LeaderElection { return o.(*v1alpha1.LeaderElection) }

func electionNamed(unique string) *v1alpha1.LeaderElection {
	return &v1alpha1.LeaderElection{ObjectMeta: metav1.ObjectMeta{Name: unique, Namespace: unique}}
}

// Prepare implements Fixture.
func (leaderElections) Prepare() {
	Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: candidateNode}})
}

// Configuration implements Fixture.
func (leaderElections) Configuration() string { return "leaderElection: {retryMax: 1s}\n" }

// LeavesOut implements Fixture.
func (leaderElections) LeavesOut() map[string]string {
	return map[string]string{
		"G6 lingering children":    "its finalizer takes a label off pods and awaits no child; the children follow by their owner references",
		"G10 autoscaler":           "it makes no workload, so that there is nothing to scale",
		"G13 in its own namespace": "a copy of a candidate is one more candidate, and a copy of the leader's label has to be taken off it",
	}
}

// Name implements Fixture. A leader that is not Ready is replaced at once. The headless Service has a port, without which a copy
// of it that has an address is invalid.
func (leaderElections) Name(sample engine.Object, _ string) {
	s := &election(sample).Spec
	s.Handover.NotReadyFor = &metav1.Duration{}
	s.Members.Ports = []v1alpha1.ServicePort{{Port: 8080}}
}

// Settled implements Fixture: routing follows.
func (leaderElections) Settled(o engine.Object) bool {
	s := election(o).Status
	return s.Leader != nil && s.Leader.Address != "" && s.Candidates == 2 && s.ReadyCandidates > 0
}

// Surround implements Fixture: the candidates.
func (leaderElections) Surround(unique string) {
	for i := range 2 {
		p := Create(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: unique, Name: fmt.Sprintf("ledger-%d", i), Labels: map[string]string{"app": "ledger"}},
			Spec: corev1.PodSpec{
				NodeName: candidateNode, TerminationGracePeriodSeconds: new(int64(0)),
				Containers: []corev1.Container{{Name: "main", Image: "registry.acme.com/ledger"}},
			},
		})
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.128.0.%d", i+1)}
		p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
		SetPodReady(p, true)
	}
}

// setCandidates makes all candidates Ready or not.
func setCandidates(unique string, ready bool) {
	GinkgoHelper()
	for i := range 2 {
		SetPodReady(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: unique, Name: fmt.Sprintf("ledger-%d", i)}}, ready)
	}
}

// Change implements Fixture.
func (leaderElections) Change(o engine.Object, _ string) {
	election(o).Spec.Service.Ports[0].TargetPort = 8443
}

// Action implements Fixture.
func (leaderElections) Action(unique string) string {
	return "PATCH namespaces/" + unique + "/services/" + unique + "-leader"
}

// Transitions implements Fixture.
func (leaderElections) Transitions() map[string]func(engine.Object) {
	return map[string]func(engine.Object){
		"asking for another Service, other ports and no files": func(o engine.Object) {
			s := &election(o).Spec
			s.Service.Name, s.Discovery.ConfigMap = "primary", v1alpha1.Disabled
			s.Members.Ports = nil
		},
		"asking for no Service": func(o engine.Object) { election(o).Spec.Service = nil },
	}
}

// Happenings implements Fixture.
func (leaderElections) Happenings() []Happening {
	return []Happening{{
		Name: "a leader that is not Ready any more",
		Do: func(unique string) {
			SetPodReady(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: unique, Name: "ledger-0"}}, false)
		},
		Done: func(unique string) error {
			e := electionNamed(unique)
			if err := Reload(e); err != nil {
				return err
			}
			if e.Status.Leader == nil || e.Status.Leader.Pod != "ledger-1" || e.Status.ReadyCandidates != 1 {
				return fmt.Errorf("the leader is %+v, of %d candidates that are Ready", e.Status.Leader, e.Status.ReadyCandidates)
			}
			return nil
		},
	}}
}

// Absences implements Fixture.
func (leaderElections) Absences() []Absence {
	return []Absence{{
		Name:    "a leader that was not Ready for too long",
		Prepare: func(o engine.Object) { election(o).Spec.Handover.NotReadyFor = &metav1.Duration{Duration: time.Second} },
		Pass: func(o engine.Object) {
			SetPodReady(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: "ledger-0"}}, false)
		},
		MadeUp: func(unique string) error {
			e := electionNamed(unique)
			if err := Reload(e); err != nil {
				return err
			}
			if e.Status.HandOvers != 2 || e.Status.Leader == nil || e.Status.Leader.Pod != "ledger-1" {
				return fmt.Errorf("%d hand-overs, to %+v", e.Status.HandOvers, e.Status.Leader)
			}
			return nil
		},
	}}
}

// Invalidate implements Fixture.
func (leaderElections) Invalidate(o *unstructured.Unstructured) {
	for path, value := range map[string]any{"deletionPolicy": "Maybe", "podSelector": map[string]any{}} {
		Expect(unstructured.SetNestedField(o.Object, value, "spec", path)).To(Succeed())
	}
}

// Tamper implements Fixture.
func (leaderElections) Tamper(child *unstructured.Unstructured) []string {
	return map[string][]string{
		"ConfigMap": {`{"data":{"leader":"mallory"}}`, `{"data":{"members":null}}`},
		"Service":   {`{"spec":{"selector":{"app":"none"}}}`, `{"spec":{"selector":{"leader":"false"}}}`},
	}[child.GetKind()]
}

// Breakages implements Fixture.
func (leaderElections) Breakages() []Breakage {
	service := func(unique string) *corev1.Service { return serviceOfOther(unique, unique+"-leader") }
	return []Breakage{
		serviceTaken(service, leaderElections{}.Surround, func(unique string) client.Object { return electionNamed(unique) }),
		{
			Name:   "that no candidate is Ready",
			Break:  func(unique string) { setCandidates(unique, false) },
			Mend:   func(unique string) { setCandidates(unique, true) },
			Reason: "NoCandidate", Status: status.InProgressStatus,
		},
		serviceForbidden(service),
	}
}

// leased and sliced are large Leases and EndpointSlices.
func leased(size int) map[string]any {
	return map[string]any{"spec": map[string]any{"holderIdentity": strings.Repeat("x", size)}}
}

func sliced(size int) map[string]any {
	addresses := each(min(100, size/1000/12), func(i int) any { return fmt.Sprintf("10.0.0.%d", i+1) })
	return map[string]any{"addressType": "IPv4", "ports": []any{}, "endpoints": each(1000, func(int) any { return map[string]any{"addresses": addresses} })}
}
