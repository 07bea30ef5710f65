// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package doctor judges an installation of the operator by what was read of it. It is pure: a check is a function from what
// was read to findings, each with what to do about it.
package doctor

import (
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/acme/platform-operator/internal/plugin"
)

// The levels of findings.
const (
	// OK means that nothing is to do.
	OK = "ok"
	// Unknown means that it could not be checked.
	Unknown = "unknown"
	// Warning means that the operator works, and something should be done.
	Warning = "warning"
	// Broken means that something of the operator does not work.
	Broken = "broken"
)

// Finding is what a check has found.
type Finding struct {
	// Check is what was looked at.
	Check string `json:"check"`
	// Level is one of the constants above.
	Level string `json:"level"`
	// Says is what was found, Do what to do about it; Do is empty when nothing is to do.
	Says string `json:"says"`
	Do   string `json:"do,omitempty"`
}

// Diagnosis is what all checks have found.
type Diagnosis struct {
	// Findings are in the order of the checks.
	Findings []Finding `json:"findings"`
}

// Broken reports whether something does not work.
func (d Diagnosis) Broken() bool {
	for _, f := range d.Findings {
		if f.Level == Broken {
			return true
		}
	}
	return false
}

// Read is what was read, or why it could not be.
type Read[T any] struct {
	Value T
	Err   error
}

// Objects are objects that were read.
type Objects = Read[[]*unstructured.Unstructured]

// Installation is all that was read of an installation.
type Installation struct {
	// Plugin is the version of the plugin, and Namespace the operator's.
	Plugin, Namespace string
	// Server is the version of the API server.
	Server Read[string]
	// Kinds are those that the API server serves.
	Kinds []plugin.Kind
	// Definitions are the CustomResourceDefinitions of the operator.
	Definitions Objects
	// Deployments are those with the operator's labels in its namespace.
	Deployments Objects
	// Lease is that of the leader.
	Lease Read[*unstructured.Unstructured]
	// Hooks are the webhook configurations that are for the operator's kinds.
	Hooks Objects
	// Certificates are cert-manager's, in the operator's namespace.
	Certificates Objects
	// Probes are the answers to requests that webhooks have to reject.
	Probes []Probe
	// Policies are the admission policies, Bindings their bindings.
	Policies, Bindings Objects
	// Rights are the rights of the operator that are denied.
	Rights Read[[]string]
	// APIServices are all of the cluster.
	APIServices Objects
}

// Diagnose judges an installation.
func Diagnose(i Installation, now time.Time) Diagnosis {
	d := Diagnosis{Findings: []Finding{}}
	for _, check := range []func(Installation, time.Time) []Finding{
		checkServer, checkOperator, checkLeader, checkDefinitions, checkHooks, checkProbes, checkCertificates, checkPolicies, checkRights, checkAPIServices,
	} {
		d.Findings = append(d.Findings, check(i, now)...)
	}
	return d
}

func ok(check, format string, args ...any) Finding {
	return Finding{check, OK, fmt.Sprintf(format, args...), ""}
}

// unread is the finding for what could not be read.
func unread(check, what string, err error) []Finding {
	if apierrors.IsForbidden(err) {
		return []Finding{{
			check, Unknown, "you may not read " + what + ", so that this is not checked",
			"ask an administrator to run `kubectl acme doctor`, or for the right to read them",
		}}
	}
	return []Finding{{check, Unknown, "could not read " + what + ": " + err.Error(), "try again; if it stays, see whether the API server is well"}}
}

// minKubernetes is the oldest Kubernetes that the operator works on.
const minKubernetes = "1.32"

func checkServer(i Installation, _ time.Time) []Finding {
	const check = "kubernetes"
	if i.Server.Err != nil {
		return unread(check, "the version of the API server", i.Server.Err)
	}
	is, err := version.ParseGeneric(i.Server.Value)
	switch {
	case err != nil:
		return []Finding{{check, Unknown, fmt.Sprintf("the API server says that its version is %q", i.Server.Value), "see whether it is one of Kubernetes"}}
	case is.LessThan(version.MustParseGeneric(minKubernetes)):
		return []Finding{{
			check, Broken, "the API server has the version " + i.Server.Value, "upgrade it: the operator needs " + minKubernetes + " or later",
		}}
	}
	return []Finding{ok(check, "the API server has the version %s", i.Server.Value)}
}

// text is a string in an object; empty if there is none.
func text(o *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(o.Object, path...)
	return value
}

// number is a number in an object.
func number(o *unstructured.Unstructured, otherwise int64, path ...string) int64 {
	value, found, _ := unstructured.NestedInt64(o.Object, path...)
	if !found {
		return otherwise
	}
	return value
}

// fieldsOf are the elements of a list that are objects.
func fieldsOf(o map[string]any, path ...string) (all []map[string]any) {
	value, _, _ := unstructured.NestedFieldNoCopy(o, path...)
	list, _ := value.([]any)
	for _, item := range list {
		if fields, isMap := item.(map[string]any); isMap {
			all = append(all, fields)
		}
	}
	return all
}

// VersionOf is the version of an operator by its Deployment: that of its label or its image, or what OLM has installed. It is
// empty if none of these says one.
func VersionOf(deployment *unstructured.Unstructured) string {
	labels := deployment.GetLabels()
	image := ""
	for _, c := range fieldsOf(deployment.Object, "spec", "template", "spec", "containers") {
		if c["name"] == "manager" {
			image, _ = c["image"].(string)
		}
	}
	image, _, _ = strings.Cut(image, "@")
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	_, owner, _ := strings.Cut(labels["olm.owner"], ".v")
	for _, candidate := range []string{labels["app.kubernetes.io/version"], tag, owner} {
		if v, err := version.ParseSemantic(candidate); err == nil {
			return "v" + v.String()
		}
	}
	return ""
}
