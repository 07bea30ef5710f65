// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// Budgets. A catalog's message may have 4 MiB and an InstallPlan 1.5 MiB with all manifests in it; OLM copies
// the annotations onto the pods, which may have 256 KiB of them.
const (
	maxBundle      = 1 << 20
	maxCompressed  = 256 << 10
	maxAnnotations = 64 << 10
)

// everyFile calls f with each file of the bundle.
func everyFile(t *testing.T, f func(name string, text []byte)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(repo("bundle")), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(repo("bundle", name))
		f(name, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSize(t *testing.T) {
	total := 0
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	everyFile(t, func(_ string, text []byte) {
		total += len(text)
		_, _ = writer.Write(text) // into memory
	})
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	annotations := 0
	for key, value := range load(t).CSV.Annotations {
		annotations += len(key) + len(value)
	}
	for _, size := range []struct {
		what      string
		is, atAll int
	}{{"the bundle", total, maxBundle}, {"the compressed bundle", compressed.Len(), maxCompressed}, {"its annotations", annotations, maxAnnotations}} {
		if t.Logf("%s: %d bytes of %d", size.what, size.is, size.atAll); size.is > size.atAll {
			t.Errorf("%s: too large", size.what)
		}
	}
}

// supported are the kinds that OLM v0 and v1 install and that every cluster has. What needs an API that not
// every cluster has (ServiceMonitor, PrometheusRule and so on) would make the installation fail, and the
// community's pipeline refuses a NetworkPolicy.
var supported = []string{
	"ClusterServiceVersion", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
	"Service", "ServiceAccount", "ConfigMap", "Secret", "PodDisruptionBudget", "PriorityClass",
}

func TestKinds(t *testing.T) {
	b := load(t)
	for _, o := range b.Objects {
		if !slices.Contains(supported, o.GetKind()) {
			t.Errorf("%s %s: this kind may not be in the bundle", o.GetKind(), o.GetName())
		}
		if o.GetNamespace() != "" {
			t.Errorf("%s %s names the namespace %s: OLM decides that", o.GetKind(), o.GetName(), o.GetNamespace())
		}
	}
}

// leftovers are what belongs to other ways of installing, or to operator-sdk's scaffold.
var leftovers = []string{
	"cert-manager.io", "webhook-server-cert", "webhook-service", "controller:latest", "placeholder", "metrics-certs", "REPLACE",
	"CHANGEME", "creationTimestamp: null",
}

func TestNothingIsLeftOver(t *testing.T) {
	everyFile(t, func(name string, text []byte) {
		for _, word := range leftovers {
			if strings.Contains(string(text), word) {
				t.Errorf("%s has %q", name, word)
			}
		}
	})
}

// TestLabels checks that the image and the folder of the bundle say the same.
func TestLabels(t *testing.T) {
	text, err := os.ReadFile(repo("bundle.Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^LABEL ([^=]+)=(.*)$`).FindAllStringSubmatch(string(text), -1) {
		labels[match[1]] = match[2]
	}
	annotations := readAnnotations(t)
	for key, value := range annotations {
		if labels[key] != value {
			t.Errorf("%s is %q in bundle.Dockerfile and %q in annotations.yaml", key, labels[key], value)
		}
	}
	if len(labels) != len(annotations) {
		t.Errorf("bundle.Dockerfile has %d labels, annotations.yaml %d annotations", len(labels), len(annotations))
	}
	for key, value := range map[string]string{
		"operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
		"operators.operatorframework.io.bundle.package.v1":   packageName,
		"operators.operatorframework.io.test.mediatype.v1":   "scorecard+v1",
		"com.redhat.openshift.versions":                      "v4.19",
	} {
		if annotations[key] != value {
			t.Errorf("%s is %q; want %q", key, annotations[key], value)
		}
	}
}

func readAnnotations(t *testing.T) map[string]string {
	t.Helper()
	var file struct {
		Annotations map[string]string `json:"annotations"`
	}
	readObject(t, repo("bundle", "metadata", "annotations.yaml"), &file)
	return file.Annotations
}

// program is one of the two Deployments, the operator's and that of the views, and its container.
func program(t *testing.T, csv *operatorsv1alpha1.ClusterServiceVersion, name string) (operatorsv1alpha1.StrategyDeploymentSpec, corev1.Container) {
	t.Helper()
	deployments := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	i := slices.IndexFunc(deployments, func(d operatorsv1alpha1.StrategyDeploymentSpec) bool { return d.Name == name })
	if len(deployments) != 2 || i < 0 || len(deployments[i].Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("want two Deployments, one of them %s with one container, got %v", name, deployments)
	}
	return deployments[i], deployments[i].Spec.Template.Spec.Containers[0]
}

const manager = "platform-operator-controller-manager"

func TestDeployment(t *testing.T) {
	csv := load(t).CSV
	deployment, container := program(t, csv, manager)
	pod := deployment.Spec.Template.Spec
	switch {
	case len(pod.Volumes) > 0 || len(container.VolumeMounts) > 0:
		t.Errorf("volumes %v are mounted: OLM adds the certificate's, and nobody makes another", pod.Volumes)
	case !slices.Contains(container.Args, "--webhook-cert-path=/tmp/k8s-webhook-server/serving-certs"):
		t.Error("the manager does not look for its certificate where OLM mounts it")
	case *deployment.Spec.Replicas < 2:
		t.Error("one replica alone cannot be replaced without a gap")
	case deployment.Spec.Strategy.RollingUpdate.MaxUnavailable.String() != "0":
		t.Error("an upgrade takes a replica away before the next is there")
	case container.ReadinessProbe.TimeoutSeconds < 5:
		t.Error("the kubelet ends the readiness probe before its checks of the API server end themselves, after 2 s each")
	}
	if image := csv.Annotations["containerImage"]; container.Image != image || csv.Spec.RelatedImages[0].Image != image {
		t.Errorf("the container runs %s, containerImage is %s, related are %v", container.Image, image, csv.Spec.RelatedImages)
	}
}

// TestViewsDeployment checks what keeps the aggregated API answered, also while it is upgraded.
func TestViewsDeployment(t *testing.T) {
	b := load(t)
	deployment, container := program(t, b.CSV, "platform-operator-views")
	pod := deployment.Spec.Template.Spec
	switch rolling := deployment.Spec.Strategy.RollingUpdate; {
	case *deployment.Spec.Replicas < 2 || rolling.MaxUnavailable.String() != "0":
		t.Error("an upgrade leaves the API without an answer, and namespaces cannot be deleted")
	case len(pod.Volumes) != 1 || pod.Volumes[0].Secret == nil || pod.Volumes[0].Secret.SecretName != "platform-operator-views-cert":
		t.Errorf("volumes %v are mounted, want the certificate that the operator makes", pod.Volumes)
	case container.Ports[0].ContainerPort != 10250:
		t.Errorf("port %d: private clusters let the control plane reach 10250 only", container.Ports[0].ContainerPort)
	case container.Lifecycle.PreStop.Sleep.Seconds < 5:
		t.Error("a replica ends while API servers still call it")
	case pod.ServiceAccountName != "platform-operator-views":
		t.Errorf("it runs as %s", pod.ServiceAccountName)
	}
	if image := b.CSV.Annotations["containerImage"]; container.Image != image {
		t.Errorf("it runs %s, the operator %s: they belong together", container.Image, image)
	}
	for _, s := range bundled[corev1.Service](t, "Service") {
		if s.Name != "platform-operator-views" {
			continue
		}
		if p := s.Spec.Ports[0]; p.Name != "https" || p.Port != 443 || p.TargetPort.String() != container.Ports[0].Name {
			t.Errorf("the Service has the port %v", p)
		}
		for key, value := range s.Spec.Selector {
			if deployment.Spec.Template.Labels[key] != value {
				t.Errorf("the Service selects %s: %s, which its pods do not have", key, value)
			}
		}
		return
	}
	t.Error("there is no Service")
}

// TestWebhooks checks what OLM refuses or would do wrong.
func TestWebhooks(t *testing.T) {
	csv := load(t).CSV
	names := map[string]bool{}
	for _, w := range csv.Spec.WebhookDefinitions {
		if names[w.GenerateName] {
			t.Errorf("two webhooks are called %s", w.GenerateName)
		}
		names[w.GenerateName] = true
		if w.DeploymentName != "platform-operator-controller-manager" || w.ContainerPort != 443 || w.TargetPort.IntValue() != 9443 {
			t.Errorf("%s is served by %s, port %d to %s", w.GenerateName, w.DeploymentName, w.ContainerPort, w.TargetPort)
		}
		if !slices.Contains(w.AdmissionReviewVersions, "v1") || w.WebhookPath == nil || len(*w.WebhookPath) < 2 {
			t.Errorf("%s lacks the review version v1 or its path", w.GenerateName)
		}
		for _, r := range w.Rules {
			for _, group := range r.APIGroups {
				if !strings.HasSuffix(group, ".acme.com") {
					t.Errorf("%s is called for the group %q in every namespace, kube-system included", w.GenerateName, group)
				}
			}
		}
	}
	if len(names) == 0 {
		t.Error("the bundle has no webhooks")
	}
}

func TestInstallModesAndCleanup(t *testing.T) {
	csv := load(t).CSV
	for _, mode := range csv.Spec.InstallModes {
		if mode.Supported != (mode.Type == operatorsv1alpha1.InstallModeTypeAllNamespaces) {
			t.Errorf("%s: %v", mode.Type, mode.Supported)
		}
	}
	if len(csv.Spec.InstallModes) != 4 {
		t.Errorf("all four install modes must be stated, got %v", csv.Spec.InstallModes)
	}
	if csv.Spec.Cleanup.Enabled {
		t.Error("cleanup is enabled: deleting the ClusterServiceVersion would delete every object of ours")
	}
}

// TestNothingThatOLMv1Refuses checks what OLM v1, which lacks some of what v0 has, would refuse or not give us.
func TestNothingThatOLMv1Refuses(t *testing.T) {
	spec := load(t).CSV.Spec
	if api := spec.APIServiceDefinitions; len(api.Owned)+len(api.Required) > 0 {
		t.Errorf("API services: %v", api)
	}
	if required := spec.CustomResourceDefinitions.Required; len(required)+len(spec.NativeAPIs) > 0 {
		t.Errorf("required are %v and %v", required, spec.NativeAPIs)
	}
	for _, p := range spec.InstallStrategy.StrategySpec.ClusterPermissions {
		for _, r := range p.Rules {
			if slices.Contains(r.APIGroups, "operators.coreos.com") {
				t.Errorf("%v needs an API that OLM v1 does not have", r)
			}
		}
	}
	for _, file := range []string{"dependencies.yaml", "properties.yaml"} {
		if _, err := os.Stat(repo("bundle", "metadata", file)); err == nil {
			t.Errorf("metadata/%s: OLM v1 refuses dependencies and constraints", file)
		}
	}
}

// TestScorecardConfig checks that the bundle carries the configuration of the tests.
func TestScorecardConfig(t *testing.T) {
	var inBundle, source map[string]any
	readObject(t, repo("bundle", "tests", "scorecard", "config.yaml"), &inBundle)
	readObject(t, repo("config", "scorecard", "bases", "config.yaml"), &source)
	for _, field := range []string{"apiVersion", "kind", "stages"} {
		want, _ := json.Marshal(source[field])
		got, _ := json.Marshal(withoutStorage(inBundle[field]))
		if !bytes.Equal(want, got) {
			t.Errorf("%s is %s; want %s", field, got, want)
		}
	}
}

// withoutStorage drops an empty field that operator-sdk adds to each test.
func withoutStorage(stages any) any {
	list, ok := stages.([]any)
	if !ok {
		return stages
	}
	for _, stage := range list {
		tests, _ := stage.(map[string]any)["tests"].([]any)
		for _, test := range tests {
			delete(test.(map[string]any), "storage")
		}
	}
	return stages
}

// readBlobs reads the documents of a catalog.
func readBlobs(t *testing.T, file string) []map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for document := range strings.SplitSeq(strings.TrimPrefix(string(text), "---\n"), "\n---\n") {
		var b map[string]any
		if err := yaml.Unmarshal([]byte(document), &b); err != nil {
			t.Fatalf("%s: %v", filepath.Base(file), err)
		}
		all = append(all, b)
	}
	return all
}
