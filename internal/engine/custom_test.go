// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
)

// TestCustomChildrenAreComparedByWhatTheOperatorHasApplied uses a Service, which has lists that are merged by keys and lists that
// are sets, as if it were a type of the operator's own.
func TestCustomChildrenAreComparedByWhatTheOperatorHasApplied(t *testing.T) {
	const fields = `{"f:metadata":{
		"f:annotations":{"f:a":{}},"f:labels":{"f:l":{}},"f:ownerReferences":{"k:{\"uid\":\"u\"}":{}}},
		"f:spec":{"f:externalIPs":{"v:\"1.1.1.1\"":{}},"f:selector":{},
		"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{},"f:targetPort":{}},
		"k:{\"port\":90,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{},"f:targetPort":{}}}}}`
	gvk := corev1.SchemeGroupVersion.WithKind("Service")
	wanted := func() *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s"}, Spec: corev1.ServiceSpec{
			Selector: map[string]string{"a": "b"}, ExternalIPs: []string{"1.1.1.1"},
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: "TCP"}, {Name: "more", Port: 90, Protocol: "TCP"}},
		}}
	}
	live := func(change func(*corev1.Service)) *corev1.Service {
		s := wanted()
		s.Labels, s.Annotations = map[string]string{"l": "1", "theirs": "x"}, map[string]string{"a": "2", "theirs": "x"}
		s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "A", Name: "o", UID: "u"}, {UID: "theirs"}}
		s.ManagedFields = []metav1.ManagedFieldsEntry{
			{Manager: "me", Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(fields)},
			{Manager: "me", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:type":{}}}`)},
			{Manager: "me", Operation: metav1.ManagedFieldsOperationApply, Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:type":{}}}`)},
			{Manager: "others", Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:type":{}}}`)},
		}
		s.Spec.Type = corev1.ServiceTypeClusterIP
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "x"}}
		change(s)
		return s
	}
	for _, tc := range []struct {
		reason string
		change func(*corev1.Service)
		want   []string
	}{
		{"it is as wanted", func(*corev1.Service) {}, nil},
		{"others have set more", func(s *corev1.Service) {
			s.Spec.ExternalIPs = append(s.Spec.ExternalIPs, "2.2.2.2")
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "theirs", Port: 81, Protocol: "TCP"}, corev1.ServicePort{Name: "dns", Port: 80, Protocol: "UDP"})
			s.Spec.Ports[0].NodePort, s.Spec.SessionAffinity = 30000, "ClientIP"
		}, nil},
		{"a value differs", func(s *corev1.Service) { s.Spec.Ports[0].Name = "web" }, []string{"spec[ports]"}},
		{"an element is gone", func(s *corev1.Service) { s.Spec.ExternalIPs = nil }, []string{"spec[externalIPs]"}},
		{"a map that is owned as a whole has more", func(s *corev1.Service) { s.Spec.Selector["c"] = "d" }, []string{"spec[selector]"}},
		{"a mark differs", func(s *corev1.Service) { s.Labels["l"] = "x" }, []string{"metadata.labels[l]"}},
		{
			"the operator has applied nothing", func(s *corev1.Service) { s.ManagedFields = nil },
			[]string{"metadata.labels[l]", "metadata.annotations[a]", "metadata.ownerReferences", "spec[externalIPs]", "spec[ports]", "spec[selector]"},
		},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			c, err := NewCustomChild(gvk, wanted())
			if err != nil {
				t.Fatal(err)
			}
			c.mark(map[string]string{"l": "1"}, map[string]string{"a": "2"},
				metav1ac.OwnerReference().WithAPIVersion("v1").WithKind("A").WithName("o").WithUID("u"))
			if c.key.String() != "n/s" || *c.intent.GetKind() != "Service" || *c.intent.GetAPIVersion() != "v1" || *c.intent.GetName() != "s" || *c.intent.GetNamespace() != "n" {
				t.Errorf("it is %s %+v", c.key, c.intent)
			}
			extracted, err := c.extract(live(tc.change), "me")
			if err != nil {
				t.Fatal(err)
			}
			got := differences("", reflect.ValueOf(extracted), reflect.ValueOf(c.intent))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	c, _ := NewCustomChild(gvk, wanted())
	if _, err := c.extract(live(func(s *corev1.Service) { s.ManagedFields[0].FieldsV1 = metav1.NewFieldsV1("x") }), "me"); err == nil {
		t.Error("fields that cannot be read are no error")
	}
}
