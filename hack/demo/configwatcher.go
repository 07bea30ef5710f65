/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
)

// restartTimeout is how long the restart may take that the demo shows.
const restartTimeout = time.Minute

func toConfigWatcher(o *unstructured.Unstructured) (*v1alpha1.ConfigWatcher, error) {
	w := &v1alpha1.ConfigWatcher{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, w); err != nil {
		return nil, fmt.Errorf("reading ConfigWatcher %s: %w", o.GetName(), err)
	}
	return w, nil
}

// watchedConfigMap and restartedDeployment are what the sample is about.
func watchedConfigMap(w *v1alpha1.ConfigWatcher) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Spec.ConfigMap}, Data: map[string]string{"LOG_LEVEL": "info"},
	}
}

func restartedDeployment(w *v1alpha1.ConfigWatcher) *appsv1.Deployment {
	labels := w.Selector()
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "webapp"}, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "main", Image: "nginx",
				EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: w.Spec.ConfigMap},
				}}},
			}}},
		},
	}}
}

// configWatcherStage makes the ConfigMap and the Deployment, when they are not there.
func configWatcherStage(ctx context.Context, c client.Client, o *unstructured.Unstructured) error {
	w, err := toConfigWatcher(o)
	if err != nil {
		return err
	}
	for _, o := range []client.Object{watchedConfigMap(w), restartedDeployment(w)} {
		if err := client.IgnoreAlreadyExists(c.Create(ctx, o)); err != nil {
			return fmt.Errorf("making what ConfigWatcher %s is about: %w", w.Name, err)
		}
	}
	return nil
}

// configWatcherAct changes the ConfigMap and waits until that has led to a restart. It does so once in a cluster's
// life: whoever runs the demo again and again shall not meet the limit of restarts in an hour.
func configWatcherAct(ctx context.Context, c client.Client, o *unstructured.Unstructured) error {
	w, err := toConfigWatcher(o)
	if err != nil {
		return err
	}
	if w.Status.Restarts > 0 {
		return nil
	}
	cm := watchedConfigMap(w)
	if err := c.Patch(ctx, cm, client.RawPatch(client.Merge.Type(), []byte(`{"data":{"LOG_LEVEL":"debug"}}`))); err != nil {
		return fmt.Errorf("changing the ConfigMap that is watched: %w", err)
	}
	live := o.DeepCopy()
	err = wait.PollUntilContextTimeout(ctx, pollInterval, restartTimeout, true, func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
			return false, err
		}
		now, err := toConfigWatcher(live)
		return err == nil && now.Status.Restarts > 0 && now.Status.Pending == nil, err
	})
	if err != nil {
		return fmt.Errorf("waiting for the restart after a change of ConfigMap %s: %w", cm.Name, err)
	}
	return nil
}

// configWatcherFacts show what is watched, what restarts, and the restart that the demo brought about.
func configWatcherFacts(_ context.Context, _ client.Reader, o *unstructured.Unstructured) ([]fact, error) {
	w, err := toConfigWatcher(o)
	if err != nil {
		return nil, err
	}
	var sources []string
	for _, s := range w.AllSources() {
		sources = append(sources, string(s.Kind)+" "+s.Name)
	}
	facts := []fact{
		{"Watches", strings.Join(sources, ", ")},
		{"Restarts", "pods with " + pairs(w.Selector())},
	}
	if len(w.Status.History) > 0 {
		h := w.Status.History[0]
		facts = append(facts, fact{"Last change", fmt.Sprintf("%s changed; %s: %s", h.Source, strings.ToLower(string(h.Outcome)), h.Message)})
	}
	for _, r := range w.Status.Workloads {
		facts = append(facts, fact{r.Kind, r.Name + " rolls its pods, marked for this content"})
	}
	return append(facts,
		fact{"In all", fmt.Sprintf("restarts so far: %d, one for each change", w.Status.Restarts)},
		fact{"Again", fmt.Sprintf(`kubectl patch configmap %s -p '{"data":{"LOG_LEVEL":"warn"}}'`, w.Spec.ConfigMap)}), nil
}
