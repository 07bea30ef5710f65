// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/internal/plugin/planning"
)

const planned = `
apiVersion: workloads.apps.acme.com/v1alpha1
kind: WebApp
metadata: {name: planned, namespace: team-a}
spec:
  webAppImage: registry.example.com/planned:v1
  webAppHostname: planned.example.com
  deploymentTier: dev
  config: {app.properties: ` + canary + `, db.href: ` + canary + `}
  env: [{name: TOKEN, value: ` + canary + `}]
`

// file writes a file, and returns its path.
func (w *world) file(name, text string) string {
	w.Helper()
	path := filepath.Join(w.T.TempDir(), name)
	w.must(os.WriteFile(path, []byte(text), 0o600))
	return path
}

// plans plans for a file, with an exit code, and returns what is printed.
func (w *world) plans(user string, code int, text string, more ...string) string {
	w.Helper()
	out, errs, got := w.run(user, append([]string{"plan", "-f", w.file("file.yaml", text)}, more...)...)
	if got != code || errs != "" {
		w.Errorf("the exit code is %d, not %d: %s%s", got, code, out, errs)
	}
	return out
}

// apply applies a file as kubectl apply --server-side does.
func (w *world) apply(text string) *unstructured.Unstructured {
	w.Helper()
	o := &unstructured.Unstructured{}
	w.must(yaml.Unmarshal([]byte(text), &o.Object))
	w.must(w.admin.Apply(w.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("kubectl")))
	return o
}

func testPlan(w *world) {
	out := w.plans("admin", 1, planned)
	w.contains(out, "+ WebApp team-a/planned is made\n", "  + Deployment planned is made\n", "  + Service planned is made\n",
		"  + ConfigMap planned-config-", "  + Ingress planned is made\n")
	w.lacks(out+w.plans("admin", 1, planned, "-o", "json"), canary)

	// What was planned is what the operator makes: once it has, nothing is left to do.
	o := w.apply(planned)
	w.eventually("nothing is left to do", func() (bool, string) {
		out, errs, code := w.run("admin", "plan", "-f", w.file("file.yaml", planned))
		return code == 0 && out == "= WebApp team-a/planned stays as it is\n", out + errs
	})
	other := strings.ReplaceAll(planned, canary, "CANARY-other")
	out = w.plans("admin", 1, other) + w.plans("admin", 1, other, "-o", "json")
	w.contains(out, "spec.config.db.href")
	w.lacks(out, "CANARY")
	w.lacks(w.succeed("admin", "status", "webapp/planned")+w.succeed("admin", "status", "webapp/planned", "-o", "json"), "CANARY")
	w.must(w.admin.Get(w.Context(), client.ObjectKeyFromObject(o), o))
	version := o.GetResourceVersion()

	changed := strings.NewReplacer("planned:v1", "planned:v2", "deploymentTier: dev", "deploymentTier: prod\n  isolation: None").Replace(planned)
	for _, more := range [][]string{nil, {"--server-side"}} {
		out = w.plans("admin", 1, changed, more...)
		w.contains(out, "~ WebApp team-a/planned changes\n", "    spec.webAppImage: registry.example.com/planned:v1 -> registry.example.com/planned:v2\n",
			"  ~ Deployment planned changes\n", "spec.replicas: 2 -> 3\n", "  - NetworkPolicy planned-webapp is deleted\n", "  + ControllerRevision planned-revision-")
		w.lacks(out, canary, "Service")
	}
	w.must(w.admin.Get(w.Context(), client.ObjectKeyFromObject(o), o))
	if o.GetResourceVersion() != version {
		w.Error("a plan has changed the object")
	}

	// A tier, and another one instead.
	team := "{apiVersion: tenancy.acme.com/v1alpha1, kind: AcmeNamespace, metadata: {name: team-z}, spec: {namespaceName: app-z, adminUsername: sam, deploymentTier: prod}}"
	out = w.plans("admin", 1, team)
	w.contains(out, "~ AcmeNamespace team-z changes\n", "spec.deploymentTier: dev -> prod", "  + ResourceQuota app-z/prod is made\n", "  - ResourceQuota app-z/dev is deleted\n",
		"  ~ Namespace app-z changes\n", "enforce: baseline -> restricted")

	// A tenant sees what a tenant may see, and notes name the rest.
	tab := "{apiVersion: batch.acme.com/v1alpha1, kind: CronTab, metadata: {name: new}, spec: {cronSpec: 0 3 * * *, image: example.com/x}}"
	out = w.plans("sam", 1, tab+"\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}", "-n", "app-z")
	w.contains(out, "+ CronTab app-z/new is made\n", "the next ones are at ", "note: you may not read the operator's Deployment", "its defaults are assumed",
		"configmap c is not of the operator's kinds: `kubectl diff`")
	p := planning.Plan{}
	text, _, code := w.run("admin", "plan", "-f", w.file("x.yaml", tab), "-o", "yaml")
	if w.must(yaml.Unmarshal([]byte(text), &p)); code != 1 || len(p.Objects) != 1 || p.Objects[0].Action != planning.Create {
		w.Errorf("%d %+v", code, p)
	}
	paused := strings.Replace(tab, "name: new", "name: new, annotations: {platform.acme.com/paused: \"true\"}", 1)
	out = w.plans("admin", 1, paused)
	w.contains(out, "note: it is paused")
	w.lacks(out, "the next ones are at")
	testPlanErrors(w, tab)
}

// testPlanErrors has errors: one line each, and the exit code 2.
func testPlanErrors(w *world, tab string) {
	file := func(text string) []string { return []string{"-f", w.file("file.yaml", text)} }
	for want, c := range map[string]struct {
		user string
		args []string
	}{
		"say what is to be applied with -f FILE":  {"admin", nil},
		"there is no object in the files":         {"admin", file("# nothing\n")},
		"does not exist":                          {"admin", []string{"-f", "/nowhere.yaml"}},
		"error parsing":                           {"admin", file("}{")},
		"there are too many arguments":            {"admin", append(file(tab), "x")},
		"the cluster does not serve Nothing":      {"admin", file("{apiVersion: batch.acme.com/v1alpha1, kind: Nothing, metadata: {name: x}}")},
		"unknown field \"spec.nope\"":             {"admin", file(strings.Replace(tab, "image:", "nope: 1, image:", 1))},
		"would be rejected":                       {"admin", file(strings.Replace(tab, "0 3 * * *", `"a\u001b[31mb"`, 1))},
		"no metadata.name":                        {"admin", file(strings.Replace(tab, "name: new", "generateName: new", 1))},
		"is of the namespace team-b":              {"admin", append(file(strings.Replace(tab, "name: new", "name: new, namespace: team-b", 1)), "-n", "team-a")},
		"namespaces \"nowhere\" not found":        {"admin", append(file(tab), "-n", "nowhere")},
		"you may not do that":                     {"nobody", file(tab)},
		"there is no output format":               {"admin", append(file(tab), "-o", "xml")},
		"unknown flag: --nope; see `kubectl acme": {"admin", []string{"--nope"}},
	} {
		out, errs, code := w.run(c.user, append([]string{"plan"}, c.args...)...)
		if code != 2 || out != "" || !strings.HasPrefix(errs, "error: ") || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, want) || strings.Contains(errs, "\x1b") {
			w.Errorf("%q: %d, %q, %q", want, code, out, errs)
		}
	}
}
