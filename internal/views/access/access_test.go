// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/acme/platform-operator/internal/testenv/limit"
)

func rule(groups, resources, verbs string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{groups}, Resources: []string{resources}, Verbs: []string{verbs}, ResourceNames: names}
}

func TestVerdictOf(t *testing.T) {
	get, list, both := Verdict{Rights: Rights{Get: true}}, Verdict{Rights: Rights{List: true}}, Verdict{Rights: Rights{Get: true, List: true}}
	for _, c := range []struct {
		reason string
		rules  []rbacv1.PolicyRule
		want   Verdict
	}{
		{"no rule", nil, Verdict{}},
		{"exactly the first question", []rbacv1.PolicyRule{rule("", "namespaces", "get")}, get},
		{"exactly the second", []rbacv1.PolicyRule{rule("", "resourcequotas", "list")}, list},
		{"every group", []rbacv1.PolicyRule{rule("*", "namespaces", "get")}, get},
		{"every resource", []rbacv1.PolicyRule{rule("", "*", "get")}, get},
		{"every verb", []rbacv1.PolicyRule{rule("", "resourcequotas", "*")}, list},
		{"everything", []rbacv1.PolicyRule{rule("*", "*", "*")}, both},
		{"another group", []rbacv1.PolicyRule{rule("apps", "namespaces", "get")}, Verdict{}},
		{"a group of a similar name", []rbacv1.PolicyRule{rule("core", "namespaces", "get")}, Verdict{}},
		{"the singular", []rbacv1.PolicyRule{rule("", "namespace", "get")}, Verdict{}},
		{"a subresource", []rbacv1.PolicyRule{rule("", "namespaces/status", "get")}, Verdict{}},
		{"all subresources", []rbacv1.PolicyRule{rule("", "*/status", "get")}, Verdict{}},
		{"the verb of the other question", []rbacv1.PolicyRule{rule("", "namespaces", "list"), rule("", "resourcequotas", "get")}, Verdict{}},
		{"verbs are compared as they are written", []rbacv1.PolicyRule{rule("", "namespaces", "GET")}, Verdict{}},
		{"a URL", []rbacv1.PolicyRule{{NonResourceURLs: []string{"*"}, Verbs: []string{"get"}}}, Verdict{}},
		{"single names", []rbacv1.PolicyRule{rule("", "namespaces", "get", "b", "a"), rule("", "namespaces", "get", "a")}, Verdict{Names: []string{"a", "b"}}},
		{"names never allow to list", []rbacv1.PolicyRule{rule("", "resourcequotas", "list", "compute")}, Verdict{}},
		{"but for the empty one, which is that of a list", []rbacv1.PolicyRule{rule("", "resourcequotas", "list", "")}, list},
		{"the empty name is no namespace's", []rbacv1.PolicyRule{rule("", "namespaces", "get", "")}, Verdict{Names: []string{""}}},
		{"names beside all", []rbacv1.PolicyRule{rule("", "namespaces", "get", "a"), rule("", "namespaces", "get")}, Verdict{Rights: Rights{Get: true}, Names: []string{"a"}}},
		{"one rule with both, among others", []rbacv1.PolicyRule{
			rule("apps", "*", "*"),
			{APIGroups: []string{"", "apps"}, Resources: []string{"pods", "namespaces", "resourcequotas"}, Verbs: []string{"get", "list"}},
		}, both},
	} {
		if diff := cmp.Diff(c.want, VerdictOf(c.rules)); diff != "" {
			t.Errorf("%s: %s", c.reason, diff)
		}
		for _, namespace := range []string{"a", "b", "n"} { // in one namespace, and again by the rules that are kept of it
			want := c.want.In(namespace)
			if got := RightsIn(c.rules, namespace); got != want {
				t.Errorf("%s: %+v in %s, not %+v", c.reason, got, namespace, want)
			}
			if got := VerdictOf(RulesOf(want)); !got.Equal(Verdict{Rights: want}) {
				t.Errorf("%+v is kept as %+v", want, got)
			}
		}
		for _, r := range c.rules {
			v := VerdictOf([]rbacv1.PolicyRule{r})
			if bears := v.Any() || len(v.Names) > 0; bears != Bears(r) {
				t.Errorf("%s: Bears is %t for %v", c.reason, Bears(r), r)
			}
		}
	}
}

func TestVerdictIn(t *testing.T) {
	v := Verdict{Rights: Rights{List: true}, Names: []string{"a", "c"}}
	for namespace, want := range map[string]Rights{"a": {Get: true, List: true}, "b": {List: true}, "c": {Get: true, List: true}} {
		if got := v.In(namespace); got != want {
			t.Errorf("%s: %+v, not %+v", namespace, got, want)
		}
	}
}

func TestSubjectsOf(t *testing.T) {
	account := func(namespace string) rbacv1.Subject {
		return rbacv1.Subject{Kind: "ServiceAccount", Namespace: namespace, Name: "bot"}
	}
	bot := func(namespace string) Subject { return UserSubject("system:serviceaccount:" + namespace + ":bot") }
	for _, c := range []struct {
		reason, namespace string
		subjects          []rbacv1.Subject
		want              []Subject
	}{
		{"a user and a group of the same name", "n", []rbacv1.Subject{{Kind: "User", Name: "x"}, {Kind: "Group", Name: "x"}}, []Subject{UserSubject("x"), GroupSubject("x")}},
		{"an account", "n", []rbacv1.Subject{account("m")}, []Subject{bot("m")}},
		{"an account without a namespace is the binding's", "n", []rbacv1.Subject{account("")}, []Subject{bot("n")}},
		{"and nobody in a ClusterRoleBinding", "", []rbacv1.Subject{account("")}, []Subject{}},
		{"an account by its long name", "n", []rbacv1.Subject{{Kind: "User", Name: "system:serviceaccount:m:bot"}, account("m")}, []Subject{bot("m")}},
		{"a kind that is none", "n", []rbacv1.Subject{{Kind: "user", Name: "x"}}, []Subject{}},
		{"twice", "n", []rbacv1.Subject{{Kind: "User", Name: "x"}, {Kind: "User", Name: "x", APIGroup: "other"}}, []Subject{UserSubject("x")}},
	} {
		got := SubjectsOf(c.namespace, c.subjects)
		if !cmp.Equal(c.want, got, cmp.Comparer(func(a, b Subject) bool { return a == b })) {
			t.Errorf("%s: %v, not %v", c.reason, got, c.want)
		}
	}
}

func TestOf(t *testing.T) {
	sam, builders := UserSubject("sam"), GroupSubject("builders")
	view, none := Verdict{Rights: Rights{Get: true, List: true}}, Verdict{}
	grants := GrantsOf("n", []Binding{
		{Role: "ClusterRole/view", Verdict: view, Subjects: []Subject{builders}, Version: 7},
		{Role: "Role/pods", Verdict: none, Subjects: []Subject{sam, builders}, Version: 9},
		{Role: "Role/named", Verdict: Verdict{Names: []string{"n"}}, Subjects: []Subject{UserSubject("kim")}, Version: 3},
		{Role: "Role/other", Verdict: Verdict{Names: []string{"m"}}, Subjects: []Subject{UserSubject("tom")}, Version: 4},
		{Role: "Role/old", Verdict: none, Subjects: []Subject{GroupSubject("elders")}, Version: 2},
	})
	cluster := ClusterOf([]Binding{
		{Role: "ClusterRole/auditor", Verdict: view, Subjects: []Subject{GroupSubject("auditors")}},
		{Role: "ClusterRole/quotas", Verdict: Verdict{Rights: Rights{List: true}}, Subjects: []Subject{UserSubject("bill")}},
		{Role: "ClusterRole/pick", Verdict: Verdict{Names: []string{"m", "n"}}, Subjects: []Subject{UserSubject("ann")}},
		{Role: "ClusterRole/nothing", Verdict: none, Subjects: []Subject{sam}},
	})
	for _, c := range []struct {
		reason string
		user   User
		want   Answer
	}{
		{"a role that does not allow to get it", NewUser("sam", nil), Answer{Roles: []string{"Role/pods"}, Version: 9}},
		{"by a group", NewUser("sam", []string{"builders"}), Answer{Rights: view.Rights, Roles: []string{"ClusterRole/view", "Role/pods"}, Version: 9}},
		{"a group of that name only", NewUser("builders", nil), Answer{}},
		{"the last change counts, that of the user", NewUser("sam", []string{"elders"}), Answer{Roles: []string{"Role/old", "Role/pods"}, Version: 9}},
		{"or that of a group", NewUser("tom", []string{"builders"}), Answer{
			Rights: view.Rights, Roles: []string{"ClusterRole/view", "Role/other", "Role/pods"}, Version: 9,
		}},
		{"by name in a Role", NewUser("kim", nil), Answer{Rights: Rights{Get: true}, Roles: []string{"Role/named"}, Version: 3}},
		{"by another name", NewUser("tom", nil), Answer{Roles: []string{"Role/other"}, Version: 4}},
		{"everywhere", NewUser("x", []string{"auditors"}), Answer{Rights: view.Rights, Roles: []string{"ClusterRole/auditor"}}},
		{"a cluster-wide role that does not allow to get it is not shown", NewUser("bill", nil), Answer{Rights: Rights{List: true}}},
		{"by name everywhere", NewUser("ann", nil), Answer{Rights: Rights{Get: true}, Roles: []string{"ClusterRole/pick"}}},
		{"both", NewUser("kim", []string{"auditors"}), Answer{Rights: view.Rights, Roles: []string{"ClusterRole/auditor", "Role/named"}, Version: 3}},
		{"a master", NewUser("sam", []string{"system:masters"}), Answer{Rights: Rights{Get: true, List: true}, Roles: []string{"*"}}},
		{"a user who is called as the group of masters", NewUser("system:masters", nil), Answer{}},
		{"a stranger", NewUser("eve", nil), Answer{}},
	} {
		if diff := cmp.Diff(c.want, Of(c.user, cluster, "n", grants)); diff != "" {
			t.Errorf("%s: %s", c.reason, diff)
		}
	}
	if got := Of(NewUser("ann", nil), cluster, "k", nil); got.Any() {
		t.Errorf("a name gives rights in another namespace: %+v", got)
	}
	if scope := ScopeOf(NewUser("ann", []string{"auditors"}), cluster); !scope.All.Get || len(scope.Names) != 2 {
		t.Errorf("the scope is %+v", scope)
	}
	if _, known := cluster[sam]; known {
		t.Error("a role that grants nothing takes memory")
	}
}

// Shared lists of roles are never written into.
func TestAnswersShareNothing(t *testing.T) {
	var bindings []Binding
	for _, role := range []string{"Role/b", "Role/c", "Role/d"} {
		bindings = append(bindings, Binding{Role: role, Subjects: []Subject{UserSubject("sam")}})
	}
	bindings = append(bindings, Binding{Role: "Role/a", Subjects: []Subject{GroupSubject("g")}}, Binding{Role: "Role/z", Subjects: []Subject{GroupSubject("h")}})
	grants := GrantsOf("n", bindings)
	first := Of(NewUser("sam", []string{"g"}), nil, "n", grants)
	second := Of(NewUser("sam", []string{"h"}), nil, "n", grants)
	if diff := cmp.Diff([]string{"Role/a", "Role/b", "Role/c", "Role/d"}, first.Roles); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Role/b", "Role/c", "Role/d", "Role/z"}, second.Roles); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Role/b", "Role/c", "Role/d"}, grants[UserSubject("sam")].Roles); diff != "" {
		t.Error(diff)
	}
}

func TestEqual(t *testing.T) {
	binding := Binding{Role: "Role/a", Verdict: Verdict{Names: []string{"n"}}, Subjects: []Subject{UserSubject("sam")}, Version: 1}
	later, other, wider := binding, binding, binding
	later.Version, other.Role = 2, "Role/b"
	wider.Verdict = Verdict{Rights: Rights{Get: true}}
	for reason, b := range map[string]Binding{"a later binding": later, "another role": other} {
		if GrantsOf("n", []Binding{binding}).Equal(GrantsOf("n", []Binding{b})) {
			t.Errorf("%s gives the same", reason)
		}
	}
	for reason, b := range map[string]Binding{"another role": other, "more rights": wider} {
		if ClusterOf([]Binding{binding}).Equal(ClusterOf([]Binding{b})) {
			t.Errorf("%s gives the same everywhere", reason)
		}
	}
	if !GrantsOf("n", []Binding{binding}).Equal(GrantsOf("n", []Binding{binding})) || !ClusterOf([]Binding{binding}).Equal(ClusterOf([]Binding{later})) {
		t.Error("equal ones differ")
	}
}

func TestManySubjectsTakeNoTime(t *testing.T) {
	limit.Labeled(t, limit.Timed)
	subjects := make([]rbacv1.Subject, 200_000)
	for i := range subjects {
		subjects[i] = rbacv1.Subject{Kind: rbacv1.UserKind, Name: strconv.Itoa(i)}
	}
	begin := limit.ProcessorTime(t)
	if got := len(SubjectsOf("a", subjects)); got != len(subjects) {
		t.Errorf("%d subjects", got)
	}
	if took := limit.ProcessorTime(t) - begin; took > 5*time.Second { // comparing each with each other takes longer
		t.Errorf("that takes %s of a processor", took)
	}
}

// A tenant may bind many roles to the same subjects. Copying the list of roles for each of them takes memory by the square of their number.
func TestManyRolesTakeLittleMemory(t *testing.T) {
	limit.Labeled(t, limit.Timed)
	var bindings []Binding
	for i := range 2000 {
		bindings = append(bindings, Binding{Role: fmt.Sprintf("Role/%04d", 2000-i), Subjects: []Subject{UserSubject("a"), UserSubject("b")}})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	grants := GrantsOf("n", bindings)
	runtime.ReadMemStats(&after)
	if roles := grants[UserSubject("b")].Roles; len(roles) != 2000 || !slices.IsSorted(roles) {
		t.Errorf("%d roles, sorted: %t", len(roles), slices.IsSorted(roles))
	}
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 5 {
		t.Errorf("it takes %d MiB", used)
	}
}
