// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// The operator sends what is in a Secret to a server of the author's choice. Nobody may learn it that way.
var _ = Describe("The author of a RebootPolicy", func() {
	rule := func(group, verb string, resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Verbs: []string{verb}, Resources: resources}
	}
	author := func(ns string, more ...rbacv1.PolicyRule) client.Client {
		rules := append([]rbacv1.PolicyRule{
			rule("autoreboot.acme.com", "create", "rebootpolicies"), rule("apps", "patch", "deployments", "statefulsets", "daemonsets"),
			rule("", "create", "pods/eviction"),
		}, more...)
		return Author(ns, "author-"+ns, rules...)
	}

	It("rejects an author who may not read the Secret", func() {
		ns := namespaceWithSecret()
		other := rule("", "get", "secrets")
		other.ResourceNames = []string{"another"}
		weak := author(ns, other)
		Eventually(func() error { return weak.Create(ctx, policy(ns, "p"), client.DryRunAll) }).Should(
			MatchError(ContainSubstring("a RebootPolicy needs the right to get the Secret that spec.source.credentialsSecretRef names")))
	})

	It("rejects an author who may not read each Secret that the policy names", func() {
		full := policy("somewhere", "p")
		named := secretRefs(reflect.ValueOf(&full.Spec).Elem(), "spec")
		Expect(named).To(And(HaveKey("spec.source.credentialsSecretRef"), HaveKey("spec.source.tls.caSecretRef")))
		for missing := range named {
			ns := namespaceWithSecret()
			p := full.DeepCopy()
			p.Namespace = ns
			others := rule("", "get", "secrets")
			others.ResourceNames = []string{"none"}
			for path, name := range named {
				if path != missing {
					others.ResourceNames = append(others.ResourceNames, name)
				}
			}
			weak := author(ns, others)
			Eventually(func() error { return weak.Create(ctx, p.DeepCopy(), client.DryRunAll) }).Should(
				MatchError(ContainSubstring("a RebootPolicy needs the right to get the Secret that "+missing+" names")), missing)
		}
	})

	It("rejects an author who may not read the connection Secret of the Database", func() {
		naming := func(ns, database string) *v1alpha1.RebootPolicy {
			return policy(ns, "p", func(s *v1alpha1.RebootPolicySpec) {
				s.Source = v1alpha1.DatabaseSource{DatabaseRef: &v1alpha1.DatabaseReference{Name: database}}
			})
		}
		reader := func(ns string, secrets ...string) client.Client {
			r := rule("", "get", "secrets")
			r.ResourceNames = secrets
			return author(ns, r)
		}
		ns := Namespace()
		weak := reader(ns, "another")
		Eventually(func() error { return weak.Create(ctx, naming(ns, "db"), client.DryRunAll) }).Should(
			MatchError(ContainSubstring("a RebootPolicy needs the right to get the connection Secret of the Database that spec.source.databaseRef names")))
		ns = Namespace()
		strong := reader(ns, "db")
		Eventually(func() error { return strong.Create(ctx, naming(ns, "db"), client.DryRunAll) }).Should(Succeed())

		By("naming Databases whose connection Secrets have names that the API server cannot know")
		hashed := []string{"a.b", "1db", "db-0123456789", strings.Repeat("d", 41)}
		readable := slices.Clone(hashed)
		for _, database := range hashed {
			Expect(names.DatabaseName(database)).NotTo(Equal(database))
			readable = append(readable, names.DatabaseName(database))
		}
		ns = Namespace()
		weak = reader(ns, readable...)
		for _, database := range hashed {
			Eventually(func() error { return weak.Create(ctx, naming(ns, database), client.DryRunAll) }).Should(
				MatchError(ContainSubstring("a RebootPolicy needs the right to get all Secrets in this namespace")), database)
		}
		ns = Namespace()
		strong = reader(ns)
		for _, database := range hashed {
			Eventually(func() error { return strong.Create(ctx, naming(ns, database), client.DryRunAll) }).Should(Succeed(), database)
		}
	})

	It("is admitted who may", func() {
		ns := namespaceWithSecret()
		this := rule("", "get", "secrets")
		this.ResourceNames = []string{"db"}
		strong := author(ns, this)
		Eventually(func() error { return strong.Create(ctx, policy(ns, "p")) }).Should(Succeed())
	})
})

// secretRefs gives every reference to a Secret in a value of our API a name of its own, by the reference's path, and
// fills in what is on the way to it.
func secretRefs(v reflect.Value, path string) map[string]string {
	all := map[string]string{}
	switch {
	case v.Kind() == reflect.Pointer:
		filled := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			filled = v
		}
		if all = secretRefs(filled.Elem(), path); len(all) > 0 {
			v.Set(filled)
		}
	case v.Kind() == reflect.Struct && strings.HasSuffix(path, "SecretRef"):
		all[path] = strings.ToLower(strings.ReplaceAll(path, ".", "-"))
		v.FieldByName("Name").SetString(all[path])
	case v.Kind() == reflect.Struct && strings.Contains(v.Type().PkgPath(), "acme"):
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			maps.Copy(all, secretRefs(v.Field(i), path+"."+name))
		}
	}
	return all
}
