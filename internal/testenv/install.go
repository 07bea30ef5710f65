// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"
)

const (
	// OperatorNamespace is the namespace that the operator is installed in.
	OperatorNamespace = "platform-operator-system"
	// OperatorUser is the service account that the operator runs as.
	OperatorUser = "system:serviceaccount:" + OperatorNamespace + ":platform-operator-controller-manager"
	// OperatorRole is the generated ClusterRole of that service account.
	OperatorRole = namePrefix + "manager-role"

	namePrefix = "platform-operator-"
)

// InstallConfig installs what config/install holds: the CustomResourceDefinitions, the operator's
// namespace, its RBAC and its policy, and waits until the operator may do what its role says. It may be
// called again after changes.
func InstallConfig(cp *ControlPlane) error {
	if err := InstallDefinitions(cp); err != nil {
		return err
	}
	return InstallOperator(cp)
}

// InstallDefinitions installs the CustomResourceDefinitions of the given files of config/crd/bases, or else all.
func InstallDefinitions(cp *ControlPlane, files ...string) error {
	crds := envtest.CRDInstallOptions{ErrorIfPathMissing: true}
	for _, file := range files {
		crds.Paths = append(crds.Paths, RepoFile("config", "crd", "bases", file))
	}
	if len(files) == 0 {
		crds.Paths = []string{RepoFile("config", "crd", "bases")}
	}
	if _, err := envtest.InstallCRDs(cp.Config, crds); err != nil {
		return fmt.Errorf("installing the CRDs: %w", err)
	}
	return nil
}

// InstallOperator installs what config/install holds, except for the CustomResourceDefinitions.
func InstallOperator(cp *ControlPlane) error {
	cl, err := client.New(cp.Config, client.Options{})
	if err != nil {
		return err
	}
	for _, folder := range []string{"namespace", "rbac", "policy", "views/rbac"} {
		objects, err := readFolder(RepoFile("config", folder))
		if err != nil {
			return err
		}
		for _, u := range objects {
			install(u)
			err := cl.Apply(context.Background(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("testenv"), client.ForceOwnership)
			if err != nil {
				return fmt.Errorf("installing %s %s: %w", u.GetKind(), u.GetName(), err)
			}
		}
	}
	return awaitRole(cl)
}

// InstallScheduling applies config/scheduling, as an administrator does for SchedulerProfiles.
func InstallScheduling(cp *ControlPlane) error {
	cl, err := client.New(cp.Config, client.Options{})
	if err != nil {
		return err
	}
	text, err := exec.Command(RepoFile("bin", "kustomize"), "build", RepoFile("config", "scheduling")).Output()
	if err != nil {
		return fmt.Errorf("building config/scheduling: %w", err)
	}
	objects, err := readAll(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("reading config/scheduling: %w", err)
	}
	for _, u := range objects {
		err := cl.Apply(context.Background(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("testenv"), client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("installing %s %s: %w", u.GetKind(), u.GetName(), err)
		}
	}
	return nil
}

// readFolder reads the objects that the kustomization.yaml of a folder lists.
func readFolder(folder string) ([]*unstructured.Unstructured, error) {
	text, err := os.ReadFile(filepath.Join(folder, "kustomization.yaml"))
	if err != nil {
		return nil, err
	}
	var list struct{ Resources []string }
	if err := yaml.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("reading the kustomization of %s: %w", folder, err)
	}
	var all []*unstructured.Unstructured
	for _, name := range list.Resources {
		objects, err := ReadObjects(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	return all, nil
}

// ReadObjects reads the objects of a file of manifests.
func ReadObjects(file string) ([]*unstructured.Unstructured, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	all, err := readAll(f)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return all, nil
}

func readAll(from io.Reader) (all []*unstructured.Unstructured, err error) {
	for d := utilyaml.NewYAMLOrJSONDecoder(from, 4096); ; {
		u := &unstructured.Unstructured{}
		switch err := d.Decode(u); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		case len(u.Object) > 0:
			all = append(all, u)
		}
	}
}

// install does what config/install/kustomization.yaml says: a prefix for names, and the namespace.
func install(u *unstructured.Unstructured) {
	if u.GetNamespace() != "" {
		u.SetNamespace(OperatorNamespace)
	}
	if u.GetKind() == "Namespace" {
		u.SetName(OperatorNamespace)
		return
	}
	u.SetName(namePrefix + u.GetName())
	for _, path := range [][]string{{"roleRef", "name"}, {"spec", "policyName"}} {
		if name, ok, _ := unstructured.NestedString(u.Object, path...); ok {
			_ = unstructured.SetNestedField(u.Object, namePrefix+name, path...)
		}
	}
	subjects, _, _ := unstructured.NestedSlice(u.Object, "subjects")
	for _, s := range subjects {
		if subject := s.(map[string]any); subject["kind"] == rbacv1.ServiceAccountKind {
			subject["name"], subject["namespace"] = namePrefix+subject["name"].(string), OperatorNamespace
		}
	}
	if len(subjects) > 0 {
		_ = unstructured.SetNestedSlice(u.Object, subjects, "subjects")
	}
}

// awaitRole waits until the API server grants the operator the rules of its role.
func awaitRole(cl client.Client) error {
	role := &rbacv1.ClusterRole{}
	if err := cl.Get(context.Background(), client.ObjectKey{Name: OperatorRole}, role); err != nil {
		return fmt.Errorf("reading the operator's role: %w", err)
	}
	for _, rule := range role.Rules {
		if err := awaitRule(cl, rule); err != nil {
			return err
		}
	}
	return nil
}

func awaitRule(cl client.Client, rule rbacv1.PolicyRule) error {
	resource, subresource, _ := strings.Cut(rule.Resources[0], "/")
	attributes := &authorizationv1.ResourceAttributes{
		Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: resource, Subresource: subresource,
	}
	if len(rule.ResourceNames) > 0 {
		attributes.Name = rule.ResourceNames[0]
	}
	err := wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, startTimeout, true,
		func(ctx context.Context) (bool, error) {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: OperatorUser, ResourceAttributes: attributes,
			}}
			err := cl.Create(ctx, review)
			return review.Status.Allowed, err
		})
	if err != nil {
		return fmt.Errorf("waiting for the operator to be allowed to %s %s: %w", attributes.Verb, rule.Resources[0], err)
	}
	return nil
}
