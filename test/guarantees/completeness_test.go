// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// TestEveryKindHasAFixture wants the guarantees to run over every row of the table.
func TestEveryKindHasAFixture(t *testing.T) {
	var kinds []string
	for _, k := range table() {
		kinds = append(kinds, k.name)
	}
	slices.Sort(kinds)
	if diff := cmp.Diff(kinds, sortedKeys(fixtures)); diff != "" {
		t.Errorf("kinds and fixtures differ (-kinds +fixtures):\n%s", diff)
	}
}

// describeComplete checks what test/kinds cannot see without a cluster.
func describeComplete(all []*kind) {
	Describe("Completeness", Label("Completeness"), func() {
		for _, k := range all {
			if k.gvk.Group == "" {
				continue // the children of an annotated object carry no marks
			}
			It("of the rights over children of the kind "+k.name, Label(k.name), func(ctx context.Context) {
				start()
				mayDoAllToChildren(ctx, k)
			})
		}
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
			if !own || madeByKubernetes(child) {
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
