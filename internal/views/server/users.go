// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/request/x509"
	authuser "k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/union"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

const (
	// authConfigMap is where kube-apiserver publishes whose certificates vouch for users.
	authConfigMap = "extension-apiserver-authentication"
	// reviewCache is how long an answer of the API server about a token, or one that allows, holds.
	reviewCache   = 10 * time.Second
	reviewTimeout = 5 * time.Second
	// tokensPerSecond and tokensAtOnce bound the reviews of tokens, which anybody who reaches the port can cause. Users who come by way
	// of kube-apiserver need none.
	tokensPerSecond = 10
	tokensAtOnce    = 20
)

// front is what is known of the front proxy, kube-apiserver. It is followed while the server runs.
type front struct {
	ca      *dynamiccertificates.ConfigMapCAController
	headers *headerrequest.RequestHeaderAuthRequestController
	// sources fails while what this replica has read may be out of date.
	sources func() error
	// proxy accepts requests with a certificate of the front proxy.
	proxy authenticator.Request
}

func newFront(ca *dynamiccertificates.ConfigMapCAController, headers *headerrequest.RequestHeaderAuthRequestController) *front {
	anyone := authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) { return nil, true, nil })
	names := x509.StringSliceProviderFunc(headers.AllowedClientNames)
	return &front{ca: ca, headers: headers, proxy: x509.NewDynamicCAVerifier(ca.VerifyOptions, anyone, names)}
}

// forwards reports whether kube-apiserver has sent a request: the certificate is of the front proxy's authority, and of an allowed name.
func (f *front) forwards(r *http.Request) bool {
	_, ok, err := f.proxy.AuthenticateRequest(r)
	return ok && err == nil
}

// Run follows the names of headers and of the proxy. The server itself runs the certificate authority, which it also uses for TLS.
func (f *front) Run(ctx context.Context, workers int) {
	// Without the ConfigMap nobody is authenticated; it may come later.
	_ = f.headers.RunOnce(ctx)
	f.headers.Run(ctx, workers)
}

// check fails as long as nobody could be authenticated.
func (f *front) check() error {
	if _, ok := f.ca.VerifyOptions(); !ok || len(f.headers.UsernameHeaders()) == 0 {
		return fmt.Errorf("ConfigMap %s/%s has no front proxy; start kube-apiserver with --requestheader-client-ca-file and "+
			"--requestheader-username-headers", metav1.NamespaceSystem, authConfigMap)
	}
	return nil
}

// secure sets which identities are believed, and who may do what: the front proxy vouches for users, bearer tokens are reviewed, and each
// user's right is reviewed. There is no certificate authority for users, and no anonymous user.
func secure(c *genericapiserver.Config, o Options, client kubernetes.Interface) (*front, error) {
	ca, err := dynamiccertificates.NewDynamicCAFromConfigMapController("front-proxy", metav1.NamespaceSystem, authConfigMap,
		"requestheader-client-ca-file", client)
	if err != nil {
		return nil, fmt.Errorf("following the front proxy's certificate authority: %w", err)
	}
	headers := headerrequest.NewRequestHeaderAuthRequestController(authConfigMap, metav1.NamespaceSystem, client,
		"requestheader-username-headers", "requestheader-uid-headers", "requestheader-group-headers", "requestheader-extra-headers-prefix",
		"requestheader-allowed-names")
	proxy := &authenticatorfactory.RequestHeaderConfig{
		CAContentProvider:   ca,
		UsernameHeaders:     headerrequest.StringSliceProviderFunc(headers.UsernameHeaders),
		UIDHeaders:          headerrequest.StringSliceProviderFunc(headers.UIDHeaders),
		GroupHeaders:        headerrequest.StringSliceProviderFunc(headers.GroupHeaders),
		ExtraHeaderPrefixes: headerrequest.StringSliceProviderFunc(headers.ExtraHeaderPrefixes),
		AllowedClientNames:  headerrequest.StringSliceProviderFunc(headers.AllowedClientNames),
	}
	if err := c.Authentication.ApplyClientCert(ca, c.SecureServing); err != nil {
		return nil, fmt.Errorf("asking for client certificates: %w", err)
	}
	c.Authentication.RequestHeaderConfig = proxy
	if err := authenticate(c, o.Config, proxy); err != nil {
		return nil, err
	}
	f := newFront(ca, headers)
	c.BuildHandlerChainFunc = f.handle
	return f, authorize(c, client, o.Clock)
}

func authenticate(c *genericapiserver.Config, o *rest.Config, proxy *authenticatorfactory.RequestHeaderConfig) error {
	limited := rest.CopyConfig(o)
	limited.QPS, limited.Burst, limited.RateLimiter = tokensPerSecond, tokensAtOnce, nil
	tokens, err := authenticationclient.NewForConfig(limited)
	if err != nil {
		return fmt.Errorf("making a client to review tokens: %w", err)
	}
	c.Authentication.Authenticator, _, err = authenticatorfactory.DelegatingAuthenticatorConfig{
		TokenAccessReviewClient:  tokens,
		TokenAccessReviewTimeout: reviewTimeout,
		WebhookRetryBackoff:      backoff(),
		CacheTTL:                 reviewCache,
		RequestHeaderConfig:      proxy,
	}.New()
	if err != nil {
		return fmt.Errorf("making the authentication: %w", err)
	}
	return nil
}

func authorize(c *genericapiserver.Config, client kubernetes.Interface, now clock.PassiveClock) error {
	reviews, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: client.AuthorizationV1(),
		AllowCacheTTL:             reviewCache,
		DenyCacheTTL:              -1, // denials remembers them
		WebhookRetryBackoff:       backoff(),
	}.New()
	if err != nil {
		return fmt.Errorf("making the authorization: %w", err)
	}
	c.Authorization.Authorizer, err = union.New(
		// The API server itself, when it looks whether the views can be discovered: that must not fail with the reviews.
		union.NamedAuthorizer{AuthorizerName: "masters", Authorizer: authorizerfactory.NewPrivilegedGroups(authuser.SystemPrivilegedGroup)},
		union.NamedAuthorizer{AuthorizerName: "reviews", Authorizer: newDenials(reviews, now)})
	return err
}

// backoff is how often a review is tried again within a request.
func backoff() *wait.Backoff {
	return &wait.Backoff{Duration: 250 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 3}
}

// ignoringRequest makes a probe of a check.
func ignoringRequest(check func() error) func(*http.Request) error {
	return func(*http.Request) error { return check() }
}
