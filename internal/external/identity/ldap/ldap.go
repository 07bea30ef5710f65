// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ldap looks up users in an LDAP v3 directory (OpenLDAP, Active Directory).
//
// Every look-up has a connection of its own. Look-ups are rare, because the caller caches answers. So a rotated
// password takes effect at once, no server or firewall can drop an idle connection, and nothing continues after
// a look-up.
package ldap

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	goldap "github.com/go-ldap/ldap/v3"
	"k8s.io/client-go/util/cert"

	"github.com/acme/platform-operator/internal/external/identity"
)

const (
	placeholder = "{username}"

	// UserFilter's default: Active Directory's two names, OpenLDAP's one, and the mail address. A server
	// ignores the attributes that it does not know.
	defaultUserFilter = "(|(sAMAccountName={username})(userPrincipalName={username})(uid={username})(mail={username}))"

	// ObjectFilter's default: the entry of a person or an account, not that of a folder, a group or an alias.
	// It has no negation: if a server does not know a class, its filter is neither true nor false.
	defaultObjectFilter = "(|(objectClass=person)(objectClass=account)(objectClass=posixAccount))"

	// maxEntries is the most entries that are read: those whose names differ in case only, or that have the
	// name in another attribute.
	maxEntries = 100
)

// Credentials are what the operator binds with.
type Credentials struct {
	// BindDN is the name of the entry to bind as.
	BindDN string
	// Password is its password; an empty one is an error, because servers treat it as an anonymous bind.
	Password string
}

// Options describe the directory.
type Options struct {
	// URL is ldaps://host[:636] or ldap://host[:389]. Required.
	URL string
	// StartTLS encrypts an ldap:// connection before anything else is sent.
	StartTLS bool
	// AllowPlaintext allows an ldap:// URL without StartTLS, which sends the bind password in clear text.
	AllowPlaintext bool
	// RootCAs holds the PEM certificates of the authorities that may have signed the server's certificate.
	// Default: those of the system.
	RootCAs []byte
	// ServerName is the host name that the server's certificate must be for. Default the host in URL.
	ServerName string
	// Credentials is called for every look-up, so that a rotated password takes effect at once. nil means an
	// anonymous bind.
	Credentials func(ctx context.Context) (Credentials, error)
	// BaseDN is the entry below which all users are. Required.
	BaseDN string
	// UserFilter is an RFC 4515 filter in which {username} stands for the escaped user name. The default
	// compares sAMAccountName, userPrincipalName, uid and mail.
	UserFilter string
	// ObjectFilter is an RFC 4515 filter that every user's entry matches. The default matches persons and
	// accounts.
	ObjectFilter string
	// UsernamePrefix is what the API servers prepend to the names of this directory ("oidc:"); it is removed
	// before a look-up. A name without it is looked up unchanged, because the same users may also authenticate
	// in ways that add no prefix, such as client certificates.
	UsernamePrefix string
	// Timeout bounds a look-up from dialling to the answer. Default 3 seconds.
	Timeout time.Duration
}

type directory struct {
	Options
	address string
	ldaps   bool
	tls     *tls.Config
	base    *goldap.DN
	// comparisons are the attributes that UserFilter compares with the name.
	comparisons []compared
}

// New returns the directory that o describes, without connecting to it. It fails if o is incomplete,
// contradicts itself, or would send a password in clear text without AllowPlaintext.
//
// A user name that is the DN of an entry below BaseDN is looked up as that entry; every other name by
// UserFilter. The entry counts only if the DN, or a value of an attribute that UserFilter compares with the
// name, equals the name exactly, including upper and lower case: directories ignore case, but RBAC does not.
// Referrals are not followed: they are an error, unless an entry was found. "Not found" is accepted only from a
// server that shows the entry BaseDN itself: with a wrong BaseDN, or a bind account without read access, no
// user would be found.
func New(o Options) (identity.Directory, error) {
	o.UserFilter = cmp.Or(o.UserFilter, defaultUserFilter)
	o.ObjectFilter = cmp.Or(o.ObjectFilter, defaultObjectFilter)
	o.Timeout = cmp.Or(o.Timeout, 3*time.Second)
	d := &directory{Options: o}
	for _, read := range []func() error{d.readURL, d.readTLS, d.readBaseDN, d.readUserFilter} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d *directory) readURL() error {
	u, err := url.Parse(strings.TrimSuffix(d.URL, "/"))
	if err != nil || u.Hostname() == "" || u.Scheme+"://"+u.Host != u.String() {
		return errors.New("URL must be ldaps://host[:port] or ldap://host[:port]")
	}
	port := goldap.DefaultLdapPort
	switch {
	case u.Scheme == "ldaps" && d.StartTLS:
		return errors.New("StartTLS is for ldap:// URLs only; ldaps:// is encrypted from the first byte")
	case u.Scheme == "ldaps":
		d.ldaps, port = true, goldap.DefaultLdapsPort
	case u.Scheme != "ldap":
		return fmt.Errorf("URL scheme must be ldaps or ldap, not %q", u.Scheme)
	case !d.StartTLS && !d.AllowPlaintext:
		return errors.New("ldap:// sends the bind password in clear: use ldaps://, StartTLS, or set AllowPlaintext")
	}
	d.address = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port))
	d.ServerName = cmp.Or(d.ServerName, u.Hostname())
	return nil
}

func (d *directory) readTLS() error {
	d.tls = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: d.ServerName}
	if len(d.RootCAs) == 0 {
		return nil
	}
	var err error
	if d.tls.RootCAs, err = cert.NewPoolFromBytes(d.RootCAs); err != nil {
		return fmt.Errorf("reading RootCAs: %w", err)
	}
	return nil
}

func (d *directory) readBaseDN() error {
	base, err := goldap.ParseDN(d.BaseDN)
	if err != nil || len(base.RDNs) == 0 {
		return fmt.Errorf("BaseDN %q is not a distinguished name", d.BaseDN)
	}
	d.base = base
	return nil
}

func (d *directory) readUserFilter() error {
	if !strings.Contains(d.UserFilter, placeholder) {
		return fmt.Errorf("UserFilter must hold %s", placeholder)
	}
	if _, err := goldap.CompileFilter(d.ObjectFilter); err != nil {
		return fmt.Errorf("reading ObjectFilter: %w", err)
	}
	if _, err := goldap.CompileFilter(d.filter("sam")); err != nil {
		return fmt.Errorf("reading UserFilter: %w", err)
	}
	for _, m := range comparison.FindAllStringSubmatch(d.UserFilter, -1) {
		d.comparisons = append(d.comparisons, compared{attribute: m[1], before: m[2], after: m[3]})
	}
	if len(d.comparisons) == 0 {
		return fmt.Errorf("UserFilter must compare an attribute with %s, such as (uid=%s)", placeholder, placeholder)
	}
	return nil
}

// comparison matches a part of UserFilter that compares an attribute with the name, possibly with text around
// it.
var comparison = regexp.MustCompile(`\(\s*([A-Za-z0-9][-A-Za-z0-9.;]*)(?::[^()=]*:|~)?=([^()*]*)` + regexp.QuoteMeta(placeholder) + `([^()*]*)\)`)

// compared is an attribute that UserFilter compares with the name, and the text around the name.
type compared struct{ attribute, before, after string }

func (d *directory) filter(name string) string {
	return "(&" + d.ObjectFilter + strings.ReplaceAll(d.UserFilter, placeholder, goldap.EscapeFilter(name)) + ")"
}

// has reports whether an attribute that UserFilter compares has exactly the value that it is compared with.
func (d *directory) has(e *goldap.Entry, name string) bool {
	return slices.ContainsFunc(d.comparisons, func(c compared) bool {
		return slices.Contains(e.GetEqualFoldAttributeValues(c.attribute), c.before+name+c.after)
	})
}

func (d *directory) Lookup(ctx context.Context, username string) (bool, error) {
	name := strings.TrimPrefix(username, d.UsernamePrefix)
	if name == "" {
		return false, nil // no user has an empty name, and not every server can compare an empty value
	}
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	found, err := d.ask(ctx, name)
	if err == nil {
		return found, nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx) // the library's error for a connection that was closed under it has no information
	}
	return false, fmt.Errorf("asking LDAP directory %s: %w", d.address, err)
}

func (d *directory) ask(ctx context.Context, name string) (bool, error) {
	conn, err := d.connect(ctx)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }()
	if err := d.bind(ctx, conn); err != nil {
		return false, err
	}
	found, err := d.find(conn, name)
	if found || err != nil {
		return found, err
	}
	base, err := search(conn, d.BaseDN, goldap.ScopeBaseObject, "(objectClass=*)", noAttributes)
	if err != nil || len(base) > 0 {
		return false, err
	}
	return false, fmt.Errorf("the server does not show the base entry %q", d.BaseDN)
}

func (d *directory) find(conn *goldap.Conn, name string) (bool, error) {
	if dn, err := goldap.ParseDN(name); err == nil && d.base.AncestorOfFold(dn) {
		entries, err := search(conn, dn.String(), goldap.ScopeBaseObject, d.ObjectFilter, noAttributes)
		return slices.ContainsFunc(entries, func(e *goldap.Entry) bool { return e.DN == name }), err
	}
	var attributes []string
	for _, c := range d.comparisons {
		attributes = append(attributes, c.attribute)
	}
	entries, err := search(conn, d.BaseDN, goldap.ScopeWholeSubtree, d.filter(name), attributes)
	if slices.ContainsFunc(entries, func(e *goldap.Entry) bool { return d.has(e, name) }) {
		return true, nil
	}
	return false, err
}

// connect returns an encrypted connection (unless plain text is allowed). It closes the connection when ctx
// ends, because the library's calls block until the server answers or the connection is gone; so ctx must end
// with the look-up.
func (d *directory) connect(ctx context.Context) (*goldap.Conn, error) {
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", d.address)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = raw.Close() })
	transport := raw
	if d.ldaps {
		encrypted := tls.Client(raw, d.tls)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("connecting with TLS: %w", err)
		}
		transport = encrypted
	}
	conn := goldap.NewConn(transport, d.ldaps)
	conn.Start()
	if d.StartTLS {
		if err := conn.StartTLS(d.tls); err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("starting TLS: %w", err)
		}
	}
	return conn, nil
}

func (d *directory) bind(ctx context.Context, conn *goldap.Conn) error {
	if d.Credentials == nil {
		return nil // an LDAP session is anonymous until it binds
	}
	c, err := d.Credentials(ctx)
	if err != nil {
		return fmt.Errorf("reading the bind credentials: %w", err)
	}
	if err := conn.Bind(c.BindDN, c.Password); err != nil {
		return fmt.Errorf("binding as %q: %w", c.BindDN, err)
	}
	return nil
}

// noAttributes requests entries without their attributes.
var noAttributes = []string{"1.1"}

// search returns the entries that match. A base that does not exist, or that the server cannot parse, is a
// result without entries: if it were an error, the author of a user name could make every check fail with
// "could not be queried". A referral, of the base or of a part below it, is an error in addition to the entries
// found: what it refers to is unknown.
func search(conn *goldap.Conn, base string, scope int, filter string, attributes []string) ([]*goldap.Entry, error) {
	result, err := conn.Search(goldap.NewSearchRequest(
		base, scope, goldap.NeverDerefAliases, maxEntries, 0, false, filter, attributes, nil))
	switch {
	case goldap.IsErrorAnyOf(err, goldap.LDAPResultNoSuchObject, goldap.LDAPResultInvalidDNSyntax):
		return nil, nil
	case err != nil && result != nil:
		return result.Entries, fmt.Errorf("searching %q: %w", base, err)
	case err != nil:
		return nil, fmt.Errorf("searching %q: %w", base, err)
	case slices.ContainsFunc(result.Referrals, mayHoldUsers):
		return result.Entries, fmt.Errorf("searching %q: the server refers to other servers (%s), which are not queried; "+
			"configure a server, or a BaseDN, that holds all users", base, strings.Join(result.Referrals, " "))
	default:
		return result.Entries, nil
	}
}

// mayHoldUsers reports whether a referral may lead to users. Active Directory refers to those partitions from
// the root of each domain.
func mayHoldUsers(referral string) bool {
	u, err := url.Parse(referral)
	if err != nil {
		return true
	}
	dn := strings.ToLower(strings.TrimPrefix(u.Path, "/"))
	return !strings.HasPrefix(dn, "dc=domaindnszones,") && !strings.HasPrefix(dn, "dc=forestdnszones,") && !strings.HasPrefix(dn, "cn=configuration,")
}
