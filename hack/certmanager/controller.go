// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"time"

	pkgcontroller "github.com/cert-manager/cert-manager/pkg/controller"
	// Those without a name register themselves. ACME, Vault and Venafi are left out: they need services elsewhere, and much to compile.
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	"github.com/cert-manager/cert-manager/pkg/healthz"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
)

const (
	workers        = 5 // of each controller, as in cert-manager's own command; the times and the address below too
	livezAddress   = ":9403"
	livezTolerance = 20 * time.Second
)

// controller runs the controllers until ctx ends. It is the only one: there is no leader election.
func controller(ctx context.Context, args []string) error {
	var options pkgcontroller.ContextOptions
	flags := newFlags("controller")
	flags.StringVar(&options.ClusterResourceNamespace, "cluster-resource-namespace", "", "where the Secrets of ClusterIssuers are")
	if err := flags.Parse(args); err != nil {
		return err
	}
	options.CopiedAnnotationPrefixes = []string{"*", "-kubectl.kubernetes.io/"}
	options.CertificateRequestMinimumBackoffDuration = time.Hour
	options.CertificateRequestMaximumBackoffDuration = 32 * time.Hour
	factory, err := pkgcontroller.NewContextFactory(ctx, options)
	if err != nil {
		return err
	}
	shared, err := factory.Build()
	if err != nil {
		return err
	}

	group, ctx := errgroup.WithContext(ctx)
	for name, construct := range pkgcontroller.Known() {
		each, err := construct(factory)
		if err != nil {
			return fmt.Errorf("starting the controller %s: %w", name, err)
		}
		group.Go(func() error { return each.Run(workers, ctx) })
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", livezAddress)
	if err != nil {
		return err
	}
	group.Go(func() error { return healthz.NewServer(livezTolerance).Start(ctx, listener) })
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	shared.HTTP01ResourceMetadataInformersFactory.Start(ctx.Done())
	return group.Wait()
}

// newFlags are flags of a command. The chart gives more than these commands need; those are passed over.
func newFlags(name string) *pflag.FlagSet {
	flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	return flags
}
