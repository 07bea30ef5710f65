// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	batchv1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/plugin/command"
	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/kindtest"
)

// world is a control plane with the operator, and users with kubeconfigs.
type world struct {
	*testing.T
	plane *testenv.ControlPlane
	admin client.Client
	op    *kindtest.Operator
	// folder has the kubeconfig of each user.
	folder string
}

// in returns the world for a subtest.
func (w *world) in(t *testing.T) *world {
	other := *w
	other.T = t
	return &other
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// eventually waits until something holds, and fails with what it returned last.
func (w *world) eventually(what string, holds func() (bool, string)) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, last := holds()
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			w.Fatalf("not within two minutes: %s; last:\n%s", what, last)
		case <-tick.C:
		}
	}
}

// user writes the kubeconfig of a user.
func (w *world) user(name string, groups ...string) {
	w.Helper()
	config, err := w.plane.User(name, append(groups, "system:authenticated")...)
	w.must(err)
	w.must(clientcmd.WriteToFile(kubeconfigOf(config), filepath.Join(w.folder, name)))
}

func kubeconfigOf(config *rest.Config) clientcmdapi.Config {
	c := clientcmdapi.NewConfig()
	c.Clusters["c"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	c.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	c.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u", Namespace: "team-a"}
	c.CurrentContext = "x"
	return *c
}

// run runs the plugin as a user, and returns what it writes and its exit code.
func (w *world) run(user string, args ...string) (out, errs string, code int) {
	w.Helper()
	var o, e bytes.Buffer
	options := command.Options{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &o, ErrOut: &e},
		Version:   "test", Now: time.Now, Getenv: func(string) string { return "" },
	}
	code = command.Run(w.Context(), options, append(args, "--kubeconfig", filepath.Join(w.folder, user)))
	return o.String(), e.String(), code
}

// succeed runs the plugin as a user, and returns what it prints.
func (w *world) succeed(user string, args ...string) string {
	w.Helper()
	out, errs, code := w.run(user, args...)
	if code != 0 || errs != "" {
		w.Fatalf("kubectl acme %s ended with %d: %s", strings.Join(args, " "), code, errs)
	}
	return out
}

// fail runs the plugin, which has to print one line with what is wrong and what to do, and nothing else.
func (w *world) fail(user string, wants []string, args ...string) {
	w.Helper()
	out, errs, code := w.run(user, args...)
	if code != 1 || out != "" || !strings.HasPrefix(errs, "error: ") || strings.Count(errs, "\n") != 1 {
		w.Errorf("kubectl acme %s ended with %d, output %q, error %q", strings.Join(args, " "), code, out, errs)
	}
	for _, want := range wants {
		if !strings.Contains(errs, want) {
			w.Errorf("kubectl acme %s: no %q in %q", strings.Join(args, " "), want, errs)
		}
	}
}

func (w *world) contains(text string, wants ...string) {
	w.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			w.Errorf("no %q in:\n%s", want, text)
		}
	}
}

func (w *world) lacks(text string, unwanted ...string) {
	w.Helper()
	for _, what := range unwanted {
		if strings.Contains(text, what) {
			w.Errorf("there is %q in:\n%s", what, text)
		}
	}
}

// crontab creates a CronTab that never fires by itself during the test.
func (w *world) crontab(name string, with ...func(*batchv1alpha1.CronTab)) *batchv1alpha1.CronTab {
	w.Helper()
	tab := &batchv1alpha1.CronTab{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name},
		Spec:       batchv1alpha1.CronTabSpec{CronSpec: "0 3 29 2 *", Image: "example.com/report:v1", Suspend: false},
	}
	for _, f := range with {
		f(tab)
	}
	w.must(w.admin.Create(w.Context(), tab))
	return tab
}

// settled waits until the operator has acted on all CronTabs of team-a.
func (w *world) settled() {
	w.Helper()
	w.eventually("all CronTabs are served", func() (bool, string) {
		out := w.succeed("admin", "status")
		return !strings.Contains(out, "Unseen") && !strings.Contains(out, "Deleting"), out
	})
}

// TestCommand has one control plane and one operator for all verbs. The subtests have objects of their own.
func TestCommand(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	plane, err := testenv.Start(testenv.Options{CRDs: []string{testenv.RepoFile("config", "crd", "bases")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	w := &world{T: t, plane: plane, folder: t.TempDir()}
	w.must(testenv.InstallOperator(plane))
	w.admin, err = client.New(plane.Config, client.Options{Scheme: operator.Scheme()})
	w.must(err)
	for _, namespace := range []string{"team-a", "team-b"} {
		w.must(w.admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	}
	w.user("admin", "system:masters")
	w.user("nobody")
	w.op = kindtest.Start(t, plane)

	for _, c := range []struct {
		name string
		run  func(*world)
	}{
		{"status", testStatus},
		{"status of a cluster-scoped object, and what a tenant sees", testTenant},
		{"overview", testOverview},
		{"why", testWhy},
		{"run", testRun},
		{"suspend and resume", testSuspend},
		{"restart", testRestart},
		{"plan", testPlan},
		{"doctor", testDoctor},
		{"report", testReport},
		{"completion", testCompletion},
		{"bad input", testBadInput},
		{"many objects", testMany},
		{"webhooks", testWebhooks},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(w.in(t)) })
	}
}

func testBadInput(w *world) {
	w.fail("admin", []string{`no kind "pod"`, "choose one of acmenamespace, ", "crontab"}, "status", "pod/x")
	w.fail("admin", []string{`no crontab "nope" in the namespace "team-a"`, "kubectl acme status -n team-a"}, "status", "crontab/nope")
	w.fail("admin", []string{`no acmenamespace "nope"`, "kubectl get acmenamespaces"}, "status", "acmens/nope")
	w.fail("admin", []string{"KIND/NAME"}, "status", "crontab")
	w.fail("admin", []string{"too many arguments", "status --help"}, "status", "crontab", "a", "b")
	w.fail("admin", []string{`context "nope" does not exist`, "kubectl config get-contexts"}, "status", "--context", "nope")
	w.fail("admin", []string{`output format "xml"`, "json, yaml or wide"}, "status", "-o", "xml")
	w.fail("admin", []string{"--namespace instead of --all-namespaces"}, "status", "-A", "crontab/x")
	w.fail("admin", []string{`no command "stats"`, "--help"}, "stats")
	w.fail("admin", []string{"unknown flag: --nope", "kubectl acme status --help"}, "status", "--nope")
	w.fail("nofile", []string{"no such file", "KUBECONFIG"}, "status")
	w.fail("nobody", []string{"you may not do that", "kubectl auth can-i"}, "status", "crontab/x")
	w.fail("nobody", []string{"you may not do that", "kubectl auth can-i"}, "status")

	down := clientcmdapi.NewConfig()
	down.Clusters["c"] = &clientcmdapi.Cluster{Server: "http://127.0.0.1:1"}
	down.Contexts["x"] = &clientcmdapi.Context{Cluster: "c"}
	down.CurrentContext = "x"
	w.must(clientcmd.WriteToFile(*down, filepath.Join(w.folder, "down")))
	w.fail("down", []string{"the cluster cannot be reached", "kubectl config current-context"}, "status")
	w.fail("down", []string{"the cluster cannot be reached"}, "doctor")
	w.fail("down", []string{"the cluster cannot be reached"}, "report")
	w.must(os.WriteFile(filepath.Join(w.folder, "garbage"), []byte("}{"), 0o600))
	w.fail("garbage", []string{"there is no cluster to ask", "set KUBECONFIG"}, "status")

	stranger := rest.AnonymousClientConfig(w.plane.Config)
	stranger.BearerToken = "wrong"
	c := kubeconfigOf(stranger)
	c.AuthInfos["u"].Token = "wrong"
	w.must(clientcmd.WriteToFile(c, filepath.Join(w.folder, "stranger")))
	w.fail("stranger", []string{"does not accept your credentials", "log in"}, "status")
}

func testCompletion(w *world) {
	w.crontab("complete-me")
	w.Setenv("KUBECONFIG", filepath.Join(w.folder, "admin"))
	complete := func(args ...string) string {
		var out bytes.Buffer
		command.Run(w.Context(), command.Options{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: io.Discard}}, append([]string{"__complete"}, args...))
		return out.String()
	}
	kinds := complete("status", "cron")
	w.contains(kinds, "crontab/\n", ":6\n") // neither a space nor files
	w.lacks(kinds, "acmenamespace")
	objects := complete("status", "ct/comp")
	w.contains(objects, "ct/complete-me\n")
	w.lacks(objects, "nightly")
	w.contains(complete("status", "-n", "team-"), "team-a\n", "team-b\n")
	w.contains(complete("doctor", "--operator-namespace", "platform-op"), "platform-operator-system\n")
	w.contains(complete("plan", "-f", ""), "yaml\nyml\njson\n", ":8\n") // files with these ends
	w.contains(complete("report", "--file", ""), "tar.gz\ntgz\n", ":8\n")
	w.contains(complete("report", ""), ":4\n") // no files
	w.contains(complete("status", "-o", ""), "json\nyaml\nwide\n")
	w.contains(w.succeed("admin", "completion", "bash"), "__start_kubectl-acme")
}

// parsed runs the plugin with both formats for programs, which must say the same, and returns what they say. An age may change between
// two runs, and is the same the next time.
func parsed[T any](w *world, user string, args ...string) (value T) {
	w.Helper()
	var fromYAML, fromJSON any
	for range 3 {
		text := w.succeed(user, append(args, "-o", "json")...)
		value = *new(T)
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			w.Fatalf("%v in %s", err, text)
		}
		w.must(json.Unmarshal([]byte(text), &fromJSON))
		w.must(yaml.Unmarshal([]byte(w.succeed(user, append(args, "-o", "yaml")...)), &fromYAML))
		if fmt.Sprint(fromYAML) == fmt.Sprint(fromJSON) {
			return value
		}
	}
	w.Errorf("YAML has %v, JSON %v", fromYAML, fromJSON)
	return value
}

// crontabIn creates a CronTab in a namespace.
func (w *world) crontabIn(namespace, name string) {
	w.Helper()
	w.crontab(name, func(t *batchv1alpha1.CronTab) { t.Namespace = namespace })
}

// grant lets a user read and list one type in a namespace.
func (w *world) grant(user, namespace, group, resource string) {
	w.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: user}
	rules := []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{"get", "list"}}}
	w.must(w.admin.Create(w.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules}))
	w.must(w.admin.Create(w.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}))
	w.eventually("the right counts", func() (bool, string) {
		_, errs, code := w.run(user, "status")
		return code == 0, errs
	})
}
