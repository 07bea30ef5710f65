// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/restart"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// configWatchers is the fixture of ConfigWatcher. Its act is the restart of a Deployment.
type configWatchers struct{ Ordinary }

var _ = fixture("ConfigWatcher", &configWatchers{})

func configWatcher(o engine.Object) *v1alpha1.ConfigWatcher { return o.(*v1alpha1.ConfigWatcher) }

// Configuration implements Fixture.
func (configWatchers) Configuration() string { return "configWatcher: {retryMax: 1s}\n" }

// LeavesOut implements Fixture.
func (configWatchers) LeavesOut() map[string]string {
	return map[string]string{
		"G4 deletion":              "it has no finalizer: its deletion is one request, of the user's",
		"G13 in its own namespace": "it makes nothing there that could be copied; which workloads it restarts is for its user to say",
		"G7 finalizer":             "it has none: its deletion needs no operator",
		"G5":                       "it makes nothing that it keeps in a wanted state; what it restarts is its user's",
	}
}

// Settled implements Fixture.
func (configWatchers) Settled(o engine.Object) bool { return configWatcher(o).Status.Pending == nil }

// watchedConfig is what the sample watches, and webapp what it restarts.
func watchedConfig(unique string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: unique, Name: "webapp-config"}, Data: map[string]string{"LOG_LEVEL": "info"},
	}
}

func webapp(unique string) *appsv1.Deployment {
	labels := map[string]string{"app": "webapp"}
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: unique, Name: "webapp"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/webapp"}}},
		},
	}}
}

// Surround implements Fixture.
// watchedSecret holds what must not be shown anywhere.
func watchedSecret(unique string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: unique, Name: "webapp-secret"}, StringData: map[string]string{"password": canary}}
}

func (configWatchers) Name(sample engine.Object, _ string) {
	configWatcher(sample).Spec.Sources = []v1alpha1.Source{{Kind: v1alpha1.SourceSecret, Name: "webapp-secret"}}
}

func (configWatchers) Surround(unique string) {
	Create(watchedConfig(unique))
	Create(watchedSecret(unique))
	Create(webapp(unique))
}

// Childless implements Fixture.
func (configWatchers) Childless() bool { return true }

// Reads implements Fixture: the two sources, whose contents are in no cache.
func (configWatchers) Reads() float64 { return 2 }

// Change implements Fixture.
func (configWatchers) Change(_ engine.Object, unique string) {
	Patch(watchedConfig(unique), `{"data":{"LOG_LEVEL":"debug"}}`)
}

// Action implements Fixture.
func (configWatchers) Action(unique string) string {
	return "PATCH namespaces/" + unique + "/deployments/webapp"
}

// Happenings implements Fixture.
func (f configWatchers) Happenings() []Happening {
	return []Happening{{
		Name: "change of content",
		Do:   func(unique string) { f.Change(nil, unique) },
		Done: func(unique string) error {
			w := &v1alpha1.ConfigWatcher{}
			if err := Admin.Get(context.Background(), client.ObjectKey{Namespace: unique, Name: unique}, w); err != nil {
				return err
			}
			return restartedOnce(unique, w.Status.RestartStatus)
		},
	}}
}

// restartedOnce tells what is missing to exactly one restart of webapp.
func restartedOnce(unique string, status common.RestartStatus) error {
	d := webapp(unique)
	if err := Reload(d); err != nil {
		return err
	}
	if status.Restarts != 1 || status.Pending != nil || d.Generation != 2 {
		return fmt.Errorf("not restarted exactly once: generation %d, status %+v", d.Generation, status)
	}
	return nil
}

// Invalidate implements Fixture.
func (configWatchers) Invalidate(o *unstructured.Unstructured) {
	Expect(unstructured.SetNestedStringMap(o.Object, map[string]string{}, "spec", "podSelector")).To(Succeed())
}

// Foreign implements Fixture: what HPAs, kubectl scale and kubectl rollout restart do.
func (configWatchers) Foreign(other *unstructured.Unstructured) []string {
	if other.GetKind() != "Deployment" {
		return nil
	}
	return []string{
		`{"spec":{"replicas":4}}`,
		`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"2026-01-01T00:00:00Z"}}}}}`,
	}
}

// Breakages implements Fixture.
func (f configWatchers) Breakages() []Breakage {
	return []Breakage{
		{
			Name: "that what is watched does not exist",
			Break: func(unique string) {
				Remove(watchedConfig(unique))
			},
			Mend: func(unique string) {
				Create(watchedConfig(unique))
			},
			Reason: "SourceMissing", Status: status.FailedStatus,
		},
		{
			Name: "that the operator may not do what it has to",
			Prepare: func(o engine.Object) {
				configWatcher(o).Spec.Restart.Debounce = &metav1.Duration{Duration: 0 * time.Second}
			},
			Break: func(unique string) {
				takeAwayIn("patch", webapp(unique), func(r rbacv1.PolicyRule) bool { return slices.Contains(r.APIGroups, "apps") })
				f.Change(nil, unique)
			},
			Mend:      func(string) { giveBackRole() },
			Announced: 1, Reason: restart.ReasonRestartRefused, Status: status.InProgressStatus,
		},
	}
}
