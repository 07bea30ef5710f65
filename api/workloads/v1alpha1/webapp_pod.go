// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import corev1 "k8s.io/api/core/v1"

// PodOverlay is the part of a pod template that applications often need, with the field names of one. There is nothing in
// it that reaches out of the namespace: no host paths, host networks or privileges.
type PodOverlay struct {
	// volumes are what volumeMounts can mount: ConfigMaps, Secrets, PersistentVolumeClaims and empty folders.
	// Claims are the user's: they are neither made nor deleted here.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=30,displayName="Volumes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Volumes []Volume `json:"volumes,omitempty"`

	// volumeMounts say where volumes appear in the application's container.
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	// +kubebuilder:validation:MaxItems=32
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=31,displayName="Volume mounts",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`

	// initContainers run one after the other before the application starts.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=32,displayName="Init containers",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	InitContainers []Container `json:"initContainers,omitempty"`

	// sidecars run beside the application.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=33,displayName="Sidecars",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Sidecars []Container `json:"sidecars,omitempty"`

	// serviceAccountName is the ServiceAccount of the pods, whose token they get. Default: one of their own,
	// without a token.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of a ServiceAccount"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=34,displayName="Service account",xDescriptors={"urn:alm:descriptor:io.kubernetes:ServiceAccount","urn:alm:descriptor:com.tectonic.ui:advanced"}
	ServiceAccountName *string `json:"serviceAccountName,omitempty"`

	// imagePullSecrets are Secrets with credentials for the registries of the images.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=35,displayName="Image pull secrets",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// nodeSelector are labels that a node must have to run the pods.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=36,displayName="Node selector",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations are taints of nodes that do not keep the pods away.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=37,displayName="Tolerations",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// topologySpreadConstraints say how the pods are spread over nodes and zones. Default: the tier's.
	// +optional
	// +listType=map
	// +listMapKey=topologyKey
	// +kubebuilder:validation:MaxItems=8
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=38,displayName="Spread",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	TopologySpreadConstraints []Spread `json:"topologySpreadConstraints,omitempty"`

	// schedulerName is the scheduler of the pods. Default: the cluster's.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of a scheduler"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=39,displayName="Scheduler",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	SchedulerName *string `json:"schedulerName,omitempty"`

	// priorityClassName is the PriorityClass of the pods. Default: the cluster's.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=40,displayName="Priority class",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	PriorityClassName *string `json:"priorityClassName,omitempty"`

	// securityContext is the user that the pods run as. What is left out meets the Pod Security level restricted.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=41,displayName="Security context",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	SecurityContext *SecurityContext `json:"securityContext,omitempty"`
}

// Container is a container beside the application's.
type Container struct {
	// name is its name: a DNS-1123 label. app is the application's own.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && self != 'app'",message="must be a DNS-1123 label such as proxy; app is the application's own container"
	Name string `json:"name"`

	// image is its image.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[!-~]+$`
	Image string `json:"image"`

	// command replaces the image's entry point.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Command []string `json:"command,omitempty"`

	// args are the arguments.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Args []string `json:"args,omitempty"`

	// env are environment variables.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Env []corev1.EnvVar `json:"env,omitempty"`

	// envFrom takes environment variables from whole ConfigMaps and Secrets.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`

	// resources are its requests and limits. Default: those of the namespace's LimitRange.
	// +optional
	Resources *Resources `json:"resources,omitempty"`

	// volumeMounts say where volumes appear in it.
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	// +kubebuilder:validation:MaxItems=16
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
}

// Spread says how evenly the pods are spread over the values of a label of nodes.
type Spread struct {
	// topologyKey is the label, for instance topology.kubernetes.io/zone.
	// +required
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="must be the key of a label of nodes, such as topology.kubernetes.io/zone"
	TopologyKey string `json:"topologyKey"`

	// maxSkew is by how many pods two values may differ. 1 to 100, default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxSkew int32 `json:"maxSkew,omitempty"`

	// whenUnsatisfiable says what happens to a pod that would break this: ScheduleAnyway (default) or
	// DoNotSchedule.
	// +optional
	// +kubebuilder:default=ScheduleAnyway
	// +kubebuilder:validation:Enum=ScheduleAnyway;DoNotSchedule
	WhenUnsatisfiable corev1.UnsatisfiableConstraintAction `json:"whenUnsatisfiable,omitempty"`
}

// SecurityContext is the user that pods run as.
type SecurityContext struct {
	// runAsNonRoot refuses to run an image as root. Default true. With false the pods need a namespace whose
	// Pod Security level is not restricted.
	// +optional
	RunAsNonRoot *bool `json:"runAsNonRoot,omitempty"`

	// runAsUser is the number of the user. Default: the image's.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	RunAsUser *int64 `json:"runAsUser,omitempty"`

	// runAsGroup is the number of the group. Default: the image's.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	RunAsGroup *int64 `json:"runAsGroup,omitempty"`

	// fsGroup is the number of the group that owns the volumes. Default: none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	FSGroup *int64 `json:"fsGroup,omitempty"`

	// readOnlyRootFilesystem keeps the application from writing anywhere but into its volumes. Default false.
	// +optional
	ReadOnlyRootFilesystem *bool `json:"readOnlyRootFilesystem,omitempty"`
}

// Volume is a volume of the pods: a name and exactly one source.
//
// +kubebuilder:validation:XValidation:rule="[has(self.configMap), has(self.secret), has(self.persistentVolumeClaim), has(self.emptyDir)].exists_one(x, x)",message="must have exactly one of configMap, secret, persistentVolumeClaim and emptyDir"
type Volume struct {
	// name is what volumeMounts call the volume: a DNS-1123 label. webapp-config is taken by spec.config.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && self != 'webapp-config'",message="must be a DNS-1123 label such as data; webapp-config is taken by spec.config"
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

// DatabaseSecretReference names a Secret with the connection to a database, and what its keys are called. The defaults are the
// names of servicebinding.io.
type DatabaseSecretReference struct {
	// name is the name of the Secret, in the same namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of a Secret: lower-case letters, digits, '-' and '.', for instance shop-db"
	Name string `json:"name"`

	// hostKey is the key of the host, for DATABASE_HOST. Default host; "" for a Secret without it.
	// +optional
	// +kubebuilder:default=host
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]*$') && !self.matches('^([.]|[.][.].*)$')",message="must be a key of a Secret: letters, digits, '-', '_' and '.'; \"\" for none"
	HostKey *string `json:"hostKey,omitempty"`

	// portKey is the key of the port, for DATABASE_PORT. Default port; "" for a Secret without it.
	// +optional
	// +kubebuilder:default=port
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]*$') && !self.matches('^([.]|[.][.].*)$')",message="must be a key of a Secret: letters, digits, '-', '_' and '.'; \"\" for none"
	PortKey *string `json:"portKey,omitempty"`

	// usernameKey is the key of the user name, for DATABASE_USER. Default username; "" for a Secret without it.
	// +optional
	// +kubebuilder:default=username
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]*$') && !self.matches('^([.]|[.][.].*)$')",message="must be a key of a Secret: letters, digits, '-', '_' and '.'; \"\" for none"
	UsernameKey *string `json:"usernameKey,omitempty"`

	// passwordKey is the key of the password, for DATABASE_PASSWORD. Default password; "" for a Secret without it.
	// +optional
	// +kubebuilder:default=password
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]*$') && !self.matches('^([.]|[.][.].*)$')",message="must be a key of a Secret: letters, digits, '-', '_' and '.'; \"\" for none"
	PasswordKey *string `json:"passwordKey,omitempty"`

	// databaseKey is the key of the name of the database, for DATABASE_NAME. Default database; "" for a Secret without it.
	// +optional
	// +kubebuilder:default=database
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]*$') && !self.matches('^([.]|[.][.].*)$')",message="must be a key of a Secret: letters, digits, '-', '_' and '.'; \"\" for none"
	DatabaseKey *string `json:"databaseKey,omitempty"`

	// uriKey is the key of all of it as a URL, for DATABASE_URL. Default uri; "" for a Secret without it.
	// +optional
	// +kubebuilder:default=uri
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]*$') && !self.matches('^([.]|[.][.].*)$')",message="must be a key of a Secret: letters, digits, '-', '_' and '.'; \"\" for none"
	URIKey *string `json:"uriKey,omitempty"`
}
