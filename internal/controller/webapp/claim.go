// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/tenancy"
)

// ReasonAnnotationNotAllowed is the reason while the Ingress may not have an annotation that is asked for.
const ReasonAnnotationNotAllowed = "AnnotationNotAllowed"

// claimIndex is the index of WebApps by the host names and paths that they ask for or have.
const claimIndex = "claim"

// pathOf is the beginning of the paths that lead to a WebApp.
func pathOf(a *v1alpha1.WebApp) string {
	if a.Spec.Ingress == nil || a.Spec.Ingress.Path == "" {
		return "/"
	}
	return a.Spec.Ingress.Path
}

// externalNames are the names that a WebApp has outside beside its host name.
func externalNames(a *v1alpha1.WebApp) []string {
	if a.Spec.Publish == nil || a.Spec.Publish.ExternalName == nil {
		return nil
	}
	return []string{*a.Spec.Publish.ExternalName}
}

// hostsOf are the host names that a WebApp asks for.
func hostsOf(a *v1alpha1.WebApp) []string {
	return append([]string{a.Spec.WebAppHostname}, externalNames(a)...)
}

// claimOn is a host name and path. A slash at the end makes no difference to an ingress controller.
func claimOn(host, path string) string { return host + "/" + strings.Trim(path, "/") }

// claimsOf are the host names and paths that a WebApp asks for.
func claimsOf(a *v1alpha1.WebApp) (all []string) {
	for _, host := range hostsOf(a) {
		all = append(all, claimOn(host, pathOf(a)))
	}
	return all
}

// asksOrHas are the host names and paths that a WebApp asks for, and those that it has on record, which it may have ceased to
// ask for.
func asksOrHas(a *v1alpha1.WebApp) []string {
	all := slices.Concat(claimsOf(a), a.Status.Claims)
	slices.Sort(all)
	return slices.Compact(all)
}

// claimsChanged reports whether an update of a WebApp changes what others that ask for the same host name follow from.
func claimsChanged(before, now client.Object) bool {
	a, b := before.(*v1alpha1.WebApp), now.(*v1alpha1.WebApp)
	return a.UID != b.UID || a.DeletionTimestamp.IsZero() != b.DeletionTimestamp.IsZero() ||
		!slices.Equal(claimsOf(a), claimsOf(b)) || !slices.Equal(a.Status.Claims, b.Status.Claims)
}

// placeChanged reports whether an update of an AcmeNamespace changes which tier its namespace has, or how far it has come. What
// is in use of its quota changes with every pod.
func placeChanged(before, now client.Object) bool {
	a, b := before.(*tenancyv1alpha1.AcmeNamespace), now.(*tenancyv1alpha1.AcmeNamespace)
	same := func(x, y metav1.Condition) bool {
		return x.Type == y.Type && x.Status == y.Status && x.Reason == y.Reason
	}
	return a.UID != b.UID || a.Generation != b.Generation || !slices.EqualFunc(a.Status.Conditions, b.Status.Conditions, same)
}

// maxClaims is how many claims the status holds.
const maxClaims = 4

// onRecord is what a WebApp has: what it is granted, and of what it had before that which its Ingress still serves.
func onRecord(granted, before, served []string) []string {
	all := slices.Clone(granted)
	for _, claim := range before {
		if slices.Contains(served, claim) && !slices.Contains(all, claim) {
			all = append(all, claim)
		}
	}
	return all[:min(len(all), maxClaims)]
}

// rival is a WebApp that asks for a host name with its path, or has it.
type rival struct {
	*v1alpha1.WebApp
	// barred: its namespace may not have the host name.
	barred bool
	// serves: its Ingress serves the host name. It is looked at only while the WebApp is being deleted.
	serves bool
}

// has reports whether a WebApp has a claim on record.
func has(a *v1alpha1.WebApp, claim string) bool { return slices.Contains(a.Status.Claims, claim) }

// contest is what several WebApps ask for.
type contest struct {
	host, path string
	// promised is the WebApp that was granted the claim by the latest run of any, and has it on record only at the end of that run.
	promised types.UID
}

func (c contest) claim() string { return claimOn(c.host, c.path) }

func (c contest) has(a *v1alpha1.WebApp) bool { return has(a, c.claim()) || a.UID == c.promised }

// counts reports whether a rival is to be reckoned with. One that has the claim keeps it until its Ingress is gone; one that
// is being deleted, or may not have the host name, gets no other.
func (c contest) counts(o rival) bool {
	leaving := !o.DeletionTimestamp.IsZero()
	if c.has(o.WebApp) {
		return !leaving || o.serves
	}
	return !leaving && !o.barred
}

// precedes reports whether a has the better right to what both ask for: one that has it keeps it, else the older one gets it,
// and of two that were created in the same second the one whose UID sorts first.
func (c contest) precedes(a, b *v1alpha1.WebApp) bool {
	holds := func(w *v1alpha1.WebApp) int {
		if c.has(w) {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(holds(a), holds(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID)) < 0
}

// refusal says why a host name cannot be had; the zero value says that it can.
type refusal struct{ reason, message string }

// judgeClaim judges whether a WebApp may have a host name, with its path, that it asks for. The others ask for the same; who
// they are is not said, for they may be in namespaces that nobody here may look into.
func judgeClaim(a *v1alpha1.WebApp, c contest, tier tenancy.Tier, others []rival) refusal {
	if !tier.AllowsHostname(c.host) {
		allowed := "none at all"
		if len(tier.Hostnames) > 0 {
			allowed = strings.Join(tier.Hostnames, ", ")
		}
		return refusal{ReasonHostnameNotAllowed, fmt.Sprintf(
			"the tier %s of this namespace does not allow the host name %q; choose one of: %s", tier.Name, c.host, allowed)}
	}
	if slices.ContainsFunc(others, func(o rival) bool { return o.UID != a.UID && c.counts(o) && c.precedes(o.WebApp, a) }) {
		return refusal{ReasonHostnameTaken, fmt.Sprintf(
			"the host name %q with the path %q belongs to another WebApp of the cluster, which had it first; choose another host name or path",
			c.host, c.path)}
	}
	return refusal{}
}

// refusedAnnotations are the annotations that a WebApp asks for and that its Ingress may not have, sorted. The schema rejects those
// that take further host names, unless they were there before it did.
func refusedAnnotations(a *v1alpha1.WebApp, tier tenancy.Tier) (keys []string) {
	if a.Spec.Ingress == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(a.Spec.Ingress.Annotations)) {
		if tenancy.TakesHosts(key) || !tier.AllowsAnnotation(key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// judgeAnnotations says what is wrong with the first of the annotations that are not allowed.
func judgeAnnotations(tier tenancy.Tier, refused []string) refusal {
	switch {
	case len(refused) == 0:
		return refusal{}
	case tenancy.TakesHosts(refused[0]):
		return refusal{ReasonAnnotationNotAllowed, fmt.Sprintf("the annotation %q may take host names that belong to others; "+
			"remove it from spec.ingress.annotations, and make a WebApp for each host name", refused[0])}
	case len(tier.IngressAnnotations) == 0:
		return refusal{ReasonAnnotationNotAllowed, fmt.Sprintf(
			"the tier %s of this namespace allows no annotation of Ingresses; remove %q from spec.ingress.annotations", tier.Name, refused[0])}
	}
	return refusal{ReasonAnnotationNotAllowed, fmt.Sprintf("the tier %s of this namespace does not allow the annotation %q; "+
		"remove it from spec.ingress.annotations, or choose from: %s", tier.Name, refused[0], strings.Join(tier.IngressAnnotations, ", "))}
}

// admit finds out whether the WebApp may have its host names and annotations. An Ingress with one that it may not have goes, and
// all else stays as it is; without its external name alone, it is served at its host name. While nobody knows what the tier
// allows, everything stays as it is.
func (r *run) admit(ctx context.Context) (engine.Outcome, error) {
	tier, invalid, err := r.tier(ctx, r.Obj.Namespace)
	if err != nil || invalid.reason != "" {
		return engine.BlockFor(recheck, invalid.reason, invalid.message), err
	}
	granted, refused, err := r.grant(ctx, tier)
	if err != nil {
		return engine.Outcome{}, err
	}
	r.granted = granted
	unlike := refusedAnnotations(r.Obj, tier)
	refused = cmp.Or(refused, judgeAnnotations(tier, unlike))
	ingress, err := r.ingress(ctx)
	if err != nil {
		return engine.Outcome{}, err
	}
	r.Obj.Status.Claims, r.Obj.Status.URL = onRecord(granted, r.Obj.Status.Claims, served(ingress)), ""
	served := slices.Contains(granted, claimsOf(r.Obj)[0])
	if served {
		r.Obj.Status.URL = urlOf(r.Obj)
	}
	switch {
	case refused.reason == "":
		return engine.Done().Saying("this object has " + strings.Join(granted, " and ")), nil
	case served && len(unlike) == 0:
		r.lost = refused
		return engine.Lacking(refused.reason, refused.message+". It is served at "+r.Obj.Status.URL), nil
	}
	return engine.BlockFor(recheck, refused.reason, refused.message), r.withdraw(ctx, ingress, granted, unlike)
}

// grant judges each host name that the WebApp asks for. It returns those that it may have, with their path, and why it may not
// have the first of the others.
func (r *run) grant(ctx context.Context, tier tenancy.Tier) (granted []string, refused refusal, err error) {
	for _, host := range hostsOf(r.Obj) {
		why, err := r.judge(ctx, host, tier)
		if err != nil {
			return nil, refusal{}, err
		}
		if why.reason == "" {
			granted = append(granted, claimOn(host, pathOf(r.Obj)))
		}
		refused = cmp.Or(refused, why)
	}
	return granted, refused, nil
}

// judge judges a host name that the WebApp asks for, and promises it to it when it may have it.
func (r *run) judge(ctx context.Context, host string, tier tenancy.Tier) (refusal, error) {
	c := contest{host: host, path: pathOf(r.Obj)}
	claim := c.claim()
	for {
		c.promised = r.promises.of(claim)
		others, err := r.rivals(ctx, c)
		if err != nil {
			return refusal{}, err
		}
		why, next := judgeClaim(r.Obj, c, tier, others), c.promised
		switch {
		case why.reason == "" && !has(r.Obj, claim):
			next = r.Obj.UID
		case c.promised == r.Obj.UID: // it is on record by now, or another one's
			next = ""
		}
		if r.promises.exchange(claim, c.promised, next) {
			return why, nil
		}
	}
}

// rivals are the WebApps that ask for a host name with the path of this one, or have it. Those in the list are the cache's own.
func (r *run) rivals(ctx context.Context, c contest) (others []rival, err error) {
	list, same := &v1alpha1.WebAppList{}, client.MatchingFields{claimIndex: c.claim()}
	if err := r.Client.List(ctx, list, same, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return nil, fmt.Errorf("listing who asks for the host name: %w", err)
	}
	if !has(r.Obj, c.claim()) {
		if others, err = r.remnants(ctx, c.claim()); err != nil {
			return nil, err
		}
	}
	for i := range list.Items {
		o, err := r.rival(ctx, &list.Items[i], c)
		if err != nil {
			return nil, err
		}
		others = append(others, o)
	}
	return others, nil
}

// rival finds out about another WebApp what decides whether it is to be reckoned with.
func (r *run) rival(ctx context.Context, a *v1alpha1.WebApp, c contest) (rival, error) {
	o := rival{WebApp: a}
	if !c.has(a) {
		tier, invalid, err := r.tier(ctx, a.Namespace)
		o.barred = invalid.reason != "" || !tier.AllowsHostname(c.host)
		return o, err
	}
	if a.DeletionTimestamp.IsZero() {
		return o, nil
	}
	ingress, exists, err := read(ctx, r, client.ObjectKey{Namespace: a.Namespace, Name: nameOf(a)}, &networkingv1.Ingress{})
	o.serves = exists && metav1.IsControlledBy(ingress, a) && slices.Contains(served(ingress), c.claim())
	return o, err
}

// urlOf is where a WebApp is reached.
func urlOf(a *v1alpha1.WebApp) string {
	scheme := "http"
	if a.Spec.Ingress != nil && a.Spec.Ingress.TLSSecretName != nil {
		scheme = "https"
	}
	return scheme + "://" + a.Spec.WebAppHostname + pathOf(a)
}

// tier is that of a namespace, which only its AcmeNamespace decides. Without one, anything is allowed.
func (r *run) tier(ctx context.Context, namespace string) (tenancy.Tier, refusal, error) {
	ns := &corev1.Namespace{}
	err := r.Client.Get(ctx, client.ObjectKey{Name: namespace}, ns)
	owner := tenancy.OwnerName(ns)
	if err != nil || owner == "" {
		return tenancy.Tier{}, refusal{}, client.IgnoreNotFound(err)
	}
	n := &tenancyv1alpha1.AcmeNamespace{}
	err = r.Client.Get(ctx, client.ObjectKey{Name: owner}, n)
	if apierrors.IsNotFound(err) || err == nil && n.Spec.NamespaceName != namespace {
		return tenancy.Tier{}, refusal{}, nil
	}
	if err != nil {
		return tenancy.Tier{}, refusal{}, fmt.Errorf("reading the AcmeNamespace of the namespace: %w", err)
	}
	tier, why, err := tenancy.ReadTier(ctx, r.Client, n.Spec.DeploymentTier)
	return tier, refusal{why.Reason, why.Message}, err
}
