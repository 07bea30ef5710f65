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
		Endpoints []endpoint
	} `json:"spec"`
}

// endpoint is what these tests read of what a ServiceMonitor scrapes.
type endpoint struct {
	Port          string
	Scheme        string
	Authorization struct {
		Credentials struct{ Name, Key string }
	}
	Relabelings []struct {
		Action, Replacement string
		TargetLabel         string `json:"targetLabel"`
	}
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

// monitors are the ServiceMonitors, each with the Service that it selects and the job that the rules expect.
var monitors = map[string]struct{ service, job string }{
	"platform-operator":       {"platform-operator-controller-manager-metrics-service", "platform-operator"},
	"platform-operator-views": {"platform-operator-views", "platform-operator-views"},
}

// TestTheMonitorsFindThePrograms wants that each ServiceMonitor selects one Service of config/default, and the same one of the bundle, and
// that what it names is there.
func TestTheMonitorsFindThePrograms(t *testing.T) {
	all := build(t, "resources: [../../config/default]\ncomponents: [../../config/prometheus]\n")
	for name, want := range monitors {
		t.Run(name, func(t *testing.T) {
			monitor, found := all["ServiceMonitor "+name]
			if !found || len(monitor.Spec.Endpoints) != 1 {
				t.Fatal("there is no ServiceMonitor with an endpoint")
			}
			checkScraper(t, all, monitor.Spec.Endpoints[0])
			text, err := os.ReadFile(root + "/bundle/manifests/" + want.service + "_v1_service.yaml")
			if err != nil {
				t.Fatal(err)
			}
			var ofBundle object
			if err := yaml.Unmarshal(text, &ofBundle); err != nil && ofBundle.Metadata.Name == "" {
				t.Fatal(err)
			}
			for key, o := range all {
				if o.Kind == "Service" && monitor.selects(o) && o.Metadata.Name != want.service {
					t.Errorf("it selects %s, too", key)
				}
			}
			for from, s := range map[string]object{"config/default": all["Service "+want.service], "the bundle": ofBundle} {
				if !monitor.selects(s) {
					t.Errorf("it does not select the Service of %s, which has the labels %v", from, s.Metadata.Labels)
				}
				if job := monitor.jobOf(s); job != want.job {
					t.Errorf("the job is %q for the Service of %s; the rules expect %s", job, from, want.job)
				}
				if len(s.Spec.Ports) != 1 || s.Spec.Ports[0].Name != monitor.Spec.Endpoints[0].Port {
					t.Errorf("the Service of %s has no port %s", from, monitor.Spec.Endpoints[0].Port)
				}
			}
		})
	}
}

// checkScraper wants that an endpoint shows the token of an account that is there and may read the metrics.
func checkScraper(t *testing.T, all map[string]object, endpoint endpoint) {
	t.Helper()
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
}

// selects reports whether a ServiceMonitor selects a Service.
func (o object) selects(service object) bool {
	for key, value := range o.Spec.Selector.MatchLabels {
		if service.Metadata.Labels[key] != value {
			return false
		}
	}
	return len(o.Spec.Selector.MatchLabels) > 0
}

// jobOf is the label job of what a ServiceMonitor finds by a Service.
func (o object) jobOf(service object) string {
	for _, r := range o.Spec.Endpoints[0].Relabelings {
		if r.Action == "replace" && r.TargetLabel == "job" {
			return r.Replacement
		}
	}
	return service.Metadata.Labels[o.Spec.JobLabel]
}

// TestWithOLMTheComponentIsAppliedAlone wants that it can be built without the operator, for any namespace, and that the bundle has
// nothing that needs the Prometheus operator.
func TestWithOLMTheComponentIsAppliedAlone(t *testing.T) {
	all := build(t, "namespace: elsewhere\ncomponents: [../../config/prometheus]\n")
	if len(all) != 6 {
		t.Errorf("it has %d objects, want 6: %v", len(all), all)
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
