// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command views serves the API group views.acme.com behind kube-apiserver: what the user who asks may see.
package main

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/acme/platform-operator/internal/views/server"
)

const (
	// gcPercent and memoryLimit keep it small: most of its heap lives long, and large answers are short-lived.
	gcPercent   = 50
	memoryLimit = 300 << 20
)

func main() {
	tuneMemory()
	var o server.Options
	kubeconfig := bindFlags(flag.CommandLine, &o)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := run(ctx, o, *kubeconfig)
	stop()
	if err != nil {
		klog.ErrorS(err, "Stopped")
		klog.FlushAndExit(klog.ExitFlushTimeout, 1)
	}
}

func run(ctx context.Context, o server.Options, kubeconfig string) error {
	var err error
	if o.Config, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
		return err
	}
	rest.AddUserAgent(o.Config, "platform-operator-views")
	o.Config.QPS = -1 // it reviews each user's rights, and kube-apiserver has fairness of its own
	s, err := server.New(o)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// tuneMemory sets what the environment does not.
func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}

func bindFlags(fs *flag.FlagSet, o *server.Options) (kubeconfig *string) {
	fs.StringVar(&o.BindAddress, "bind-address", "", "IP address to listen on; empty means all.")
	fs.IntVar(&o.SecurePort, "secure-port", 10250, "Port of the API, the probes and the metrics, all over HTTPS.")
	fs.StringVar(&o.CertDir, "cert-dir", "/etc/platform-operator-views/tls", "Folder with tls.crt and tls.key. They are read again when they change.")
	fs.StringVar(&o.Namespace, "namespace", os.Getenv("POD_NAMESPACE"), "Namespace of the Service. Defaults to the environment variable POD_NAMESPACE.")
	fs.StringVar(&o.Service, "service", "platform-operator-views", "Service that the APIService names. The last of its replicas to end deletes the APIService; empty turns that off.")
	fs.StringVar(&o.Replica, "replica", os.Getenv("POD_NAME"), "Name of this replica's pod. Defaults to the environment variable POD_NAME, else to the host's name.")
	return fs.String("kubeconfig", os.Getenv("KUBECONFIG"), "File with the access to the cluster; empty means the pod's service account.")
}
