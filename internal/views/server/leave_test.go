// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"os"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/internal/testenv"
)

// look is what a replica gets when it looks: first the APIService, then the EndpointSlices, and an answer when it deletes the APIService.
type look struct {
	get, list, del error
	endpoints      []discoveryv1.Endpoint
}

func TestLeave(t *testing.T) {
	var (
		forbidden = apierrors.NewForbidden(schema.GroupResource{}, "", nil)
		down      = errors.New("connection refused")
		conflict  = apierrors.NewConflict(schema.GroupResource{}, "", nil)
		notFound  = apierrors.NewNotFound(schema.GroupResource{}, "")
		stale     = look{endpoints: []discoveryv1.Endpoint{endpoint("me", ptr.To(true)), endpoint("you", ptr.To(true))}}
		rollout   = look{endpoints: []discoveryv1.Endpoint{endpoint("me", ptr.To(false)), endpoint("you", ptr.To(true))}}
		lastOne   = look{endpoints: []discoveryv1.Endpoint{endpoint("me", ptr.To(false)), endpoint("you", ptr.To(false))}}
		all       = int(leaveTimeout / leaveInterval)
	)
	for _, c := range []struct {
		reason  string
		looks   []look // the last one is repeated
		looked  int
		deletes int
	}{
		{"another serves: it ends at once", []look{rollout}, 1, 0},
		{"it is the last one", []look{lastOne}, 1, 1},
		{"the Service is gone", []look{{}}, 1, 1},
		{"it waits until its end is shown, and another serves", []look{stale, stale, rollout}, 3, 0},
		{"it waits until its end is shown, and that of the other", []look{stale, stale, stale, lastOne}, 4, 1},
		{"its end is never shown", []look{stale}, all, 0},
		{"there is no APIService", []look{{get: notFound}}, 1, 0},
		{"somebody else deletes it meanwhile", []look{stale, {get: notFound}}, 2, 0},
		{"the operator has created it again", []look{{del: conflict}}, 1, 1},
		{"errors are tried again", []look{{get: down}, {list: down}, {list: forbidden}, {del: down}, lastOne}, 5, 2},
		{"it never learns of others", []look{{list: forbidden}}, all, 0},
		{"nothing is ever answered", []look{{get: down}}, all, 0},
		{"its rights are gone", []look{stale, {get: forbidden}}, 2, 0},
		{"its account is gone", []look{{get: apierrors.NewUnauthorized("no such account")}}, 1, 0},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := &witness{T: t, looks: c.looks, clock: clocktesting.NewFakeClock(time.Unix(1e9, 0))}
			if err := w.lastOut().leave(); err != nil {
				t.Error(err)
			}
			if w.looked != c.looked || w.deletes != c.deletes {
				t.Errorf("it looked %d times, not %d, and deleted the APIService %d times, not %d", w.looked, c.looked, w.deletes, c.deletes)
			}
		})
	}
}

// witness is the API server of a replica that leaves. After each look, time passes until the next one.
type witness struct {
	*testing.T
	looks           []look
	looked, deletes int
	clock           *clocktesting.FakeClock
}

func (w *witness) lastOut() *lastOut {
	registration := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{
			"name": apiServiceName(), "uid": "uid", "labels": map[string]any{"app.kubernetes.io/managed-by": "platform-operator"},
		},
		"spec": map[string]any{"service": map[string]any{"namespace": home, "name": service}},
	}}
	now := func() look { return w.looks[min(w.looked, len(w.looks))-1] }
	registrations := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	registrations.PrependReactor("get", "apiservices", func(clienttesting.Action) (bool, runtime.Object, error) {
		w.looked++
		w.clock.Step(leaveInterval)
		return true, registration, now().get
	})
	registrations.PrependReactor("delete", "apiservices", func(a clienttesting.Action) (bool, runtime.Object, error) {
		w.deletes++
		if p := a.(clienttesting.DeleteActionImpl).DeleteOptions.Preconditions; p == nil || p.UID == nil || *p.UID != "uid" {
			w.Errorf("it deletes whatever has the name: %v", p)
		}
		return true, nil, now().del
	})
	endpoints := fake.NewClientset()
	endpoints.PrependReactor("list", "endpointslices", func(a clienttesting.Action) (bool, runtime.Object, error) {
		of := a.(clienttesting.ListAction).GetListRestrictions().Labels.String()
		if a.GetNamespace() != home || of != discoveryv1.LabelServiceName+"="+service {
			w.Errorf("it lists those of %q in %s", of, a.GetNamespace())
		}
		slice := discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{discoveryv1.LabelServiceName: service}}, Endpoints: now().endpoints,
		}
		return true, &discoveryv1.EndpointSliceList{Items: []discoveryv1.EndpointSlice{slice}}, now().list
	})
	return &lastOut{namespace: home, service: service, replica: "me", endpoints: endpoints, registrations: registrations, clock: w.clock}
}

// The kubelet does not kill a replica that waits.
func TestTheGracePeriodIsLongEnough(t *testing.T) {
	text, err := os.ReadFile(testenv.RepoFile("config", "views", "deployment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var d appsv1.Deployment
	if err := yaml.UnmarshalStrict(text, &d); err != nil {
		t.Fatal(err)
	}
	pod := d.Spec.Template.Spec
	c := pod.Containers[0]
	grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second
	sleep := time.Duration(c.Lifecycle.PreStop.Sleep.Seconds) * time.Second
	// The last look before the time is over, and the one after it, may each wait for an answer.
	if needed := sleep + leaveTimeout + 2*leaveRequest + drain; grace <= needed {
		t.Errorf("the grace period is %s, and the end of a replica may take %s", grace, needed)
	}
	probe := time.Duration(max(c.ReadinessProbe.FailureThreshold, 3)*c.ReadinessProbe.PeriodSeconds) * time.Second
	if probe >= leaveTimeout {
		t.Errorf("a replica that is restarted in place is shown as ready for %s, and waits for %s", probe, leaveTimeout)
	}
}
