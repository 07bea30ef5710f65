// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"

	"gopkg.in/inf.v0"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/acme/platform-operator/api/views/v1alpha1"
	"github.com/acme/platform-operator/internal/views/access"
)

// Quota is what a ResourceQuota contains.
type Quota struct {
	Name    string
	Scopes  []string
	Hard    corev1.ResourceList
	Used    corev1.ResourceList
	Version uint64
}

// NewQuota reads a ResourceQuota. Until its status has limits, those of its spec hold. Quantities without reason are left out.
func NewQuota(q *corev1.ResourceQuota, version uint64) Quota {
	hard := q.Status.Hard
	if len(hard) == 0 {
		hard = q.Spec.Hard
	}
	return Quota{Name: q.Name, Scopes: scopes(q.Spec), Hard: reasonable(hard), Used: reasonable(q.Status.Used), Version: version}
}

const (
	// maxScale and maxBits bound the numbers that are calculated with: about 10^50, and as many digits behind the point.
	maxScale = 50
	maxBits  = 256
)

// reasonable leaves out quantities that no resource has. 1e999999999 is short to write, and takes for ever to calculate with.
func reasonable(list corev1.ResourceList) corev1.ResourceList {
	kept := make(corev1.ResourceList, len(list))
	for name, q := range list {
		if d := dec(&q); d.Scale() >= -maxScale && d.Scale() <= maxScale && d.UnscaledBig().BitLen() <= maxBits {
			kept[name] = q
		}
	}
	return kept
}

func scopes(spec corev1.ResourceQuotaSpec) []string {
	var all []string
	for _, s := range spec.Scopes {
		all = append(all, string(s))
	}
	if spec.ScopeSelector != nil {
		for _, e := range spec.ScopeSelector.MatchExpressions {
			text := string(e.ScopeName) + " " + string(e.Operator)
			if len(e.Values) > 0 {
				text += " (" + strings.Join(e.Values, ",") + ")"
			}
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// usageRows are the two forms of a namespace's NamespaceUsage, or nil if it has no ResourceQuota.
type usageRows struct {
	whole, bare Row
	resources   resources
}

func newUsageRows(f Facts) *usageRows {
	if len(f.Quotas) == 0 {
		return nil
	}
	quotas := slices.SortedFunc(slices.Values(f.Quotas), func(a, b Quota) int { return cmp.Compare(a.Name, b.Name) })
	bare := v1alpha1.NamespaceUsage{ObjectMeta: metav1.ObjectMeta{Name: f.Name, UID: derivedUID("namespaceusage", string(f.UID))}}
	var source uint64
	for _, q := range quotas {
		source = max(source, q.Version)
		usage := resourcesOf(q)
		if len(q.Scopes) > 0 {
			bare.Scoped = append(bare.Scoped, v1alpha1.ScopedUsage{Quota: q.Name, Scopes: q.Scopes, Resources: usage.percents()})
			continue
		}
		bare.Resources = merge(bare.Resources, usage)
	}
	sum := resources(bare.Resources)
	bare.Resources = sum.percents()
	whole := bare
	meta := f.meta()
	meta.UID = bare.UID
	whole.ObjectMeta = meta
	if f.Owner != nil {
		whole.Tenant, whole.AcmeNamespace, whole.Tier = f.Owner.Tenant, f.Owner.Name, f.Owner.Tier
	}
	wholeSource := max(source, f.Version)
	if f.Owner != nil {
		wholeSource = max(wholeSource, f.Owner.Version)
	}
	return &usageRows{whole: sealed(&whole, wholeSource), bare: sealed(&bare, source), resources: sum}
}

func sealed(o Object, source uint64) Row {
	sum := shortDigest(o)
	o.SetResourceVersion(version(source, sum))
	return Row{Object: o, Sum: sum}
}

func (u *usageRows) equal(other *usageRows) bool {
	if u == nil || other == nil {
		return u == other
	}
	return u.whole.Sum == other.whole.Sum && u.bare.Sum == other.bare.Sum &&
		u.whole.GetResourceVersion() == other.whole.GetResourceVersion() && u.bare.GetResourceVersion() == other.bare.GetResourceVersion()
}

// NamespaceUsage is a namespace's row for a user who may list its ResourceQuotas. False if it has none.
func NamespaceUsage(n *Namespace, a access.Answer) (Row, bool) {
	if n.usage == nil || !a.List {
		return Row{}, false
	}
	if a.Get {
		return n.usage.whole, true
	}
	return n.usage.bare, true
}

// derivedUID is a UID made of another: it is as unique, and does not give the other away.
func derivedUID(kind, from string) types.UID {
	sum := sha256.Sum256([]byte(kind + "/" + from))
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
}

// resources are the usage of some resources.
type resources map[corev1.ResourceName]v1alpha1.ResourceUsage

func resourcesOf(q Quota) resources {
	r := resources{}
	for name, hard := range q.Hard {
		r[name] = v1alpha1.ResourceUsage{Hard: pointerTo(hard)}
	}
	for name, used := range q.Used {
		usage := r[name]
		usage.Used = pointerTo(used)
		r[name] = usage
	}
	return r
}

// pointerTo copies a quantity in its canonical form: every replica writes it alike.
func pointerTo(q resource.Quantity) *resource.Quantity {
	c := q.DeepCopy()
	_ = c.String() // it keeps the canonical form
	return &c
}

// merge joins the usage of two quotas that count the same: the least limit holds, and the larger use is the later one.
func merge(a, b resources) resources {
	if a == nil {
		return b
	}
	for name, usage := range b {
		before := a[name]
		a[name] = v1alpha1.ResourceUsage{
			Hard: pick(before.Hard, usage.Hard, func(order int) bool { return order <= 0 }),
			Used: pick(before.Used, usage.Used, func(order int) bool { return order >= 0 }),
		}
	}
	return a
}

func pick(a, b *resource.Quantity, first func(order int) bool) *resource.Quantity {
	if b == nil || a != nil && first(a.Cmp(*b)) {
		return a
	}
	return b
}

// plus adds the usage of another namespace. A limit is unlimited as soon as one is.
func (r resources) plus(other resources) {
	for name, usage := range other {
		sum := r[name]
		sum.Used = total(sum.Used, usage.Used)
		if usage.Hard != nil {
			sum.Hard = total(sum.Hard, usage.Hard)
		}
		r[name] = sum
	}
}

func total(a, b *resource.Quantity) *resource.Quantity {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	sum := a.DeepCopy()
	sum.Add(*b)
	return pointerTo(sum)
}

func (r resources) percents() resources {
	if len(r) == 0 {
		return nil
	}
	full := make(resources, len(r))
	for name, usage := range r {
		usage.Percent = percent(usage)
		full[name] = usage
	}
	return full
}

// percent is used as a share of hard, rounded up, of numbers of any size.
func percent(u v1alpha1.ResourceUsage) *int32 {
	if u.Used == nil || u.Hard == nil || u.Hard.Sign() <= 0 {
		return nil
	}
	hundred := new(inf.Dec).Mul(dec(u.Used), inf.NewDec(100, 0))
	share := new(inf.Dec).QuoRound(hundred, dec(u.Hard), 0, inf.RoundUp)
	p := int32(math.MaxInt32)
	if share.Cmp(inf.NewDec(math.MaxInt32, 0)) < 0 {
		p = int32(share.UnscaledBig().Int64()) //nolint:gosec // it was compared with the largest int32
	}
	return &p
}

func dec(q *resource.Quantity) *inf.Dec {
	c := q.DeepCopy()
	return c.AsDec()
}
