// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"encoding/base64"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/acme/platform-operator/internal/names"
)

// The labels by which the Operator Lifecycle Manager knows what goes with a ClusterServiceVersion.
const (
	labelOwner          = "olm.owner"
	labelOwnerNamespace = "olm.owner.namespace"
	labelOwnerKind      = "olm.owner.kind"
	csvKind             = "ClusterServiceVersion"
)

const (
	labelName = "app.kubernetes.io/name"
	// groupPriority and versionPriority order groups where kubectl is given a short name: after all of Kubernetes' own.
	groupPriority   = 100
	versionPriority = 15
)

// ownLabels are all labels that the operator may write; one that is not wanted is removed.
var ownLabels = []string{names.LabelManagedBy, labelName, labelOwner, labelOwnerNamespace, labelOwnerKind}

// newAPIService returns an empty APIService. It is unstructured, because its types are in k8s.io/kube-aggregator, which the operator
// does not need otherwise.
func newAPIService() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
	u.SetName(apiServiceName)
	return u
}

// desired returns the APIService that registers the API. It goes with its owners, which uninstalling deletes. The labels have OLM delete
// what a ClusterServiceVersion leaves behind, but only at an event of the APIService that comes later.
func desired(n Names, owners []metav1.OwnerReference, port int32, bundle []byte, csv string) *unstructured.Unstructured {
	u := newAPIService()
	labels := map[string]string{names.LabelManagedBy: names.Operator, labelName: names.Operator}
	if csv != "" && len(validation.IsValidLabelValue(csv)) == 0 {
		labels[labelOwner], labels[labelOwnerNamespace], labels[labelOwnerKind] = csv, n.Namespace, csvKind
	}
	u.SetLabels(labels)
	u.Object["metadata"].(map[string]any)["ownerReferences"] = referencesOf(owners)
	u.Object["spec"] = map[string]any{
		"group": apiGroup, "version": apiVersion,
		"groupPriorityMinimum": int64(groupPriority), "versionPriority": int64(versionPriority),
		"caBundle": base64.StdEncoding.EncodeToString(bundle),
		"service":  map[string]any{"namespace": n.Namespace, "name": n.Service, "port": int64(port)},
	}
	return u
}

// referencesOf has neither controller nor blockOwnerDeletion: the latter needs a right on the owner's finalizers where that is enforced.
func referencesOf(owners []metav1.OwnerReference) (out []any) {
	for _, o := range owners {
		out = append(out, map[string]any{"apiVersion": o.APIVersion, "kind": o.Kind, "name": o.Name, "uid": string(o.UID)})
	}
	return out
}

// changed returns the live APIService with everything that is desired. Labels of others stay. The spec is the desired one alone: it has no
// insecureSkipTLSVerify, with which API servers reject a caBundle. So are the owners: the APIService must not outlive them.
func changed(live, desired *unstructured.Unstructured) *unstructured.Unstructured {
	out := live.DeepCopy()
	labels := map[string]string{}
	maps.Copy(labels, live.GetLabels())
	for _, key := range ownLabels {
		delete(labels, key)
	}
	maps.Copy(labels, desired.GetLabels())
	out.SetLabels(labels)
	out.SetOwnerReferences(desired.GetOwnerReferences())
	out.Object["spec"] = desired.Object["spec"]
	return out
}

// upToDate reports whether the live APIService is as desired, so that nothing has to be sent.
func upToDate(live, desired *unstructured.Unstructured) bool {
	for _, key := range ownLabels {
		if live.GetLabels()[key] != desired.GetLabels()[key] {
			return false
		}
	}
	for _, owner := range desired.GetOwnerReferences() {
		if !slices.ContainsFunc(live.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == owner.UID }) {
			return false
		}
	}
	return reflect.DeepEqual(live.Object["spec"], desired.Object["spec"])
}

// holderOf returns where an APIService leads that is not the operator's; empty if it is. One that leads to the reader has to go when
// the reader does not answer, also without its marks. Of those that do not, only one that leads into the operator's own namespace may
// be its: another installation has the same marks, and even the same owner, and what one of the two changes the other would change back.
func holderOf(live *unstructured.Unstructured, n Names) string {
	service, leads, _ := unstructured.NestedMap(live.Object, "spec", "service")
	name := fmt.Sprintf("%v/%v", service["namespace"], service["name"])
	switch {
	case name == n.Namespace+"/"+n.Service:
		return ""
	case !leads:
		return "the API server itself"
	case live.GetLabels()[names.LabelManagedBy] != names.Operator || service["namespace"] != n.Namespace:
		return "the Service " + name
	}
	return ""
}

// unavailableSince returns since when the API server has not reached what is behind an APIService; zero while it does.
func unavailableSince(live *unstructured.Unstructured) time.Time {
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	for _, in := range conditions {
		c, _ := in.(map[string]any)
		if c["type"] != "Available" {
			continue
		}
		text, _ := c["lastTransitionTime"].(string)
		if since, err := time.Parse(time.RFC3339, text); err == nil && c["status"] != "True" {
			return since
		}
		return time.Time{}
	}
	return live.GetCreationTimestamp().Time // it has never tried
}

// isAvailable reports whether the API server says that it reaches what is behind an APIService.
func isAvailable(live *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(in any) bool {
		c, _ := in.(map[string]any)
		return c["type"] == "Available" && c["status"] == "True"
	})
}

// bundleOf returns the certificates by which the API server verifies what is behind an APIService.
func bundleOf(live *unstructured.Unstructured) []byte {
	text, _, _ := unstructured.NestedString(live.Object, "spec", "caBundle")
	bundle, _ := base64.StdEncoding.DecodeString(text) // the API server accepts nothing else
	return bundle
}
