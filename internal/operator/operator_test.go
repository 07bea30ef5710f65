// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/kindtest"
	"github.com/acme/platform-operator/internal/testenv/loopback"
)

func TestSchemeKnowsEveryKind(t *testing.T) {
	s := operator.Scheme()
	for _, k := range operator.Kinds {
		if _, err := apiutil.GVKForObject(k.Object, s); err != nil {
			t.Error(err)
		}
	}
	for _, o := range []client.Object{&v1alpha1.DeploymentTier{}, &corev1.Namespace{}, &rbacv1.Role{}} {
		if _, err := apiutil.GVKForObject(o, s); err != nil {
			t.Error(err)
		}
	}
}

// ready gives status and reason of Ready.
func (w *world) ready(n *v1alpha1.AcmeNamespace) string {
	if err := w.admin.Get(w.Context(), client.ObjectKeyFromObject(n), n); err != nil {
		return err.Error()
	}
	if c := meta.FindStatusCondition(n.Status.Conditions, "Ready"); c != nil {
		return string(c.Status) + " " + c.Reason
	}
	return "none"
}

// get gives the code and the text of an answer, or 0 when there is none.
func (w *world) get(url, token string) (int, string) {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), http.MethodGet, url, nil)
	w.must(err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	// The metrics endpoint makes a certificate for itself when it is given none.
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	resp, err := c.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

func configMap(text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: "platform-operator-config"},
		Data:       map[string]string{"config.yaml": "apiVersion: config.acme.com/v1alpha1\nkind: PlatformOperatorConfig\n" + text},
	}
}

func team(name string) *v1alpha1.AcmeNamespace {
	return &v1alpha1.AcmeNamespace{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.AcmeNamespaceSpec{NamespaceName: "app-" + name, AdminUsername: "sam"},
	}
}

// One Run serves all: metrics are registered once in a process.
func TestRun(t *testing.T) {
	w := newWorld(t)
	o := operator.Options{
		Namespace: testenv.OperatorNamespace, MetricsAddress: loopback.Address(), MetricsSecure: true,
		ProbeAddress: loopback.Address(), WebhookPort: -1, LeaderElect: true, LeaderDelay: time.Millisecond, ViewsService: viewsService, // nobody else answers webhooks
	}

	t.Run("it does not start with an invalid file, and says which field is wrong", func(t *testing.T) {
		bad := o
		bad.ConfigFile = kindtest.ConfigFile(t, "apiVersion: config.acme.com/v1alpha1\nkind: PlatformOperatorConfig\nacmeNamespace: {protectednames: [x]}\n")
		wantError(t, operator.Run(t.Context(), w.user, bad), "reading the configuration from file "+bad.ConfigFile, "acmeNamespace.protectednames")
		bad.ConfigFile = "/nowhere/config.yaml"
		wantError(t, operator.Run(t.Context(), w.user, bad), "/nowhere/config.yaml")
	})
	t.Run("it does not start with an invalid ConfigMap", func(t *testing.T) {
		cm := configMap("acmeNamespace: {identity: {type: Kerberos}}\n")
		w.in(t).must(w.admin.Create(t.Context(), cm))
		wantError(t, operator.Run(t.Context(), w.user, o), "platform-operator-config", "acmeNamespace.identity.type", "Kerberos")
		w.in(t).must(w.admin.Delete(t.Context(), cm))
	})

	stop := w.background(func(ctx context.Context) error { return operator.Run(ctx, w.user, o) })
	probe := func(path string) func() (int, string) {
		return func() (int, string) { return w.get("http://"+o.ProbeAddress+path, "") }
	}
	answers := func(path string, code int) func() bool {
		return func() bool { got, _ := probe(path)(); return got == code }
	}
	w.eventually("it is ready", answers("/readyz", http.StatusOK))

	t.Run("it is alive, and says what it is ready for", func(t *testing.T) {
		if code, text := probe("/healthz")(); code != http.StatusOK {
			t.Errorf("healthz: %d %s", code, text)
		}
		_, text := probe("/readyz?verbose")()
		if !strings.Contains(text, "[+]caches ok") || !strings.Contains(text, "[+]crds ok") || strings.Contains(text, "webhooks") {
			t.Errorf("readyz: %s", text)
		}
	})
	t.Run("a valid configuration restarts it, its absence too", func(t *testing.T) { restarts(t, w.in(t)) })
	t.Run("runs are traced when it names a collector", func(t *testing.T) { traces(t, w.in(t)) })
	t.Run("a collector that does not work holds nothing up", func(t *testing.T) { losesSpans(t, w.in(t)) })
	t.Run("the views are registered when it enables them", func(t *testing.T) { registersViews(t, w.in(t)) })
	t.Run("an invalid one does not", func(t *testing.T) { rejects(t, w.in(t)) })
	t.Run("metrics are for those who may read them", func(t *testing.T) { metrics(t, w.in(t), "https://"+o.MetricsAddress+"/metrics") })

	stop()
	t.Run("it hands over its lease", func(t *testing.T) {
		lease := &coordinationv1.Lease{}
		w.in(t).must(w.admin.Get(t.Context(), client.ObjectKey{Namespace: testenv.OperatorNamespace, Name: "platform-operator.acme.com"}, lease))
		if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" {
			t.Errorf("it is still held by %s", *holder)
		}
	})
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if err == nil || !strings.Contains(err.Error(), p) {
			t.Errorf("Run = %v, want %s in it", err, p)
		}
	}
}

func restarts(t *testing.T, w *world) {
	n := team("before")
	w.must(w.admin.Create(t.Context(), n))
	w.eventually("the namespace is provided", func() bool { return w.ready(n) == "True Ready" })
	cm := configMap("acmeNamespace: {protectedNames: [app-*]}\n")
	w.must(w.admin.Create(t.Context(), cm))
	w.eventually("the new configuration counts", func() bool { return w.ready(n) == "False NameProtected" })
	w.must(w.admin.Delete(t.Context(), cm))
	w.eventually("the defaults count again", func() bool { return w.ready(n) == "True Ready" })
}

func rejects(t *testing.T, w *world) {
	cm := configMap("acmeNamespace: {protectedNames: ['app-*-x']}\n")
	w.must(w.admin.Create(t.Context(), cm))
	events := &corev1.EventList{}
	w.eventually("an event says so", func() bool {
		w.must(w.admin.List(t.Context(), events, client.InNamespace(testenv.OperatorNamespace)))
		for _, e := range events.Items {
			if e.InvolvedObject.Name == cm.Name && e.Type == corev1.EventTypeWarning && strings.Contains(e.Message, "acmeNamespace.protectedNames[0]") {
				return true
			}
		}
		return false
	})
	n := team("during")
	w.must(w.admin.Create(t.Context(), n))
	w.eventually("it continues as before", func() bool { return w.ready(n) == "True Ready" })
	w.must(w.admin.Delete(t.Context(), cm))
}

func metrics(t *testing.T, w *world, url string) {
	// The endpoint was closed for a moment when the configuration went.
	w.eventually("nobody may read without a token", func() bool {
		code, _ := w.get(url, "")
		return code == http.StatusUnauthorized
	})
	stranger := w.token("stranger")
	w.eventually("a stranger may not read", func() bool {
		code, _ := w.get(url, stranger)
		return code == http.StatusForbidden
	})
	token := w.scraper()
	var code int
	var text string
	w.eventually("the metrics can be read", func() bool {
		code, text = w.get(url, token)
		return code == http.StatusOK
	})
	for _, m := range []string{
		`platform_operator_objects{kind="acmenamespace",ready="True"}`, `platform_operator_api_writes_total{kind="acmenamespace",verb="apply"}`,
		`platform_operator_condition_transitions_total{condition="Ready",kind="acmenamespace",status="True"}`,
		`platform_operator_time_to_ready_seconds_count{kind="acmenamespace"}`, `controller_runtime_reconcile_total{controller="acmenamespace",result="success"}`,
		`platform_operator_config_reloads_total{result="applied"} 8`,
	} {
		if !strings.Contains(text, m) {
			t.Errorf("there is no metric %s", m)
		}
	}
	alertsUseMetrics(t, text)
	seriesAreExported(t, text)
	var used []string
	for _, m := range regexp.MustCompile(`(?m)^platform_operator_cache_synced{type="([^"]+)"} `).FindAllStringSubmatch(text, -1) {
		used = append(used, m[1])
	}
	if d := cmp.Diff(slices.Compact(slices.Sorted(slices.Values(operator.Expected()))), slices.Sorted(slices.Values(used))); d != "" {
		t.Errorf("it is ready when other caches are filled than are used (-expected +used):\n%s", d)
	}
}

// token is one of a new service account.
func (w *world) token(name string) string {
	w.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	w.must(w.admin.Create(w.Context(), account))
	request := &authenticationv1.TokenRequest{}
	w.must(w.admin.SubResource("token").Create(w.Context(), account, request))
	return request.Status.Token
}

func TestNewManagerServesWebhooksOnlyWithAPort(t *testing.T) {
	w := newWorld(t)
	probe := loopback.Address()
	op := kindtest.Start(t, w.plane, func(o *operator.Options) { o.WebhookPort, o.ProbeAddress = 0, probe })
	_, text := w.get("http://"+probe+"/readyz?verbose", "")
	if !strings.Contains(text, "[+]webhooks ok") {
		t.Errorf("readyz: %s", text)
	}
	bad := team("bad")
	bad.Spec.NamespaceName = testenv.OperatorNamespace
	if err := w.admin.Create(t.Context(), bad); !apierrors.IsInvalid(err) {
		t.Errorf("Create = %v", err)
	}
	op.Stop()
	if code, _ := w.get(fmt.Sprintf("http://%s/healthz", probe), ""); code != 0 {
		t.Errorf("it still answers: %d", code)
	}
}
