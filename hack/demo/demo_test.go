// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/hack/cluster/localcluster"
)

const root = "../.." // of the repository

// TestMain makes this program a stand-in for the operator when it is started under its name: one that is ready at once
// and ends when it is asked to.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "manager" {
		os.Exit(m.Run())
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	go func() {
		fmt.Println(http.ListenAndServe(at(portsOf(os.Args).probes), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	}()
	<-ended
	fmt.Println("asked to end")
}

func TestCommandLine(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	for reason, test := range map[string]struct {
		words string
		code  int
		says  string // on either output
	}{
		"no command":         {"", exitUsage, "usage: go run ./hack/demo"},
		"help":               {"--help", exitOK, "usage: go run ./hack/demo"},
		"help for a command": {"up --help", exitOK, "--current-context"},
		"unknown command":    {"explode", exitUsage, `"explode"`},
		"unknown flag":       {"up --explode", exitUsage, "explode"},
		"positional word":    {"down demo", exitUsage, `"demo"`},
		"two clusters":       {"up --name x --current-context", exitFailed, "--name is of a local cluster"},
		"bad name":           {"down --name ../up", exitFailed, "no cluster name"},
		"down: not there":    {"down --name never-made", exitOK, "there is no cluster never-made"},
		"no context":         {"up --current-context", exitFailed, "kubectl has no current context"},
	} {
		t.Run(reason, func(t *testing.T) {
			var out, errOut bytes.Buffer
			code := run(t.Context(), strings.NewReader(""), &out, &errOut, strings.Fields(test.words))
			if said := out.String() + errOut.String(); code != test.code || !strings.Contains(said, test.says) {
				t.Errorf("exit code %d, want %d; it must say %q and says:\n%s", code, test.code, test.says, said)
			}
		})
	}
}

// newDemo is a demo in a repository of its own, which has the stand-in for the operator.
func newDemo(t *testing.T) *demo {
	t.Helper()
	d := &demo{name: "demo", context: true, root: t.TempDir(), out: &bytes.Buffer{}}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(
		os.MkdirAll(d.binDir(), 0o700), os.MkdirAll(d.path(), 0o700), os.Link(self, filepath.Join(d.binDir(), "manager")),
		os.WriteFile(d.kubeconfig(), []byte(kubeconfig), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.operator().Stop(0); err != nil {
			t.Error(err)
		}
	})
	return d
}

const kubeconfig = `{clusters: [{name: c, cluster: {server: "https://c"}}, {name: other, cluster: {server: "https://other"}}],
  users: [{name: u, user: {token: t}}], contexts: [{name: x, context: {cluster: c, user: u, namespace: mine}}], current-context: x}`

// TestStartOperator expects that an operator runs as what is wanted now, and is not started again without need.
func TestStartOperator(t *testing.T) {
	d := newDemo(t)
	for _, step := range []struct {
		reason  string
		change  func() error
		restart bool
	}{
		{"it does not run", func() error { return nil }, true},
		{"it runs", func() error { return nil }, false},
		{"the cluster has changed", func() error {
			return os.WriteFile(d.kubeconfig(), []byte(strings.ReplaceAll(kubeconfig, "https://c", "https://d")), 0o600)
		}, true},
		{"the program has changed", func() error {
			program := filepath.Join(d.binDir(), "manager")
			data, err := os.ReadFile(program)
			return errors.Join(err, os.Remove(program), os.WriteFile(program, data, 0o700))
		}, true},
	} {
		before := d.operator().PID()
		if err := errors.Join(step.change(), d.startOperator(t.Context())); err != nil {
			t.Fatalf("%s: %v", step.reason, err)
		}
		if after := d.operator().PID(); after == 0 || (after != before) != step.restart {
			t.Errorf("%s: process %d before, %d after", step.reason, before, after)
		}
	}
	config, err := os.ReadFile(d.operatorConfig())
	if err != nil || !strings.Contains(string(config), "as: "+serviceAccount) {
		t.Errorf("the operator does not act as its service account: %v\n%s", err, config)
	}
	d.context = false // such an operator has webhooks
	if got := portsOf(d.operatorArgs(ports{1, 2, 3})); got != (ports{1, 2, 3}) {
		t.Errorf("of the ports 1, 2, 3 its flags tell %v", got)
	}
	d.context = true
}

func TestCurrentContext(t *testing.T) {
	t.Setenv("KUBECONFIG", newDemo(t).kubeconfig())
	config, err := currentContext()
	if err != nil {
		t.Fatal(err)
	}
	if config.CurrentContext != "x" || len(config.Clusters) != 1 || server(config) != "https://c" || config.Contexts["x"].Namespace != demoNamespace {
		t.Errorf("got %+v", config)
	}
}

func TestAsk(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "YES\n": true, "n\n": false, "": false, "\n": false} {
		d := &demo{in: strings.NewReader(answer), out: &bytes.Buffer{}}
		if got := d.ask() == nil; got != want {
			t.Errorf("%q: %v", answer, got)
		}
	}
	if err := (&demo{yes: true}).ask(); err != nil {
		t.Error(err)
	}
}

// TestScenes reads the real samples: each scene has one.
func TestScenes(t *testing.T) {
	scenes, err := (&demo{root: root}).loadScenes()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, s := range scenes {
		kinds[s.kind] = s.file != "" && s.name != ""
	}
	files, err := filepath.Glob("scenes/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err := errors.Join(err, yaml.UnmarshalStrict(data, &scene{})); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if name := strings.TrimSuffix(filepath.Base(file), ".yaml"); !kinds[name] && name != "views" { // those are no samples
			t.Errorf("%s belongs to no sample with a name", file)
		}
	}
}

// TestShow checks that what a terminal would show is shown, and that a step which has to be refused is.
func TestShow(t *testing.T) {
	d := newDemo(t)
	output, err := d.show(t.Context(), step{Run: "echo one\necho two"})
	d.print(step{Why: "Count.", Run: "echo one\necho two"}, "1. ", output)
	want := "\n1. Count.\n  $ echo one\n  $ echo two\n  one\n  two\n"
	if got := d.out.(*bytes.Buffer).String(); err != nil || got != want {
		t.Errorf("it shows %q, %v; want %q", got, err, want)
	}
	once := filepath.Join(t.TempDir(), "once") // the first try is not refused: webhooks take effect a moment later
	output, err = d.show(t.Context(), step{Run: "mkdir " + once + " && exit; echo no; exit 1", Refused: true})
	if err != nil || !strings.HasSuffix(output, "no") {
		t.Errorf("refused as %q, %v", output, err)
	}
	late := filepath.Join(t.TempDir(), "late") // the first try shows nothing yet
	output, err = d.show(t.Context(), step{Run: "mkdir " + late + " 2>/dev/null && exit; echo ADDED app-z", Has: []string{"ADDED", "app-z"}})
	if err != nil || output != "ADDED app-z" {
		t.Errorf("it shows %q, %v, before it has all that it shall have", output, err)
	}
	if _, err := d.show(t.Context(), step{Run: "exit 3"}); err == nil {
		t.Error("a failure that is not the point is no error")
	}
}

// TestWebhookConfigurations rewrites the real manifests: nothing but names and clientConfig may change.
func TestWebhookConfigurations(t *testing.T) {
	manifests, err := os.ReadFile(filepath.Join(root, "config", "webhook", "manifests.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := webhookConfigurations(manifests, "https://127.0.0.1:1234", []byte("authority"))
	if err != nil {
		t.Fatal(err)
	}
	before, after := documents(manifests), documents(got)
	if len(before) != len(after) || len(after) == 0 {
		t.Fatalf("%d documents have become %d", len(before), len(after))
	}
	for i := range before {
		var want, have map[string]any
		if err := errors.Join(yaml.Unmarshal([]byte(before[i]), &want), yaml.Unmarshal([]byte(after[i]), &have)); err != nil {
			t.Fatal(err)
		}
		metadata := want["metadata"].(map[string]any)
		metadata["name"] = "platform-operator-" + metadata["name"].(string)
		for _, each := range want["webhooks"].([]any) {
			path := each.(map[string]any)["clientConfig"].(map[string]any)["service"].(map[string]any)["path"].(string)
			each.(map[string]any)["clientConfig"] = map[string]any{"url": "https://127.0.0.1:1234" + path, "caBundle": "YXV0aG9yaXR5"}
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestWebhookConfigurationsRefuse(t *testing.T) {
	for _, wrong := range []string{"{", "a: 1", "metadata: {name: a}\nwebhooks: [{clientConfig: {url: 'https://a'}}]"} {
		if _, err := webhookConfigurations([]byte(wrong), "https://a", nil); err == nil {
			t.Errorf("accepted: %s", wrong)
		}
	}
}

func TestExplain(t *testing.T) {
	d := newDemo(t)
	log := d.operator().LogPath()
	if err := errors.Join(os.MkdirAll(filepath.Dir(log), 0o700), os.WriteFile(log, []byte("the operator's words\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("it broke")
	component := &localcluster.ComponentError{Component: "etcd", Log: "etcd.log", Tail: "no space left", Err: cause}
	for reason, test := range map[string]struct {
		err         error
		doing       string
		interrupted bool
		says, hush  string
	}{
		"while doing something": {cause, "starting the operator", false, "failed while starting the operator: it broke", "error:"},
		"a log tells more":      {cause, "starting the operator", false, "the operator's words", "no space"},
		"a component's log":     {component, "starting the cluster", false, "no space left", "the operator's"},
		"the ways on":           {cause, "starting", false, "`make demo ARGS=--current-context` continues, `make demo-down ARGS=--current-context`", "--name"},
		"interrupted":           {context.Canceled, "starting", true, "interrupted while starting. `make demo", "the operator's"},
		"before anything":       {cause, "", false, "error: it broke", "make"},
	} {
		t.Run(reason, func(t *testing.T) {
			var out bytes.Buffer
			d.doing = test.doing
			d.explain(&out, test.err, test.interrupted)
			if said := out.String(); !strings.Contains(said, test.says) || strings.Contains(said, test.hush) {
				t.Errorf("it must say %q, must not say %q, and says:\n%s", test.says, test.hush, said)
			}
		})
	}
	if got := (&demo{name: "two"}).command("down"); got != "make demo-down ARGS='--name two'" {
		t.Errorf("of another cluster: %s", got)
	}
}
