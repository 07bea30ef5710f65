// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1alpha1 "github.com/acme/platform-operator/api/coordination/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
)

// leaderName is the name of the Lease, of the ConfigMap, and of the Service if it has none of its own.
func leaderName(e *v1alpha1.LeaderElection) string { return names.Child(e.Name, "leader") }

// membersName is the name of the headless Service of all candidates.
func membersName(e *v1alpha1.LeaderElection) string { return names.Child(e.Name, "members") }

// serviceName is the name of the Service that reaches the leader; empty if there is none.
func serviceName(e *v1alpha1.LeaderElection) string {
	switch {
	case e.Spec.Service == nil:
		return ""
	case e.Spec.Service.Name != "":
		return e.Spec.Service.Name
	default:
		return leaderName(e)
	}
}

// selectorOf are the labels of the candidates.
func selectorOf(e *v1alpha1.LeaderElection) map[string]string {
	out := make(map[string]string, len(e.Spec.PodSelector))
	for k, v := range e.Spec.PodSelector {
		out[k] = string(v)
	}
	return out
}

// labelOf is the label of the leader, with its defaults.
func labelOf(e *v1alpha1.LeaderElection) v1alpha1.Label {
	l := e.Spec.Label
	if l.Key == "" {
		l.Key = "leader"
	}
	if l.Value == "" {
		l.Value = "true"
	}
	return l
}

// desiredServices are the Services.
func desiredServices(e *v1alpha1.LeaderElection) []engine.Child {
	members := corev1ac.Service(membersName(e), e.Namespace).WithSpec(corev1ac.ServiceSpec().
		WithClusterIP(corev1.ClusterIPNone).WithSelector(selectorOf(e)).WithPorts(portsOf(e.Spec.Members.Ports)...))
	all := []engine.Child{engine.NewChild(members, corev1ac.ExtractService).OrReplace()}
	s := e.Spec.Service
	if s == nil {
		return all
	}
	selector, label := selectorOf(e), labelOf(e)
	selector[label.Key] = label.Value
	spec := corev1ac.ServiceSpec().WithType(corev1.ServiceTypeClusterIP).WithSelector(selector).WithPorts(portsOf(s.Ports)...)
	if s.Type != "" {
		spec.WithType(s.Type)
	}
	if s.SessionAffinity != "" {
		spec.WithSessionAffinity(s.SessionAffinity)
	}
	if s.ExternalTrafficPolicy != "" {
		spec.WithExternalTrafficPolicy(s.ExternalTrafficPolicy)
	}
	leader := corev1ac.Service(serviceName(e), e.Namespace).WithSpec(spec)
	for _, k := range slices.Sorted(maps.Keys(s.Annotations)) {
		leader.WithAnnotations(map[string]string{k: string(s.Annotations[k])})
	}
	return append(all, engine.NewChild(leader, corev1ac.ExtractService).OrReplace())
}

func portsOf(ports []v1alpha1.ServicePort) []*corev1ac.ServicePortApplyConfiguration {
	var all []*corev1ac.ServicePortApplyConfiguration
	for _, p := range ports {
		protocol, target := p.Protocol, p.TargetPort
		if protocol == "" {
			protocol = corev1.ProtocolTCP
		}
		if target == 0 {
			target = p.Port
		}
		ac := corev1ac.ServicePort().WithPort(p.Port).WithProtocol(protocol).WithTargetPort(intstr.FromInt32(target))
		if p.Name != "" {
			ac.WithName(p.Name)
		}
		if p.AppProtocol != "" {
			ac.WithAppProtocol(p.AppProtocol)
		}
		all = append(all, ac)
	}
	return all
}

// desiredFiles is the ConfigMap that says who leads, if there is to be one.
func desiredFiles(e *v1alpha1.LeaderElection, members []endpoint) []engine.Child {
	if e.Spec.Discovery.ConfigMap != v1alpha1.Enabled {
		return nil
	}
	data := map[string]string{"leader": "", "address": "", "epoch": strconv.FormatInt(e.Status.Epoch, 10), "members": membersText(members)}
	if l := e.Status.Leader; l != nil {
		data["leader"], data["address"] = l.Pod, l.Address
	}
	files := corev1ac.ConfigMap(leaderName(e), e.Namespace).WithData(data)
	return []engine.Child{engine.NewChild(files, corev1ac.ExtractConfigMap)}
}

// membersText has a line for each candidate: its name and its address.
func membersText(members []endpoint) string {
	var lines []string
	for _, m := range members {
		lines = append(lines, strings.TrimSpace(m.name+" "+m.address)+"\n")
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
