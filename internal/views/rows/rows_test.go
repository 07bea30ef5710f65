// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acme/platform-operator/api/views/v1alpha1"
	"github.com/acme/platform-operator/internal/views/access"
)

func list(pairs ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		l[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return l
}

func facts(change func(*Facts)) Facts {
	f := Facts{
		Name: "a", UID: "uid-a", Created: metav1.NewTime(time.Unix(1e9, 0)), Labels: map[string]string{"team": "x"}, Phase: corev1.NamespaceActive,
		Version: 100, Owner: &Owner{Name: "acme-a", Tenant: "sam@acme.com", Tier: "dev", Version: 120},
		Quotas: []Quota{{Name: "q", Hard: list("cpu", "4"), Used: list("cpu", "1"), Version: 90}},
	}
	if change != nil {
		change(&f)
	}
	return f
}

var (
	reader = access.Answer{Rights: access.Rights{Get: true, List: true}, Roles: []string{"ClusterRole/view"}, Version: 110}
	biller = access.Answer{Rights: access.Rights{List: true}}
)

func TestMyNamespace(t *testing.T) {
	row := MyNamespace(NewNamespace(facts(nil)), reader)
	want := &v1alpha1.MyNamespace{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", UID: "uid-a", CreationTimestamp: metav1.NewTime(time.Unix(1e9, 0)), Labels: map[string]string{"team": "x"},
			ResourceVersion: row.GetResourceVersion(),
		},
		Phase: corev1.NamespaceActive, Tier: "dev", Roles: []string{"ClusterRole/view"},
	}
	if diff := cmp.Diff(want, row.Object); diff != "" {
		t.Error(diff)
	}
	if v := row.GetResourceVersion(); !strings.HasPrefix(v, "120") || len(v) != 3+checksumDigits {
		t.Errorf("the version %s is not that of the AcmeNamespace with a checksum", v)
	}
	owned := NewNamespace(facts(func(f *Facts) { f.Owner = nil }))
	if row := MyNamespace(owned, reader); row.Object.(*v1alpha1.MyNamespace).Tier != "" || !strings.HasPrefix(row.GetResourceVersion(), "110") {
		t.Errorf("without an owner it is %+v", row.Object)
	}
}

// Whatever is shown is part of the sum, and nothing else.
func TestSums(t *testing.T) {
	row := func(change func(*Facts), a access.Answer) Row { return MyNamespace(NewNamespace(facts(change)), a) }
	same := row(nil, reader)
	for reason, other := range map[string]Row{
		"the UID":            row(func(f *Facts) { f.UID = "uid-b" }, reader),
		"a label":            row(func(f *Facts) { f.Labels = map[string]string{"team": "y"} }, reader),
		"the phase":          row(func(f *Facts) { f.Phase = corev1.NamespaceTerminating }, reader),
		"the tier":           row(func(f *Facts) { f.Owner = &Owner{Tier: "prod", Version: 120} }, reader),
		"roles":              row(nil, access.Answer{Rights: reader.Rights, Roles: []string{"ClusterRole/edit", "ClusterRole/view"}}),
		"where a role ends":  row(nil, access.Answer{Rights: reader.Rights, Roles: []string{"ClusterRole/", "view"}}),
		"the time of birth":  row(func(f *Facts) { f.Created = metav1.NewTime(time.Unix(2e9, 0)) }, reader),
		"that it is deleted": row(func(f *Facts) { f.Deleted = &metav1.Time{Time: time.Unix(2e9, 0)} }, reader),
	} {
		if other.Sum == same.Sum {
			t.Errorf("%s is not part of the sum", reason)
		}
	}
	for reason, other := range map[string]Row{
		"a version":  row(func(f *Facts) { f.Version = 999 }, reader),
		"a quota":    row(func(f *Facts) { f.Quotas = nil }, reader),
		"the tenant": row(func(f *Facts) { f.Owner = &Owner{Name: "b", Tenant: "kim", Tier: "dev"} }, reader),
	} {
		if other.Sum != same.Sum {
			t.Errorf("%s is part of the sum", reason)
		}
	}
}

func TestNamespaceUsage(t *testing.T) {
	f := facts(func(f *Facts) {
		f.Quotas = []Quota{
			{Name: "z", Hard: list("cpu", "4", "pods", "10"), Used: list("cpu", "1500m", "pods", "3"), Version: 90},
			{Name: "b", Hard: list("cpu", "2", "memory", "0"), Used: list("cpu", "1500m", "memory", "0", "secrets", "7"), Version: 95},
			{Name: "best", Scopes: []string{"BestEffort"}, Hard: list("pods", "3"), Used: list("pods", "1"), Version: 80},
		}
	})
	row, ok := NamespaceUsage(NewNamespace(f), reader)
	if !ok {
		t.Fatal("it is not visible")
	}
	got, err := json.MarshalIndent(row.Object, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want := `{
 "metadata": {
  "name": "a",
  "uid": "` + string(row.GetUID()) + `",
  "resourceVersion": "` + row.GetResourceVersion() + `",
  "creationTimestamp": "2001-09-09T01:46:40Z",
  "labels": {
   "team": "x"
  }
 },
 "tenant": "sam@acme.com",
 "acmeNamespace": "acme-a",
 "tier": "dev",
 "resources": {
  "cpu": {
   "used": "1500m",
   "hard": "2",
   "percent": 75
  },
  "memory": {
   "used": "0",
   "hard": "0"
  },
  "pods": {
   "used": "3",
   "hard": "10",
   "percent": 30
  },
  "secrets": {
   "used": "7"
  }
 },
 "scoped": [
  {
   "quota": "best",
   "scopes": [
    "BestEffort"
   ],
   "resources": {
    "pods": {
     "used": "1",
     "hard": "3",
     "percent": 34
    }
   }
  }
 ]
}`
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Error(diff)
	}
	bare, ok := NamespaceUsage(NewNamespace(f), biller)
	o := bare.Object.(*v1alpha1.NamespaceUsage)
	if !ok || o.Labels != nil || !o.CreationTimestamp.IsZero() || o.Tenant+o.AcmeNamespace+string(o.Tier) != "" || len(o.Resources) != 4 {
		t.Errorf("who may only list quotas sees %+v", o)
	}
	if row.GetUID() == "uid-a" || bare.GetUID() != row.GetUID() {
		t.Errorf("the UIDs are %s and %s", row.GetUID(), bare.GetUID())
	}
	for reason, a := range map[string]access.Answer{"who may only get it": {Rights: access.Rights{Get: true}}, "a stranger": {}} {
		if _, ok := NamespaceUsage(NewNamespace(f), a); ok {
			t.Errorf("it is visible to %s", reason)
		}
	}
	if _, ok := NamespaceUsage(NewNamespace(facts(func(f *Facts) { f.Quotas = nil })), reader); ok {
		t.Error("there is a row without quotas")
	}
}

func TestQuotaWithoutStatus(t *testing.T) {
	q := NewQuota(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{
		Hard: list("cpu", "4"), Scopes: []corev1.ResourceQuotaScope{"NotBestEffort", "BestEffort"},
		ScopeSelector: &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{
			{ScopeName: "PriorityClass", Operator: "In", Values: []string{"high", "low"}}, {ScopeName: "Terminating", Operator: "Exists"},
		}},
	}}, 5)
	want := Quota{Name: "q", Hard: list("cpu", "4"), Used: corev1.ResourceList{}, Version: 5, Scopes: []string{"BestEffort", "NotBestEffort", "PriorityClass In (high,low)", "Terminating Exists"}}
	if diff := cmp.Diff(want, q); diff != "" {
		t.Error(diff)
	}
}

// Quantities that are short to write and endless to calculate with are left out, and large ones are not.
func TestUnreasonableQuantities(t *testing.T) {
	q := NewQuota(&corev1.ResourceQuota{
		Spec:   corev1.ResourceQuotaSpec{Hard: list("a", "1e999999999", "b", "1e30", "c", "1")},
		Status: corev1.ResourceQuotaStatus{Used: list("a", "5", "c", "1e999999999")},
	}, 1)
	n := NewNamespace(facts(func(f *Facts) { f.Quotas = []Quota{q, q} }))
	got := n.usage.whole.Object.(*v1alpha1.NamespaceUsage).Resources
	if a, b, c := got["a"], got["b"], got["c"]; a.Hard != nil || a.Used == nil || b.Hard == nil || b.Hard.String() != "1e30" || c.Used != nil || c.Hard == nil {
		t.Errorf("it is %v", got)
	}
}

func TestTenants(t *testing.T) {
	namespace := func(name string, quotas ...Quota) *Namespace {
		return NewNamespace(facts(func(f *Facts) { f.Name, f.Quotas = name, quotas }))
	}
	a := namespace("a", Quota{Name: "q", Hard: list("cpu", "4", "pods", "5"), Used: list("cpu", "1", "pods", "1")})
	b := namespace("b", Quota{Name: "q", Hard: list("cpu", "4"), Used: list("cpu", "2", "pods", "2"), Version: 400})
	none := namespace("c")
	usage := func(all ...*Namespace) *v1alpha1.TenantUsage {
		return NewTenant("sam@acme.com", all).Row.Object.(*v1alpha1.TenantUsage)
	}
	two := usage(a, b)
	if cpu := two.Resources["cpu"]; cpu.Used.String() != "3" || cpu.Hard.String() != "8" || *cpu.Percent != 38 {
		t.Errorf("the sum of cpu is %v", cpu)
	}
	if pods := two.Resources["pods"]; pods.Used.String() != "3" || pods.Hard != nil || pods.Percent != nil {
		t.Errorf("one summand has no limit of pods, and the sum is %v", pods)
	}
	if cpu := usage(a, b, none).Resources["cpu"]; cpu.Hard != nil {
		t.Errorf("one namespace has no quota, and the limit of cpu is %v", cpu.Hard)
	}
	if diff := cmp.Diff([]string{"a", "b"}, two.Namespaces); diff != "" || two.Tenant != "sam@acme.com" || !strings.HasPrefix(two.ResourceVersion, "400") {
		t.Errorf("it is %+v", two)
	}
	if hard := a.usage.resources["cpu"].Hard.String(); hard != "4" {
		t.Errorf("the sum changed a summand to %s", hard)
	}
}

func TestTenantName(t *testing.T) {
	seen := map[string]string{}
	for _, tenant := range []string{
		"sam", "team-a.example.com", "sam@acme.com", "sam-acme-com", TenantName("sam@acme.com"), TenantName(TenantName("sam@acme.com")), "CN=sam,OU=x", "Sam", "ß", "/", "..", "a/b",
		strings.Repeat("x", 256), strings.Repeat("x", 255) + "y", strings.Repeat("-", 256), "system:serviceaccount:a:b",
	} {
		name := TenantName(tenant)
		if other, taken := seen[name]; taken {
			t.Errorf("%q and %q are both called %s", tenant, other, name)
		}
		seen[name] = tenant
		if len(name) > 253 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" || strings.Trim(name, "-.") != name {
			t.Errorf("%q is called %s, which is no DNS subdomain", tenant, name)
		}
	}
	for _, plain := range []string{"sam", "team-a.example.com"} {
		if TenantName(plain) != plain {
			t.Errorf("%s is called %s", plain, TenantName(plain))
		}
	}
	// With fewer digits, a tenant can be searched for that has the name of another.
	for _, tenant := range []string{"sam@acme.com", "Sam", "/", strings.Repeat("x", 256)} {
		if !regexp.MustCompile(`^[a-z0-9-]+-[0-9a-f]{32}$`).MatchString(TenantName(tenant)) {
			t.Errorf("%q is called %s, which ends in no hash of 32 digits", tenant, TenantName(tenant))
		}
	}
}

func TestPercent(t *testing.T) {
	for _, c := range []struct {
		used, hard string
		want       int32
	}{
		{"0", "4", 0},
		{"1", "3", 34},
		{"1", "100", 1},
		{"1m", "1000", 1},
		{"4", "4", 100},
		{"5", "4", 125},
		{"1e18", "1m", math.MaxInt32},
		{"1", "0", -1},
		{"0", "0", -1},
		{"1Gi", "1G", 108},
		{"9223372036854775807", "9223372036854775807", 100},
	} {
		used, hard := resource.MustParse(c.used), resource.MustParse(c.hard)
		got := int32(-1)
		if p := percent(v1alpha1.ResourceUsage{Used: &used, Hard: &hard}); p != nil {
			got = *p
		}
		if got != c.want {
			t.Errorf("%s of %s are %d %%, not %d", c.used, c.hard, got, c.want)
		}
	}
	q := resource.MustParse("1")
	if percent(v1alpha1.ResourceUsage{Used: &q}) != nil || percent(v1alpha1.ResourceUsage{Hard: &q}) != nil {
		t.Error("there is a share of nothing")
	}
}

func TestVersions(t *testing.T) {
	v := Version{Horizon: 12345, Fingerprint: 7}
	if v.String() != "1234500000000000000000007" {
		t.Error(v)
	}
	for _, v := range []Version{v, {Horizon: 1, Fingerprint: math.MaxUint64}, {Horizon: math.MaxUint64}} {
		if got, err := ParseVersion(v.String()); err != nil || got != v {
			t.Errorf("%v is read as %v, %v", v, got, err)
		}
	}
	for text, want := range map[string]error{
		"": ErrMalformed, "abc": ErrMalformed, "-1": ErrMalformed, "1.5": ErrMalformed, " 1": ErrMalformed, "1": ErrForeign, "12345": ErrForeign,
		strings.Repeat("9", 20): ErrForeign, "0" + strings.Repeat("1", 20): ErrForeign, strings.Repeat("9", 500): ErrForeign,
		"1" + strings.Repeat("9", 20): ErrForeign, version(12345, 99): ErrForeign,
	} {
		if _, err := ParseVersion(text); err != want { //nolint:errorlint // they are not wrapped
			t.Errorf("%q: %v, not %v", text, err, want)
		}
	}
	f := NewFingerprint("mynamespaces")
	if f == NewFingerprint("namespaceusages") {
		t.Error("views without rows have the same version")
	}
	if f.Toggle(1).Toggle(2) != f.Toggle(2).Toggle(1) || f.Toggle(1).Toggle(1) != f || f.Toggle(1) == f {
		t.Error("rows cannot be added and removed")
	}
}

// Every cell has a column, and nothing is missing from an object without content, as in an event of a deletion.
func TestTables(t *testing.T) {
	n := NewNamespace(facts(func(f *Facts) {
		f.Created = metav1.NewTime(time.Now().Add(-50 * time.Hour))
		f.Quotas = append(f.Quotas, Quota{Name: "s", Scopes: []string{"BestEffort"}, Hard: list("pods", "4"), Used: list("pods", "3")})
	}))
	usage, _ := NamespaceUsage(n, reader)
	for _, c := range []struct {
		columns     []metav1.TableColumnDefinition
		cells       func(Object) []any
		full, empty Object
		want        string
	}{
		{MyNamespaceColumns(), func(o Object) []any { return MyNamespaceCells(o) }, MyNamespace(n, reader).Object, &v1alpha1.MyNamespace{}, "[a Active dev ClusterRole/view 2d2h]"},
		{NamespaceUsageColumns(), func(o Object) []any { return NamespaceUsageCells(o) }, usage.Object, &v1alpha1.NamespaceUsage{}, "[a sam@acme.com dev 1/4 <none> <none> <none> 75 <none> <none>]"},
		{TenantUsageColumns(), func(o Object) []any { return TenantUsageCells(o) }, NewTenant("sam", []*Namespace{n}).Row.Object, &v1alpha1.TenantUsage{}, "[sam sam 1 1/4 <none> <none> <none> 25 <none> <none>]"},
	} {
		if got := fmt.Sprint(c.cells(c.full)); got != c.want {
			t.Errorf("the cells are %s, not %s", got, c.want)
		}
		for _, o := range []Object{c.full, c.empty, &metav1.PartialObjectMetadata{}} {
			if cells := c.cells(o); len(cells) != len(c.columns) {
				t.Errorf("%T has %d cells for %d columns", o, len(cells), len(c.columns))
			}
		}
	}
}
