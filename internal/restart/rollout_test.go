// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

// What a restart waits for is said as it is.
func TestWaitForRollouts(t *testing.T) {
	for _, tc := range []struct {
		waits        turns
		reason, says string
	}{
		{
			turns{waiting: 2, rolling: []string{"Deployment/b", "StatefulSet/c"}},
			ReasonMaxConcurrent,
			"0 workloads restarted, 2 wait until those that are rolling are ready: Deployment/b; StatefulSet/c",
		},
		{turns{unfinished: 1}, ReasonRolloutUnfinished, "0 workloads restarted, 1 roll for another reason since the change and run with it at the end; one that is rolled back is restarted"},
		{turns{waiting: 1, unfinished: 1, rolling: []string{"Deployment/b"}}, ReasonMaxConcurrent, "0 workloads restarted, 1 wait until those that are rolling are ready: Deployment/b, " +
			"1 roll for another reason since the change and run with it at the end; one that is rolled back is restarted"},
	} {
		s := &common.RestartStatus{Pending: &common.PendingRestart{Number: 1, Started: true}}
		x := &execution{req: Request{Told: func(func()) {}}, status: s}
		out := x.waitForRollouts(tc.waits)
		if s.Pending.Reason != tc.reason || !out.GoesOn() || !strings.Contains(fmt.Sprintf("%+v", out), tc.says) {
			t.Errorf("%+v: %q, %+v", tc.waits, s.Pending.Reason, out)
		}
	}
}

// What follows the marks of a restart that has begun is not urgent: pods that have to be found, and the record of its end. It is
// done once the cache shows the marks. A restart whose beginning is not recorded ends in the same run.
func TestTheEndOfARestartYields(t *testing.T) {
	for _, begun := range []bool{true, false} {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "d", Generation: 1}}
		app := labels.Set{"app": "x"}
		d.Spec.Selector, d.Spec.Template.Labels = &metav1.LabelSelector{MatchLabels: app}, app
		s := &common.RestartStatus{Number: 1, Pending: &common.PendingRestart{
			Number: 1, Mark: "1.m", Started: begun, Sources: []string{"ConfigMap/c"}, Templates: []common.WorkloadTemplate{{UID: "d", Generation: 1}},
		}}
		req := Request{
			Object: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "w", UID: "w"}}, Selector: labels.SelectorFromSet(app), Status: s, kind: "k", Told: func(tell func()) { tell() },
		}
		sent := &writes{}
		cache, pods := oneDeployment{Client: sent, d: d}, &lists{}
		r := &Restarter{memory: newMemory(), Options: Options{
			Client: cache, Live: pods, Peers: &Peers{}, Event: func(client.Object, string, string, string) {},
		}}
		run := func() engine.Outcome {
			out, err := r.execute(t.Context(), req, after(0))
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		if out := run(); sent.patch == nil || out.GoesOn() == begun || (pods.n > 0) == begun || (s.Pending != nil) != begun {
			t.Errorf("begun: %v: %+v, %d lists of pods, pending %v, sent %s", begun, out, pods.n, s.Pending, sent.patch)
		}
		if !begun {
			continue
		}
		s.Workloads, sent.patch, d.Generation = nil, nil, 2 // nothing was recorded, and the mark was taken off
		if out := run(); sent.patch != nil || !out.GoesOn() || pods.n != 1 || s.Pending != nil || len(s.Workloads) != 1 {
			t.Errorf("marked: %+v, %d lists of pods, %+v, sent %s", out, pods.n, s, sent.patch)
		}
		if _, kept := r.memory.reached.Get("", "w"); kept {
			t.Error("what was reached is kept for ever")
		}
	}
}

// A number is counted again when somebody has reset the status; the mark reports whether it is the same restart.
func TestWhatWasReachedIsOfOneRestart(t *testing.T) {
	for _, tc := range []struct {
		reason string
		now    common.PendingRestart
		want   int
	}{
		{"the same", common.PendingRestart{Number: 2, Mark: "2.m"}, 1},
		{"another of that number", common.PendingRestart{Number: 2, Mark: "2.n"}, 0},
		{"a later one", common.PendingRestart{Number: 3, Mark: "3.m"}, 0},
	} {
		object, m := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{UID: "w"}}, newMemory()
		m.yield(Request{Object: object, Status: &common.RestartStatus{
			Pending:   &common.PendingRestart{Number: 2, Mark: "2.m"},
			Workloads: []common.RestartedWorkload{{UID: "d", Number: 2}, {UID: "e", Number: 1}},
		}})
		s := &common.RestartStatus{Pending: &tc.now}
		m.resume(Request{Object: object, Status: s, Told: func(func()) {}})
		if len(s.Workloads) != tc.want {
			t.Errorf("%s: resumed with %+v", tc.reason, s.Workloads)
		}
	}
}

// lists counts lists.
type lists struct {
	client.Reader
	n int
}

func (l *lists) List(context.Context, client.ObjectList, ...client.ListOption) error {
	l.n++
	return nil
}

// oneDeployment is a cache with one Deployment.
type oneDeployment struct {
	client.Client
	d *appsv1.Deployment
}

func (c oneDeployment) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if l, ok := list.(*appsv1.DeploymentList); ok {
		l.Items = []appsv1.Deployment{*c.d}
	}
	return nil
}

// A rollout that hangs and is rolled back is reported whenever that is; a mark that is taken off later is a rollback like any other.
func TestRolledBackBeforeItsEnd(t *testing.T) {
	for _, ends := range []bool{true, false} {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "d", Generation: 2}}
		w := &common.RestartStatus{
			Number: 1, Mark: "1.m", LastRestart: &times(0)[0], Workloads: []common.RestartedWorkload{{Kind: "Deployment", Name: "d", UID: "d", Number: 1, Generation: 2}},
		}
		req := Request{Object: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "w", UID: "w"}}, Selector: labels.Everything(), Status: w, kind: "k"}
		mark := req.annotation()
		d.Spec.Template.Annotations = map[string]string{mark: w.Mark}
		r := &Restarter{memory: newMemory(), Options: Options{Client: oneDeployment{d: d}}}
		look := func(at time.Duration) engine.Outcome {
			out, err := r.settled(t.Context(), req, after(at))
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		if out := look(lookBack); !out.GoesOn() || !r.memory.hangs(req) {
			t.Errorf("it rolls: %+v", out)
		}
		ready := appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}
		if ends {
			d.Status = ready
			look(2 * lookBack)
		}
		d.Generation, d.Status, d.Spec.Template.Annotations = 3, ready, nil
		for range 2 {
			if out := look(2 * revertedFor); out.GoesOn() != ends {
				t.Errorf("its rollout has ended: %v: %+v", ends, out)
			}
		}
	}
}
