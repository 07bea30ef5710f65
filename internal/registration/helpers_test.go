// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/registration"
	"github.com/acme/platform-operator/internal/testenv/limit"
)

// in is the cluster as a subtest sees it.
func (c *cluster) in(t *testing.T) *cluster {
	out := &cluster{T: t, reader: c.reader, stop: func() {}, began: c.began}
	out.ahead.Store(c.ahead.Load())
	return out
}

// took checks how long something took, where tests may assert that.
func (c *cluster) took(what string, took, most time.Duration) {
	c.Helper()
	if limit.Selected(limit.Timed) && took > most {
		c.Errorf("%s took %s, want at most %s", what, took, most)
	}
}

// notBefore checks that the API is still registered, unless it is later than some time of the operator's: on a busy machine, it may be.
func (c *cluster) notBefore(then time.Time) {
	c.Helper()
	if gone := c.registered() == nil; gone && c.time().Before(then) {
		c.Fatal("it is gone before its time")
	}
}

// noticed waits until the API server knows that it cannot reach the reader. It looks every half minute, and after each change.
func (c *cluster) noticed() {
	c.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"nudge":"%s"}}}`, time.Now())
	c.must(admin.Patch(c.Context(), registration.NewAPIService(), client.RawPatch(types.MergePatchType, patch)))
	c.eventually("the API server notices", func() bool { return !c.available() })
}

// clusterIP makes the Service an ordinary one, with an endpoint that is ready or not.
func (c *cluster) clusterIP(ready bool) {
	c.Helper()
	s := &corev1.Service{}
	key := client.ObjectKey{Namespace: ops, Name: service}
	c.must(admin.Get(c.Context(), key, s))
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		s.Spec = corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443}}}
		c.must(admin.Update(c.Context(), s))
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: ops, Name: service + "-1", Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.1.2.3"}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
	}
	err := admin.Create(c.Context(), slice.DeepCopy())
	if apierrors.IsAlreadyExists(err) {
		live := &discoveryv1.EndpointSlice{}
		c.must(admin.Get(c.Context(), client.ObjectKeyFromObject(slice), live))
		live.Endpoints = slice.Endpoints
		err = admin.Update(c.Context(), live)
	} else {
		c.Cleanup(func() { c.remove(slice) })
	}
	c.must(err)
}

// deletedNamespace is a Namespace with something in it, of which the deletion has begun.
func (c *cluster) deletedNamespace(name string) *corev1.Namespace {
	c.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.must(admin.Create(c.Context(), ns))
	c.must(admin.Create(c.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "content"}}))
	c.must(admin.Delete(c.Context(), ns))
	return ns
}

func gone(ns *corev1.Namespace) func() bool {
	return func() bool {
		return apierrors.IsNotFound(admin.Get(context.Background(), client.ObjectKeyFromObject(ns), &corev1.Namespace{}))
	}
}

// blocked reports whether a Namespace that is being deleted cannot be, because an API does not answer, or no longer has to wait for that:
// on a busy machine, the API may be unregistered by then.
func (c *cluster) blocked(ns *corev1.Namespace) func() bool {
	return func() bool {
		o := &corev1.Namespace{}
		err := admin.Get(context.Background(), client.ObjectKeyFromObject(ns), o)
		if c.registered() == nil {
			return true
		}
		c.must(err)
		return slices.ContainsFunc(o.Status.Conditions, func(condition corev1.NamespaceCondition) bool {
			return condition.Type == corev1.NamespaceDeletionDiscoveryFailure && condition.Status == corev1.ConditionTrue
		})
	}
}

// collects checks that garbage is collected.
func (c *cluster) collects(name string) {
	c.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name + "-owner"}}
	c.must(admin.Create(c.Context(), owner))
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name + "-child",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}},
	}}
	c.must(admin.Create(c.Context(), child))
	c.must(admin.Delete(c.Context(), owner))
	c.eventually("garbage is collected", func() bool {
		return apierrors.IsNotFound(admin.Get(context.Background(), client.ObjectKeyFromObject(child), child))
	})
}

// isForbidden reports whether an error is a refusal with a text; without a text, whether there is no error.
func isForbidden(err error, text string) bool {
	if text == "" {
		return err == nil
	}
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), text)
}

func bundle(u *unstructured.Unstructured) []byte {
	text, _, _ := unstructured.NestedString(u.Object, "spec", "caBundle")
	out, _ := base64.StdEncoding.DecodeString(text)
	return out
}
