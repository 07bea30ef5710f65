// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// portName is the port of the Service that the API server calls.
const portName = "https"

// world is what the caches hold. A field is nil while the object does not exist.
type world struct {
	apiService *unstructured.Unstructured
	owners     []metav1.OwnerReference
	secret     *corev1.Secret
	port       int32
	ready      bool
}

// watched are the types that are observed, each by the name of the one object, or by its labels.
func (o *Options) watched() map[client.Object]cache.ByObject {
	n := o.Names
	named := func(name string) fields.Selector { return fields.OneTermEqualSelector("metadata.name", name) }
	in := func(c cache.Config) cache.ByObject {
		return cache.ByObject{Namespaces: map[string]cache.Config{n.Namespace: c}}
	}
	return map[client.Object]cache.ByObject{
		newAPIService():              {Field: named(apiServiceName)},
		&rbacv1.ClusterRole{}:        o.anchors(),
		&corev1.Secret{}:             in(cache.Config{FieldSelector: named(n.Secret())}),
		&corev1.Service{}:            in(cache.Config{FieldSelector: named(n.Service)}),
		&discoveryv1.EndpointSlice{}: in(cache.Config{LabelSelector: labels.SelectorFromSet(slicesOf(n))}),
	}
}

func slicesOf(n Names) labels.Set { return labels.Set{discoveryv1.LabelServiceName: n.Service} }

// look reads the caches.
func (o *Options) look(ctx context.Context, from client.Reader) (world, error) {
	var w world
	n := o.Names
	apiService, secret, service := newAPIService(), &corev1.Secret{}, &corev1.Service{}
	for _, o := range []struct {
		client.Object
		key  client.ObjectKey
		take func()
	}{
		{apiService, client.ObjectKey{Name: apiServiceName}, func() { w.apiService = apiService }},
		{secret, client.ObjectKey{Namespace: n.Namespace, Name: n.Secret()}, func() { w.secret = secret }},
		{service, client.ObjectKey{Namespace: n.Namespace, Name: n.Service}, func() { w.port = portOf(service) }},
	} {
		err := from.Get(ctx, o.key, o.Object)
		if err != nil && !apierrors.IsNotFound(err) {
			return world{}, fmt.Errorf("reading %T %s: %w", o.Object, o.key.Name, err)
		}
		if err == nil && o.GetDeletionTimestamp().IsZero() {
			o.take()
		}
	}
	roles := &rbacv1.ClusterRoleList{}
	if err := from.List(ctx, roles); err != nil {
		return world{}, fmt.Errorf("listing the ClusterRoles that own the registration: %w", err)
	}
	w.owners = o.owners(roles.Items)
	slices := &discoveryv1.EndpointSliceList{}
	if err := from.List(ctx, slices, client.InNamespace(n.Namespace), client.MatchingLabels(slicesOf(n))); err != nil {
		return world{}, fmt.Errorf("listing the EndpointSlices of the Service %s: %w", n.Service, err)
	}
	w.ready = service.Spec.Type == corev1.ServiceTypeExternalName || anyReady(slices.Items)
	return w, nil
}

// portOf returns the number of the port; zero if the Service has none of that name.
func portOf(s *corev1.Service) int32 {
	for _, p := range s.Spec.Ports {
		if p.Name == portName {
			return p.Port
		}
	}
	return 0
}

// anyReady reports whether any endpoint is ready. One that does not say counts, as it does for kube-proxy.
func anyReady(slices []discoveryv1.EndpointSlice) bool {
	for i := range slices {
		for _, e := range slices[i].Endpoints {
			if ready := e.Conditions.Ready; ready == nil || *ready {
				return true
			}
		}
	}
	return false
}
