// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"encoding/json"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	"k8s.io/utils/ptr"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/scheduling"
)

const (
	// LabelProfile is on the pods of a scheduler: the name of its Deployment.
	LabelProfile = "scheduling.acme.com/profile"
	// LabelConfig is on them: the hash of their configuration.
	LabelConfig = "scheduling.acme.com/config"
	// LabelTemplate is on them, too: the digest of all that they were made from. Admission may change pods, but not this.
	LabelTemplate = "scheduling.acme.com/template"
	// DefaultAccount is the ServiceAccount of schedulers that ask for no other.
	DefaultAccount = names.Operator + "-scheduler"
)

const (
	containerName = "scheduler"
	configVolume  = "config"
	configFolder  = "/etc/kube-scheduler"
	configFile    = "config.yaml"
	tmpVolume     = "tmp"
	portName      = "https-metrics"
	securePort    = 10259
	// nobody is the user that the scheduler runs as: the image of kube-scheduler names none.
	nobody = 65532
	// progressDeadline is how many seconds new pods may take to be ready.
	progressDeadline = 120
	defaultRetry     = 30 * time.Second
)

// input is all that the children depend on.
type input struct {
	profile *v1alpha1.SchedulerProfile
	// namespace is the operator's.
	namespace string
	// image is the image of kube-scheduler, and config its configuration. Both are empty for a program.
	image, config string
	// former are the hashes of other configurations, of pods that may still run. Their ConfigMaps are kept.
	former []string
}

// childName is the name of the Deployment, the Service, the PodDisruptionBudget and the Lease of an object. It always ends in the kind, by
// which the Lease is recognized when the object is gone.
func childName(p *v1alpha1.SchedulerProfile) string { return names.Job(p.Name, Name) }

// configName is the name of the ConfigMap of a configuration.
func configName(p *v1alpha1.SchedulerProfile, hash string) string {
	return names.Job(p.Name, configPrefix+hash)
}

// configPrefix is between the object's name and the hash.
const configPrefix = Name + "-"

// isConfigName reports whether a ConfigMap's name is that of some configuration of an object.
func isConfigName(p *v1alpha1.SchedulerProfile, name string) bool {
	return names.IsDigested(name, p.Name, configPrefix)
}

// lease is the Lease by which the replicas elect the active one.
func lease(p *v1alpha1.SchedulerProfile, namespace string) scheduling.Lease {
	return scheduling.Lease{Namespace: namespace, Name: childName(p)}
}

// hash identifies a configuration; empty for a program, which has none.
func (in input) hash() string {
	if in.config == "" {
		return ""
	}
	return names.Digest(in.config)
}

func (in input) replicas() int32 {
	if in.profile.Spec.Program != nil {
		return ptr.Deref(in.profile.Spec.Replicas, 1)
	}
	return ptr.Deref(in.profile.Spec.Replicas, 2)
}

func (in input) selector() map[string]string {
	return map[string]string{LabelProfile: childName(in.profile)}
}

// desired are all children of an object.
func desired(in input) []engine.Child {
	var children []engine.Child
	if c := in.configMap(); c != nil {
		children = append(children, engine.NewChild(c, corev1ac.ExtractConfigMap).OrReplace())
	}
	// When a pod that still runs restarts, it has to find its configuration.
	for _, hash := range in.former {
		former := corev1ac.ConfigMap(configName(in.profile, hash), in.namespace)
		children = append(children, engine.NewChild(former, corev1ac.ExtractConfigMap).Later())
	}
	children = append(children, engine.NewChild(in.deployment(), appsv1ac.ExtractDeployment))
	if b := in.budget(); b != nil {
		children = append(children, engine.NewChild(b, policyv1ac.ExtractPodDisruptionBudget))
	}
	if s := in.service(); s != nil {
		children = append(children, engine.NewChild(s, corev1ac.ExtractService).OrReplace())
	}
	return children
}

// configMap has the configuration; nil for a program. It cannot be changed, and is named after its content.
func (in input) configMap() *corev1ac.ConfigMapApplyConfiguration {
	if in.config == "" {
		return nil
	}
	return corev1ac.ConfigMap(configName(in.profile, in.hash()), in.namespace).WithImmutable(true).
		WithData(map[string]string{configFile: in.config})
}

// budget lets one pod be evicted at a time; nil for a single pod, whose node could not be drained.
func (in input) budget() *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	if in.replicas() < 2 {
		return nil
	}
	return policyv1ac.PodDisruptionBudget(childName(in.profile), in.namespace).WithSpec(policyv1ac.PodDisruptionBudgetSpec().
		WithMaxUnavailable(intstr.FromInt32(1)).WithSelector(metav1ac.LabelSelector().WithMatchLabels(in.selector())))
}

// service is for the metrics of kube-scheduler; nil for a program.
func (in input) service() *corev1ac.ServiceApplyConfiguration {
	if in.profile.Spec.Program != nil {
		return nil
	}
	port := corev1ac.ServicePort().WithName(portName).WithProtocol(corev1.ProtocolTCP).WithPort(securePort).
		WithTargetPort(intstr.FromString(portName))
	return corev1ac.Service(childName(in.profile), in.namespace).
		WithSpec(corev1ac.ServiceSpec().WithClusterIP(corev1.ClusterIPNone).WithSelector(in.selector()).WithPorts(port))
}

// deployment never replaces a pod before a new one is ready, so that a configuration with which kube-scheduler does not start changes
// nothing.
func (in input) deployment() *appsv1ac.DeploymentApplyConfiguration {
	rolling := appsv1ac.RollingUpdateDeployment().WithMaxSurge(intstr.FromInt32(1)).WithMaxUnavailable(intstr.FromInt32(0))
	return appsv1ac.Deployment(childName(in.profile), in.namespace).WithSpec(appsv1ac.DeploymentSpec().
		WithReplicas(in.replicas()).WithRevisionHistoryLimit(1).WithProgressDeadlineSeconds(progressDeadline).
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(in.selector())).
		WithStrategy(appsv1ac.DeploymentStrategy().WithType(appsv1.RollingUpdateDeploymentStrategyType).WithRollingUpdate(rolling)).
		WithTemplate(in.template()))
}

// template is what pods are made from. A label has the digest of the rest, by which former pods are recognized: their configuration may
// be the same.
func (in input) template() *corev1ac.PodTemplateSpecApplyConfiguration {
	labels := in.selector()
	if hash := in.hash(); hash != "" {
		labels[LabelConfig] = hash
	}
	t := corev1ac.PodTemplateSpec().WithLabels(labels).WithSpec(in.pod())
	text, _ := json.Marshal(t) // strings and quantities can be encoded
	return t.WithLabels(map[string]string{LabelTemplate: names.Digest(string(text))})
}

// pod names the default scheduler, so that no routing ever lets the scheduler wait for itself.
func (in input) pod() *corev1ac.PodSpecApplyConfiguration {
	spec := in.profile.Spec
	security := corev1ac.PodSecurityContext().WithRunAsNonRoot(true).
		WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))
	account := DefaultAccount
	if spec.ServiceAccountName != "" {
		account = spec.ServiceAccountName
	}
	apart := corev1ac.PodAffinityTerm().WithTopologyKey(corev1.LabelHostname).
		WithLabelSelector(metav1ac.LabelSelector().WithMatchLabels(in.selector()))
	pod := corev1ac.PodSpec().WithSchedulerName(corev1.DefaultSchedulerName).WithServiceAccountName(account).
		WithSecurityContext(security).WithNodeSelector(spec.NodeSelector).WithTolerations(tolerations(spec.Tolerations)...).
		WithAffinity(corev1ac.Affinity().WithPodAntiAffinity(corev1ac.PodAntiAffinity().WithPreferredDuringSchedulingIgnoredDuringExecution(
			corev1ac.WeightedPodAffinityTerm().WithWeight(100).WithPodAffinityTerm(apart)))).
		WithVolumes(corev1ac.Volume().WithName(tmpVolume).WithEmptyDir(corev1ac.EmptyDirVolumeSource()))
	if spec.PriorityClassName != "" {
		pod.WithPriorityClassName(spec.PriorityClassName)
	}
	if spec.Program != nil {
		return pod.WithContainers(in.program())
	}
	security.WithRunAsUser(nobody).WithRunAsGroup(nobody)
	return pod.WithContainers(in.scheduler()).WithVolumes(corev1ac.Volume().WithName(configVolume).
		WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(configName(in.profile, in.hash()))))
}

// container is what both kinds of schedulers have.
func (in input) container(image string) *corev1ac.ContainerApplyConfiguration {
	c := corev1ac.Container().WithName(containerName).WithImage(image).
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError).
		WithSecurityContext(corev1ac.SecurityContext().WithAllowPrivilegeEscalation(false).WithReadOnlyRootFilesystem(true).
			WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))).
		WithVolumeMounts(corev1ac.VolumeMount().WithName(tmpVolume).WithMountPath("/tmp"))
	if r := in.profile.Spec.Resources; len(r.Requests)+len(r.Limits) > 0 {
		resources := corev1ac.ResourceRequirements()
		if len(r.Requests) > 0 {
			resources.WithRequests(r.Requests)
		}
		if len(r.Limits) > 0 {
			resources.WithLimits(r.Limits)
		}
		c.WithResources(resources)
	}
	return c
}

// scheduler is kube-scheduler. Of the flag that retries pods there is no field in its configuration.
func (in input) scheduler() *corev1ac.ContainerApplyConfiguration {
	retry := defaultRetry
	if r := in.profile.Spec.RetryAfter; r != nil {
		retry = r.Duration
	}
	return in.container(in.image).WithCommand("kube-scheduler").
		WithArgs("--config="+configFolder+"/"+configFile, "--pod-max-in-unschedulable-pods-duration="+retry.String(), "--cert-dir=/tmp").
		WithPorts(corev1ac.ContainerPort().WithName(portName).WithContainerPort(securePort).WithProtocol(corev1.ProtocolTCP)).
		WithVolumeMounts(corev1ac.VolumeMount().WithName(configVolume).WithMountPath(configFolder).WithReadOnly(true)).
		WithReadinessProbe(probe("/readyz", 2, 3)).WithLivenessProbe(probe("/livez", 10, 8))
}

func probe(path string, period, failures int32) *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().WithPeriodSeconds(period).WithFailureThreshold(failures).WithTimeoutSeconds(min(period, 5)).
		WithHTTPGet(corev1ac.HTTPGetAction().WithPath(path).WithPort(intstr.FromString(portName)).WithScheme(corev1.URISchemeHTTPS))
}

// program is a scheduler of the user's own.
func (in input) program() *corev1ac.ContainerApplyConfiguration {
	program, elects := in.profile.Spec.Program, lease(in.profile, in.namespace)
	var serves []string
	for _, p := range in.profile.Spec.Profiles {
		serves = append(serves, p.SchedulerName)
	}
	return in.container(program.Image).WithCommand(program.Command...).WithArgs(program.Args...).WithEnv(
		corev1ac.EnvVar().WithName("SCHEDULER_NAMES").WithValue(strings.Join(serves, ",")),
		corev1ac.EnvVar().WithName("LEASE_NAME").WithValue(elects.Name),
		corev1ac.EnvVar().WithName("LEASE_NAMESPACE").WithValue(elects.Namespace))
}

func tolerations(all []corev1.Toleration) (out []*corev1ac.TolerationApplyConfiguration) {
	for _, t := range all {
		ac := corev1ac.Toleration()
		if t.Key != "" {
			ac.WithKey(t.Key)
		}
		if t.Operator != "" {
			ac.WithOperator(t.Operator)
		}
		if t.Value != "" {
			ac.WithValue(t.Value)
		}
		if t.Effect != "" {
			ac.WithEffect(t.Effect)
		}
		ac.TolerationSeconds = t.TolerationSeconds
		out = append(out, ac)
	}
	return out
}
