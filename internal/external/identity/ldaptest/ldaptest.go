// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ldaptest runs a real LDAP server (OpenLDAP's slapd) for tests.
package ldaptest

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode"

	goldap "github.com/go-ldap/ldap/v3"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/cert"

	"github.com/acme/platform-operator/internal/testenv/loopback"
)

const (
	baseDN       = "dc=acme,dc=com"
	peopleDN     = "ou=people," + baseDN
	operatorDN   = "cn=operator," + baseDN
	rootDN       = "cn=root," + baseDN
	rootPassword = "root-password"
	patience     = 2 * time.Minute
)

// TB is the part of a test that the server needs: a *testing.T, or Ginkgo's GinkgoT().
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
	TempDir() string
}

// Server is a running directory. It holds its base entry, "ou=people" for users, and the entry BindDN, which
// may read everything but passwords. Others may read nothing, and binding requires encryption.
type Server struct {
	// URL is ldap://address:port. It offers StartTLS.
	URL string
	// LDAPS is ldaps://address:port.
	LDAPS string
	// CA is the PEM bundle to verify the server with. The certificate is for that address only.
	CA []byte
	// BindDN and Password are the credentials for the operator.
	BindDN, Password string
	// BaseDN is the entry that all others are below.
	BaseDN string
	// PeopleDN is the entry that the users are below.
	PeopleDN string

	t       TB
	process *exec.Cmd
	exited  chan struct{}
	log     bytes.Buffer // written by process; read it after exited is closed
}

// Start runs a server on loopback until the test ends. It fails the test when slapd is not installed.
func Start(t TB) *Server {
	t.Helper()
	s := &Server{t: t, BindDN: operatorDN, Password: "operator-password", BaseDN: baseDN, PeopleDN: peopleDN}
	dir := t.TempDir()
	if err := s.prepare(dir); err != nil {
		t.Fatalf("preparing slapd: %v", err)
	}
	if err := s.launch(dir); err != nil {
		t.Fatalf("starting slapd: %v", err)
	}
	t.Cleanup(s.Stop)
	if err := s.populate(); err != nil {
		t.Fatalf("populating slapd: %v", err)
	}
	return s
}

// Stop ends the server; so does the end of the test.
func (s *Server) Stop() {
	_ = s.process.Process.Signal(syscall.SIGTERM) // fails when it has ended already, which is as good
	select {
	case <-s.exited:
	case <-time.After(patience):
		_ = s.process.Process.Kill()
		<-s.exited
	}
}

// AddUser adds an inetOrgPerson below PeopleDN, with this uid and, if the uid is ASCII, as mail addresses are,
// the mail address uid@acme.com.
func (s *Server) AddUser(uid string) {
	s.t.Helper()
	user := goldap.NewAddRequest("uid="+goldap.EscapeDN(uid)+","+peopleDN, nil)
	user.Attribute("objectClass", []string{"inetOrgPerson"})
	for _, attribute := range []string{"uid", "cn", "sn"} {
		user.Attribute(attribute, []string{uid})
	}
	if strings.IndexFunc(uid, func(r rune) bool { return r > unicode.MaxASCII }) < 0 {
		user.Attribute("mail", []string{uid + "@acme.com"})
	}
	if err := s.asRoot(func(c *goldap.Conn) error { return c.Add(user) }); err != nil {
		s.t.Fatalf("adding user %q: %v", uid, err)
	}
}

// AddEntry adds any entry, from its DN and its attributes.
func (s *Server) AddEntry(dn string, attributes map[string][]string) {
	s.t.Helper()
	entry := goldap.NewAddRequest(dn, []goldap.Control{goldap.NewControlManageDsaIT(true)}) // referrals are entries, too
	for name, values := range attributes {
		entry.Attribute(name, values)
	}
	if err := s.asRoot(func(c *goldap.Conn) error { return c.Add(entry) }); err != nil {
		s.t.Fatalf("adding %q: %v", dn, err)
	}
}

// SetPassword changes the password of BindDN, in the server and in Password.
func (s *Server) SetPassword(password string) {
	s.t.Helper()
	change := goldap.NewModifyRequest(operatorDN, nil)
	change.Replace("userPassword", []string{password})
	if err := s.asRoot(func(c *goldap.Conn) error { return c.Modify(change) }); err != nil {
		s.t.Fatalf("changing the password of %s: %v", operatorDN, err)
	}
	s.Password = password
}

func (s *Server) asRoot(do func(*goldap.Conn) error) error {
	roots, err := cert.NewPoolFromBytes(s.CA)
	if err != nil {
		return fmt.Errorf("reading the certificates: %w", err)
	}
	conn, err := goldap.DialURL(s.LDAPS,
		goldap.DialWithDialer(&net.Dialer{Timeout: patience}),
		goldap.DialWithTLSConfig(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}))
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer func() { _ = conn.Close() }()
	conn.SetTimeout(patience)
	if err := conn.Bind(rootDN, rootPassword); err != nil {
		return fmt.Errorf("binding: %w", err)
	}
	return do(conn)
}

// prepare fills dir with everything that slapd needs except the ports.
func (s *Server) prepare(dir string) error {
	slapd, err := find([]string{"slapd", "/usr/sbin/slapd", "/usr/local/sbin/slapd", "/usr/libexec/slapd"}, exec.LookPath)
	if err != nil {
		return fmt.Errorf("slapd is needed for this test (apt-get install slapd): %w", err)
	}
	schemas, err := find([]string{"/etc/ldap/schema", "/etc/openldap/schema"}, statted)
	if err != nil {
		return fmt.Errorf("finding slapd's schema files: %w", err)
	}
	var key []byte
	if s.CA, key, err = cert.GenerateSelfSignedCertKey(loopback.Host(), nil, nil); err != nil {
		return fmt.Errorf("making certificates: %w", err)
	}
	// A copy of the program runs, because some distributions confine the original to its system folders.
	program, err := os.ReadFile(slapd) //nolint:gosec // G304: one of the paths above
	if err != nil {
		return fmt.Errorf("copying slapd: %w", err)
	}
	config := strings.NewReplacer("DIR", dir, "SCHEMAS", schemas).Replace(configuration)
	return errors.Join(
		os.Mkdir(filepath.Join(dir, "data"), 0o700),
		os.WriteFile(filepath.Join(dir, "slapd"), program, 0o700), //nolint:gosec // G306: a program has to be executable
		os.WriteFile(filepath.Join(dir, "slapd.conf"), []byte(config), 0o600),
		os.WriteFile(filepath.Join(dir, "server.crt"), s.CA, 0o600),
		os.WriteFile(filepath.Join(dir, "server.key"), key, 0o600),
	)
}

// configuration uses the database that is built into every slapd, so it loads no modules.
const configuration = `
include     SCHEMAS/core.schema
include     SCHEMAS/cosine.schema
include     SCHEMAS/inetorgperson.schema

TLSCertificateFile    DIR/server.crt
TLSCertificateKeyFile DIR/server.key
security              simple_bind=128

database  ldif
directory DIR/data
suffix    "` + baseDN + `"
rootdn    "` + rootDN + `"
rootpw    "` + rootPassword + `"

access to attrs=userPassword by anonymous auth
access to * by dn.exact="` + operatorDN + `" read
`

func (s *Server) launch(dir string) error {
	s.URL, s.LDAPS = "ldap://"+loopback.Address(), "ldaps://"+loopback.Address()
	s.process = exec.CommandContext(context.Background(), filepath.Join(dir, "slapd"), //nolint:gosec // G204: our copy
		"-f", filepath.Join(dir, "slapd.conf"), "-h", s.URL+" "+s.LDAPS, "-d", "0")
	s.process.Stdout, s.process.Stderr = &s.log, &s.log
	if err := s.process.Start(); err != nil {
		return fmt.Errorf("running slapd: %w", err)
	}
	s.exited = make(chan struct{})
	go func() {
		_ = s.process.Wait()
		close(s.exited)
	}()
	if err := s.waitReady(); err != nil {
		s.Stop()
		return fmt.Errorf("%w; slapd said: %s", err, s.log.String())
	}
	return nil
}

func (s *Server) waitReady() error {
	var last error
	err := wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, patience, true,
		func(context.Context) (bool, error) {
			select {
			case <-s.exited:
				return false, errors.New("slapd ended")
			default:
				last = s.asRoot(func(*goldap.Conn) error { return nil })
				return last == nil, nil
			}
		})
	if err != nil {
		return fmt.Errorf("waiting for slapd: %w", errors.Join(err, last))
	}
	return nil
}

func (s *Server) populate() error {
	base := goldap.NewAddRequest(baseDN, nil)
	base.Attribute("objectClass", []string{"dcObject", "organization"})
	base.Attribute("dc", []string{"acme"})
	base.Attribute("o", []string{"Acme"})
	people := goldap.NewAddRequest(peopleDN, nil)
	people.Attribute("objectClass", []string{"organizationalUnit"})
	people.Attribute("ou", []string{"people"})
	operator := goldap.NewAddRequest(operatorDN, nil)
	operator.Attribute("objectClass", []string{"applicationProcess", "simpleSecurityObject"})
	operator.Attribute("cn", []string{"operator"})
	operator.Attribute("userPassword", []string{s.Password})
	return s.asRoot(func(c *goldap.Conn) error {
		for _, entry := range []*goldap.AddRequest{base, people, operator} {
			if err := c.Add(entry); err != nil {
				return fmt.Errorf("adding %s: %w", entry.DN, err)
			}
		}
		return nil
	})
}

// find returns the first candidate that look accepts, as look spells it, or the error for the first one.
func find(candidates []string, look func(string) (string, error)) (string, error) {
	var first error
	for _, candidate := range candidates {
		path, err := look(candidate)
		if err == nil {
			return path, nil
		}
		if first == nil {
			first = err
		}
	}
	return "", first
}

func statted(path string) (string, error) {
	_, err := os.Stat(path)
	return path, err
}
