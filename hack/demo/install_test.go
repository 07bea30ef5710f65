/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const root = "../.." // of the repository

// TestWebhookConfigurations rewrites the real manifests: nothing but names and clientConfig may change.
func TestWebhookConfigurations(t *testing.T) {
	g := gomega.NewWithT(t)
	manifests, err := os.ReadFile(filepath.Join(root, "config", "webhook", "manifests.yaml"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	want, err := decode(manifests)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	for _, o := range want {
		o.SetName("platform-operator-" + o.GetName())
		for _, webhook := range webhooks(t, o) {
			path, found, err := unstructured.NestedString(webhook, "clientConfig", "service", "path")
			g.Expect(path).To(gomega.HavePrefix("/"), "%v %v", found, err)
			webhook["clientConfig"] = map[string]any{"url": "https://127.0.0.1:1234" + path, "caBundle": "YXV0aG9yaXR5"}
		}
	}
	got, err := webhookConfigurations(manifests, "https://127.0.0.1:1234", []byte("authority"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
		t.Errorf("%d configurations (-want +got):\n%s", len(got), diff)
	}
}

// webhooks are the webhooks in o themselves, not copies.
func webhooks(t *testing.T, o *unstructured.Unstructured) []map[string]any {
	t.Helper()
	field, _, err := unstructured.NestedFieldNoCopy(o.Object, "webhooks")
	list, ok := field.([]any)
	if err != nil || !ok || len(list) == 0 {
		t.Fatalf("%s has no webhooks: %v", o.GetName(), err)
	}
	all := make([]map[string]any, 0, len(list))
	for _, each := range list {
		all = append(all, each.(map[string]any))
	}
	return all
}

func TestWebhookConfigurationsRefuse(t *testing.T) {
	for reason, manifest := range map[string]string{
		"no yaml":         "{",
		"no service":      "kind: A\nmetadata: {name: a}\nwebhooks: [{clientConfig: {url: 'https://a'}}]",
		"no path":         "kind: A\nmetadata: {name: a}\nwebhooks: [{clientConfig: {service: {name: a}}}]",
		"no webhook list": "kind: A\nmetadata: {name: a}\nwebhooks: 7",
	} {
		if got, err := webhookConfigurations([]byte(manifest), "https://127.0.0.1:1", nil); err == nil {
			t.Errorf("%s: accepted as %v", reason, got)
		}
	}
}

// TestLoadSamples reads the real samples: every kind that the report knows has to be among them.
func TestLoadSamples(t *testing.T) {
	samples, err := loadSamples(root)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, s := range samples {
		if s.object.GetName() == "" || s.object.GetAPIVersion() == "" || s.comment == "" || !strings.HasPrefix(s.text, "apiVersion:") {
			t.Errorf("%s: object %q %q, comment %q, text\n%s", s.file, s.object.GetAPIVersion(), s.object.GetName(), s.comment, s.text)
		}
		kinds[s.object.GroupVersionKind().GroupKind().String()] = true
	}
	for gk := range views {
		if !kinds[gk.String()] {
			t.Errorf("the report has something to say about %s, and there is no sample", gk)
		}
	}
}

// TestHasStatus reads the real CRDs: kinds that are reconciled have a status, settings have none.
func TestHasStatus(t *testing.T) {
	for file, want := range map[string]bool{"tenancy.acme.com_acmenamespaces.yaml": true, "tenancy.acme.com_deploymenttiers.yaml": false} {
		data, err := os.ReadFile(filepath.Join(root, "config", "crd", "bases", file))
		if err != nil {
			t.Fatal(err)
		}
		crds, err := decode(data)
		if err != nil || len(crds) != 1 {
			t.Fatalf("%s has %d objects: %v", file, len(crds), err)
		}
		if got := hasStatus(crds[0]); got != want {
			t.Errorf("%s: %v, want %v", file, got, want)
		}
	}
	if hasStatus(newCRD()) {
		t.Error("a kind that is no custom resource has a status")
	}
}

func TestParseSamples(t *testing.T) {
	got, err := parseSamples("f.yaml", []byte("# Two\n# lines.\nkind: A\nmetadata: {name: a}\n---\n# Nothing.\n---\nkind: B\nmetadata: {name: b}\n"))
	if err != nil || len(got) != 2 {
		t.Fatalf("%d samples, want 2: %v", len(got), err)
	}
	if got[0].comment != "Two lines." || got[0].text != "kind: A\nmetadata: {name: a}" || got[0].title() != "A a" {
		t.Errorf("the first is %q, %q, %q", got[0].comment, got[0].text, got[0].title())
	}
	if got[1].comment != "" || got[1].text != "kind: B\nmetadata: {name: b}" || got[1].title() != "B b" {
		t.Errorf("the second is %q, %q, %q", got[1].comment, got[1].text, got[1].title())
	}
	if _, err := parseSamples("f.yaml", []byte("kind: [")); err == nil {
		t.Error("what is no YAML is accepted")
	}
}

func TestSampleState(t *testing.T) {
	conditions := func(c ...map[string]any) map[string]any {
		list := make([]any, 0, len(c))
		for _, each := range c {
			list = append(list, each)
		}
		return map[string]any{"conditions": list}
	}
	for reason, test := range map[string]struct {
		tells  bool
		status map[string]any
		state  string
		ready  bool
	}{
		"a kind without a status": {false, nil, "in place", true},
		"no status yet":           {true, nil, "waiting for the operator", false},
		"other conditions only": {
			true, conditions(map[string]any{"type": "Admitted", "status": "True", "observedGeneration": int64(2)}),
			"waiting for the operator", false,
		},
		"the last generation": {
			true, conditions(map[string]any{"type": "Ready", "status": "True", "observedGeneration": int64(1)}),
			"waiting for the operator", false,
		},
		"ready": {
			true, conditions(map[string]any{"type": "Ready", "status": "True", "observedGeneration": int64(2)}),
			"Ready", true,
		},
		"not ready": {
			true, conditions(map[string]any{
				"type": "Ready", "status": "False", "observedGeneration": int64(2), "reason": "NameTaken", "message": "choose another",
			}),
			"NameTaken: choose another", false,
		},
	} {
		t.Run(reason, func(t *testing.T) {
			o := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"generation": int64(2)}}}
			if test.status != nil {
				o.Object["status"] = test.status
			}
			s := &sample{live: o, tells: test.tells}
			if state, ready := s.state(); state != test.state || ready != test.ready {
				t.Errorf("%q, %v; want %q, %v", state, ready, test.state, test.ready)
			}
		})
	}
}
