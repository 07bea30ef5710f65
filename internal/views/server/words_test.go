// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/acme/platform-operator/api/views/v1alpha1"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

func group(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: name}
}

func user(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
}

// grant binds a ClusterRole in a namespace.
func grant(namespace, role string, subjects ...rbacv1.Subject) *rbacv1.RoleBinding {
	GinkgoHelper()
	return Create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "grant-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}, Subjects: subjects,
	})
}

// views is a client for the API, with the access of a user.
func views(cfg *rest.Config) *rest.RESTClient {
	GinkgoHelper()
	own := rest.CopyConfig(cfg)
	own.GroupVersion, own.APIPath = &v1alpha1.GroupVersion, "/apis"
	own.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	own.QPS = -1
	c, err := rest.RESTClientFor(own)
	Expect(err).NotTo(HaveOccurred())
	return c
}

// myNamespaces lists what a user sees.
func myNamespaces(cfg *rest.Config, opts ...metav1.ListOptions) (*v1alpha1.MyNamespaceList, error) {
	GinkgoHelper()
	list := &v1alpha1.MyNamespaceList{}
	r := views(cfg).Get().Resource("mynamespaces")
	for _, o := range opts {
		r = r.VersionedParams(&o, runtime.NewParameterCodec(scheme))
	}
	return list, r.Do(ctx).Into(list)
}

// namesOf are the names of what a user sees now.
func namesOf(cfg *rest.Config) func(g Gomega) []string {
	return func(g Gomega) []string {
		list, err := myNamespaces(cfg)
		g.Expect(err).NotTo(HaveOccurred())
		names := []string{}
		for _, n := range list.Items {
			names = append(names, n.Name)
		}
		return names
	}
}

// labelSet are labels as selectors want them.
func labelSet(l map[string]string) labels.Set { return l }
