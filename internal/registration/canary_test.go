// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/acme/platform-operator/internal/registration"
)

// buffer is a bytes.Buffer that several goroutines write to.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// canary is a text that only somebody who may read an object should know.
const canary = "canary-5c1f0e"

// mark puts the canary into an annotation.
func (c *cluster) mark(o client.Object) {
	c.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/note":%q}}}`, canary)
	c.must(admin.Patch(c.Context(), o, client.RawPatch(types.MergePatchType, patch)))
}

// V18: what others write into the objects that the registration reads, and the names of what is beside them, are in no event, log line
// or metric, whatever becomes of the API.
func TestNothingOfOthersIsReported(t *testing.T) {
	c := newCluster(t)
	deployment := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: ops, Name: service}}
	deployment.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	c.mark(deployment)
	c.mark(c.externalName())
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ops, Name: canary}}
	c.must(admin.Create(t.Context(), quota))
	t.Cleanup(func() { c.remove(quota) })
	unregistered := func(cause string) {
		t.Helper()
		c.eventually("it is reported as "+cause, c.eventOf("Unregistered", cause))
	}

	c.start(func(o *registration.Options) { o.Provided = true })
	unregistered("NoCertificate")
	c.start()
	c.eventually("it is available", c.available)
	c.mark(c.secret())
	c.mark(registration.NewAPIService())

	c.refuse()
	c.noticed()
	c.pass(time.Minute)
	unregistered("Unreachable")
	c.listen()
	c.start()
	c.eventually("it is available again", c.available)

	role := c.role()
	role.SetAnnotations(map[string]string{"example.com/note": canary})
	c.must(admin.Delete(t.Context(), role.DeepCopy()))
	unregistered("NoRole")
	c.again(role)
	c.eventually("it is available for the new role", c.available)

	c.clusterIP(false)
	c.pass(15 * time.Second)
	unregistered("NotServed")
	c.clusterIP(true)
	c.eventually("it is registered again", func() bool { return c.registered() != nil })
	c.start(func(o *registration.Options) { o.Enabled = false })
	unregistered("Disabled")

	foreign := registration.NewAPIService()
	foreign.Object["spec"] = map[string]any{"group": "views.acme.com", "version": "v1alpha1", "groupPriorityMinimum": int64(10), "versionPriority": int64(10)}
	foreign.SetAnnotations(map[string]string{"example.com/note": canary})
	foreign.SetLabels(map[string]string{"example.com/note": canary})
	c.must(admin.Create(t.Context(), foreign))
	unregistered("NameTaken")

	c.change(func(s *corev1.Secret) { s.Data["tls.crt"] = []byte(canary) })
	c.eventually("the Secret is created again", func() bool { return usable(c.secret().Data["tls.crt"]) })
	c.settle()
	if !strings.Contains(logged.String(), "views.acme.com") {
		t.Fatal("the log is not seen")
	}
	for what, text := range c.reported() {
		if at := strings.Index(text, canary); at >= 0 {
			t.Errorf("the %s have the canary: %.500s", what, text[max(0, at-200):])
		}
	}
}

// reported is all that the operator has reported so far.
func (c *cluster) reported() map[string]string {
	c.Helper()
	var all eventsv1.EventList
	c.must(admin.List(c.Context(), &all))
	list, err := json.Marshal(all.Items)
	c.must(err)
	families, err := metrics.Registry.Gather()
	c.must(err)
	return map[string]string{"events": string(list), "log lines": logged.String(), "metrics": fmt.Sprint(families)}
}
