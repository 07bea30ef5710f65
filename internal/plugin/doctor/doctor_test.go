// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/config/crd"
	"github.com/acme/platform-operator/config/policy"
	"github.com/acme/platform-operator/internal/plugin"
	"github.com/acme/platform-operator/internal/plugin/doctor"
	"github.com/acme/platform-operator/internal/testenv"
)

var now = time.Now().UTC().Truncate(time.Second)

// objects reads objects from YAML.
func objects(t *testing.T, texts ...string) (all []*unstructured.Unstructured) {
	t.Helper()
	for _, text := range texts {
		o := &unstructured.Unstructured{}
		data, err := yaml.YAMLToJSON([]byte(text))
		if err == nil && len(data) > len("null") {
			err = o.UnmarshalJSON(data)
			all = append(all, o)
		}
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
	return all
}

var read = map[fs.FS][]*unstructured.Unstructured{}

// embedded reads the objects of the manifests of this version.
func embedded(t *testing.T, files fs.FS) (all []*unstructured.Unstructured) {
	t.Helper()
	if all, found := read[files]; found {
		return all
	}
	defer func() { read[files] = all }()
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		all = append(all, objects(t, strings.Split("\n"+string(text), "\n---\n")...)...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// authority makes a certificate, once.
var authority = sync.OnceValues(func() ([]byte, error) {
	ca, _, err := cert.GenerateSelfSignedCertKey("webhook", nil, nil)
	return ca, err
})

// well is an installation in which all is well.
func well(t *testing.T) doctor.Installation {
	t.Helper()
	ca, err := authority()
	if err != nil {
		t.Fatal(err)
	}
	i := doctor.Installation{Plugin: "v0.5.0", Namespace: "op"}
	i.Server.Value = "v1.36.3"
	i.Definitions.Value = slices.Clone(embedded(t, crd.Bases))
	i.Definitions.Value[0] = i.Definitions.Value[0].DeepCopy()
	for _, d := range i.Definitions.Value {
		group, _, _ := unstructured.NestedString(d.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(d.Object, "spec", "names", "kind")
		i.Kinds = append(i.Kinds, plugin.Kind{GroupVersionResource: schema.GroupVersionResource{Group: group}, Kind: kind})
	}
	i.Deployments.Value = objects(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {replicas: 2, template: {spec: {containers: [
		{name: manager, image: "registry.example.com:5000/platform-operator:v0.5.1@sha256:0"}]}}}, status: {readyReplicas: 2, updatedReplicas: 2}}`)
	i.Lease.Value = objects(t, fmt.Sprintf(`{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: l},
		spec: {holderIdentity: one, leaseDurationSeconds: 15, renewTime: %q}}`, now.Add(-20*time.Second).Format("2006-01-02T15:04:05.000000Z07:00")))[0]
	var hooks []string
	for _, name := range doctor.Asked() {
		_, group, _ := strings.Cut(name, ".")
		hooks = append(hooks, fmt.Sprintf("{name: %s, clientConfig: {caBundle: %q}, rules: [{apiGroups: [%s]}]}", name, base64.StdEncoding.EncodeToString(ca), group))
	}
	i.Hooks.Value = objects(t, fmt.Sprintf(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: h, annotations: {cert-manager.io/inject-ca-from: op/c}}, webhooks: [%s]}`,
		strings.Join(hooks, ", ")))
	i.Probes = []doctor.Probe{{Hook: "vcrontab.batch.acme.com", Kind: "CronTab", Err: errors.New(`admission webhook "vcrontab.batch.acme.com" denied the request: x`)}}
	i.Certificates.Value = objects(t, fmt.Sprintf(`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: c, namespace: op}, status: {notAfter: %q}}`,
		now.Add(50*time.Hour).Format(time.RFC3339)))
	for _, o := range embedded(t, policy.All) {
		o = o.DeepCopy()
		o.SetName("platform-operator-" + o.GetName())
		if name, is, _ := unstructured.NestedString(o.Object, "spec", "policyName"); is {
			must(t, unstructured.SetNestedField(o.Object, "platform-operator-"+name, "spec", "policyName"))
			i.Bindings.Value = append(i.Bindings.Value, o)
			continue
		}
		must(t, unstructured.SetNestedField(o.Object, "Equivalent", "spec", "matchConstraints", "matchPolicy")) // as the API server completes it
		i.Policies.Value = append(i.Policies.Value, o)
	}
	i.APIServices.Value = objects(t, apiService("v1alpha1.batch.acme.com", "True"), apiService("v1.apps", "True"))
	return i
}

func apiService(name, available string) string {
	_, group, _ := strings.Cut(name, ".")
	return fmt.Sprintf(`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: %s}, spec: {group: %s},
		status: {conditions: [{type: Available, status: %q, reason: MissingEndpoints, message: no endpoints}]}}`, name, group, available)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func forbidden(resource string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no"))
}

func TestAllIsWell(t *testing.T) {
	d := doctor.Diagnose(well(t), now)
	for _, f := range d.Findings {
		if f.Level != doctor.OK || f.Do != "" {
			t.Errorf("%+v", f)
		}
	}
	if d.Broken() || len(d.Findings) != 11 {
		t.Errorf("%d findings: %+v", len(d.Findings), d)
	}
}

// TestFoldedPolicies: kustomize doubles breaks between the lines of an expression, which mean nothing.
func TestFoldedPolicies(t *testing.T) {
	i, folded := well(t), 0
	for _, p := range i.Policies.Value {
		list, _, _ := unstructured.NestedSlice(p.Object, "spec", "validations")
		for _, item := range list {
			v := item.(map[string]any)
			text := v["expression"].(string)
			folded += strings.Count(text, "\n")
			v["expression"] = strings.ReplaceAll(text, "\n", "\n\n")
		}
		if len(list) > 0 {
			must(t, unstructured.SetNestedSlice(p.Object, list, "spec", "validations"))
		}
	}
	for _, f := range doctor.Diagnose(i, now).Findings {
		if f.Level != doctor.OK {
			t.Errorf("%+v", f)
		}
	}
	if folded == 0 {
		t.Error("no expression has two lines")
	}
}

// TestFindings breaks one thing at a time.
func TestFindings(t *testing.T) {
	set := func(value any, path ...string) func([]*unstructured.Unstructured) {
		return func(all []*unstructured.Unstructured) {
			must(t, unstructured.SetNestedField(all[0].Object, value, path...))
		}
	}
	type installation = *doctor.Installation
	for name, c := range map[string]struct {
		breaks            func(installation)
		check, level, has string
	}{
		"old API server":    {func(i installation) { i.Server.Value = "v1.31.9" }, "kubernetes", doctor.Broken, "needs 1.32"},
		"no API server":     {func(i installation) { i.Server.Err = errors.New("gone") }, "kubernetes", doctor.Unknown, "gone"},
		"no operator":       {func(i installation) { i.Deployments.Value = nil }, "operator", doctor.Broken, "--operator-namespace"},
		"hidden operator":   {func(i installation) { i.Deployments = doctor.Objects{Err: forbidden("deployments")} }, "operator", doctor.Unknown, "you may not read"},
		"no replica ready":  {func(i installation) { set(int64(0), "status", "readyReplicas")(i.Deployments.Value) }, "operator", doctor.Broken, "0 of 2"},
		"one replica ready": {func(i installation) { set(int64(1), "status", "readyReplicas")(i.Deployments.Value) }, "operator", doctor.Warning, "1 of 2"},
		"an old replica":    {func(i installation) { set(int64(1), "status", "updatedReplicas")(i.Deployments.Value) }, "operator", doctor.Warning, "describe pods"},
		"scaled to nothing": {func(i installation) { set(int64(0), "spec", "replicas")(i.Deployments.Value) }, "operator", doctor.Broken, "kubectl scale"},
		"two operators":     {func(i installation) { i.Deployments.Value = append(i.Deployments.Value, i.Deployments.Value...) }, "operator", doctor.Broken, "more than one"},
		"another version":   {func(i installation) { i.Plugin = "v0.7.0" }, "plugin", doctor.Warning, "more than one minor"},
		"built by hand":     {func(i installation) { i.Plugin = "unknown" }, "plugin", doctor.Unknown, "no version"},
		"no Lease":          {func(i installation) { i.Lease.Err = apierrors.NewNotFound(schema.GroupResource{}, "l") }, "leader", doctor.Broken, "no operator has led"},
		"no leader":         {func(i installation) { set("", "spec", "holderIdentity")([]*unstructured.Unstructured{i.Lease.Value}) }, "leader", doctor.Broken, "nothing is reconciled"},
		"a leader gone": {func(i installation) {
			set(now.Add(-time.Minute).Format(time.RFC3339), "spec", "renewTime")([]*unstructured.Unstructured{i.Lease.Value})
		}, "leader", doctor.Broken, "60s"},
		"a kind less": {func(i installation) { i.Kinds, i.Definitions.Value = i.Kinds[1:], i.Definitions.Value[1:] }, "kinds", doctor.Broken, "ConfigWatcher is not served"},
		"not established": {func(i installation) {
			i.Kinds = i.Kinds[1:]
			set([]any{map[string]any{"type": "NamesAccepted", "status": "False", "message": "taken"}}, "status", "conditions")(i.Definitions.Value)
		}, "kinds", doctor.Broken, "which exists and is not established: taken"},
		"another schema": {func(i installation) {
			i.Definitions.Value[0] = i.Definitions.Value[1].DeepCopy()
			i.Definitions.Value[0].SetName("configwatchers.autoreboot.acme.com")
		}, "kinds", doctor.Warning, "configwatchers.autoreboot.acme.com"},
		"hidden definitions": {func(i installation) { i.Definitions = doctor.Objects{Err: forbidden("x")} }, "kinds", doctor.Unknown, "CustomResourceDefinitions"},
		"no webhooks":        {func(i installation) { i.Hooks.Value = nil }, "webhooks", doctor.Warning, "none is installed"},
		"a webhook less": {func(i installation) {
			i.Plugin = "v0.5.1"
			i.Hooks.Value[0].Object["webhooks"] = i.Hooks.Value[0].Object["webhooks"].([]any)[1:]
		}, "webhooks", doctor.Broken, doctor.Asked()[0] + " is not installed"},
		"mutating webhooks only": {func(i installation) {
			set([]any{map[string]any{
				"name": "m", "clientConfig": i.Hooks.Value[0].Object["webhooks"].([]any)[0].(map[string]any)["clientConfig"],
				"rules": []any{map[string]any{"apiGroups": []any{"tenancy.acme.com"}}},
			}}, "webhooks")(i.Hooks.Value)
		}, "webhooks", doctor.Warning, doctor.Asked()[1] + " is not installed"},
		"no CA": {func(i installation) {
			i.Hooks.Value[0].Object["webhooks"].([]any)[0].(map[string]any)["clientConfig"] = map[string]any{}
		}, "webhooks", doctor.Broken, "has no CA"},
		"garbage for a CA": {func(i installation) {
			i.Hooks.Value[0].Object["webhooks"].([]any)[0].(map[string]any)["clientConfig"] = map[string]any{"caBundle": base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}))}
		}, "webhooks", doctor.Broken, "cannot be read"},
		"no answer":         {func(i installation) { i.Probes[0].Err = nil }, "webhooks", doctor.Broken, "has not rejected"},
		"perhaps no answer": {func(i installation) { i.Probes[0].Err, i.Hooks.Err = nil, forbidden("x") }, "webhooks", doctor.Warning, "or is not installed"},
		"a failing call":    {func(i installation) { i.Probes[0].Err = errors.New("failed calling webhook: refused") }, "webhooks", doctor.Broken, "refused"},
		"not to be tried":   {func(i installation) { i.Probes[0].Err = forbidden("crontabs") }, "webhooks", doctor.Unknown, "you may not create a CronTab here"},
		"another webhook":   {func(i installation) { i.Probes[0].Err = errors.New(`admission webhook "other" denied the request`) }, "webhooks", doctor.Unknown, "could not be tried"},
		"it ends": {func(i installation) {
			set(now.Add(17*time.Hour).Format(time.RFC3339), "status", "notAfter")(i.Certificates.Value)
		}, "certificates", doctor.Broken, "ends in 17h"},
		"it has ended": {func(i installation) {
			set(now.Add(-time.Hour).Format(time.RFC3339), "status", "notAfter")(i.Certificates.Value)
		}, "certificates", doctor.Broken, "has ended"},
		"of somebody else": {func(i installation) {
			i.Hooks.Value[0].SetAnnotations(nil)
			set("", "status", "notAfter")(i.Certificates.Value)
		}, "certificates", doctor.Warning, "has not been issued"},
		"not issued":                  {func(i installation) { set("", "status", "notAfter")(i.Certificates.Value) }, "certificates", doctor.Broken, "has not been issued"},
		"no cert-manager":             {func(i installation) { i.Certificates.Err = apierrors.NewNotFound(schema.GroupResource{}, "") }, "certificates", doctor.Unknown, "OLM"},
		"no policy":                   {func(i installation) { i.Plugin, i.Policies.Value = "v0.5.1", i.Policies.Value[1:] }, "policies", doctor.Broken, "ValidatingAdmissionPolicy platform-operator-apiservice-bounds is not installed"},
		"a policy of another version": {func(i installation) { i.Policies.Value = i.Policies.Value[1:] }, "policies", doctor.Warning, "is not installed"},
		"a weak policy":               {func(i installation) { set("Ignore", "spec", "failurePolicy")(i.Policies.Value) }, "policies", doctor.Warning, "not that of the version"},
		"a weak binding": {func(i installation) {
			set([]any{string(admissionregistrationv1.Audit)}, "spec", "validationActions")(i.Bindings.Value)
		}, "policies", doctor.Warning, "ValidatingAdmissionPolicyBinding platform-operator-"},
		"hidden bindings":    {func(i installation) { i.Bindings = doctor.Objects{Err: forbidden("x")} }, "policies", doctor.Unknown, "Bindings"},
		"a right less":       {func(i installation) { i.Rights.Value = []string{"patch deployments.apps"} }, "rights", doctor.Broken, "may not patch deployments.apps"},
		"of another version": {func(i installation) { i.Rights.Value = []string{"patch deployments.apps"} }, "rights", doctor.Warning, "may not patch"},
		"hidden rights":      {func(i installation) { i.Rights.Err = forbidden("subjectaccessreviews") }, "rights", doctor.Unknown, "what the operator may do"},
		"ours not served":    {func(i installation) { i.APIServices.Value = objects(t, apiService("v1alpha1.batch.acme.com", "False")) }, "apiservices", doctor.Broken, "MissingEndpoints: no endpoints"},
		"others not served":  {func(i installation) { i.APIServices.Value = objects(t, apiService("v1.metrics.k8s.io", "False")) }, "apiservices", doctor.Warning, "no namespace can be deleted"},
	} {
		i := well(t)
		if c.check == "rights" && c.level == doctor.Broken || name == "a kind less" || name == "not established" {
			i.Plugin = "v0.5.1" // the operator's own
		}
		c.breaks(&i)
		d, found := doctor.Diagnose(i, now), false
		for _, f := range d.Findings {
			if f.Level == doctor.OK {
				continue
			}
			found = found || f.Check == c.check && f.Level == c.level && strings.Contains(f.Says+" "+f.Do, c.has) && f.Do != ""
		}
		if !found || d.Broken() != (c.level == doctor.Broken) {
			t.Errorf("%s: no %s finding of %s with %q in %+v", name, c.level, c.check, c.has, d.Findings)
		}
	}
}

func TestVersionOf(t *testing.T) {
	for text, want := range map[string]string{
		`labels: {app.kubernetes.io/version: 0.6.0}|x:latest`:             "v0.6.0",
		`labels: {olm.owner: acme-platform-operator.v0.4.2}|x@sha256:abc`: "v0.4.2",
		`name: d|localhost:5000/x:v0.3.1`:                                 "v0.3.1",
		`name: d|localhost:5000/x`:                                        "",
	} {
		meta, image, _ := strings.Cut(text, "|")
		o := objects(t, fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {%s}, spec: {template: {spec: {containers: [{name: manager, image: %q}]}}}}", meta, image))
		if got := doctor.VersionOf(o[0]); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// TestMinimum: the oldest Kubernetes is that which OLM requires.
func TestMinimum(t *testing.T) {
	csv, err := os.ReadFile(testenv.RepoFile("config", "manifests", "bases", "acme-platform-operator.clusterserviceversion.yaml"))
	if i := well(t); err != nil || !strings.Contains(string(csv), "\n  minKubeVersion: 1.32.0\n") {
		t.Error(err)
	} else if i.Server.Value = "v1.32.0"; doctor.Diagnose(i, now).Broken() {
		t.Error("the oldest Kubernetes is rejected")
	}
}

// TestEveryWebhookIsAsked: a webhook without a question is never tried.
func TestEveryWebhookIsAsked(t *testing.T) {
	all, err := testenv.ReadObjects(testenv.RepoFile("config", "webhook", "manifests.yaml"))
	must(t, err)
	for _, configuration := range all {
		for _, hook := range doctor.Hooks(configuration) {
			if name := hook["name"].(string); configuration.GetKind() == "ValidatingWebhookConfiguration" && doctor.Question(name, "op") == "" {
				t.Errorf("there is no question for %s", name)
			}
		}
	}
}
