// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of the types in this package.
var GroupVersion = schema.GroupVersion{Group: "views.acme.com", Version: "v1alpha1"}

// AddToScheme registers the types of this package.
func AddToScheme(s *runtime.Scheme) error {
	AddTypes(s, GroupVersion)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// AddTypes registers the types of this package under a version of the group: servers have an internal one too.
func AddTypes(s *runtime.Scheme, version schema.GroupVersion) {
	s.AddKnownTypes(version,
		&MyNamespace{}, &MyNamespaceList{}, &NamespaceUsage{}, &NamespaceUsageList{}, &TenantUsage{}, &TenantUsageList{})
}
