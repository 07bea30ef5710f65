// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"cmp"
	"net"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	v1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
	"github.com/acme/platform-operator/internal/database/result"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
)

// generation is the generation of the data. There is one, until versions can be upgraded.
const generation = "1"

// The names of the children.
func baseName(db *v1alpha1.Database) string       { return names.DatabaseName(db.Name) }
func adminName(db *v1alpha1.Database) string      { return baseName(db) + "-admin" }
func policyName(db *v1alpha1.Database) string     { return baseName(db) + "-database" }
func generationName(db *v1alpha1.Database) string { return baseName(db) + "-g" + generation }

// newest are the versions that a database gets if its author chooses none.
var newest = map[v1alpha1.Type]string{v1alpha1.Postgres: "18", v1alpha1.MySQL: "8.4"}

// supported are the versions that the schema admits.
var supported = map[v1alpha1.Type][]string{v1alpha1.Postgres: {"14", "15", "16", "17", "18"}, v1alpha1.MySQL: {"8.0", "8.4"}}

const (
	portName, agentPortName = "database", "agent"
	agentPort               = result.AgentPort
)

// portOf is the port of the server.
func portOf(t v1alpha1.Type) int32 {
	if t == v1alpha1.MySQL {
		return result.MySQLPort
	}
	return result.PostgresPort
}

// input is what the children follow from.
type input struct {
	db *v1alpha1.Database
	// image is that of the server, and agentImage the one that has the agent.
	image, agentImage string
	// pullSecrets are the names of Secrets in the namespace of the Database that images are pulled with.
	pullSecrets []string
	// runAsUser is the user and the group of the server; 0 leaves them to the platform.
	runAsUser int64
	// operatorNamespace is where the operator is, which asks the agent.
	operatorNamespace string
	// show is what applications log in with.
	show login
	// ready: volume and accounts exist, so that the server may start.
	ready bool
	// stopped: the server does not run.
	stopped bool
}

// desired are the children. Those that restrict come first. Without volume and accounts there is no server.
func (in input) desired() []engine.Child {
	all := []engine.Child{
		engine.NewChild[networkingv1.NetworkPolicy](in.networkPolicy(), networkingv1ac.ExtractNetworkPolicy),
		engine.NewChild[policyv1.PodDisruptionBudget](in.budget(), policyv1ac.ExtractPodDisruptionBudget),
		engine.NewChild[corev1.Service](in.service(), corev1ac.ExtractService).OrReplace(),
		engine.NewChild[corev1.Service](in.headless(), corev1ac.ExtractService).OrReplace(),
		// What it is to have follows from what it has, which may be a wish.
		engine.NewChild[corev1.Secret](in.connectionSecret(), corev1ac.ExtractSecret).OrReplace().IfUnchanged(),
		in.statefulSetChild(),
	}
	if !in.ready {
		for i := range all {
			all[i] = all[i].Later()
		}
	}
	return all
}

// selector are the labels of the pods.
func (in input) selector() map[string]string {
	return map[string]string{names.LabelDatabase: baseName(in.db)}
}

// ofGeneration are the labels of the pods of the generation in service.
func (in input) ofGeneration() map[string]string {
	return merged(in.selector(), map[string]string{names.LabelGeneration: generation})
}

func (in input) port() *corev1ac.ServicePortApplyConfiguration {
	return corev1ac.ServicePort().WithName(portName).WithPort(portOf(in.db.Spec.Type)).WithProtocol(corev1.ProtocolTCP).
		WithTargetPort(intstr.FromString(portName))
}

// service is where applications reach the generation in service.
func (in input) service() *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(baseName(in.db), in.db.Namespace).
		WithSpec(corev1ac.ServiceSpec().WithType(corev1.ServiceTypeClusterIP).WithSelector(in.ofGeneration()).WithPorts(in.port()))
}

// headless is where the operator reaches one generation, ready or not.
func (in input) headless() *corev1ac.ServiceApplyConfiguration {
	agent := corev1ac.ServicePort().WithName(agentPortName).WithPort(agentPort).WithProtocol(corev1.ProtocolTCP).
		WithTargetPort(intstr.FromString(agentPortName))
	return corev1ac.Service(generationName(in.db), in.db.Namespace).WithSpec(corev1ac.ServiceSpec().WithClusterIP(corev1.ClusterIPNone).
		WithPublishNotReadyAddresses(true).WithSelector(in.ofGeneration()).WithPorts(in.port(), agent))
}

// budget lets a node be drained: there is one pod, and it is stopped the safe way.
func (in input) budget() *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	return policyv1ac.PodDisruptionBudget(baseName(in.db), in.db.Namespace).WithSpec(policyv1ac.PodDisruptionBudgetSpec().
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(in.selector())).WithMaxUnavailable(intstr.FromInt32(1)).
		WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow))
}

// networkPolicy lets the pods of the namespace reach the server, and the operator both the agent and the server, from which it reads
// values for RebootPolicies.
func (in input) networkPolicy() *networkingv1ac.NetworkPolicyApplyConfiguration {
	port := func(name string) *networkingv1ac.NetworkPolicyPortApplyConfiguration {
		return networkingv1ac.NetworkPolicyPort().WithProtocol(corev1.ProtocolTCP).WithPort(intstr.FromString(name))
	}
	within := networkingv1ac.NetworkPolicyIngressRule().
		WithFrom(networkingv1ac.NetworkPolicyPeer().WithPodSelector(metav1ac.LabelSelector())).WithPorts(port(portName))
	operator := networkingv1ac.NetworkPolicyIngressRule().WithFrom(networkingv1ac.NetworkPolicyPeer().WithNamespaceSelector(
		metav1ac.LabelSelector().WithMatchLabels(map[string]string{corev1.LabelMetadataName: in.operatorNamespace}))).
		WithPorts(port(agentPortName), port(portName))
	return networkingv1ac.NetworkPolicy(policyName(in.db), in.db.Namespace).
		WithSpec(networkingv1ac.NetworkPolicySpec().WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(in.selector())).
			WithPolicyTypes(networkingv1.PolicyTypeIngress).WithIngress(within, operator))
}

// host is the name of the Service.
func host(db *v1alpha1.Database) string { return names.DatabaseHost(db.Namespace, db.Name) }

// endpoint is where applications reach the server.
func endpoint(db *v1alpha1.Database) string {
	return net.JoinHostPort(host(db), strconv.Itoa(int(portOf(db.Spec.Type))))
}

// agentAddress is where the operator reaches the agent.
func agentAddress(db *v1alpha1.Database) string {
	return net.JoinHostPort(generationName(db)+"."+db.Namespace+".svc", strconv.Itoa(agentPort))
}

// connectionSecret is what applications connect with, as the Service Binding specification has it. Its keys may be names of
// environment variables.
func (in input) connectionSecret() *corev1ac.SecretApplyConfiguration {
	kind := "postgresql"
	if in.db.Spec.Type == v1alpha1.MySQL {
		kind = "mysql"
	}
	uri := url.URL{
		Scheme: kind, User: url.UserPassword(in.show.user, in.show.password), Host: endpoint(in.db), Path: "/" + databaseName(in.db),
	}
	data := map[string]string{
		"type": kind, "provider": names.Operator, "host": host(in.db), "port": strconv.Itoa(int(portOf(in.db.Spec.Type))),
		keyUsername: in.show.user, keyPassword: in.show.password, "database": databaseName(in.db), "uri": uri.String(),
	}
	secret := corev1ac.Secret(baseName(in.db), in.db.Namespace).WithType(corev1.SecretType("servicebinding.io/" + kind))
	for key, value := range data {
		secret.WithData(map[string][]byte{key: []byte(value)})
	}
	return secret
}

const (
	keyUsername = "username"
	keyPassword = "password"
)

func userOf(db *v1alpha1.Database) string       { return cmp.Or(db.Spec.User, "app") }
func databaseName(db *v1alpha1.Database) string { return cmp.Or(db.Spec.DatabaseName, "app") }

// literal escapes what the kubelet would replace in an argument: $(NAME) is the value of an environment variable.
func literal(argument string) string { return strings.ReplaceAll(argument, "$", "$$") }
