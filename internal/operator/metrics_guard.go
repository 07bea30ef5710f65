// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// metricsGuard authorizes scrapes by TokenReview and SubjectAccessReview: two small requests for each scrape.
//
// controller-runtime's filters.WithAuthenticationAndAuthorization does the same with k8s.io/apiserver, at a
// price in memory: see docs/adr/0011-memory.md.
type metricsGuard struct {
	users  authenticationclient.TokenReviewsGetter
	access authorizationclient.SubjectAccessReviewsGetter
}

// guardMetrics is a metricsserver.Options.FilterProvider.
func guardMetrics(config *rest.Config, httpClient *http.Client) (metricsserver.Filter, error) {
	users, err := authenticationclient.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, err
	}
	access, err := authorizationclient.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, err
	}
	g := metricsGuard{users, access}
	return func(log logr.Logger, next http.Handler) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			status, err := g.judge(req)
			if err != nil {
				log.Error(err, "Cannot authorize a scrape of metrics")
			}
			if status != http.StatusOK {
				http.Error(w, http.StatusText(status), status)
				return
			}
			next.ServeHTTP(w, req)
		}), nil
	}, nil
}

// judge returns the HTTP status of a request.
func (g metricsGuard) judge(req *http.Request) (int, error) {
	token, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		return http.StatusUnauthorized, nil
	}
	review, err := g.users.TokenReviews().Create(req.Context(),
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return http.StatusInternalServerError, fmt.Errorf("reviewing a token: %w", err)
	}
	if !review.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	allowed, err := g.allowed(req.Context(), review.Status.User, req.URL.Path, strings.ToLower(req.Method))
	switch {
	case err != nil:
		return http.StatusInternalServerError, fmt.Errorf("reviewing access: %w", err)
	case !allowed:
		return http.StatusForbidden, nil
	default:
		return http.StatusOK, nil
	}
}

func (g metricsGuard) allowed(ctx context.Context, user authenticationv1.UserInfo, path, verb string) (bool, error) {
	spec := authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: map[string]authorizationv1.ExtraValue{},
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: verb},
	}
	for key, value := range user.Extra {
		spec.Extra[key] = authorizationv1.ExtraValue(value)
	}
	review, err := g.access.SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}
