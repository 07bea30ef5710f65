// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"

	configv1alpha1 "github.com/acme/platform-operator/api/config/v1alpha1"
)

func TestASlowAPIServerChangesNoReadiness(t *testing.T) {
	slow := fmt.Errorf("listing: %w", context.DeadlineExceeded)
	gone := fmt.Errorf("listing: %w", apierrors.NewNotFound(schema.GroupResource{}, ""))
	unknown := fmt.Errorf("listing: %w", &meta.NoKindMatchError{})
	var answer error
	ready := lastAnswer(func(context.Context) error { return answer })
	for i, step := range []struct{ answer, want error }{
		{slow, slow}, // unknown so far
		{nil, nil},
		{slow, nil},
		{gone, gone},
		{slow, gone},
		{unknown, unknown},
		{nil, nil},
	} {
		answer = step.answer
		if got := ready(&http.Request{}); !errors.Is(got, step.want) {
			t.Errorf("step %d: %v is answered by %v, want %v", i, step.answer, got, step.want)
		}
	}
}

// TestNotReadyBeforeACacheIsAskedFor: while the manager starts nobody has asked for any cache, and all that is expected is missing.
func TestNotReadyBeforeACacheIsAskedFor(t *testing.T) {
	held, config := &holding{}, &configv1alpha1.PlatformOperatorConfig{}
	configv1alpha1.Default(config)
	options := managerOptions(config, Options{}, held)
	caches := options.Cache
	caches.Scheme, caches.HTTPClient, caches.Mapper = options.Scheme, http.DefaultClient, testrestmapper.TestOnlyStaticRESTMapper(options.Scheme)
	if _, err := options.NewCache(&rest.Config{Host: "http://127.0.0.1:1"}, caches); err != nil {
		t.Fatal(err)
	}
	err := unfilled(held.cache)
	if err == nil {
		t.Fatal("it is ready at once")
	}
	for _, name := range Expected() {
		if !strings.Contains(strings.ToLower(err.Error()), "the cache of "+name+" is not filled yet") {
			t.Errorf("it is ready without the cache of %s", name)
		}
	}
}

// TestWhatCannotBeReadIsTold: the API server takes no event whose note has more than 1,024 bytes.
func TestWhatCannotBeReadIsTold(t *testing.T) {
	recorder := events.NewFakeRecorder(1)
	held := &holding{recorder: recorder}
	held.report(&corev1.ConfigMap{}, errors.New(strings.Repeat("漢", 5000)))
	note := strings.TrimPrefix(<-recorder.Events, "Warning Unreadable ")
	if len(note) > 1024 || !strings.HasSuffix(note, ". Correct that field with kubectl edit.") {
		t.Errorf("%d bytes: %s", len(note), note)
	}
}
