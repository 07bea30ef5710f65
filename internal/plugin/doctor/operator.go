// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/plugin"
)

// Selector finds the operator's Deployment.
const Selector = "control-plane=controller-manager,app.kubernetes.io/name=platform-operator"

// checkOperator looks at the Deployment, and compares its version with that of the plugin.
func checkOperator(i Installation, _ time.Time) (all []Finding) {
	const check = "operator"
	if i.Deployments.Err != nil {
		return unread(check, "Deployments in "+i.Namespace, i.Deployments.Err)
	}
	if len(i.Deployments.Value) == 0 {
		return []Finding{{
			check, Broken, "there is no Deployment of the operator in the namespace " + i.Namespace,
			"install it, or name its namespace with --operator-namespace",
		}}
	}
	for _, d := range i.Deployments.Value {
		what := strings.TrimSpace("the Deployment " + d.GetName() + " " + VersionOf(d))
		ready, wanted := number(d, 0, "status", "readyReplicas"), number(d, 1, "spec", "replicas")
		f := ok(check, "%s has %d of %d replicas ready", what, ready, wanted)
		see := fmt.Sprintf("see why: kubectl describe pods -n %s -l %s", i.Namespace, Selector)
		switch {
		case wanted == 0:
			f.Level, f.Do = Broken, fmt.Sprintf("start it: kubectl scale deployment %s -n %s --replicas=2", d.GetName(), i.Namespace)
		case ready == 0:
			f.Level, f.Do = Broken, see
		case ready < wanted || number(d, 0, "status", "updatedReplicas") < wanted:
			f.Level, f.Do = Warning, see
		}
		all = append(all, f)
		all = append(all, checkVersions(VersionOf(d), i.Plugin)...)
	}
	if len(i.Deployments.Value) > 1 {
		all = append(all, Finding{
			check, Broken, "there is more than one Deployment of the operator", "delete all but one: they would undo each other's work",
		})
	}
	return all
}

// checkVersions compares the versions of an operator and of the plugin, which may be one minor version apart.
func checkVersions(operator, of string) []Finding {
	const check = "plugin"
	is, err := version.ParseSemantic(of)
	with, errWith := version.ParseSemantic(operator)
	switch {
	case err != nil:
		return []Finding{{
			check, Unknown, fmt.Sprintf("this plugin has no version: %q", of), "use one of a release, so that it can be compared with the operator's",
		}}
	case errWith != nil:
		return []Finding{{
			check, Unknown, "the image of the operator has no version in its tag", "see what it is: kubectl get csv, or the log of the operator",
		}}
	case is.Major() != with.Major() || max(is.Minor(), with.Minor())-min(is.Minor(), with.Minor()) > 1:
		return []Finding{{
			check, Warning, fmt.Sprintf("this plugin has the version %s, the operator %s: more than one minor version apart", of, operator),
			"install the plugin of the operator's version",
		}}
	}
	return []Finding{ok(check, "this plugin has the version %s, the operator %s", of, operator)}
}

// checkLeader looks at the Lease. A leader renews it every few seconds; one that has not done so for twice its duration is gone, and no
// other one has taken its place.
func checkLeader(i Installation, now time.Time) []Finding {
	const check = "leader"
	see := fmt.Sprintf("see whether the operator runs: kubectl get pods -n %s -l %s", i.Namespace, Selector)
	switch {
	case apierrors.IsNotFound(i.Lease.Err):
		return []Finding{{check, Broken, fmt.Sprintf("there is no Lease %s in %s: no operator has led yet", names.Lease, i.Namespace), see}}
	case i.Lease.Err != nil:
		return unread(check, "the Lease "+names.Lease, i.Lease.Err)
	}
	holder := text(i.Lease.Value, "spec", "holderIdentity")
	if holder == "" {
		return []Finding{{check, Broken, "no replica of the operator leads, so that nothing is reconciled", see}}
	}
	renewed, err := time.Parse(time.RFC3339, text(i.Lease.Value, "spec", "renewTime"))
	lasts := time.Duration(number(i.Lease.Value, 15, "spec", "leaseDurationSeconds")) * time.Second
	if err != nil || now.Sub(renewed) > 2*lasts {
		return []Finding{{check, Broken, fmt.Sprintf("%s leads, and has not said so for %s", holder, plugin.Ago(renewed, now)), see}}
	}
	return []Finding{ok(check, "%s leads", holder)}
}

// checkAPIServices looks for groups that are not served: the operator's, and those of others, which keep namespaces from being deleted.
func checkAPIServices(i Installation, _ time.Time) (all []Finding) {
	const check = "apiservices"
	if i.APIServices.Err != nil {
		return unread(check, "APIServices", i.APIServices.Err)
	}
	ours := 0
	for _, s := range i.APIServices.Value {
		mine := plugin.IsOurs(text(s, "spec", "group"))
		if mine {
			ours++
		}
		why, available := isAvailable(s)
		see := "see why: kubectl describe apiservice " + s.GetName()
		switch {
		case available:
		case mine:
			all = append(all, Finding{check, Broken, s.GetName() + " is not served: " + why, see})
		default:
			all = append(all, Finding{check, Warning, s.GetName() + " is not served (" + why + "), so that no namespace can be deleted", see})
		}
	}
	if len(all) == 0 {
		all = append(all, ok(check, "all are served; %d of them are the operator's", ours))
	}
	return all
}

func isAvailable(s *unstructured.Unstructured) (why string, available bool) {
	for _, c := range plugin.Conditions(s) {
		if c.Type == "Available" {
			return strings.TrimSuffix(c.Reason+": "+c.Message, ": "), c.Status == "True"
		}
	}
	return "it has no condition Available yet", false
}

// maxNamed is how many of a kind are named in a finding.
const maxNamed = 8

// someOf are the first of many words.
func someOf(words []string) string {
	if len(words) <= maxNamed {
		return strings.Join(words, ", ")
	}
	return strings.Join(words[:maxNamed], ", ") + fmt.Sprintf(", and %d more", len(words)-maxNamed)
}

// checkRights says which rights the operator lacks.
func checkRights(i Installation, _ time.Time) []Finding {
	const check = "rights"
	switch {
	case i.Rights.Err != nil:
		return unread(check, "what the operator may do", i.Rights.Err)
	case len(i.Rights.Value) == 0:
		return []Finding{ok(check, "the operator may do all that it needs to")}
	}
	denied := slices.Sorted(slices.Values(i.Rights.Value))
	return []Finding{{
		check, i.brokenUnlessOther(), "the operator may not " + someOf(denied),
		"install the ClusterRole and the Role of its version, and their bindings",
	}}
}

// brokenUnlessOther is the level of what differs from this plugin's version: a warning where the operator has another one, which may need
// something else.
func (i Installation) brokenUnlessOther() string {
	for _, d := range i.Deployments.Value {
		if v := VersionOf(d); v != "" && v != i.Plugin && "v"+i.Plugin != v {
			return Warning
		}
	}
	return Broken
}
