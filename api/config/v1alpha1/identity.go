// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"net/url"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// IdentityType names a kind of identity provider.
// +kubebuilder:validation:Enum=None;LDAP;SCIM
type IdentityType string

// The identity providers.
const (
	// IdentityNone verifies nothing: every username is accepted.
	IdentityNone IdentityType = "None"
	// IdentityLDAP searches a directory server, such as Active Directory or OpenLDAP.
	IdentityLDAP IdentityType = "LDAP"
	// IdentitySCIM queries a SCIM 2.0 service provider.
	IdentitySCIM IdentityType = "SCIM"
)

// IdentityConfig configures how users are verified, and how long answers are cached.
type IdentityConfig struct {
	// Type is the provider: `None`, `LDAP` or `SCIM`. The block of the same name must be set, and no other.
	// Default `None`.
	// +optional
	Type IdentityType `json:"type,omitempty"`

	// Timeout is the most time that one query may take. More than 0 and at most 3s, because the webhook has to
	// answer the API server in time. Default 3s.
	// +optional
	Timeout *Duration `json:"timeout,omitempty"`

	// UsernamePrefix is what the cluster's authentication prepends to the usernames of this provider, such as
	// `oidc:`. It is removed before the provider is queried. Default empty.
	// +optional
	UsernamePrefix string `json:"usernamePrefix,omitempty"`

	// KnownFor is how long the answer that a user exists is cached. More than 0. Default 10m.
	// +optional
	KnownFor *Duration `json:"knownFor,omitempty"`

	// UnknownFor is how long the answer that a user does not exist is cached. More than 0. Default 30s.
	// +optional
	UnknownFor *Duration `json:"unknownFor,omitempty"`

	// CacheSize is how many answers are cached. 1 to 1000000. Default 10000.
	// +optional
	CacheSize *int32 `json:"cacheSize,omitempty"`

	// LDAP configures the provider `LDAP`.
	// +optional
	LDAP *LDAPConfig `json:"ldap,omitempty"`

	// SCIM configures the provider `SCIM`.
	// +optional
	SCIM *SCIMConfig `json:"scim,omitempty"`
}

// LDAPConfig configures how a user is found in a directory server.
type LDAPConfig struct {
	// URL is `ldaps://host[:port]` or `ldap://host[:port]`; the port defaults to 636 and 389. An
	// `ldap` address needs StartTLS or AllowPlaintext. Required.
	URL string `json:"url"`

	// StartTLS upgrades an `ldap` connection to TLS before anything is sent. Default false.
	// +optional
	StartTLS bool `json:"startTLS,omitempty"`

	// AllowPlaintext allows usernames and the bind password to cross the network unencrypted. Only with an
	// `ldap` address and without StartTLS. Default false.
	// +optional
	AllowPlaintext bool `json:"allowPlaintext,omitempty"`

	// BaseDN is the entry below which users are searched, such as `OU=people,DC=acme,DC=com`. Required.
	BaseDN string `json:"baseDN"`

	// UserFilter is the LDAP filter (RFC 4515) that finds one user. It must contain `{username}`, which is
	// replaced by the escaped username. An attribute that it compares must equal the username exactly,
	// including upper and lower case, as RBAC requires. Default
	// `(|(sAMAccountName={username})(userPrincipalName={username})(uid={username})(mail={username}))`.
	// +optional
	UserFilter string `json:"userFilter,omitempty"`

	// ObjectFilter is the LDAP filter (RFC 4515) that the entry of every user matches. It excludes groups,
	// folders and aliases. Add `(!(objectClass=computer))` for Active Directory. Default
	// `(|(objectClass=person)(objectClass=account)(objectClass=posixAccount))`.
	// +optional
	ObjectFilter string `json:"objectFilter,omitempty"`

	// CredentialsSecret is a Secret with the keys `username` (the DN, or another name that the server accepts)
	// and `password` to bind with. Default: bind anonymously.
	// +optional
	CredentialsSecret *SecretReference `json:"credentialsSecret,omitempty"`

	// CAConfigMap holds the PEM certificates that verify the server's certificate. Default: the public
	// ones of the operator's container, or else those built into the operator.
	// +optional
	CAConfigMap *ConfigMapKeyReference `json:"caConfigMap,omitempty"`
}

// SCIMConfig configures how a user is looked up at a SCIM 2.0 service provider.
type SCIMConfig struct {
	// URL is the base address, without `/Users`, such as `https://idp.acme.com/scim/v2`. It must be https,
	// because a token is sent; http is accepted for a loopback host only. Required.
	URL string `json:"url"`

	// Attribute is the SCIM attribute whose value must equal the username exactly, including upper and lower
	// case, as RBAC requires. Default `userName`.
	// +optional
	Attribute string `json:"attribute,omitempty"`

	// TokenSecret holds the bearer token. Required; its key defaults to `token`.
	TokenSecret *SecretKeyReference `json:"tokenSecret,omitempty"`

	// CAConfigMap holds the PEM certificates that verify the server's certificate. Default: the public
	// ones of the operator's container, or else those built into the operator.
	// +optional
	CAConfigMap *ConfigMapKeyReference `json:"caConfigMap,omitempty"`
}

const (
	maxIdentityTimeout = 3 * time.Second
	defaultCacheSize   = 10_000
	maxCacheSize       = 1_000_000

	// UsernamePlaceholder is the placeholder for the username in LDAPConfig.UserFilter.
	UsernamePlaceholder = "{username}"
	defaultUserFilter   = "(|(sAMAccountName={username})(userPrincipalName={username})(uid={username})(mail={username}))"

	defaultObjectFilter = "(|(objectClass=person)(objectClass=account)(objectClass=posixAccount))"
)

func (i *IdentityConfig) setDefaults() {
	defaultTo(&i.Type, IdentityNone)
	defaultDuration(&i.Timeout, maxIdentityTimeout)
	defaultDuration(&i.KnownFor, 10*time.Minute)
	defaultDuration(&i.UnknownFor, 30*time.Second)
	defaultPointer(&i.CacheSize, defaultCacheSize)
	if l := i.LDAP; l != nil {
		defaultTo(&l.UserFilter, defaultUserFilter)
		defaultTo(&l.ObjectFilter, defaultObjectFilter)
		l.CAConfigMap.setDefaults()
	}
	if s := i.SCIM; s != nil {
		defaultTo(&s.Attribute, "userName")
		s.TokenSecret.setDefaults()
		s.CAConfigMap.setDefaults()
	}
}

func (i *IdentityConfig) validate(path *field.Path) field.ErrorList {
	errs := atMost(path.Child("timeout"), i.Timeout, maxIdentityTimeout,
		"because the webhook has to answer the API server in time")
	errs = append(errs, positive(path.Child("knownFor"), i.KnownFor)...)
	errs = append(errs, positive(path.Child("unknownFor"), i.UnknownFor)...)
	errs = append(errs, oneTo(path.Child("cacheSize"), *i.CacheSize, maxCacheSize)...)
	return append(errs, i.validateProvider(path)...)
}

func (i *IdentityConfig) validateProvider(path *field.Path) field.ErrorList {
	if errs := oneOf(path.Child("type"), i.Type, IdentityNone, IdentityLDAP, IdentitySCIM); errs != nil {
		return errs // which block is required is unknown
	}
	return append(
		member(path, i.Type, IdentityLDAP, "ldap", i.LDAP),
		member(path, i.Type, IdentitySCIM, "scim", i.SCIM)...,
	)
}

func (l *LDAPConfig) validate(path *field.Path) field.ErrorList {
	errs := l.validateURL(path)
	if l.BaseDN == "" {
		errs = append(errs, field.Required(path.Child("baseDN"), "the entry to search below, such as OU=people,DC=acme,DC=com"))
	}
	if !validFilter(l.UserFilter) || !strings.Contains(l.UserFilter, UsernamePlaceholder) {
		errs = append(errs, field.Invalid(path.Child("userFilter"), l.UserFilter,
			"must be an LDAP filter in parentheses that contains "+UsernamePlaceholder+", such as (uid="+UsernamePlaceholder+")"))
	}
	if !validFilter(l.ObjectFilter) {
		errs = append(errs, field.Invalid(path.Child("objectFilter"), l.ObjectFilter,
			"must be an LDAP filter in parentheses, such as (objectClass=person)"))
	}
	errs = append(errs, l.CredentialsSecret.validate(path.Child("credentialsSecret"))...)
	return append(errs, l.CAConfigMap.validate(path.Child("caConfigMap"))...)
}

func (l *LDAPConfig) validateURL(path *field.Path) field.ErrorList {
	u, errs := parseURL(path.Child("url"), l.URL, "ldaps", "ldap")
	if u == nil {
		return errs
	}
	if strings.Trim(u.Path, "/") != "" {
		errs = append(errs, field.Invalid(path.Child("url"), l.URL, "must end after the host and port; the entry to search below is baseDN"))
	}
	return append(errs, l.validateEncryption(path, u)...)
}

func (l *LDAPConfig) validateEncryption(path *field.Path, u *url.URL) field.ErrorList {
	encrypted := u.Scheme == "ldaps"
	var errs field.ErrorList
	if encrypted && l.StartTLS {
		errs = append(errs, field.Invalid(path.Child("startTLS"), true, "must be false: an ldaps connection is encrypted from its start"))
	}
	if l.AllowPlaintext && (encrypted || l.StartTLS) {
		errs = append(errs, field.Invalid(path.Child("allowPlaintext"), true, "must be false: the connection is encrypted"))
	}
	if !encrypted && !l.StartTLS && !l.AllowPlaintext {
		errs = append(errs, field.Invalid(path.Child("url"), l.URL,
			"must be ldaps://, or startTLS must be true; allowPlaintext: true accepts an unencrypted connection"))
	}
	return errs
}

// validFilter reports whether a filter looks like one. It finds what can be found without a parser for filters:
// the adapter compiles the filter and reports the rest.
func validFilter(filter string) bool {
	return strings.HasPrefix(filter, "(") && strings.HasSuffix(filter, ")") &&
		strings.Count(filter, "(") == strings.Count(filter, ")")
}

// attributeName is a SCIM attribute path (RFC 7644, 3.10), with or without the URN of its schema.
var attributeName = regexp.MustCompile(`^[A-Za-z][-A-Za-z0-9_.:$]*$`)

func (s *SCIMConfig) validate(path *field.Path) field.ErrorList {
	errs := secureURL(path.Child("url"), s.URL, true)
	if !attributeName.MatchString(s.Attribute) {
		errs = append(errs, field.Invalid(path.Child("attribute"), s.Attribute, "must be the name of a SCIM attribute, such as userName or emails.value"))
	}
	if s.TokenSecret == nil {
		errs = append(errs, field.Required(path.Child("tokenSecret"), "the Secret that holds the bearer token"))
	}
	errs = append(errs, s.TokenSecret.validate(path.Child("tokenSecret"))...)
	return append(errs, s.CAConfigMap.validate(path.Child("caConfigMap"))...)
}
