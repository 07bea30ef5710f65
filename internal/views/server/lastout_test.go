// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"sync"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	. "github.com/acme/platform-operator/internal/testenv/suite"
	"github.com/acme/platform-operator/internal/views/access"
)

func endpoint(replica string, ready *bool) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{
		Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: ready},
		TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: replica},
	}
}

func TestStandingOf(t *testing.T) {
	of := func(endpoints ...discoveryv1.Endpoint) discoveryv1.EndpointSlice {
		return discoveryv1.EndpointSlice{Endpoints: endpoints}
	}
	yes, no := ptr.To(true), ptr.To(false)
	for _, c := range []struct {
		reason string
		slices []discoveryv1.EndpointSlice
		want   standing
	}{
		{"nobody, and no Service", nil, last},
		{"nobody", []discoveryv1.EndpointSlice{of()}, last},
		{"its end is not shown", []discoveryv1.EndpointSlice{of(endpoint("me", yes))}, unknown},
		{"nor in one of two families of addresses", []discoveryv1.EndpointSlice{
			of(endpoint("me", no), endpoint("you", yes)), of(endpoint("you", yes), endpoint("me", yes)),
		}, unknown},
		{"it does not say", []discoveryv1.EndpointSlice{of(endpoint("me", nil))}, unknown},
		{"its end is shown", []discoveryv1.EndpointSlice{of(endpoint("me", no))}, last},
		{"its end and another", []discoveryv1.EndpointSlice{of(endpoint("me", no)), of(endpoint("you", yes))}, replaced},
		{"another, and it is listed no longer", []discoveryv1.EndpointSlice{of(endpoint("you", yes))}, replaced},
		{"another in one of two families", []discoveryv1.EndpointSlice{of(endpoint("you", no)), of(endpoint("you", yes))}, replaced},
		{"another that does not say, which is ready for kube-proxy and the operator", []discoveryv1.EndpointSlice{of(endpoint("you", nil))}, replaced},
		{"others that end, or are not ready yet", []discoveryv1.EndpointSlice{of(endpoint("you", no), endpoint("me", no), endpoint("they", no))}, last},
		{"one that is no pod", []discoveryv1.EndpointSlice{of(discoveryv1.Endpoint{Conditions: discoveryv1.EndpointConditions{Ready: yes}})}, replaced},
	} {
		if got := standingOf("me", c.slices); got != c.want {
			t.Errorf("%s: %d, not %d", c.reason, got, c.want)
		}
	}
}

var _ = Describe("The last replica", func() {
	registered := func() error {
		return views(Plane.Config).Get().AbsPath("/apis/apiregistration.k8s.io/v1/apiservices/" + apiServiceName()).Do(ctx).Error()
	}
	leaving := func(name string) *replica {
		return startReplica(func(o *Options) { o.Namespace, o.Service, o.Replica = home, service, name })
	}
	newSlice := func(name string) (shows func(first, second bool)) {
		slice := Create(&discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: home, Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
			AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints:   []discoveryv1.Endpoint{endpoint("first", ptr.To(true)), endpoint("second", ptr.To(true))},
		})
		return func(first, second bool) {
			GinkgoHelper()
			Change(slice, func(s *discoveryv1.EndpointSlice) {
				s.Endpoints = []discoveryv1.Endpoint{endpoint("first", ptr.To(first)), endpoint("second", ptr.To(second))}
			})
		}
	}

	It("deletes the APIService when it ends, and no other does", func() {
		show := newSlice("views-1")
		show(false, true) // a rollout, or the drain of a node
		leaving("first").stop()
		Expect(registered()).To(Succeed())
		show(false, false)
		startReplica().stop() // without a Service it is nobody's
		Expect(registered()).To(Succeed())
		label := func(by string) error {
			return views(Plane.Config).Patch(types.MergePatchType).AbsPath("/apis/apiregistration.k8s.io/v1/apiservices/" + apiServiceName()).
				Body([]byte(`{"metadata":{"labels":{"app.kubernetes.io/managed-by":"` + by + `"}}}`)).Do(ctx).Error()
		}
		Expect(label("somebody")).To(Succeed())
		leaving("second").stop()
		Expect(registered()).To(Succeed())
		Expect(label("platform-operator")).To(Succeed())
		startReplica(func(o *Options) { o.Namespace, o.Service, o.Replica = "default", service, "second" }).stop() // of another installation
		Expect(registered()).To(Succeed())
		leaving("second").stop()
		Expect(registered()).To(MatchError(apierrors.IsNotFound, "not found"))
		register()
	})

	It("deletes it also when all end at once, before the EndpointSlices show that", func() {
		show := newSlice("views-2")
		leavers := []*replica{leaving("first"), leaving("second")}
		gone := deleting()
		var all sync.WaitGroup
		for _, r := range leavers {
			all.Go(func() {
				defer GinkgoRecover()
				r.stop()
			})
			Eventually(r.ready).ShouldNot(Equal(http.StatusOK), "it has begun to end")
		}
		mine := Namespace()
		name, _ := newUser()
		grant(mine, "view", user(name))
		for _, r := range leavers {
			Eventually(func() bool { return r.source.Now().May(access.NewUser(name, nil), mine).Get }).Should(BeTrue(), "it still follows the cluster")
		}
		show(false, true)
		show(false, false)
		all.Wait()
		Expect(registered()).To(MatchError(apierrors.IsNotFound, "not found"))
		gone()
		register()
	})
})
