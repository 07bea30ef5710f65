// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
	"github.com/acme/platform-operator/internal/database/result"
	"github.com/acme/platform-operator/internal/engine"
)

// leastFree is how much of a volume has to be free, in bytes; so has one percent.
const leastFree = 20 << 20

// judgeAgent reports what is wrong by the agent's account.
func judgeAgent(s result.Status) engine.Outcome {
	if s.Storage.Total > 0 && (s.Storage.Free < leastFree || s.Storage.Free < s.Storage.Total/100) {
		return engine.BlockFor(recheck, ReasonStorageFull, "the volume is full, so that the server cannot write: enlarge spec.storage.size")
	}
	return engine.Done()
}

// observation is what there is of the server while it is not ready.
type observation struct {
	now time.Time
	// pace is after how long to look again at what changes by itself.
	pace time.Duration
	// pod is the one of the server; nil if there is none.
	pod *corev1.Pod
	// classMissing is the StorageClass that the claim waits for, and that does not exist.
	classMissing string
}

// lostAfter is how long a pod may be overdue to end before its node counts as lost.
const lostAfter = time.Minute

// diagnose says why the server is not ready.
func diagnose(seen observation) engine.Outcome {
	switch pod := seen.pod; {
	case seen.classMissing != "":
		return engine.BlockFor(recheck, ReasonStorageClassMissing, fmt.Sprintf(
			"there is no StorageClass %q in the cluster; create it, or delete this object and create it with another one", seen.classMissing))
	case pod == nil:
		return engine.Wait(seen.pace, ReasonStarting, "there is no pod yet; the StatefulSet says why if that remains so")
	case pod.DeletionTimestamp != nil && seen.now.After(pod.DeletionTimestamp.Add(lostAfter)):
		return engine.Wait(recheck, ReasonNodeLost, fmt.Sprintf("the pod %s should be gone, but the node %s does not confirm it, and no second "+
			"server is started on the same volume. Make sure that the node is off, then delete the Node, or the pod by force",
			pod.Name, pod.Spec.NodeName)).Warning()
	case pod.DeletionTimestamp != nil:
		return engine.Wait(seen.pace, ReasonStarting, "the former pod is being stopped")
	}
	if out, found := unscheduled(seen.pod); found {
		return out
	}
	for _, c := range slices.Concat(seen.pod.Status.InitContainerStatuses, seen.pod.Status.ContainerStatuses) {
		if out, found := diagnoseContainer(c); found {
			return out
		}
	}
	return engine.Wait(seen.pace, ReasonStarting, "the server starts")
}

func unscheduled(pod *corev1.Pod) (engine.Outcome, bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return engine.Wait(recheck, ReasonUnschedulable, "no node takes the pod: "+c.Message).Warning(), true
		}
	}
	return engine.Outcome{}, false
}

// diagnoseContainer reports what keeps a container from running.
func diagnoseContainer(c corev1.ContainerStatus) (engine.Outcome, bool) {
	if c.State.Waiting == nil {
		return engine.Outcome{}, false
	}
	switch w := c.State.Waiting; w.Reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull":
		if c.Name == agentContainer {
			return engine.Wait(recheck, ReasonAgentImagePullFailed, fmt.Sprintf("the image of the agent, %s, cannot be pulled in this "+
				"namespace: %s. The administrator of the operator sets database.agentImage or database.imagePullSecrets in its configuration",
				c.Image, w.Message)).Warning(), true
		}
		return engine.Wait(recheck, ReasonImagePullFailed,
			fmt.Sprintf("the image %s cannot be pulled: %s. Correct spec.image, or spec.version", c.Image, w.Message)).Warning(), true
	case "CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		message := w.Message
		if last := c.LastTerminationState.Terminated; last != nil && last.Message != "" {
			message = last.Message
		}
		return engine.Wait(recheck, ReasonCrashLoop, fmt.Sprintf("the container %s does not run: %s", c.Name, message)).Warning(), true
	}
	return engine.Outcome{}, false
}

// phaseOf derives the phase from the conditions.
func phaseOf(db *v1alpha1.Database) v1alpha1.Phase {
	running := meta.FindStatusCondition(db.Status.Conditions, Running)
	stalled := meta.IsStatusConditionTrue(db.Status.Conditions, engine.Stalled)
	switch {
	case db.DeletionTimestamp != nil:
		return v1alpha1.PhaseTerminating
	case running == nil || running.Status == metav1.ConditionUnknown:
		return v1alpha1.PhasePending
	case running.Status == metav1.ConditionTrue && running.Reason == ReasonSuspended:
		return v1alpha1.PhaseSuspended
	case running.Status == metav1.ConditionTrue:
		return v1alpha1.PhaseRunning
	case stalled || slices.Contains([]string{ReasonCrashLoop, ReasonImagePullFailed, ReasonAgentImagePullFailed, ReasonNodeLost}, running.Reason):
		return v1alpha1.PhaseFailed
	case !slices.Contains([]v1alpha1.Phase{"", v1alpha1.PhasePending, v1alpha1.PhaseCreating}, db.Status.Phase):
		return v1alpha1.PhaseStarting
	}
	return v1alpha1.PhaseCreating
}
