// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"strings"
	"testing"
	"unicode/utf8"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rolled is a Deployment of n pods that is rolled out, but for what is changed.
func rolled(n int32, with ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 2}, Spec: appsv1.DeploymentSpec{Replicas: &n}, Status: appsv1.DeploymentStatus{
		ObservedGeneration: 2, Replicas: n, UpdatedReplicas: n, AvailableReplicas: n, ReadyReplicas: n,
	}}
	for _, w := range with {
		w(d)
	}
	return d
}

func TestJudgeRollout(t *testing.T) {
	for _, tc := range []struct {
		reason   string
		give     *appsv1.Deployment
		complete bool
		want     string
	}{
		{"all serve", rolled(2), true, "Done"},
		{"none is wanted", rolled(0), true, ReasonScaledToZero},
		{"the controller has not seen it", rolled(2, func(d *appsv1.Deployment) { d.Status.ObservedGeneration = 1 }), false, ""},
		{"one is old", rolled(2, func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 }), false, ""},
		{"an old one is still there", rolled(2, func(d *appsv1.Deployment) { d.Status.Replicas = 3 }), false, ""},
		{"one is not available", rolled(2, func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 1 }), false, ""},
		{"an old one is there of an application that is scaled to zero", rolled(0, func(d *appsv1.Deployment) { d.Status.Replicas = 1 }), false, ""},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			out, complete := judgeRollout(tc.give)
			if complete != tc.complete || out.Reason() != tc.want {
				t.Errorf("got %v %q, want %v %q", complete, out.Reason(), tc.complete, tc.want)
			}
		})
	}
}

// pod is a pod of the application with the status of its container.
func pod(name string, status corev1.ContainerStatus, with ...func(*corev1.Pod)) corev1.Pod {
	status.Name, status.Image = containerName, "registry.acme.com/app:v2"
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: containerName}}}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{status}
	for _, w := range with {
		w(&p)
	}
	return p
}

func waiting(reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
}

func ended(code int32, reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}}
}

func crashing(last corev1.ContainerState) corev1.ContainerStatus {
	s := waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container")
	s.LastTerminationState = last
	return s
}

func TestDiagnose(t *testing.T) {
	rolling := func(with ...func(*appsv1.Deployment)) *appsv1.Deployment {
		return rolled(2, append(with, func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 })...)
	}
	refused := func(d *appsv1.Deployment) {
		d.Status.Conditions = []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: `pods "web-1" is forbidden: exceeded quota: dev, requested: pods=1`,
		}}
	}
	running := corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, Started: new(true)}
	again := running
	again.LastTerminationState = ended(3, "Error", "")
	ready := running
	ready.Ready = true
	pull := pod("web-b", waiting("ImagePullBackOff", `Back-off pulling image "x": not found`))
	crash := pod("web-c", crashing(ended(3, "Error", "")))
	for _, tc := range []struct {
		why           string
		d             *appsv1.Deployment
		pods          []corev1.Pod
		reason, wants string
	}{
		{"nothing is wrong", rolling(), []corev1.Pod{pod("web-a", ready)}, ReasonRollingOut, "1 of 2 pods run the present version, 2 are available"},
		{"no image", rolling(), []corev1.Pod{pull}, ReasonImagePullFailed, `the image registry.acme.com/app:v2 of the container app of the pod web-b cannot be pulled: Back-off pulling image "x": not found`},
		{"an image that is none", rolling(), []corev1.Pod{pod("web-a", waiting("InvalidImageName", ""))}, ReasonImagePullFailed, "InvalidImageName"},
		{"a crash loop", rolling(), []corev1.Pod{crash}, ReasonCrashLoop, `the container app of the pod web-c ends again and again, last with the exit code 3; "kubectl logs --previous" shows what it said`},
		{"a crash loop with last words", rolling(), []corev1.Pod{pod("web-a", crashing(ended(1, "Error", "no\nport")))}, ReasonCrashLoop, "last with the exit code 1: no port"},
		{"too little memory", rolling(), []corev1.Pod{pod("web-a", crashing(ended(137, "OOMKilled", "")))}, ReasonCrashLoop, "because it had used up its memory limit"},
		{"the first crash", rolling(), []corev1.Pod{pod("web-a", corev1.ContainerStatus{State: ended(2, "Error", "")})}, ReasonCrashLoop, "the container app of the pod web-a has ended, last with the exit code 2"},
		{"a Secret that there is not", rolling(), []corev1.Pod{pod("web-a", waiting("CreateContainerConfigError", `secret "s" not found`))}, ReasonConfigMissing, `cannot be started: secret "s" not found`},
		{"an image that runs as root", rolling(), []corev1.Pod{pod("web-a", waiting("CreateContainerConfigError", "container has runAsNonRoot and image will run as root"))}, ReasonStartFailed, "will run as root. Set spec.securityContext.runAsUser"},
		{"a command that there is not", rolling(), []corev1.Pod{pod("web-a", waiting("RunContainerError", `exec: "shop": executable file not found in $PATH`))}, ReasonStartFailed, `cannot be started: exec: "shop": executable file not found in $PATH. Check its command`},
		{"a container that cannot be created", rolling(), []corev1.Pod{pod("web-a", waiting("CreateContainerError", ""))}, ReasonStartFailed, "CreateContainerError. Check its command and volumeMounts"},
		{"a claim that there is not", rolling(), []corev1.Pod{pod("web-a", corev1.ContainerStatus{}, func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: `persistentvolumeclaim "data" not found`}}
		})}, ReasonUnschedulable, `no node takes the pod web-a: persistentvolumeclaim "data" not found`},
		{"the quota", rolling(refused), nil, ReasonPodsRefused, "exceeded quota: dev"},
		{"no room", rolling(), []corev1.Pod{pod("web-a", corev1.ContainerStatus{}, func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available"}}
		})}, ReasonUnschedulable, "no node takes the pod web-a: 0/3 nodes are available"},
		{"no answer", rolling(), []corev1.Pod{pod("web-a", running)}, ReasonNotServing, "does not pass its readiness probe: is the port right"},
		{"a crash loop that runs just now", rolling(), []corev1.Pod{pod("web-a", again)}, ReasonNotServing, `does not pass its readiness probe: it ended before with the exit code 3; "kubectl logs --previous" shows`},
		{"a paused Deployment", rolling(func(d *appsv1.Deployment) { d.Spec.Paused = true }), nil, ReasonPaused, `"kubectl rollout resume deployment web" continues`},
		{"an init container", rolling(), []corev1.Pod{pod("web-a", waiting("PodInitializing", ""), func(p *corev1.Pod) {
			s := crashing(ended(1, "Error", ""))
			s.Name = "wait"
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{s}
		})}, ReasonCrashLoop, "the container wait of the pod web-a ends again and again"},
		{"a pod that goes", rolling(), []corev1.Pod{pod("web-a", crashing(ended(1, "Error", "")), func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) })}, ReasonRollingOut, ""},
		{"the worst of several", rolling(refused), []corev1.Pod{crash, pod("web-a", running), pull}, ReasonImagePullFailed, "web-b"},
		{"the first of several", rolling(), []corev1.Pod{crash, pod("web-z", crash.Status.ContainerStatuses[0])}, ReasonCrashLoop, "web-c"},
		{"a text that is a book", rolling(), []corev1.Pod{pod("web-a", waiting("ErrImagePull", strings.Repeat("x ", 1000)))}, ReasonImagePullFailed, "…"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			found := finding{}
			for i := range tc.pods {
				found = worse(found, diagnosePod(&tc.pods[i]))
			}
			got := diagnose(tc.d, found)
			if got.reason != tc.reason || !strings.Contains(got.message, tc.wants) || strings.Contains(got.message, "\n") {
				t.Errorf("got %s %q, want %s %q", got.reason, got.message, tc.reason, tc.wants)
			}
		})
	}
}

func TestTheLastWordsOfAContainerAreItsLast(t *testing.T) {
	long := "start ü\n" + strings.Repeat("trace é\n", 100) + "no column price\n"
	got := lastEnd(", last with", ended(1, "Error", long))
	if before, after, _ := strings.Cut(got, "…"); before != ", last with the exit code 1: " || !strings.HasSuffix(after, " trace é no column price") ||
		len(after) > maxQuoted || !utf8.ValidString(got) {
		t.Errorf("got %q", got)
	}
	if got := lastEnd(", last with", ended(1, "Error", "no\nport")); got != ", last with the exit code 1: no port" {
		t.Errorf("got %q", got)
	}
}

func TestJudgeAutoscaler(t *testing.T) {
	for want, conditions := range map[string][]autoscalingv2.HorizontalPodAutoscalerCondition{
		"Done":                   {{Type: autoscalingv2.AbleToScale, Status: corev1.ConditionFalse}, {Type: autoscalingv2.ScalingActive, Status: corev1.ConditionTrue}},
		ReasonAutoscalerInactive: {{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionFalse, Message: "no metrics"}},
		ReasonAutoscalerPending:  nil,
	} {
		hpa := &autoscalingv2.HorizontalPodAutoscaler{Status: autoscalingv2.HorizontalPodAutoscalerStatus{Conditions: conditions}}
		if got := judgeAutoscaler(hpa).Reason(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
