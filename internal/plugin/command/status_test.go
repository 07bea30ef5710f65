// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	batchv1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	tenancyv1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/plugin"
)

// canary is a value that nobody may print.
const canary = "CANARY-7f3a"

// ran creates a CronTab with a run by hand, and waits for its Job.
func (w *world) ran(name string) (*batchv1alpha1.CronTab, *batchv1.Job) {
	w.Helper()
	tab := w.crontab(name, func(t *batchv1alpha1.CronTab) {
		t.Annotations = map[string]string{names.AnnotationRunNow: "by hand"}
		t.Spec.Args = []string{"--password=" + canary}
		t.Spec.Env = []corev1.EnvVar{{Name: "TOKEN", Value: canary}}
	})
	job := &batchv1.Job{}
	w.eventually("the run has a Job", func() (bool, string) {
		jobs := &batchv1.JobList{}
		w.must(w.admin.List(w.Context(), jobs, client.InNamespace("team-a"), client.MatchingLabels{names.LabelOwnerUID: string(tab.UID)}))
		if len(jobs.Items) == 1 {
			job = &jobs.Items[0]
		}
		return len(jobs.Items) == 1, fmt.Sprint(len(jobs.Items))
	})
	return tab, job
}

func testStatus(w *world) {
	tab, job := w.ran("nightly")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "nightly-pod", Labels: job.Spec.Selector.MatchLabels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "run", Image: "example.com/none"}}},
	}
	w.must(w.admin.Create(w.Context(), pod))
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "run", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}},
	}}}
	w.must(w.admin.Status().Update(w.Context(), pod))
	job.Status.Active = 1
	job.Status.StartTime = new(metav1.Now())
	w.must(w.admin.Status().Update(w.Context(), job))
	w.forge(tab)

	var out string
	w.eventually("the status shows everything", func() (bool, string) {
		out = w.succeed("admin", "status", "ct/nightly")
		return strings.Contains(out, "Started") && strings.Contains(out, "ImagePullBackOff") && strings.Contains(out, "Last events"), out
	})
	w.contains(out,
		"CronTab nightly in namespace team-a: Ready\n", // the headline
		"\nAsked for\n", "image", "example.com/report:v1",
		"\nNow\n", "Schedule",
		"\nExists because of it\n  Job "+job.Name+": running\n    Pod nightly-pod: container run: ImagePullBackOff\n",
		"\nConditions\n", "+ Scheduled is true", "+ Ready is true",
		"\nLast events\n",
	)
	w.lacks(out, canary, "forged", "\x1b", "note:")

	status := parsed[plugin.Status](w, "admin", "status", "crontab", "nightly")
	if len(status.Children) != 1 || status.Children[0].Name != job.Name || status.State.State != plugin.Ready || len(status.Conditions) < 4 {
		w.Errorf("%+v", status)
	}
	w.lacks(fmt.Sprint(status), canary)

	w.must(w.admin.Delete(w.Context(), pod))
	w.invalid()
}

// forge creates what has the marks of an object and is not its child.
func (w *world) forge(tab *batchv1alpha1.CronTab) {
	w.Helper()
	for _, namespace := range []string{"team-a", "team-b"} {
		w.must(w.admin.Create(w.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "forged",
			Labels:      map[string]string{names.LabelOwnerUID: string(tab.UID), names.LabelManagedBy: names.Operator},
			Annotations: map[string]string{names.AnnotationOwner: names.OwnerMark("crontab", tab)},
		}}))
	}
	// With the owner reference, too, as the administrator of the same namespace can write it: the name proves nothing.
	owner := *metav1.NewControllerRef(tab, batchv1alpha1.GroupVersion.WithKind("CronTab"))
	w.must(w.admin.Create(w.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team-a", Name: "forged;\x1b[2J", Labels: map[string]string{names.LabelOwnerUID: string(tab.UID)}, OwnerReferences: []metav1.OwnerReference{owner},
	}}))
}

// invalid shows a CronTab that a user has to change.
func (w *world) invalid() {
	w.Helper()
	w.crontab("invalid", func(t *batchv1alpha1.CronTab) { t.Spec.TimeZone = "Nowhere/Land" })
	w.settled()
	out := w.succeed("admin", "status", "crontab/invalid")
	w.contains(out, "CronTab invalid in namespace team-a: Failed (InvalidSchedule)", "- Scheduled is not true (InvalidSchedule)", "Nowhere/Land",
		"\nNext\n", "invalid -n team-a")
	tab := &batchv1alpha1.CronTab{}
	w.must(w.admin.Get(w.Context(), client.ObjectKey{Namespace: "team-a", Name: "invalid"}, tab))
	before := tab.DeepCopy()
	tab.Annotations = map[string]string{names.AnnotationPaused: "true"}
	w.must(w.admin.Patch(w.Context(), tab, client.MergeFrom(before)))
	w.contains(w.succeed("admin", "status", "crontab/invalid"), "CronTab invalid in namespace team-a: Paused", "\nNext\n")
	w.must(w.admin.Patch(w.Context(), before, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":null}}`))))
}

func testTenant(w *world) {
	team := &tenancyv1alpha1.AcmeNamespace{ObjectMeta: metav1.ObjectMeta{Name: "team-z"}}
	team.Spec = tenancyv1alpha1.AcmeNamespaceSpec{NamespaceName: "app-z", AdminUsername: "sam", DeploymentTier: "dev"}
	w.must(w.admin.Create(w.Context(), team))
	var out string
	w.eventually("the namespace is provided", func() (bool, string) {
		out = w.succeed("admin", "status", "acmens/team-z")
		return strings.Contains(out, "AcmeNamespace team-z: Ready"), out
	})
	w.must(w.admin.Get(w.Context(), client.ObjectKeyFromObject(team), team))
	w.must(w.admin.Create(w.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "app-z", Name: "forged", Labels: map[string]string{names.LabelOwnerUID: string(team.UID)},
	}}))
	out = w.succeed("admin", "status", "acmens/team-z")
	w.lacks(out, "forged")
	w.contains(out, "  Namespace app-z: active\n", "  ResourceQuota app-z/", "  RoleBinding app-z/", "  NetworkPolicy app-z/")

	w.user("sam")
	w.crontabIn("app-z", "sams")
	w.eventually("it is served", func() (bool, string) {
		out = w.succeed("sam", "status", "-n", "app-z")
		return strings.Contains(out, "Ready"), out
	})
	w.contains(out, "crontab", "sams")
	out = w.succeed("sam", "status", "crontab/sams", "-n", "app-z")
	w.contains(out, "CronTab sams in namespace app-z: Ready")
	w.fail("sam", []string{"you may not do that", "acmenamespaces"}, "status", "acmens/team-z")
	w.fail("sam", []string{"you may not do that"}, "status", "-n", "team-a")
	w.fail("sam", []string{"you may not do that"}, "status", "-A")

	// A user who may read one kind, and little else.
	w.user("reader")
	w.grant("reader", "team-a", "batch.acme.com", "crontabs")
	out = w.succeed("reader", "status")
	w.contains(out, "nightly", "note: you may not list these here, so that none of them is shown: ", "configwatchers", "webapps")
	out = w.succeed("reader", "status", "crontab/nightly")
	w.contains(out, "CronTab nightly in namespace team-a", "note: you may not list these here", "jobs", "events", "configmaps")
	w.lacks(out, "Exists because of it")
}

func testOverview(w *world) {
	w.must(w.admin.Create(w.Context(), &autorebootv1alpha1.ConfigWatcher{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "watcher"},
		Spec:       autorebootv1alpha1.ConfigWatcherSpec{ConfigMap: "missing", PodSelector: map[string]autorebootv1alpha1.LabelValue{"app": "x"}},
	}))
	w.settled()
	out := w.succeed("admin", "status")
	lines := strings.Split(out, "\n")
	w.contains(lines[0], "KIND", "NAME", "STATE", "REASON", "SINCE", "MESSAGE")
	w.lacks(lines[0], "NAMESPACE")
	ready := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, " Ready ") })
	for _, worse := range []string{"crontab ", "configwatcher "} {
		i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, worse) })
		if i < 0 || i > ready {
			w.Errorf("the worst is not first:\n%s", out)
		}
	}
	w.contains(out, "invalid", "watcher", "nightly")
	w.lacks(out, "sams", "team-z")
	out = w.succeed("admin", "status", "-A")
	w.contains(out, "NAMESPACE", "app-z", "sams", "team-z", "team-a")
	if out := w.succeed("admin", "status", "-n", "team-b"); !strings.Contains(out, "nothing of the operator's kinds") {
		w.Errorf("of an empty namespace: %s", out)
	}
	rows := parsed[plugin.Overview](w, "admin", "status").Objects
	if len(rows) < 3 || rows[0].State.State != plugin.Failed {
		w.Errorf("%+v", rows)
	}
}

// testMany runs last, without the operator: it fills the cluster. PLUGIN_OBJECTS sets how many objects there are.
func testMany(w *world) {
	w.op.Stop()
	count := 1200
	if text := os.Getenv("PLUGIN_OBJECTS"); text != "" {
		n, err := strconv.Atoi(text)
		w.must(err)
		count = n
	}
	w.must(w.admin.Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "many"}}))
	numbers := make(chan int)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range numbers {
				w.crontabIn("many", fmt.Sprintf("tab-%d", i))
			}
		})
	}
	for i := range count {
		numbers <- i
	}
	close(numbers)
	all.Wait()
	requests := w.proxied()
	begin := time.Now()
	out := w.succeed("proxied", "status", "-n", "many")
	w.Logf("%d objects in %s", count, time.Since(begin))
	if lines := strings.Count(out, "\ncrontab"); lines != count {
		w.Errorf("%d of %d objects are shown", lines, count)
	}
	pages := 0
	for _, url := range requests() {
		if strings.HasSuffix(url.Path, "/crontabs") {
			pages++
		}
		if strings.Contains(url.Path, "/namespaces/") && url.Query().Get("limit") != "500" {
			w.Errorf("a list is not paged: %s", url)
		}
	}
	if want := (count + 499) / 500; pages != want {
		w.Errorf("%d objects are read in %d pages, not %d", count, pages, want)
	}
}

// proxied makes the user "proxied", whose requests as an administrator go through a proxy, and returns what lists these.
func (w *world) proxied() (requests func() []*url.URL) {
	w.Helper()
	transport, err := rest.TransportFor(w.plane.Config)
	w.must(err)
	target, err := url.Parse(w.plane.Config.Host)
	w.must(err)
	var lock sync.Mutex
	var all []*url.URL
	proxy := httptest.NewServer(&httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		lock.Lock()
		defer lock.Unlock()
		all = append(all, r.In.URL)
		r.SetURL(target)
	}})
	w.Cleanup(proxy.Close)
	w.must(clientcmd.WriteToFile(kubeconfigOf(&rest.Config{Host: proxy.URL}), filepath.Join(w.folder, "proxied")))
	return func() []*url.URL {
		lock.Lock()
		defer lock.Unlock()
		return all
	}
}
