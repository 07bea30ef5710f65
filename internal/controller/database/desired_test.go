// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"net/url"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
)

func named(name string, with ...func(*v1alpha1.Database)) *v1alpha1.Database {
	db := &v1alpha1.Database{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"}, Spec: v1alpha1.DatabaseSpec{Type: v1alpha1.Postgres}}
	for _, w := range with {
		w(db)
	}
	return db
}

func TestNamesOfChildren(t *testing.T) {
	for name, want := range map[string]string{
		"db":                     "db",
		strings.Repeat("a", 40):  strings.Repeat("a", 40),
		strings.Repeat("a", 41):  strings.Repeat("a", 29) + "-",
		strings.Repeat("b", 253): strings.Repeat("b", 29) + "-",
		"a.b":                    "a-b-",
		"1db":                    "d-1db-",
		"db-0123456789":          "db-0123456789-",
	} {
		base := names.DatabaseName(name)
		cut := strings.HasSuffix(want, "-") && strings.HasPrefix(base, want) && names.IsDigestedTail(base)
		if base != want && !cut {
			t.Errorf("%.60s: got %s, want %s", name, base, want)
		}
		if len(base) > 40 || len(generationName(named(name))) > 52 {
			t.Errorf("%.60s: %s is too long: the label controller-revision-hash adds 11 characters", name, base)
		}
	}
	seen := map[string]string{}
	for _, name := range []string{"a.b", "a-b", "d-1db", "1db", names.DatabaseName("a.b"), names.DatabaseName("1db"), strings.Repeat("a", 41), strings.Repeat("a", 42)} {
		base := names.DatabaseName(name)
		if other, taken := seen[base]; taken {
			t.Errorf("%s and %s share %s", name, other, base)
		}
		seen[base] = name
	}
}

func TestConnectionSecret(t *testing.T) {
	in := input{db: named("db", func(db *v1alpha1.Database) { db.Spec.DatabaseName = `or"ders/1` }), show: login{`o'ro`, `p@ss:/w?rd%`}}
	secret := in.connectionSecret()
	if string(*secret.Type) != "servicebinding.io/postgresql" {
		t.Errorf("the type is %s", *secret.Type)
	}
	for key, want := range map[string]string{
		"type": "postgresql", "provider": "platform-operator", "host": "db.ns.svc", "port": "5432",
		"username": "o'ro", "password": `p@ss:/w?rd%`, "database": `or"ders/1`,
	} {
		if got := string(secret.Data[key]); got != want {
			t.Errorf("%s is %s, want %s", key, got, want)
		}
	}
	uri, err := url.Parse(string(secret.Data["uri"]))
	if err != nil {
		t.Fatal(err)
	}
	password, _ := uri.User.Password()
	if uri.User.Username() != "o'ro" || password != `p@ss:/w?rd%` || uri.Path != `/or"ders/1` || uri.Host != "db.ns.svc:5432" {
		t.Errorf("the uri %s reads %+v", secret.Data["uri"], uri)
	}
	in.db.Spec.Type = v1alpha1.MySQL
	if got := string(in.connectionSecret().Data["port"]); got != "3306" {
		t.Errorf("the port of mysql is %s", got)
	}
}

func TestServerIsRestricted(t *testing.T) {
	in := input{db: named("db"), image: "postgres:18", agentImage: "operator:1", runAsUser: 999}
	pod := in.template().Spec
	if *pod.AutomountServiceAccountToken || !*pod.SecurityContext.RunAsNonRoot || *pod.SecurityContext.RunAsUser != 999 ||
		*pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("the pod: %+v", pod.SecurityContext)
	}
	for _, c := range append(pod.InitContainers, pod.Containers...) {
		s := c.SecurityContext
		if *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || len(s.Capabilities.Drop) != 1 || s.Capabilities.Drop[0] != "ALL" {
			t.Errorf("%s: %+v", *c.Name, s)
		}
		if _, limited := (*c.Resources.Limits)[corev1.ResourceMemory]; !limited {
			t.Errorf("%s has no limit of memory", *c.Name)
		}
	}
	in.runAsUser = 0
	if s := in.podSecurity(); s.RunAsUser != nil || s.FSGroup != nil {
		t.Errorf("a user is set although the platform chooses it: %+v", s)
	}
}

// No argument is one that the kubelet replaces, and none has a password.
func TestArgumentsAreLiteral(t *testing.T) {
	in := input{db: named("db", func(db *v1alpha1.Database) {
		db.Spec.User, db.Spec.DatabaseName, db.Spec.Password = "$(HOSTNAME)", "-$x", "secret"
		db.Status.Version = "18"
	}), show: login{"u", "secret"}}
	args := strings.Join(in.server().Args, " ")
	if want := "run --type=postgres --version=18 --database=-$$x --user=$$(HOSTNAME) --stop-timeout=110s"; args != want {
		t.Errorf("the arguments are %s, want %s", args, want)
	}
	if len(in.server().Env) != 0 {
		t.Errorf("the server has an environment: %+v", in.server().Env)
	}
}

func TestResources(t *testing.T) {
	amount := func(text string) v1alpha1.ResourceAmounts {
		return v1alpha1.ResourceAmounts{"memory": resource.MustParse(text)}
	}
	for name, tt := range map[string]struct {
		resources     v1alpha1.Resources
		request, most string
	}{
		"default":                           {v1alpha1.Resources{}, "256Mi", "1Gi"},
		"a request above the default limit": {v1alpha1.Resources{Requests: amount("2Gi")}, "2Gi", "2Gi"},
		"a limit below the default request": {v1alpha1.Resources{Limits: amount("128Mi")}, "128Mi", "128Mi"},
		"both":                              {v1alpha1.Resources{Requests: amount("1Gi"), Limits: amount("3Gi")}, "1Gi", "3Gi"},
	} {
		r := resourcesOf(tt.resources)
		request, most := (*r.Requests)[corev1.ResourceMemory], (*r.Limits)[corev1.ResourceMemory]
		if request.String() != tt.request || most.String() != tt.most {
			t.Errorf("%s: %s to %s, want %s to %s", name, request.String(), most.String(), tt.request, tt.most)
		}
	}
}

// The operator reads values for RebootPolicies; what else is outside of the namespace reaches nothing.
func TestWhoReachesTheServer(t *testing.T) {
	from := map[string][]string{}
	for _, rule := range (input{db: named("db"), operatorNamespace: "operators"}).networkPolicy().Spec.Ingress {
		peer := "pods of the namespace"
		if s := rule.From[0].NamespaceSelector; s != nil {
			peer = s.MatchLabels[corev1.LabelMetadataName]
		}
		for _, port := range rule.Ports {
			from[peer] = append(from[peer], port.Port.StrVal)
		}
	}
	want := map[string][]string{"pods of the namespace": {"database"}, "operators": {"agent", "database"}}
	if !reflect.DeepEqual(from, want) {
		t.Errorf("reached are %v, want %v", from, want)
	}
}

func TestChildren(t *testing.T) {
	db := named("db")
	for _, want := range []string{"NetworkPolicy ns/db-database", "PodDisruptionBudget ns/db", "Service ns/db", "Service ns/db-g1", "Secret ns/db", "StatefulSet ns/db-g1"} {
		found := false
		for _, c := range (input{db: db}).desired() {
			found = found || c.String() == want
		}
		if !found {
			t.Errorf("there is no %s", want)
		}
	}
	if got := adminName(db); got != "db-admin" {
		t.Errorf("the Secret of the accounts is %s", got)
	}
	if got := agentAddress(db); got != "db-g1.ns.svc:8090" {
		t.Errorf("the agent is at %s", got)
	}
	for kind, version := range newest {
		db.Spec.Type = kind
		if got := endpoint(db); version == "" || !strings.HasPrefix(got, "db.ns.svc:") {
			t.Errorf("%s %s is at %s", kind, version, got)
		}
	}
}
