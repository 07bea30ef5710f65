// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/tenancy"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// describeComplete fails when a kind lacks something that every kind has.
func describeComplete() {
	Describe("Completeness", Label("Completeness"), func() {
		for _, crd := range readCRDs() {
			It("of the resource "+crd.Spec.Names.Kind, func() { completeResource(crd) })
		}
		for _, row := range operator.Kinds {
			k := newKind(row)
			It("of the kind "+k.name, func(ctx context.Context) {
				completeKind(k)
				start()
				Expect(k.fixture).NotTo(BeNil(), "it has no line in fixtures")
				mayDoAllToChildren(ctx, k)
			})
		}
		It("of the fixtures", func() {
			var kinds []string
			for _, k := range table() {
				kinds = append(kinds, k.name)
			}
			Expect(sortedKeys(fixtures)).To(ConsistOf(kinds))
		})
	})
}

// readCRDs reads the generated CRDs.
var readCRDs = sync.OnceValue(func() []*apiextensionsv1.CustomResourceDefinition {
	files, err := filepath.Glob(testenv.RepoFile("config", "crd", "bases", "*.yaml"))
	if err != nil || len(files) == 0 {
		panic(fmt.Sprintf("there are no CRDs: %v", err))
	}
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		text, err := os.ReadFile(file)
		if err == nil {
			err = yaml.UnmarshalStrict(text, crd)
		}
		if err != nil {
			panic(fmt.Sprintf("reading %s: %v", file, err))
		}
		all = append(all, crd)
	}
	return all
})

func crdScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	Expect(apiextensionsv1.AddToScheme(s)).To(Succeed())
	return s
}

// crd is the generated CRD of a kind.
func (k *kind) crd() *apiextensionsv1.CustomResourceDefinition {
	GinkgoHelper()
	for _, crd := range readCRDs() {
		if crd.Spec.Group == k.gvk.Group && crd.Spec.Names.Kind == k.name {
			return crd
		}
	}
	Fail("there is no CRD of " + k.name)
	return nil
}

func (k *kind) plural() string  { return k.crd().Spec.Names.Plural }
func (k *kind) crdName() string { return k.crd().Name }

// completeResource checks what each of the operator's resources has, also one without a controller.
func completeResource(crd *apiextensionsv1.CustomResourceDefinition) {
	GinkgoHelper()
	n := crd.Spec.Names
	Expect(n.ShortNames).NotTo(BeEmpty(), "it has no short name")
	Expect(n.Categories).To(ContainElement("acme"))
	group, _, _ := strings.Cut(crd.Spec.Group, ".")
	for _, v := range crd.Spec.Versions {
		Expect(columns(v)).To(ContainElement("Age"))
		Expect(v.Schema.OpenAPIV3Schema.Description).NotTo(BeEmpty())
		sample := testenv.RepoFile("config", "samples", fmt.Sprintf("%s_%s_%s.yaml", group, v.Name, n.Singular))
		objects, err := testenv.ReadObjects(sample)
		Expect(err).NotTo(HaveOccurred())
		Expect(objects).To(HaveLen(1), sample)
		Expect(objects[0].GroupVersionKind().String()).To(Equal(fmt.Sprintf("%s/%s, Kind=%s", crd.Spec.Group, v.Name, n.Kind)), sample)
		Expect(projectHas(group, v.Name, n.Kind)).NotTo(BeNil(), "it is not in PROJECT")
	}
	Expect(testenv.RepoFile("docs", "kinds", n.Singular+".md")).To(BeARegularFile())
}

func columns(v apiextensionsv1.CustomResourceDefinitionVersion) []string {
	var all []string
	for _, c := range v.AdditionalPrinterColumns {
		all = append(all, c.Name)
	}
	return all
}

// projectResource is an entry of the file PROJECT.
type projectResource struct {
	API        *struct{ CRDVersion string }
	Controller bool
	Group      string
	Version    string
	Kind       string
	Webhooks   *struct{ WebhookVersion string }
}

func projectHas(group, version, kind string) *projectResource {
	GinkgoHelper()
	text, err := os.ReadFile(testenv.RepoFile("PROJECT"))
	Expect(err).NotTo(HaveOccurred())
	var project struct{ Resources []projectResource }
	Expect(yaml.Unmarshal(text, &project)).To(Succeed())
	for _, r := range project.Resources {
		if strings.HasPrefix(group, r.Group) && r.Version == version && r.Kind == kind && r.API != nil {
			return &r
		}
	}
	return nil
}

// completeKind checks what each kind with a controller has.
func completeKind(k *kind) {
	GinkgoHelper()
	crd := k.crd()
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == k.gvk.Version })
	Expect(i).To(BeNumerically(">=", 0), "the CRD has not this version")
	version := crd.Spec.Versions[i]
	Expect(version.Subresources).NotTo(BeNil())
	Expect(version.Subresources.Status).NotTo(BeNil(), "status is no subresource")
	Expect(columns(version)).To(ContainElements("Ready", "Reason"))
	Expect(version.Schema.OpenAPIV3Schema.Properties["status"].Properties).To(And(HaveKey("conditions"), HaveKey("observedGeneration")))

	group, _, _ := strings.Cut(k.gvk.Group, ".")
	project := projectHas(group, k.gvk.Version, k.name)
	Expect(project).NotTo(BeNil())
	Expect(project.Controller).To(BeTrue(), "PROJECT knows of no controller")
	Expect(project.Webhooks != nil).To(Equal(k.row.Webhook != nil), "PROJECT and the table differ about webhooks")

	page, err := os.ReadFile(testenv.RepoFile("docs", "kinds", k.controller+".md"))
	Expect(err).NotTo(HaveOccurred())
	Expect(k.row.Conditions).NotTo(BeEmpty())
	for _, condition := range append([]string{engine.Ready, engine.Stalled, engine.Paused}, k.row.Conditions...) {
		Expect(explains(string(page), condition)).To(BeTrue(), "the page has no row on the condition "+condition)
	}
	if crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
		Expect(adminMayWrite(crd)).To(BeTrue(), "administrators of namespaces cannot use it: see tenancy.AdminRules")
	}
}

// explains tells whether a table of a page has a row about a condition.
func explains(page, condition string) bool {
	return regexp.MustCompile(`(?m)^\|[^|]*\b` + condition + `\b[^|]*\|`).MatchString(page)
}

func adminMayWrite(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(tenancy.AdminRules(), func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.APIGroups, crd.Spec.Group) && slices.Contains(r.Resources, crd.Spec.Names.Plural) &&
			slices.Contains(r.Verbs, "create") && slices.Contains(r.Verbs, "delete") && slices.Contains(r.Verbs, "patch")
	})
}

// mayDoAllToChildren checks that the role lets the operator make, watch, repair and prune each child.
func mayDoAllToChildren(ctx context.Context, k *kind) {
	GinkgoHelper()
	if k.fixture.Childless() {
		return
	}
	for _, variant := range variants(k) {
		o := k.several(1, "complete", variant)[0]
		found := 0
		everything(ctx, func(r served, child *unstructured.Unstructured) {
			own := child.GetLabels()[names.LabelOwnerUID] == string(o.GetUID())
			if !own {
				return
			}
			found++
			for _, verb := range []string{"create", "delete", "get", "list", "patch", "watch"} {
				a := &authorizationv1.ResourceAttributes{
					Verb: verb, Group: r.Group, Resource: r.Resource, Namespace: child.GetNamespace(),
				}
				if !slices.Contains([]string{"create", "list", "watch"}, verb) {
					a.Name = child.GetName()
				}
				review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
					User: testenv.OperatorUser, ResourceAttributes: a,
				}}
				Create(review)
				Expect(review.Status.Allowed).To(BeTrue(), "%s %s", verb, r.Resource)
			}
		})
		Expect(found).To(BeNumerically(">", 0))
	}
}
