// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"context"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/registration"
)

// The policy: the right to create an APIService knows no names.
func TestTheOperatorMayRegisterNoOtherAPI(t *testing.T) {
	c := newCluster(t)
	mine, err := client.New(operator, client.Options{})
	c.must(err)
	for _, tc := range []struct{ group, namespace, refused string }{
		{"metrics.k8s.io", ops, "the operator must register no API but v1alpha1 of views.acme.com"},
		{"views.acme.com", "default", "the operator must not have its API answered from another namespace than its own"},
		{"views.acme.com", ops, ""},
	} {
		u := registration.NewAPIService()
		u.SetName("v1alpha1." + tc.group)
		u.Object["spec"] = map[string]any{
			"group": tc.group, "version": "v1alpha1", "groupPriorityMinimum": int64(10), "versionPriority": int64(10), "insecureSkipTLSVerify": true,
			"service": map[string]any{"namespace": tc.namespace, "name": service},
		}
		// The API server takes some seconds to enforce a policy that is new.
		c.eventually("the policy answers", func() bool { return isForbidden(mine.Create(t.Context(), u.DeepCopy(), client.DryRunAll), tc.refused) })
		if tc.refused == "" {
			c.must(admin.Create(t.Context(), u))
		}
	}
	for patch, refused := range map[string]string{
		`{"spec":{"service":{"namespace":"default"}}}`:           "the operator must not have its API answered from another namespace than its own",
		`{"spec":{"service":null,"insecureSkipTLSVerify":null}}`: "the operator must not have its API answered from another namespace than its own",
		`{"spec":{"versionPriority":11}}`:                        "",
	} {
		if err := mine.Patch(t.Context(), registration.NewAPIService(), client.RawPatch(types.MergePatchType, []byte(patch))); !isForbidden(err, refused) {
			t.Errorf("%s: %v, want the refusal %q", patch, err, refused)
		}
	}
	var others []string
	for _, verb := range []string{"get", "patch", "update", "delete", "list"} {
		if c.may(testOperator, verb, "apiregistration.k8s.io", "apiservices", "", "v1beta1.metrics.k8s.io") {
			others = append(others, verb)
		}
	}
	if len(others) > 0 {
		t.Errorf("it may %v other APIServices", others)
	}
}

// V13: the reader answers everybody, so its account reads no content and writes nothing but the end of its own registration.
func TestTheReaderMayOnlyReadWhatItShows(t *testing.T) {
	c := newCluster(t)
	c.eventually("its role is in force", func() bool { return c.may(testReader, "watch", "", "namespaces", "", "") })
	for _, allowed := range [][5]string{
		{"list", "", "resourcequotas"},
		{"watch", "rbac.authorization.k8s.io", "rolebindings"},
		{"watch", "tenancy.acme.com", "acmenamespaces"},
		{"watch", "", "configmaps", "kube-system", "extension-apiserver-authentication"},
		{"create", "authorization.k8s.io", "subjectaccessreviews"},
		{"create", "authentication.k8s.io", "tokenreviews"},
		{"delete", "apiregistration.k8s.io", "apiservices", "", "v1alpha1.views.acme.com"},
		{"list", "discovery.k8s.io", "endpointslices", ops},
	} {
		if !c.may(testReader, allowed[0], allowed[1], allowed[2], allowed[3], allowed[4]) {
			t.Errorf("it may not %v", allowed)
		}
	}
	d, err := discovery.NewDiscoveryClientForConfig(plane.Config)
	c.must(err)
	_, lists, err := d.ServerGroupsAndResources()
	c.must(err)
	checked := 0
	for _, list := range lists {
		for _, r := range list.APIResources {
			group, _, named := strings.Cut(list.GroupVersion, "/")
			if !named {
				group = ""
			}
			for _, verb := range []string{"create", "update", "patch", "delete", "deletecollection", "impersonate", "bind", "escalate"} {
				checked++
				asks := verb == "create" && (strings.HasSuffix(r.Name, "reviews") && !strings.HasPrefix(r.Name, "local"))
				if !asks && c.may(testReader, verb, group, r.Name, "default", "x") {
					t.Errorf("it may %s %s of %q", verb, r.Name, group)
				}
			}
		}
	}
	for _, resource := range []string{"secrets", "pods", "configmaps", "events", "services", "serviceaccounts"} {
		for _, verb := range []string{"get", "list", "watch"} {
			for _, namespace := range []string{"", "default", ops, "kube-system"} {
				if c.may(testReader, verb, "", resource, namespace, "") {
					t.Errorf("it may %s %s in %q", verb, resource, namespace)
				}
			}
		}
	}
	if checked < 200 {
		t.Errorf("only %d rights were checked", checked)
	}
}

const (
	testOperator = "system:serviceaccount:" + ops + ":platform-operator-controller-manager"
	testReader   = "system:serviceaccount:" + ops + ":platform-operator-views"
)

func (c *cluster) may(user, verb, group, resource, namespace, name string) bool {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               user,
		Groups:             []string{"system:serviceaccounts", "system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource, Namespace: namespace, Name: name},
	}}
	c.must(admin.Create(context.Background(), review))
	return review.Status.Allowed
}
