// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/plugin"
	"github.com/acme/platform-operator/internal/plugin/doctor"
)

// kindOf is a type, in its version v1, that is not the operator's.
func kindOf(group, resource, kind string, namespaced bool) plugin.Kind {
	return plugin.Kind{
		GroupVersionResource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}, Kind: kind, Namespaced: namespaced,
	}
}

// Types that an installation consists of.
var (
	definitions  = kindOf("apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition", false)
	deployments  = kindOf("apps", "deployments", "Deployment", true)
	leases       = kindOf("coordination.k8s.io", "leases", "Lease", true)
	certificates = kindOf("cert-manager.io", "certificates", "Certificate", true)
	policies     = kindOf("admissionregistration.k8s.io", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", false)
	bindings     = kindOf("admissionregistration.k8s.io", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", false)
	apiServices  = kindOf("apiregistration.k8s.io", "apiservices", "APIService", false)
	validating   = kindOf("admissionregistration.k8s.io", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", false)
	mutating     = kindOf("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", false)
	reviews      = kindOf("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview", false)
)

// Installation reads an installation of the operator, with what the user may not read left out.
func (c *Cluster) Installation(ctx context.Context, version string) doctor.Installation {
	i := doctor.Installation{Plugin: version, Namespace: c.OperatorNamespace, Kinds: c.Kinds}
	var all sync.WaitGroup
	for _, read := range []func(){
		func() { i.Server = c.server() },
		func() { i.Definitions = c.list(ctx, definitions, "", "", isDefinition) },
		func() { i.Lease.Value, i.Lease.Err = c.get(ctx, leases, c.OperatorNamespace, names.Lease) },
		func() { i.Hooks = c.hooks(ctx) },
		func() { i.Certificates = c.list(ctx, certificates, c.OperatorNamespace, "", nil) },
		func() { i.Policies = c.list(ctx, policies, "", "", nil) },
		func() { i.Bindings = c.list(ctx, bindings, "", "", nil) },
		func() { i.APIServices = c.list(ctx, apiServices, "", "", nil) },
		func() {
			i.Deployments = c.list(ctx, deployments, c.OperatorNamespace, doctor.Selector, nil)
			i.Rights.Value, i.Rights.Err = c.denied(ctx, account(c.OperatorNamespace, i.Deployments.Value))
		},
	} {
		all.Go(read)
	}
	all.Wait()
	i.Probes = c.probe(ctx, i.Hooks)
	return i
}

func (c *Cluster) server() doctor.Read[string] {
	info, err := c.discovery.ServerVersion()
	if err != nil {
		return doctor.Read[string]{Err: err}
	}
	return doctor.Read[string]{Value: info.GitVersion}
}

func (c *Cluster) get(ctx context.Context, k plugin.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	return c.resource(k, namespace).Get(ctx, name, metav1.GetOptions{})
}

// list lists objects of which something holds; nil holds of all.
func (c *Cluster) list(
	ctx context.Context, k plugin.Kind, namespace, selector string, holds func(*unstructured.Unstructured) bool,
) (read doctor.Objects) {
	read.Err = c.each(ctx, k, namespace, selector, func(o *unstructured.Unstructured) {
		if holds == nil || holds(o) {
			read.Value = append(read.Value, o)
		}
	})
	return read
}

func isDefinition(o *unstructured.Unstructured) bool {
	group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
	return plugin.IsOurs(group)
}

func (c *Cluster) hooks(ctx context.Context) doctor.Objects {
	isOurs := func(o *unstructured.Unstructured) bool { return len(doctor.Hooks(o)) > 0 }
	all, more := c.list(ctx, validating, "", "", isOurs), c.list(ctx, mutating, "", "", isOurs)
	all.Value = append(all.Value, more.Value...)
	if all.Err == nil {
		all.Err = more.Err
	}
	return all
}

// probe asks webhooks what they have to reject, without effect. Where it is unknown which there are, all are asked.
func (c *Cluster) probe(ctx context.Context, hooks doctor.Objects) (all []doctor.Probe) {
	installed := map[string]bool{}
	for _, configuration := range hooks.Value {
		for _, hook := range doctor.Hooks(configuration) {
			name, _ := hook["name"].(string)
			installed[name] = true
		}
	}
	for _, hook := range doctor.Asked() {
		if hooks.Err == nil && !installed[hook] {
			continue
		}
		o := &unstructured.Unstructured{}
		err := yaml.Unmarshal([]byte(doctor.Question(hook, c.OperatorNamespace)), &o.Object)
		k, errKind := c.Resource(o)
		if err != nil || errKind != nil {
			continue // the kind is not served, which another check finds
		}
		if k.Namespaced {
			o.SetNamespace(c.Namespace)
		}
		_, err = c.resource(k, c.Namespace).Create(ctx, o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: fieldManager})
		all = append(all, doctor.Probe{Hook: hook, Kind: k.Kind, Err: err})
	}
	return all
}

// account is the user that the operator is.
func account(namespace string, operators []*unstructured.Unstructured) string {
	name := names.Operator + "-controller-manager"
	for _, d := range operators {
		if text, _, _ := unstructured.NestedString(d.Object, "spec", "template", "spec", "serviceAccountName"); text != "" {
			name = text
		}
	}
	return "system:serviceaccount:" + namespace + ":" + name
}

// denied are the rights that a user lacks of those that the operator needs.
func (c *Cluster) denied(ctx context.Context, user string) (lacks []string, err error) {
	var lock sync.Mutex
	var all sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for _, right := range doctor.Rights(c.OperatorNamespace) {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			lock.Lock()
			failed := err != nil
			lock.Unlock()
			if failed {
				return
			}
			allowed, errNow := c.allowed(ctx, user, right)
			lock.Lock()
			defer lock.Unlock()
			if errNow != nil {
				err = errNow
			} else if !allowed {
				lacks = append(lacks, right.String())
			}
		})
	}
	all.Wait()
	return lacks, err
}

func (c *Cluster) allowed(ctx context.Context, user string, right doctor.Right) (bool, error) {
	review := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
		"spec": map[string]any{"user": user, "groups": []any{
			"system:serviceaccounts", "system:serviceaccounts:" + c.OperatorNamespace, "system:authenticated",
		}, "resourceAttributes": map[string]any{
			"namespace": right.Namespace, "verb": right.Verb, "group": right.Group, "resource": right.Resource,
			"subresource": right.Subresource, "name": right.Name,
		}},
	}}
	answer, err := c.resource(reviews, "").Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	allowed, _, _ := unstructured.NestedBool(answer.Object, "status", "allowed")
	return allowed, nil
}
