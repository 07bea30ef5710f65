// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scim looks up users at a SCIM 2.0 service provider (RFC 7644).
package scim

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/util/cert"

	"github.com/acme/platform-operator/internal/external/identity"
)

const (
	maxBody = 1 << 20 // one user with two attributes is below 1 KiB

	// maxUsers is the most users that are requested: those whose names differ in case only.
	maxUsers = 100
)

var attributePath = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_$:.-]*$`)

// Options describe the service provider.
type Options struct {
	// URL is the base, without /Users: "https://id.acme.com/scim/v2". Required.
	URL string
	// AllowPlaintext allows an http:// URL, which sends the token in clear text.
	AllowPlaintext bool
	// Token returns the bearer token. It is called for every look-up, so that a rotated token takes effect at
	// once. White space around the token is removed. Required.
	Token func(ctx context.Context) (string, error)
	// RootCAs holds the PEM certificates of the authorities that may have signed the server's certificate.
	// Default: those of the system.
	RootCAs []byte
	// Attribute is the attribute path that holds the user name. Default "userName".
	Attribute string
	// UsernamePrefix is what the API servers prepend to the names of this provider ("oidc:"); it is removed
	// before a look-up. A name without it is looked up unchanged, because the same users may also authenticate
	// in ways that add no prefix, such as client certificates.
	UsernamePrefix string
	// Timeout bounds a look-up from dialling to the end of the answer. Default 3 seconds.
	Timeout time.Duration
}

type directory struct {
	Options
	users  *url.URL
	client *http.Client
}

// New returns the directory that o describes, without connecting to it. It fails if o is incomplete or would
// send the token in clear text without AllowPlaintext.
//
// A user is found if Attribute equals the requested name exactly, including upper and lower case: SCIM ignores
// case in userName, but RBAC does not, and a provider may ignore a filter. A user whose attribute "active" is
// false is not found; a user without that attribute is found; any other value, such as the text "False", is an
// error. Every answer other than 200 with a complete SCIM list is an error, too: a 404 means a wrong URL and
// not an unknown user. Redirects are not followed, so the token is sent to URL only.
func New(o Options) (identity.Directory, error) {
	o.Attribute = cmp.Or(o.Attribute, "userName")
	o.Timeout = cmp.Or(o.Timeout, 3*time.Second)
	if o.Token == nil {
		return nil, errors.New("no Token given")
	}
	if !attributePath.MatchString(o.Attribute) {
		return nil, fmt.Errorf("%q, the Attribute, is not a SCIM attribute path", o.Attribute)
	}
	users, err := usersURL(o)
	if err != nil {
		return nil, err
	}
	client, err := newClient(o.RootCAs)
	if err != nil {
		return nil, err
	}
	return &directory{Options: o, users: users, client: client}, nil
}

func usersURL(o Options) (*url.URL, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("URL must be https://host[:port][/path]")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !o.AllowPlaintext) {
		return nil, fmt.Errorf("URL scheme must be https, not %q (http sends the token in clear text: set AllowPlaintext to allow that)", u.Scheme)
	}
	return u.JoinPath("Users"), nil
}

func newClient(rootCAs []byte) (*http.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(rootCAs) > 0 {
		var err error
		if config.RootCAs, err = cert.NewPoolFromBytes(rootCAs); err != nil {
			return nil, fmt.Errorf("reading RootCAs: %w", err)
		}
	}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:           http.ProxyFromEnvironment,
			TLSClientConfig: config,
			// Look-ups are rare; an idle connection would only become stale.
			DisableKeepAlives: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

func (d *directory) Lookup(ctx context.Context, username string) (bool, error) {
	name := strings.TrimPrefix(username, d.UsernamePrefix)
	if name == "" {
		return false, nil // no user has an empty name
	}
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	found, err := d.ask(ctx, name)
	if err != nil {
		return false, fmt.Errorf("asking SCIM provider %s: %w", d.users.Host, err)
	}
	return found, nil
}

func (d *directory) ask(ctx context.Context, name string) (bool, error) {
	req, err := d.request(ctx, name)
	if err != nil {
		return false, err
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return false, withoutURL(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return false, fmt.Errorf("unexpected answer %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return false, fmt.Errorf("reading the answer: %w", err)
	}
	if len(body) > maxBody {
		return false, fmt.Errorf("the answer is larger than %d bytes", maxBody)
	}
	return d.found(body, name)
}

func (d *directory) request(ctx context.Context, name string) (*http.Request, error) {
	token, err := d.Token(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the token: %w", err)
	}
	token = strings.TrimSpace(token)
	if token == "" {
		return nil, errors.New("the token is empty")
	}
	value, err := quote(name)
	if err != nil {
		return nil, err
	}
	u := *d.users
	u.RawQuery = url.Values{
		"filter":     {d.Attribute + " eq " + value},
		"count":      {strconv.Itoa(maxUsers)},
		"attributes": {d.top() + ",active"},
	}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("building the request: %w", err)
	}
	req.Header.Set("Accept", "application/scim+json")
	req.Header.Set("Authorization", "Bearer "+token)
	return req, nil
}

// quote returns a filter value, which RFC 7644 section 3.4.2.2 defines as a JSON string. "<", ">" and "&" are
// not escaped: that is for HTML, and not every filter parser reads \u003c.
func quote(name string) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(name); err != nil {
		return "", fmt.Errorf("quoting the user name: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// found parses a ListResponse. One of its users that is not known to be inactive must have exactly the name.
func (d *directory) found(body []byte, name string) (bool, error) {
	var list struct {
		TotalResults *int             `json:"totalResults"`
		Resources    []map[string]any `json:"Resources"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return false, fmt.Errorf("reading the answer: %w", err)
	}
	if list.TotalResults == nil {
		return false, errors.New("the answer is not a SCIM list: it has no totalResults")
	}
	hidden := *list.TotalResults - len(list.Resources)
	for _, user := range list.Resources {
		active := member(user, "active")
		if active == false {
			continue
		}
		values := d.values(user)
		if slices.Contains(values, name) {
			return readable(active)
		}
		if len(values) == 0 {
			hidden++
		}
	}
	if hidden > 0 {
		return false, fmt.Errorf("the provider returns %d users, and %s is missing in %d of them: "+
			"it ignores the filter, or the token may not read the attribute",
			*list.TotalResults, d.Attribute, hidden)
	}
	return false, nil
}

// readable reports whether a user is active. It fails for values that RFC 7643, 4.1.1 does not define.
func readable(active any) (bool, error) {
	if active != nil && active != true {
		return false, errors.New(`the provider's attribute "active" is neither true nor false`)
	}
	return true, nil
}

// path returns the parts of Attribute without the URN of its schema.
func (d *directory) path() []string {
	attribute := d.Attribute
	if i := strings.LastIndex(attribute, ":"); i >= 0 {
		attribute = attribute[i+1:]
	}
	return strings.Split(attribute, ".")
}

// top returns the attribute to request: the whole Attribute if it has a URN, else without its sub-attribute.
func (d *directory) top() string {
	if strings.Contains(d.Attribute, ":") {
		return d.Attribute
	}
	return d.path()[0]
}

// values returns a user's values of Attribute. Attributes of an extension are below its URN.
func (d *directory) values(user map[string]any) []string {
	within := []any{user}
	if i := strings.LastIndex(d.Attribute, ":"); i >= 0 {
		if extension := member(user, d.Attribute[:i]); extension != nil {
			within = []any{extension}
		}
	}
	for _, name := range d.path() {
		var next []any
		for _, w := range within {
			object, _ := w.(map[string]any)
			switch v := member(object, name).(type) {
			case []any: // a multi-valued attribute, such as emails
				next = append(next, v...)
			default:
				next = append(next, v)
			}
		}
		within = next
	}
	var all []string
	for _, w := range within {
		if text, ok := w.(string); ok {
			all = append(all, text)
		}
	}
	return all
}

// member returns the value of an attribute, whose name is not case-sensitive (RFC 7643, 2.1), or nil.
func member(object map[string]any, name string) any {
	for key, value := range object {
		if strings.EqualFold(key, name) {
			return value
		}
	}
	return nil
}

// withoutURL removes the request line from the client's error, because the caller adds the host.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
