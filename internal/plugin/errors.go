// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ErrNoKinds is the error for a cluster without the operator.
var ErrNoKinds = errors.New("this cluster serves none of the operator's kinds; " +
	"install the operator, or choose another cluster with --context")

// Explain returns one line that says what is wrong and what to do, for any error of a command.
func Explain(err error) string {
	text := clean(err.Error())
	unreachable := &url.Error{}
	var network net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case apierrors.IsForbidden(err):
		return explainForbidden(text)
	case apierrors.IsUnauthorized(err):
		return "the cluster does not accept your credentials; log in again, or choose another user with --context or --user"
	case errors.Is(err, fs.ErrNotExist):
		return text + "; name a file that exists, with KUBECONFIG or a flag"
	case strings.Contains(text, "context") && strings.Contains(text, "does not exist"):
		return text + "; `kubectl config get-contexts` lists what there is"
	case strings.Contains(text, "config file"), strings.Contains(text, "no configuration has been provided"):
		return "there is no cluster to ask: " + text + "; set KUBECONFIG, or --kubeconfig and --context"
	case errors.As(err, &unreachable), errors.As(err, &network):
		return "the cluster cannot be reached: " + text + "; check `kubectl config current-context` and the network"
	}
	return text
}

// explainForbidden tells a missing right from what admission rejects: a quota, a webhook, a policy.
func explainForbidden(text string) string {
	if !strings.Contains(text, " cannot ") || !strings.Contains(text, `in API group "`) {
		return text
	}
	return "you may not do that: " + text + "; ask an administrator for that right, and check with `kubectl auth can-i`"
}

// NotFound is the error for an object that does not exist.
func NotFound(k Kind, namespace, name string) error {
	if !k.Namespaced {
		return fmt.Errorf("there is no %s %q; `kubectl get %s` lists what there is", k.Word(), name, k.Resource)
	}
	return fmt.Errorf("there is no %s %q in the namespace %q; `kubectl acme status -n %s` lists what there is, --namespace chooses another one",
		k.Word(), name, namespace, namespace)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
