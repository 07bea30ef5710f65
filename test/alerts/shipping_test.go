// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

// object is what these tests read of an object.
type object struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name, Namespace     string
		Labels, Annotations map[string]string
	} `json:"metadata"`
	RoleRef  struct{ Name string }
	Subjects []struct{ Name, Namespace string }
	Spec     struct {
		Ports    []struct{ Name string }
		Selector struct {
			MatchLabels map[string]string `json:"matchLabels"`
		}
		JobLabel  string `json:"jobLabel"`
		Endpoints []struct {
			Port          string
			Scheme        string
			Authorization struct {
				Credentials struct{ Name, Key string }
			}
		}
	} `json:"spec"`
}

// build builds a kustomization of the given folders of config.
func build(t *testing.T, text string) map[string]object {
	t.Helper()
	dir := filepath.Join(root, "dist", "alerts")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(root, "bin", "kustomize"), "build", dir).Output()
	if err != nil {
		t.Fatalf("building %s: %v", text, err)
	}
	all := map[string]object{}
	for part := range bytes.SplitSeq(out, []byte("\n---\n")) {
		var o object
		if err := yaml.Unmarshal(part, &o); err != nil {
			continue // objects of other kinds
		}
		all[o.Kind+" "+o.Metadata.Name] = o
	}
	return all
}

// TestTheMonitorFindsTheOperator wants that the ServiceMonitor selects the Service of config/default and that of the bundle, and
// that what it names is there.
func TestTheMonitorFindsTheOperator(t *testing.T) {
	all := build(t, "resources: [../../config/default]\ncomponents: [../../config/prometheus]\n")
	monitor, found := all["ServiceMonitor platform-operator"]
	if !found || len(monitor.Spec.Endpoints) != 1 {
		t.Fatal("there is no ServiceMonitor with an endpoint")
	}
	endpoint := monitor.Spec.Endpoints[0]
	secret, found := all["Secret "+endpoint.Authorization.Credentials.Name]
	if !found || endpoint.Authorization.Credentials.Key != "token" || endpoint.Scheme != "https" {
		t.Errorf("the endpoint %+v does not show the token of a Secret that is there", endpoint)
	}
	account := secret.Metadata.Annotations["kubernetes.io/service-account.name"]
	if _, found := all["ServiceAccount "+account]; !found {
		t.Errorf("the Secret is of the account %q, which is not there", account)
	}
	binding := all["ClusterRoleBinding "+account]
	if _, found := all["ClusterRole "+binding.RoleRef.Name]; !found || len(binding.Subjects) != 1 || binding.Subjects[0].Name != account {
		t.Errorf("the account has no role that is there: %+v", binding)
	}

	text, err := os.ReadFile(root + "/bundle/manifests/platform-operator-controller-manager-metrics-service_v1_service.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var ofBundle object
	if err := yaml.Unmarshal(text, &ofBundle); err != nil && ofBundle.Metadata.Name == "" {
		t.Fatal(err)
	}
	const service = "platform-operator-controller-manager-metrics-service"
	for from, s := range map[string]object{"config/default": all["Service "+service], "the bundle": ofBundle} {
		for key, value := range monitor.Spec.Selector.MatchLabels {
			if s.Metadata.Labels[key] != value {
				t.Errorf("the Service of %s has not the label %s=%s, which the ServiceMonitor selects", from, key, value)
			}
		}
		if job := s.Metadata.Labels[monitor.Spec.JobLabel]; job != "platform-operator" {
			t.Errorf("the job is %q for the Service of %s; the rules expect platform-operator", job, from)
		}
		if len(s.Spec.Ports) != 1 || s.Spec.Ports[0].Name != endpoint.Port {
			t.Errorf("the Service of %s has no port %s", from, endpoint.Port)
		}
	}
}

// TestWithOLMTheComponentIsAppliedAlone wants that it can be built without the operator, for any namespace, and that the bundle has
// nothing that needs the Prometheus operator.
func TestWithOLMTheComponentIsAppliedAlone(t *testing.T) {
	all := build(t, "namespace: elsewhere\ncomponents: [../../config/prometheus]\n")
	if len(all) != 5 {
		t.Errorf("it has %d objects, want 5: %v", len(all), all)
	}
	for name, o := range all {
		for _, s := range o.Subjects {
			if s.Namespace != "elsewhere" {
				t.Errorf("%s is about an account in %s", name, s.Namespace)
			}
		}
		if o.Kind != "ClusterRoleBinding" && o.Metadata.Namespace != "elsewhere" {
			t.Errorf("%s is in the namespace %s", name, o.Metadata.Namespace)
		}
	}
	files, err := filepath.Glob(root + "/bundle/manifests/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("the bundle has %d files: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("monitoring.coreos.com")) {
			t.Errorf("%s needs the Prometheus operator: OLM could not install the bundle without it", filepath.Base(file))
		}
	}
}
