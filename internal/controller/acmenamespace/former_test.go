// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/tenancy"
)

func marked(uid, owner string, labels, annotations map[string]string) *corev1.Namespace {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "app-a", Labels: map[string]string{}, Annotations: map[string]string{}}}
	for k, v := range labels {
		ns.Labels[k] = v
	}
	for k, v := range annotations {
		ns.Annotations[k] = v
	}
	if uid != "" {
		ns.Labels["platform.acme.com/owner-uid"] = uid
	}
	if owner != "" {
		ns.Annotations["platform.acme.com/owner"] = "acmenamespace/" + owner
	}
	return ns
}

func TestFormerOwner(t *testing.T) {
	now := time.Date(2026, 3, 29, 3, 0, 0, 123456789, time.FixedZone("CEST", 7200))
	at := time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)
	quota := func(name, uid string) corev1.ResourceQuota {
		return corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"platform.acme.com/owner-uid": uid}}}
	}
	for _, tc := range []struct {
		reason string
		ns     *corev1.Namespace
		quotas []corev1.ResourceQuota
		want   *unreported
	}{
		{"without an owner", marked("", "", nil, nil), nil, nil},
		{"released by a finalizer: it has no mark", marked("", "", nil, map[string]string{"tenancy.acme.com/released-by": "other"}), nil, nil},
		{"mine", marked("me", "mine", nil, nil), nil, nil},
		{"mine, and its label was taken off", marked("", "mine", nil, nil), nil, nil},
		{
			"of an earlier object of my name", marked("old", "mine", map[string]string{"admin": "sam"}, nil),
			[]corev1.ResourceQuota{quota("prod", "old")},
			&unreported{UID: "old", Name: "mine", Tier: "prod", Admin: "sam", At: at},
		},
		{
			"of another one, whose user is no label value", marked("old", "other", nil, map[string]string{"admin": "oidc:sam"}),
			[]corev1.ResourceQuota{quota("theirs", "old"), quota("stg", "old"), quota("dev", "somebody")},
			&unreported{UID: "old", Name: "other", Tier: "stg", Admin: "oidc:sam", At: at},
		},
		{"without anything but the mark", marked("old", "", nil, nil), nil, &unreported{UID: "old", At: at}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			got, ok := formerOwner(tc.ns, "me", tc.quotas, now)
			if ok != (tc.want != nil) {
				t.Fatalf("found %t: %+v", ok, got)
			}
			if diff := cmp.Diff(tc.want, &got); ok && diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRecordOfReleases(t *testing.T) {
	all := []unreported{
		{UID: "a", Name: "one", Tier: "prod", Admin: `o"idc:sam`, At: time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)},
		{UID: "b", Name: "two", At: time.Date(2026, 1, 6, 9, 0, 0, 0, time.UTC)},
	}
	on := func(text string) *corev1.Namespace {
		return marked("me", "mine", nil, map[string]string{tenancy.AnnotationUnreported: text})
	}
	if diff := cmp.Diff(all, recorded(on(record(all)))); diff != "" {
		t.Error(diff)
	}
	if many := slices.Repeat(all, 11); recorded(on(record(many))) != nil {
		t.Error("a record that is too long counts")
	}
	if record(nil) != "" || recorded(nil) != nil || recorded(on("")) != nil || recorded(on(`{"uid": 7}`)) != nil {
		t.Error("nothing is something")
	}
	n := &v1alpha1.AcmeNamespace{}
	n.Spec.NamespaceName, n.Spec.AdminUsername = "app-a", "sam"
	r := &run{Scope: engine.Scope[*v1alpha1.AcmeNamespace]{Obj: n}, unreported: all, kind: kind{Options: Options{RetryMax: time.Minute}}}
	if got, want := r.sayUnreported(), `. The release of the former AcmeNamespace one (UID a) is not reported to billing yet, nor 1 more. `+
		`This is retried at least every 1m0s; to skip the report, set the annotation tenancy.acme.com/skip-billing: "true"`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEnded(t *testing.T) {
	alive := v1alpha1.AcmeNamespace{ObjectMeta: metav1.ObjectMeta{UID: "alive"}}
	got := ended([]unreported{{UID: "alive"}, {UID: "gone"}, {UID: ""}}, []v1alpha1.AcmeNamespace{alive})
	if diff := cmp.Diff([]unreported{{UID: "gone"}}, got); diff != "" {
		t.Error(diff)
	}
}

// What is not in this list is no guardrail, whatever marks it carries.
func TestGuardrailsAreKnownByName(t *testing.T) {
	at := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "app-a", Name: name} }
	for _, tc := range []struct {
		o    client.Object
		want bool
	}{
		{&corev1.ResourceQuota{ObjectMeta: at("dev")}, true},
		{&corev1.ResourceQuota{ObjectMeta: at("prod")}, true},
		{&corev1.ResourceQuota{ObjectMeta: at("gold")}, false},
		{&corev1.LimitRange{ObjectMeta: at("defaults")}, true},
		{&corev1.LimitRange{ObjectMeta: at("dev")}, false},
		{&networkingv1.NetworkPolicy{ObjectMeta: at("tenant-isolation")}, true},
		{&networkingv1.NetworkPolicy{ObjectMeta: at("namespace-admin")}, false},
		{&rbacv1.Role{ObjectMeta: at("namespace-admin")}, true},
		{&rbacv1.Role{ObjectMeta: at("backdoor")}, false},
		{&rbacv1.RoleBinding{ObjectMeta: at("namespace-admin")}, true},
		{&rbacv1.RoleBinding{ObjectMeta: at("backdoor")}, false},
		{&corev1.ConfigMap{ObjectMeta: at("namespace-admin")}, false},
	} {
		if got := isGuardrail(nil, tc.o); got != tc.want {
			t.Errorf("%T %s: %t", tc.o, tc.o.GetName(), got)
		}
	}
	var names []string
	for _, o := range leavable("app-a") {
		if !isGuardrail(nil, o) || o.GetNamespace() != "app-a" {
			t.Errorf("%T %s is no guardrail", o, o.GetName())
		}
		names = append(names, o.GetName())
	}
	if got := strings.Join(names, " "); got != "tenant-isolation dev stg prod" {
		t.Error(got)
	}
}
