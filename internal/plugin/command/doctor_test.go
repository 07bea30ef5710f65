// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/plugin/doctor"
	"github.com/acme/platform-operator/internal/testenv"
)

// installed creates what a deployed operator has beside its process: its Deployment, as the Deployment controller says of one that is
// ready, and its Lease.
func (w *world) installed() {
	w.Helper()
	labels := map[string]string{"control-plane": "controller-manager", "app.kubernetes.io/name": names.Operator}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: "platform-operator-controller-manager", Labels: labels}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.ServiceAccountName = "platform-operator-controller-manager"
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "manager", Image: "registry.example.com/platform-operator:v0.5.0"}}
	w.must(w.admin.Create(w.Context(), d))
	d.Status = appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}
	w.must(w.admin.Status().Update(w.Context(), d))
	w.must(w.admin.Create(w.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: names.Lease},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("one"), LeaseDurationSeconds: new(int32(3600)), RenewTime: new(metav1.NewMicroTime(time.Now()))},
	}))
}

func testDoctor(w *world) {
	out, errs, code := w.run("admin", "doctor")
	if code != 1 || errs != "" {
		w.Errorf("%d %s", code, errs)
	}
	w.contains(out, "- operator: there is no Deployment of the operator in the namespace platform-operator-system\n    do: install it, or name its namespace",
		"- leader: there is no Lease platform-operator.acme.com")
	w.installed()
	out = w.succeed("admin", "doctor")
	w.contains(out, "+ kubernetes: the API server has the version v1.", "+ operator: the Deployment platform-operator-controller-manager v0.5.0 has 1 of 1 replicas ready",
		"? plugin: this plugin has no version", "+ leader: one leads", "+ kinds: all 9 are served, with the schemas of this version", "! webhooks: none is installed",
		"? certificates: cert-manager is not here", "policies and bindings are in place", "+ rights: the operator may do all that it needs to", "+ apiservices: all are served")
	w.lacks(out, "\n- ")

	out = w.succeed("sam", "doctor", "-n", "app-z")
	w.contains(out, "? operator: you may not read Deployments in platform-operator-system, so that this is not checked\n    do: ask an administrator",
		"? leader: you may not", "? policies: you may not", "? rights: you may not", "! webhooks: the webhook vcrontab.batch.acme.com has not rejected", "+ kubernetes: ")
	d := parsed[doctor.Diagnosis](w, "sam", "doctor", "-n", "app-z")
	if len(d.Findings) < 10 || d.Broken() {
		w.Errorf("%+v", d)
	}
	w.fail("admin", []string{"too many arguments"}, "doctor", "x")
}

// testWebhooks runs last, because webhooks that do not answer delay all others.
func testWebhooks(w *world) {
	w.op.Stop()
	w.op.Options.WebhookPort = 0
	w.op.Start()
	w.eventually("the webhooks answer", func() (bool, string) {
		out, errs, code := w.run("admin", "doctor")
		return code == 0 && strings.Count(out, " answers\n") == len(doctor.Asked()) && strings.Contains(out, "+ webhooks: 4 are installed"), out + errs
	})
	w.op.Stop()
	out, _, code := w.run("admin", "doctor")
	if code != 1 || strings.Count(out, "has not rejected what it must: it does not answer\n    do: ") != len(doctor.Asked()) {
		w.Errorf("%d %s", code, out)
	}
}

func testReport(w *world) {
	for _, o := range []*corev1.Secret{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "marked", Labels: map[string]string{names.LabelOwnerUID: "x", "l": canary}}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "unmarked", Annotations: map[string]string{"a": canary}}},
	} {
		o.StringData = map[string]string{"password": canary}
		w.must(w.admin.Create(w.Context(), o))
	}
	w.must(w.admin.Create(w.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: "platform-operator-config"}, Data: map[string]string{"other": canary},
	}))
	for user, in := range map[string][]string{"admin": {"-A"}, "sam": {"-n", "app-z"}, "reader": {"-n", "team-a"}} {
		file := filepath.Join(w.T.TempDir(), "report.tar.gz")
		args := append([]string{"report", "--file", file}, in...)
		w.contains(w.succeed(user, args...), "wrote "+file+"; look through it")
		files := w.unpack(file)
		all := ""
		for name, text := range files {
			all += text
			w.lacks(name+text, canary)
		}
		w.contains(files["acme-report/about.json"], `"plugin": "test"`, `"kubernetes": "v1.`)
		tabs := files["acme-report/objects/crontab.json"]
		switch user {
		case "admin":
			w.contains(tabs, `"name": "sams"`, `"name": "nightly"`, `"name": "TOKEN"`)
			w.contains(files["acme-report/children.json"], `"name": "marked"`, `"kind": "Deployment"`)
			w.contains(files["acme-report/events.json"], `"reason": "Started"`)
			w.contains(files["acme-report/installation.json"], "platform-operator-guard-rails", "crontabs.batch.acme.com")
		case "sam":
			w.contains(tabs, `"name": "sams"`)
			w.lacks(all, "nightly")
		default:
			w.contains(tabs, `"name": "nightly"`)
			w.contains(files["acme-report/about.json"], "you may not list these", "webapps")
		}
		w.fail(user, []string{"there is a file", "--file"}, args...)
	}
}

// unpack returns the files of an archive.
func (w *world) unpack(path string) map[string]string {
	w.Helper()
	f, err := os.Open(path)
	w.must(err)
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if w.must(err); info.Mode().Perm() != 0o600 {
		w.Errorf("others may read it: %v", info.Mode())
	}
	z, err := gzip.NewReader(f)
	w.must(err)
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		w.must(err)
		text, err := io.ReadAll(r)
		w.must(err)
		files[header.Name] = string(text)
	}
}
