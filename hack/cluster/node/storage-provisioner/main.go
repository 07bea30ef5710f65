// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command storage-provisioner gives claims volumes that are folders on this machine. A folder is
// writable by everybody, so that a pod that does not run as root can use it.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "credentials for the cluster; required")
	name := flag.String("name", "", "provisioner that storage classes name; required")
	folder := flag.String("folder", "", "folder for volumes; made when missing; required")
	node := flag.String("node", "", "name of the node that has the folder; required")
	address := flag.String("address", "", "address (host:port) that answers /healthz; required")
	flag.Parse()
	if flag.NArg() > 0 || *kubeconfig == "" || *name == "" || *folder == "" || *node == "" || *address == "" {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *kubeconfig, *name, *address, folders{root: *folder, node: *node})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run provisions until ctx ends.
func run(ctx context.Context, kubeconfig, name, address string, f folders) error {
	if err := os.MkdirAll(f.root, 0o700); err != nil { // a volume is mounted into its pod: nobody passes through here
		return fmt.Errorf("making the folder for volumes: %w", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	provisioning := controller.NewProvisionController(ctx, client, name, f, controller.LeaderElection(false))
	server := &http.Server{Addr: address, Handler: health(provisioning.HasRun), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.ListenAndServe() }()
	go provisioning.Run(ctx)
	select {
	case err := <-ended:
		return fmt.Errorf("listening on %s: %w", address, err)
	case <-ctx.Done():
		return server.Close()
	}
}

// health answers /healthz: 200 as soon as claims are served.
func health(ready func() bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			http.Error(w, "starting", http.StatusServiceUnavailable)
		}
	})
	return mux
}
