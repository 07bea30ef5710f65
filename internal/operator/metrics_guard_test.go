// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
)

// TestMetricsGuard asks a server that knows the tokens of Sam and Max, and allows Sam to read metrics.
func TestMetricsGuard(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var answer any
		switch {
		case strings.HasSuffix(req.URL.Path, "/tokenreviews"):
			review := &authenticationv1.TokenReview{}
			_ = json.NewDecoder(req.Body).Decode(review)
			// The API server also returns the user of a token that it rejects, if it can parse it.
			review.Status.User.Username = strings.TrimSuffix(review.Spec.Token, "-expired")
			review.Status.Authenticated = review.Spec.Token == "sam" || review.Spec.Token == "max"
			answer = review
		default:
			review := &authorizationv1.SubjectAccessReview{}
			_ = json.NewDecoder(req.Body).Decode(review)
			path := review.Spec.NonResourceAttributes
			review.Status.Allowed = review.Spec.User == "sam" && path.Path == "/metrics" && path.Verb == "get"
			answer = review
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	filter, err := guardMetrics(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	guarded, err := filter(logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		reason, authorization, path string
		want                        int
	}{
		{"no token", "", "/metrics", http.StatusUnauthorized},
		{"an empty token", "Bearer ", "/metrics", http.StatusUnauthorized},
		{"another scheme", "Basic sam", "/metrics", http.StatusUnauthorized},
		{"an invalid token", "Bearer ghost", "/metrics", http.StatusUnauthorized},
		{"a token that counts no more", "Bearer sam-expired", "/metrics", http.StatusUnauthorized},
		{"a user without the right", "Bearer max", "/metrics", http.StatusForbidden},
		{"another path", "Bearer sam", "/debug", http.StatusForbidden},
		{"a user with the right", "Bearer sam", "/metrics", http.StatusOK},
	} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, tc.path, nil)
		if tc.authorization != "" {
			req.Header.Set("Authorization", tc.authorization)
		}
		got := httptest.NewRecorder()
		guarded.ServeHTTP(got, req)
		if got.Code != tc.want {
			t.Errorf("%s: %d, want %d", tc.reason, got.Code, tc.want)
		}
	}
}
