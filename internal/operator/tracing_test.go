// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
)

// spanCollector is an OpenTelemetry collector that accepts one token.
type spanCollector struct {
	*httptest.Server
	token string

	mu      sync.Mutex
	spans   []*tracev1.Span
	about   map[string]string
	content []byte // all that was sent
}

func startCollector(t *testing.T, token string) *spanCollector {
	c := &spanCollector{token: token}
	c.Server = httptest.NewTLSServer(http.HandlerFunc(c.accept))
	t.Cleanup(c.Close)
	return c
}

func (c *spanCollector) accept(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	data := &tracev1.TracesData{}
	switch {
	case err != nil || r.Method != http.MethodPost || r.URL.Path != "/otlp/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf":
		w.WriteHeader(http.StatusBadRequest)
		return
	case r.Header.Get("Authorization") != "Bearer "+c.token:
		w.WriteHeader(http.StatusUnauthorized)
		return
	case proto.Unmarshal(body, data) != nil:
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.content = append(c.content, body...)
	for _, resource := range data.ResourceSpans {
		c.about = values(resource.Resource.Attributes)
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

// values are attributes as texts, by their keys.
func values(attributes []*commonv1.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range attributes {
		all[a.Key] = a.Value.GetStringValue()
	}
	return all
}

// below are the names of the spans that a span has below it, of all there are so far.
func (c *spanCollector) below(id []byte) (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if string(s.ParentSpanId) == string(id) {
			names = append(names, s.Name)
		}
	}
	return names
}

// find returns the spans of a name that hold.
func (c *spanCollector) find(holds func(*tracev1.Span) bool) []*tracev1.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(func(yield func(*tracev1.Span) bool) {
		for _, s := range c.spans {
			if holds(s) && !yield(s) {
				return
			}
		}
	})
}

// Runs, their steps and their requests are traced from the moment at which the configuration names a collector until it does not.
func traces(t *testing.T, w *world) {
	c := startCollector(t, "let-me-in")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw})
	at := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: name}
	}
	w.must(w.admin.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: at("collector-ca"), Data: map[string]string{"ca.crt": string(ca)}}))
	w.must(w.admin.Create(t.Context(), &corev1.Secret{ObjectMeta: at("collector-token"), StringData: map[string]string{"token": "let-me-in\n"}}))
	cm := configMap(fmt.Sprintf("tracing: {endpoint: %q, tokenSecret: {name: collector-token}, caConfigMap: {name: collector-ca}}\n", c.URL+"/otlp"))
	logged.forget()
	w.must(w.admin.Create(t.Context(), cm))
	w.eventually("it starts with traces", func() bool { return logged.has("Starting") })

	n := team("traced")
	w.must(w.admin.Create(t.Context(), n))
	runs := func() []*tracev1.Span {
		return c.find(func(s *tracev1.Span) bool {
			return s.Name == "run acmenamespace" && values(s.Attributes)["platform_operator.name"] == n.Name
		})
	}
	applies := func(step *tracev1.Span) bool { return slices.Contains(c.below(step.SpanId), "PATCH resourcequotas") }
	w.eventually("a run, a step in it, and a request in the step are traced", func() bool {
		return slices.ContainsFunc(runs(), func(run *tracev1.Span) bool {
			return slices.ContainsFunc(c.find(func(s *tracev1.Span) bool {
				return string(s.ParentSpanId) == string(run.SpanId) && strings.HasPrefix(s.Name, "step ")
			}), applies)
		})
	})
	if got := c.about["service.name"]; got != "platform-operator" {
		t.Errorf("the collector hears of the service %q", got)
	}
	if watches := c.find(func(s *tracev1.Span) bool { return len(s.ParentSpanId) == 0 && !strings.HasPrefix(s.Name, "run ") }); len(watches) > 0 {
		t.Errorf("%d spans belong to no run, such as %s", len(watches), watches[0].Name)
	}
	if strings.Contains(string(c.content), "let-me-in") || strings.Contains(string(c.content), "Bearer") {
		t.Error("a token was sent as a part of a span")
	}

	logged.forget()
	w.must(w.admin.Delete(t.Context(), cm))
	w.eventually("it starts without traces", func() bool { return logged.has("Starting") })
	quiet := team("quiet")
	w.must(w.admin.Create(t.Context(), quiet))
	w.eventually("the namespace is provided", func() bool { return w.ready(quiet) == "True Ready" })
	if late := c.find(func(s *tracev1.Span) bool { return values(s.Attributes)["platform_operator.name"] == quiet.Name }); len(late) > 0 {
		t.Errorf("%d spans of what came after the traces were turned off", len(late))
	}
}

// A collector that hangs, answers an error or is away holds nothing up, and the log says that spans are lost.
func losesSpans(t *testing.T, w *world) {
	hangs := make(chan struct{})
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-hangs
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(bad.Close)
	cm := configMap(fmt.Sprintf("tracing: {endpoint: %q}\n", bad.URL))
	logged.forget()
	w.must(w.admin.Create(t.Context(), cm))
	w.eventually("it starts with traces", func() bool { return logged.has("Starting") })
	n := team("untraced")
	w.must(w.admin.Create(t.Context(), n))
	w.eventually("the namespace is provided while the collector hangs", func() bool { return w.ready(n) == "True Ready" })
	close(hangs)
	w.eventually("the log says that spans are lost, and what to do", func() bool {
		return logged.has("Spans are lost; check tracing.endpoint", "418")
	})
	logged.forget()
	w.must(w.admin.Delete(t.Context(), cm))
	w.eventually("it starts without traces", func() bool { return logged.has("Starting") })
}

func TestResourceOf(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/pods": "pods", "/api/v1/namespaces": "namespaces", "/api/v1/namespaces/x": "namespaces", "/api/v1/namespaces/x/pods/y": "pods",
		"/api/v1/namespaces/x/status": "namespaces", "/api/v1/namespaces/x/finalize": "namespaces", "/api/v1/namespaces/x/pods": "pods",
		"/apis/apps/v1/namespaces/x/deployments/y/scale": "deployments", "/apis/tenancy.acme.com/v1alpha1/acmenamespaces/x/status": "acmenamespaces",
		"/version": "", "/": "", "/api": "", "/apis/apps/v1": "",
	} {
		if got := operator.ResourceOf(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
