// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/tenancy"
	"github.com/acme/platform-operator/internal/testenv/limit"
	"github.com/acme/platform-operator/internal/views/access"
)

func TestOneRoleBindingHasABound(t *testing.T) {
	for count, want := range map[int]int{0: 0, maxSubjects: maxSubjects, 30 * maxSubjects: maxSubjects} {
		binding, every := &rbacv1.RoleBinding{}, &rbacv1.ClusterRoleBinding{}
		for i := range count {
			binding.Subjects = append(binding.Subjects, rbacv1.Subject{Kind: rbacv1.UserKind, Name: fmt.Sprint(i)})
		}
		every.Subjects = binding.Subjects
		trimmed, err := trim(binding)
		if err != nil {
			t.Fatal(err)
		}
		kept := trimmed.(*rbacv1.RoleBinding).Subjects
		if len(kept) != want || cap(kept) > 2*maxSubjects {
			t.Errorf("%d of %d subjects are kept, in the memory of %d", len(kept), count, cap(kept))
		}
		if want > 0 && kept[want-1].Name != fmt.Sprint(want-1) {
			t.Error("they are not the first ones")
		}
		// Only administrators write ClusterRoleBindings.
		if all, _ := trim(every); len(all.(*rbacv1.ClusterRoleBinding).Subjects) != count {
			t.Error("a ClusterRoleBinding has a bound")
		}
	}
}

func TestTheNamesOfOneRoleBindingHaveABound(t *testing.T) {
	for length, want := range map[int]int{10: maxSubjects, 64: maxSubjects, 128: maxSubjectBytes / 128, 1 << 10: maxSubjectBytes >> 10, 1 << 17: 0} {
		trimmed, err := trim(largest("b", min(maxSubjects, 2*maxSubjectBytes/length+1), length))
		if err != nil {
			t.Fatal(err)
		}
		if kept := trimmed.(*rbacv1.RoleBinding).Subjects; len(kept) != want {
			t.Errorf("%d subjects with names of %d bytes are kept, want %d", len(kept), length, want)
		}
	}
}

func TestTheRoleBindingsOfANamespaceHaveABound(t *testing.T) {
	var all []*rbacv1.RoleBinding
	for i := range 15 {
		all = append(all, largest(fmt.Sprintf("b-%02d", i), maxSubjects, 20))
	}
	slices.Reverse(all) // indexes have no order
	found := bounded(slices.Clone(all))
	if len(found) != maxBoundSubjects/maxSubjects || found[0].Name != "b-00" || found[len(found)-1].Name != "b-09" {
		t.Errorf("%d count, from %s on", len(found), found[0].Name)
	}
	if found = bounded(slices.Clone(all[:10])); len(found) != 10 {
		t.Errorf("%d of 10 count, which are not too many", len(found))
	}
}

// As many RoleBindings as a tier lets a tenant create, of the largest that the API server takes: what a replica keeps of one namespace.
func TestATenantCannotFillTheMemory(t *testing.T) {
	for name, mostMiB := range map[common.TierName]uint64{common.TierDev: 20, common.TierProd: 90} {
		tier, err := tenancy.BuiltIn(name)
		if err != nil {
			t.Fatal(err)
		}
		most, has := tier.Quota["count/rolebindings.rbac.authorization.k8s.io"]
		if !has {
			t.Fatalf("the tier %s does not bound RoleBindings", name)
		}
		before := heap()
		var kept []*rbacv1.RoleBinding
		for i := range most.Value() {
			trimmed, err := trim(largest(fmt.Sprintf("b-%d", i), 2*maxSubjects, 64))
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, trimmed.(*rbacv1.RoleBinding))
		}
		var bindings []access.Binding
		for _, b := range bounded(slices.Clone(kept)) {
			bindings = append(bindings, access.Binding{Role: "Role/r", Verdict: everything, Subjects: access.SubjectsOf("a", b.Subjects)})
		}
		grants := access.GrantsOf("a", bindings)
		used := (heap() - before) >> 20
		t.Logf("%s: %d RoleBindings, %d subjects that count, %d MiB", name, len(kept), len(grants), used)
		if len(grants) != maxBoundSubjects {
			t.Errorf("%s: %d subjects count, not %d", name, len(grants), maxBoundSubjects)
		}
		if limit.Selected(limit.Timed) && used > mostMiB {
			t.Errorf("%s: %d MiB are used, want at most %d", name, used, mostMiB)
		}
		runtime.KeepAlive(kept)
	}
}

// A rule of a Role can have a million names: of these only that of the namespace matters.
func TestTheRulesOfOneRoleHaveABound(t *testing.T) {
	names := make([]string, 300_000)
	for i := range names {
		names[i] = "a"
	}
	for namespace, want := range map[string]access.Rights{"a": {Get: true, List: true}, "b": {List: true}} {
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "r"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: names, Resources: names, Verbs: names},
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}, ResourceNames: names},
			{APIGroups: append([]string{""}, names...), Resources: []string{"resourcequotas"}, Verbs: []string{"list"}},
		}}
		trimmed, err := trim(role)
		if err != nil {
			t.Fatal(err)
		}
		rules := trimmed.(*rbacv1.Role).Rules
		if got := access.VerdictOf(rules); !got.Equal(access.Verdict{Rights: want}) {
			t.Errorf("in %s it grants %+v", namespace, got)
		}
		for _, r := range rules {
			if n := cap(r.APIGroups) + cap(r.Resources) + cap(r.Verbs) + cap(r.ResourceNames); len(rules) > 2 || n > 3 {
				t.Errorf("%d texts are kept of one of %d rules", n, len(rules))
			}
		}
	}
}

var everything = access.VerdictOf([]rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}})

// largest is a RoleBinding with so many subjects, whose names have a length.
func largest(name string, count, length int) *rbacv1.RoleBinding {
	b := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}}
	for i := range count {
		user := fmt.Sprintf("%s-%d-", name, i)
		b.Subjects = append(b.Subjects, rbacv1.Subject{Kind: rbacv1.UserKind, Name: (user + strings.Repeat("x", length))[:length]})
	}
	return b
}

func heap() uint64 {
	var m runtime.MemStats
	for range 2 { // what is unique goes with a second collection
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
