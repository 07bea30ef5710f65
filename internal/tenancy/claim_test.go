// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/tenancy"
)

func TestProtect(t *testing.T) {
	own := []string{"platform-operator-system", "team-secret-*", "exactly", ""}
	for _, tc := range []struct {
		name, by string
	}{
		{"default", "default"},
		{"kube-system", "kube-*"},
		{"kube-public", "kube-*"},
		{"kube-node-lease", "kube-*"},
		{"kube-", "kube-*"},
		{"openshift-monitoring", "openshift-*"},
		{"olm", "olm"},
		{"operators", "operators"},
		{"platform-operator-system", "platform-operator-system"},
		{"team-secret-a", "team-secret-*"},
		{"exactly", "exactly"},
		{"kube", ""},
		{"openshift", ""},
		{"defaults", ""},
		{"olm-test", ""},
		{"my-operators", ""},
		{"team-secret", ""},
		{"exactly-not", ""},
		{"app-y", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := tenancy.Refusal{}
			if tc.by != "" {
				want = tenancy.Refusal{Reason: "NameProtected", Message: `namespaceName "` + tc.name + `" is protected (by "` + tc.by +
					`") and cannot be given to a tenant; choose another name`}
			}
			if diff := cmp.Diff(want, tenancy.Protect(tc.name, own)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if r := tenancy.Protect("anything", []string{"*"}); r.Reason != "NameProtected" {
		t.Error("the pattern * protects nothing")
	}
}

// monday is when the AcmeNamespaces of these tests come to be, plus some seconds.
var monday = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)

// asking makes an AcmeNamespace for app-y, created so many seconds after monday, or not yet when negative.
func asking(name string, second int, options ...func(*v1alpha1.AcmeNamespace)) *v1alpha1.AcmeNamespace {
	n := &v1alpha1.AcmeNamespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name)}}
	if second >= 0 {
		n.CreationTimestamp = metav1.NewTime(monday.Add(time.Duration(second) * time.Second))
	}
	n.Spec.NamespaceName = "app-y"
	for _, o := range options {
		o(n)
	}
	return n
}

func adopting(n *v1alpha1.AcmeNamespace) { n.Spec.Adopt = true }

func leaving(n *v1alpha1.AcmeNamespace) { n.DeletionTimestamp = &metav1.Time{Time: monday} }

// existing makes the Namespace app-y with annotations from pairs of key and value.
func existing(pairs ...string) *corev1.Namespace {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "app-y"}}
	for i := 0; i < len(pairs); i += 2 {
		metav1.SetMetaDataAnnotation(&ns.ObjectMeta, pairs[i], pairs[i+1])
	}
	return ns
}

func TestClaim(t *testing.T) {
	const owner, released = "platform.acme.com/owner", "tenancy.acme.com/released-by"
	me := asking("me", 10)
	for _, tc := range []struct {
		reason string
		me     *v1alpha1.AcmeNamespace
		live   *corev1.Namespace
		owned  bool
		others []*v1alpha1.AcmeNamespace
		by     string // the AcmeNamespace that has the name, "nobody" when only the Namespace is in the way, or empty
	}{
		{"the name is free", me, nil, false, nil, ""},
		{"it is mine", me, existing(owner, "acmenamespace/me"), true, nil, ""},
		{
			"it is mine, although others were created earlier", me, existing(owner, "acmenamespace/me"), true,
			[]*v1alpha1.AcmeNamespace{asking("older", 0, adopting)},
			"",
		},
		{"it exists without an owner", me, existing(), false, nil, "nobody"},
		{"adopt adopts what has no owner", asking("me", 10, adopting), existing(), false, nil, ""},
		{"its last owner may reclaim it", me, existing(released, "me"), false, nil, ""},
		{"what another one released is not free", me, existing(released, "other"), false, nil, "nobody"},
		{"adopt takes what another one released", asking("me", 10, adopting), existing(released, "other"), false, nil, ""},
		{
			"another one's mark counts", asking("me", 10, adopting), existing(owner, "acmenamespace/other"), false,
			[]*v1alpha1.AcmeNamespace{asking("other", 20)},
			"other",
		},
		{"the mark of one that no longer requests it is stale, but the Namespace exists", me, existing(owner, "acmenamespace/gone"), false, nil, "nobody"},
		{"adopt replaces a stale mark", asking("me", 10, adopting), existing(owner, "acmenamespace/gone"), false, nil, ""},
		{
			"a mark of another kind is nobody's", me, existing(owner, "webapp/other"), false,
			[]*v1alpha1.AcmeNamespace{asking("other", 20)},
			"nobody",
		},
		{"the older one has a free name", me, nil, false, []*v1alpha1.AcmeNamespace{asking("older", 0)}, "older"},
		{"one that is being deleted leaves a free name to the next", me, nil, false, []*v1alpha1.AcmeNamespace{asking("older", 0, leaving)}, ""},
		{
			"one that is being deleted has its Namespace until that is gone", me, existing(owner, "acmenamespace/older"), false,
			[]*v1alpha1.AcmeNamespace{asking("older", 0, leaving)},
			"older",
		},
		{"the younger one has not", me, nil, false, []*v1alpha1.AcmeNamespace{asking("younger", 20)}, ""},
		{"in the same second the UID decides, against me", me, nil, false, []*v1alpha1.AcmeNamespace{asking("a", 10)}, "a"},
		{"in the same second the UID decides, for me", me, nil, false, []*v1alpha1.AcmeNamespace{asking("z", 10)}, ""},
		{"one that is not created yet comes last", asking("me", -1), nil, false, []*v1alpha1.AcmeNamespace{asking("younger", 20)}, "younger"},
		{
			"of two that adopt, the older one has it", asking("me", 10, adopting), existing(), false,
			[]*v1alpha1.AcmeNamespace{asking("older", 0, adopting)},
			"older",
		},
		{
			"of two that adopt, the younger one has not", asking("me", 10, adopting), existing(), false,
			[]*v1alpha1.AcmeNamespace{asking("younger", 20, adopting)},
			"",
		},
		{
			"an older one that may not adopt is in nobody's way", asking("me", 10, adopting), existing(), false,
			[]*v1alpha1.AcmeNamespace{asking("older", 0)},
			"",
		},
		{
			"an older one that adopts keeps me from coming back", me, existing(released, "me"), false,
			[]*v1alpha1.AcmeNamespace{asking("older", 0, adopting)},
			"older",
		},
		{
			"the first in the way is named", me, nil, false,
			[]*v1alpha1.AcmeNamespace{asking("younger", 20), asking("older", 5), asking("oldest", 0)},
			"older",
		},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			var others []v1alpha1.AcmeNamespace
			for _, o := range tc.others {
				others = append(others, *o)
			}
			want := tenancy.Refusal{}
			switch tc.by {
			case "":
			case "nobody":
				want = tenancy.Refusal{Reason: "NameTaken", Message: `the Namespace "app-y" exists and no AcmeNamespace owns it; ` +
					"choose another name, or set spec.adopt to true to adopt it"}
			default:
				want = tenancy.Refusal{Reason: "NameTaken", Message: `namespaceName "app-y" belongs to the AcmeNamespace ` + tc.by + "; choose another name"}
			}
			if diff := cmp.Diff(want, tenancy.Claim(tc.me, tc.live, tc.owned, others)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestOfTwoExactlyOneHasTheName(t *testing.T) {
	for _, live := range []*corev1.Namespace{nil, existing(), existing("tenancy.acme.com/released-by", "a")} {
		for _, seconds := range [][2]int{{0, 0}, {0, 1}, {1, 0}} {
			a, b := asking("a", seconds[0], adopting), asking("b", seconds[1], adopting)
			mine := tenancy.Claim(a, live, false, []v1alpha1.AcmeNamespace{*b}).Reason == ""
			theirs := tenancy.Claim(b, live, false, []v1alpha1.AcmeNamespace{*a}).Reason == ""
			if mine == theirs {
				t.Errorf("live %v, created at %v: a has it: %v, b has it: %v", live, seconds, mine, theirs)
			}
		}
	}
}

func TestHard(t *testing.T) {
	tier := tenancy.Tier{Quota: amounts("cpu", "5", "pods", "10")}
	for _, tc := range []struct {
		reason string
		tier   tenancy.Tier
		asked  corev1.ResourceList
		want   corev1.ResourceList
	}{
		{"nothing asked", tier, nil, amounts("cpu", "5", "pods", "10")},
		{"more of one", tier, amounts("cpu", "8"), amounts("cpu", "8", "pods", "10")},
		{"less of one", tier, amounts("pods", "0"), amounts("cpu", "5", "pods", "0")},
		{"one that the tier has not", tier, amounts("requests.storage", "100Gi"), amounts("cpu", "5", "pods", "10", "requests.storage", "100Gi")},
		{"a tier without quota", tenancy.Tier{}, amounts("cpu", "8"), amounts("cpu", "8")},
		{"nothing at all", tenancy.Tier{}, nil, corev1.ResourceList{}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			got, refusal := tenancy.Hard(tc.tier, tc.asked)
			if diff := cmp.Diff(tc.want, got); diff != "" || refusal.Reason != "" {
				t.Errorf("refusal %v, -want +got:\n%s", refusal, diff)
			}
		})
	}
	if diff := cmp.Diff(amounts("cpu", "5", "pods", "10"), tier.Quota); diff != "" {
		t.Errorf("the tier changed: %s", diff)
	}
	if _, r := tenancy.Hard(tier, amounts("cpu", "-1")); r != (tenancy.Refusal{Reason: "QuotaInvalid", Message: "spec.quota[cpu] is -1; it must not be negative"}) {
		t.Errorf("a negative amount: %v", r)
	}
}

func TestCheckQuota(t *testing.T) {
	for _, tc := range []struct {
		name, amount, want string
	}{
		{"cpu", "0", ""},
		{"cpu", "250m", ""},
		{"memory", "1.5Gi", ""},
		{"requests.storage", "1Ti", ""},
		{"services.loadbalancers", "0", ""},
		{"count/deployments.apps", "20", ""},
		{"gold.storageclass.storage.k8s.io/requests.storage", "5Gi", ""},
		{"requests.example.com/gpu", "2", ""},
		{"hugepages-2Mi", "4Mi", ""},
		{"requests.hugepages-2Mi", "4Mi", ""},
		{"hugepages-", "1", "spec.quota[hugepages-]: unknown resource"},
		{"hugepages-2X", "1", "spec.quota[hugepages-2X]: unknown resource"},
		{"requests.hugepages-1e9", "1", "spec.quota[requests.hugepages-1e9]: unknown resource"},
		{"cpu", "-250m", "spec.quota[cpu] is -250m; it must not be negative"},
		{"pods", "2.5", "spec.quota[pods] is 2500m; it must be a whole number"},
		{"services.nodeports", "100m", "spec.quota[services.nodeports] is 100m; it must be a whole number"},
		{"disk", "1", "spec.quota[disk]: unknown resource: it must be one of cpu,"},
		{"", "1", "spec.quota[]: unknown resource"},
		{"deployments.apps", "1", "spec.quota[deployments.apps]: unknown resource"},
		{"acme.com/", "1", "spec.quota[acme.com/]: name part must be non-empty"},
		{"a/b/c", "1", "spec.quota[a/b/c]: a valid label key must consist of"},
	} {
		t.Run(tc.name+" "+tc.amount, func(t *testing.T) {
			err := tenancy.CheckQuota("spec.quota", amounts(tc.name, tc.amount))
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("CheckQuota = %v, want %q", err, tc.want)
			}
		})
	}
}

func TestTheSameMistakesGiveTheSameMessage(t *testing.T) {
	list := amounts("cpu", "-1", "memory", "-1", "pods", "-1", "secrets", "-1", "services", "-1")
	first := tenancy.CheckQuota("quota", list).Error()
	for range 50 {
		if again := tenancy.CheckQuota("quota", list).Error(); again != first {
			t.Fatalf("%q, then %q: a status that shows it would never settle", first, again)
		}
	}
}

func TestIsServiceAccount(t *testing.T) {
	for user, want := range map[string]bool{
		"system:serviceaccount:app-y:deployer":   true,
		"system:serviceaccount:app-y":            false,
		"system:serviceaccount:app-y:deployer:x": false,
		"sam":                                    false,
		"system:admin":                           false,
		"x-system:serviceaccount:app-y:deployer": false,
	} {
		if got := tenancy.IsServiceAccount(user); got != want {
			t.Errorf("IsServiceAccount(%s) = %v", user, got)
		}
	}
}
