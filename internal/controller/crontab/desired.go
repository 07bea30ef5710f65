// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"maps"
	"math"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
)

const (
	// LabelCronTab is on the Jobs and pods of a CronTab. Its value is the CronTab's name, shortened and hashed
	// if it is too long for a label. status.selector uses it, so it never changes.
	LabelCronTab = "batch.acme.com/crontab"
	// AnnotationSlot is on the Jobs and pods of the schedule: the slot that they run for, in UTC.
	AnnotationSlot = "batch.acme.com/slot"

	slotLayout          = "200601021504"
	requested           = "run-" // begins the suffix of a run by hand
	containerName       = "run"
	defaultBackoffLimit = 6
)

// jobOf returns the name of the Job for a slot. It depends on nothing else.
func jobOf(tab string, slot time.Time) string {
	return names.Job(tab, slot.UTC().Format(slotLayout))
}

// jobOfRequest returns the name of the Job for a run by hand.
func jobOfRequest(tab, request string) string { return names.Job(tab, requested+names.Digest(request)) }

// runOf parses the name of a Job of a CronTab: it returns the slot, which is zero for a run by hand, and false
// if no run of the CronTab has that name. The name cannot be changed; labels and annotations may be overwritten
// by admission, and a copy has them, too.
func runOf(tab, name string) (slot time.Time, ok bool) {
	if at, err := time.Parse(slotLayout, name[max(len(name)-len(slotLayout), 0):]); err == nil {
		return at, jobOf(tab, at) == name
	}
	return time.Time{}, names.IsDigested(name, tab, requested)
}

// selector returns the selector of the pods of all runs.
func selector(tab string) string { return LabelCronTab + "=" + names.Child(tab, "") }

// desiredJob returns the Job of one run. Its defaults meet the Pod Security level restricted. It is created,
// not applied: it is never compared with anything later.
func desiredJob(tab *v1alpha1.CronTab, st start) *batchv1.Job {
	labels := map[string]string{LabelCronTab: names.Child(tab.Name, "")}
	why := map[string]string{names.AnnotationRunNow: st.request}
	if !st.slot.IsZero() {
		why = map[string]string{AnnotationSlot: st.slot.UTC().Format(time.RFC3339)}
	}
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: tab.Namespace, Name: st.job, Labels: labels, Annotations: why},
		Spec: batchv1.JobSpec{
			CompletionMode: new(batchv1.IndexedCompletion),
			Completions:    new(max(tab.Spec.Replicas, 1)),
			Parallelism:    new(max(tab.Spec.Replicas, 1)),
			BackoffLimit:   new(int32(defaultBackoffLimit)),
			Template:       podTemplate(tab, labels, why),
		},
	}
	if limit := tab.Spec.BackoffLimit; limit != nil {
		j.Spec.BackoffLimit = new(*limit)
	}
	if d := tab.Spec.ActiveDeadline; d != nil {
		j.Spec.ActiveDeadlineSeconds = new(int64(math.Ceil(d.Seconds())))
	}
	return j
}

func podTemplate(tab *v1alpha1.CronTab, labels, annotations map[string]string) corev1.PodTemplateSpec {
	t := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(labels), Annotations: maps.Clone(annotations)},
		Spec:       podSpec(tab.Spec.Template.Spec),
	}
	for k, v := range tab.Spec.Template.Metadata.Labels {
		t.Labels[k] = string(v)
	}
	for k, v := range tab.Spec.Template.Metadata.Annotations {
		t.Annotations[k] = string(v)
	}
	t.Spec.Containers = []corev1.Container{container(tab.Spec)}
	return t
}

// podSpec returns everything but the container.
func podSpec(t v1alpha1.PodSpec) corev1.PodSpec {
	spec := corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyNever,
		ServiceAccountName:            t.ServiceAccountName,
		AutomountServiceAccountToken:  new(t.ServiceAccountName != ""),
		ImagePullSecrets:              t.ImagePullSecrets,
		NodeSelector:                  t.NodeSelector,
		Tolerations:                   t.Tolerations,
		PriorityClassName:             t.PriorityClassName,
		TerminationGracePeriodSeconds: t.TerminationGracePeriodSeconds,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot:   new(true),
			RunAsUser:      t.SecurityContext.RunAsUser,
			RunAsGroup:     t.SecurityContext.RunAsGroup,
			FSGroup:        t.SecurityContext.FSGroup,
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
	if asRoot := t.SecurityContext.RunAsNonRoot; asRoot != nil {
		spec.SecurityContext.RunAsNonRoot = asRoot
	}
	for _, v := range t.Volumes {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: v.Name, VolumeSource: corev1.VolumeSource{
			ConfigMap: v.ConfigMap, Secret: v.Secret, PersistentVolumeClaim: v.PersistentVolumeClaim, EmptyDir: v.EmptyDir,
		}})
	}
	return spec
}

func container(t v1alpha1.CronTabSpec) corev1.Container {
	c := corev1.Container{
		Name: containerName, Image: t.Image, Command: t.Command, Args: t.Args,
		Env: t.Env, EnvFrom: t.EnvFrom, VolumeMounts: t.VolumeMounts, Resources: t.Resources,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
	if t.Template.Spec.ReadOnlyRootFilesystem {
		c.SecurityContext.ReadOnlyRootFilesystem = new(true)
	}
	return c
}
