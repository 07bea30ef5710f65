// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ldap_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/util/cert"

	"github.com/acme/platform-operator/internal/external/identity"
	"github.com/acme/platform-operator/internal/external/identity/ldap"
	"github.com/acme/platform-operator/internal/external/identity/ldaptest"
	"github.com/acme/platform-operator/internal/testenv/loopback"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// generous is the bound for everything that must end "soon"; a server in these tests hangs for longer.
const generous = 2 * time.Minute

// options are those of a well configured operator; tests spoil them.
func options(s *ldaptest.Server) ldap.Options {
	return ldap.Options{
		URL:     s.LDAPS,
		RootCAs: s.CA,
		BaseDN:  s.BaseDN,
		Credentials: func(context.Context) (ldap.Credentials, error) {
			return ldap.Credentials{BindDN: s.BindDN, Password: s.Password}, nil
		},
		Timeout: generous,
	}
}

func newDirectory(t *testing.T, o ldap.Options) identity.Directory {
	t.Helper()
	d, err := ldap.New(o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return d
}

func expect(t *testing.T, d identity.Directory, username string, want bool) {
	t.Helper()
	if got, err := d.Lookup(t.Context(), username); err != nil || got != want {
		t.Errorf("Lookup(%q) = %v, %v; want %v, nil", username, got, err, want)
	}
}

func expectError(t *testing.T, d identity.Directory, want string) {
	t.Helper()
	found, err := d.Lookup(t.Context(), "sam")
	if err == nil || found || !strings.Contains(err.Error(), want) {
		t.Errorf("Lookup = %v, %v; want false and an error with %q", found, err, want)
	}
	if err != nil && strings.Contains(err.Error(), "password-") {
		t.Errorf("the error tells the password: %v", err)
	}
}

func TestLookup(t *testing.T) {
	s := ldaptest.Start(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent()) // while the server is there and closes nothing by itself
	for _, uid := range []string{"sam", "sam@acme.com", "tim", "oidc:tom", "a(b)*c\\d", "ünï"} {
		s.AddUser(uid)
	}
	s.AddEntry("cn=ops,"+s.BaseDN, map[string][]string{
		"objectClass": {"groupOfNames", "extensibleObject"}, "cn": {"ops"}, "uid": {"ops"}, "member": {"uid=sam," + s.PeopleDN},
	})
	s.AddEntry("cn=robot,"+s.BaseDN, map[string][]string{
		"objectClass": {"applicationProcess", "extensibleObject"}, "cn": {"robot"}, "uid": {"robot"},
	})
	ldaps := options(s)
	ldaps.UsernamePrefix = "oidc:"
	startTLS := ldaps
	startTLS.URL, startTLS.StartTLS = s.URL, true
	for name, d := range map[string]identity.Directory{
		"ldaps":    newDirectory(t, ldaps),
		"StartTLS": newDirectory(t, startTLS),
	} {
		for _, tt := range []struct {
			reason, username string
			want             bool
		}{
			{"by uid", "sam", true},
			{"by mail", "tim@acme.com", true},
			{"not ASCII", "ünï", true},
			{"two entries match", "sam@acme.com", true},
			{"unknown", "eve", false},
			{"the prefix is cut off", "oidc:sam", true},
			{"the prefix is cut off once", "oidc:oidc:tom", true},
			{"what is left is the name", "oidc:tom", false},
			{"nothing is left", "oidc:", false},
			{"nothing at all", "", false},
			{"metacharacters that are in the name", "a(b)*c\\d", true},
			{"a wildcard", "*", false},
			{"a wildcard in a name", "s*m", false},
			{"an injected filter", "*)(uid=*", false},
			{"another injected filter", "eve)(|(uid=*", false},
			{"an escape", "\\73am", false},
			{"a NUL byte", "sam\x00", false},
			{"not UTF-8", "\xff\xfe", false},
			{"long", strings.Repeat("x", 256), false},
			{"DN", "uid=sam," + s.PeopleDN, true},
			{"DN, spelled otherwise", "UID=Sam, OU=People, DC=acme, DC=com", false},
			{"in upper case, which is another user to RBAC", "SAM", false},
			{"by mail, in upper case", "TIM@acme.com", false},
			{"with a space that directories ignore", "sam ", false},
			{"the name of a group", "ops", false},
			{"the name of an application", "robot", false},
			{"DN without an entry", "uid=eve," + s.PeopleDN, false},
			{"DN below nothing", "uid=sam,ou=nowhere," + s.BaseDN, false},
			{"DN with an unknown attribute", "nosuch=sam," + s.PeopleDN, false},
			{"DN outside the base", "CN=sam,OU=x", false},
			{"DN of a folder", s.PeopleDN, false},
			{"DN of the base", s.BaseDN, false},
		} {
			t.Run(name+"/"+tt.reason, func(t *testing.T) { expect(t, d, tt.username, tt.want) })
		}
	}
}

func TestUserFilter(t *testing.T) {
	s := ldaptest.Start(t)
	s.AddUser("sam")
	o := options(s)
	o.UserFilter = "(&(objectClass=inetOrgPerson)(mail={username}@acme.com))"
	d := newDirectory(t, o)
	expect(t, d, "sam", true)
	expect(t, d, "sam@acme.com", false)
}

func TestObjectFilter(t *testing.T) {
	s := ldaptest.Start(t)
	s.AddUser("sam")
	s.AddEntry("cn=robot,"+s.BaseDN, map[string][]string{
		"objectClass": {"applicationProcess", "extensibleObject"}, "cn": {"robot"}, "uid": {"robot"},
	})
	o := options(s)
	o.ObjectFilter = "(objectClass=applicationProcess)"
	d := newDirectory(t, o)
	expect(t, d, "robot", true)
	expect(t, d, "cn=robot,"+s.BaseDN, true)
	expect(t, d, "sam", false)
	expect(t, d, "uid=sam,"+s.PeopleDN, false)
}

// What is behind a referral is neither known nor unknown.
func TestReferrals(t *testing.T) {
	s := ldaptest.Start(t)
	s.AddUser("sam")
	refer := func(ou, to string) {
		s.AddEntry("ou="+ou+","+s.BaseDN, map[string][]string{
			"objectClass": {"referral", "extensibleObject"}, "ou": {ou}, "ref": {to},
		})
	}
	d := newDirectory(t, options(s))
	refer("zones", "ldap://ForestDnsZones.acme.com/DC=ForestDnsZones,DC=acme,DC=com")
	expect(t, d, "eve", false)

	refer("elsewhere", "ldap://other.acme.com/ou=elsewhere,dc=acme,dc=com")
	expect(t, d, "sam", true)
	expect(t, d, "uid=sam,"+s.PeopleDN, true)
	expect(t, d, "uid=eve,"+s.PeopleDN, false)
	for _, name := range []string{"eve", "SAM", "uid=x,ou=elsewhere," + s.BaseDN} {
		found, err := d.Lookup(t.Context(), name)
		if found || err == nil || !strings.Contains(err.Error(), "searching") {
			t.Errorf("Lookup(%q) = %v, %v; want false and an error", name, found, err)
		}
	}
}

// forward gives a port of 127.0.0.1, which is localhost, behind which is a server.
func forward(t *testing.T, to string) (port string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	pass := func(in net.Conn) {
		defer func() { _ = in.Close() }()
		out, err := new(net.Dialer).DialContext(t.Context(), "tcp", to)
		if err != nil {
			return
		}
		go func() {
			_, _ = io.Copy(out, in)
			_ = out.Close()
		}()
		_, _ = io.Copy(in, out)
	}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go pass(in)
		}
	}()
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

func TestCouldNotAsk(t *testing.T) {
	s := ldaptest.Start(t)
	ports := map[string]string{
		s.LDAPS: forward(t, strings.TrimPrefix(s.LDAPS, "ldaps://")), s.URL: forward(t, strings.TrimPrefix(s.URL, "ldap://")),
	}
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s.AddUser("sam")
	other, _, err := cert.GenerateSelfSignedCertKey(loopback.Host(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	credentials := func(password string, err error) func(o *ldap.Options) {
		return func(o *ldap.Options) {
			o.Credentials = func(context.Context) (ldap.Credentials, error) {
				return ldap.Credentials{BindDN: s.BindDN, Password: password}, err
			}
		}
	}
	for _, tt := range []struct {
		reason string
		spoil  func(o *ldap.Options)
		want   string
	}{
		{"wrong password", credentials("password-wrong", nil), "Invalid Credentials"},
		{"empty password", credentials("", nil), "empty password"},
		{"no credentials", credentials("", errors.New("no Secret")), "no Secret"},
		{"may not see the base", func(o *ldap.Options) { o.Credentials = nil }, "does not show the base entry"},
		{"no such base", func(o *ldap.Options) { o.BaseDN = "dc=nowhere,dc=com" }, "does not show the base entry"},
		{"no such folder", func(o *ldap.Options) { o.BaseDN = "ou=nowhere," + s.BaseDN }, "does not show the base entry"},
		{"unknown authority", func(o *ldap.Options) { o.RootCAs = other }, "unknown authority"},
		{"unknown to the system", func(o *ldap.Options) { o.RootCAs = nil }, "unknown authority"},
		{"wrong host name", func(o *ldap.Options) { o.ServerName = "ldap.acme.com" }, "ldap.acme.com"},
		{"wrong host name in the URL", func(o *ldap.Options) {
			scheme, _, _ := strings.Cut(o.URL, ":")
			o.URL = scheme + "://localhost:" + ports[o.URL]
		}, "wanted to match localhost"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			ldaps := options(s)
			tt.spoil(&ldaps)
			expectError(t, newDirectory(t, ldaps), tt.want)

			startTLS := options(s)
			startTLS.URL, startTLS.StartTLS = s.URL, true
			tt.spoil(&startTLS)
			expectError(t, newDirectory(t, startTLS), tt.want)
		})
	}
}

func TestPlaintextIsPlaintext(t *testing.T) {
	s := ldaptest.Start(t)
	o := options(s)
	o.URL, o.AllowPlaintext = s.URL, true
	expectError(t, newDirectory(t, o), "Confidentiality Required") // this server wants encryption, and there was none
}

func TestRotatedPassword(t *testing.T) {
	s := ldaptest.Start(t)
	s.AddUser("sam")
	o := options(s)
	old := s.Password
	var secret string
	o.Credentials = func(context.Context) (ldap.Credentials, error) {
		return ldap.Credentials{BindDN: s.BindDN, Password: secret}, nil
	}
	d := newDirectory(t, o)
	secret = old
	expect(t, d, "sam", true)
	s.SetPassword("password-new")
	expectError(t, d, "Invalid Credentials")
	secret = s.Password
	expect(t, d, "sam", true)
}

func TestServerDown(t *testing.T) {
	s := ldaptest.Start(t)
	s.AddUser("sam")
	d := newDirectory(t, options(s))
	expect(t, d, "sam", true)
	s.Stop()
	expectError(t, d, "connection refused")
}

func TestNewRefuses(t *testing.T) {
	for _, tt := range []struct {
		reason string
		spoil  func(o *ldap.Options)
		want   string
	}{
		{"no URL", func(o *ldap.Options) { o.URL = "" }, "URL must be"},
		{"no host", func(o *ldap.Options) { o.URL = "ldaps:///" }, "URL must be"},
		{"another scheme", func(o *ldap.Options) { o.URL = "https://ldap.acme.com" }, "scheme"},
		{"a password in the URL", func(o *ldap.Options) { o.URL = "ldaps://sam:password-1@ldap.acme.com" }, "URL must be"},
		{"plain text", func(o *ldap.Options) { o.URL = "ldap://ldap.acme.com" }, "in clear"},
		{"a path in the URL", func(o *ldap.Options) { o.URL = "ldaps://ldap.acme.com/dc=acme,dc=com" }, "URL must be"},
		{"TLS in TLS", func(o *ldap.Options) { o.StartTLS = true }, "StartTLS"},
		{"no certificates", func(o *ldap.Options) { o.RootCAs = []byte("no PEM") }, "RootCAs"},
		{"no base", func(o *ldap.Options) { o.BaseDN = "" }, "BaseDN"},
		{"not a DN", func(o *ldap.Options) { o.BaseDN = "acme.com" }, "BaseDN"},
		{"no place for the name", func(o *ldap.Options) { o.UserFilter = "(uid=%s)" }, "{username}"},
		{"compares no attribute with the name", func(o *ldap.Options) { o.UserFilter = "(uid=*{username})" }, "must compare"},
		{"not a filter of objects", func(o *ldap.Options) { o.ObjectFilter = "(uid=" }, "ObjectFilter"},
		{"not a filter", func(o *ldap.Options) { o.UserFilter = "(uid={username}" }, "UserFilter"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			o := ldap.Options{URL: "ldaps://ldap.acme.com/", BaseDN: "dc=acme,dc=com"}
			if _, err := ldap.New(o); err != nil {
				t.Fatalf("New rejects valid options: %v", err)
			}
			tt.spoil(&o)
			_, err := ldap.New(o)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New: %v; want an error with %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "password-1") {
				t.Errorf("the error tells the password: %v", err)
			}
		})
	}
}
