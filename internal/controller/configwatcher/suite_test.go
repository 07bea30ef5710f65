// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package configwatcher_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
	"github.com/acme/platform-operator/internal/workload"
)

const (
	annotationSelector = "autoreboot.acme.com/podSelector"
	markPrefix         = "autoreboot.acme.com/"
)

var ctx = context.Background()

func TestController(t *testing.T) { Run(t, "ConfigWatcher") }

func configMap(ns, name string, data ...string) *corev1.ConfigMap {
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Data: map[string]string{}}
	for i := 0; i+1 < len(data); i += 2 {
		o.Data[data[i]] = data[i+1]
	}
	return o
}

// set changes one key of a ConfigMap.
func set(o *corev1.ConfigMap, key, value string) {
	GinkgoHelper()
	Change(o, func(o *corev1.ConfigMap) { o.Data[key] = value })
}

// label changes nothing but a label, as somebody who has never written the content.
func label(o *corev1.ConfigMap) {
	GinkgoHelper()
	Expect(Admin.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`)), client.FieldOwner("labeler"))).To(Succeed())
}

// template is a pod template for the label app.
func template(app string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.com/app"}}},
	}
}

func deployment(ns, name, app string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, Template: template(app),
	}}
}

func statefulSet(ns, name, app string) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: appsv1.StatefulSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, Template: template(app), ServiceName: name,
	}}
}

func daemonSet(ns, name, app string) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, Template: template(app),
	}}
}

func pod(ns, name, app string) *corev1.Pod {
	t := template(app)
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: t.Labels}, Spec: t.Spec}
}

func at(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

// watcher is a ConfigWatcher of the ConfigMap "config" for the label app, without debounce.
func watcher(ns, name, app string, with ...func(*v1alpha1.ConfigWatcherSpec)) *v1alpha1.ConfigWatcher {
	w := &v1alpha1.ConfigWatcher{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	w.Spec = v1alpha1.ConfigWatcherSpec{
		ConfigMap: "config", PodSelector: map[string]v1alpha1.LabelValue{"app": v1alpha1.LabelValue(app)},
		Restart: common.RestartPolicy{Debounce: at(0), MaxPerHour: 60},
	}
	for _, f := range with {
		f(&w.Spec)
	}
	return w
}

// watching creates a ConfigWatcher and waits until it has its baseline.
func watching(w *v1alpha1.ConfigWatcher) *v1alpha1.ConfigWatcher {
	GinkgoHelper()
	return AwaitReady(Create(w))
}

// restarts gives how many restarts a ConfigWatcher has completed.
func restarts(w *v1alpha1.ConfigWatcher) func() int64 {
	return func() int64 {
		Expect(Reload(w)).To(Succeed())
		if w.Status.Pending != nil {
			return -1
		}
		return w.Status.Restarts
	}
}

// marks are the annotations on a pod template that restarts have set.
func marks(o client.Object) map[string]string {
	GinkgoHelper()
	Expect(Reload(o)).To(Succeed())
	var all map[string]string
	switch o := o.(type) {
	case *appsv1.Deployment:
		all = maps.Clone(o.Spec.Template.Annotations)
	case *appsv1.StatefulSet:
		all = maps.Clone(o.Spec.Template.Annotations)
	case *appsv1.DaemonSet:
		all = maps.Clone(o.Spec.Template.Annotations)
	}
	maps.DeleteFunc(all, func(k, _ string) bool { return !strings.HasPrefix(k, markPrefix) })
	return all
}

// templates counts the versions of a workload's spec, the first one included: each restart is one more.
func templates(o client.Object) func() int64 {
	return func() int64 {
		Expect(Reload(o)).To(Succeed())
		return o.GetGeneration()
	}
}

// rerun makes the operator run a ConfigWatcher, by a change of its spec that means nothing, and waits until it has.
func rerun(w *v1alpha1.ConfigWatcher) {
	GinkgoHelper()
	Change(w, func(w *v1alpha1.ConfigWatcher) {
		w.Spec.Restart.MinInterval = at(time.Duration(w.Generation) * time.Millisecond)
	})
	AwaitRun(w)
}

// watcherOf is the ConfigWatcher of an annotated object.
func watcherOf(o client.Object) *v1alpha1.ConfigWatcher {
	kind := "configmap"
	if _, is := o.(*corev1.Secret); is {
		kind = "secret"
	}
	return &v1alpha1.ConfigWatcher{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName() + "-" + kind}}
}

// noted is what the ConfigWatcher of an annotated object says.
func noted(o client.Object) func() string {
	return func() string {
		w := watcherOf(o)
		if err := Reload(w); err != nil {
			Expect(client.IgnoreNotFound(err)).To(Succeed())
			return "none"
		}
		if w.Status.Pending != nil {
			return "pending"
		}
		return fmt.Sprintf("%s %d", Ready(w)(), w.Status.Restarts)
	}
}

// rolledOut plays the part of the Deployment controller and of nodes, which do not run: it reports every
// replica as updated and available.
func rolledOut(d *appsv1.Deployment) {
	GinkgoHelper()
	Eventually(func() error {
		if err := Reload(d); err != nil {
			return err
		}
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
		return Admin.Status().Update(ctx, d)
	}).Should(Succeed())
}

// stuck reports that the rollout of a Deployment does not end.
func stuck(d *appsv1.Deployment) {
	GinkgoHelper()
	Expect(Reload(d)).To(Succeed())
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 2, UpdatedReplicas: 1, Conditions: []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: workload.ProgressDeadlineExceeded},
	}}
	Expect(Admin.Status().Update(ctx, d)).To(Succeed())
}
