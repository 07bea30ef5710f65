// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/acme/platform-operator/internal/testenv/suite"
)

const base = "/apis/views.acme.com/v1alpha1"

// What clients and controllers learn of the API (V6).
var _ = Describe("The API", func() {
	verbs := []string{"get", "list", "watch"}
	resources := map[string][]string{ // singular, kind, short name
		"mynamespaces": {"mynamespace", "MyNamespace", "myns"}, "namespaceusages": {"namespaceusage", "NamespaceUsage", "nsusage"},
		"tenantusages": {"tenantusage", "TenantUsage", "tusage"},
	}
	read := func(path, accept string) []byte {
		GinkgoHelper()
		content, err := views(Plane.Config).Get().AbsPath(path).SetHeader("Accept", accept).DoRaw(ctx)
		Expect(err).NotTo(HaveOccurred())
		return content
	}

	It("is discovered as the resources of one version, which can be read only", func() {
		list := &metav1.APIResourceList{}
		Expect(json.Unmarshal(read(base, "application/json"), list)).To(Succeed())
		Expect(list.APIResources).To(HaveLen(len(resources)))
		for _, r := range list.APIResources {
			Expect([]string{r.SingularName, r.Kind, r.ShortNames[0]}).To(Equal(resources[r.Name]), r.Name)
			Expect([]string(r.Verbs)).To(Equal(verbs), r.Name)
			Expect(r.Namespaced).To(BeFalse(), r.Name)
			Expect(r.Categories).To(BeEmpty(), "kubectl get acme must not list views")
		}
	})

	It("is discovered in the aggregated form, with an ETag", func() {
		const form = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
		ours := func(content []byte) []apidiscoveryv2.APIResourceDiscovery {
			GinkgoHelper()
			list := &apidiscoveryv2.APIGroupDiscoveryList{}
			Expect(json.Unmarshal(content, list)).To(Succeed())
			for _, g := range list.Items {
				if g.Name == "views.acme.com" && len(g.Versions) == 1 && g.Versions[0].Freshness == apidiscoveryv2.DiscoveryFreshnessCurrent {
					return g.Versions[0].Resources
				}
			}
			return nil
		}
		var found []apidiscoveryv2.APIResourceDiscovery
		Eventually(func() int { found = ours(read("/apis", form)); return len(found) }).WithTimeout(rediscovered).Should(Equal(len(resources)))
		for _, r := range found {
			Expect(r.Verbs).To(Equal(verbs))
			Expect(r.Scope).To(Equal(apidiscoveryv2.ScopeCluster))
			Expect(r.SingularResource).To(Equal(resources[r.Resource][0]))
		}
		direct := front509(Plane.FrontProxy, "front-proxy-client")
		first := direct.get("/apis", map[string]string{"X-Remote-User": "sam", "X-Remote-Group": "system:masters", "Accept": form})
		Expect(first.StatusCode).To(Equal(http.StatusOK))
		Expect(first.Header.Get("ETag")).NotTo(BeEmpty())
		second := direct.get("/apis", map[string]string{
			"X-Remote-User": "sam", "X-Remote-Group": "system:masters", "Accept": form, "If-None-Match": first.Header.Get("ETag"),
		})
		Expect(second.StatusCode).To(Equal(http.StatusNotModified))

		// The library does not serve v2beta1 any more. Clients that know no newer form accept the legacy one, too.
		old := strings.Replace(form, "v=v2;", "v=v2beta1;", 1)
		for accept, want := range map[string]struct {
			code        int
			contentType string
		}{
			old:                                    {http.StatusNotAcceptable, "application/json"},
			old + ",application/json":              {http.StatusOK, "application/json"},
			"application/json":                     {http.StatusOK, "application/json"},
			form + "," + old:                       {http.StatusOK, form},
			form + "," + old + ",application/json": {http.StatusOK, form},
		} {
			answer := direct.get("/apis", map[string]string{"X-Remote-User": "sam", "X-Remote-Group": "system:masters", "Accept": accept})
			Expect(answer.StatusCode).To(Equal(want.code), accept)
			Expect(answer.Header.Get("Content-Type")).To(Equal(want.contentType), accept)
		}
	})

	It("is described for kubectl explain and apply", func() {
		// The API server looks for it once a minute.
		Eventually(func() error { return views(Plane.Config).Get().AbsPath("/openapi/v3" + base).Do(ctx).Error() }).Should(Succeed())
		v3 := string(read("/openapi/v3"+base, "application/json"))
		Expect(v3).To(ContainSubstring("com.acme.views.v1alpha1.MyNamespace"))
		Expect(v3).To(ContainSubstring("roles are the roles of the user who asks"))
		Expect(v3).To(ContainSubstring(`"x-kubernetes-group-version-kind":[{"group":"views.acme.com","kind":"TenantUsage","version":"v1alpha1"}]`))
		Eventually(func() string { return string(read("/openapi/v2", "application/json")) }).Should(ContainSubstring("com.acme.views.v1alpha1.NamespaceUsage"))
	})

	It("answers as clients ask: JSON, YAML, tables and metadata", func() {
		mine := Namespace()
		name, sam := newUser()
		grant(mine, "view", user(name))
		Eventually(namesOf(sam)).Should(Equal([]string{mine}))
		get := func(path, accept string) (string, error) {
			path, query, _ := strings.Cut(path, "?")
			r := views(sam).Get().AbsPath(base+"/"+path).SetHeader("Accept", accept)
			for _, parameter := range strings.FieldsFunc(query, func(c rune) bool { return c == '&' }) {
				key, value, _ := strings.Cut(parameter, "=")
				r = r.Param(key, value)
			}
			content, err := r.DoRaw(ctx)
			return string(content), err
		}
		table := &metav1.Table{}
		text, err := get("mynamespaces", "application/json;as=Table;v=v1;g=meta.k8s.io")
		Expect(err).NotTo(HaveOccurred())
		Expect(json.Unmarshal([]byte(text), table)).To(Succeed())
		Expect(table.Rows).To(HaveLen(1))
		Expect(table.Rows[0].Cells[:4]).To(Equal([]any{mine, "Active", "<none>", "ClusterRole/view"}))
		Expect(table.ResourceVersion).NotTo(BeEmpty())
		text, err = get("mynamespaces?includeObject=Metadata&limit=500", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
		Expect(err).NotTo(HaveOccurred())
		Expect(text).To(ContainSubstring(`"kind":"PartialObjectMetadata"`))
		text, err = get("mynamespaces", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")
		Expect(err).NotTo(HaveOccurred())
		Expect(text).To(ContainSubstring(`"name":"` + mine + `"`))
		Expect(text).NotTo(ContainSubstring("ClusterRole/view"))
		text, err = get("mynamespaces/"+mine, "application/yaml")
		Expect(err).NotTo(HaveOccurred())
		Expect(text).To(ContainSubstring("kind: MyNamespace\n"))
		Expect(text).NotTo(ContainSubstring("namespace:"))
		text, err = get("mynamespaces", "application/vnd.kubernetes.protobuf,application/json")
		Expect(err).NotTo(HaveOccurred())
		Expect(text).To(HavePrefix("{"))
		for _, none := range []string{"application/vnd.kubernetes.protobuf", "application/cbor"} {
			_, err = get("mynamespaces", none)
			Expect(apierrors.ReasonForError(err)).To(Equal(metav1.StatusReasonNotAcceptable), none)
		}
		text, err = get("mynamespaces?watch=1&timeoutSeconds=1", "application/json;as=Table;v=v1;g=meta.k8s.io")
		Expect(err).NotTo(HaveOccurred())
		Expect(text).To(And(ContainSubstring(`"type":"ADDED"`), ContainSubstring(`"kind":"Table"`), ContainSubstring(`"ClusterRole/view"`)))
	})

	It("rejects what it does not serve", func() {
		for path, code := range map[string]int{
			base + "/nothing": http.StatusNotFound, "/apis/views.acme.com/v1": http.StatusNotFound, base + "/mynamespaces/default/status": http.StatusNotFound,
		} {
			err := views(Plane.Config).Get().AbsPath(path).Do(ctx).Error()
			Expect(statusOf(err)).To(Equal(code), path)
		}
		for _, verb := range []string{"POST", "PUT", "PATCH", "DELETE"} {
			for _, path := range []string{base + "/mynamespaces", base + "/mynamespaces/default"} {
				err := views(Plane.Config).Verb(verb).AbsPath(path).SetHeader("Content-Type", "application/json").Body([]byte(`{}`)).Do(ctx).Error()
				Expect(statusOf(err)).To(Equal(http.StatusMethodNotAllowed), "%s %s", verb, path)
			}
		}
		_, sam := newUser()
		Expect(views(sam).Get().AbsPath(base + "/mynamespaces").Body([]byte(`{"nonsense`)).Do(ctx).Error()).To(Succeed())
		huge := front509(Plane.FrontProxy, "front-proxy-client").get(base, map[string]string{"X-Remote-User": strings.Repeat("x", 2<<20)})
		Expect(huge.StatusCode).To(Equal(http.StatusRequestHeaderFieldsTooLarge))
	})
})

func statusOf(err error) int {
	if status := apierrors.APIStatus(nil); err != nil {
		if ok := errors.As(err, &status); ok {
			return int(status.Status().Code)
		}
	}
	return 0
}
