// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestHandOvers(t *testing.T) {
	pod := func(uid, leader string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Labels: map[string]string{"app": "a", "leader": leader}}}
	}
	slice := func(service, uid string, ready bool) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{discoveryv1.LabelServiceName: service}},
			Endpoints: []discoveryv1.Endpoint{{
				TargetRef: &corev1.ObjectReference{UID: types.UID(uid)}, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
			}},
		}
	}
	h := &handOvers{leaders: map[string]*corev1.Pod{}, routed: map[string]types.UID{}}
	h.forget()
	h.see(pod("1", "true"))
	if h.settled(1) {
		t.Error("settled before the Service leads to the leader")
	}
	h.see(slice("a-leader", "1", true))
	if !h.settled(1) || len(h.labelled)+len(h.endpoint) > 0 {
		t.Errorf("not settled, or counted though nobody asked: %+v", h)
	}

	h.before["a"], h.sent["a"] = "1", time.Now()
	h.see(pod("1", "true"))
	h.see(pod("2", ""))
	h.see(slice("a-leader", "2", false))
	h.see(slice("a-members", "2", true))
	if len(h.labelled)+len(h.endpoint) > 0 {
		t.Errorf("counted before there was another leader: %+v", h)
	}
	h.see(pod("2", "true"))
	h.see(slice("a-leader", "2", true))
	if len(h.labelled) != 1 || len(h.endpoint) != 1 || !h.settled(1) {
		t.Errorf("not counted: %+v", h)
	}
}

func TestElectionAims(t *testing.T) {
	good := electionResult{Asked: replaced{Leases: 2, Marks: 2, Statuses: 1}, Lost: replaced{Leases: 2, Marks: 1, Statuses: 2}}
	for name, worse := range map[string]func(*electionResult){
		"":                       func(*electionResult) {},
		"a write at rest":        func(r *electionResult) { r.Written = 1 },
		"a look at rest":         func(r *electionResult) { r.Looked = 1 },
		"one more write":         func(r *electionResult) { r.Asked.Marks = 3 },
		"one more write, lost":   func(r *electionResult) { r.Lost.Leases = 3 },
		"one more of the status": func(r *electionResult) { r.Asked.Statuses = 2 },
	} {
		r := good
		worse(&r)
		r.judge()
		if err := (&report{Results: map[string]outcome{leaderElection: &r}}).verdict(false); (err != nil) != (name != "") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
