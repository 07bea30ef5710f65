// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/acme/platform-operator/internal/testenv"
)

const monitoringGroup = "monitoring.coreos.com"

// applyAlerts applies config/prometheus beside the bundle, which is there already: before the definitions of the Prometheus
// operator exist, its two kinds are all that the API server does not know; afterwards it accepts everything.
func applyAlerts(t *testing.T, config *rest.Config, admin client.Client) {
	unknown := applyComponent(t, admin)
	if len(unknown) != 2 {
		t.Errorf("without the definitions these are unknown, want ServiceMonitor and PrometheusRule: %v", unknown)
	}
	if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: monitoringDefinitions()}); err != nil {
		t.Fatal(err)
	}
	if unknown := applyComponent(t, admin); len(unknown) > 0 {
		t.Errorf("with the definitions these are unknown: %v", unknown)
	}
	account := "platform-operator-metrics-scraper"
	binding := &rbacv1.ClusterRoleBinding{}
	if err := admin.Get(t.Context(), client.ObjectKey{Name: account}, binding); err != nil {
		t.Fatal(err)
	}
	if s := binding.Subjects; len(s) != 1 || s[0].Namespace != testenv.OperatorNamespace {
		t.Errorf("the binding of %s is for %v", account, s)
	}
}

// applyComponent applies the objects of config/prometheus, and returns the kinds that the API server does not know.
func applyComponent(t *testing.T, admin client.Client) (unknown []string) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: testenv.OperatorNamespace}}
	if err := client.IgnoreAlreadyExists(admin.Create(t.Context(), ns)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(testenv.RepoFile("config", "prometheus", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		objects, err := testenv.ReadObjects(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			if o.GetKind() == "Component" {
				continue
			}
			err := admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("admin"))
			if meta.IsNoMatchError(err) && o.GroupVersionKind().Group == monitoringGroup {
				unknown = append(unknown, o.GetKind())
			} else if err != nil {
				t.Errorf("%s %s is rejected: %v", o.GetKind(), o.GetName(), err)
			}
		}
	}
	return unknown
}

// monitoringDefinitions have the names of those of the Prometheus operator, and admit everything.
func monitoringDefinitions() (all []*apiextensionsv1.CustomResourceDefinition) {
	anything := true
	schema := &apiextensionsv1.CustomResourceValidation{
		OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &anything},
	}
	for _, kind := range []string{"ServiceMonitor", "PrometheusRule"} {
		plural := strings.ToLower(kind) + "s"
		all = append(all, &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: plural + "." + monitoringGroup},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: monitoringGroup, Scope: apiextensionsv1.NamespaceScoped,
				Names:    apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, Plural: plural},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: schema}},
			},
		})
	}
	return all
}
