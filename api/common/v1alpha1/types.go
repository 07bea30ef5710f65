// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the types that several API groups of the operator share.
//
// The group is a name for the reference only: nothing serves it.
//
// +groupName=common.acme.com
// +kubebuilder:object:generate=true
package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Status is the part of the status that every kind of the operator has.
type Status struct {
	// observedGeneration is the metadata.generation that this status describes. While it is smaller than
	// metadata.generation, the rest of the status is about an older spec. It is -1 until the operator has seen
	// the object, so that tools do not consider a new object ready.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=98,displayName="Observed generation",xDescriptors={"urn:alm:descriptor:text"}
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are the state of the object, one for each step, in the order of the steps, and the summary
	// Ready. A condition that has not been reached is Unknown with the reason NotReached.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=99,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// TierName names a deployment tier, which sets how critical a namespace or an application is.
// +kubebuilder:validation:Enum=dev;stg;prod
type TierName string

// The deployment tiers.
const (
	// TierDev is for development: small quota, permissive network.
	TierDev TierName = "dev"
	// TierStg is for staging: the guardrails of production at a smaller size.
	TierStg TierName = "stg"
	// TierProd is for production.
	TierProd TierName = "prod"
)
