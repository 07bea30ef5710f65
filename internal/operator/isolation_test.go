// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	batchv1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/kindtest"
	"github.com/acme/platform-operator/internal/testenv/loopback"
)

// logged is what all operators of this package log.
var logged diary

// diary keeps what is logged.
type diary struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (d *diary) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.Write(p)
}

func (d *diary) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.text.Reset()
}

// has reports whether one line of the log has all the parts.
func (d *diary) has(parts ...string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for line := range strings.Lines(d.text.String()) {
		if !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(line, p) }) {
			return true
		}
	}
	return false
}

// TestAKindThatIsNotServedHarmsNoOther changes definitions and rights, so it has a control plane of its own. The first part needs it
// empty; the others bring what they need.
func TestAKindThatIsNotServedHarmsNoOther(t *testing.T) {
	w := emptyWorld(t)
	t.Run("without the definitions of all but one", func(t *testing.T) { undefined(t, w.in(t)) })
	t.Run("while it may not be listed", func(t *testing.T) { unlisted(t, w.in(t)) })
	t.Run("the operator is not ready without its kinds", func(t *testing.T) { unready(t, w.in(t)) })
}

// unlisted starts the operator while it may not list CronTabs.
func unlisted(t *testing.T, w *world) {
	w.must(testenv.InstallConfig(w.plane))
	w.mayList("nothing")
	list := func() error {
		cl, err := client.New(w.user, client.Options{Scheme: operator.Scheme(), Mapper: w.admin.RESTMapper()})
		w.must(err)
		return cl.List(t.Context(), &batchv1alpha1.CronTabList{})
	}
	w.eventually("it may not list CronTabs", func() bool { return list() != nil })

	address := loopback.Address()
	file := kindtest.ConfigFile(t, "apiVersion: config.acme.com/v1alpha1\nkind: PlatformOperatorConfig\nmanager: {cacheSyncTimeout: 1s}\n")
	logged.forget()
	kindtest.Start(t, w.plane, func(o *operator.Options) { o.ProbeAddress, o.ConfigFile = address, file })
	n := team("other-kind")
	w.must(w.admin.Create(t.Context(), n))
	w.eventually("another kind is served", func() bool { return w.ready(n) == "True Ready" })
	w.eventually("only the cache of CronTabs is not filled, and the check says why", func() bool {
		code, text := w.get("http://"+address+"/readyz/kinds", "")
		return code == http.StatusInternalServerError && strings.Contains(text, "the cache of CronTab.batch.acme.com is not filled: ") &&
			strings.Contains(text, "forbidden") && strings.Count(text, "the cache of ") == 1
	})
	w.eventually("the probe of the Deployment succeeds", func() bool {
		code, _ := w.get("http://"+address+probePath(t), "")
		return code == http.StatusOK
	})
	if code, text := w.get("http://"+address+"/readyz", ""); code != http.StatusInternalServerError || !strings.Contains(text, "[-]kinds failed") {
		t.Errorf("readyz: %d %s", code, text)
	}
	w.eventually("the log names it", func() bool {
		return logged.has("The cache of a type cannot be filled", `"type":"CronTab.batch.acme.com"`, "forbidden")
	})
	if logged.has("The cache of a type cannot be filled", `"type":"AcmeNamespace.tenancy.acme.com"`, "forbidden") {
		t.Error("the log names another kind") // which may well have been filled late
	}

	w.mayList("crontabs")
	w.cronTabIsServed("late")
	w.eventually("all is ready", func() bool { code, _ := w.get("http://"+address+"/readyz", ""); return code == http.StatusOK })
}

// mayList lets the operator list CronTabs, or nothing in their place.
func (w *world) mayList(crontabs string) {
	w.Helper()
	role := &rbacv1.ClusterRole{}
	w.must(w.admin.Get(w.Context(), client.ObjectKey{Name: testenv.OperatorRole}, role))
	for i := range role.Rules {
		if !slices.Contains(role.Rules[i].APIGroups, "batch.acme.com") {
			continue
		}
		for j, r := range role.Rules[i].Resources {
			if r == "crontabs" || r == "nothing" {
				role.Rules[i].Resources[j] = crontabs
			}
		}
	}
	w.must(w.admin.Update(w.Context(), role))
}

// cronTabIsServed creates a CronTab and waits until it is ready.
func (w *world) cronTabIsServed(name string) {
	w.Helper()
	c := &batchv1alpha1.CronTab{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: batchv1alpha1.CronTabSpec{Image: "a"}}
	w.must(w.admin.Create(w.Context(), c))
	w.eventually("CronTabs are served", func() bool {
		w.must(w.admin.Get(w.Context(), client.ObjectKeyFromObject(c), c))
		return meta.IsStatusConditionTrue(c.Status.Conditions, "Ready")
	})
}

// undefined starts the operator where only one kind has a definition.
func undefined(t *testing.T, w *world) {
	w.must(testenv.InstallDefinitions(w.plane, "batch.acme.com_crontabs.yaml"))
	w.must(testenv.InstallOperator(w.plane))

	address := loopback.Address()
	kindtest.Start(t, w.plane, func(o *operator.Options) { o.ProbeAddress = address })
	w.cronTabIsServed("meanwhile")
	if code, text := w.get("http://"+address+"/readyz/kinds", ""); code != http.StatusInternalServerError ||
		!strings.Contains(text, "the cache of AcmeNamespace.tenancy.acme.com is not filled") {
		t.Errorf("kinds: %d %s", code, text)
	}

	w.must(testenv.InstallDefinitions(w.plane))
	w.eventually("all is ready without a restart", func() bool { code, _ := w.get("http://"+address+"/readyz", ""); return code == http.StatusOK })
	n := team("defined-late")
	w.must(w.admin.Create(t.Context(), n))
	w.eventually("the others are served", func() bool { return w.ready(n) == "True Ready" })
}

// unready removes the definitions while the operator runs.
func unready(t *testing.T, w *world) {
	w.must(testenv.InstallConfig(w.plane))
	address := loopback.Address()
	kindtest.Start(t, w.plane, func(o *operator.Options) { o.ProbeAddress = address })
	answers := func(want int) func() bool {
		return func() bool { code, _ := w.get("http://"+address+"/readyz/crds", ""); return code == want }
	}
	w.eventually("it is ready", answers(http.StatusOK))

	all := &v1alpha1.AcmeNamespaceList{}
	w.must(w.admin.List(t.Context(), all))
	for _, n := range all.Items { // no controller would delete their namespaces
		retained := n.DeepCopy()
		retained.Spec.DeletionPolicy = v1alpha1.DeletionRetain
		w.must(w.admin.Patch(t.Context(), retained, client.MergeFrom(&n)))
	}
	crds := envtest.CRDInstallOptions{Paths: []string{testenv.RepoFile("config", "crd", "bases")}}
	w.must(envtest.UninstallCRDs(w.plane.Config, crds))
	w.eventually("it says so", answers(http.StatusInternalServerError))
	w.eventually("the definitions are gone", func() bool {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinitionList"))
		w.must(w.admin.List(t.Context(), list))
		return len(list.Items) == 0
	})
	w.must(testenv.InstallDefinitions(w.plane))
	w.eventually("it is ready again", answers(http.StatusOK))
}

// probePath is what the kubelet asks whether a replica is ready.
func probePath(t *testing.T) string {
	t.Helper()
	objects, err := testenv.ReadObjects(testenv.RepoFile("config", "manager", "manager.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range objects {
		d := &appsv1.Deployment{}
		if u.GetKind() != "Deployment" {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, d); err != nil {
			t.Fatal(err)
		}
		return d.Spec.Template.Spec.Containers[0].ReadinessProbe.HTTPGet.Path
	}
	t.Fatal("there is no Deployment")
	return ""
}
