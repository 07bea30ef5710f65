// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/external/identity/ldaptest"
	"github.com/acme/platform-operator/internal/tenancy"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// acmeNamespaces is the fixture of AcmeNamespace.
type acmeNamespaces struct {
	Ordinary
	outside outside
}

var _ = fixture("AcmeNamespace", &acmeNamespaces{})

func acmeNamespace(o engine.Object) *v1alpha1.AcmeNamespace { return o.(*v1alpha1.AcmeNamespace) }

// The ConfigMaps with the certificates of the outside systems.
const (
	outsideCA = "guarantees-outside-ca"
	ldapCA    = "guarantees-ldap-ca"
)

// Start implements Fixture.
func (f *acmeNamespaces) Start() {
	GinkgoHelper()
	f.outside.start()
}

// Prepare implements Fixture: what the operator trusts.
func (f *acmeNamespaces) Prepare() {
	GinkgoHelper()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.outside.server.Certificate().Raw})
	Create(configMap(outsideCA, ca))
}

func configMap(name string, ca []byte) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: testenv.OperatorNamespace},
		Data:       map[string]string{"ca.crt": string(ca)},
	}
}

const acmeNamespaceSection = `acmeNamespace:
  billing:
    type: CloudEvents
    retryMax: 1s
    cloudEvents:
      url: %s/billing
      caConfigMap: {name: guarantees-outside-ca}
`

// Configuration implements Fixture.
func (f *acmeNamespaces) Configuration() string {
	return fmt.Sprintf(acmeNamespaceSection, f.outside.server.URL)
}

// Secretive implements Fixture: billing and SCIM with tokens, and LDAP with a password. Each identity
// provider is met well and with an error that repeats what it was sent.
func (f *acmeNamespaces) Secretive(canary string) []Secretive {
	GinkgoHelper()
	token := func() *corev1.Secret { return secretive("token", map[string]string{"token": canary}) }
	billing := f.Configuration() + "      tokenSecret: {name: token}\n"
	scim := billing + "  identity:\n    type: SCIM\n    scim:\n      url: " + f.outside.server.URL +
		"%s\n      tokenSecret: {name: token}\n      caConfigMap: {name: " + outsideCA + "}\n"
	sent := func() bool { return f.outside.tokens("/billing", canary) > 0 && f.outside.tokens("/scim", canary) > 0 }

	ldap := ldaptest.Start(GinkgoT())
	Create(configMap(ldapCA, ldap.CA))
	DeferCleanup(func() { Remove(configMap(ldapCA, nil)) })
	bind := secretive("bind", map[string]string{corev1.BasicAuthUsernameKey: ldap.BindDN, corev1.BasicAuthPasswordKey: canary})
	return []Secretive{
		{"SCIM that answers", fmt.Sprintf(scim, "/scim"), []*corev1.Secret{token()}, sent},
		{"SCIM that fails", fmt.Sprintf(scim, "/scim-broken"), []*corev1.Secret{token()}, sent},
		{
			"LDAP that does not take the password", f.Configuration() + "  identity:\n    type: LDAP\n    ldap:\n      url: " + ldap.LDAPS +
				"\n      baseDN: " + ldap.BaseDN + "\n      credentialsSecret: {name: bind}\n      caConfigMap: {name: " + ldapCA + "}\n",
			[]*corev1.Secret{bind},
			nil,
		},
	}
}

func secretive(name string, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data}
}

// External implements Fixture.
func (f *acmeNamespaces) External() External { return &f.outside }

// Name implements Fixture.
func (f *acmeNamespaces) Name(sample engine.Object, unique string) {
	acmeNamespace(sample).Spec.NamespaceName = unique
}

// Settled implements Fixture: kube-controller-manager has counted the quota.
func (f *acmeNamespaces) Settled(o engine.Object) bool {
	n := acmeNamespace(o)
	if n.Status.Quota == nil {
		return false
	}
	tier, err := tenancy.BuiltIn(n.Spec.DeploymentTier)
	Expect(err).NotTo(HaveOccurred())
	return n.Status.Quota.Hard.Pods().Equal(*tier.Quota.Pods()) &&
		QuotaCounted(n.Spec.NamespaceName, corev1.ResourceQuotaStatus(*n.Status.Quota))
}

// Change implements Fixture.
func (f *acmeNamespaces) Change(o engine.Object, _ string) {
	n := acmeNamespace(o)
	n.Spec.AdminGroups = append(n.Spec.AdminGroups, "auditors")
}

// Action implements Fixture.
func (f *acmeNamespaces) Action(unique string) string {
	return "PATCH namespaces/" + unique + "/rolebindings/namespace-admin"
}

// Transitions implements Fixture.
func (f *acmeNamespaces) Transitions() map[string]func(engine.Object) {
	return map[string]func(engine.Object){
		"promotion from dev to prod": func(o engine.Object) {
			n := acmeNamespace(o)
			n.Spec.DeploymentTier = common.TierProd
		},
	}
}

// Deletions implements Fixture.
func (f *acmeNamespaces) Deletions() []Deletion {
	policy := func(p v1alpha1.DeletionPolicy) func(engine.Object) {
		return func(o engine.Object) { acmeNamespace(o).Spec.DeletionPolicy = p }
	}
	return []Deletion{
		{Name: "Delete", Prepare: policy(v1alpha1.DeletionDelete)},
		{Name: "Retain", Prepare: policy(v1alpha1.DeletionRetain), Keeps: true},
	}
}

// Invalidate implements Fixture.
func (f *acmeNamespaces) Invalidate(o *unstructured.Unstructured) {
	for path, value := range map[string]string{"deploymentTier": "gold", "adminUsername": "", "deletionPolicy": "Shred"} {
		Expect(unstructured.SetNestedField(o.Object, value, "spec", path)).To(Succeed())
	}
}

// Tamper implements Fixture.
func (f *acmeNamespaces) Tamper(child *unstructured.Unstructured) []string {
	if child.GetName() == tenancy.PriorityQuotaName {
		return []string{`{"spec":{"hard":{"pods":"1k"}}}`, `{"spec":{"hard":null}}`}
	}
	return map[string][]string{
		"Namespace": {
			`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`,
			`{"metadata":{"labels":{"admin":null}}}`,
			`{"metadata":{"labels":{"cost-center":"0"}}}`,
		},
		"ResourceQuota": {`{"spec":{"hard":{"cpu":"1k"}}}`, `{"spec":{"hard":{"pods":null}}}`, `{"spec":{"hard":null}}`},
		"LimitRange":    {`{"spec":{"limits":[{"type":"Container","default":{"cpu":"64"}}]}}`},
		"Role":          {`{"rules":[]}`, `{"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}`},
		"RoleBinding":   {`{"subjects":[]}`, `{"subjects":[{"kind":"User","name":"mallory","apiGroup":"rbac.authorization.k8s.io"}]}`},
		"NetworkPolicy": {`{"spec":{"ingress":[{}]}}`, `{"spec":{"podSelector":{"matchLabels":{"app":"none"}}}}`},
	}[child.GetKind()]
}

// Foreign implements Fixture.
func (f *acmeNamespaces) Foreign(child *unstructured.Unstructured) []string {
	if child.GetName() == tenancy.PriorityQuotaName {
		return []string{`{"spec":{"hard":{"cpu":"77"}}}`}
	}
	return map[string][]string{
		"Namespace":     {`{"metadata":{"labels":{"pod-security.kubernetes.io/warn":"restricted"},"annotations":{"admin":"their note"}}}`},
		"ResourceQuota": {`{"spec":{"hard":{"count/networkpolicies.networking.k8s.io":"77"}}}`},
	}[child.GetKind()]
}

// Breakages implements Fixture.
func (f *acmeNamespaces) Breakages() []Breakage {
	tier := &v1alpha1.DeploymentTier{ObjectMeta: metav1.ObjectMeta{Name: "dev"}, Spec: v1alpha1.DeploymentTierSpec{
		LimitRange: &v1alpha1.ContainerLimits{
			Default:        corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
			DefaultRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")},
		},
	}}
	return []Breakage{
		{
			Name: "that the Namespace is somebody else's", Unborn: true,
			Break: func(unique string) {
				Create(namespaceNamed(unique))
			},
			Mend:   func(unique string) { Patch(named(unique), `{"spec":{"adopt":true}}`) },
			Reason: tenancy.ReasonNameTaken, Status: status.FailedStatus,
		},
		{
			Name: "that the DeploymentTier is malformed",
			Break: func(string) {
				Create(tier.DeepCopy())
				discardLater(tier)
			},
			Mend:   func(string) { Remove(tier.DeepCopy()) },
			Reason: tenancy.ReasonTierInvalid, Status: status.FailedStatus,
		},
		{
			Name:   "that the Namespace is being deleted",
			Break:  func(unique string) { terminate(nil, named(unique)) },
			Mend:   func(unique string) { unblock(nil, nil, named(unique)) },
			Reason: tenancy.ReasonNamespaceTerminating, Status: status.InProgressStatus,
		},
		{
			Name: "that the operator may not do what it has to",
			Break: func(unique string) {
				takeAway("create", namespaceNamed(unique+"-none"))
				quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "dev", Namespace: unique}}
				Remove(quota)
			},
			Mend:   func(string) { giveBackRole() },
			Reason: "Forbidden", Status: status.InProgressStatus,
		},
	}
}

func named(unique string) *v1alpha1.AcmeNamespace {
	return &v1alpha1.AcmeNamespace{ObjectMeta: metav1.ObjectMeta{Name: unique}}
}

// outside is a server that stands for billing and for an identity provider.
type outside struct {
	server *httptest.Server

	mu    sync.Mutex
	code  int
	tried map[string]int
	told  map[string]int
	auth  map[string]int // by path and Authorization header
}

func (o *outside) start() {
	o.code, o.tried, o.told, o.auth = http.StatusOK, map[string]int{}, map[string]int{}, map[string]int{}
	o.server = httptest.NewTLSServer(o)
	DeferCleanup(o.server.Close)
}

// ServeHTTP implements http.Handler. Errors repeat the credentials, as careless servers do.
func (o *outside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.auth[r.URL.Path+" "+r.Header.Get("Authorization")]++
	echo := "you sent " + r.Header.Get("Authorization") + string(body)
	switch {
	case strings.HasPrefix(r.URL.Path, "/scim-broken"):
		http.Error(w, echo, http.StatusUnauthorized)
	case strings.HasPrefix(r.URL.Path, "/scim"):
		_, _ = io.WriteString(w, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"totalResults":1,"Resources":[{"userName":"sam","active":true}]}`)
	default:
		subject := r.Header.Get("Ce-Subject")
		o.tried[subject]++
		if o.code/100 == 2 {
			o.told[subject]++
		}
		http.Error(w, echo, o.code)
	}
}

// tokens counts the requests with a bearer token to paths that begin so.
func (o *outside) tokens(path, token string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for key, count := range o.auth {
		if strings.HasPrefix(key, path) && strings.HasSuffix(key, " Bearer "+token) {
			n += count
		}
	}
	return n
}

// Answer implements External.
func (o *outside) Answer(code int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.code = code
}

// Tried implements External.
func (o *outside) Tried(unique string) int { return o.count(o.tried, unique) }

// Told implements External.
func (o *outside) Told(unique string) int { return o.count(o.told, unique) }

func (o *outside) count(m map[string]int, unique string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return m[unique]
}

// WayOut implements External.
func (o *outside) WayOut() string { return tenancy.AnnotationSkipBilling }
