// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/acme/platform-operator/internal/plugin"
)

// Hooks are the webhooks of a webhook configuration that are for kinds of the operator.
func Hooks(configuration *unstructured.Unstructured) (ours []map[string]any) {
	for _, hook := range fieldsOf(configuration.Object, "webhooks") {
		for _, rule := range fieldsOf(hook, "rules") {
			groups, _, _ := unstructured.NestedStringSlice(rule, "apiGroups")
			if len(groups) > 0 && plugin.IsOurs(groups[0]) {
				ours = append(ours, hook)
				break
			}
		}
	}
	return ours
}

// Probe is the answer to a request that is made without effect, and that a webhook has to reject.
type Probe struct {
	// Hook is the name of the webhook, Kind the kind that was tried.
	Hook, Kind string
	// Err is the answer.
	Err error
}

// Question returns the request that a webhook has to reject, though the schema of the kind admits it; empty if there is none.
func Question(hook, operatorNamespace string) string {
	return strings.ReplaceAll(questions[hook], "OPERATOR", operatorNamespace)
}

// Asked are the names of the webhooks that can be tried: all validating ones of this version.
func Asked() []string { return slices.Sorted(maps.Keys(questions)) }

var questions = map[string]string{
	"vcrontab.batch.acme.com": `{apiVersion: batch.acme.com/v1alpha1, kind: CronTab, metadata: {name: acme-doctor},
		spec: {cronSpec: "0 3 * * *", image: example.com/none, timeZone: Nowhere/Land}}`,
	"vacmenamespace.tenancy.acme.com": `{apiVersion: tenancy.acme.com/v1alpha1, kind: AcmeNamespace, metadata: {name: acme-doctor},
		spec: {namespaceName: OPERATOR, adminUsername: nobody, deploymentTier: dev}}`,
	"vschedulerprofile.scheduling.acme.com": `{apiVersion: scheduling.acme.com/v1alpha1, kind: SchedulerProfile, metadata: {name: acme-doctor},
		spec: {profiles: [{schedulerName: acme-doctor, raw: {nothing: {}}}]}}`,
}

// checkHooks looks at the webhook configurations, and at the certificate authorities in them.
func checkHooks(i Installation, now time.Time) (all []Finding) {
	const check = "webhooks"
	if i.Hooks.Err != nil {
		return unread(check, "webhook configurations", i.Hooks.Err)
	}
	installed := map[string]bool{}
	for _, configuration := range i.Hooks.Value {
		for _, hook := range Hooks(configuration) {
			name := fmt.Sprint(hook["name"])
			installed[name] = true
			if why := judgeAuthority(hook, now); why != "" {
				all = append(all, Finding{
					check, Broken, "the API server cannot trust the webhook " + name + ": " + why,
					"see what is to write the CA: cert-manager's cainjector, or OLM; " + fmt.Sprintf("kubectl get certificate -n %s", i.Namespace),
				})
			}
		}
	}
	if len(installed) == 0 {
		return []Finding{{
			check, Warning, "none is installed: mistakes are reported in the status only, not when an object is applied",
			"install config/webhook, or the bundle",
		}}
	}
	for _, name := range Asked() {
		if !installed[name] {
			all = append(all, Finding{
				check, i.brokenUnlessOther(), "the webhook " + name + " is not installed: mistakes that it rejects are reported in the status only",
				"install config/webhook, or the bundle, of the operator's version",
			})
		}
	}
	if len(all) == 0 {
		all = append(all, ok(check, "%d are installed", len(installed)))
	}
	return all
}

// judgeAuthority returns why the API server cannot trust a webhook; empty if it can.
func judgeAuthority(hook map[string]any, now time.Time) string {
	bundle, _, _ := unstructured.NestedString(hook, "clientConfig", "caBundle")
	data, err := base64.StdEncoding.DecodeString(bundle)
	if bundle == "" || err != nil {
		return "its configuration has no CA"
	}
	var latest time.Time
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && c.NotAfter.After(latest) {
			latest = c.NotAfter
		}
	}
	switch {
	case latest.IsZero():
		return "its CA cannot be read"
	case latest.Before(now):
		return "its CA has ended on " + latest.UTC().Format(time.DateOnly)
	}
	return ""
}

// checkProbes says which webhooks answer. One whose failure policy is Ignore lets everything pass when it does not.
func checkProbes(i Installation, _ time.Time) (all []Finding) {
	const check = "webhooks"
	for _, p := range i.Probes {
		see := fmt.Sprintf("see whether the operator serves them: kubectl get endpointslices -n %s; and the API server's log", i.Namespace)
		switch {
		case p.Err == nil && i.Hooks.Err != nil:
			all = append(all, Finding{
				check, Warning, "the webhook " + p.Hook + " has not rejected what it must: it does not answer, or is not installed",
				"ask an administrator to run `kubectl acme doctor`",
			})
		case p.Err == nil:
			all = append(all, Finding{check, Broken, "the webhook " + p.Hook + " has not rejected what it must: it does not answer", see})
		case strings.Contains(p.Err.Error(), fmt.Sprintf("admission webhook %q denied", p.Hook)):
			all = append(all, ok(check, "%s answers", p.Hook))
		case strings.Contains(p.Err.Error(), "failed calling webhook"):
			all = append(all, Finding{check, Broken, "the webhook " + p.Hook + " does not answer: " + p.Err.Error(), see})
		case apierrors.IsForbidden(p.Err):
			all = append(all, Finding{
				check, Unknown, fmt.Sprintf("you may not create a %s here, so that %s is not tried", p.Kind, p.Hook),
				"choose a namespace in which you may with --namespace, or ask an administrator to run `kubectl acme doctor`",
			})
		default:
			all = append(all, Finding{check, Unknown, fmt.Sprintf("%s could not be tried: %s", p.Hook, p.Err), "try another namespace, with --namespace"})
		}
	}
	return all
}

// injects reports whether cert-manager writes the CA of a Certificate into a webhook configuration.
func (i Installation) injects(c *unstructured.Unstructured) bool {
	return slices.ContainsFunc(i.Hooks.Value, func(o *unstructured.Unstructured) bool {
		return o.GetAnnotations()["cert-manager.io/inject-ca-from"] == c.GetNamespace()+"/"+c.GetName()
	})
}

// soon is when a certificate should have been renewed: cert-manager does so a third of its life before its end, OLM a day before.
const soon = 18 * time.Hour

// checkCertificates says how long certificates last; without those that webhooks need something does not work. Those that OLM makes
// are in its own status.
func checkCertificates(i Installation, now time.Time) (all []Finding) {
	const check = "certificates"
	switch {
	case apierrors.IsNotFound(i.Certificates.Err):
		return []Finding{{
			check, Unknown, "cert-manager is not here; OLM renews the certificates that it makes",
			"with OLM, see: kubectl get csv -n " + i.Namespace + " -o yaml",
		}}
	case i.Certificates.Err != nil:
		return unread(check, "Certificates in "+i.Namespace, i.Certificates.Err)
	}
	for _, c := range i.Certificates.Value {
		level := Warning
		if i.injects(c) {
			level = Broken
		}
		ends, err := time.Parse(time.RFC3339, text(c, "status", "notAfter"))
		see := fmt.Sprintf("see why it is not renewed: kubectl describe certificate %s -n %s", c.GetName(), c.GetNamespace())
		switch left := ends.Sub(now); {
		case err != nil:
			all = append(all, Finding{check, level, "the Certificate " + c.GetName() + " has not been issued", see})
		case left <= 0:
			all = append(all, Finding{check, level, "the Certificate " + c.GetName() + " has ended", see})
		case left < soon:
			says := fmt.Sprintf("the Certificate %s ends in %s, and should have been renewed", c.GetName(), plugin.Ago(now, ends))
			all = append(all, Finding{check, level, says, see})
		default:
			all = append(all, ok(check, "the Certificate %s lasts %d more days", c.GetName(), int(left.Hours()/24)))
		}
	}
	if len(all) == 0 {
		all = append(all, Finding{
			check, Unknown, "there is no Certificate in " + i.Namespace,
			"if OLM has not installed the operator, see who makes the certificate of the webhooks",
		})
	}
	return all
}
