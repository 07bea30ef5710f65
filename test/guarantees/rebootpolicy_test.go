// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	"github.com/acme/platform-operator/internal/controller/rebootpolicy"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/external/sqldb/sqltest"
	"github.com/acme/platform-operator/internal/restart"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// rebootPolicies is the fixture of RebootPolicy. All objects watch the same in a real PostgreSQL, each as a user of its
// own who sees a row of their own. Its act is the restart of a Deployment.
type rebootPolicies struct {
	Ordinary
	server          *sqltest.Server
	password, value string
}

var _ = fixture("RebootPolicy", &rebootPolicies{})

func rebootPolicy(o engine.Object) *v1alpha1.RebootPolicy { return o.(*v1alpha1.RebootPolicy) }

// Start implements Fixture.
func (f *rebootPolicies) Start() {
	f.server, f.password, f.value = sqltest.StartPostgres(GinkgoT()), "a-password", "a-value"
	f.server.Exec("CREATE TABLE settings (owner text PRIMARY KEY, value text)", "GRANT SELECT ON settings TO PUBLIC")
}

// Configuration implements Fixture.
func (*rebootPolicies) Configuration() string {
	return "rebootPolicy: {retryMax: 1s, allowedNetworks: [127.0.0.0/8]}\n"
}

// Secretive implements Fixture: nobody is to learn the password, nor the value.
func (f *rebootPolicies) Secretive(canary string) []Secretive {
	f.password, f.value = canary, canary
	return []Secretive{{
		Name: "a password and a value", Configuration: f.Configuration(),
		Used: func() bool {
			return f.server.Int("SELECT count(*) FROM pg_stat_activity WHERE usename LIKE 'g9-%'") > 0
		},
	}}
}

// Name implements Fixture.
func (f *rebootPolicies) Name(sample engine.Object, _ string) {
	spec := &rebootPolicy(sample).Spec
	spec.Source.Host, spec.Source.Port, spec.Source.Database = f.server.Host, int32(f.server.Port), f.server.Database
	spec.Source.TLS = &v1alpha1.SourceTLS{CASecretRef: &v1alpha1.CAReference{Name: spec.Source.CredentialsSecretRef.Name}}
	spec.Watch.Where = "owner = current_user"
	spec.Interval = &metav1.Duration{Duration: 5 * time.Second}
}

// LeavesOut implements Fixture.
func (*rebootPolicies) LeavesOut() map[string]string {
	return map[string]string{
		"G4 deletion":              "it has no finalizer: its deletion is one request, of the user's",
		"G13 in its own namespace": "it makes nothing there that could be copied; which workloads it restarts is for its user to say",
		"G7 finalizer":             "it has none: its deletion needs no operator",
		"G5":                       "it makes nothing that it keeps in a wanted state; what it restarts is its user's",
	}
}

// Settled implements Fixture.
func (*rebootPolicies) Settled(o engine.Object) bool { return rebootPolicy(o).Status.Pending == nil }

// Surround implements Fixture.
func (f *rebootPolicies) Surround(unique string) {
	f.server.Exec(fmt.Sprintf(`CREATE ROLE %q LOGIN PASSWORD '%s'`, unique, f.password))
	f.insert(unique)
	Create(f.credentials(unique))
	Create(webapp(unique))
}

func (f *rebootPolicies) insert(unique string) {
	f.server.Exec(fmt.Sprintf("INSERT INTO settings VALUES ('%s', '%s')", unique, f.value))
}

func (f *rebootPolicies) credentials(unique string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: unique, Name: "webapp-db"},
		StringData: map[string]string{"username": unique, "password": f.password, "ca.crt": f.server.CA},
	}
}

// Childless implements Fixture.
func (*rebootPolicies) Childless() bool { return true }

// Reads implements Fixture: the credentials, and what reports whether its namespace may reach the database.
func (*rebootPolicies) Reads() float64 { return 3 }

// Change implements Fixture.
func (f *rebootPolicies) Change(_ engine.Object, unique string) {
	f.server.Exec(fmt.Sprintf("UPDATE settings SET value = value || ' changed' WHERE owner = '%s'", unique))
}

// Action implements Fixture.
func (*rebootPolicies) Action(unique string) string {
	return "PATCH namespaces/" + unique + "/deployments/webapp"
}

// Happenings implements Fixture.
func (f *rebootPolicies) Happenings() []Happening {
	return []Happening{{
		Name: "change of the value",
		Do:   func(unique string) { f.Change(nil, unique) },
		Done: func(unique string) error {
			p := &v1alpha1.RebootPolicy{}
			if err := Admin.Get(context.Background(), client.ObjectKey{Namespace: unique, Name: unique}, p); err != nil {
				return err
			}
			return restartedOnce(unique, p.Status.RestartStatus)
		},
	}}
}

// Invalidate implements Fixture.
func (*rebootPolicies) Invalidate(o *unstructured.Unstructured) {
	Expect(unstructured.SetNestedField(o.Object, "0s", "spec", "interval")).To(Succeed())
	Expect(unstructured.SetNestedStringMap(o.Object, map[string]string{}, "spec", "podSelector")).To(Succeed())
}

// Foreign implements Fixture.
func (*rebootPolicies) Foreign(other *unstructured.Unstructured) []string {
	return configWatchers{}.Foreign(other)
}

// Breakages implements Fixture.
func (f *rebootPolicies) Breakages() []Breakage {
	return []Breakage{
		{
			Name: "that the Secret with the credentials does not exist",
			Break: func(unique string) {
				Remove(f.credentials(unique))
			},
			Mend: func(unique string) {
				Create(f.credentials(unique))
			},
			Reason: rebootpolicy.ReasonCredentialsMissing, Status: status.FailedStatus,
		},
		{
			Name: "that there is no such row",
			Break: func(unique string) {
				f.server.Exec(fmt.Sprintf("DELETE FROM settings WHERE owner = '%s'", unique))
			},
			Mend:   func(unique string) { f.insert(unique) },
			Reason: "NoRow", Status: status.FailedStatus,
		},
		{
			Name: "that the database is away",
			Break: func(string) {
				DeferCleanup(f.server.Restart) // for the specs after this one, whatever becomes of it
				f.server.Stop()
			},
			Mend:   func(string) { f.server.Restart() },
			Reason: "SourceUnreachable", Status: status.InProgressStatus,
		},
		{
			Name: "that the operator may not do what it has to",
			Prepare: func(o engine.Object) {
				rebootPolicy(o).Spec.Restart.Debounce = &metav1.Duration{}
			},
			Break: func(unique string) {
				takeAwayIn("patch", webapp(unique), func(r rbacv1.PolicyRule) bool { return slices.Contains(r.APIGroups, "apps") })
				f.Change(nil, unique)
			},
			Mend:      func(string) { giveBackRole() },
			Announced: 1, Reason: restart.ReasonRestartRefused, Status: status.InProgressStatus,
		},
	}
}
