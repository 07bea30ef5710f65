// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Port is a further port of the application.
type Port struct {
	// name is the name of the port: at most 15 lower-case letters, digits and '-'. http is taken.
	// +required
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]+(-[a-z0-9]+)*$') && self.matches('[a-z]') && self != 'http'",message="must be a name such as metrics: at most 15 lower-case letters, digits and single '-', with a letter; http is taken"
	Name string `json:"name"`

	// port is its number, 1 to 65535.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`

	// protocol is TCP (default) or UDP.
	// +optional
	// +kubebuilder:default=TCP
	// +kubebuilder:validation:Enum=TCP;UDP
	Protocol corev1.Protocol `json:"protocol,omitempty"`
}

// Resources are the requests and limits of a container.
// +kubebuilder:validation:XValidation:rule="!has(self.requests) || !has(self.limits) || self.requests.all(k, !(k in self.limits) || (string(self.requests[k]) + string(self.limits[k])).contains('-') || quantity(string(self.requests[k])).compareTo(quantity(string(self.limits[k]))) <= 0)",message="must not be less than the request of the same resource",fieldPath=".limits"
type Resources struct {
	// requests are what the container is sure to get.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	Requests corev1.ResourceList `json:"requests,omitempty"`

	// limits are the most that the container may use.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	Limits corev1.ResourceList `json:"limits,omitempty"`
}

// Probes say how Kubernetes finds out how the application does.
type Probes struct {
	// readiness finds out whether a pod serves: while it fails, the pod gets no requests.
	// +optional
	Readiness *Probe `json:"readiness,omitempty"`
	// liveness finds out whether the container has to be restarted.
	// +optional
	Liveness *Probe `json:"liveness,omitempty"`
	// startup finds out whether the container has started; the others begin after it. Default: none.
	// +optional
	Startup *Probe `json:"startup,omitempty"`
}

// Probe is one check of a container. What is left out is as the tier says.
// +kubebuilder:validation:XValidation:rule="!has(self.path) || !has(self.command)",message="must have either path or command"
// +kubebuilder:validation:XValidation:rule="!has(self.port) || !has(self.command)",message="must have either port or command"
// +kubebuilder:validation:XValidation:rule="!has(self.timeoutSeconds) || !has(self.periodSeconds) || self.timeoutSeconds <= self.periodSeconds",message="timeoutSeconds must not be more than periodSeconds"
type Probe struct {
	// path makes it an HTTP request, which passes with a status from 200 to 399. It begins with "/".
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^/[!-~]*$')",message="must be a path such as /healthz"
	Path *string `json:"path,omitempty"`

	// port is the port to connect to. Default: spec.port.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`

	// command is run in the container instead, and passes when it ends with 0.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Command []string `json:"command,omitempty"`

	// initialDelaySeconds is how long after the start of the container the first check is made. 0 to 3600,
	// default 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	InitialDelaySeconds *int32 `json:"initialDelaySeconds,omitempty"`

	// periodSeconds is how often it is made. 1 to 3600.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	PeriodSeconds *int32 `json:"periodSeconds,omitempty"`

	// timeoutSeconds is how long an answer may take. 1 to 3600.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`

	// failureThreshold is after how many failures in a row it counts as failed. 1 to 1000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`
}

// Ingress is how the application is reached from outside.
type Ingress struct {
	// className is the IngressClass, and thus the ingress controller. Default: the cluster's default class.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of an IngressClass"
	ClassName *string `json:"className,omitempty"`

	// tlsSecretName is a Secret of the type kubernetes.io/tls, of the same namespace, for HTTPS. With an
	// annotation of cert-manager it is where that puts the certificate.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of a Secret"
	TLSSecretName *string `json:"tlsSecretName,omitempty"`

	// annotations are put on the Ingress, for the ingress controller, cert-manager or external-dns. Those that take
	// further host names are rejected; the host name for external-dns is publish.externalName. The tier of the namespace
	// may allow fewer.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue())",message="every key must be an annotation key: an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' or '.'"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.matches('^([^/]*[.])?acme[.]com/') && k != 'kubernetes.io/ingress.class')",message="keys of *acme.com are reserved, and className replaces kubernetes.io/ingress.class"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.matches('(?i)^([^/]*/)?(server-alias(-regex)?|redirect-from(-regex)?|from-to-www-redirect|host-aliases|hostname-extension|(internal-)?hostname|dnsnames|common-?name|alt-names|conditions[.].+|rule-type|router[.](pathmatcher|tls[.]domains[.].+)|config(-[-a-z]+)?|[-a-z0-9]*snippets?)$'))",message="must have no annotation that takes further host names, names of certificates, or configuration of the ingress controller: they may belong to others; make a WebApp for each host name, or use spec.publish.externalName"
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`

	// path is the beginning of the paths that lead to the application. Default "/": all.
	// +optional
	// +kubebuilder:default="/"
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^(/|(/[-A-Za-z0-9._~!$&()*+,;=:@]+)+/?)$') && !self.matches('/[.]{1,2}(/|$)')",message="must be a path such as / or /shop, without empty parts, '.', '..', '%' and query"
	Path string `json:"path,omitempty"`

	// waitForAddress decides if the application is ready only when the ingress controller has given it an
	// address. Set it to false where no controller does that. Default true.
	// +optional
	// +kubebuilder:default=true
	WaitForAddress *bool `json:"waitForAddress,omitempty"`
}

// Publish makes the application known outside.
type Publish struct {
	// externalName is a second DNS name outside of the cluster, such as www.acme.com. The Ingress serves it like
	// webAppHostname, with the same path and certificate, and has the annotation by which external-dns publishes
	// it. It belongs to one WebApp of the cluster, and the tier of the namespace has to allow it, as with
	// webAppHostname.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue() && self.contains('.') && self.split('.').all(l, size(l) <= 63) && !self.matches('(^|[.])[0-9]+$')",message="must be a DNS name such as www.acme.com: at least two labels of at most 63 lower-case letters, digits and '-', separated by dots; no wildcard, no address, and other scripts in their xn-- form"
	ExternalName *string `json:"externalName,omitempty"`
}

// AnnotationValue is the value of an annotation.
// +kubebuilder:validation:MaxLength=4096
type AnnotationValue string

// Autoscaling scales the application by its use of cpu.
// +kubebuilder:validation:XValidation:rule="!has(self.min) || self.min <= self.max",message="must not be more than max",fieldPath=".min"
type Autoscaling struct {
	// min is the smallest number of pods. 1 to 100, default 2.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Min *int32 `json:"min,omitempty"`

	// max is the largest number of pods. 1 to 100.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Max int32 `json:"max"`

	// targetCPU is how many percent of the requested cpu the pods use on average. 1 to 1000, default 80.
	// +optional
	// +kubebuilder:default=80
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	TargetCPU *int32 `json:"targetCPU,omitempty"`
}

// Migration is a command that has to succeed once before a new image is rolled out. It runs in a Job, with the
// environment, files, volumes and account of the application.
type Migration struct {
	// command replaces the image's entry point. Default: the image's.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Command []string `json:"command,omitempty"`

	// args are the arguments. Default: the image's, unless command is given.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Args []string `json:"args,omitempty"`
}

// StrategyType is how pods are replaced.
// +kubebuilder:validation:Enum=RollingUpdate;Recreate
type StrategyType string

const (
	// StrategyRollingUpdate replaces pods one after the other.
	StrategyRollingUpdate StrategyType = "RollingUpdate"
	// StrategyRecreate ends all old pods before the first new one starts.
	StrategyRecreate StrategyType = "Recreate"
)

// IntOrPercent is a number of pods, or a percentage of them.
type IntOrPercent = intstr.IntOrString

// Strategy is how pods are replaced.
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'Recreate' || (!has(self.maxSurge) && !has(self.maxUnavailable))",message="maxSurge and maxUnavailable count with the type RollingUpdate only"
// +kubebuilder:validation:XValidation:rule="!has(self.maxSurge) || string(self.maxSurge) != '0' && string(self.maxSurge) != '0%' || has(self.maxUnavailable) && string(self.maxUnavailable) != '0' && string(self.maxUnavailable) != '0%'",message="maxSurge and maxUnavailable must not both be 0: nothing could be replaced"
type Strategy struct {
	// type is RollingUpdate (default), or Recreate, which ends all old pods before the first new one starts,
	// for what must not run twice.
	// +optional
	// +kubebuilder:default=RollingUpdate
	Type StrategyType `json:"type,omitempty"`

	// maxSurge is how many pods, or how many percent, may exist beyond the wanted number. Default 1.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 100 : self.matches('^([0-9]|[1-9][0-9]|100)%$')",message="must be a number from 0 to 100, or from 0% to 100%"
	MaxSurge *IntOrPercent `json:"maxSurge,omitempty"`

	// maxUnavailable is how many pods, or how many percent, may be missing meanwhile. Default 0.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 100 : self.matches('^([0-9]|[1-9][0-9]|100)%$')",message="must be a number from 0 to 100, or from 0% to 100%"
	MaxUnavailable *IntOrPercent `json:"maxUnavailable,omitempty"`
}
