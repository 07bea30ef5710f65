// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerant

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	batchv1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
)

func scheme(t *testing.T) *runtime.Scheme {
	s := runtime.NewScheme()
	if err := batchv1alpha1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// received is an event as an informer receives it.
type received struct {
	Type                        watch.EventType
	Name, Version, Image, Marks string
}

// TestEvents has objects that become undecodable and are corrected, in every order. An informer must never see a tenant's annotation
// on a bookmark: the API server ends a list with one.
func TestEvents(t *testing.T) {
	var reports []string
	gvk := batchv1alpha1.GroupVersion.WithKind("CronTab")
	s := &source{gvk: gvk, example: &batchv1alpha1.CronTab{}, scheme: scheme(t)}
	s.leftOut = newLeftOut(gvk, func(o client.Object, _ error) { reports = append(reports, o.GetName()+o.GetResourceVersion()) })
	object := func(name, version, jitter string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "batch.acme.com/v1alpha1", "kind": "CronTab",
			"metadata": map[string]any{
				"namespace": "x", "name": name, "resourceVersion": version,
				"annotations": map[string]any{"k8s.io/initial-events-end": "true"},
			},
			"spec": map[string]any{"image": "i", "jitter": jitter},
		}}
	}
	for i, step := range []struct {
		give watch.EventType
		u    *unstructured.Unstructured
		want received
	}{
		{watch.Added, object("good", "1", "5m"), received{watch.Added, "good", "1", "i", "true"}},
		{watch.Added, object("bad", "2", "soon"), received{watch.Bookmark, "bad", "2", "", ""}},
		{watch.Modified, object("bad", "3", "later"), received{watch.Bookmark, "bad", "3", "", ""}},
		{watch.Modified, object("bad", "3", "later"), received{watch.Bookmark, "bad", "3", "", ""}}, // it is listed again
		{watch.Modified, object("good", "4", "soon"), received{watch.Deleted, "good", "4", "", ""}},
		{watch.Modified, object("good", "5", "soon"), received{watch.Bookmark, "good", "5", "", ""}},
		{watch.Modified, object("good", "6", "1m"), received{watch.Modified, "good", "6", "i", "true"}},
		{watch.Deleted, object("good", "7", "1m"), received{watch.Deleted, "good", "7", "i", "true"}},
		{watch.Deleted, object("bad", "8", "later"), received{watch.Bookmark, "bad", "8", "", ""}},
		{watch.Added, object("bad", "9", "1m"), received{watch.Added, "bad", "9", "i", "true"}},
		{watch.Deleted, object("bad", "10", "soon"), received{watch.Deleted, "bad", "10", "", ""}},
		{watch.Bookmark, object("", "11", ""), received{watch.Bookmark, "", "11", "", "true"}},
	} {
		e := s.event(watch.Event{Type: step.give, Object: step.u})
		o := e.Object.(*batchv1alpha1.CronTab)
		got := received{e.Type, o.Name, o.ResourceVersion, o.Spec.Image, o.Annotations["k8s.io/initial-events-end"]}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("step %d, -want +got:\n%s", i, diff)
		}
	}
	if diff := cmp.Diff([]string{"bad2", "bad3", "good4", "good5"}, reports); diff != "" {
		t.Errorf("reports, -want +got:\n%s", diff)
	}
}

// TestNothingIsLeftOfAWatchThatIsStopped does not take the last event: client-go's watch often has one, the error that it was
// stopped. A goroutine that were left would fail the bubble.
func TestNothingIsLeftOfAWatchThatIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		below := watch.NewFake()
		w := passing(below, func(e watch.Event) watch.Event { return e })
		below.Add(&batchv1alpha1.CronTab{})
		synctest.Wait()
		w.Stop()
		w.Stop()
		if !below.IsStopped() {
			t.Error("the underlying watch continues")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		below := watch.NewFake()
		w := passing(below, func(e watch.Event) watch.Event { return watch.Event{Type: watch.Bookmark, Object: e.Object} })
		below.Add(&batchv1alpha1.CronTab{})
		if e := <-w.ResultChan(); e.Type != watch.Bookmark {
			t.Errorf("got %+v", e)
		}
		below.Stop()
		if e, open := <-w.ResultChan(); open {
			t.Errorf("it outlives the one below, with %+v", e)
		}
	})
}

// hooks keep what is registered.
type hooks struct {
	webhook.Server
	hook http.Handler
}

func (h *hooks) Register(_ string, hook http.Handler) { h.hook = hook }

func TestWebhooks(t *testing.T) {
	server := &hooks{}
	var asked []byte
	Webhooks{server, scheme(t)}.Register("/x", http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		b := &bytes.Buffer{}
		_, _ = b.ReadFrom(in.Body)
		asked = b.Bytes()
		http.Error(out, "asked", http.StatusTeapot)
	}))
	const good, bad = `{"spec": {"image": "a"}}`, `{"spec": {"resources": {"limits": {"cpu": "1e-100000000"}}}}`
	for _, tc := range []struct{ reason, kind, object, old, wants string }{
		{"what can be decoded", "CronTab", good, good, "asked"},
		{"a creation", "CronTab", good, "", "asked"},
		{"a foreign kind", "Other", bad, bad, "asked"},
		{"what cannot be decoded", "CronTab", bad, "", "1e-100000000"},
		{"what is corrected", "CronTab", good, bad, "1e-100000000"},
		{"a deletion", "CronTab", "", bad, "1e-100000000"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			asked = nil
			review := &admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{UID: "u"}}
			review.APIVersion, review.Kind = "admission.k8s.io/v1", "AdmissionReview"
			review.Request.Kind.Group, review.Request.Kind.Version, review.Request.Kind.Kind = "batch.acme.com", "v1alpha1", tc.kind
			if tc.object != "" {
				review.Request.Object.Raw = []byte(tc.object)
			}
			if tc.old != "" {
				review.Request.OldObject.Raw = []byte(tc.old)
			}
			body, err := json.Marshal(review)
			if err != nil {
				t.Fatal(err)
			}
			out := httptest.NewRecorder()
			server.hook.ServeHTTP(out, httptest.NewRequest(http.MethodPost, "/x", bytes.NewReader(body)))
			if tc.wants == "asked" {
				if out.Code != http.StatusTeapot || !bytes.Equal(asked, body) {
					t.Errorf("it was not asked as usual: %d, %s", out.Code, asked)
				}
				return
			}
			got := &admissionv1.AdmissionReview{}
			if err := json.Unmarshal(out.Body.Bytes(), got); err != nil || got.Response == nil {
				t.Fatal(out.Body, err)
			}
			if asked != nil || !got.Response.Allowed || got.Response.UID != "u" || got.Kind != review.Kind ||
				!strings.Contains(strings.Join(got.Response.Warnings, ""), tc.wants) {
				t.Errorf("answered %s", out.Body)
			}
		})
	}
	out := httptest.NewRecorder()
	server.hook.ServeHTTP(out, httptest.NewRequest(http.MethodPost, "/x", failing{}))
	if out.Code != http.StatusBadRequest {
		t.Errorf("a review that breaks off: %d", out.Code)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("broken off") }
