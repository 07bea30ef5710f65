// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/registration"
	"github.com/acme/platform-operator/internal/testenv/limit"
)

func (c *cluster) role() *rbacv1.ClusterRole {
	role := &rbacv1.ClusterRole{}
	c.must(admin.Get(c.Context(), client.ObjectKey{Name: names.Role()}, role))
	return role
}

// again creates a role that was deleted.
func (c *cluster) again(role *rbacv1.ClusterRole) {
	c.Helper()
	fresh := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role.Name, Labels: role.Labels, Annotations: role.Annotations}, Rules: role.Rules}
	c.must(admin.Create(c.Context(), fresh))
}

func TestTheAPIIsRegisteredWhileItIsServed(t *testing.T) {
	c := newCluster(t)
	c.start()
	c.eventually("it answers", c.answers)
	c.eventually("an event says so", c.eventOf("Registered", "Register"))
	c.eventually("the metric says so", func() bool { return c.metric() == "1" })
	u, s := c.registered(), c.secret()
	if owners := u.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != c.role().UID || owners[0].BlockOwnerDeletion != nil {
		t.Errorf("the APIService belongs to %v", owners)
	}
	if owners := s.OwnerReferences; len(owners) != 1 || owners[0].Kind != "Deployment" {
		t.Errorf("the Secret belongs to %v", owners)
	}

	t.Run("the API server forwards to the reader while no operator leads (V11)", func(*testing.T) {
		c.stop()
		for range 50 {
			c.must(c.ask())
		}
		if after := c.registered(); after == nil || after.GetUID() != u.GetUID() || !c.available() {
			t.Error("it is registered no longer")
		}
	})
	t.Run("a restart writes nothing", func(t *testing.T) {
		c.start()
		c.skip(time.Hour)
		c.settle()
		after, now := c.secret(), c.registered()
		if after.ResourceVersion != s.ResourceVersion || now.GetUID() != u.GetUID() || now.GetGeneration() != u.GetGeneration() {
			t.Error("the Secret or the APIService was written again")
		}
	})
	t.Run("what somebody changes is repaired", func(t *testing.T) {
		live := c.registered()
		c.must(admin.Patch(t.Context(), live, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"versionPriority":1},"metadata":{"ownerReferences":null}}`))))
		c.eventually("it is as it was", func() bool {
			live := c.registered()
			priority, _, _ := unstructured.NestedInt64(live.Object, "spec", "versionPriority")
			return priority == 15 && len(live.GetOwnerReferences()) == 1
		})
		c.must(admin.Delete(t.Context(), live))
		c.eventually("it is registered again", c.available)
	})
	t.Run("another version of the operator relabels it", func(*testing.T) {
		c.roleOfOLM("acme-platform-operator.v0.2.0")
		c.start(byOLM("acme-platform-operator.v0.2.0"))
		c.eventually("it has the label", func() bool { return c.registered().GetLabels()["olm.owner"] == "acme-platform-operator.v0.2.0" })
		c.start()
		c.eventually("it has none", func() bool { _, has := c.registered().GetLabels()["olm.owner"]; return !has })
	})
	t.Run("disabled, while somebody took its labels away", func(t *testing.T) {
		c.stop()
		live := c.registered()
		live.SetLabels(nil)
		c.must(admin.Update(t.Context(), live))
		c.start(func(o *registration.Options) { o.Enabled = false })
		c.eventually("it is gone", func() bool { return c.registered() == nil })
		c.eventually("an event says so", c.eventOf("Unregistered", "Disabled"))
		c.eventually("the metric has no value", func() bool { return c.metric() == "" })
		if c.secret() == nil {
			t.Error("the Secret is gone, without which pods do not start")
		}
	})
}

func TestItDoesNotOutliveItsRole(t *testing.T) {
	c := newCluster(t)
	c.start()
	c.eventually("it is available", c.available)
	role := c.role()
	c.must(admin.Delete(t.Context(), role.DeepCopy()))
	c.eventually("it is gone", func() bool { return c.registered() == nil })
	c.eventually("an event says so", c.eventOf("Unregistered", "NoRole"))
	c.again(role)
	c.eventually("it is registered again, for the new role", func() bool {
		u := c.registered()
		return u != nil && u.GetOwnerReferences()[0].UID == c.role().UID && c.available()
	})

	c.stop()
	c.must(admin.Delete(t.Context(), c.role()))
	took := c.eventually("it is collected without an operator", func() bool { return c.registered() == nil })
	c.took("the collection", took, time.Minute)
	c.again(role)
}

func TestAnAPIServiceOfSomebodyElseIsLeftAlone(t *testing.T) {
	for name, change := range map[string]func(*unstructured.Unstructured){
		"made by hand": func(*unstructured.Unstructured) {},
		"of another installation": func(u *unstructured.Unstructured) {
			u.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "platform-operator", "app.kubernetes.io/name": "platform-operator"})
			spec := u.Object["spec"].(map[string]any)
			spec["service"], spec["insecureSkipTLSVerify"] = map[string]any{"namespace": "other-system", "name": service, "port": int64(443)}, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			foreign := registration.NewAPIService()
			foreign.Object["spec"] = map[string]any{"group": "views.acme.com", "version": "v1alpha1", "groupPriorityMinimum": int64(10), "versionPriority": int64(10)}
			change(foreign)
			foreign.SetOwnerReferences([]metav1.OwnerReference{{ // it has the same name in both installations
				APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: names.Role(), UID: c.role().UID,
			}})
			c.must(admin.Create(t.Context(), foreign))
			c.start()
			c.eventually("an event says so", c.eventOf("Unregistered", "NameTaken"))
			c.settle()
			if u := c.registered(); u == nil || u.GetUID() != foreign.GetUID() || u.GetGeneration() != foreign.GetGeneration() {
				t.Error("it was changed")
			}
			c.must(admin.Delete(t.Context(), foreign))
			c.eventually("it is available", c.available)
		})
	}
}

// V10: endpoints are ready, and what is behind them cannot be used. All faults end the same way, and heal by themselves.
func TestAnUnreachableReaderIsUnregistered(t *testing.T) {
	itself := func(c *cluster) { c.pass(2 * time.Minute) }
	for _, fault := range []struct {
		name, namespace   string
		begin, end, retry func(*cluster)
	}{
		{"nobody listens", "refused", func(c *cluster) { c.refuse() }, func(c *cluster) { c.listen() }, itself},
		{"another certificate", "distrusted", func(c *cluster) { c.show(registration.NewPair(names, time.Now())) }, func(c *cluster) { c.freeze(false) }, itself},
		// A new leader does not wait to try again.
		{"no front proxy: 401", "unauthorized", func(c *cluster) { c.answer(http.StatusUnauthorized) }, func(c *cluster) { c.answer(0) }, func(c *cluster) { c.start() }},
	} {
		t.Run(fault.name, func(t *testing.T) {
			c := newCluster(t)
			c.start()
			c.eventually("it is available", c.available)
			began := c.time()
			fault.begin(c)
			c.noticed()
			c.notBefore(began.Add(time.Minute - noticedWithin))
			ns := c.deletedNamespace(fault.namespace)
			c.eventually("its deletion fails", c.blocked(ns))
			c.pass(time.Minute)
			c.eventually("it is gone", func() bool { return c.registered() == nil })
			c.eventually("the namespace is gone", gone(ns))
			c.eventually("an event says so", c.eventOf("Unregistered", "Unreachable"))
			c.eventually("the metric says so", func() bool { return c.metric() == "0" })

			c.pass(time.Minute)
			c.eventually("it is tried again", func() bool { return c.registered() != nil })
			tried := c.time()
			c.noticed()
			c.pass(time.Minute)
			c.eventually("it is gone again", func() bool { return c.registered() == nil })

			fault.end(c)
			c.settle()
			if again := c.registered() != nil; again && c.time().Before(tried.Add(2*time.Minute)) {
				t.Error("it is registered again before its time")
			}
			fault.retry(c)
			c.eventually("it heals", c.available)
		})
	}
}

// A leader that does not live as long as an API may be unavailable still counts: the API server says since when it has been so.
func TestALeaderContinuesToCount(t *testing.T) {
	c := newCluster(t)
	c.start()
	c.eventually("it is available", c.available)
	began := c.time()
	c.refuse()
	c.noticed()
	c.settle()
	c.stop()
	c.skip(40 * time.Second)
	c.start()
	c.settle()
	c.notBefore(began.Add(time.Minute - time.Second)) // conditions have whole seconds
	c.skip(20 * time.Second)
	c.start()
	c.eventually("it is gone", func() bool { return c.registered() == nil })
	c.eventually("an event says so", c.eventOf("Unregistered", "Unreachable"))
}

// V9: namespaces can be deleted again soon after a fault, and garbage is collected meanwhile. The times are real.
func TestNamespacesCanBeDeletedDuringAFault(t *testing.T) {
	const patience = 10 * time.Second // less than the configuration allows: what is left to wait for does not depend on it
	t.Run("the reader is unreachable", func(t *testing.T) {
		c := newCluster(t)
		c.start(func(o *registration.Options) { o.UnreachableAfter = patience })
		c.eventually("it is available", c.available)
		c.refuse()
		c.noticed()
		ns := c.deletedNamespace("unreachable")
		c.collects("unreachable")
		took := c.eventually("it is unregistered", func() bool { return c.registered() == nil })
		c.took("unregistering it", took, patience+10*time.Second)
		c.took("deleting the namespace after that", c.eventually("the namespace is gone", gone(ns)), time.Minute+5*time.Second)
	})
	t.Run("no replica is ready", func(t *testing.T) {
		c := newCluster(t)
		c.clusterIP(true)
		c.start(func(o *registration.Options) { o.UnreachableAfter = 10 * time.Minute })
		c.eventually("it is registered", func() bool { return c.registered() != nil })
		begin := time.Now()
		c.clusterIP(false)
		ns := c.deletedNamespace("unserved")
		c.collects("unserved")
		c.eventually("it is unregistered", func() bool { return c.registered() == nil })
		took := time.Since(begin)
		c.took("unregistering it", took, 25*time.Second)
		if limit.Selected(limit.Timed) && took < 10*time.Second {
			t.Errorf("it was unregistered after %s, and a rollout needs longer", took)
		}
		c.eventually("an event says so", c.eventOf("Unregistered", "NotServed"))
		c.took("deleting the namespace after that", c.eventually("the namespace is gone", gone(ns)), time.Minute+5*time.Second)
		c.clusterIP(true)
		c.eventually("it is registered again", func() bool { return c.registered() != nil })
	})
}

// V9, the last line: nobody is left, and the runbook heals.
func TestTheRunbookHeals(t *testing.T) {
	c := newCluster(t)
	c.start()
	c.eventually("it is available", c.available)
	c.stop()
	c.refuse()
	c.noticed()
	ns := c.deletedNamespace("orphaned")
	c.eventually("its deletion fails", c.blocked(ns))
	c.collects("orphaned")
	c.must(admin.Delete(t.Context(), registration.NewAPIService())) // kubectl delete apiservice v1alpha1.views.acme.com
	c.took("deleting the namespace after that", c.eventually("the namespace is gone", gone(ns)), time.Minute+5*time.Second)
}

// V12: a rotation under load, with a reader that reads the new certificate late.
func TestACertificateIsRotatedUnderLoad(t *testing.T) {
	c := newCluster(t)
	cert, key := registration.NewPair(names, time.Now().Add(-250*24*time.Hour))
	c.must(admin.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: ops, Name: names.Secret()}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{"tls.crt": cert, "tls.key": key},
	}))
	c.start()
	c.eventually("it answers", c.answers)
	var requests, failed atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			requests.Add(1)
			if err := c.ask(); err != nil {
				failed.Add(1)
				t.Errorf("a request failed: %v", err)
			}
		}
	}()
	c.eventually("the next one is trusted", func() bool {
		s := c.secret()
		return len(s.Data["next.crt"]) > 0 && s.Annotations["views.acme.com/next-trusted-since"] != ""
	})
	next := c.secret().Data["next.crt"]
	c.freeze(true)
	c.start() // another leader continues
	c.skip(10 * time.Minute)
	c.start()
	c.eventually("it is in service", func() bool { return string(c.secret().Data["tls.crt"]) == string(next) })
	before := requests.Load()
	c.eventually("the reader that is late is still trusted", func() bool { return requests.Load() > before+20 })
	c.freeze(false)
	before = requests.Load()
	c.eventually("the one that is not is, too", func() bool { return requests.Load() > before+20 })
	cancel()
	<-ended
	t.Logf("%d requests, %d failed", requests.Load(), failed.Load())
	if s := c.secret(); len(s.Data["next.crt"]) > 0 || s.Annotations["views.acme.com/next-trusted-since"] != "" {
		t.Error("the Secret still has the next certificate")
	}
}

// V12: whatever becomes of the Secret, there is soon another one, and no restart.
func TestASpoiledSecretIsMadeAnew(t *testing.T) {
	c := newCluster(t)
	c.start()
	c.eventually("it is available", c.available)
	otherCert, otherKey := registration.NewPair(names, time.Now())
	expiredCert, expiredKey := registration.NewPair(names, time.Now().Add(-366*24*time.Hour))
	for name, spoil := range map[string]func(){
		"deleted":        func() { c.must(admin.Delete(t.Context(), c.secret())) },
		"garbage":        func() { c.change(func(s *corev1.Secret) { s.Data["tls.crt"] = []byte("garbage") }) },
		"of another key": func() { c.change(func(s *corev1.Secret) { s.Data["tls.key"] = otherKey }) },
		"expired": func() {
			c.change(func(s *corev1.Secret) { s.Data["tls.crt"], s.Data["tls.key"] = expiredCert, expiredKey })
		},
		"of somebody else": func() {
			c.change(func(s *corev1.Secret) { s.Data["tls.crt"], s.Data["tls.key"] = otherCert, otherKey })
		},
		"without ca.crt": func() { c.change(func(s *corev1.Secret) { delete(s.Data, "ca.crt") }) },
	} {
		t.Run(name, func(t *testing.T) {
			c := c.in(t)
			spoil()
			c.eventually("what is served is trusted", func() bool {
				s, u := c.secret(), c.registered()
				return s != nil && u != nil && usable(s.Data["tls.crt"]) && contains(s.Data["ca.crt"], s.Data["tls.crt"]) && string(bundle(u)) == string(s.Data["ca.crt"])
			})
			c.eventually("it answers", func() bool { return c.ask() == nil })
		})
	}
}

func TestAProvidedCertificateIsOnlyRead(t *testing.T) {
	c := newCluster(t)
	provided := func(o *registration.Options) { o.Provided = true }
	c.start(provided)
	c.eventually("an event says what is missing", c.eventOf("Unregistered", "NoCertificate"))
	if c.secret() != nil || c.registered() != nil {
		t.Fatal("there is a Secret or an APIService")
	}
	// The certificate is two thirds through its life, which is not the operator's business.
	cert, key := registration.NewPair(names, time.Now().Add(-300*24*time.Hour))
	c.must(admin.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: ops, Name: names.Secret()}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{"tls.crt": cert, "tls.key": key, "ca.crt": cert},
	}))
	c.eventually("it is available", c.available)
	newCert, newKey := registration.NewPair(names, time.Now())
	c.change(func(s *corev1.Secret) {
		s.Data = map[string][]byte{"tls.crt": newCert, "tls.key": newKey, "ca.crt": append(newCert, cert...)}
	})
	c.eventually("the new authorities are trusted", func() bool { return string(bundle(c.registered())) == string(append(newCert, cert...)) })
	c.eventually("API servers have loaded them", func() bool { return c.ask() == nil })
	c.change(func(s *corev1.Secret) { s.Data["tls.crt"] = []byte("garbage") })
	version := c.secret().ResourceVersion
	c.skip(time.Hour)
	c.start(provided)
	c.settle()
	if c.secret().ResourceVersion != version {
		t.Error("the operator wrote a Secret that somebody else provides")
	}
}

func usable(cert []byte) bool {
	block, _ := pem.Decode(cert)
	if block == nil {
		return false
	}
	c, err := x509.ParseCertificate(block.Bytes)
	return err == nil && time.Now().Before(c.NotAfter)
}

func contains(bundle, cert []byte) bool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(bundle)
	block, _ := pem.Decode(cert)
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return false
	}
	_, err = c.Verify(x509.VerifyOptions{Roots: pool, DNSName: service + "." + ops + ".svc"})
	return err == nil
}
