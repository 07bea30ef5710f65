// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/acme/platform-operator/api/config/v1alpha1"
	"github.com/acme/platform-operator/internal/external/billing"
	"github.com/acme/platform-operator/internal/external/identity/ldaptest"
	"github.com/acme/platform-operator/internal/external/sqldb"
	"github.com/acme/platform-operator/internal/operator/settings"
)

// store is the operator's own namespace: its Secrets and ConfigMaps by name.
type store struct {
	secrets, configMaps map[string]map[string]string
	reads               int
}

// Get implements client.Reader.
func (s *store) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	s.reads++
	if key.Namespace != "own" {
		return errors.New("not the operator's namespace")
	}
	switch o := o.(type) {
	case *corev1.Secret:
		data, ok := s.secrets[key.Name]
		o.Data = map[string][]byte{}
		for k, v := range data {
			o.Data[k] = []byte(v)
		}
		return found(ok, "secrets", key.Name)
	case *corev1.ConfigMap:
		data, ok := s.configMaps[key.Name]
		o.Data = data
		return found(ok, "configmaps", key.Name)
	default:
		return fmt.Errorf("a %T must not be read", o)
	}
}

func found(ok bool, resource, name string) error {
	if ok {
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: resource}, name)
}

// List implements client.Reader.
func (*store) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("nobody should list")
}

// connected creates the configured ports.
func connected(t *testing.T, s *store, acmeNamespace string) Deps {
	t.Helper()
	c, err := settings.Parse([]byte("apiVersion: config.acme.com/v1alpha1\nkind: PlatformOperatorConfig\nacmeNamespace: " + acmeNamespace))
	if err != nil {
		t.Fatal(err)
	}
	d := Deps{Options: Options{Namespace: "own"}, Config: c}
	d.connect(s, "")
	return d
}

func pemOf(server *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

// quietTLS is a server over TLS that does not log clients that hang up.
func quietTLS(h http.Handler) *httptest.Server {
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	return server
}

func otherAuthority(t *testing.T) string {
	t.Helper()
	ca, _, err := cert.GenerateSelfSignedCertKey("elsewhere.acme.com", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(ca)
}

func TestNoPortsByDefault(t *testing.T) {
	d := connected(t, &store{}, "{}")
	if d.Directory != nil || d.Ledger != nil {
		t.Errorf("directory %v, ledger %v: a kind would ask it", d.Directory, d.Ledger)
	}
}

type given struct{}

func (given) Lookup(context.Context, string) (bool, error)    { return false, nil }
func (given) Released(context.Context, billing.Release) error { return nil }

func TestGivenPortsStay(t *testing.T) {
	c := &configv1alpha1.PlatformOperatorConfig{}
	configv1alpha1.Default(c)
	d := Deps{Options: Options{Directory: given{}, Ledger: given{}}, Config: c}
	d.connect(&store{}, "")
	if d.Directory != (given{}) || d.Ledger != (given{}) {
		t.Errorf("directory %v, ledger %v", d.Directory, d.Ledger)
	}
}

// provider is a SCIM server that knows sam, and wants a token.
func provider(token *string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+*token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/scim+json")
		if r.URL.Query().Get("filter") == `userName eq "sam"` {
			fmt.Fprint(w, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"totalResults":1,"Resources":[{"userName":"sam"}]}`)
			return
		}
		fmt.Fprint(w, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"totalResults":0,"Resources":[]}`)
	})
}

func TestSCIMByConfiguration(t *testing.T) {
	token := "canary-one"
	server := quietTLS(provider(&token))
	defer server.Close()
	s := &store{
		secrets:    map[string]map[string]string{"scim": {"token": token}},
		configMaps: map[string]map[string]string{"scim-ca": {"ca.crt": pemOf(server)}},
	}
	// Nothing is kept for longer than a moment, so that each look-up asks.
	d := connected(t, s, fmt.Sprintf("{identity: {type: SCIM, usernamePrefix: 'oidc:', knownFor: 1ns, unknownFor: 1ns, "+
		"scim: {url: %s/scim/v2, tokenSecret: {name: scim}, caConfigMap: {name: scim-ca}}}}", server.URL))
	if s.reads != 0 {
		t.Error("it reads before it is asked: the operator could not start without the Secret")
	}
	lookup := func(step, user string, want bool, wantErr string) {
		t.Helper()
		known, err := d.Directory.Lookup(t.Context(), user)
		if known != want || (wantErr == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), wantErr) {
			t.Errorf("%s: Lookup = %v, %v, want %v, %s", step, known, err, want, wantErr)
		}
		if err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: the error holds the token: %v", step, err)
		}
	}
	lookup("known", "oidc:sam", true, "")
	lookup("unknown", "oidc:kim", false, "")
	token = "canary-two"
	lookup("rotated at the provider only", "sam", false, "401")
	s.secrets["scim"]["token"] = token
	lookup("rotated", "sam", true, "")
	s.configMaps["scim-ca"]["ca.crt"] = otherAuthority(t)
	lookup("another authority", "sam", false, "certificate")
	s.configMaps["scim-ca"]["ca.crt"] = "no certificate"
	lookup("no authority", "sam", false, "reading RootCAs")
	s.configMaps["scim-ca"]["ca.crt"] = pemOf(server)
	lookup("the right authority again", "sam", true, "")
	delete(s.configMaps["scim-ca"], "ca.crt")
	lookup("the key is gone", "sam", false, "the ConfigMap own/scim-ca has no key ca.crt")
	delete(s.configMaps, "scim-ca")
	lookup("the ConfigMap is gone", "sam", false, "reading the ConfigMap own/scim-ca")
	s.configMaps["scim-ca"] = map[string]string{"ca.crt": pemOf(server)}
	delete(s.secrets["scim"], "token")
	lookup("the token is gone", "sam", false, "the Secret own/scim has no key token")
	delete(s.secrets, "scim")
	lookup("the Secret is gone", "sam", false, "reading the Secret own/scim")
}

// What validation lets pass has to work.
func TestSCIMOnLoopbackWithoutTLS(t *testing.T) {
	token := "t"
	server := httptest.NewServer(provider(&token))
	defer server.Close()
	d := connected(t, &store{secrets: map[string]map[string]string{"scim": {"token": token}}},
		fmt.Sprintf("{identity: {type: SCIM, scim: {url: %s, tokenSecret: {name: scim}}}}", server.URL))
	if known, err := d.Directory.Lookup(t.Context(), "sam"); !known || err != nil {
		t.Errorf("Lookup = %v, %v", known, err)
	}
}

func TestAnswersAreKept(t *testing.T) {
	token, asked := "t", 0
	handler := provider(&token)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	d := connected(t, &store{secrets: map[string]map[string]string{"scim": {"token": token}}},
		fmt.Sprintf("{identity: {type: SCIM, scim: {url: %s, tokenSecret: {name: scim}}}}", server.URL))
	for range 5 {
		if known, err := d.Directory.Lookup(t.Context(), "sam"); !known || err != nil {
			t.Fatalf("Lookup = %v, %v", known, err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

func TestLDAPByConfiguration(t *testing.T) {
	server := ldaptest.Start(t)
	server.AddUser("sam")
	s := &store{
		secrets:    map[string]map[string]string{"bind": {"username": server.BindDN, "password": server.Password}},
		configMaps: map[string]map[string]string{"ca": {"root.pem": string(server.CA)}},
	}
	for _, c := range []string{
		fmt.Sprintf("ldap: {url: %s, baseDN: '%s', credentialsSecret: {name: bind}, caConfigMap: {name: ca, key: root.pem}}", server.LDAPS, server.BaseDN),
		fmt.Sprintf("ldap: {url: %s, startTLS: true, baseDN: '%s', userFilter: '(mail={username})', credentialsSecret: {name: bind}, "+
			"caConfigMap: {name: ca, key: root.pem}}", server.URL, server.BaseDN),
	} {
		d := connected(t, s, "{identity: {type: LDAP, usernamePrefix: 'ad:', "+c+"}}")
		user := "ad:sam"
		if strings.Contains(c, "mail") {
			user = "sam@acme.com"
		}
		if known, err := d.Directory.Lookup(t.Context(), user); !known || err != nil {
			t.Errorf("%s: Lookup = %v, %v", c, known, err)
		}
		if known, err := d.Directory.Lookup(t.Context(), "ad:nobody"); known || err != nil {
			t.Errorf("%s: Lookup = %v, %v", c, known, err)
		}
	}
	d := connected(t, s, fmt.Sprintf("{identity: {type: LDAP, ldap: {url: %s, baseDN: '%s', credentialsSecret: {name: bind}, "+
		"caConfigMap: {name: ca, key: root.pem}}}}", server.LDAPS, server.BaseDN))
	for key, want := range map[string]string{"username": "the Secret own/bind has no key username", "password": "the Secret own/bind has no key password"} {
		value := s.secrets["bind"][key]
		delete(s.secrets["bind"], key)
		if _, err := d.Directory.Lookup(t.Context(), "sam"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without %s: %v", key, err)
		}
		s.secrets["bind"][key] = value
	}
}

func TestBillingByConfiguration(t *testing.T) {
	var got []string
	server := quietTLS(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization")+" "+r.Header.Get("Ce-Source")+" "+r.Header.Get("Ce-Id"))
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	s := &store{
		secrets:    map[string]map[string]string{"billing": {"bearer": "one"}},
		configMaps: map[string]map[string]string{"billing-ca": {"ca.crt": otherAuthority(t)}},
	}
	d := connected(t, s, fmt.Sprintf("{billing: {type: CloudEvents, cloudEvents: {url: %s, tokenSecret: {name: billing, key: bearer}, "+
		"caConfigMap: {name: billing-ca}}}}", server.URL))
	release := billing.Release{ID: "uid", Namespace: "app", At: metav1.NewTime(time.Unix(0, 0)).Time}
	if err := d.Ledger.Released(t.Context(), release); err == nil || len(got) != 0 {
		t.Errorf("reported to an untrusted server: %v", got)
	}
	s.configMaps["billing-ca"]["ca.crt"] = pemOf(server)
	if err := d.Ledger.Released(t.Context(), release); err != nil {
		t.Error(err)
	}
	s.secrets["billing"]["bearer"] = "two"
	if err := d.Ledger.Released(t.Context(), release); err != nil {
		t.Error(err)
	}
	delete(s.configMaps, "billing-ca")
	if err := d.Ledger.Released(t.Context(), release); err == nil || !strings.Contains(err.Error(), "reading the ConfigMap own/billing-ca") {
		t.Errorf("without its authorities: %v", err)
	}
	if want := "Bearer one urn:acme:platform-operator uid, Bearer two urn:acme:platform-operator uid"; strings.Join(got, ", ") != want {
		t.Errorf("told %v", got)
	}
}

func TestProtectedNamesHoldTheOperatorsOwn(t *testing.T) {
	d := connected(t, &store{}, "{protectedNames: [monitoring]}")
	if got := strings.Join(d.protectedNames(), " "); got != "own monitoring" {
		t.Errorf("protected: %s", got)
	}
}

func TestTheLeaderTakesUpAChangedConfigurationLast(t *testing.T) {
	elected := make(chan struct{})
	close(elected)
	for name, row := range map[string]struct {
		elects  bool
		elected <-chan struct{}
		want    time.Duration
	}{
		"the leader waits for the others":          {true, elected, 10 * time.Second},
		"the others restart at once":               {true, make(chan struct{}), 0},
		"one that is alone has nobody to wait for": {false, elected, 0},
	} {
		if got := restartDelay(Options{LeaderElect: row.elects}, row.elected); got != row.want {
			t.Errorf("%s: %s, want %s", name, got, row.want)
		}
	}
}

func TestDatabasesByConfiguration(t *testing.T) {
	c := configv1alpha1.RebootPolicyConfig{
		AllowedNetworks: []string{"127.0.0.0/8", "203.0.113.7/32"}, DeniedNetworks: []string{"203.0.113.0/24"},
	}
	for host, want := range map[string]sqldb.Reason{
		"203.0.113.8":  sqldb.Forbidden,   // denied
		"198.51.100.7": sqldb.Forbidden,   // the API server
		"169.254.1.1":  sqldb.Forbidden,   // reserved
		"203.0.113.7":  sqldb.Unreachable, // allowed; but what the namespace may reach is unknown
		"127.0.0.1":    sqldb.Unreachable,
	} {
		_, err := databases(c, &store{}, "https://198.51.100.7:6443").Read(t.Context(), sqldb.Source{
			Namespace: "ns", Type: sqldb.Postgres, Host: host, Port: 1, Database: "app", User: "app",
		}, sqldb.Watch{Query: "SELECT 1"})
		if e := (*sqldb.Error)(nil); !errors.Is(err, want) || !errors.As(err, &e) || want == sqldb.Unreachable && e.Detail != "it is not known whether the address is forbidden" {
			t.Errorf("%s: %v, want %s", host, err, want)
		}
	}
}
