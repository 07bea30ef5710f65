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
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/kindtest"
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

// TestAKindThatCannotBeListedHarmsNoOther starts the operator while it may not list CronTabs.
func TestAKindThatCannotBeListedHarmsNoOther(t *testing.T) {
	w := newWorld(t)
	mayList := func(crontabs string) {
		role := &rbacv1.ClusterRole{}
		w.must(w.admin.Get(t.Context(), client.ObjectKey{Name: testenv.OperatorRole}, role))
		for i := range role.Rules {
			if slices.Contains(role.Rules[i].APIGroups, "batch.acme.com") {
				for j, r := range role.Rules[i].Resources {
					if r == "crontabs" || r == "nothing" {
						role.Rules[i].Resources[j] = crontabs
					}
				}
			}
		}
		w.must(w.admin.Update(t.Context(), role))
	}
	list := func() error {
		cl, err := client.New(w.user, client.Options{Scheme: operator.Scheme(), Mapper: w.admin.RESTMapper()})
		w.must(err)
		return cl.List(t.Context(), &batchv1alpha1.CronTabList{})
	}
	mayList("nothing")
	w.eventually("it may not list CronTabs", func() bool { return list() != nil })

	address := w.freeAddress()
	file := kindtest.ConfigFile(t, "apiVersion: config.acme.com/v1alpha1\nkind: PlatformOperatorConfig\nmanager: {cacheSyncTimeout: 1s}\n")
	kindtest.Start(t, w.plane, func(o *operator.Options) { o.ProbeAddress, o.ConfigFile = address, file })
	n := team("other-kind")
	w.must(w.admin.Create(t.Context(), n))
	w.eventually("another kind is served", func() bool { return w.ready(n) == "True Ready" })
	logged.forget() // that others were not filled at once, either
	code, text := w.get("http://"+address+"/readyz/kinds", "")
	if code != http.StatusInternalServerError || !strings.Contains(text, "the cache of CronTab.batch.acme.com is not filled: ") ||
		!strings.Contains(text, "forbidden") || strings.Count(text, "the cache of ") != 1 {
		t.Errorf("kinds: %d %s", code, text)
	}
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
	if logged.has("The cache of a type cannot be filled", `"type":"AcmeNamespace.tenancy.acme.com"`) {
		t.Error("the log names another kind")
	}

	mayList("crontabs")
	c := &batchv1alpha1.CronTab{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "late"}, Spec: batchv1alpha1.CronTabSpec{Image: "a"}}
	w.must(w.admin.Create(t.Context(), c))
	w.eventually("the kind is served without a restart", func() bool {
		w.must(w.admin.Get(t.Context(), client.ObjectKeyFromObject(c), c))
		return meta.IsStatusConditionTrue(c.Status.Conditions, "Ready")
	})
	w.eventually("all is ready", func() bool { code, _ := w.get("http://"+address+"/readyz", ""); return code == http.StatusOK })
}

// TestKindsWithoutDefinitionsHarmNoOther starts the operator while the definitions of all kinds but one are gone.
func TestKindsWithoutDefinitionsHarmNoOther(t *testing.T) {
	w := newWorld(t)
	crds := envtest.CRDInstallOptions{Paths: []string{testenv.RepoFile("config", "crd", "bases")}}
	w.must(envtest.UninstallCRDs(w.plane.Config, crds))
	w.eventually("the definitions are gone", func() bool {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinitionList"))
		w.must(w.admin.List(t.Context(), list))
		return len(list.Items) == 0
	})
	_, err := envtest.InstallCRDs(w.plane.Config, envtest.CRDInstallOptions{Paths: []string{
		testenv.RepoFile("config", "crd", "bases", "batch.acme.com_crontabs.yaml"),
	}})
	w.must(err)

	address := w.freeAddress()
	kindtest.Start(t, w.plane, func(o *operator.Options) { o.ProbeAddress = address })
	served := func(name string) {
		c := &batchv1alpha1.CronTab{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: batchv1alpha1.CronTabSpec{Image: "a"}}
		w.must(w.admin.Create(t.Context(), c))
		w.eventually("the kind that has one is served", func() bool {
			w.must(w.admin.Get(t.Context(), client.ObjectKeyFromObject(c), c))
			return meta.IsStatusConditionTrue(c.Status.Conditions, "Ready")
		})
	}
	served("meanwhile")
	if code, text := w.get("http://"+address+"/readyz/kinds", ""); code != http.StatusInternalServerError ||
		!strings.Contains(text, "the cache of AcmeNamespace.tenancy.acme.com is not filled") {
		t.Errorf("kinds: %d %s", code, text)
	}

	_, err = envtest.InstallCRDs(w.plane.Config, crds)
	w.must(err)
	w.eventually("all is ready without a restart", func() bool { code, _ := w.get("http://"+address+"/readyz", ""); return code == http.StatusOK })
	n := team("defined-late")
	w.must(w.admin.Create(t.Context(), n))
	w.eventually("the others are served", func() bool { return w.ready(n) == "True Ready" })
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
