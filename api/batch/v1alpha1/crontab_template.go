// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

// PodTemplate is the part of a pod template that a run may need.
type PodTemplate struct {
	// metadata is put on the pods beside what the operator sets.
	// +optional
	Metadata PodMetadata `json:"metadata,omitzero"`

	// spec is what the pods have beside their container.
	// +optional
	Spec PodSpec `json:"spec,omitzero"`
}

// PodMetadata is put on pods.
type PodMetadata struct {
	// labels of the pods. Keys of *kubernetes.io, *k8s.io and *acme.com and the keys job-name and
	// controller-uid are refused, because Kubernetes and this operator find the pods by them.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.matches('^([^/]*[.])?(kubernetes[.]io|k8s[.]io|acme[.]com)/') && !(k in ['job-name', 'controller-uid']))",message="keys of *kubernetes.io, *k8s.io and *acme.com and the keys job-name and controller-uid are reserved: pods are found by them; use a prefix of your own"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue())",message="every key must be a label key: an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' or '.'"
	// +kubebuilder:validation:XValidation:rule="self.all(k, self[k].matches('^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$'))",message="every value must be a label value: at most 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit"
	Labels map[string]LabelValue `json:"labels,omitempty"`

	// annotations of the pods. Keys of *acme.com are refused.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.matches('^([^/]*[.])?acme[.]com/'))",message="keys of *acme.com are reserved; use a prefix of your own"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue())",message="every key must be an annotation key: an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' or '.'"
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`
}

// LabelValue is the value of a label.
// +kubebuilder:validation:MaxLength=63
type LabelValue string

// AnnotationValue is the value of an annotation.
// +kubebuilder:validation:MaxLength=4096
type AnnotationValue string

// PodSpec is what the pods of a run have beside their container. There is nothing in it that reaches out of
// the namespace: no host paths, host networks or privileges.
type PodSpec struct {
	// serviceAccountName is the ServiceAccount of the pods, whose token they get. Default: the
	// namespace's default one, without a token.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || !format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of a ServiceAccount"
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// imagePullSecrets are Secrets with credentials for the image's registry.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// nodeSelector are labels that a node must have to run the pods.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations are taints of nodes that do not keep the pods away.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// priorityClassName is the PriorityClass of the pods. Default: the cluster's default.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// terminationGracePeriodSeconds is how long the pods have to end when they are stopped, in seconds. 0 to
	// 86400, default 30.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`

	// securityContext says as whom the pods run. What is left out meets the Pod Security level restricted:
	// not as root, with the runtime's seccomp profile.
	// +optional
	SecurityContext PodSecurityContext `json:"securityContext,omitzero"`

	// readOnlyRootFilesystem keeps the container from writing anywhere but into its volumes. Default false.
	// +optional
	ReadOnlyRootFilesystem bool `json:"readOnlyRootFilesystem,omitempty"`

	// volumes are what volumeMounts can mount: ConfigMaps, Secrets, PersistentVolumeClaims and empty
	// folders.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Volumes []Volume `json:"volumes,omitempty"`
}

// PodSecurityContext says as whom pods run.
type PodSecurityContext struct {
	// runAsNonRoot refuses to run the image as root. Default true. With false the pods need a namespace
	// whose Pod Security level is not restricted.
	// +optional
	RunAsNonRoot *bool `json:"runAsNonRoot,omitempty"`

	// runAsUser is the number of the user. Default: the image's user.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	RunAsUser *int64 `json:"runAsUser,omitempty"`

	// runAsGroup is the number of the group. Default: the image's group.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	RunAsGroup *int64 `json:"runAsGroup,omitempty"`

	// fsGroup is the number of the group that owns the volumes. Default: none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	FSGroup *int64 `json:"fsGroup,omitempty"`
}

// Volume is a volume of the pods: a name and exactly one source.
//
// +kubebuilder:validation:XValidation:rule="[has(self.configMap), has(self.secret), has(self.persistentVolumeClaim), has(self.emptyDir)].exists_one(x, x)",message="must have exactly one of configMap, secret, persistentVolumeClaim and emptyDir"
type Volume struct {
	// name is what volumeMounts call the volume: a DNS-1123 label.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// configMap shows the keys of a ConfigMap as files.
	// +optional
	ConfigMap *corev1.ConfigMapVolumeSource `json:"configMap,omitempty"`

	// secret shows the keys of a Secret as files.
	// +optional
	Secret *corev1.SecretVolumeSource `json:"secret,omitempty"`

	// persistentVolumeClaim is a volume that outlives the pods.
	// +optional
	PersistentVolumeClaim *corev1.PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim,omitempty"`

	// emptyDir is a folder that is there as long as the pod.
	// +optional
	EmptyDir *corev1.EmptyDirVolumeSource `json:"emptyDir,omitempty"`
}
