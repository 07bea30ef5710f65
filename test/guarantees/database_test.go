// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/acme/platform-operator/api/databases/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/testenv/fakedb"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = fixture("Database", databases{})

// databases is the fixture of Database. Nothing runs pods: fakedb stands in for what runs servers, and plays their agents.
type databases struct{ Ordinary }

// servers are those of the present control plane.
var servers atomic.Pointer[fakedb.Servers]

func dialServers(ctx context.Context, network, address string) (net.Conn, error) {
	return servers.Load().Dial(ctx, network, address)
}

func databaseOf(o engine.Object) *v1alpha1.Database { return o.(*v1alpha1.Database) }

func databaseNamed(unique string) *v1alpha1.Database {
	return &v1alpha1.Database{ObjectMeta: metav1.ObjectMeta{Name: unique, Namespace: unique}}
}

// Prepare implements Fixture.
func (databases) Prepare() {
	former := servers.Load()
	s, err := fakedb.Start(Plane.Config)
	Expect(err).NotTo(HaveOccurred())
	servers.Store(s)
	DeferCleanup(func() {
		s.Stop()
		servers.Store(former)
	})
}

// Configuration implements Fixture.
func (databases) Configuration() string {
	return "database: {retryMax: 1s, agentImage: registry.acme.com/operator}\n"
}

// LeavesOut implements Fixture.
func (databases) LeavesOut() map[string]string {
	return map[string]string{
		"G10 autoscaler": "there is one server, which nothing may scale",
	}
}

// Settled implements Fixture: the password is in force, and the volume known.
func (databases) Settled(o engine.Object) bool {
	s := databaseOf(o).Status
	return meta.IsStatusConditionTrue(s.Conditions, "CredentialsInSync") && s.Storage != nil && s.Storage.Capacity != nil
}

// Reads implements Fixture: the claim and the accounts, which no cache holds.
func (databases) Reads() float64 { return 4 }

// Change implements Fixture.
func (databases) Change(o engine.Object, _ string) {
	databaseOf(o).Spec.Image = "registry.acme.com/postgres:18.1"
}

// Action implements Fixture.
func (databases) Action(unique string) string {
	return "PATCH namespaces/" + unique + "/statefulsets/" + unique + "-g1"
}

// Transitions implements Fixture.
func (databases) Transitions() map[string]func(engine.Object) {
	return map[string]func(engine.Object){
		"asking for no server":             func(o engine.Object) { databaseOf(o).Spec.Suspended = true },
		"asking for a password of its own": func(o engine.Object) { databaseOf(o).Spec.Password = "chosen" },
	}
}

// Happenings implements Fixture.
func (databases) Happenings() []Happening {
	return []Happening{{
		Name: "a password that somebody writes into the connection Secret",
		Do: func(unique string) {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: unique, Namespace: unique}}
			Expect(Reload(secret)).To(Succeed())
			Change(secret, func(s *corev1.Secret) { s.Data["password"] = []byte("edited") })
		},
		Done: func(unique string) error {
			if err := servers.Load().Works(unique+"/"+unique+"-g1", "app", "edited"); err != nil {
				return err
			}
			db := databaseNamed(unique)
			if err := Reload(db); err != nil {
				return err
			}
			if !meta.IsStatusConditionTrue(db.Status.Conditions, "CredentialsInSync") {
				return fmt.Errorf("it is not in sync")
			}
			return nil
		},
	}}
}

// Deletions implements Fixture. What is retained belongs to nobody.
func (databases) Deletions() []Deletion {
	return []Deletion{
		{Name: "Retain", Prepare: func(engine.Object) {}},
		{Name: "Delete", Prepare: func(o engine.Object) { databaseOf(o).Spec.DeletionPolicy = v1alpha1.DeletionDelete }},
	}
}

// Invalidate implements Fixture.
func (databases) Invalidate(o *unstructured.Unstructured) {
	for path, value := range map[string]any{"deletionPolicy": "Maybe", "user": "", "image": "a b"} {
		Expect(unstructured.SetNestedField(o.Object, value, "spec", path)).To(Succeed())
	}
}

// Tamper implements Fixture.
func (databases) Tamper(child *unstructured.Unstructured) []string {
	return map[string][]string{
		"NetworkPolicy":       {`{"spec":{"ingress":[{}]}}`},
		"PodDisruptionBudget": {`{"spec":{"maxUnavailable":0}}`},
		"Secret":              {`{"data":{"host":null}}`, `{"data":{"username":"bWFsbG9yeQ=="}}`},
		"Service":             {`{"spec":{"selector":{"app":"none"}}}`},
		"StatefulSet":         {`{"spec":{"replicas":2}}`, `{"spec":{"template":{"spec":{"automountServiceAccountToken":true}}}}`},
	}[child.GetKind()]
}

// Foreign implements Fixture: what kubectl rollout restart does.
func (databases) Foreign(other *unstructured.Unstructured) []string {
	if other.GetKind() != "StatefulSet" {
		return nil
	}
	return []string{`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"2026-01-01T00:00:00Z"}}}}}`}
}

// Breakages implements Fixture.
func (databases) Breakages() []Breakage {
	service := func(unique string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: unique, Name: unique}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}}
	}
	return []Breakage{
		{
			Name: "that a Service of its name is somebody else's", Unborn: true,
			Break: func(unique string) {
				discardLater(Create(namespaceNamed(unique)))
				Create(service(unique))
			},
			Mend: func(unique string) {
				Remove(service(unique))
				Annotate(databaseNamed(unique), "others.example.com/poke", "repaired")
			},
			Reason: engine.ReasonNameTaken, Status: status.FailedStatus,
		},
		{
			Name: "that its volume is full",
			Break: func(unique string) {
				servers.Load().Change(unique+"/"+unique+"-g1", func(s *fakedb.Server) { s.Free = 0 })
				Annotate(databaseNamed(unique), "others.example.com/poke", "full")
			},
			Mend: func(unique string) {
				servers.Load().Change(unique+"/"+unique+"-g1", func(s *fakedb.Server) { s.Free = s.Total })
				Annotate(databaseNamed(unique), "others.example.com/poke", "repaired")
			},
			Reason: "StorageFull", Status: status.FailedStatus,
		},
		{
			Name: "that the operator may not do what it has to",
			Break: func(unique string) {
				takeAway("create", service(unique))
				Remove(service(unique))
			},
			Mend:   func(string) { giveBackRole() },
			Reason: "Forbidden", Status: status.InProgressStatus,
		},
	}
}
