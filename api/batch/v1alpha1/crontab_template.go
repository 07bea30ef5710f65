// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

// PodTemplate is the supported part of a pod template.
type PodTemplate struct {
	// metadata is set on the pods in addition to the operator's own labels and annotations.
	// +optional
	Metadata PodMetadata `json:"metadata,omitzero"`

	// spec configures the pods apart from their container.
	// +optional
	Spec PodSpec `json:"spec,omitzero"`
}

// PodMetadata is metadata of pods.
type PodMetadata struct {
	// labels of the pods. Keys of *kubernetes.io, *k8s.io and *acme.com and the keys job-name and
	// controller-uid are rejected, because Kubernetes and this operator select pods by them.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.matches('^([^/]*[.])?(kubernetes[.]io|k8s[.]io|acme[.]com)/') && !(k in ['job-name', 'controller-uid']))",message="keys of *kubernetes.io, *k8s.io and *acme.com and the keys job-name and controller-uid are reserved: pods are found by them; use a prefix of your own"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue())",message="every key must be a label key: an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' or '.'"
	// +kubebuilder:validation:XValidation:rule="self.all(k, self[k].matches('^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$'))",message="every value must be a label value: at most 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit"
	Labels map[string]LabelValue `json:"labels,omitempty"`

	// annotations of the pods. Keys of *acme.com are rejected.
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

// PodSpec configures the pods of a run apart from their container. It cannot reach outside the namespace: there
// are no host paths, host networks or privileges.
type PodSpec struct {
	// serviceAccountName is the ServiceAccount of the pods, whose token is mounted. Default: the namespace's
	// default one, without a token.
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

	// tolerations are the taints of nodes that the pods tolerate.
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

	// securityContext sets the user that the pods run as. The defaults meet the Pod Security level restricted:
	// not root, with the runtime's seccomp profile.
	// +optional
	SecurityContext PodSecurityContext `json:"securityContext,omitzero"`

	// readOnlyRootFilesystem lets the container write into its volumes only. Default false.
	// +optional
	ReadOnlyRootFilesystem bool `json:"readOnlyRootFilesystem,omitempty"`

	// volumes are what volumeMounts can mount: ConfigMaps, Secrets, PersistentVolumeClaims and empty
	// directories.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Volumes []Volume `json:"volumes,omitempty"`
}

// PodSecurityContext sets the user that pods run as.
type PodSecurityContext struct {
	// runAsNonRoot rejects images that run as root. Default true. With false the pods need a namespace whose
	// Pod Security level is not restricted.
	// +optional
	RunAsNonRoot *bool `json:"runAsNonRoot,omitempty"`

	// runAsUser is the user ID. Default: the image's user.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	RunAsUser *int64 `json:"runAsUser,omitempty"`

	// runAsGroup is the group ID. Default: the image's group.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	RunAsGroup *int64 `json:"runAsGroup,omitempty"`

	// fsGroup is the ID of the group that owns the volumes. Default: none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	FSGroup *int64 `json:"fsGroup,omitempty"`
}

// Volume is a volume of the pods: a name and exactly one source.
//
// +kubebuilder:validation:XValidation:rule="[has(self.configMap), has(self.secret), has(self.persistentVolumeClaim), has(self.emptyDir)].exists_one(x, x)",message="must have exactly one of configMap, secret, persistentVolumeClaim and emptyDir"
type Volume struct {
	// name is the name that volumeMounts refer to: a DNS-1123 label.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// configMap mounts the keys of a ConfigMap as files.
	// +optional
	ConfigMap *corev1.ConfigMapVolumeSource `json:"configMap,omitempty"`

	// secret mounts the keys of a Secret as files.
	// +optional
	Secret *corev1.SecretVolumeSource `json:"secret,omitempty"`

	// persistentVolumeClaim is a volume that outlives the pods.
	// +optional
	PersistentVolumeClaim *corev1.PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim,omitempty"`

	// emptyDir is an empty directory that exists as long as the pod.
	// +optional
	EmptyDir *corev1.EmptyDirVolumeSource `json:"emptyDir,omitempty"`
}
