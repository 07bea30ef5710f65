// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the API group views.acme.com: read-only views that are computed for who asks. An aggregated API server
// (cmd/views) serves them; there are no CustomResourceDefinitions.
//
// +kubebuilder:object:generate=true
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=com.acme.views.v1alpha1
// +groupName=views.acme.com
package v1alpha1
