// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/acme/platform-operator/internal/names"
)

// Child is an object that exists because of another one.
type Child struct {
	// Kind, Namespace and Name are the child's; Namespace is empty where it is the owner's.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Is is how it is, in a word or two. Wrong is whether that is a reason to look at it.
	Is    string `json:"is"`
	Wrong bool   `json:"wrong,omitempty"`
	// Children are its own: pods that do not start.
	Children []Child `json:"children,omitempty"`
}

// made are the types that the operator makes for its objects, beside objects of its own kinds. Of those with true the
// status is shown; of the others only the metadata is read, so that no value of a ConfigMap or a Secret is.
var made = map[string]bool{
	"Namespace": true, "Deployment": true, "StatefulSet": true, "DaemonSet": true, "Job": true, "PersistentVolumeClaim": true,
	"HorizontalPodAutoscaler": true, "Ingress": true, "PodDisruptionBudget": true,
	"ConfigMap": false, "Secret": false, "Service": false, "ServiceAccount": false, "NetworkPolicy": false, "Lease": false,
	"ResourceQuota": false, "LimitRange": false, "Role": false, "RoleBinding": false, "ClusterRole": false, "ClusterRoleBinding": false,
	"ValidatingAdmissionPolicy": false, "ValidatingAdmissionPolicyBinding": false,
	"MutatingAdmissionPolicy": false, "MutatingAdmissionPolicyBinding": false,
}

// Made returns the types of which an object of a kind may have children, among all that the API server serves, and
// whether their status is shown. A namespaced owner has namespaced children only.
func Made(resources []Kind, owner Kind) (types []Kind, withStatus map[string]bool) {
	withStatus = map[string]bool{}
	for _, r := range resources {
		status, ok := mayBeChild(r)
		if ok && (r.Namespaced || !owner.Namespaced) {
			types, withStatus[r.Kind] = append(types, r), status
		}
	}
	return types, withStatus
}

// mayBeChild reports whether the operator makes objects of a type, and whether their status is shown. Types of others that
// have the name of one that is made are left out.
func mayBeChild(r Kind) (status, ok bool) {
	if IsOurs(r.Group) && slices.Contains(r.Names, category) {
		return true, true
	}
	status, ok = made[r.Kind]
	return status, ok && (!strings.Contains(r.Group, ".") || strings.HasSuffix(r.Group, ".k8s.io"))
}

// OwnedBy is the label selector that finds what may be the children of an object.
func OwnedBy(owner metav1.Object) string { return names.LabelOwnerUID + "=" + string(owner.GetUID()) }

// Belong returns which of the found objects are children: users may write labels, so that place and proof decide, as they
// do for the operator. Those of a namespaced owner have it as their controller, in its namespace. Those of a
// cluster-scoped owner are cluster-scoped, in a Namespace that is a child, or in the operator's namespace.
func Belong(owner *unstructured.Unstructured, found []*unstructured.Unstructured, operatorNamespace string) []*unstructured.Unstructured {
	places := map[string]bool{operatorNamespace: true}
	for _, o := range found {
		if o.GetKind() == "Namespace" {
			places[o.GetName()] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(found), func(o *unstructured.Unstructured) bool {
		switch {
		case owner.GetNamespace() != "":
			return o.GetNamespace() != owner.GetNamespace() || !metav1.IsControlledBy(o, owner)
		case o.GetNamespace() == "":
			return false
		}
		return !places[o.GetNamespace()]
	})
}

// Tree returns children, sorted, with what is wrong with their pods.
func Tree(owner *unstructured.Unstructured, children []*unstructured.Unstructured, pods map[string][]*unstructured.Unstructured) []Child {
	var tree []Child
	for _, o := range children {
		c := Child{Kind: o.GetKind(), Name: o.GetName()}
		if o.GetNamespace() != owner.GetNamespace() {
			c.Namespace = o.GetNamespace()
		}
		c.Is, c.Wrong = Readiness(o)
		for _, pod := range pods[string(o.GetUID())] {
			if why := PodTrouble(pod); why != "" && len(c.Children) < maxPods {
				c.Children = append(c.Children, Child{Kind: "Pod", Name: pod.GetName(), Is: why, Wrong: true})
			}
		}
		tree = append(tree, c)
	}
	slices.SortFunc(tree, func(a, b Child) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return tree
}

// maxPods is how many pods are shown below a child.
const maxPods = 5

// Readiness says how a child is, in a word or two, and whether that is a reason to look at it.
func Readiness(o *unstructured.Unstructured) (is string, wrong bool) {
	if o.GetDeletionTimestamp() != nil {
		if held := o.GetFinalizers(); len(held) > 0 {
			return "being deleted, held by " + strings.Join(held, ", "), true
		}
		return "being deleted", true
	}
	if IsOurs(o.GroupVersionKind().Group) {
		state := StateOf(o, true)
		return strings.TrimSuffix(strings.TrimSuffix(words[state.State]+": "+state.Reason, ": "+state.State), ": "), state.State != Ready
	}
	if read := readiness[o.GetKind()]; read != nil {
		return read(o)
	}
	return "present", false
}

// readiness has how to read the readiness of the types that have one.
var readiness = map[string]func(*unstructured.Unstructured) (is string, wrong bool){
	"Deployment": replicas, "StatefulSet": replicas, "DaemonSet": daemons, "Job": job, "Namespace": phase, "PersistentVolumeClaim": phase,
	"HorizontalPodAutoscaler": autoscaler, "Ingress": func(o *unstructured.Unstructured) (string, bool) { return address(o), false },
}

func daemons(o *unstructured.Unstructured) (string, bool) {
	return outOf(number(o, "status", "numberReady"), number(o, "status", "desiredNumberScheduled"))
}

func phase(o *unstructured.Unstructured) (string, bool) {
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	return strings.ToLower(cmp.Or(phase, "pending")), phase != "Active" && phase != "Bound"
}

func autoscaler(o *unstructured.Unstructured) (string, bool) {
	active := find(Conditions(o), "ScalingActive")
	if active == nil || active.Status != metav1.ConditionFalse {
		return "present", false
	}
	return "inactive: " + active.Reason, true
}

func address(o *unstructured.Unstructured) string {
	if addresses, _, _ := unstructured.NestedSlice(o.Object, "status", "loadBalancer", "ingress"); len(addresses) == 0 {
		return "no address yet"
	}
	return "has an address"
}

func replicas(o *unstructured.Unstructured) (string, bool) {
	wanted, ok, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	if !ok {
		wanted = 1
	}
	if paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused"); paused {
		return "paused", true
	}
	return outOf(number(o, "status", "readyReplicas"), wanted)
}

func outOf(ready, wanted int64) (string, bool) {
	return fmt.Sprintf("%d of %d ready", ready, wanted), ready < wanted
}

func number(o *unstructured.Unstructured, path ...string) int64 {
	n, _, _ := unstructured.NestedInt64(o.Object, path...)
	return n
}

func job(o *unstructured.Unstructured) (string, bool) {
	for _, c := range Conditions(o) {
		if c.Status != metav1.ConditionTrue {
			continue
		}
		switch c.Type {
		case "Complete":
			return "succeeded", false
		case "Failed":
			return "failed: " + c.Reason, true
		case "Suspended":
			return "suspended", true
		}
	}
	if active := number(o, "status", "active"); active > 0 {
		return "running", false
	}
	return "not started", false
}

// PodTrouble returns why a pod does not run, or is not ready; empty if it is, or has succeeded.
func PodTrouble(pod *unstructured.Unstructured) string {
	phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
	if phase == "Succeeded" || pod.GetDeletionTimestamp() != nil {
		return ""
	}
	if why := containersTrouble(pod); why != "" {
		return why
	}
	for _, c := range Conditions(pod) {
		if c.Status == metav1.ConditionFalse && (c.Type == "PodScheduled" || c.Type == conditionReady) {
			return strings.TrimSuffix(c.Reason+": "+oneLine(c.Message), ": ")
		}
	}
	if phase == "Failed" {
		return "failed"
	}
	return ""
}

func containersTrouble(pod *unstructured.Unstructured) string {
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		statuses, _, _ := unstructured.NestedSlice(pod.Object, "status", list)
		for _, item := range statuses {
			if why := containerTrouble(item); why != "" {
				return why
			}
		}
	}
	return ""
}

func containerTrouble(item any) string {
	status, _ := item.(map[string]any)
	name, _, _ := unstructured.NestedString(status, "name")
	reason, _, _ := unstructured.NestedString(status, "state", "waiting", "reason")
	if reason != "" && reason != "PodInitializing" && reason != "ContainerCreating" {
		return fmt.Sprintf("container %s: %s", name, reason)
	}
	if code, ok, _ := unstructured.NestedInt64(status, "state", "terminated", "exitCode"); ok && code != 0 {
		return fmt.Sprintf("container %s ended with exit code %d", name, code)
	}
	return ""
}
