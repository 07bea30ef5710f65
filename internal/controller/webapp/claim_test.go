// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	tenancyv1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/tenancy"
)

// asking is a WebApp that was created at a second and asks for app.acme.com.
func asking(uid types.UID, second int64, with ...func(*v1alpha1.WebApp)) v1alpha1.WebApp {
	a := app(common.TierDev)
	a.UID, a.Namespace, a.CreationTimestamp = uid, "ns-"+string(uid), metav1.Unix(second, 0)
	for _, w := range with {
		w(a)
	}
	return *a
}

func holding(a *v1alpha1.WebApp) { a.Status.Claims = claimsOf(a) }
func leaving(a *v1alpha1.WebApp) { a.DeletionTimestamp = new(metav1.NewTime(time.Unix(9, 0))) }
func stale(a *v1alpha1.WebApp)   { a.Status.Claims = []string{"other.acme.com/"} }

// other is a rival as it is found: nothing bars it.
func other(uid types.UID, second int64, with ...func(*v1alpha1.WebApp)) rival {
	return rival{WebApp: new(asking(uid, second, with...))}
}

func barred(o rival) rival {
	o.barred = true
	return o
}

func serving(o rival) rival {
	o.serves = true
	return o
}

func TestJudgeClaim(t *testing.T) {
	for _, tc := range []struct {
		reason   string
		me       v1alpha1.WebApp
		promised types.UID
		others   []rival
		taken    bool
	}{
		{"it is promised to a younger one", asking("b", 2), "c", []rival{other("c", 3)}, true},
		{"it is promised to a younger one that is being deleted", asking("b", 2), "c", []rival{other("c", 3, leaving)}, false},
		{"it is promised to a younger one that may not have it any more", asking("b", 2), "c", []rival{barred(other("c", 3))}, true},
		{"it is promised to one that asks for it no more, or is gone", asking("b", 2), "x", []rival{other("c", 3)}, false},
		{"it is promised to this one", asking("b", 2), "b", []rival{other("a", 1)}, false},
		{"it is promised to this one, and an older one has it", asking("b", 2), "b", []rival{other("a", 1, holding)}, true},
		{"nobody else asks", asking("b", 2), "", nil, false},
		{"it is in the list itself", asking("b", 2), "", []rival{other("b", 2)}, false},
		{"an older one asks", asking("b", 2), "", []rival{other("a", 1)}, true},
		{"a younger one asks", asking("b", 2), "", []rival{other("c", 3)}, false},
		{"one of the same second, whose UID sorts first", asking("b", 2), "", []rival{other("a", 2)}, true},
		{"one of the same second, whose UID sorts last", asking("b", 2), "", []rival{other("c", 2)}, false},
		{"an older one that is being deleted", asking("b", 2), "", []rival{other("a", 1, leaving)}, false},
		{"an older one that is being deleted, has it, and serves it", asking("b", 2), "", []rival{serving(other("a", 1, leaving, holding))}, true},
		{"a younger one that is being deleted, has it, and serves it", asking("b", 2), "", []rival{serving(other("c", 3, leaving, holding))}, true},
		{"an older one that is being deleted, has it, and serves it no more", asking("b", 2), "", []rival{other("a", 1, leaving, holding)}, false},
		{"an older one that may not have it", asking("b", 2), "", []rival{barred(other("a", 1))}, false},
		{"an older one that may not have it, and one that may", asking("b", 2), "", []rival{barred(other("a", 1)), other("a2", 1)}, true},
		{"an older one that may not have it any more, but still has it", asking("b", 2), "", []rival{barred(other("a", 1, holding))}, true},
		{"an older one that asks only now", asking("b", 2, holding), "", []rival{other("a", 1)}, false},
		{"an older one that had another", asking("b", 2, holding), "", []rival{other("a", 1, stale)}, false},
		{"a younger one that has it", asking("b", 2), "", []rival{other("c", 3, holding)}, true},
		{"both took it at once, and this is younger", asking("b", 2, holding), "", []rival{other("a", 1, holding)}, true},
		{"both took it at once, and this is older", asking("b", 2, holding), "", []rival{other("c", 3, holding)}, false},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			got := judgeClaim(&tc.me, contest{"app.acme.com", "/", tc.promised}, tenancy.Tier{}, tc.others)
			if (got.reason == ReasonHostnameTaken) != tc.taken {
				t.Errorf("got %+v, want taken %v", got, tc.taken)
			}
			if strings.Contains(got.message, "ns-a") || strings.Contains(got.message, "ns-c") {
				t.Errorf("it says who has it: %s", got.message)
			}
		})
	}
}

func TestTheTierDecidesWhichHostNames(t *testing.T) {
	for _, tc := range []struct {
		patterns []string
		host     string
		allowed  bool
	}{
		{nil, "app.acme.com", true},
		{[]string{}, "app.acme.com", false},
		{[]string{"app.acme.com"}, "app.acme.com", true},
		{[]string{"*.acme.com"}, "app.acme.com", true},
		{[]string{"*.acme.com"}, "a.b.acme.com", true},
		{[]string{"*.acme.com"}, "acme.com", false},
		{[]string{"*.acme.com"}, "app.evilacme.com", false},
		{[]string{"*.apps.acme.com", "shop.com"}, "app.acme.com", false},
		{[]string{"acme.com"}, "app.acme.com", false},
	} {
		a := asking("a", 1, func(a *v1alpha1.WebApp) { a.Spec.WebAppHostname = tc.host })
		got := judgeClaim(&a, contest{host: tc.host, path: "/"}, tenancy.Tier{Hostnames: tc.patterns}, nil)
		if (got.reason == "") != tc.allowed || !tc.allowed && got.reason != ReasonHostnameNotAllowed {
			t.Errorf("%q for %s: got %+v", tc.patterns, tc.host, got)
		}
	}
}

func TestTheTierDecidesWhichAnnotations(t *testing.T) {
	const issuer, size, alias = "cert-manager.io/issuer", "nginx.ingress.kubernetes.io/proxy-body-size", "nginx.ingress.kubernetes.io/server-alias"
	for reason, tc := range map[string]struct {
		asked    []string
		patterns []string
		refused  []string
		says     string
	}{
		"none is asked for":           {nil, []string{}, nil, ""},
		"any is allowed":              {[]string{size, issuer}, nil, nil, ""},
		"it is in the list":           {[]string{size}, []string{issuer, size}, nil, ""},
		"it has a prefix of the list": {[]string{issuer}, []string{"cert-manager.io/*"}, nil, ""},
		"it is not in the list":       {[]string{size, issuer}, []string{"a/*", issuer}, []string{size}, "or choose from: a/*, " + issuer},
		"the list is empty":           {[]string{size, issuer}, []string{}, []string{issuer, size}, "allows no annotation of Ingresses; remove \"" + issuer},
		"it takes host names":         {[]string{alias}, nil, []string{alias}, "may take host names that belong to others"},
		"the list has one that does":  {[]string{alias}, []string{alias}, []string{alias}, "may take host names that belong to others"},
	} {
		a := asking("a", 1, func(a *v1alpha1.WebApp) {
			a.Spec.Ingress = &v1alpha1.Ingress{Annotations: map[string]v1alpha1.AnnotationValue{}}
			for _, key := range tc.asked {
				a.Spec.Ingress.Annotations[key] = "x"
			}
		})
		tier := tenancy.Tier{Name: common.TierStg, IngressAnnotations: tc.patterns}
		refused := refusedAnnotations(&a, tier)
		if diff := cmp.Diff(tc.refused, refused); diff != "" {
			t.Errorf("%s: -want +got:\n%s", reason, diff)
		}
		got := judgeAnnotations(tier, refused)
		if (got.reason == ReasonAnnotationNotAllowed) != (tc.says != "") || !strings.Contains(got.message, tc.says) {
			t.Errorf("%s: got %+v", reason, got)
		}
	}
	if none := asking("a", 1); refusedAnnotations(&none, tenancy.Tier{IngressAnnotations: []string{}}) != nil {
		t.Error("without ingress, something is not allowed")
	}
}

func TestWhichIngressMayStay(t *testing.T) {
	ingress := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a/b": "c"}},
		Spec:       networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: "a.com"}, {Host: "b.com"}}},
	}
	for _, tc := range []struct {
		granted, refused []string
		want             bool
	}{
		{[]string{"a.com/", "b.com/"}, nil, true},
		{[]string{"a.com/", "b.com/"}, []string{"x"}, true},
		{[]string{"a.com/", "b.com/"}, []string{"x", "a/b"}, false},
		{[]string{"a.com/"}, nil, false},
	} {
		if got := mayStay(ingress, tc.granted, tc.refused); got != tc.want {
			t.Errorf("%v granted, %v refused: got %v", tc.granted, tc.refused, got)
		}
	}
}

func TestClaimsAreOfHostAndPath(t *testing.T) {
	claim := func(path string) string {
		return claimsOf(app(common.TierDev, func(s *v1alpha1.WebAppSpec) { s.Ingress = &v1alpha1.Ingress{Path: path} }))[0]
	}
	if claim("") != "app.acme.com/" || claim("/") != claim("") || claim("/a/") != claim("/a") || claim("/a") == claim("/b") {
		t.Error("equal paths have different claims, or different ones equal claims")
	}
}

func TestAnExternalNameIsAHostNameLikeTheOther(t *testing.T) {
	www := func(a *v1alpha1.WebApp) { a.Spec.Publish = &v1alpha1.Publish{ExternalName: new("www.acme.com")} }
	here := func(a *v1alpha1.WebApp) { a.Spec.WebAppHostname = "www.acme.com" }
	both := asking("b", 2, www)
	if diff := cmp.Diff([]string{"app.acme.com/", "www.acme.com/"}, claimsOf(&both)); diff != "" {
		t.Errorf("claims, -want +got:\n%s", diff)
	}
	for _, tc := range []struct {
		reason string
		me     v1alpha1.WebApp
		host   string
		tier   tenancy.Tier
		other  rival
		want   string
	}{
		{"an older one has it as its host name", both, "www.acme.com", tenancy.Tier{}, other("a", 1, here), ReasonHostnameTaken},
		{"an older one has it as its external name", asking("b", 2, here), "www.acme.com", tenancy.Tier{}, other("a", 1, www), ReasonHostnameTaken},
		{"a younger one that has it", asking("b", 2, www), "www.acme.com", tenancy.Tier{}, other("c", 3, www, holding), ReasonHostnameTaken},
		{"an older one that has only its host name", asking("b", 2, www, holding), "www.acme.com", tenancy.Tier{}, other("a", 1, holding, www), ""},
		{"the tier does not allow it", both, "www.acme.com", tenancy.Tier{Hostnames: []string{"app.acme.com"}}, other("c", 3), ReasonHostnameNotAllowed},
		{"the tier allows the other", both, "app.acme.com", tenancy.Tier{Hostnames: []string{"app.acme.com"}}, other("c", 3), ""},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			got := judgeClaim(&tc.me, contest{host: tc.host, path: "/"}, tc.tier, []rival{tc.other})
			if got.reason != tc.want || tc.want != "" && !strings.Contains(got.message, tc.host) {
				t.Errorf("got %+v, want %q", got, tc.want)
			}
		})
	}
}

func TestAClaimIsHeldUntilTheIngressServesItNoMore(t *testing.T) {
	for _, tc := range []struct {
		reason                        string
		granted, before, served, want []string
	}{
		{"nothing", nil, nil, nil, nil},
		{"a first one", []string{"a/"}, nil, nil, []string{"a/"}},
		{"one that it had and has", []string{"a/"}, []string{"a/"}, []string{"a/"}, []string{"a/"}},
		{"one that is still served", []string{"b/"}, []string{"a/"}, []string{"a/"}, []string{"b/", "a/"}},
		{"one that it may not have any more and is still served", nil, []string{"a/"}, []string{"a/"}, []string{"a/"}},
		{"one that is served no more", []string{"b/"}, []string{"a/", "b/"}, []string{"b/"}, []string{"b/"}},
		{"one that somebody wrote into the Ingress", []string{"a/"}, []string{"a/"}, []string{"a/", "x/"}, []string{"a/"}},
		{"more than the status holds", []string{"e/", "f/"}, []string{"a/", "b/", "c/", "d/"}, []string{"a/", "b/", "c/", "d/"}, []string{"e/", "f/", "a/", "b/"}},
	} {
		if diff := cmp.Diff(tc.want, onRecord(tc.granted, tc.before, tc.served)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
		}
	}
}

func TestAWebAppIsFoundByWhatItAsksForAndByWhatItHas(t *testing.T) {
	a := asking("a", 1, func(a *v1alpha1.WebApp) { a.Status.Claims = []string{"old.acme.com/", "app.acme.com/"} })
	if diff := cmp.Diff([]string{"app.acme.com/", "old.acme.com/"}, asksOrHas(&a)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWhichUpdatesOfAWebAppConcernItsRivals(t *testing.T) {
	for reason, tc := range map[string]struct {
		change func(*v1alpha1.WebApp)
		want   bool
	}{
		"nothing":                    {func(*v1alpha1.WebApp) {}, false},
		"it rolls out":               {func(a *v1alpha1.WebApp) { a.Generation, a.Status.Pods, a.Status.ReadyReplicas = 2, "1/2", 1 }, false},
		"it gets a new image":        {func(a *v1alpha1.WebApp) { a.Spec.WebAppImage = "x" }, false},
		"it asks for another":        {func(a *v1alpha1.WebApp) { a.Spec.WebAppHostname = "b.acme.com" }, true},
		"it asks for a path":         {func(a *v1alpha1.WebApp) { a.Spec.Ingress = &v1alpha1.Ingress{Path: "/b"} }, true},
		"it asks for one more":       {func(a *v1alpha1.WebApp) { a.Spec.Publish = &v1alpha1.Publish{ExternalName: new("b.acme.com")} }, true},
		"it has got it":              {holding, true},
		"it is being deleted":        {leaving, true},
		"it is another of that name": {func(a *v1alpha1.WebApp) { a.UID = "other" }, true},
	} {
		before, now := asking("a", 1), asking("a", 1, tc.change)
		if got := claimsChanged(&before, &now); got != tc.want {
			t.Errorf("%s: got %v", reason, got)
		}
	}
}

func TestWhichUpdatesOfAnAcmeNamespaceConcernItsWebApps(t *testing.T) {
	for reason, tc := range map[string]struct {
		change func(*tenancyv1alpha1.AcmeNamespace)
		want   bool
	}{
		"nothing": {func(*tenancyv1alpha1.AcmeNamespace) {}, false},
		"what is in use of its quota": {func(n *tenancyv1alpha1.AcmeNamespace) {
			n.ResourceVersion, n.Status.Quota = "2", &tenancyv1alpha1.QuotaStatus{}
		}, false},
		"what a condition says": {func(n *tenancyv1alpha1.AcmeNamespace) { n.Status.Conditions[0].Message = "x" }, false},
		"its tier":              {func(n *tenancyv1alpha1.AcmeNamespace) { n.Generation = 2 }, true},
		"its Namespace is made": {func(n *tenancyv1alpha1.AcmeNamespace) { n.Status.Conditions[0].Status = metav1.ConditionTrue }, true},
		"a step further": {func(n *tenancyv1alpha1.AcmeNamespace) {
			n.Status.Conditions = append(n.Status.Conditions, metav1.Condition{Type: "More"})
		}, true},
		"another of that name": {func(n *tenancyv1alpha1.AcmeNamespace) { n.UID = "other" }, true},
	} {
		before := &tenancyv1alpha1.AcmeNamespace{}
		before.Generation, before.Status.Conditions = 1, []metav1.Condition{{Type: "Composed", Status: metav1.ConditionFalse}}
		now := before.DeepCopy()
		tc.change(now)
		if got := placeChanged(before, now); got != tc.want {
			t.Errorf("%s: got %v", reason, got)
		}
	}
}

func TestWhoseClaimsAnIngressServes(t *testing.T) {
	ingress := func(change func(*networkingv1.Ingress)) *networkingv1.Ingress {
		i := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{
			Labels:          map[string]string{names.LabelOwnerUID: "u"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "workloads.apps.acme.com/v1alpha1", Kind: "WebApp", UID: "u", Controller: new(true)}},
		}, Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: "b.com"}, {Host: "a.com"}, {Host: "b.com"}}}}
		change(i)
		return i
	}
	for reason, tc := range map[string]struct {
		change func(*networkingv1.Ingress)
		want   []string
	}{
		"a WebApp's":              {func(*networkingv1.Ingress) {}, []string{"a.com/", "b.com/"}},
		"nobody's":                {func(i *networkingv1.Ingress) { i.OwnerReferences = nil }, nil},
		"another kind's":          {func(i *networkingv1.Ingress) { i.OwnerReferences[0].Kind = "Shop" }, nil},
		"one without a mark":      {func(i *networkingv1.Ingress) { i.Labels = nil }, nil},
		"one with another's mark": {func(i *networkingv1.Ingress) { i.Labels[names.LabelOwnerUID] = "v" }, nil},
	} {
		i := ingress(tc.change)
		if diff := cmp.Diff(tc.want, claimsServed(i)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", reason, diff)
		}
		if got := servedChanged(ingress(func(*networkingv1.Ingress) {}), i); got != (tc.want == nil) {
			t.Errorf("%s: changed %v", reason, got)
		}
	}
}

func TestWhatAnIngressServes(t *testing.T) {
	http := func(path string) networkingv1.IngressRuleValue {
		return networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{Path: path}}}}
	}
	got := served(&networkingv1.Ingress{Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{
		{Host: "a.b", IngressRuleValue: http("/x/")}, {Host: "c.d", IngressRuleValue: http("/")}, {Host: "e.f"},
	}}})
	if none := served(nil); none != nil {
		t.Errorf("without an Ingress: %v", none)
	}
	if diff := cmp.Diff([]string{"a.b/x", "c.d/", "e.f/"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestAClaimIsPromisedToOne: of many that ask at once, and look before any has it on record, one gets the claim.
func TestAClaimIsPromisedToOne(t *testing.T) {
	p := newPromises()
	var granted atomic.Int32
	var all sync.WaitGroup
	for i := range 50 {
		me := types.UID(strconv.Itoa(i))
		all.Go(func() {
			for promised := p.of("a/"); promised == ""; promised = p.of("a/") {
				if p.exchange("a/", promised, me) {
					granted.Add(1)
				}
			}
		})
	}
	all.Wait()
	holder := p.of("a/")
	if granted.Load() != 1 || holder == "" {
		t.Errorf("granted to %d, and promised to %q", granted.Load(), holder)
	}
	if p.exchange("a/", "somebody else", "me") || p.of("a/") != holder {
		t.Error("a promise was broken")
	}
	if !p.exchange("a/", holder, "") || p.of("a/") != "" || p.all.Len() != 0 {
		t.Error("what is on record is promised for ever")
	}
}
