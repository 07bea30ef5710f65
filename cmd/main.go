// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command manager is the operator: it reads its flags, sets up the logger and runs.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	_ "time/tzdata" // the image has no time zone database of its own

	"go.uber.org/zap/zapcore"
	_ "golang.org/x/crypto/x509roots/fallback" // nor has it certificate authorities
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/acme/platform-operator/internal/operator"
)

// version is set by the linker.
var version = "unknown"

func main() {
	operator.TuneMemory(operator.MemoryLimits)
	options := operator.Options{Version: version}
	bindFlags(flag.CommandLine, &options)
	logging := zap.Options{TimeEncoder: zapcore.RFC3339NanoTimeEncoder}
	logging.BindFlags(flag.CommandLine)
	showVersion := flag.Bool("version", false, "Print the version and exit.")
	flag.Parse()
	if *showVersion {
		fmt.Printf("platform-operator %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return
	}

	ctrl.SetLogger(operator.NewLogger(logging))
	log := ctrl.Log.WithName("main")
	log.Info("Starting", "version", version)
	config, err := ctrl.GetConfig()
	if err != nil {
		log.Error(err, "Cannot find the API server; give --kubeconfig or set KUBECONFIG")
		os.Exit(1)
	}
	if err := operator.Run(ctrl.SetupSignalHandler(), config, options); err != nil {
		log.Error(err, "Stopped")
		os.Exit(1)
	}
}

// bindFlags adds the operator's own flags; --kubeconfig is added by controller-runtime.
func bindFlags(fs *flag.FlagSet, o *operator.Options) {
	fs.StringVar(&o.ConfigFile, "config", "", "Configuration file. Without it the ConfigMap platform-operator-config in the operator's namespace is read, when there is one.")
	fs.StringVar(&o.Namespace, "namespace", os.Getenv("POD_NAMESPACE"), "The operator's own namespace. Defaults to the environment variable POD_NAMESPACE.")
	fs.StringVar(&o.MetricsAddress, "metrics-bind-address", ":8443", "Address of the metrics endpoint; 0 turns it off.")
	fs.BoolVar(&o.MetricsSecure, "metrics-secure", true, "Serve metrics over HTTPS, and authorize scrapes by TokenReview and SubjectAccessReview.")
	fs.StringVar(&o.ProbeAddress, "health-probe-bind-address", ":8081", "Address of the health and readiness probes; 0 turns them off.")
	fs.BoolVar(&o.LeaderElect, "leader-elect", false, "Let one of several replicas act at a time.")
	fs.StringVar(&o.WebhookHost, "webhook-bind-address", "", "Host or IP address that the webhooks listen on; empty means all.")
	fs.IntVar(&o.WebhookPort, "webhook-port", 9443, "Port of the webhooks; a negative one turns them off.")
	fs.StringVar(&o.WebhookCertDir, "webhook-cert-path", "/tmp/k8s-webhook-server/serving-certs", "Folder with the webhooks' tls.crt and tls.key.")
	fs.StringVar(&o.ViewsService, "views-service", "platform-operator-views", "Service of the views in the operator's namespace; the names of what belongs to them begin with it. Empty leaves the views alone.")
}
