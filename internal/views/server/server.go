// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server serves the views as an aggregated API, with the library of Kubernetes' own API servers: discovery, OpenAPI, tables and
// watches are what clients expect. It stores nothing, changes nothing, and impersonates nobody. At its end it deletes the APIService if
// no other replica serves it.
package server

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/healthz"
	utilcompatibility "k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/acme/platform-operator/internal/views/source"
	"github.com/acme/platform-operator/internal/views/storage"
)

const (
	// name is the server's in logs and metrics.
	name = "platform-operator-views"

	// Nothing can be written; this bounds what is rejected at once.
	maxWrites      = 5
	requestTimeout = 10 * time.Second
	// kube-apiserver sends the watches of all users on one connection.
	maxStreams = storage.MaxWatches
	drain      = 10 * time.Second
)

// Options say how to serve.
type Options struct {
	// BindAddress and SecurePort are where to listen.
	BindAddress string
	SecurePort  int
	// CertDir has tls.crt and tls.key. They are read again when they change.
	CertDir string
	// Namespace and Service are those of the Service that the APIService names. If one is empty, the APIService is never deleted.
	Namespace string
	Service   string
	// Replica is the name of this replica's pod; empty means that of the host.
	Replica string
	// Config is the access to the cluster.
	Config *rest.Config
	// Clock is the time; nil is the real one.
	Clock clock.WithTicker
}

// Server is a replica.
type Server struct {
	generic *genericapiserver.GenericAPIServer
	source  *source.Source
	shared  *storage.Shared
	check   *selfCheck
}

// These are all the rights of the program.
//
// +kubebuilder:rbac:groups="",resources=configmaps,resourceNames=extension-apiserver-authentication,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=resourcequotas,verbs=list;watch
// +kubebuilder:rbac:groups=apiregistration.k8s.io,resources=apiservices,resourceNames=v1alpha1.views.acme.com,verbs=delete;get
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=discovery.k8s.io,namespace=system,resources=endpointslices,verbs=list
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=clusterrolebindings;clusterroles;rolebindings;roles,verbs=list;watch
// +kubebuilder:rbac:groups=tenancy.acme.com,resources=acmenamespaces,verbs=list;watch

// New makes a replica, which listens from then on and serves from Run on.
func New(o Options) (*Server, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	client, err := kubernetes.NewForConfig(o.Config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	s := &Server{}
	if s.source, err = source.New(o.Config, o.Clock); err != nil {
		return nil, fmt.Errorf("making the informers: %w", err)
	}
	s.check = newSelfCheck(s.source, client.AuthorizationV1().SubjectAccessReviews(), o.Clock)
	s.shared = storage.NewShared(s.source, o.Clock, s.check.observe)
	config, err := newConfig(o)
	if err != nil {
		return nil, err
	}
	front, err := secure(config, o, client)
	if err != nil {
		return nil, err
	}
	front.sources = s.source.Check
	config.AddReadyzChecks(
		healthz.NamedCheck("sources", ignoringRequest(s.source.Check)), healthz.NamedCheck("front-proxy", ignoringRequest(front.check)))
	if s.generic, err = config.Complete(nil).New(name, genericapiserver.NewEmptyDelegate()); err != nil {
		return nil, fmt.Errorf("making the server: %w", err)
	}
	if err := s.install(); err != nil {
		return nil, err
	}
	if err := s.generic.AddPostStartHook("front-proxy", func(c genericapiserver.PostStartHookContext) error {
		go front.Run(c, 1)
		return nil
	}); err != nil {
		return nil, err
	}
	last, err := newLastOut(o, client)
	if err != nil {
		return nil, err
	}
	return s, s.generic.AddPreShutdownHook("last-one-out", last.leave)
}

// newConfig is the configuration without users.
func newConfig(o Options) (*genericapiserver.Config, error) {
	c := genericapiserver.NewConfig(codecs)
	c.Serializer = jsonOnly{codecs}
	certificate, err := dynamiccertificates.NewDynamicServingContentFromFiles(name,
		filepath.Join(o.CertDir, "tls.crt"), filepath.Join(o.CertDir, "tls.key"))
	if err != nil {
		return nil, fmt.Errorf("reading the certificate in %s: %w", o.CertDir, err)
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", net.JoinHostPort(o.BindAddress, strconv.Itoa(o.SecurePort)))
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	c.SecureServing = &genericapiserver.SecureServingInfo{
		Listener: bounded(listener), Cert: certificate, HTTP2MaxStreamsPerConnection: maxStreams,
	}
	c.EffectiveVersion = utilcompatibility.DefaultBuildEffectiveVersion()
	c.LoopbackClientConfig = &rest.Config{} // without a token: nobody is privileged
	c.EnableIndex, c.EnableProfiling = false, false
	c.MaxRequestsInFlight, c.MaxMutatingRequestsInFlight = maxArrived, maxWrites
	c.RequestTimeout, c.ShutdownWatchTerminationGracePeriod = requestTimeout, drain
	describe(c)
	return c, nil
}

// Address is where the replica listens.
func (s *Server) Address() net.Addr { return s.generic.SecureServingInfo.Listener.Addr() }

// Run serves until the context ends, and then until requests are answered.
func (s *Server) Run(ctx context.Context) error {
	// The sources outlive the last request.
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { s.source.Run(reading) })
	running.Go(func() { s.check.run(reading) })
	return s.generic.PrepareRun().RunWithContext(ctx)
}
