// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// LabelKey is the key of a label.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=317
// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="must be a label key: an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' or '.'"
type LabelKey string

// LabelValue is the value of a label.
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="self.matches('^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$')",message="must be a label value: at most 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit"
type LabelValue string

// NodeExpression is a requirement on the labels of nodes.
//
// +kubebuilder:validation:XValidation:rule="self.operator in ['Exists', 'DoesNotExist'] ? !has(self.values) || self.values.size() == 0 : has(self.values) && self.values.size() > 0",message="In, NotIn, Gt and Lt need values; Exists and DoesNotExist must have none",fieldPath=".values"
// +kubebuilder:validation:XValidation:rule="!(self.operator in ['Gt', 'Lt']) || !has(self.values) || self.values.size() == 1 && self.values[0].matches('^[0-9]{1,18}$')",message="Gt and Lt need exactly one value: an integer that is not negative, because a label cannot begin with a sign",fieldPath=".values"
type NodeExpression struct {
	// key is the key of the label.
	// +required
	Key LabelKey `json:"key"`

	// operator is In, NotIn, Exists, DoesNotExist, Gt or Lt.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist;Gt;Lt
	Operator corev1.NodeSelectorOperator `json:"operator"`

	// values are what the label's value is compared with. In and NotIn need at least one, at most 64; Gt and Lt
	// exactly one integer; Exists and DoesNotExist none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Values []LabelValue `json:"values,omitempty"`
}

// Nodes selects nodes by their labels.
//
// +kubebuilder:validation:XValidation:rule="has(self.labelKeys) && self.labelKeys.size() > 0 || has(self.expressions) && self.expressions.size() > 0",message="must have labelKeys or expressions; leave nodes out to allow all nodes"
type Nodes struct {
	// labelKeys are keys of labels that a node must carry, with any value. At most 16.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	LabelKeys []LabelKey `json:"labelKeys,omitempty"`

	// expressions are further requirements, all of which a node must meet. At most 16.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Expressions []NodeExpression `json:"expressions,omitempty"`
}

// Strategy is which nodes are preferred.
// +kubebuilder:validation:Enum=Balanced;BinPacking
type Strategy string

const (
	// Balanced prefers nodes with much free capacity.
	Balanced Strategy = "Balanced"
	// BinPacking prefers nodes with little free capacity.
	BinPacking Strategy = "BinPacking"
)

// Resource is how much a resource counts in a strategy.
type Resource struct {
	// name is the name of the resource, for instance cpu or nvidia.com/gpu.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="must be the name of a resource, for instance cpu or nvidia.com/gpu"
	Name string `json:"name"`

	// weight is how much it counts. 1 to 100.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight"`
}

// Spread is a default for pods without topologySpreadConstraints.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minDomains) || self.whenUnsatisfiable == 'DoNotSchedule'",message="needs whenUnsatisfiable: DoNotSchedule",fieldPath=".minDomains"
type Spread struct {
	// maxSkew is how many more pods one domain may have than another. 1 to 1000.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxSkew int32 `json:"maxSkew"`

	// topologyKey is the label of nodes whose values are the domains, for instance topology.kubernetes.io/zone.
	// +required
	TopologyKey LabelKey `json:"topologyKey"`

	// whenUnsatisfiable is DoNotSchedule or ScheduleAnyway.
	// +required
	// +kubebuilder:validation:Enum=DoNotSchedule;ScheduleAnyway
	WhenUnsatisfiable corev1.UnsatisfiableConstraintAction `json:"whenUnsatisfiable"`

	// minDomains is the smallest number of domains, with DoNotSchedule. 1 to 1000. Default: no minimum.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MinDomains *int32 `json:"minDomains,omitempty"`
}

// ScorePlugin is a plugin of kube-scheduler that scores nodes, in every version that is supported.
// +kubebuilder:validation:Enum=ImageLocality;InterPodAffinity;NodeAffinity;NodeResourcesBalancedAllocation;NodeResourcesFit;PodTopologySpread;TaintToleration
type ScorePlugin string

// Weight is how much the score of a plugin counts. 0 switches it off.
// +kubebuilder:validation:Minimum=0
// +kubebuilder:validation:Maximum=100
type Weight int32

// Switch is Disabled or Enabled.
// +kubebuilder:validation:Enum=Disabled;Enabled
type Switch string

const (
	// Disabled switches something off.
	Disabled Switch = "Disabled"
	// Enabled switches something on.
	Enabled Switch = "Enabled"
)

// Profile is a way to choose nodes, which pods name in spec.schedulerName.
type Profile struct {
	// schedulerName is what pods have in spec.schedulerName: a DNS-1123 subdomain of at most 63 characters, unique
	// in the cluster, and not default-scheduler. The older of two objects keeps a name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be at most 63 lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	// +kubebuilder:validation:XValidation:rule="self != 'default-scheduler'",message="must not be default-scheduler, which the cluster's own scheduler serves; choose another name"
	SchedulerName string `json:"schedulerName"`

	// nodes selects the nodes on which pods may run, in addition to what each pod asks for. Default: all nodes. A
	// label that is removed from a node later evicts nothing.
	// +optional
	Nodes *Nodes `json:"nodes,omitempty"`

	// strategy is which nodes are preferred: Balanced those with much free capacity, BinPacking those with little,
	// so that others become empty. Default: that of kube-scheduler, which is Balanced.
	// +optional
	Strategy Strategy `json:"strategy,omitempty"`

	// resources are the resources that count in the strategy. At most 16. Default: cpu and memory, of equal weight.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Resources []Resource `json:"resources,omitempty"`

	// spread is how pods without topologySpreadConstraints are spread. At most 4. Default: that of kube-scheduler,
	// which is softly over nodes and zones.
	// +optional
	// +listType=map
	// +listMapKey=topologyKey
	// +listMapKey=whenUnsatisfiable
	// +kubebuilder:validation:MaxItems=4
	Spread []Spread `json:"spread,omitempty"`

	// weights are how much the scores of plugins count, by the plugin's name. 0 to 100; 0 switches the score of a
	// plugin off. Default: those of kube-scheduler.
	// +optional
	// +kubebuilder:validation:MaxProperties=7
	// +kubebuilder:validation:XValidation:rule="self.all(k, k in ['ImageLocality', 'InterPodAffinity', 'NodeAffinity', 'NodeResourcesBalancedAllocation', 'NodeResourcesFit', 'PodTopologySpread', 'TaintToleration'])",message="every key must be a plugin that scores nodes: ImageLocality, InterPodAffinity, NodeAffinity, NodeResourcesBalancedAllocation, NodeResourcesFit, PodTopologySpread or TaintToleration"
	Weights map[ScorePlugin]Weight `json:"weights,omitempty"`

	// preemption Disabled lets pods wait although pods of lower priority could be evicted for them. Default
	// Enabled.
	// +optional
	Preemption Switch `json:"preemption,omitempty"`

	// percentageOfNodesToScore is how many of the nodes that fit are scored. 0 to 100; 0 leaves it to
	// kube-scheduler, which is also the default.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	PercentageOfNodesToScore *int32 `json:"percentageOfNodesToScore,omitempty"`

	// raw is what no field says: plugins and pluginConfig, as in a profile of a KubeSchedulerConfiguration
	// (kubescheduler.config.k8s.io/v1). At most 16 KiB, and nothing that a field of this profile sets, too.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Raw *runtime.RawExtension `json:"raw,omitempty"`
}
