// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// The forms of strings in the types of Kubernetes that kinds embed.
const (
	label         = `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	subdomain     = `^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	labelKey      = `^(([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.)*[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`
	labelValue    = `^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`
	dataKey       = `^[-._a-zA-Z0-9]+$`
	variable      = `^[ -<>-~]+$`
	prefix        = `^[ -<>-~]*$`
	folder        = `^[^\x00-\x1f\x7f]*$`
	mountPath     = `^[^:\x00-\x1f\x7f]+$`
	fieldPath     = `^[A-Za-z]+(\.[A-Za-z]+)+(\['[-A-Za-z0-9_./]{1,317}'\])?$`
	resourceField = `^(limits|requests)\.[a-z0-9]([-a-z0-9./]*[A-Za-z0-9])?$`
	medium        = `^(Memory|HugePages(-[1-9][0-9]{0,5}(Ki|Mi|Gi))?)?$`
	maxLabelKey   = 317
	maxSubdomain  = 253
	maxLabel      = 63
	maxPath       = 1024
)

// row bounds what it finds at the end of a path: a string by pattern and length or by the values that it may have, a map by
// rules for its keys.
type row struct {
	path      string
	pattern   string
	maxLength int64
	values    []string
	keys      []apiextensionsv1.ValidationRule
}

// table has a row for each place in a type of Kubernetes at which a parser reads a string. It counts for every kind that
// embeds the type.
var table = []row{
	{path: ".matchLabels", keys: labelKeys},
	{path: ".matchLabels{}", pattern: labelValue, maxLength: maxLabel},
	{path: ".matchExpressions[].key", pattern: labelKey, maxLength: maxLabelKey},
	{path: ".matchExpressions[].operator", values: []string{"In", "NotIn", "Exists", "DoesNotExist"}},
	{path: ".matchExpressions[].values[]", pattern: labelValue, maxLength: maxLabel},
	{path: ".nodeSelector", keys: labelKeys},
	{path: ".nodeSelector{}", pattern: labelValue, maxLength: maxLabel},
	{path: ".tolerations[].key", pattern: "^$|" + labelKey, maxLength: maxLabelKey},
	{path: ".tolerations[].operator", values: []string{"", "Exists", "Equal", "Lt", "Gt"}},
	{path: ".tolerations[].effect", values: []string{"", "NoSchedule", "PreferNoSchedule", "NoExecute"}},
	{path: ".tolerations[].value", pattern: labelValue, maxLength: maxLabel},

	{path: ".env[].name", pattern: variable, maxLength: 256},
	{path: ".env[].value", maxLength: 32768},
	{path: ".fieldRef.apiVersion", values: []string{"", "v1"}},
	{path: ".fieldRef.fieldPath", pattern: fieldPath, maxLength: 512},
	{path: ".fileKeyRef.key", pattern: variable, maxLength: 128},
	{path: ".fileKeyRef.path", pattern: folder, maxLength: maxPath},
	{path: ".fileKeyRef.volumeName", pattern: label, maxLength: maxLabel},
	{path: ".resourceFieldRef.containerName", pattern: "^$|" + label, maxLength: maxLabel},
	{path: ".resourceFieldRef.resource", pattern: resourceField, maxLength: maxLabelKey},
	{path: "KeyRef.key", pattern: dataKey, maxLength: maxSubdomain},
	{path: "KeyRef.name", pattern: subdomain, maxLength: maxSubdomain},
	{path: ".envFrom[].prefix", pattern: prefix, maxLength: 256},
	{path: ".configMapRef.name", pattern: subdomain, maxLength: maxSubdomain},
	{path: ".secretRef.name", pattern: subdomain, maxLength: maxSubdomain},
	{path: ".command[]", maxLength: 32768},
	{path: ".args[]", maxLength: 32768},
	{path: ".resources.claims[].name", pattern: label, maxLength: maxLabel},
	{path: ".resources.claims[].request", pattern: "^$|" + label, maxLength: maxLabel},

	{path: ".imagePullSecrets[].name", pattern: subdomain, maxLength: maxSubdomain},
	{path: ".priorityClassName", pattern: subdomain, maxLength: maxSubdomain},
	{path: ".configMap.name", pattern: subdomain, maxLength: maxSubdomain},
	{path: ".secret.secretName", pattern: subdomain, maxLength: maxSubdomain},
	{path: ".persistentVolumeClaim.claimName", pattern: subdomain, maxLength: maxSubdomain},
	{path: ".items[].key", pattern: dataKey, maxLength: maxSubdomain},
	{path: ".items[].path", pattern: folder, maxLength: maxPath},
	{path: ".emptyDir.medium", pattern: medium, maxLength: maxLabel},
	{path: ".volumeMounts[].name", pattern: label, maxLength: maxLabel},
	{path: ".volumeMounts[].mountPath", pattern: mountPath, maxLength: maxPath},
	{path: ".volumeMounts[].subPath", pattern: folder, maxLength: maxPath},
	{path: ".volumeMounts[].subPathExpr", pattern: folder, maxLength: maxPath},
	{path: ".volumeMounts[].mountPropagation", values: []string{"", "None", "HostToContainer", "Bidirectional"}},
	{path: ".volumeMounts[].recursiveReadOnly", values: []string{"", "Disabled", "IfPossible", "Enabled"}},
	{path: ".volumeMounts[].bindMountOptions[]", pattern: `^[-a-z0-9_=]*$`, maxLength: maxLabel},

	// The two times of a restart that is pending have microseconds, and are not read without.
	{path: ".status.pending.since", pattern: microMoment, maxLength: maxMoment},
	{path: ".status.pending.changed", pattern: microMoment, maxLength: maxMoment},
}

var labelKeys = []apiextensionsv1.ValidationRule{{
	Rule:    "self.all(k, !format.qualifiedName().validate(k).hasValue())",
	Message: "every key must be a label key: an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' or '.'",
}}

// resourceNames are the keys of maps of quantities. The size of huge pages in a name is read as a quantity, too.
var resourceNames = apiextensionsv1.ValidationRule{
	Rule: `self.all(k, k.matches('^[A-Za-z0-9]([-A-Za-z0-9_./]{0,315}[A-Za-z0-9])?$') && ` +
		`(!k.contains('hugepages-') || k.matches('^((requests|limits)[.])?hugepages-[1-9][0-9]{0,5}(Ki|Mi|Gi)$')))`,
	Message: "every key must be the name of a resource, for instance cpu, requests.storage, hugepages-2Mi or example.com/gpu",
}

// apply sets what is not set by a marker.
func (r row) apply(s *apiextensionsv1.JSONSchemaProps) {
	if len(r.values) > 0 {
		s.Enum = nil
		for _, v := range r.values {
			text, _ := json.Marshal(v)
			s.Enum = append(s.Enum, apiextensionsv1.JSON{Raw: text})
		}
		return
	}
	if s.Pattern == "" {
		s.Pattern = r.pattern
	}
	if r.maxLength > 0 {
		limit(&s.MaxLength, r.maxLength)
	}
	if len(s.XValidations) == 0 {
		s.XValidations = r.keys
	}
}
