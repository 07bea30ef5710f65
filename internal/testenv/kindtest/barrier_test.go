// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kindtest

import (
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
)

func TestLooks(t *testing.T) {
	gomega.RegisterTestingT(t)
	l, n := &looks{}, &tenancyv1alpha1.AcmeNamespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	check := func(o client.Object, want seen) {
		t.Helper()
		if got := l.of(o); got != want {
			t.Errorf("of %T %s: got %+v, want %+v", o, o.GetName(), got, want)
		}
	}
	check(n, seen{})
	l.ran("acmenamespace", client.ObjectKey{Name: "a"}, "999")
	l.ran("acmenamespace", client.ObjectKey{Name: "a"}, "1000")
	l.ran("acmenamespace", client.ObjectKey{Name: "a"}, "998") // of a cache that lags behind, after a restart
	l.ran("crontab", client.ObjectKey{Name: "a"}, "2000")
	l.ran("configmap-annotation", client.ObjectKey{Namespace: "ns", Name: "a"}, "3000")
	check(n, seen{runs: 3, version: 1000})
	check(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}, seen{runs: 1, version: 3000})
	check(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "a"}}, seen{})
}
