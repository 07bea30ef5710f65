// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/internal/plugin"
	"github.com/acme/platform-operator/internal/plugin/doctor"
	"github.com/acme/platform-operator/internal/plugin/report"
)

// canary is a value that must not be in a report, in no encoding.
const canary = "hunter2-c4n4ry"

// plain is a canary that looks like a name, and like the name of a field.
const plain = "hunter2plain"

// everywhere is an object with the canary in every place that is not a name.
const everywhere = `
apiVersion: workloads.apps.acme.com/v1alpha1
kind: WebApp
metadata:
  name: shop
  namespace: team-a
  uid: 0f0f
  generation: 3
  creationTimestamp: "2027-03-01T10:00:00Z"
  finalizers: [example.com/held]
  labels: {team: CANARY}
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"spec":{"env":[{"value":"CANARY"}]}}'
    batch.acme.com/run-now: CANARY
  ownerReferences: [{kind: Owner, name: above, uid: "1"}]
  managedFields:
  - {manager: kubectl, operation: Apply, fieldsV1: {"f:spec": {"f:args": {'v:"CANARY"': {}}, "f:env": {'k:{"name":"CANARY"}': {}}}}}
spec:
  webAppImage: registry.example.com/shop:v1
  deploymentTier: prod
  webAppReplicas: 3
  restartOnChange: true
  args: ["--password=CANARY"]
  command: [sh, -c, CANARY]
  config: {app.properties: CANARY, CANARY: x}
  env: [{name: TOKEN, value: CANARY}, {name: PASSWORD, valueFrom: {secretKeyRef: {name: db, key: password}}}]
  podSelector: {app: CANARY}
  futureField: CANARY
  futureList: [CANARY]
  futureMap: {CANARY: 1, "with space": CANARY}
  futureNames: {name: PLAIN, key: PLAIN, PLAIN: 1, deeper: [{name: PLAIN}]}
  nodeSelector: {name: PLAIN, PLAIN: x}
  ingress: {annotations: {a: CANARY}, tlsSecretName: CANARY}
  query: select CANARY
  name: |-
    CANARY in
    two lines
status:
  conditions: [{type: Ready, status: "False", reason: CrashLoop, message: "the pod said CANARY", lastTransitionTime: "2027-03-01T10:00:00Z"}]
  requests: [CANARY]
  configHash: CANARY
  observedGeneration: 3
`

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(strings.NewReplacer("CANARY", canary, "PLAIN", plain).Replace(text)))
	if err == nil {
		err = o.UnmarshalJSON(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func found(t *testing.T) report.Found {
	one := func(text string) []*unstructured.Unstructured { return []*unstructured.Unstructured{object(t, text)} }
	f := report.Found{
		Version: "v0.5.0", Namespace: "team-a", Now: time.Date(2027, 3, 2, 12, 0, 0, 0, time.UTC), Notes: []string{"only 500"},
		Hidden: plugin.Hidden{Forbidden: []string{"secrets"}, Failed: []string{"jobs (CANARY: " + canary + ")"}},
		Objects: map[string][]*unstructured.Unstructured{
			"WebApp": one(everywhere), "Future": one(`{apiVersion: batch.acme.com/v1, kind: Future, metadata: {name: f}, spec: {name: PLAIN, PLAIN: x}}`),
			"LeaderElection": one(`{apiVersion: coordination.acme.com/v1alpha1, kind: LeaderElection, metadata: {name: l},
				spec: {preferred: [{weight: 3, podLabels: {name: PLAIN, key: PLAIN, PLAIN: x}}]}}`),
		},
		Children: append(one(`{apiVersion: v1, kind: Secret, metadata: {name: s, labels: {a: CANARY}, annotations: {b: CANARY}}, data: {k: CANARY}, stringData: {k: CANARY}}`),
			object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {k: CANARY}}`)),
		Events: one(`{apiVersion: v1, kind: Event, metadata: {name: e}, type: Warning, reason: Failed, message: it said CANARY, note: CANARY, count: 4,
			involvedObject: {kind: WebApp, name: shop, fieldPath: CANARY}, source: {component: CANARY}}`),
		Diagnosis: doctor.Diagnosis{Findings: []doctor.Finding{{Check: "webhooks", Level: doctor.Broken, Says: "answered CANARY: " + canary, Do: canary}}},
	}
	i := &f.Installation
	i.Server.Value, i.Namespace = "v1.36.3", "op"
	i.Deployments.Value = one(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, annotations: {a: CANARY}}, spec: {template: {metadata: {annotations: {a: CANARY}}, spec: {
		containers: [{name: manager, image: "registry.example.com/x:v1", args: [--token=CANARY, CANARY, "--dsn postgres://u:CANARY@h/d", "-v=CANARY"], env: [{name: SECRET, value: CANARY}], resources: {limits: {memory: 256Mi}}}],
		volumes: [{name: v, secret: {secretName: CANARY}}]}}}, status: {readyReplicas: 2, conditions: [{type: Available, status: "True", reason: Enough, message: CANARY}]}}`)
	i.Lease.Value = object(t, `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: l}, spec: {holderIdentity: CANARY, renewTime: "2027-03-02T12:00:00.000000Z", leaseDurationSeconds: 15}}`)
	i.Definitions.Value = one(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x}, spec: {versions: [{name: v1alpha1, served: true, storage: true,
		schema: {openAPIV3Schema: {default: CANARY}}}]}}`)
	i.Hooks.Value = one(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: h}, webhooks: [{name: vcrontab.batch.acme.com,
		failurePolicy: Ignore, clientConfig: {caBundle: Y2E=, url: "https://user:CANARY@example.com"}, rules: [{apiGroups: [batch.acme.com]}]}]}`)
	i.Certificates.Value = one(`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: c}, spec: {secretName: CANARY}, status: {conditions: [{type: Ready, status: "True", message: CANARY}]}}`)
	i.Policies.Value = one(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: p}, spec: {variables: [{name: x, expression: CANARY}]}}`)
	i.APIServices.Value = one(`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}, spec: {caBundle: CANARY}, status: {conditions: [{type: Available, status: "False", reason: Missing, message: CANARY}]}}`)
	i.Probes = []doctor.Probe{{Hook: "h", Kind: "CronTab", Err: errors.New(canary)}}
	return f
}

// unpack returns the files of an archive.
func unpack(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil || header.Mode != 0o600 {
			t.Errorf("%s: %v, mode %o", header.Name, err, header.Mode)
		}
		files[header.Name] = string(text)
	}
}

func TestNoValueIsInAReport(t *testing.T) {
	archive, err := report.Archive(found(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range unpack(t, archive) {
		for _, form := range []string{
			canary, plain, base64.StdEncoding.EncodeToString([]byte(canary)), hex.EncodeToString([]byte(canary)), strings.ToUpper(canary),
		} {
			if strings.Contains(text, form) {
				t.Errorf("%s has the canary:\n%s", name, text)
			}
		}
	}
}

func TestReportHasTheRest(t *testing.T) {
	archive, err := report.Archive(found(t))
	if err != nil {
		t.Fatal(err)
	}
	files := unpack(t, archive)
	for name, wants := range map[string][]string{
		"README.txt":    {"look through it before you hand it out"},
		"about.json":    {`"plugin": "v0.5.0"`, `"kubernetes": "v1.36.3"`, "you may not list these", "could not be listed: jobs\"", "only 500"},
		"doctor.json":   {`"check": "webhooks"`, `"level": "broken"`},
		"events.json":   {`"reason": "Failed"`, `"count": 4`, `"name": "shop"`},
		"children.json": {`"kind": "Secret"`, `"name": "s"`},
		"objects/webapp.json": {
			`"name": "shop"`, `"webAppImage": "registry.example.com/shop:v1"`, `"webAppReplicas": 3`, `"restartOnChange": true`, `"name": "TOKEN"`,
			`"value": "<text of 14 characters>"`, `"reason": "CrashLoop"`, `"observedGeneration": 3`, "example.com/held", "Owner above 1", "kubectl Apply",
			`"config": "<2 entries>"`, `"futureField": "<text of 14 characters>"`, `"futureNames": "<4 entries>"`, `"nodeSelector": "<2 entries>"`, `"key": "password"`,
		},
		"objects/leaderelection.json": {`"podLabels": "<3 entries>"`, `"weight": 3`},
		"objects/future.json":         {`"spec": "<2 entries>"`, `"name": "f"`},
		"installation.json":           {`"--token"`, `"--dsn"`, `"-v"`, `"SECRET"`, `"readyReplicas": 2`, `"held": true`, `"served": true`, `"hasCA": true`, `"failurePolicy": "Ignore"`, `"reason": "Missing"`, "256Mi"},
	} {
		for _, want := range wants {
			if !strings.Contains(files["acme-report/"+name], want) {
				t.Errorf("no %s in %s:\n%s", want, name, files["acme-report/"+name])
			}
		}
	}
	again, err := report.Archive(found(t))
	if err != nil || !bytes.Equal(archive, again) {
		t.Errorf("the same gives another archive: %v", err)
	}
}
