// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
)

// judgeRollout reports whether all pods of a Deployment run its present version and are available.
func judgeRollout(d *appsv1.Deployment) (out engine.Outcome, complete bool) {
	want, s := ptr.Deref(d.Spec.Replicas, 1), d.Status
	switch {
	case s.ObservedGeneration < d.Generation || s.UpdatedReplicas < want || s.Replicas > s.UpdatedReplicas || s.AvailableReplicas < want:
		return engine.Outcome{}, false
	case want == 0:
		return engine.Done().Because(ReasonScaledToZero).Saying("the application is scaled to zero, so that nothing serves"), true
	default:
		return engine.Done().Saying(fmt.Sprintf("%d of %d pods run the present version and serve", s.AvailableReplicas, want)), true
	}
}

// finding is what is wrong with the pods, in words for somebody who looks at nothing else. The worst has the highest rank.
type finding struct {
	rank            int
	reason, message string
}

// maxQuoted is how much of what Kubernetes says is repeated.
const maxQuoted = 300

// worse is the worse of two findings; the first, if they are alike.
func worse(a, b finding) finding {
	if b.rank > a.rank {
		return b
	}
	return a
}

// diagnose finds the worst of what keeps a rollout from being complete.
func diagnose(d *appsv1.Deployment, pods finding) finding {
	s, want := d.Status, ptr.Deref(d.Spec.Replicas, 1)
	worst := finding{0, ReasonRollingOut, fmt.Sprintf(
		"%d of %d pods run the present version, %d are available", s.UpdatedReplicas, want, s.AvailableReplicas)}
	if d.Spec.Paused {
		worst = finding{1, ReasonPaused, "the Deployment is paused, so that no pod is replaced; " +
			"\"kubectl rollout resume deployment " + d.Name + "\" continues"}
	}
	for _, c := range s.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			worst = worse(worst, finding{5, ReasonPodsRefused, "the API server refuses to create pods: " + quoted(c.Message)})
		}
	}
	return worse(worst, pods)
}

// diagnosePod says what is wrong with a pod; nothing when the rank is 0.
func diagnosePod(p *corev1.Pod) finding {
	if !p.DeletionTimestamp.IsZero() {
		return finding{}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return finding{4, ReasonUnschedulable, fmt.Sprintf("no node takes the pod %s: %s", p.Name, quoted(c.Message))}
		}
	}
	worst := finding{}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		worst = worse(worst, diagnoseContainer(p, s))
	}
	return worst
}

// diagnoseContainer says what is wrong with one container of a pod.
func diagnoseContainer(p *corev1.Pod, s corev1.ContainerStatus) finding {
	which := fmt.Sprintf("the container %s of the pod %s", s.Name, p.Name)
	if s.State.Waiting != nil {
		return diagnoseWaiting(which, s)
	}
	if t := s.State.Terminated; t != nil && t.ExitCode != 0 {
		return finding{3, ReasonCrashLoop, which + " has ended" + lastEnd(", last with", s.State)}
	}
	if s.State.Running != nil && !s.Ready && s.Started != nil && *s.Started && isAppContainer(p, s) {
		return finding{2, ReasonNotServing, which + " runs, and does not pass its readiness probe: " + whyNotServing(s)}
	}
	return finding{}
}

// whyNotServing says where to look. What ends again and again runs now and then.
func whyNotServing(s corev1.ContainerStatus) string {
	if t := s.LastTerminationState.Terminated; t != nil && t.ExitCode != 0 {
		return "it ended before" + lastEnd(" with", s.LastTerminationState)
	}
	return "is the port right, and does the application answer?"
}

// diagnoseWaiting says what keeps a container from starting.
func diagnoseWaiting(which string, s corev1.ContainerStatus) finding {
	switch w := s.State.Waiting; w.Reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError":
		return finding{7, ReasonImagePullFailed, fmt.Sprintf(
			"the image %s of %s cannot be pulled: %s", s.Image, which, quoted(cmp.Or(w.Message, w.Reason)))}
	case "CrashLoopBackOff":
		return finding{6, ReasonCrashLoop, which + " ends again and again" + lastEnd(", last with", s.LastTerminationState)}
	case "CreateContainerConfigError":
		if strings.Contains(w.Message, "runAsNonRoot") {
			return finding{7, ReasonStartFailed, which + " cannot be started: " + quoted(w.Message) +
				". Set spec.securityContext.runAsUser to another user than 0"}
		}
		return finding{7, ReasonConfigMissing, which + " cannot be started: " + quoted(w.Message)}
	case "CreateContainerError", "RunContainerError":
		return finding{7, ReasonStartFailed, which + " cannot be started: " + quoted(cmp.Or(w.Message, w.Reason)) + ". Check its command and volumeMounts"}
	default:
		return finding{}
	}
}

// isAppContainer reports whether a status is of a container that runs as long as the pod.
func isAppContainer(p *corev1.Pod, s corev1.ContainerStatus) bool {
	return slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == s.Name })
}

// lastEnd says how a container has ended last, after some words; it is empty when it has not.
func lastEnd(after string, s corev1.ContainerState) string {
	t := s.Terminated
	if t == nil {
		return ""
	}
	text := fmt.Sprintf("%s the exit code %d", after, t.ExitCode)
	switch {
	case t.Reason == "OOMKilled":
		return text + " because it had used up its memory limit"
	case t.Message != "":
		return text + ": " + lastWords(t.Message)
	default:
		return text + "; \"kubectl logs --previous\" shows what it said"
	}
}

// quoted is a text of somebody else on one line.
func quoted(text string) string {
	return names.Clip(strings.Join(strings.Fields(text), " "), maxQuoted)
}

// lastWords is the end of a text of somebody else on one line: what has ended says why in its last lines.
func lastWords(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= maxQuoted {
		return text
	}
	return "…" + strings.ToValidUTF8(text[len(text)-maxQuoted:], "")
}

// judgeAutoscaler reports whether an autoscaler works.
func judgeAutoscaler(hpa *autoscalingv2.HorizontalPodAutoscaler) engine.Outcome {
	for _, c := range hpa.Status.Conditions {
		switch {
		case c.Type != autoscalingv2.ScalingActive:
			continue
		case c.Status == corev1.ConditionTrue:
			return engine.Done().Saying(fmt.Sprintf("scaled between %d and %d pods", ptr.Deref(hpa.Spec.MinReplicas, 1), hpa.Spec.MaxReplicas))
		default:
			return engine.Wait(recheck, ReasonAutoscalerInactive, "the HorizontalPodAutoscaler does not scale: "+quoted(c.Message))
		}
	}
	return engine.Uncertain(recheck, ReasonAutoscalerPending, "the HorizontalPodAutoscaler has not looked at the pods yet")
}
