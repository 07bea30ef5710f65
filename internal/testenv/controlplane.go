// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testenv gives tests a real control plane: etcd and kube-apiserver of the version that the
// operator is built against, with as few of the controllers as a test needs.
package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/acme/platform-operator/internal/testenv/loopback"
)

// startTimeout bounds the start of each of the programs. It is for those that hang: a busy machine may take more than a minute.
const startTimeout = 5 * time.Minute

// GCPercent is how much a heap of tests grows between two collections of garbage, where Go's default is 100. Their heaps are
// small: by the default about a fifth of the processor time of a control plane goes there.
const GCPercent = 400

// thrift are the settings for the programs. The limit counts where a suite has them hold a lot.
var thrift = map[string]string{"GOGC": strconv.Itoa(GCPercent), "GOMEMLIMIT": "3GiB"}

// etcdQuota is how large etcd's store may become: the most that it recommends.
const etcdQuota = "8589934592"

// serviceRange are the addresses of Services: the 254 that envtest gives are too few for suites that make a Service for each object.
const serviceRange = "10.0.0.0/16"

// controllers are the parts of kube-controller-manager that run: those that tenancy relies on and that
// need no nodes.
const controllers = "garbage-collector-controller,namespace-controller,resourcequota-controller," +
	"serviceaccount-controller,clusterrole-aggregation-controller,endpointslice-controller"

// errBinaries tells how to get what is missing.
var errBinaries = errors.New(`run "make test" or "go run ./hack/cluster build"`)

// Options say what a control plane has beside etcd and kube-apiserver.
type Options struct {
	// CRDs lists files and folders with CustomResourceDefinitions; see RepoFile. Each has to exist.
	CRDs []string
	// WithControllers runs kube-controller-manager with the garbage collector and the controllers of
	// namespaces, quotas, service accounts and aggregated ClusterRoles. Without it, a Namespace that is
	// deleted stays Terminating for ever and children outlive their owners.
	WithControllers bool
	// MoreControllers are names of further controllers, which run if WithControllers is set.
	MoreControllers []string
	// WithAggregation has kube-apiserver proxy requests to aggregated API servers, as clusters do: it gets a certificate by which it
	// proves to be the front proxy.
	WithAggregation bool
}

// ControlPlane is a running control plane. Its programs listen on loopback only.
type ControlPlane struct {
	// Config is the access of a cluster administrator, without client-side rate limits.
	Config *rest.Config
	// FrontProxy issues certificates of front proxies, and FrontProxyFile is where kube-apiserver reads its certificate. Only with
	// aggregation.
	FrontProxy     *Authority
	FrontProxyFile string

	env         envtest.Environment
	folder      string
	controllers *exec.Cmd
	stop        func() error
}

// Start starts a control plane and waits until it serves. The programs come from the folder in
// KUBEBUILDER_ASSETS or else from bin/ of the repository; a missing one is an error that says how to
// build it. After an error nothing runs any more.
func Start(o Options) (*ControlPlane, error) {
	needed := []string{"etcd", "kube-apiserver"}
	if o.WithControllers {
		needed = append(needed, "kube-controller-manager")
	}
	bin, err := binaries(needed...)
	if err != nil {
		return nil, err
	}
	for _, path := range o.CRDs {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("finding the CRDs: %w", err)
		}
	}
	c := &ControlPlane{env: envtest.Environment{
		BinaryAssetsDirectory:    bin,
		CRDDirectoryPaths:        o.CRDs,
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  startTimeout,
	}}
	// Suites that flood the API server write more than the default holds.
	c.env.ControlPlane.Etcd = &envtest.Etcd{URL: &url.URL{Scheme: "http", Host: loopback.Address()}}
	c.env.ControlPlane.Etcd.Configure().Set("quota-backend-bytes", etcdQuota).Set("listen-peer-urls", "http://"+loopback.Address())
	server := c.env.ControlPlane.GetAPIServer()
	server.ListenAddr.Address, server.ListenAddr.Port = loopback.Host(), strconv.Itoa(loopback.Port())
	server.Configure().Set("service-cluster-ip-range", serviceRange)
	c.stop = sync.OnceValue(c.stopAll)
	if o.WithAggregation {
		if err := c.aggregate(); err != nil {
			return nil, errors.Join(err, c.Stop())
		}
	}
	start := func() error { return c.start(o, bin) }
	if err := inTurn(func() error { return inEnvironment(thrift, start) }); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the control plane: %w", err), c.Stop())
	}
	return c, nil
}

// inTurn does something while no other process of tests does: a control plane takes all processors for ten seconds, and several
// that start at once take longer than one after the other.
func inTurn(do func() error) error {
	f, err := os.OpenFile(filepath.Join(os.TempDir(), fmt.Sprintf("testenv-%d.lock", os.Getuid())), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // which ends the lock, as the end of the process does
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("waiting for other control planes to start: %w", err)
	}
	return do()
}

// inEnvironment does something with variables set that programs inherit which it starts. Those that are set already stay.
func inEnvironment(variables map[string]string, do func() error) error {
	for name, value := range variables {
		if _, set := os.LookupEnv(name); set {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return err
		}
		defer func() { _ = os.Unsetenv(name) }() // of a variable that could be set
	}
	return do()
}

func (c *ControlPlane) start(o Options, bin string) error {
	if _, err := c.env.Start(); err != nil {
		return err
	}
	cfg, err := c.User("admin", "system:masters")
	if err != nil {
		return err
	}
	c.Config = cfg
	if o.WithControllers {
		return c.startControllers(filepath.Join(bin, "kube-controller-manager"), o.MoreControllers)
	}
	return nil
}

// User gives the access of any user: the API server knows every holder of a client certificate. What the
// user may do is up to RBAC; the group system:masters may do everything.
func (c *ControlPlane) User(name string, groups ...string) (*rest.Config, error) {
	user, err := c.env.AddUser(envtest.User{Name: name, Groups: groups}, &rest.Config{QPS: -1})
	if err != nil {
		return nil, fmt.Errorf("making a client certificate for %s: %w", name, err)
	}
	return rest.CopyConfig(user.Config()), nil
}

// Stop ends all programs and deletes what they left on disk. Later calls do nothing and give the first
// one's error. Call it from AfterSuite or TestMain, so that it runs also when a test fails or Ginkgo is
// interrupted.
func (c *ControlPlane) Stop() error { return c.stop() }

func (c *ControlPlane) stopAll() error {
	var err error
	if c.controllers != nil {
		// It holds no state, so that it need not end gracefully.
		err = errors.Join(c.controllers.Process.Kill(), ignoreKilled(c.controllers.Wait()))
	}
	err = errors.Join(err, c.env.Stop())
	if c.folder != "" {
		err = errors.Join(err, os.RemoveAll(c.folder))
	}
	return err
}

func ignoreKilled(err error) error {
	if exit := (&exec.ExitError{}); errors.As(err, &exit) {
		return nil
	}
	return err
}

// scratch is a folder for files, which is deleted at the end.
func (c *ControlPlane) scratch() (string, error) {
	if c.folder != "" {
		return c.folder, nil
	}
	var err error
	c.folder, err = os.MkdirTemp("", "controlplane-")
	return c.folder, err
}

// startControllers starts kube-controller-manager and waits until it does its work.
func (c *ControlPlane) startControllers(program string, more []string) error {
	folder, err := c.scratch()
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(folder, "kubeconfig")
	if err := os.WriteFile(kubeconfig, c.env.KubeConfig, 0o600); err != nil {
		return err
	}
	var log bytes.Buffer
	cmd := exec.Command(program, "--kubeconfig="+kubeconfig, "--controllers="+strings.Join(append([]string{controllers}, more...), ","),
		"--leader-elect=false", "--secure-port=0", "--bind-address=127.0.0.1",
		"--kube-api-qps=200", "--kube-api-burst=400", "--resource-quota-sync-period=10s")
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		return err
	}
	c.controllers = cmd
	if err := c.awaitServiceAccount(); err != nil {
		return fmt.Errorf("waiting for kube-controller-manager: %w; it said:\n%s", errors.Join(err, c.Stop()), log.String())
	}
	return nil
}

// awaitServiceAccount waits for the first thing that kube-controller-manager makes.
func (c *ControlPlane) awaitServiceAccount() error {
	cl, err := client.New(c.Config, client.Options{})
	if err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, startTimeout, true,
		func(ctx context.Context) (bool, error) {
			key := client.ObjectKey{Namespace: corev1.NamespaceDefault, Name: "default"}
			return cl.Get(ctx, key, &corev1.ServiceAccount{}) == nil, nil
		})
}

// binaries finds the folder that holds the named programs.
func binaries(names ...string) (string, error) {
	folder := os.Getenv("KUBEBUILDER_ASSETS")
	if folder == "" {
		folder = RepoFile("bin")
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			return "", fmt.Errorf("finding %s: %w; %w", name, err, errBinaries)
		}
	}
	return folder, nil
}

// RepoFile gives the absolute path of a file or folder of the repository, whatever package's test asks.
// It panics outside of the repository.
func RepoFile(elem ...string) string {
	root, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return filepath.Join(append([]string{root}, elem...)...)
		}
		parent := filepath.Dir(root)
		if parent == root {
			panic("there is no go.mod in or above the working directory")
		}
		root = parent
	}
}
