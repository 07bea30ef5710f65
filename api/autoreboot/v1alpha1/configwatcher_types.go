// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// SourceKind is the kind of an object whose content is watched.
// +kubebuilder:validation:Enum=ConfigMap;Secret
type SourceKind string

const (
	// SourceConfigMap is a ConfigMap.
	SourceConfigMap SourceKind = "ConfigMap"
	// SourceSecret is a Secret.
	SourceSecret SourceKind = "Secret"
)

// Source is an object whose content is watched.
type Source struct {
	// kind is ConfigMap or Secret.
	// +required
	Kind SourceKind `json:"kind"`

	// name is its name, in the namespace of the ConfigWatcher.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of an object: lower-case letters, digits, '-' and '.', for instance webapp-config"
	Name string `json:"name"`

	// keys are the keys of the object to watch; changes of other keys restart nothing. Default: all keys. A key
	// that does not exist is reported in the condition SourcesFound.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[-._a-zA-Z0-9]*$`
	Keys []string `json:"keys,omitempty"`

	// optional says that the pods do without the object, or a key that keys names, while it does not exist: that
	// is not reported, and its creation and its deletion are changes. Default false.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// ConfigWatcherSpec defines what is watched, and what is restarted.
//
// +kubebuilder:validation:XValidation:rule="has(self.configMap) || has(self.sources)",message="nothing is watched: set configMap, sources, or both"
type ConfigWatcherSpec struct {
	// configMap is the name of a ConfigMap to watch, with all its keys, in the same namespace. For Secrets,
	// single keys and several objects use sources.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of an object: lower-case letters, digits, '-' and '.', for instance webapp-config"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=1,displayName="ConfigMap",xDescriptors={"urn:alm:descriptor:io.kubernetes:ConfigMap"}
	ConfigMap string `json:"configMap,omitempty"`

	// sources are ConfigMaps and Secrets to watch, in the same namespace. Each may be listed once.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=2,displayName="More ConfigMaps and Secrets",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Sources []Source `json:"sources,omitempty"`

	// podSelector selects the pods to restart by their labels; all must match. Workloads (Deployments,
	// StatefulSets, DaemonSets) are selected by the labels of their pod templates, other pods by their own.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue())",message="every key must be a label key: an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' or '.'"
	// +kubebuilder:validation:XValidation:rule="self.all(k, self[k].matches('^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$'))",message="every value must be a label value: at most 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=3,displayName="Labels of the pods",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	PodSelector map[string]LabelValue `json:"podSelector"`

	// restart controls how, and how often, pods are restarted.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=4,displayName="How to restart",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Restart common.RestartPolicy `json:"restart,omitzero"`
}

// LabelValue is the value of a label.
// +kubebuilder:validation:MaxLength=63
type LabelValue string

// ConfigWatcherStatus is the observed state of a ConfigWatcher.
type ConfigWatcherStatus struct {
	common.Status `json:",inline"`

	common.RestartStatus `json:",inline"`
}

// ConfigWatcher restarts pods when the content of a ConfigMap or a Secret changes: once for each change, and
// never for anything else. The first content that it observes is the baseline and restarts nothing.
//
// +operator-sdk:csv:customresourcedefinitions:order=3,displayName="Config Watcher",resources={{ConfigMap,v1,""},{Secret,v1,""},{Deployment,v1,""},{StatefulSet,v1,""},{DaemonSet,v1,""},{Pod,v1,""}}
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=cw,categories=acme
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Restarts",type=integer,JSONPath=`.status.restarts`
// +kubebuilder:printcolumn:name="Last Restart",type=date,JSONPath=`.status.lastRestart`
// +kubebuilder:printcolumn:name="Pending",type=string,JSONPath=`.status.pending.reason`
// +kubebuilder:printcolumn:name="Last Change",type=string,priority=1,JSONPath=`.status.history[0].source`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ConfigWatcher struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines what is watched, and what is restarted.
	// +required
	Spec ConfigWatcherSpec `json:"spec"`
	// status is the observed state.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status ConfigWatcherStatus `json:"status,omitempty"`
}

// CommonStatus is the part of the status that every kind has.
func (w *ConfigWatcher) CommonStatus() *common.Status { return &w.Status.Status }

// Restarts is the recorded state of restarts.
func (w *ConfigWatcher) Restarts() *common.RestartStatus { return &w.Status.RestartStatus }

// AllSources returns all sources, configMap first.
func (w *ConfigWatcher) AllSources() []Source {
	var all []Source
	if w.Spec.ConfigMap != "" {
		all = append(all, Source{Kind: SourceConfigMap, Name: w.Spec.ConfigMap})
	}
	for _, s := range w.Spec.Sources {
		if s.Kind != SourceConfigMap || s.Name != w.Spec.ConfigMap {
			all = append(all, s)
		}
	}
	return all
}

// Selector returns podSelector as plain strings.
func (w *ConfigWatcher) Selector() map[string]string {
	out := make(map[string]string, len(w.Spec.PodSelector))
	for k, v := range w.Spec.PodSelector {
		out[k] = string(v)
	}
	return out
}

// ConfigWatcherList is a list of ConfigWatchers.
// +kubebuilder:object:root=true
type ConfigWatcherList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ConfigWatcher `json:"items"`
}
