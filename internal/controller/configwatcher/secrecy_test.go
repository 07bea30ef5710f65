// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package configwatcher

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/restart"
)

const canary = "canary-5dbe"

// store holds one Secret, and records deletions.
type store struct {
	client.Client
	deleted client.DeleteOptions
}

func (*store) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if s, ok := o.(*corev1.Secret); ok {
		s.Namespace, s.Name, s.UID, s.ResourceVersion = key.Namespace, key.Name, "uid-1", "7"
		s.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: canary}
		s.Data = map[string][]byte{"password": []byte(canary)}
	}
	return nil
}

func (s *store) Delete(_ context.Context, _ client.Object, options ...client.DeleteOption) error {
	s.deleted.ApplyOptions(options)
	return nil
}

// TestSecretsAreNeitherLoggedNorKept reads Secrets at the highest verbosity.
func TestSecretsAreNeitherLoggedNorKept(t *testing.T) {
	var logged strings.Builder
	log := funcr.New(func(prefix, args string) { fmt.Fprintln(&logged, prefix, args) }, funcr.Options{Verbosity: 10})
	log.Info("the log is read")
	for name, keys := range map[string][]string{"whole": nil, "by its keys": {"password", "missing"}} {
		w := &v1alpha1.ConfigWatcher{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "w"}}
		r := &run{kind: kind{cache: &store{}, live: &store{}, readings: newReadings(1)}, watcher: w, req: requestFor(w)}
		source := v1alpha1.Source{Kind: v1alpha1.SourceSecret, Name: "s", Keys: keys}
		if err := r.observe(logr.NewContext(t.Context(), log), restart.KeyOf([]byte("root"), "uid"), source); err != nil {
			t.Fatal(err)
		}
		if kept := fmt.Sprintf("%+v %+v", r.req.Observed, r.missing); strings.Contains(kept, canary) || len(r.req.Observed) != 1 {
			t.Errorf("%s: of a Secret is kept: %s", name, kept)
		}
	}
	if !strings.Contains(logged.String(), "the log is read") || strings.Contains(logged.String(), canary) {
		t.Errorf("of a Secret is logged: %s", logged.String())
	}
}

// TestAConfigWatcherIsRemovedByItsUID: another one may have its name by then.
func TestAConfigWatcherIsRemovedByItsUID(t *testing.T) {
	s := &store{}
	is := &v1alpha1.ConfigWatcher{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "w", UID: "uid-1"}}
	if err := (annotated{Client: s}).remove(t.Context(), is); err != nil {
		t.Fatal(err)
	}
	if p := s.deleted.Preconditions; p == nil || p.UID == nil || *p.UID != "uid-1" {
		t.Errorf("a ConfigWatcher is deleted with the preconditions %+v, want its UID", p)
	}
}

// TestTheAnnotationPausedFollows: what is paused is the ConfigWatcher of the object.
func TestTheAnnotationPausedFollows(t *testing.T) {
	a := annotated{source: v1alpha1.SourceSecret}
	for value, want := range map[string]string{"true": "true", "false": "", "": ""} {
		o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "s", Annotations: map[string]string{names.AnnotationPaused: value}}}
		if got := a.desired(o, nil).Annotations[names.AnnotationPaused]; got != want {
			t.Errorf("with %q the ConfigWatcher is paused with %q, want %q", value, got, want)
		}
	}
}
