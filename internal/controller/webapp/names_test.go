// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
)

func TestNoPolicyStandsInThePlaceOfAGuardrail(t *testing.T) {
	for _, called := range []string{"tenant-isolation", "tenant"} {
		a := app(common.TierDev)
		a.Name = called
		if got := policyName(a); got == "tenant-isolation" || !strings.HasPrefix(got, called) {
			t.Errorf("the NetworkPolicy of %s is called %s", called, got)
		}
	}
}

func TestNamesFitWhateverTheWebAppIsCalled(t *testing.T) {
	long := strings.Repeat("a", 61) + strings.Repeat("."+strings.Repeat("b", 63), 3)
	for _, name := range []string{"a", long, strings.Repeat("a", 63), "a.b", "0", "1st", "0." + long[2:], strings.Repeat("9", 63)} {
		a := app(common.TierDev, func(s *v1alpha1.WebAppSpec) { s.Config = map[string]v1alpha1.FileContent{"a": "b"} })
		a.Name = name
		if errs := validation.IsDNS1035Label(nameOf(a)); len(errs) > 0 {
			t.Errorf("%s: %q: %v", name, nameOf(a), errs)
		}
		for _, child := range []string{configName(a), policyName(a)} {
			if errs := validation.IsDNS1123Label(child); len(errs) > 0 {
				t.Errorf("%s: %q: %v", name, child, errs)
			}
		}
	}
}

func TestConfigNameFollowsFromTheContent(t *testing.T) {
	named := func(files map[string]v1alpha1.FileContent) string {
		return configName(app(common.TierDev, func(s *v1alpha1.WebAppSpec) { s.Config = files }))
	}
	seen := map[string]string{}
	for why, files := range map[string]map[string]v1alpha1.FileContent{
		"one": {"a": "b"}, "another": {"a": "c"}, "two": {"a": "b", "c": "d"}, "an empty one": {"a": ""},
		"what looks like two": {"a": "b\n1 c 1 d"}, "a longer name": {"ab": ""},
	} {
		name := named(files)
		if seen[name] != "" {
			t.Errorf("%s has the name of %s", why, seen[name])
		}
		seen[name] = why
		if name != named(files) {
			t.Errorf("%s has two names", why)
		}
	}
	if got := named(nil); got != "" {
		t.Errorf("none is called %q", got)
	}
}

func TestCopiesAreNoChildren(t *testing.T) {
	a := app(common.TierDev, func(s *v1alpha1.WebAppSpec) { s.Config = map[string]v1alpha1.FileContent{"a": "b"} })
	at := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	for _, tc := range []struct {
		child client.Object
		want  bool
	}{
		{&appsv1.Deployment{ObjectMeta: at("web")}, true},
		{&appsv1.Deployment{ObjectMeta: at("copy-of-web")}, false},
		{&appsv1.Deployment{ObjectMeta: at(configName(a))}, false},
		{&networkingv1.NetworkPolicy{ObjectMeta: at("web-webapp")}, true},
		{&networkingv1.NetworkPolicy{ObjectMeta: at("web")}, false},
		{&autorebootv1alpha1.ConfigWatcher{ObjectMeta: at("web-webapp")}, true},
		{&autorebootv1alpha1.ConfigWatcher{ObjectMeta: at("web")}, false},
		{&corev1.ConfigMap{ObjectMeta: at(configName(a))}, true},
		{&corev1.ConfigMap{ObjectMeta: at("web-config-0123456789")}, true},
		{&corev1.ConfigMap{ObjectMeta: at("child-" + configName(a))}, false},
		{&corev1.ConfigMap{ObjectMeta: at("web-config-notahexnum")}, false},
		{&corev1.ConfigMap{ObjectMeta: at("web")}, false},
		{&corev1.ConfigMap{ObjectMeta: at("w")}, false},
		{&batchv1.Job{ObjectMeta: at("web-migrate-0123456789")}, true},
		{&batchv1.Job{ObjectMeta: at("copy-of-web-migrate-0123456789")}, false},
		{&batchv1.Job{ObjectMeta: at("web-config-0123456789")}, false},
		{&appsv1.ControllerRevision{ObjectMeta: at("web-revision-0123456789")}, true},
		{&appsv1.ControllerRevision{ObjectMeta: at("web-migrate-0123456789")}, false},
	} {
		if got := proves(a, tc.child); got != tc.want {
			t.Errorf("%T %s: got %v", tc.child, tc.child.GetName(), got)
		}
	}
}
