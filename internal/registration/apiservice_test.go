// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

const registeredByOLM = `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata:
  labels:
    app.kubernetes.io/managed-by: platform-operator
    app.kubernetes.io/name: platform-operator
    olm.owner: acme-platform-operator.v0.1.0
    olm.owner.kind: ClusterServiceVersion
    olm.owner.namespace: ops
  name: v1alpha1.views.acme.com
  ownerReferences:
  - apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRole
    name: platform-operator-views-user
    uid: uid
spec:
  caBundle: cGVt
  group: views.acme.com
  groupPriorityMinimum: 100
  service:
    name: platform-operator-views
    namespace: ops
    port: 443
  version: v1alpha1
  versionPriority: 15
`

// owner is the ClusterRole of the users.
func owner(uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: ours.Role(), UID: uid}}
}

func TestDesired(t *testing.T) {
	u := desired(ours, owner("uid"), 443, []byte("pem"), "acme-platform-operator.v0.1.0")
	text, err := yaml.Marshal(u.Object)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimPrefix(registeredByOLM, "\n"), string(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, csv := range []string{"", strings.Repeat("x", 64)} {
		if labels := desired(ours, owner("uid"), 443, nil, csv).GetLabels(); len(labels) != 2 {
			t.Errorf("without OLM, or with a name that is no label: %v", labels)
		}
	}
}

func TestUpToDate(t *testing.T) {
	want := func() *unstructured.Unstructured { return desired(ours, owner("uid"), 443, []byte("pem"), "x.v1") }
	label := func(u *unstructured.Unstructured, key, value string) {
		labels := u.GetLabels()
		labels[key] = value
		u.SetLabels(labels)
	}
	for _, tc := range []struct {
		reason string
		live   func(*unstructured.Unstructured)
		want   bool
	}{
		{"as desired", func(*unstructured.Unstructured) {}, true},
		{"with a label of somebody else", func(u *unstructured.Unstructured) { label(u, "team", "a") }, true},
		{"of another version of the operator", func(u *unstructured.Unstructured) { label(u, "olm.owner", "x.v0") }, false},
		{"of an operator without OLM", func(u *unstructured.Unstructured) {
			u.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "platform-operator", "app.kubernetes.io/name": "platform-operator"})
		}, false},
		{"of a role that was created again", func(u *unstructured.Unstructured) {
			owners := u.GetOwnerReferences()
			owners[0].UID = "other"
			u.SetOwnerReferences(owners)
		}, false},
		{"with an owner that is gone beside it", func(u *unstructured.Unstructured) {
			u.SetOwnerReferences(append(owner("other"), u.GetOwnerReferences()...))
		}, true},
		{"with another certificate", func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(u.Object, "eA==", "spec", "caBundle")
		}, false},
		{"with another Service", func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(u.Object, "x", "spec", "service", "name")
		}, false},
	} {
		live := want()
		tc.live(live)
		if got := upToDate(live, want()); got != tc.want {
			t.Errorf("%s: %v", tc.reason, got)
		}
		if !upToDate(changed(live, want()), want()) {
			t.Errorf("%s: it is not up to date after it was changed", tc.reason)
		}
	}
	if upToDate(want(), desired(ours, owner("uid"), 443, []byte("pem"), "")) {
		t.Error("labels of OLM stay after OLM")
	}
}

func TestChanged(t *testing.T) {
	live := desired(ours, owner("other"), 1, nil, "x.v1")
	live.SetResourceVersion("7")
	live.Object["spec"].(map[string]any)["insecureSkipTLSVerify"] = true
	labels := live.GetLabels()
	labels["team"] = "a"
	live.SetLabels(labels)
	before := live.DeepCopy()
	want := desired(ours, owner("uid"), 443, []byte("pem"), "")
	labels = want.GetLabels()
	labels["team"] = "a"
	out := changed(live, want)
	want.SetLabels(labels)
	want.SetResourceVersion("7")
	if diff := cmp.Diff(want.Object, out.Object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before.Object, live.Object); diff != "" {
		t.Errorf("what the cache holds has changed (-want +got):\n%s", diff)
	}
}

func TestAvailability(t *testing.T) {
	live := desired(ours, owner("uid"), 443, []byte("pem"), "")
	if isAvailable(live) {
		t.Error("available without a condition")
	}
	for status, want := range map[string]bool{"True": true, "False": false, "Unknown": false} {
		live.Object["status"] = map[string]any{"conditions": []any{
			map[string]any{"type": "Other", "status": "True"}, map[string]any{"type": "Available", "status": status},
		}}
		if isAvailable(live) != want {
			t.Errorf("%s: %v", status, !want)
		}
	}
	if string(bundleOf(live)) != "pem" {
		t.Errorf("bundle %q", bundleOf(live))
	}
}

func TestHolder(t *testing.T) {
	other, elsewhere := ours, ours
	other.Service, elsewhere.Namespace = "other", "elsewhere"
	bare := newAPIService()
	bare.Object["spec"] = map[string]any{"group": apiGroup, "version": apiVersion}
	marked := map[string]string{"app.kubernetes.io/managed-by": "platform-operator"}
	for _, tc := range []struct {
		reason string
		live   *unstructured.Unstructured
		labels map[string]string
		want   string
	}{
		{"ours", desired(ours, owner("uid"), 443, nil, ""), marked, ""},
		{"ours, somebody took its labels away", desired(ours, owner("uid"), 443, nil, ""), nil, ""},
		{"ours, somebody changed the Service", desired(other, owner("uid"), 443, nil, ""), marked, ""},
		{"of another Service", desired(other, owner("uid"), 443, nil, ""), nil, "the Service ops/other"},
		{"of another installation, with the same owner", desired(elsewhere, owner("uid"), 443, nil, ""), marked, "the Service elsewhere/platform-operator-views"},
		{"without a Service", bare, map[string]string{"app.kubernetes.io/managed-by": "somebody"}, "the API server itself"},
		{"without a Service, and with our marks", bare.DeepCopy(), marked, "the API server itself"},
	} {
		tc.live.SetLabels(tc.labels)
		if got := holderOf(tc.live, ours); got != tc.want {
			t.Errorf("%s: %q", tc.reason, got)
		}
	}
}

func TestUnavailableSince(t *testing.T) {
	live := desired(ours, owner("uid"), 443, nil, "")
	live.SetCreationTimestamp(metav1.NewTime(noon))
	if got := unavailableSince(live); !got.Equal(noon) {
		t.Errorf("of one that was never tried: %s", got)
	}
	for _, tc := range []struct {
		status, at string
		want       time.Time
	}{
		{"False", "2026-05-01T11:00:00Z", ago(time.Hour)},
		{"Unknown", "2026-05-01T11:00:00Z", ago(time.Hour)},
		{"True", "2026-05-01T11:00:00Z", time.Time{}},
		{"False", "", time.Time{}},
		{"False", "noon", time.Time{}},
	} {
		live.Object["status"] = map[string]any{"conditions": []any{
			map[string]any{"type": "Other", "status": "False", "lastTransitionTime": "2020-01-01T00:00:00Z"},
			map[string]any{"type": "Available", "status": tc.status, "lastTransitionTime": tc.at},
		}}
		if got := unavailableSince(live); !got.Equal(tc.want) {
			t.Errorf("%s at %q: %s, want %s", tc.status, tc.at, got, tc.want)
		}
	}
}

func TestServed(t *testing.T) {
	ready := func(values ...*bool) (slices []discoveryv1.EndpointSlice) {
		for _, v := range values {
			slices = append(slices, discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{{Conditions: discoveryv1.EndpointConditions{Ready: v}}}})
		}
		return slices
	}
	for _, tc := range []struct {
		slices []discoveryv1.EndpointSlice
		want   bool
	}{
		{nil, false}, {ready(new(false), new(false)), false}, {ready(new(false), new(true)), true}, {ready(nil), true}, {make([]discoveryv1.EndpointSlice, 2), false},
	} {
		if got := anyReady(tc.slices); got != tc.want {
			t.Errorf("%v: %v", tc.slices, got)
		}
	}
	s := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "metrics", Port: 1}, {Name: "https", Port: 443}}}}
	if portOf(s) != 443 || portOf(&corev1.Service{}) != 0 {
		t.Error("the port is not the one called https")
	}
}
