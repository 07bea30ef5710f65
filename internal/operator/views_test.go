// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/testenv"
)

const viewsService = "platform-operator-views"

// registersViews shows that the section of the configuration reaches the registration, which internal/registration tests.
func registersViews(t *testing.T, w *world) {
	exists := func(o client.Object) bool { return w.admin.Get(t.Context(), client.ObjectKeyFromObject(o), o) == nil }
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: viewsService + "-cert"}}
	w.eventually("the certificate is there, for pods to start", func() bool { return exists(secret) && len(secret.Data["tls.key"]) > 0 })

	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: viewsService}}
	service.Spec.Type, service.Spec.ExternalName = corev1.ServiceTypeExternalName, "localhost"
	service.Spec.Ports = []corev1.ServicePort{{Name: "https", Port: 443}}
	w.must(w.admin.Create(t.Context(), service))
	registration := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "v1alpha1.views.acme.com"}}
	registration.APIVersion, registration.Kind = "apiregistration.k8s.io/v1", "APIService"
	w.eventually("it is registered by default", func() bool { return exists(registration) })
	cm := configMap("views: {state: Disabled}\n")
	w.must(w.admin.Create(t.Context(), cm))
	w.eventually("it is not", func() bool { return !exists(registration) })
	w.must(w.admin.Delete(t.Context(), service))
	w.must(w.admin.Delete(t.Context(), cm))
}
