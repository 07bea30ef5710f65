// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// account is a service account of the bundle, without the prefix that all names have.
type account struct {
	name string
	// rbac is the folder with its rights, and role the name of the Role with those in its own namespace.
	rbac []string
	role string
}

var accounts = []account{
	{"controller-manager", []string{"config", "rbac", "*.yaml"}, "platform-operator-namespaced"},
	{"views", []string{"config", "views", "rbac", "*.yaml"}, "platform-operator-views-namespaced"},
}

// granted is what its folder lets an account do: everywhere, and in its own namespace.
func (a account) granted(t *testing.T) (cluster, namespaced []string) {
	t.Helper()
	rules := map[string][]rbacv1.PolicyRule{}
	var bindings []rbacv1.ClusterRoleBinding
	for _, file := range glob(t, a.rbac...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			kind := kindOf(t, document)
			switch kind {
			case "ClusterRole", "Role":
				var role rbacv1.ClusterRole // a Role has the same fields
				decode(t, document, &role)
				rules[kind+role.Name] = role.Rules
			case "ClusterRoleBinding", "RoleBinding":
				var binding rbacv1.ClusterRoleBinding
				decode(t, document, &binding)
				binding.Kind = kind
				bindings = append(bindings, binding)
			}
		}
	}
	for _, b := range bindings {
		if !slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool { return s.Name == a.name }) {
			continue
		}
		allowed := flat(rules[b.RoleRef.Kind+b.RoleRef.Name])
		if len(allowed) == 0 {
			t.Errorf("%s %s allows nothing", b.RoleRef.Kind, b.RoleRef.Name)
		}
		if b.Kind == "ClusterRoleBinding" {
			cluster = append(cluster, allowed...)
		} else {
			namespaced = append(namespaced, allowed...)
		}
	}
	return unique(cluster), unique(namespaced)
}

func unique(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}

// TestPermissionsAreThoseOfConfigRBAC checks that the Operator Lifecycle Manager gives each account what
// `make deploy` does: no more, no less, and nothing of it in more namespaces.
func TestPermissionsAreThoseOfConfigRBAC(t *testing.T) {
	spec := load(t).CSV.Spec.InstallStrategy.StrategySpec
	if len(spec.Permissions) > 0 {
		t.Error("spec.install.spec.permissions is not empty: OLM would make cluster-wide permissions of it")
	}
	inCSV, inRoles := map[string][]string{}, map[string][]string{}
	for _, p := range spec.ClusterPermissions {
		inCSV[p.ServiceAccountName] = append(inCSV[p.ServiceAccountName], flat(p.Rules)...)
	}
	for _, role := range bundled[rbacv1.Role](t, "Role") {
		inRoles[role.Name] = flat(role.Rules)
	}
	if len(inCSV) != len(accounts) || len(inRoles) != len(accounts) {
		t.Errorf("there are %d accounts and %d Roles, want %d of each", len(inCSV), len(inRoles), len(accounts))
	}
	for _, a := range accounts {
		cluster, namespaced := a.granted(t)
		if more, less := difference(unique(inCSV["platform-operator-"+a.name]), cluster); len(more)+len(less) > 0 {
			t.Errorf("%s, in the cluster: more %q, less %q", a.name, more, less)
		}
		if more, less := difference(unique(inRoles[a.role]), namespaced); len(more)+len(less) > 0 {
			t.Errorf("%s, in its namespace: more %q, less %q", a.name, more, less)
		}
	}
}

// TestTheReaderOnlyReads checks that the account of the views, which answers every user, reads no content and writes nothing but the end of
// its own registration.
func TestTheReaderOnlyReads(t *testing.T) {
	reviews := []string{"tokenreviews", "subjectaccessreviews"}
	for _, p := range load(t).CSV.Spec.InstallStrategy.StrategySpec.ClusterPermissions {
		if p.ServiceAccountName != "platform-operator-views" {
			continue
		}
		for _, line := range flat(p.Rules) {
			verb, rest, _ := strings.Cut(line, " ")
			resource, _, _ := strings.Cut(rest, ".")
			switch {
			case slices.Contains([]string{"get", "list", "watch"}, verb) && resource != "secrets" && resource != "pods" && resource != "*":
			case verb == "create" && slices.Contains(reviews, resource):
			case line == "delete apiservices.apiregistration.k8s.io v1alpha1.views.acme.com":
			default:
				t.Errorf("it may %s", line)
			}
			if resource == "configmaps" && !strings.HasSuffix(line, " extension-apiserver-authentication") {
				t.Errorf("it may %s", line)
			}
		}
	}
}

// TestTheRegistrationGoesWithTheOperator checks that the rule by which the operator recognizes the ClusterRole that OLM makes for it is among the
// permissions: the APIService belongs to that ClusterRole, and without it the views are not registered.
func TestTheRegistrationGoesWithTheOperator(t *testing.T) {
	found := map[string]int{}
	for _, p := range load(t).CSV.Spec.InstallStrategy.StrategySpec.ClusterPermissions {
		for _, line := range flat(p.Rules) {
			if line == "patch apiservices.apiregistration.k8s.io v1alpha1.views.acme.com" {
				found[p.ServiceAccountName]++
			}
		}
	}
	if len(found) != 1 || found["platform-operator-controller-manager"] != 1 {
		t.Errorf("the right to change the APIService is given to %v", found)
	}
}

// TestRoleBindingFollowsTheNamespace checks that each Role is bound to its account wherever that is installed.
func TestRoleBindingFollowsTheNamespace(t *testing.T) {
	bindings := bundled[rbacv1.RoleBinding](t, "RoleBinding")
	owner := map[string]string{}
	for _, a := range accounts {
		owner[a.role] = a.name
	}
	for _, role := range bundled[rbacv1.Role](t, "Role") {
		i := slices.IndexFunc(bindings, func(b *rbacv1.RoleBinding) bool { return b.RoleRef.Kind == "Role" && b.RoleRef.Name == role.Name })
		if i < 0 {
			t.Errorf("the Role %s is not bound", role.Name)
			continue
		}
		want := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "platform-operator-" + owner[role.Name]}}
		if got := bindings[i].Subjects; !slices.Equal(got, want) {
			t.Errorf("the Role %s is bound to %v; want the service account, without a namespace", role.Name, got)
		}
	}
}

// everywhere is what may be done with Secrets in every namespace: ConfigWatchers and RebootPolicies read those that they name, and
// Databases have two each, to which the policy database-bounds restricts what is written.
var everywhere = []string{"create", "delete", "get", "list", "patch", "watch"}

// ledgers is what may be done with Leases in every namespace: each LeaderElection has one beside it, in which it records who leads. The
// operator's own is in its namespace.
var ledgers = []string{"create", "delete", "get", "list", "update", "watch"}

// tooWide has what the rules allow in every namespace and should not: Secrets and Leases but for the verbs above, and everything.
func tooWide(rules []rbacv1.PolicyRule) []string {
	var wrong []string
	for _, line := range flat(rules) {
		verb, rest, _ := strings.Cut(line, " ")
		resource, _, _ := strings.Cut(rest, ".")
		switch {
		case resource == "secrets" && !slices.Contains(everywhere, verb), resource == "leases" && !slices.Contains(ledgers, verb), resource == "*", verb == "*":
			wrong = append(wrong, line)
		}
	}
	return wrong
}

// TestSecretsAndLeasesAreNarrow names the rules whose place matters most.
func TestSecretsAndLeasesAreNarrow(t *testing.T) {
	for _, p := range load(t).CSV.Spec.InstallStrategy.StrategySpec.ClusterPermissions {
		for _, wrong := range tooWide(p.Rules) {
			t.Errorf("%s: this may be done in every namespace", wrong)
		}
	}
}

// TestTooWide shows that the check above sees what it speaks of.
func TestTooWide(t *testing.T) {
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	if wrong := tooWide([]rbacv1.PolicyRule{rule("", "secrets", everywhere...), rule("coordination.k8s.io", "leases", ledgers...), rule("", "configmaps", "create")}); len(wrong) > 0 {
		t.Errorf("nothing is wrong, got %q", wrong)
	}
	for _, r := range []rbacv1.PolicyRule{
		rule("", "secrets", "update"), rule("", "secrets", "deletecollection"), rule("", "secrets", "*"),
		rule("coordination.k8s.io", "leases", "patch"), rule("coordination.k8s.io", "leases", "deletecollection"), rule("", "*", "get"), rule("", "pods", "*"),
	} {
		if wrong := tooWide([]rbacv1.PolicyRule{r}); len(wrong) != 1 {
			t.Errorf("%v is too wide, got %q", r, wrong)
		}
	}
}

// aggregated has what the bundle adds to the roles view, edit and admin. Kubernetes aggregates view to edit,
// and edit to admin.
func aggregated(roles []*rbacv1.ClusterRole) map[string][]string {
	added := map[string][]string{}
	for _, role := range roles {
		for i, to := range []string{"view", "edit", "admin"} {
			if role.Labels["rbac.authorization.k8s.io/aggregate-to-"+to] != "true" {
				continue
			}
			for _, inherits := range []string{"view", "edit", "admin"}[i:] {
				added[inherits] = append(added[inherits], flat(role.Rules)...)
			}
		}
	}
	return added
}

// wrongAggregation says what is wrong with how a kind is handed to those who hold view, edit or admin in a
// namespace: of a namespaced kind they get it, of a cluster-scoped one nothing.
func wrongAggregation(crd *apiextensionsv1.CustomResourceDefinition, roles []*rbacv1.ClusterRole) []string {
	var wrong []string
	added := aggregated(roles)
	resource := crd.Spec.Names.Plural + "." + crd.Spec.Group + " *any*"
	if crd.Spec.Scope == apiextensionsv1.ClusterScoped {
		for to, allowed := range added {
			for _, line := range allowed {
				if strings.Contains(line, " "+crd.Spec.Names.Plural) {
					wrong = append(wrong, to+" gets: "+line)
				}
			}
		}
		return wrong
	}
	for to, verbs := range map[string][]string{
		"view":  {"get", "list", "watch"},
		"edit":  {"create", "delete", "get", "list", "patch", "update", "watch"},
		"admin": {"create", "delete", "get", "list", "patch", "update", "watch"},
	} {
		for _, verb := range verbs {
			if !slices.Contains(added[to], verb+" "+resource) {
				wrong = append(wrong, to+" lacks: "+verb)
			}
		}
	}
	for _, line := range added["view"] {
		if !strings.HasPrefix(line, "get ") && !strings.HasPrefix(line, "list ") && !strings.HasPrefix(line, "watch ") {
			wrong = append(wrong, "view gets: "+line)
		}
	}
	return wrong
}

// TestAggregation checks the roles that the bundle ships, so that the editor of a namespace may use our
// namespaced kinds at once, and of those that decide over tenants gets nothing.
func TestAggregation(t *testing.T) {
	roles := bundled[rbacv1.ClusterRole](t, "ClusterRole")
	if len(roles) == 0 {
		t.Fatal("the bundle has no ClusterRoles")
	}
	for _, crd := range crds(t) {
		for _, wrong := range wrongAggregation(crd, roles) {
			t.Errorf("%s (see docs/develop/add-a-kind.md): %s", crd.Spec.Names.Kind, wrong)
		}
	}
}

// TestWrongAggregation shows that the check above sees both mistakes.
func TestWrongAggregation(t *testing.T) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Spec.Group, crd.Spec.Names.Plural, crd.Spec.Scope = "example.com", "widgets", apiextensionsv1.NamespaceScoped
	role := func(label string, verbs ...string) *rbacv1.ClusterRole {
		r := &rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{{APIGroups: []string{"example.com"}, Resources: []string{"widgets"}, Verbs: verbs}}}
		r.Labels = map[string]string{"rbac.authorization.k8s.io/aggregate-to-" + label: "true"}
		return r
	}
	viewer, editor := role("view", "get", "list", "watch"), role("edit", "create", "delete", "patch", "update")
	if wrong := wrongAggregation(crd, []*rbacv1.ClusterRole{viewer, editor}); len(wrong) > 0 {
		t.Errorf("nothing is wrong, got %q", wrong)
	}
	if wrong := wrongAggregation(crd, []*rbacv1.ClusterRole{viewer}); len(wrong) != 8 {
		t.Errorf("edit and admin lack four verbs each, got %q", wrong)
	}
	if wrong := wrongAggregation(crd, []*rbacv1.ClusterRole{viewer, editor, role("view", "delete")}); len(wrong) != 1 {
		t.Errorf("view may delete, got %q", wrong)
	}
	crd.Spec.Scope = apiextensionsv1.ClusterScoped
	if wrong := wrongAggregation(crd, []*rbacv1.ClusterRole{viewer}); len(wrong) != 9 {
		t.Errorf("view, edit and admin get three verbs each, got %q", wrong)
	}
}

// TestEveryRoleOfConfigRBACIsBundled checks that no role for people is forgotten.
func TestEveryRoleOfConfigRBACIsBundled(t *testing.T) {
	roles := bundled[rbacv1.ClusterRole](t, "ClusterRole")
	files := append(glob(t, "config", "rbac", "*_role.yaml"), glob(t, "config", "views", "rbac", "*_role.yaml")...)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		if slices.Contains([]string{"leader_election_role.yaml", "metrics_auth_role.yaml"}, name) {
			continue // which are bound to the operator
		}
		var role rbacv1.ClusterRole
		decode(t, string(text), &role)
		if !slices.ContainsFunc(roles, func(r *rbacv1.ClusterRole) bool { return r.Name == "platform-operator-"+role.Name }) {
			t.Errorf("%s is not in the bundle: is it in the kustomization.yaml beside it?", name)
		}
	}
}
