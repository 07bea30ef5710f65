// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
	"github.com/acme/platform-operator/internal/database/result"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
)

// protocol is the version of what operator and agent exchange. A change of it restarts every database.
var protocol = strconv.Itoa(result.Protocol)

// The containers and volumes of the pod.
const (
	serverContainer = "server"
	agentContainer  = "install-agent"

	volumeAgent, volumeRun, volumeTmp, volumeData, volumeAccounts = "agent", "run", "tmp", "data", "accounts"
)

// stopSeconds is how long the server may take to stop. The agent kills it a little earlier.
const stopSeconds = 120

// statefulSetChild is the server. It may be replaced: all that it has is in the claim. Pods are managed in parallel, although there is
// one: with OrderedReady a pod that cannot start would never get a corrected template.
func (in input) statefulSetChild() engine.Child {
	replicas := int32(1)
	if in.stopped {
		replicas = 0
	}
	spec := appsv1ac.StatefulSetSpec().WithReplicas(replicas).WithServiceName(generationName(in.db)).
		WithPodManagementPolicy(appsv1.ParallelPodManagement).WithRevisionHistoryLimit(2).
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(in.ofGeneration())).
		WithUpdateStrategy(appsv1ac.StatefulSetUpdateStrategy().WithType(appsv1.RollingUpdateStatefulSetStrategyType)).
		WithTemplate(in.template())
	set := appsv1ac.StatefulSet(generationName(in.db), in.db.Namespace).WithSpec(spec)
	return engine.NewChild[appsv1.StatefulSet](set, appsv1ac.ExtractStatefulSet).OrReplace()
}

func (in input) template() *corev1ac.PodTemplateSpecApplyConfiguration {
	pod := corev1ac.PodSpec().WithAutomountServiceAccountToken(false).WithEnableServiceLinks(false).
		WithTerminationGracePeriodSeconds(stopSeconds).WithSecurityContext(in.podSecurity()).
		WithInitContainers(in.installAgent()).WithContainers(in.server()).WithVolumes(
		emptyVolume(volumeAgent), emptyVolume(volumeRun), emptyVolume(volumeTmp),
		corev1ac.Volume().WithName(volumeData).
			WithPersistentVolumeClaim(corev1ac.PersistentVolumeClaimVolumeSource().WithClaimName(generationName(in.db))),
		corev1ac.Volume().WithName(volumeAccounts).
			WithSecret(corev1ac.SecretVolumeSource().WithSecretName(adminName(in.db)).WithDefaultMode(0o440)),
	)
	for _, name := range in.pullSecrets {
		pod.WithImagePullSecrets(corev1ac.LocalObjectReference().WithName(name))
	}
	return corev1ac.PodTemplateSpec().WithLabels(in.ofGeneration()).
		WithAnnotations(map[string]string{names.AnnotationProtocol: protocol}).WithSpec(pod)
}

func emptyVolume(name string) *corev1ac.VolumeApplyConfiguration {
	return corev1ac.Volume().WithName(name).WithEmptyDir(corev1ac.EmptyDirVolumeSource())
}

// podSecurity is what the Pod Security level restricted asks for.
func (in input) podSecurity() *corev1ac.PodSecurityContextApplyConfiguration {
	s := corev1ac.PodSecurityContext().WithRunAsNonRoot(true).WithFSGroupChangePolicy(corev1.FSGroupChangeOnRootMismatch).
		WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))
	if in.runAsUser != 0 {
		s.WithRunAsUser(in.runAsUser).WithRunAsGroup(in.runAsUser).WithFSGroup(in.runAsUser)
	}
	return s
}

func containerSecurity() *corev1ac.SecurityContextApplyConfiguration {
	return corev1ac.SecurityContext().WithAllowPrivilegeEscalation(false).WithReadOnlyRootFilesystem(true).
		WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))
}

// installAgent copies the agent to where the image of the server, which does not have it, finds it.
func (in input) installAgent() *corev1ac.ContainerApplyConfiguration {
	return corev1ac.Container().WithName(agentContainer).WithImage(in.agentImage).
		WithCommand("/database-agent").WithArgs("install", "--to", "/agent").WithSecurityContext(containerSecurity()).
		WithResources(corev1ac.ResourceRequirements().
			WithRequests(corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")}).
			WithLimits(corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")})).
		WithVolumeMounts(corev1ac.VolumeMount().WithName(volumeAgent).WithMountPath("/agent"))
}

// server is the container of the server, which the agent starts and watches.
func (in input) server() *corev1ac.ContainerApplyConfiguration {
	return corev1ac.Container().WithName(serverContainer).WithImage(in.image).
		WithCommand("/agent/database-agent").WithArgs(in.arguments()...).
		WithPorts(
			corev1ac.ContainerPort().WithName(portName).WithContainerPort(portOf(in.db.Spec.Type)).WithProtocol(corev1.ProtocolTCP),
			corev1ac.ContainerPort().WithName(agentPortName).WithContainerPort(agentPort).WithProtocol(corev1.ProtocolTCP)).
		WithSecurityContext(containerSecurity()).WithResources(resourcesOf(in.db.Spec.Resources)).
		WithReadinessProbe(probe("/readyz", 2).WithFailureThreshold(3)).
		WithLivenessProbe(probe("/healthz", 10).WithFailureThreshold(6)).
		WithVolumeMounts(
			corev1ac.VolumeMount().WithName(volumeAgent).WithMountPath("/agent").WithReadOnly(true),
			corev1ac.VolumeMount().WithName(volumeAgent).WithMountPath("/etc/passwd").WithSubPath("passwd").WithReadOnly(true),
			corev1ac.VolumeMount().WithName(volumeAgent).WithMountPath("/etc/group").WithSubPath("group").WithReadOnly(true),
			corev1ac.VolumeMount().WithName(volumeRun).WithMountPath(result.RunDir),
			corev1ac.VolumeMount().WithName(volumeTmp).WithMountPath(result.ScratchDir),
			corev1ac.VolumeMount().WithName(volumeData).WithMountPath(result.DataDir),
			corev1ac.VolumeMount().WithName(volumeAccounts).WithMountPath(result.AccountsDir).WithReadOnly(true))
}

// arguments are those of the agent that runs the server.
func (in input) arguments() []string {
	args := []string{
		"run", "--type=" + string(in.db.Spec.Type), "--version=" + in.db.Status.Version,
		"--database=" + literal(databaseName(in.db)), "--user=" + literal(userOf(in.db)), "--stop-timeout=110s",
	}
	if s := in.db.Status.Storage; s != nil && s.Adopted {
		args = append(args, "--adopted")
	}
	return args
}

func probe(path string, period int32) *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().WithHTTPGet(corev1ac.HTTPGetAction().WithPath(path).WithPort(intstr.FromString(agentPortName))).
		WithPeriodSeconds(period).WithTimeoutSeconds(5)
}

// resourcesOf are the resources of the server, with defaults for what the spec leaves out.
func resourcesOf(r v1alpha1.Resources) *corev1ac.ResourceRequirementsApplyConfiguration {
	requests := amounts(r.Requests, corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("256Mi"),
	})
	limits := amounts(r.Limits, corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")})
	for name, most := range limits { // a limit that is chosen may be less than a request that is not, and the reverse
		least, requested := requests[name]
		_, chosen := r.Requests[string(name)]
		switch {
		case !requested || least.Cmp(most) <= 0:
		case chosen:
			limits[name] = least
		default:
			requests[name] = most
		}
	}
	return corev1ac.ResourceRequirements().WithRequests(requests).WithLimits(limits)
}

func amounts(chosen v1alpha1.ResourceAmounts, defaults corev1.ResourceList) corev1.ResourceList {
	all := defaults
	for name, amount := range chosen {
		all[corev1.ResourceName(name)] = amount
	}
	return all
}
