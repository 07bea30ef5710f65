// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command image-registry serves container images. After a restart they have to be pushed again: it forgets their manifests.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	folder := flag.String("folder", "", "folder to keep the images in; made when missing; required")
	addresses := flag.String("addresses", "", "comma-separated addresses (host:port) to listen on; required")
	flag.Parse()
	if flag.NArg() > 0 || *folder == "" || *addresses == "" {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := serve(ctx, *folder, strings.Split(*addresses, ","))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// serve answers on all addresses until ctx ends.
func serve(ctx context.Context, folder string, addresses []string) error {
	handler, err := newHandler(folder)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, len(addresses))
	for _, address := range addresses {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return errors.Join(fmt.Errorf("listening on %s: %w", address, err), server.Close())
		}
		log.Printf("listening on %s", address)
		go func() { ended <- server.Serve(listener) }()
	}
	select {
	case err := <-ended:
		return errors.Join(err, server.Close())
	case <-ctx.Done():
		return server.Close()
	}
}

// newHandler is a registry that keeps the content of images in folder, and their manifests in memory.
func newHandler(folder string) (http.Handler, error) {
	blobs := filepath.Join(folder, "blobs")
	if err := os.MkdirAll(blobs, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder for images: %w", err)
	}
	images := registry.New(registry.WithBlobHandler(registry.NewDiskBlobHandler(blobs)), registry.WithReferrersSupport(true))
	return shortNames(images), nil
}

// shortNames lets an image go by its bare name: to a container engine, app is library/app of its usual registry.
func shortNames(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rest, found := strings.CutPrefix(r.URL.Path, "/v2/library/"); found {
			r.URL.Path = "/v2/" + rest
		}
		next.ServeHTTP(w, r)
	})
}
