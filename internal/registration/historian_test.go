// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/certificate"
	"github.com/acme/platform-operator/internal/registration"
	"github.com/acme/platform-operator/internal/testenv/limit"
)

// patchService makes an ill Service of what leads to the reader.
func (c *cluster) patchService(patch string) {
	c.Helper()
	s := &corev1.Service{}
	s.Namespace, s.Name = ops, service
	c.must(client.IgnoreNotFound(admin.Patch(c.Context(), s, client.RawPatch("application/merge-patch+json", []byte(patch)))))
}

// patchAPIService changes the registration, if there is one. API servers reject a CA for an API that they do not verify.
func (c *cluster) patchAPIService(patch string) {
	c.Helper()
	err := admin.Patch(c.Context(), registration.NewAPIService(), client.RawPatch("application/merge-patch+json", []byte(patch)))
	if !apierrors.IsInvalid(err) {
		c.must(client.IgnoreNotFound(err))
	}
}

// spoils is what somebody may do to the objects of the registration.
func (c *cluster) spoils() map[string]func() {
	secret := func(do func(*corev1.Secret)) func() {
		return func() {
			if c.secret() != nil {
				c.change(do)
			}
		}
	}
	replaced := func(cert, key []byte) func() {
		return secret(func(s *corev1.Secret) { s.Data["tls.crt"], s.Data["tls.key"], s.Data["ca.crt"] = cert, key, cert })
	}
	removed := func(o client.Object) func() {
		return func() { c.must(client.IgnoreNotFound(admin.Delete(c.Context(), o))) }
	}
	otherCert, otherKey := registration.NewPair(names, time.Now())
	oldCert, oldKey := registration.NewPair(names, time.Now().Add(-366*24*time.Hour))
	return map[string]func(){
		"APIService deleted":       removed(registration.NewAPIService()),
		"APIService not verifying": func() { c.patchAPIService(`{"spec":{"insecureSkipTLSVerify":true,"caBundle":null}}`) },
		"APIService of another CA": func() {
			c.patchAPIService(`{"spec":{"caBundle":"` + base64.StdEncoding.EncodeToString(otherCert) + `"}}`)
		},
		"APIService without a CA":     func() { c.patchAPIService(`{"spec":{"caBundle":null}}`) },
		"APIService at another port":  func() { c.patchAPIService(`{"spec":{"service":{"port":1}}}`) },
		"APIService of nobody":        func() { c.patchAPIService(`{"metadata":{"ownerReferences":null,"labels":null}}`) },
		"APIService before all":       func() { c.patchAPIService(`{"spec":{"groupPriorityMinimum":17000,"versionPriority":900}}`) },
		"Service deleted":             removed(c.externalName()),
		"Service at another port":     func() { c.patchService(`{"spec":{"ports":[{"name":"https","port":1}]}}`) },
		"Service without its port":    func() { c.patchService(`{"spec":{"ports":[{"name":"other","port":1}]}}`) },
		"Service with no endpoint":    func() { c.patchService(`{"spec":{"type":"ClusterIP","externalName":null}}`) },
		"Service that leads nowhere":  func() { c.patchService(`{"spec":{"externalName":"nowhere.invalid"}}`) },
		"Secret deleted":              removed(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ops, Name: names.Secret()}}),
		"Secret of garbage":           secret(func(s *corev1.Secret) { s.Data["tls.crt"], s.Data["tls.key"] = []byte("garbage"), []byte{0} }),
		"Secret of another key":       secret(func(s *corev1.Secret) { s.Data["tls.key"] = otherKey }),
		"Secret of somebody else":     replaced(otherCert, otherKey),
		"Secret that has expired":     replaced(oldCert, oldKey),
		"Secret without ca.crt":       secret(func(s *corev1.Secret) { delete(s.Data, "ca.crt") }),
		"Secret with half a rotation": secret(func(s *corev1.Secret) { s.Data["next.crt"], s.Data["next.key"] = otherCert, []byte("garbage") }),
		"Secret that is empty":        secret(func(s *corev1.Secret) { s.Data = map[string][]byte{"tls.crt": {}, "tls.key": {}} }),
	}
}

// restored repairs what is not the operator's: the Service comes with the manifests.
func (c *cluster) restored() {
	c.Helper()
	c.must(client.IgnoreNotFound(admin.Delete(c.Context(), c.externalName())))
	c.must(admin.Create(c.Context(), c.externalName()))
}

// sound says what is wrong with the registration; it is empty if nothing is.
func (c *cluster) sound() string {
	u, s := c.registered(), c.secret()
	if u == nil || s == nil {
		return "there is no APIService, or no Secret"
	}
	field := func(path ...string) any {
		value, _, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
		return value
	}
	owners := u.GetOwnerReferences()
	switch {
	case field("spec", "insecureSkipTLSVerify") != nil:
		return "API servers do not verify"
	case field("spec", "versionPriority") != int64(15) || field("spec", "groupPriorityMinimum") != int64(100):
		return "the priorities are others"
	case field("spec", "service", "port") != int64(c.port):
		return "it leads to another port"
	case len(owners) != 1 || owners[0].UID != c.role().UID || u.GetLabels()["app.kubernetes.io/managed-by"] == "":
		return "it belongs to somebody else"
	case !usable(s.Data["tls.crt"]) || !contains(s.Data["ca.crt"], s.Data["tls.crt"]) || string(bundle(u)) != string(s.Data["ca.crt"]):
		return "what is served is not trusted"
	case !c.available():
		return "it is not available: " + availability(u)
	}
	if err := c.ask(); err != nil {
		return "it does not answer: " + err.Error()
	}
	return ""
}

// Leaders end and begin while what they see is changed under them, once or several times, in every order.
func TestLeadersThatRestartHealWhatIsSpoiled(t *testing.T) {
	rounds := 2
	if limit.Selected(limit.Slow) {
		rounds = 40
	}
	random := rand.New(rand.NewPCG(uint64(limit.Seed()), 13))
	c := newCluster(t)
	c.start()
	c.eventually("it is sound", func() bool { return c.sound() == "" })
	spoils := c.spoils()
	for round := range rounds {
		var done []string
		for range 1 + random.IntN(3) {
			done = append(done, c.spoil(random, spoils)...)
		}
		c.restored()
		c.stop()
		c.ahead.Store(0) // certificates of a leader that is far ahead would not be valid yet
		c.start()
		took := c.heals(fmt.Sprintf("it is sound after %q", done))
		t.Logf("round %d: %q: sound after %s", round, done, took.Round(time.Millisecond))
	}
}

// spoil changes something, before, after or while a leader ends or time passes. It returns what was done.
func (c *cluster) spoil(random *rand.Rand, spoils map[string]func()) (done []string) {
	c.Helper()
	if random.IntN(2) == 0 {
		c.stop()
		done = append(done, "leader stopped")
	}
	kinds := slices.Sorted(maps.Keys(spoils))
	kind := kinds[random.IntN(len(kinds))]
	spoils[kind]()
	done = append(done, kind)
	switch random.IntN(3) {
	case 0:
		c.start()
		done = append(done, "leader started")
	case 1:
		passed := time.Duration(random.IntN(180)) * time.Second
		c.skip(passed)
		done = append(done, fmt.Sprint(passed, " pass"))
	}
	return done
}

// heals waits until the registration is sound. Time passes for a leader that waits to try again an API that was not reached, and for no
// other: a certificate that is made by a clock that is far ahead is not valid yet for API servers, and then nothing heals.
func (c *cluster) heals(what string) time.Duration {
	c.Helper()
	looks := 0
	return c.eventually(what, func() bool {
		wrong := c.sound()
		if looks++; wrong != "" && looks%40 == 0 {
			c.Logf("%s: %s", what, wrong)
			if c.waitsToRetry() {
				c.skip(time.Minute)
			}
		}
		return wrong == ""
	})
}

// waitsToRetry reports whether the API is not registered although it has a certificate.
func (c *cluster) waitsToRetry() bool {
	s := c.secret()
	return s != nil && usable(s.Data["tls.crt"]) && c.registered() == nil && time.Duration(c.ahead.Load()) < certificate.Backdate/2
}
