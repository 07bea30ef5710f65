// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
)

// diagnose prints what one asks for first when something went wrong: what OLM thinks, the events, and what the
// operators said last.
func (w *world) diagnose(ctx context.Context) {
	for _, words := range []string{
		"get pods --all-namespaces -o wide",
		"get subscriptions,installplans,clusterserviceversions --all-namespaces -o wide",
		"get catalogsources --all-namespaces -o jsonpath={range.items[*]}{.metadata.name}{.spec.image}{.status}{end}",
		"get acme -o wide",
		"get events --all-namespaces --sort-by=.lastTimestamp",
		"describe subscriptions,installplans -n " + systemNamespace,
		"get clusterserviceversions -n " + systemNamespace + " -o jsonpath={range.items[*]}{.metadata.name}{.status.conditions}{end}",
		"describe pods -n " + systemNamespace,
		"describe pods -n olm -l olm.catalogSource",
		"logs -n " + systemNamespace + " deployment/platform-operator-controller-manager --all-pods --prefix --tail=60",
		"logs -n olm deployment/catalog-operator --tail=60",
		"logs -n olm deployment/olm-operator --tail=60",
		"logs -n cert-manager --selector app.kubernetes.io/instance=cert-manager --prefix --tail=30",
	} {
		out, err := w.kubectl(ctx, w.cluster.KubeconfigPath(), strings.Fields(words)...)
		if err != nil {
			out = fmt.Sprintf("%s (%v)", out, err)
		}
		fmt.Fprintf(GinkgoWriter, "\n--- kubectl %s\n%s\n", words, last(out, 12000))
	}
}

// last is the end of a text.
func last(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return "…" + text[len(text)-size:]
}
