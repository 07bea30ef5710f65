/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package rebootpolicy_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/operator"
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
		create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "author"}, Rules: rules})
		create(&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "author"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "author"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "author-" + ns}},
		})
		config, err := plane.User("author-" + ns)
		Expect(err).NotTo(HaveOccurred())
		c, err := client.New(config, client.Options{Scheme: operator.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		return c
	}

	It("is refused who may not read the Secret", func() {
		ns := namespace()
		other := rule("", "get", "secrets")
		other.ResourceNames = []string{"another"}
		weak := author(ns, other)
		// A dry run leaves nothing behind that the next try would meet.
		Eventually(func() error { return weak.Create(ctx, policy(ns, "p"), client.DryRunAll) }).Should(
			MatchError(ContainSubstring("a RebootPolicy needs the right to get the Secret that spec.source.credentialsSecretRef names")))
	})

	It("is admitted who may", func() {
		ns := namespace()
		this := rule("", "get", "secrets")
		this.ResourceNames = []string{"db"}
		strong := author(ns, this)
		Eventually(func() error { return strong.Create(ctx, policy(ns, "p")) }).Should(Succeed())
	})
})
