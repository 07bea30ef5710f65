// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
)

var update = flag.Bool("update", false, "rewrite the golden files of this package")

func TestDesiredJob(t *testing.T) {
	slot := start{job: jobOf("report", instant(t, "12:10:00")), slot: instant(t, "12:10:00").In(time.FixedZone("", 3600))}
	everything := v1alpha1.CronTabSpec{
		Image: "registry.acme.com/report:v1", Replicas: 3, Command: []string{"sh"}, Args: []string{"-c", "date"},
		Env: []corev1.EnvVar{{Name: "A", Value: "b"}, {Name: "EMPTY"}, {Name: "S", ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "k"},
		}}},
		EnvFrom:      []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}}},
		VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("100m")}, Limits: corev1.ResourceList{"memory": resource.MustParse("1Gi")},
		},
		BackoffLimit: new(int32(0)), ActiveDeadline: &metav1.Duration{Duration: 1500 * time.Millisecond},
		Template: v1alpha1.PodTemplate{
			Metadata: v1alpha1.PodMetadata{
				Labels: map[string]v1alpha1.LabelValue{"app": "report"}, Annotations: map[string]v1alpha1.AnnotationValue{"note": "text"},
			},
			Spec: v1alpha1.PodSpec{
				ServiceAccountName: "robot", ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}}, NodeSelector: map[string]string{"disk": "ssd"},
				Tolerations: []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}, PriorityClassName: "low",
				TerminationGracePeriodSeconds: new(int64(0)), ReadOnlyRootFilesystem: true,
				SecurityContext: v1alpha1.PodSecurityContext{RunAsNonRoot: new(false), RunAsUser: new(int64(0)), FSGroup: new(int64(2000))},
				Volumes: []v1alpha1.Volume{
					{Name: "data", PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "d"}},
					{Name: "tmp", EmptyDir: &corev1.EmptyDirVolumeSource{}},
				},
			},
		},
	}
	for _, tc := range []struct {
		golden string
		spec   v1alpha1.CronTabSpec
		start  start
	}{
		{"least", v1alpha1.CronTabSpec{Image: "registry.acme.com/report"}, slot},
		{"everything", everything, slot},
		{"by-hand", v1alpha1.CronTabSpec{Image: "registry.acme.com/report"}, start{job: jobOfRequest("report", "incident-4711"), request: "incident-4711"}},
	} {
		t.Run(tc.golden, func(t *testing.T) {
			tab := &v1alpha1.CronTab{ObjectMeta: metav1.ObjectMeta{Name: "report", Namespace: "app-y"}, Spec: tc.spec}
			got, err := yaml.Marshal(desiredJob(tab, tc.start))
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", "jobs", tc.golden+".yaml")
			if *update {
				if err := os.WriteFile(file, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestRunOf reads what a Job is for from its name: that alone cannot be changed, nor be the same in a copy.
func TestRunOf(t *testing.T) {
	long := strings.Repeat("a", 253)
	slot := time.Date(2027, time.March, 1, 12, 10, 0, 0, time.UTC)
	hand := jobOfRequest("report", "one")
	for _, tc := range []struct {
		reason, tab, name string
		slot              time.Time
		ok                bool
	}{
		{"a slot", "report", "report-202703011210", slot, true},
		{"a slot of a long name", long, jobOf(long, slot), slot, true},
		{"a slot of a name with dots", "a.b", jobOf("a.b", slot), slot, true},
		{"a request", "report", hand, time.Time{}, true},
		{"a request of a long name", long, jobOfRequest(long, "x"), time.Time{}, true},
		{"a copy of a slot's", "report", "report-202703011210-copy", time.Time{}, false},
		{"another copy of it", "report", "copy-of-report-202703011210", time.Time{}, false},
		{"a copy of a request's", "report", hand + "-copy", time.Time{}, false},
		{"a copy with one more digit", "report", hand + "0", time.Time{}, false},
		{"a slot of another CronTab", "report", "reports-202703011210", time.Time{}, false},
		{"a time that is none", "report", "report-202713011210", time.Time{}, false},
		{"a request that is no digest", "report", "report-run-incident47", time.Time{}, false},
		{"nothing like it", "report", "report", time.Time{}, false},
		{"less", "report", "r", time.Time{}, false},
	} {
		if slot, ok := runOf(tc.tab, tc.name); ok != tc.ok || ok && !slot.Equal(tc.slot) {
			t.Errorf("%s: %s is %v, %v, want %v, %v", tc.reason, tc.name, slot, ok, tc.slot, tc.ok)
		}
	}
}

func TestRequester(t *testing.T) {
	at := metav1.NewTime(instant(t, "12:00:00"))
	entry := func(manager, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Time: &at, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	sets := `{"f:metadata":{"f:annotations":{".":{},"f:batch.acme.com/run-now":{}}}}`
	for _, tc := range []struct {
		reason string
		fields []metav1.ManagedFieldsEntry
		want   string
	}{
		{"who set it", []metav1.ManagedFieldsEntry{entry("apply", `{"f:spec":{}}`), entry("kubectl-annotate", sets)}, "kubectl-annotate 12:00:00"},
		{"nobody", []metav1.ManagedFieldsEntry{entry("apply", `{"f:spec":{}}`)}, "unknown 12:30:00"},
		{"nothing recorded", nil, "unknown 12:30:00"},
		{"what cannot be read", []metav1.ManagedFieldsEntry{entry("odd", `[]`), {Manager: "none"}}, "unknown 12:30:00"},
	} {
		by, when := requester(tc.fields, instant(t, "12:30:00"))
		if got := by + " " + when.UTC().Format(time.TimeOnly); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
		}
	}
}
