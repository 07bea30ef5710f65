// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package scim_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/acme/platform-operator/internal/external/identity"
	"github.com/acme/platform-operator/internal/external/identity/scim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "canary-token"

// generous is the bound for everything that must end "soon"; a server in these tests hangs for longer.
const generous = 2 * time.Minute

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewTLSServer(handler)
	t.Cleanup(s.Close)
	return s
}

func caOf(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

func options(s *httptest.Server) scim.Options {
	return scim.Options{
		URL:     s.URL + "/scim/v2",
		RootCAs: caOf(s),
		Token:   func(context.Context) (string, error) { return token + "\n", nil },
		Timeout: generous,
	}
}

func newDirectory(t *testing.T, o scim.Options) identity.Directory {
	t.Helper()
	d, err := scim.New(o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return d
}

func expectError(t *testing.T, d identity.Directory, want string) {
	t.Helper()
	found, err := d.Lookup(t.Context(), "sam")
	if err == nil || found || !strings.Contains(err.Error(), want) {
		t.Errorf("Lookup = %v, %v; want false and an error with %q", found, err, want)
	}
	if err != nil && strings.Contains(err.Error(), token) {
		t.Errorf("the error tells the token: %v", err)
	}
}

func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/scim+json")
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}
}

func TestRequest(t *testing.T) {
	for _, tt := range []struct {
		reason, username, attribute, wantFilter, wantAttribute string
	}{
		{"plain", "sam", "", `userName eq "sam"`, ""},
		{"the prefix is cut off", "oidc:sam", "", `userName eq "sam"`, ""},
		{"another attribute", "sam@acme.com", "emails.value", `emails.value eq "sam@acme.com"`, "emails"},
		{
			"an attribute of an extension", "sam", "urn:acme:2.0:User:login",
			`urn:acme:2.0:User:login eq "sam"`, "urn:acme:2.0:User:login",
		},
		{"quote", `sam" or userName pr or userName eq "`, "", `userName eq "sam\" or userName pr or userName eq \""`, ""},
		{"backslash", `ACME\sam`, "", `userName eq "ACME\\sam"`, ""},
		{"backslash and quote", `\"`, "", `userName eq "\\\""`, ""},
		{"URL metacharacters", "a&b=c#d+e f<g>", "", `userName eq "a&b=c#d+e f<g>"`, ""},
		{"control characters", "a\nb\x00", "", `userName eq "a\nb\u0000"`, ""},
		{"not ASCII", "ünï", "", `userName eq "ünï"`, ""},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			type request struct {
				Method, Path, Accept, Authorization string
				Query                               map[string][]string
			}
			requests := make(chan request, 1)
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				requests <- request{
					r.Method, r.URL.Path, r.Header.Get("Accept"), r.Header.Get("Authorization"), r.URL.Query(),
				}
				answer(http.StatusOK, `{"totalResults":0}`)(w, r)
			})
			o := options(s)
			o.Attribute, o.UsernamePrefix = tt.attribute, "oidc:"
			if found, err := newDirectory(t, o).Lookup(t.Context(), tt.username); err != nil || found {
				t.Fatalf("Lookup = %v, %v; want false, nil", found, err)
			}
			want := request{"GET", "/scim/v2/Users", "application/scim+json", "Bearer " + token, map[string][]string{
				"filter": {tt.wantFilter}, "count": {"100"}, "attributes": {orUserName(tt.wantAttribute) + ",active"},
			}}
			if diff := cmp.Diff(want, <-requests); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func orUserName(attribute string) string {
	if attribute == "" {
		return "userName"
	}
	return attribute
}

func TestAnswers(t *testing.T) {
	const list = `{"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],`
	for _, tt := range []struct {
		reason, body string
		want         bool
	}{
		{"found", list + `"totalResults":1,"Resources":[{"userName":"sam","active":true}]}`, true},
		{"found, active is not told", list + `"totalResults":1,"Resources":[{"userName":"sam"}]}`, true},
		{"found, attributes in another case", list + `"totalResults":1,"Resources":[{"username":"sam","Active":true}]}`, true},
		{"unknown", list + `"totalResults":0}`, false},
		{"unknown, empty list", list + `"totalResults":0,"Resources":[]}`, false},
		{"not active", list + `"totalResults":1,"Resources":[{"userName":"sam","active":false}]}`, false},
		{"not active, in another case", list + `"totalResults":1,"Resources":[{"userName":"sam","ACTIVE":false}]}`, false},
		{"active is not set", list + `"totalResults":1,"Resources":[{"userName":"sam","active":null}]}`, true},
		{"another user is active in words", list + `"totalResults":2,"Resources":[{"userName":"kim","active":"no"},{"userName":"sam","active":true}]}`, true},
		{"one of two is not active", list + `"totalResults":2,"Resources":[{"userName":"sam","active":false},{"userName":"sam"}]}`, true},
		{"a name in upper case, which SCIM takes for the same and RBAC does not", list + `"totalResults":1,"Resources":[{"userName":"SAM"}]}`, false},
		{"one of two differs in case", list + `"totalResults":2,"Resources":[{"userName":"Sam"},{"userName":"sam"}]}`, true},
		{"another user: the filter was ignored", list + `"totalResults":1,"Resources":[{"userName":"kim"}]}`, false},
		{"everybody: the filter was ignored", list + `"totalResults":2,"Resources":[{"userName":"kim"},{"userName":"sam"}]}`, true},
		{"a name that is no text", list + `"totalResults":1,"Resources":[{"userName":["sam",1,null]}]}`, true},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			d := newDirectory(t, options(serve(t, answer(http.StatusOK, tt.body))))
			if found, err := d.Lookup(t.Context(), "sam"); err != nil || found != tt.want {
				t.Errorf("Lookup = %v, %v; want %v, nil", found, err, tt.want)
			}
		})
	}
}

func TestAttributes(t *testing.T) {
	const user = `{"totalResults":1,"Resources":[{"emails":[{"value":"tim@acme.com"},{"value":"sam"}],"name":{"familyName":"sam"},` +
		`"urn:acme:2.0:User":{"login":"sam"},"userName":"other"}]}`
	for attribute, want := range map[string]bool{
		"emails.value": true, "name.familyName": true, "urn:acme:2.0:User:login": true, "userName": false,
		"urn:ietf:params:scim:schemas:core:2.0:User:name.familyName": true,
	} {
		t.Run(attribute, func(t *testing.T) {
			o := options(serve(t, answer(http.StatusOK, user)))
			o.Attribute = attribute
			if found, err := newDirectory(t, o).Lookup(t.Context(), "sam"); err != nil || found != want {
				t.Errorf("Lookup = %v, %v; want %v, nil", found, err, want)
			}
		})
	}
}

func TestNobodyIsAskedForAnEmptyName(t *testing.T) {
	o := options(serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the provider was asked") }))
	o.UsernamePrefix = "oidc:"
	for _, username := range []string{"", "oidc:"} {
		if found, err := newDirectory(t, o).Lookup(t.Context(), username); found || err != nil {
			t.Errorf("Lookup(%q) = %v, %v; want false, nil", username, found, err)
		}
	}
}

func TestCouldNotAsk(t *testing.T) {
	const one = `{"totalResults":1}`
	for _, tt := range []struct {
		reason string
		status int
		body   string
		want   string
	}{
		{"active is a text", http.StatusOK, `{"totalResults":1,"Resources":[{"userName":"sam","active":"False"}]}`, "neither true nor false"},
		{"active is another text", http.StatusOK, `{"totalResults":1,"Resources":[{"userName":"sam","active":"true"}]}`, "neither true nor false"},
		{"active is a number", http.StatusOK, `{"totalResults":1,"Resources":[{"userName":"sam","active":0}]}`, "neither true nor false"},
		{"no content", http.StatusNoContent, "", "204 No Content"},
		{"bad request", http.StatusBadRequest, one, "400 Bad Request"},
		{"unauthorized", http.StatusUnauthorized, one, "401 Unauthorized"},
		{"forbidden", http.StatusForbidden, one, "403 Forbidden"},
		{"not found", http.StatusNotFound, `{"totalResults":0}`, "404 Not Found"},
		{"conflict", http.StatusConflict, one, "409 Conflict"},
		{"too many", http.StatusTooManyRequests, one, "429 Too Many Requests"},
		{"server error", http.StatusInternalServerError, one, "500 Internal Server Error"},
		{"unavailable", http.StatusServiceUnavailable, one, "503 Service Unavailable"},
		{"not JSON", http.StatusOK, "<html>log in</html>", "reading the answer"},
		{"half an answer", http.StatusOK, `{"totalResults":1,`, "reading the answer"},
		{"nothing", http.StatusOK, "", "reading the answer"},
		{"not a list", http.StatusOK, `{"id":"sam"}`, "not a SCIM list"},
		{"null", http.StatusOK, `null`, "not a SCIM list"},
		{"only counted", http.StatusOK, one, "userName is missing in 1 of them"},
		{"no name", http.StatusOK, `{"totalResults":1,"Resources":[{"id":"sam"}]}`, "userName is missing in 1 of them"},
		{"a name that is an object", http.StatusOK, `{"totalResults":1,"Resources":[{"userName":{"value":"sam"}}]}`, "userName is missing in 1 of them"},
		{"a page of everybody", http.StatusOK, `{"totalResults":5,"Resources":[{"userName":"kim"}]}`, "ignores the filter"},
		{"huge", http.StatusOK, `{"totalResults":1,"x":"` + strings.Repeat("x", 2<<20) + `"}`, "larger than"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			expectError(t, newDirectory(t, options(serve(t, answer(tt.status, tt.body)))), tt.want)
		})
	}
}

func TestEndlessAnswer(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		chunk := []byte(strings.Repeat(" ", 64<<10))
		for r.Context().Err() == nil {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	expectError(t, newDirectory(t, options(s)), "larger than")
}

func TestToken(t *testing.T) {
	o := options(serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the provider was asked") }))
	o.Token = func(context.Context) (string, error) { return "", errors.New("no Secret") }
	expectError(t, newDirectory(t, o), "no Secret")
	o.Token = func(context.Context) (string, error) { return " \n", nil }
	expectError(t, newDirectory(t, o), "token is empty")
	o.Token = func(context.Context) (string, error) { return token + "\nX: y", nil }
	expectError(t, newDirectory(t, o), "Authorization")
}

func TestRedirectIsNotFollowed(t *testing.T) {
	elsewhere := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") })
	s := serve(t, http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect).ServeHTTP)
	expectError(t, newDirectory(t, options(s)), "307 Temporary Redirect")
}

func TestServerDown(t *testing.T) {
	s := serve(t, answer(http.StatusOK, `{"totalResults":1}`))
	d := newDirectory(t, options(s))
	s.Close()
	expectError(t, d, "connection refused")
}

func TestWrongCertificate(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the provider was asked") })
	unknown := options(s)
	unknown.RootCAs = nil
	expectError(t, newDirectory(t, unknown), "unknown authority")
	otherHost := options(s)
	otherHost.URL = strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	expectError(t, newDirectory(t, otherHost), "localhost")
}

func TestSlowServer(t *testing.T) {
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
			panic(http.ErrAbortHandler) // returning would answer 200, which the client may still read
		case <-time.After(2 * generous):
			t.Error("the client left its connection open")
		}
	})
	for _, tt := range []struct {
		reason            string
		timeout, deadline time.Duration
	}{
		{"own time-out", 200 * time.Millisecond, time.Hour},
		{"caller's deadline", time.Hour, 200 * time.Millisecond},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			o := options(s)
			o.Timeout = tt.timeout
			ctx, cancel := context.WithTimeout(t.Context(), tt.deadline)
			defer cancel()
			start := time.Now()
			found, err := newDirectory(t, o).Lookup(ctx, "sam")
			if found || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Lookup = %v, %v; want false and a time-out", found, err)
			}
			if took := time.Since(start); took > generous {
				t.Errorf("Lookup took %v", took)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	for _, tt := range []struct {
		reason string
		spoil  func(o *scim.Options)
		want   string
	}{
		{"no URL", func(o *scim.Options) { o.URL = "" }, "URL must be"},
		{"another scheme", func(o *scim.Options) { o.URL = "ldap://id.acme.com" }, "scheme"},
		{"plain text", func(o *scim.Options) { o.URL = "http://id.acme.com" }, "in clear"},
		{"a password in the URL", func(o *scim.Options) { o.URL = "https://x:" + token + "@id.acme.com" }, "URL must be"},
		{"a query in the URL", func(o *scim.Options) { o.URL = "https://id.acme.com?key=" + token }, "URL must be"},
		{"no token", func(o *scim.Options) { o.Token = nil }, "Token"},
		{"no certificates", func(o *scim.Options) { o.RootCAs = []byte("no PEM") }, "RootCAs"},
		{"not an attribute", func(o *scim.Options) { o.Attribute = `userName pr or userName` }, "Attribute"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			o := scim.Options{
				URL:       "https://id.acme.com/scim/v2",
				Token:     func(context.Context) (string, error) { return token, nil },
				Attribute: "urn:ietf:params:scim:schemas:core:2.0:User:userName",
			}
			if _, err := scim.New(o); err != nil {
				t.Fatalf("New rejects valid options: %v", err)
			}
			tt.spoil(&o)
			_, err := scim.New(o)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New: %v; want an error with %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), token) {
				t.Errorf("the error tells the token: %v", err)
			}
		})
	}
}

func TestPlaintextIsAllowedWhenSaid(t *testing.T) {
	s := httptest.NewServer(answer(http.StatusOK, `{"totalResults":1,"Resources":[{"userName":"sam"}]}`))
	t.Cleanup(s.Close)
	d := newDirectory(t, scim.Options{
		URL: s.URL, AllowPlaintext: true, Token: func(context.Context) (string, error) { return token, nil },
	})
	if found, err := d.Lookup(t.Context(), "sam"); err != nil || !found {
		t.Errorf("Lookup = %v, %v; want true, nil", found, err)
	}
}
