// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

// deploymentChildren is the Deployment, and the template that its pods have or get. One that is kept stays as it is, or is not
// made yet: before a migration runs for it, its name has to be free.
func (in input) deploymentChildren() ([]engine.Child, *corev1ac.PodTemplateSpecApplyConfiguration, error) {
	if !in.keep {
		d, err := in.deploymentIntent()
		if err != nil {
			return nil, nil, err
		}
		return []engine.Child{in.deploymentChild(d)}, d.Spec.Template, nil
	}
	if in.deployment == nil {
		name := engine.NewChild[appsv1.Deployment](appsv1ac.Deployment(in.name(), in.app.Namespace), appsv1ac.ExtractDeployment)
		return []engine.Child{name.Later()}, nil, nil
	}
	kept := in.deployment.ours
	kept.OwnerReferences = nil // the engine adds it
	child := engine.NewChild[appsv1.Deployment](kept, appsv1ac.ExtractDeployment).IfUnchanged()
	return []engine.Child{child}, ptr.Deref(kept.Spec, appsv1ac.DeploymentSpecApplyConfiguration{}).Template, nil
}

// deploymentChild wraps the Deployment. What follows from a default is sent only to the version that was looked at: somebody
// else may take the field at this moment.
func (in input) deploymentChild(d *appsv1ac.DeploymentApplyConfiguration) engine.Child {
	child := engine.NewChild[appsv1.Deployment](d, appsv1ac.ExtractDeployment)
	if spec := in.app.Spec; spec.WebAppReplicas == nil || spec.Autoscaling != nil || spec.Resources == nil {
		child = child.IfUnchanged()
	}
	return child
}

func (in input) deploymentIntent() (*appsv1ac.DeploymentApplyConfiguration, error) {
	template, err := in.template()
	if err != nil {
		return nil, err
	}
	spec := appsv1ac.DeploymentSpec().WithSelector(in.selector()).WithStrategy(in.strategy()).WithTemplate(template).
		WithRevisionHistoryLimit(ptr.Deref(in.app.Spec.RevisionHistoryLimit, of(in.app.Spec.DeploymentTier).history))
	spec.Replicas = in.replicas()
	d := appsv1ac.Deployment(in.name(), in.app.Namespace).WithSpec(spec)
	if in.content.hash != "" {
		d.WithAnnotations(map[string]string{AnnotationRevision: in.content.hash})
	}
	return d, nil
}

// replicas is the number of pods to ask for, or nil when that is somebody else's business. A number that was not asked for
// is left to those who change it.
func (in input) replicas() *int32 {
	asked, autoscaling := in.app.Spec.WebAppReplicas, in.app.Spec.Autoscaling
	switch {
	case autoscaling == nil && asked != nil:
		return asked
	case in.deployment == nil && autoscaling != nil:
		return new(ptr.Deref(autoscaling.Min, defaultMin))
	case in.deployment == nil:
		return new(of(in.app.Spec.DeploymentTier).replicas)
	case in.deployment.ours.Spec == nil || in.deployment.ours.Spec.Replicas == nil:
		return nil
	case autoscaling != nil: // as it is, until the autoscaler changes it
		return in.deployment.ours.Spec.Replicas
	default:
		return new(of(in.app.Spec.DeploymentTier).replicas)
	}
}

func (in input) strategy() *appsv1ac.DeploymentStrategyApplyConfiguration {
	asked := v1alpha1.Strategy{}
	if in.app.Spec.Strategy != nil {
		asked = *in.app.Spec.Strategy
	}
	if asked.Type == v1alpha1.StrategyRecreate {
		return appsv1ac.DeploymentStrategy().WithType(appsv1.RecreateDeploymentStrategyType)
	}
	return appsv1ac.DeploymentStrategy().WithType(appsv1.RollingUpdateDeploymentStrategyType).WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
		WithMaxSurge(ptr.Deref(asked.MaxSurge, intstr.FromInt32(1))).WithMaxUnavailable(ptr.Deref(asked.MaxUnavailable, intstr.FromInt32(0))))
}

// template is the pods' template. What is not said meets the Pod Security level restricted.
func (in input) template() (*corev1ac.PodTemplateSpecApplyConfiguration, error) {
	spec, c := in.app.Spec, converter{}
	pod := corev1ac.PodSpec().WithSecurityContext(podSecurity(spec.SecurityContext)).
		WithAutomountServiceAccountToken(spec.ServiceAccountName != nil).
		WithServiceAccountName(ptr.Deref(spec.ServiceAccountName, in.name())).
		WithTerminationGracePeriodSeconds(ptr.Deref(spec.TerminationGracePeriodSeconds, defaultGrace) + int64(in.drain())).
		WithNodeSelector(spec.NodeSelector).WithTopologySpreadConstraints(in.spread()...).
		WithVolumes(all[corev1ac.VolumeApplyConfiguration](&c, spec.Volumes)...).
		WithTolerations(all[corev1ac.TolerationApplyConfiguration](&c, spec.Tolerations)...).
		WithImagePullSecrets(all[corev1ac.LocalObjectReferenceApplyConfiguration](&c, spec.ImagePullSecrets)...)
	pod.SchedulerName, pod.PriorityClassName = spec.SchedulerName, spec.PriorityClassName
	app := in.container(&c)
	if name := in.configName(in.app); name != "" {
		pod.WithVolumes(corev1ac.Volume().WithName(configVolume).WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(name)))
		app.WithVolumeMounts(corev1ac.VolumeMount().WithName(configVolume).WithMountPath(configFolder).WithReadOnly(true))
	}
	pod.WithContainers(app)
	for _, s := range spec.Sidecars {
		pod.WithContainers(in.other(&c, s))
	}
	for _, i := range spec.InitContainers {
		pod.WithInitContainers(in.other(&c, i))
	}
	return corev1ac.PodTemplateSpec().WithLabels(selectorOf(in.app)).WithSpec(pod), c.err
}

// container is the application's.
func (in input) container(c *converter) *corev1ac.ContainerApplyConfiguration {
	spec, tier := in.app.Spec, of(in.app.Spec.DeploymentTier)
	ports := []*corev1ac.ContainerPortApplyConfiguration{
		corev1ac.ContainerPort().WithName(portName).WithContainerPort(in.port()).WithProtocol(corev1.ProtocolTCP),
	}
	for _, p := range spec.Ports {
		ports = append(ports, corev1ac.ContainerPort().WithName(p.Name).WithContainerPort(p.Port).WithProtocol(protocol(p)))
	}
	app := corev1ac.Container().WithName(containerName).WithImage(spec.WebAppImage).WithCommand(spec.Command...).WithArgs(spec.Args...).
		WithEnv(all[corev1ac.EnvVarApplyConfiguration](c, variables(environment(spec)))...).
		WithEnvFrom(all[corev1ac.EnvFromSourceApplyConfiguration](c, spec.EnvFrom)...).
		WithVolumeMounts(all[corev1ac.VolumeMountApplyConfiguration](c, spec.VolumeMounts)...).
		WithPorts(ports...).WithSecurityContext(in.security())
	if r := in.resources(); r != nil {
		app.WithResources(r)
	}
	asked := ptr.Deref(spec.Probes, v1alpha1.Probes{})
	app.WithReadinessProbe(in.probe(asked.Readiness, tier.period, tier.notReady)).WithLivenessProbe(in.probe(asked.Liveness, tier.period, tier.dead))
	if asked.Startup != nil {
		app.WithStartupProbe(in.probe(asked.Startup, tier.period, startupFailures))
	}
	if drain := in.drain(); drain > 0 {
		app.WithLifecycle(corev1ac.Lifecycle().WithPreStop(corev1ac.LifecycleHandler().WithSleep(corev1ac.SleepAction().WithSeconds(int64(drain)))))
	}
	return app
}

const (
	// startupFailures is how many checks a container has to start.
	startupFailures = 30
	// probeTimeout is how many seconds an answer may take.
	probeTimeout = 2
)

func (in input) drain() int32 { return ptr.Deref(in.app.Spec.DrainSeconds, defaultDrain) }

// other is a container beside the application's.
func (in input) other(c *converter, o v1alpha1.Container) *corev1ac.ContainerApplyConfiguration {
	container := corev1ac.Container().WithName(o.Name).WithImage(o.Image).WithCommand(o.Command...).WithArgs(o.Args...).
		WithEnv(all[corev1ac.EnvVarApplyConfiguration](c, variables(o.Env))...).
		WithEnvFrom(all[corev1ac.EnvFromSourceApplyConfiguration](c, o.EnvFrom)...).
		WithVolumeMounts(all[corev1ac.VolumeMountApplyConfiguration](c, o.VolumeMounts)...).
		WithSecurityContext(in.security())
	if o.Resources != nil {
		container.WithResources(given(*o.Resources))
	}
	return container
}

// variables are environment variables with what the API server fills in inside of what is owned as a whole.
func variables(list []corev1.EnvVar) []corev1.EnvVar {
	var out []corev1.EnvVar
	for _, v := range list {
		if v.ValueFrom != nil && v.ValueFrom.FieldRef != nil && v.ValueFrom.FieldRef.APIVersion == "" {
			v.ValueFrom = v.ValueFrom.DeepCopy()
			v.ValueFrom.FieldRef.APIVersion = "v1"
		}
		out = append(out, v)
	}
	return out
}

// security takes from a container what the level restricted forbids.
func (in input) security() *corev1ac.SecurityContextApplyConfiguration {
	s := corev1ac.SecurityContext().WithAllowPrivilegeEscalation(false).
		WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))
	if asked := in.app.Spec.SecurityContext; asked != nil {
		s.ReadOnlyRootFilesystem = asked.ReadOnlyRootFilesystem
	}
	return s
}

func podSecurity(asked *v1alpha1.SecurityContext) *corev1ac.PodSecurityContextApplyConfiguration {
	s := corev1ac.PodSecurityContext().WithRunAsNonRoot(true).
		WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))
	if asked == nil {
		return s
	}
	s.RunAsNonRoot = new(ptr.Deref(asked.RunAsNonRoot, true))
	s.RunAsUser, s.RunAsGroup, s.FSGroup = asked.RunAsUser, asked.RunAsGroup, asked.FSGroup
	return s
}

// resources are those that were asked for, or the tier's, but for what somebody else has set since; nil when nothing is
// left to say.
func (in input) resources() *corev1ac.ResourceRequirementsApplyConfiguration {
	if asked := in.app.Spec.Resources; asked != nil {
		return given(*asked)
	}
	tier, live, ours := of(in.app.Spec.DeploymentTier), in.liveResources(), in.ourResources()
	left := v1alpha1.Resources{
		Requests: notTaken(tier.requests, live.Requests, ours.Requests), Limits: notTaken(tier.limits, live.Limits, ours.Limits),
	}
	if len(left.Requests) == 0 && len(left.Limits) == 0 {
		return nil
	}
	return given(left)
}

// notTaken are the defaults without those of which the live object has a value that is not ours.
func notTaken(defaults, live, ours corev1.ResourceList) corev1.ResourceList {
	left := corev1.ResourceList{}
	for name, amount := range defaults {
		_, exists := live[name]
		if _, mine := ours[name]; mine || !exists {
			left[name] = amount
		}
	}
	return left
}

func (in input) liveResources() corev1.ResourceRequirements {
	if in.deployment == nil {
		return corev1.ResourceRequirements{}
	}
	for _, c := range in.deployment.live.Spec.Template.Spec.Containers {
		if c.Name == containerName {
			return c.Resources
		}
	}
	return corev1.ResourceRequirements{}
}

func (in input) ourResources() (ours corev1.ResourceRequirements) {
	for _, c := range in.ourContainers() {
		if c.Name == nil || *c.Name != containerName || c.Resources == nil {
			continue
		}
		ours.Requests = ptr.Deref(c.Resources.Requests, nil)
		ours.Limits = ptr.Deref(c.Resources.Limits, nil)
	}
	return ours
}

func (in input) ourContainers() []corev1ac.ContainerApplyConfiguration {
	if in.deployment == nil {
		return nil
	}
	spec := in.deployment.ours.Spec
	if spec == nil || spec.Template == nil || spec.Template.Spec == nil {
		return nil
	}
	return spec.Template.Spec.Containers
}

func given(r v1alpha1.Resources) *corev1ac.ResourceRequirementsApplyConfiguration {
	out := corev1ac.ResourceRequirements()
	if len(r.Requests) > 0 {
		out.WithRequests(r.Requests)
	}
	if len(r.Limits) > 0 {
		out.WithLimits(r.Limits)
	}
	return out
}

// probe is one check: what was asked for, and a TCP connection as often as the tier says where nothing was.
func (in input) probe(asked *v1alpha1.Probe, period, failures int32) *corev1ac.ProbeApplyConfiguration {
	a := ptr.Deref(asked, v1alpha1.Probe{})
	p := corev1ac.Probe().WithPeriodSeconds(ptr.Deref(a.PeriodSeconds, period)).WithFailureThreshold(ptr.Deref(a.FailureThreshold, failures))
	p.WithTimeoutSeconds(ptr.Deref(a.TimeoutSeconds, min(probeTimeout, *p.PeriodSeconds)))
	if ptr.Deref(a.InitialDelaySeconds, 0) > 0 {
		p.InitialDelaySeconds = a.InitialDelaySeconds
	}
	port := intstr.FromInt32(ptr.Deref(a.Port, in.port()))
	switch {
	case len(a.Command) > 0:
		p.WithExec(corev1ac.ExecAction().WithCommand(a.Command...))
	case a.Path != nil:
		p.WithHTTPGet(corev1ac.HTTPGetAction().WithPath(*a.Path).WithPort(port))
	default:
		p.WithTCPSocket(corev1ac.TCPSocketAction().WithPort(port))
	}
	return p
}

// spread spreads the pods over nodes.
func (in input) spread() []*corev1ac.TopologySpreadConstraintApplyConfiguration {
	wanted := in.app.Spec.TopologySpreadConstraints
	if wanted == nil {
		for _, key := range of(in.app.Spec.DeploymentTier).spread {
			wanted = append(wanted, v1alpha1.Spread{TopologyKey: key})
		}
	}
	var all []*corev1ac.TopologySpreadConstraintApplyConfiguration
	for _, s := range wanted {
		when := s.WhenUnsatisfiable
		if when == "" {
			when = corev1.ScheduleAnyway
		}
		all = append(all, corev1ac.TopologySpreadConstraint().WithTopologyKey(s.TopologyKey).WithMaxSkew(max(s.MaxSkew, 1)).
			WithWhenUnsatisfiable(when).WithLabelSelector(in.selector()))
	}
	return all
}

// converter makes apply configurations of Kubernetes' own types, which have the same JSON.
type converter struct{ err error }

func all[A, T any](c *converter, list []T) []*A {
	var out []*A
	for _, from := range list {
		to := new(A)
		if err := convert(from, to); err != nil && c.err == nil {
			c.err = err
		}
		out = append(out, to)
	}
	return out
}

// convert gives a value of another type that has the same JSON.
func convert(from, to any) error {
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		return fmt.Errorf("converting %T: %w", from, err)
	}
	return nil
}
