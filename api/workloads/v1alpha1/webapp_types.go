// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// WebAppSpec is what the application is, and how it is reached.
//
// +kubebuilder:validation:XValidation:rule="!has(self.ports) || self.ports.all(p, p.port != (has(self.port) ? self.port : 8080))",message="must not name the port that spec.port is: it is served already, under the name http",fieldPath=".ports"
// +kubebuilder:validation:XValidation:rule="!has(self.probes) || !has(self.probes.readiness) || !has(self.probes.readiness.port) || self.probes.readiness.port == (has(self.port) ? self.port : 8080) || (has(self.ports) && self.ports.exists(p, p.port == self.probes.readiness.port && (!has(p.protocol) || p.protocol == 'TCP')))",message="must be spec.port or a TCP port of spec.ports: a probe of another port can never pass",fieldPath=".probes.readiness.port"
// +kubebuilder:validation:XValidation:rule="!has(self.probes) || !has(self.probes.liveness) || !has(self.probes.liveness.port) || self.probes.liveness.port == (has(self.port) ? self.port : 8080) || (has(self.ports) && self.ports.exists(p, p.port == self.probes.liveness.port && (!has(p.protocol) || p.protocol == 'TCP')))",message="must be spec.port or a TCP port of spec.ports: a probe of another port can never pass",fieldPath=".probes.liveness.port"
// +kubebuilder:validation:XValidation:rule="!has(self.probes) || !has(self.probes.startup) || !has(self.probes.startup.port) || self.probes.startup.port == (has(self.port) ? self.port : 8080) || (has(self.ports) && self.ports.exists(p, p.port == self.probes.startup.port && (!has(p.protocol) || p.protocol == 'TCP')))",message="must be spec.port or a TCP port of spec.ports: a probe of another port can never pass",fieldPath=".probes.startup.port"
// +kubebuilder:validation:XValidation:rule="!has(self.volumeMounts) || self.volumeMounts.all(m, has(self.volumes) && self.volumes.exists(v, v.name == m.name))",message="every name must be that of a volume of spec.volumes",fieldPath=".volumeMounts"
// +kubebuilder:validation:XValidation:rule="!has(self.initContainers) || self.initContainers.all(c, !has(c.volumeMounts) || c.volumeMounts.all(m, has(self.volumes) && self.volumes.exists(v, v.name == m.name)))",message="every name in volumeMounts must be that of a volume of spec.volumes",fieldPath=".initContainers"
// +kubebuilder:validation:XValidation:rule="!has(self.sidecars) || self.sidecars.all(c, !has(c.volumeMounts) || c.volumeMounts.all(m, has(self.volumes) && self.volumes.exists(v, v.name == m.name)))",message="every name in volumeMounts must be that of a volume of spec.volumes",fieldPath=".sidecars"
// +kubebuilder:validation:XValidation:rule="!has(self.config) || !has(self.volumeMounts) || self.volumeMounts.all(m, m.mountPath != '/etc/webapp')",message="must not have the mountPath /etc/webapp, where spec.config is",fieldPath=".volumeMounts"
// +kubebuilder:validation:XValidation:rule="!has(self.initContainers) || !has(self.sidecars) || self.initContainers.all(c, self.sidecars.all(s, s.name != c.name))",message="must not have the name of one of spec.initContainers",fieldPath=".sidecars"
// +kubebuilder:validation:XValidation:rule="!has(self.migration) || self.webAppImage.contains('@sha256:') || (self.webAppImage.matches(':[A-Za-z0-9_][-A-Za-z0-9_.]*$') && !self.webAppImage.endsWith(':latest'))",message="needs a webAppImage with a tag other than latest, or a digest: a migration runs once for each image, which has to be told from others by its name",fieldPath=".migration"
// +kubebuilder:validation:XValidation:rule="!has(self.publish) || !has(self.publish.externalName) || self.publish.externalName != self.webAppHostname",message="must not be webAppHostname, under which the application is reached already",fieldPath=".publish.externalName"
type WebAppSpec struct {
	// webAppImage is the container image of the application, with a tag or a digest, for instance
	// registry.acme.com/app/app:v1.4. A change rolls the pods.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?([.][a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?)*(:[0-9]{1,5})?/)?[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*)*(:[A-Za-z0-9_][-A-Za-z0-9_.]{0,127})?(@sha256:[a-f0-9]{64})?$')",message="must be the reference of an image, such as registry.acme.com/app/app:v1.4: a host, a path in lower case, and a tag or a digest"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=1,displayName="Image",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	WebAppImage string `json:"webAppImage"`

	// webAppHostname is the DNS name under which the application is reached from outside, for instance
	// app.acme.com. Together with ingress.path it belongs to one WebApp of the cluster: the one that had
	// it first. Names in other scripts are written in their xn-- form.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue() && self.split('.').all(l, size(l) <= 63) && !self.matches('(^|[.])[0-9]+$')",message="must be a DNS name such as app.acme.com: labels of at most 63 lower-case letters, digits and '-', separated by dots; no wildcard, no address, and other scripts in their xn-- form"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=2,displayName="Host name",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	WebAppHostname string `json:"webAppHostname"`

	// deploymentTier is dev, stg or prod. It decides the defaults of replicas, resources, spread, probes,
	// disruptions and history, each of which a field of this spec overrides.
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=3,displayName="Deployment tier",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:dev","urn:alm:descriptor:com.tectonic.ui:select:stg","urn:alm:descriptor:com.tectonic.ui:select:prod"}
	DeploymentTier common.TierName `json:"deploymentTier"`

	// webAppReplicas is how many pods there are, 0 to 100. Left out, the application starts with 2 (prod: 3),
	// and users who scale the Deployment after that are not overruled. With autoscaling it does not count.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=4,displayName="Replicas",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	WebAppReplicas *int32 `json:"webAppReplicas,omitempty"`

	// port is the TCP port that the application listens at. It is served as the port 80 of the Service, under
	// the name http. 1 to 65535, default 8080.
	// +optional
	// +kubebuilder:default=8080
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=5,displayName="Port",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Port int32 `json:"port,omitempty"`

	// ports are further ports of the application. The Service has each under its own number and name, so that
	// DNS has an SRV record for it. They are reached inside the cluster only.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(a, a.port != 80 && self.exists_one(b, a.port == b.port))",message="every port must be a number of its own, and not 80, which the Service has for spec.port"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=6,displayName="Further ports",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Ports []Port `json:"ports,omitempty"`

	// command replaces the image's entry point. Default: the image's.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=7,displayName="Command",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Command []string `json:"command,omitempty"`

	// args are the arguments. They are readable by everybody who may see pods: put secrets into env, from a
	// Secret. Default: the image's, unless command is given.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=8,displayName="Arguments",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Args []string `json:"args,omitempty"`

	// env are environment variables of the application.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=9,displayName="Environment variables",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Env []corev1.EnvVar `json:"env,omitempty"`

	// envFrom takes environment variables from whole ConfigMaps and Secrets. A change of those rolls the pods
	// with restartOnChange only.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=10,displayName="Environment from ConfigMaps and Secrets",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`

	// restartOnChange rolls the pods when the content of a ConfigMap or Secret changes from which env or envFrom
	// of any of their containers takes variables: once for each change, by a ConfigWatcher of the WebApp. Volumes
	// do not count, because Kubernetes updates their files in running pods. Default false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=23,displayName="Restart on change",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	RestartOnChange bool `json:"restartOnChange,omitempty"`

	// databaseSecretRef names the Secret with the connection to a database. No pod of a version starts before it
	// exists and has its keys, which the application and its migration get as the environment variables
	// DATABASE_HOST, DATABASE_PORT, DATABASE_USER, DATABASE_PASSWORD, DATABASE_NAME and DATABASE_URL. When one of them
	// changes, the pods roll once. A variable of the same name in env replaces it. Default: no database.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=24,displayName="Secret of the database",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	DatabaseSecretRef *DatabaseSecretReference `json:"databaseSecretRef,omitempty"`

	// config are files of the application: names and contents, shown in /etc/webapp. A change rolls the
	// pods; those of before keep the files that they have started with. At most 1 MiB in all, and 524,288
	// characters each.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 253 && k.matches('^[-._a-zA-Z0-9]+$') && !k.matches('^([.]|[.][.].*)$'))",message="every key must be the name of a file: at most 253 letters, digits, '-', '_' and '.', not beginning with '..'"
	// +kubebuilder:validation:XValidation:rule="self.map(k, size(k) + size(bytes(self[k]))).sum() <= 1048576",message="must not be larger than 1 MiB in all, names included; put large files into the image or a volume"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=11,displayName="Configuration files",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Config map[string]FileContent `json:"config,omitempty"`

	// resources are the requests and limits of the application's container. Default: those of the tier,
	// until somebody else sets them on the Deployment.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=12,displayName="Requests and limits",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements"}
	Resources *Resources `json:"resources,omitempty"`

	// probes say how Kubernetes finds out whether the application serves, and whether it has to be
	// restarted. Default: a TCP connection to port, as often as the tier says.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=13,displayName="Probes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Probes *Probes `json:"probes,omitempty"`

	// ingress is how the application is reached from outside.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=14,displayName="Ingress",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Ingress *Ingress `json:"ingress,omitempty"`

	// publish makes the application known to those outside who know nothing of Kubernetes.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=25,displayName="Publish",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Publish *Publish `json:"publish,omitempty"`

	// autoscaling scales the application by its use of cpu. The number of replicas is then not the
	// operator's business. Default: none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=15,displayName="Autoscaling",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Autoscaling *Autoscaling `json:"autoscaling,omitempty"`

	// migration is a command of the image, such as one that changes the tables of a database, that has to succeed
	// once before the first pod of a new image starts. While it runs, and when it fails, the version of before
	// continues to serve. Default: none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=22,displayName="Migration",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Migration *Migration `json:"migration,omitempty"`

	// strategy is how pods are replaced. Default: one new pod after the other, and none goes before the new one
	// serves.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=16,displayName="Rollout strategy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:updateStrategy"}
	Strategy *Strategy `json:"strategy,omitempty"`

	// drainSeconds is how long a pod that is to end continues to serve, until all have noticed that it is no
	// endpoint any more. 0 to 300, default 5.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=300
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=17,displayName="Seconds to drain",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"}
	DrainSeconds *int32 `json:"drainSeconds,omitempty"`

	// terminationGracePeriodSeconds is how long a pod has to end after it was drained. 0 to 86400, default 30.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=18,displayName="Seconds to end",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"}
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`

	// revisionHistoryLimit is how many old ReplicaSets the Deployment keeps. rollbackTo needs none of them. 0 to 20.
	// Default: the tier's.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=20
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=19,displayName="Old ReplicaSets",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"}
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// maxUnavailable is how many pods, or how many percent of them, may be missing while nodes are drained.
	// Default: the tier's. A single pod has no such budget.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 100 : self.matches('^([1-9][0-9]?|100)%$')",message="must be a number from 1 to 100, or from 1% to 100%: with 0, no node could ever be drained"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=20,displayName="Pods that may be missing",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	MaxUnavailable *IntOrPercent `json:"maxUnavailable,omitempty"`

	// isolation says who reaches the pods: Ingress (default) lets in the namespace itself and the ingress
	// controllers; None makes no NetworkPolicy, so that the namespace's own policies alone decide.
	// +optional
	// +kubebuilder:default=Ingress
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=21,displayName="Isolation",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Ingress","urn:alm:descriptor:com.tectonic.ui:select:None"}
	Isolation Isolation `json:"isolation,omitempty"`

	WebAppRollout `json:",inline"`

	PodOverlay `json:",inline"`
}

// FileContent is the content of a file.
// +kubebuilder:validation:MaxLength=524288
type FileContent string

// Isolation says who reaches the pods.
// +kubebuilder:validation:Enum=Ingress;None
type Isolation string

const (
	// IsolationIngress lets in the namespace itself and the ingress controllers.
	IsolationIngress Isolation = "Ingress"
	// IsolationNone makes no NetworkPolicy.
	IsolationNone Isolation = "None"
)

// WebApp is a web application: pods of an image, a stable name inside the cluster and a host name
// outside, with the defaults of a tier.
//
// +operator-sdk:csv:customresourcedefinitions:order=6,displayName="Web Application",resources={{Deployment,v1,""},{Service,v1,""},{Ingress,v1,""},{ConfigMap,v1,""},{ServiceAccount,v1,""},{PodDisruptionBudget,v1,""},{HorizontalPodAutoscaler,v2,""},{NetworkPolicy,v1,""},{Job,v1,""},{ControllerRevision,v1,""},{ConfigWatcher,v1alpha1,""}}
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.webAppReplicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:scope=Namespaced,shortName=wa,categories=acme
// +kubebuilder:printcolumn:name="Host",type=string,JSONPath=`.spec.webAppHostname`
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.status.image`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Replicas",type=string,JSONPath=`.status.pods`
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.servingRevision`
// +kubebuilder:printcolumn:name="URL",type=string,priority=1,JSONPath=`.status.url`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type WebApp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the application is, and how it is reached.
	// +required
	Spec WebAppSpec `json:"spec"`
	// status is how the application does.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status WebAppStatus `json:"status,omitempty"`
}

// CommonStatus is the part of the status that every kind has.
func (a *WebApp) CommonStatus() *common.Status { return &a.Status.Status }

// WebAppStatus is how the application does.
type WebAppStatus struct {
	common.Status `json:",inline"`

	// created is true once every child that was asked for has existed.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=1,displayName="Created",xDescriptors={"urn:alm:descriptor:text"}
	Created bool `json:"created,omitempty"`

	// url is where the application is reached from outside, while its host name is its own.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=2,displayName="URL",xDescriptors={"urn:alm:descriptor:org.w3:link"}
	URL string `json:"url,omitempty"`

	// image is the image that serves: the last one of which all pods were available.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=3,displayName="Image",xDescriptors={"urn:alm:descriptor:text"}
	Image string `json:"image,omitempty"`

	// replicas is how many pods there are.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=4,displayName="Replicas",xDescriptors={"urn:alm:descriptor:text"}
	Replicas int32 `json:"replicas,omitempty"`

	// readyReplicas is how many of them are ready.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=5,displayName="Ready replicas",xDescriptors={"urn:alm:descriptor:text"}
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// pods shows both: ready/all.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=6,displayName="Pods",xDescriptors={"urn:alm:descriptor:text"}
	Pods string `json:"pods,omitempty"`

	// selector finds the pods.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=7,displayName="Label selector of the pods",xDescriptors={"urn:alm:descriptor:text"}
	Selector string `json:"selector,omitempty"`

	// migrated is the Job of the last migration that has succeeded.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=10,displayName="Migration",xDescriptors={"urn:alm:descriptor:text"}
	Migrated string `json:"migrated,omitempty"`

	// configMap holds the files of the pods that serve; empty when they have none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=9,displayName="ConfigMap",xDescriptors={"urn:alm:descriptor:text"}
	ConfigMap string `json:"configMap,omitempty"`

	// claims are the host names and paths that belong to this object, each as HOST/PATH. Who has a claim keeps it
	// until it asks for another one, or is deleted, and its Ingress serves it no more.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=4
	// +operator-sdk:csv:customresourcedefinitions:type=status,order=8,displayName="Claims",xDescriptors={"urn:alm:descriptor:text"}
	Claims []string `json:"claims,omitempty"`

	WebAppRevisions `json:",inline"`
}

// WebAppList is a list of WebApps.
// +kubebuilder:object:root=true
type WebAppList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []WebApp `json:"items"`
}
