// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingv2ac "k8s.io/client-go/applyconfigurations/autoscaling/v2"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	"k8s.io/utils/ptr"

	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
)

const (
	// LabelWebApp is on the pods of a WebApp. Its value is the WebApp's name, shortened and hashed where it is too long.
	// Everything that finds the pods selects on it, and it is frozen: the selector of a Deployment cannot be changed.
	LabelWebApp = "workloads.apps.acme.com/webapp"

	// AnnotationRevision is on the Deployment: the hash of the revision that its pods are made from.
	AnnotationRevision = "workloads.apps.acme.com/revision"

	containerName = "app"
	configVolume  = "webapp-config"
	configFolder  = "/etc/webapp"
	portName      = "http"
	servicePort   = 80

	defaultPort  = 8080
	defaultDrain = 5
	defaultGrace = 30
)

// input is all that the children follow from.
type input struct {
	// app has what the children are made from, content is what of it is in a revision, and revision the number of that.
	app      *v1alpha1.WebApp
	content  content
	revision int64
	// next has what the pods are to get and is held back: its migration has not succeeded yet, or its database cannot be reached.
	// It is nil when nothing is held back.
	next *v1alpha1.WebApp
	// keep leaves the Deployment as it is: there is no record of the revision that its pods are made from.
	keep bool
	// deployment is the live one, as far as it has something of the operator's; nil when there is none.
	deployment *held
	// former are the files of pods that still run, or still start, while new ones are to be rolled out.
	former []*corev1.ConfigMap
	// clash tells that somebody has given a port of the live Service the name of one of ours: the two cannot be merged.
	clash bool
	// configNames are the names of the files of versions, as far as they are known.
	configNames map[*v1alpha1.WebApp]string
	// controllers select the namespaces of ingress controllers.
	controllers []metav1.LabelSelector
	// unpublished leaves the external name out: the object may not have it.
	unpublished bool
}

// held is what counts of a live Deployment for fields that others may take from the operator.
type held struct {
	// ours is what the operator has set and nobody has taken from it.
	ours *appsv1ac.DeploymentApplyConfiguration
	// live is the Deployment.
	live *appsv1.Deployment
}

// desired are the children of a WebApp, complete. What takes rights away comes before what gives them.
func desired(in input) ([]engine.Child, error) {
	deployment, pods, err := in.deploymentChildren()
	if err != nil {
		return nil, err
	}
	watcher, err := in.watcherChildren(pods)
	if err != nil {
		return nil, err
	}
	var all []engine.Child
	if in.app.Spec.Isolation != v1alpha1.IsolationNone {
		all = append(all, engine.NewChild[networkingv1.NetworkPolicy](in.networkPolicy(), networkingv1ac.ExtractNetworkPolicy))
	}
	if in.hasAccount() {
		account := corev1ac.ServiceAccount(in.name(), in.app.Namespace).WithAutomountServiceAccountToken(false)
		all = append(all, engine.NewChild[corev1.ServiceAccount](account, corev1ac.ExtractServiceAccount))
	}
	all = append(all, in.files()...)
	if budget := in.budget(); budget != nil {
		all = append(all, engine.NewChild[policyv1.PodDisruptionBudget](budget, policyv1ac.ExtractPodDisruptionBudget))
	}
	service := engine.NewChild[corev1.Service](in.service(), corev1ac.ExtractService)
	if in.clash {
		service = service.OrReplace()
	}
	all = append(append(append(all, service), watcher...), deployment...) // what is watched is read before pods start with it
	if in.app.Spec.Autoscaling != nil {
		all = append(all, engine.NewChild[autoscalingv2.HorizontalPodAutoscaler](in.autoscaler(), autoscalingv2ac.ExtractHorizontalPodAutoscaler))
	}
	return append(all, engine.NewChild[networkingv1.Ingress](in.ingress(), networkingv1ac.ExtractIngress)), nil
}

// versions are those of which pods may start: that of the application, and the one that is held back, whose migration may run.
func (in input) versions() []*v1alpha1.WebApp {
	if in.next == nil {
		return []*v1alpha1.WebApp{in.app}
	}
	return []*v1alpha1.WebApp{in.app, in.next}
}

// hasAccount reports whether any pods have the application's own ServiceAccount.
func (in input) hasAccount() bool {
	return in.keep && in.deployment != nil ||
		slices.ContainsFunc(in.versions(), func(a *v1alpha1.WebApp) bool { return a.Spec.ServiceAccountName == nil })
}

// nameOf is the name of the children of a WebApp. That of a Service begins with a letter.
func nameOf(app *v1alpha1.WebApp) string {
	if strings.TrimLeft(app.Name, "0123456789") == app.Name {
		return names.Child(app.Name, "")
	}
	return names.Child("w-"+app.Name+".", "") // what has a dot is hashed, so that no other has this name
}

func (in input) name() string { return nameOf(in.app) }

func selectorOf(app *v1alpha1.WebApp) map[string]string {
	return map[string]string{LabelWebApp: nameOf(app)}
}

func (in input) selector() *metav1ac.LabelSelectorApplyConfiguration {
	return metav1ac.LabelSelector().WithMatchLabels(selectorOf(in.app))
}

func (in input) port() int32 {
	if in.app.Spec.Port == 0 {
		return defaultPort
	}
	return in.app.Spec.Port
}

// policyName is the name of the NetworkPolicy. It ends in what no guardrail of a namespace does: a WebApp that is called like
// one must not stand in its place.
func policyName(app *v1alpha1.WebApp) string { return names.Child(app.Name, "webapp") }

// configName is the name of the ConfigMap with the files of a WebApp: it follows from what is in them, so that a change
// rolls the pods, and those of before keep what they have.
func configName(app *v1alpha1.WebApp) string {
	if len(app.Spec.Config) == 0 {
		return ""
	}
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(app.Spec.Config)) {
		fmt.Fprintf(h, "%d %s %d %s\n", len(name), name, len(app.Spec.Config[name]), app.Spec.Config[name])
	}
	return names.Job(app.Name, configSuffix+hex.EncodeToString(h.Sum(nil))[:names.DigestLength])
}

const configSuffix = "config-"

// configName is that of a version, whose files are hashed once in a run.
func (in input) configName(of *v1alpha1.WebApp) string {
	if name, known := in.configNames[of]; known {
		return name
	}
	return configName(of)
}

func (in input) configMap(app *v1alpha1.WebApp) *corev1ac.ConfigMapApplyConfiguration {
	data := map[string]string{}
	for name, content := range app.Spec.Config {
		data[name] = string(content)
	}
	return corev1ac.ConfigMap(in.configName(app), app.Namespace).WithData(data).WithImmutable(true)
}

// filesOf is the name of the ConfigMap with the files of the pods of a Deployment; empty when they have none.
func filesOf(d *appsv1.Deployment) string {
	for _, v := range d.Spec.Template.Spec.Volumes {
		if v.Name == configVolume && v.ConfigMap != nil {
			return v.ConfigMap.Name
		}
	}
	return ""
}

// imageOf is the image of the application in the pods of a Deployment.
func imageOf(d *appsv1.Deployment) string {
	for _, c := range d.Spec.Template.Spec.Containers {
		if c.Name == containerName {
			return c.Image
		}
	}
	return ""
}

// files are the ConfigMaps of the pods that there are and of those that are to be.
func (in input) files() (all []engine.Child) {
	named := map[string]bool{"": true} // two versions may have the same files
	for _, a := range in.versions() {
		if name := in.configName(a); !named[name] {
			named[name] = true
			all = append(all, configChild(in.configMap(a)))
		}
	}
	for _, f := range in.former {
		all = append(all, configChild(corev1ac.ConfigMap(f.Name, f.Namespace).WithData(f.Data).WithImmutable(true)))
	}
	return all
}

// configChild may be replaced: what is immutable and was changed cannot be repaired otherwise.
func configChild(c *corev1ac.ConfigMapApplyConfiguration) engine.Child {
	return engine.NewChild[corev1.ConfigMap](c, corev1ac.ExtractConfigMap).OrReplace()
}

func (in input) service() *corev1ac.ServiceApplyConfiguration {
	ports := []*corev1ac.ServicePortApplyConfiguration{
		corev1ac.ServicePort().WithName(portName).WithPort(servicePort).WithProtocol(corev1.ProtocolTCP).WithTargetPort(intstr.FromString(portName)),
	}
	for _, p := range in.app.Spec.Ports {
		ports = append(ports, corev1ac.ServicePort().WithName(p.Name).WithPort(p.Port).WithProtocol(protocol(p)).WithTargetPort(intstr.FromString(p.Name)))
	}
	return corev1ac.Service(in.name(), in.app.Namespace).
		WithSpec(corev1ac.ServiceSpec().WithSelector(selectorOf(in.app)).WithPorts(ports...))
}

// clashes reports whether a live Service has a port under the name of one that is wanted, but another number or protocol.
func (in input) clashes(live *corev1.Service) bool {
	return slices.ContainsFunc(in.service().Spec.Ports, func(want corev1ac.ServicePortApplyConfiguration) bool {
		return slices.ContainsFunc(live.Spec.Ports, func(is corev1.ServicePort) bool {
			return is.Name == *want.Name && (is.Port != *want.Port || is.Protocol != *want.Protocol)
		})
	})
}

// protocol is that of a port: the key of a list has to be written although it has a default.
func protocol(p v1alpha1.Port) corev1.Protocol {
	if p.Protocol == "" {
		return corev1.ProtocolTCP
	}
	return p.Protocol
}

// externalDNS are the annotations by which external-dns publishes a host name: up to its version 0.21, and since.
var externalDNS = []string{"external-dns.alpha.kubernetes.io/hostname", "external-dns.kubernetes.io/hostname"}

// ingress sends the requests to the host names to the Service.
func (in input) ingress() *networkingv1ac.IngressApplyConfiguration {
	asked := v1alpha1.Ingress{}
	if in.app.Spec.Ingress != nil {
		asked = *in.app.Spec.Ingress
	}
	backend := networkingv1ac.IngressBackend().WithService(networkingv1ac.IngressServiceBackend().WithName(in.name()).
		WithPort(networkingv1ac.ServiceBackendPort().WithName(portName)))
	path := networkingv1ac.HTTPIngressPath().WithPath(pathOf(in.app)).WithPathType(networkingv1.PathTypePrefix).WithBackend(backend)
	spec, published := networkingv1ac.IngressSpec(), externalNames(in.app)
	if in.unpublished {
		published = nil
	}
	hosts := append([]string{in.app.Spec.WebAppHostname}, published...)
	for _, host := range hosts {
		spec.WithRules(networkingv1ac.IngressRule().WithHost(host).WithHTTP(networkingv1ac.HTTPIngressRuleValue().WithPaths(path)))
	}
	spec.IngressClassName = asked.ClassName
	if asked.TLSSecretName != nil {
		spec.WithTLS(networkingv1ac.IngressTLS().WithHosts(hosts...).WithSecretName(*asked.TLSSecretName))
	}
	annotations := map[string]string{}
	for k, v := range asked.Annotations {
		annotations[k] = string(v)
	}
	for _, name := range published {
		for _, key := range externalDNS {
			annotations[key] = name
		}
	}
	return networkingv1ac.Ingress(in.name(), in.app.Namespace).WithAnnotations(annotations).WithSpec(spec)
}

// budget keeps drained nodes from taking too many pods at once; nil for a single pod, which could never go.
func (in input) budget() *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	spec := in.app.Spec
	if a := spec.Autoscaling; a != nil && a.Max < 2 || a == nil && spec.WebAppReplicas != nil && *spec.WebAppReplicas < 2 {
		return nil
	}
	most := of(spec.DeploymentTier).maxUnavailable
	if spec.MaxUnavailable != nil {
		most = *spec.MaxUnavailable
	}
	return policyv1ac.PodDisruptionBudget(in.name(), in.app.Namespace).WithSpec(policyv1ac.PodDisruptionBudgetSpec().
		WithSelector(in.selector()).WithMaxUnavailable(most).WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow))
}

func (in input) autoscaler() *autoscalingv2ac.HorizontalPodAutoscalerApplyConfiguration {
	a := in.app.Spec.Autoscaling
	metric := autoscalingv2ac.MetricSpec().WithType(autoscalingv2.ResourceMetricSourceType).WithResource(
		autoscalingv2ac.ResourceMetricSource().WithName(corev1.ResourceCPU).WithTarget(
			autoscalingv2ac.MetricTarget().WithType(autoscalingv2.UtilizationMetricType).WithAverageUtilization(ptr.Deref(a.TargetCPU, defaultCPU))))
	return autoscalingv2ac.HorizontalPodAutoscaler(in.name(), in.app.Namespace).WithSpec(autoscalingv2ac.HorizontalPodAutoscalerSpec().
		WithScaleTargetRef(autoscalingv2ac.CrossVersionObjectReference().WithAPIVersion("apps/v1").WithKind("Deployment").WithName(in.name())).
		WithMinReplicas(ptr.Deref(a.Min, defaultMin)).WithMaxReplicas(a.Max).WithMetrics(metric))
}

const (
	defaultMin = 2
	defaultCPU = 80
)

// networkPolicy lets the namespace itself and the ingress controllers in. It names the port, whose number differs between
// the pods of two versions.
func (in input) networkPolicy() *networkingv1ac.NetworkPolicyApplyConfiguration {
	within := networkingv1ac.NetworkPolicyIngressRule().WithFrom(networkingv1ac.NetworkPolicyPeer().WithPodSelector(metav1ac.LabelSelector()))
	rules := []*networkingv1ac.NetworkPolicyIngressRuleApplyConfiguration{within}
	if len(in.controllers) > 0 {
		outside := networkingv1ac.NetworkPolicyIngressRule().WithPorts(
			networkingv1ac.NetworkPolicyPort().WithProtocol(corev1.ProtocolTCP).WithPort(intstr.FromString(portName)))
		for _, s := range in.controllers {
			outside.WithFrom(networkingv1ac.NetworkPolicyPeer().WithNamespaceSelector(metav1ac.LabelSelector().WithMatchLabels(s.MatchLabels)))
		}
		rules = append(rules, outside)
	}
	return networkingv1ac.NetworkPolicy(policyName(in.app), in.app.Namespace).WithSpec(networkingv1ac.NetworkPolicySpec().
		WithPodSelector(in.selector()).WithPolicyTypes(networkingv1.PolicyTypeIngress).WithIngress(rules...))
}
