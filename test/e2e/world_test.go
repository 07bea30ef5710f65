// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	batchv1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	coordinationv1alpha1 "github.com/acme/platform-operator/api/coordination/v1alpha1"
	databasesv1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
	schedulingv1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
	tenancyv1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	workloadsv1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/hack/cluster/binaries"
	"github.com/acme/platform-operator/hack/cluster/localcluster"
	"github.com/acme/platform-operator/hack/olm"
	"github.com/acme/platform-operator/internal/testenv"
)

const (
	clusterName = "e2e"
	// systemNamespace is where the operator is installed.
	systemNamespace = testenv.OperatorNamespace
)

// world is a cluster with OLM, and what the specs need to work with it.
type world struct {
	cluster *localcluster.Cluster
	config  *rest.Config // of the cluster's administrator
	client  client.Client
	scheme  *runtime.Scheme
	olm     string // image of OLM, with opm in it, as pods call it
	dir     string // of this run; removed at the end
	app     string // image of a small program that pods of the specs run: app serve | schedule | lead FILE... | get URL | load URL | write FILE
}

func root() string     { return testenv.RepoFile() }
func binDir() string   { return testenv.RepoFile("bin") }
func stateDir() string { return testenv.RepoFile(".cluster") }
func workDir() string  { return testenv.RepoFile("dist", "e2e") }

// newWorld starts the cluster and installs OLM.
func newWorld(ctx context.Context) *world {
	GinkgoHelper()
	w := &world{scheme: newScheme(), dir: workDir()}
	start := time.Now()
	Expect(takeDown(ctx)).To(Succeed(), "removing what an interrupted run left")
	Expect(os.MkdirAll(w.dir, 0o755)).To(Succeed())
	wanted := slices.Concat(binaries.Real(), binaries.OLM(), binaries.CertManager())
	builder := binaries.Builder{Root: root(), BinDir: binDir(), Out: GinkgoWriter}
	Expect(builder.Ensure(ctx, wanted)).To(Succeed())
	version, err := binaries.KubernetesVersion(root())
	Expect(err).NotTo(HaveOccurred())
	say("programs are up to date, after %s", since(start))

	start = time.Now()
	w.cluster, err = localcluster.Up(ctx, localcluster.UpOptions{
		Name: clusterName, StateDir: stateDir(), BinDir: binDir(), Version: version,
		Nodes: localcluster.RealNode, NodeCount: localcluster.KeepNodeCount, Timeout: soon, Out: GinkgoWriter,
	})
	Expect(err).NotTo(HaveOccurred())
	w.config, err = clientcmd.BuildConfigFromFlags("", w.cluster.KubeconfigPath())
	Expect(err).NotTo(HaveOccurred())
	w.client = w.as(w.config)
	say("Kubernetes %s with a real node runs, after %s; to look at it: export KUBECONFIG=%s", version, since(start), w.cluster.KubeconfigPath())
	w.pushApp(ctx)
	w.installOLM(ctx)
	return w
}

func (w *world) installOLM(ctx context.Context) {
	GinkgoHelper()
	o := olm.Options{Cluster: w.cluster, Client: w.client, Root: root(), BinDir: binDir(), Timeout: installed}
	start := time.Now()
	var err error
	w.olm, err = olm.Image(ctx, o)
	Expect(err).NotTo(HaveOccurred())
	Expect(olm.Install(ctx, o, w.olm)).To(Succeed())
	say("OLM runs as pods, after %s", since(start))
}

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, operatorsv1.AddToScheme, operatorsv1alpha1.AddToScheme,
		operatorsv2.AddToScheme,
		autorebootv1alpha1.AddToScheme, batchv1alpha1.AddToScheme, coordinationv1alpha1.AddToScheme, databasesv1alpha1.AddToScheme,
		schedulingv1alpha1.AddToScheme, tenancyv1alpha1.AddToScheme, workloadsv1alpha1.AddToScheme,
	} {
		utilruntime.Must(add(s))
	}
	return s
}

// as gives the client of the user that a configuration authenticates.
func (w *world) as(config *rest.Config) client.Client {
	GinkgoHelper()
	config = rest.CopyConfig(config)
	config.QPS = -1
	c, err := client.New(config, client.Options{Scheme: w.scheme})
	Expect(err).NotTo(HaveOccurred())
	return c
}

// impersonate gives the client of a user, by way of the administrator's right to be anybody.
func (w *world) impersonate(user string, groups ...string) client.Client {
	GinkgoHelper()
	config := rest.CopyConfig(w.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	return w.as(config)
}

// login gives the kubeconfig and the client of a user with a client certificate of the user's own.
func (w *world) login(user, namespace string) (string, client.Client) {
	GinkgoHelper()
	data, err := w.cluster.UserKubeconfig(user, nil, namespace)
	Expect(err).NotTo(HaveOccurred())
	path := filepath.Join(w.dir, "kubeconfig-"+user)
	Expect(os.WriteFile(path, data, 0o600)).To(Succeed())
	config, err := clientcmd.BuildConfigFromFlags("", path)
	Expect(err).NotTo(HaveOccurred())
	return path, w.as(config)
}

// kubectl runs kubectl with a kubeconfig and returns all that it prints.
func (w *world) kubectl(ctx context.Context, kubeconfig string, words ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(binDir(), "kubectl"), words...)
	cmd.Dir = root()
	cmd.Env = []string{"KUBECONFIG=" + kubeconfig, "HOME=" + w.dir}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// pushApp makes the image of the program that pods of the specs run.
func (w *world) pushApp(ctx context.Context) {
	GinkgoHelper()
	program := filepath.Join(w.dir, "app")
	run(ctx, []string{"CGO_ENABLED=0"}, "go", "build", "-buildvcs=false", "-o", program, "./hack/cluster/testdata/app")
	pushed, err := w.cluster.PushProgram(ctx, program, "app:v1")
	Expect(err).NotTo(HaveOccurred())
	w.app = pushed.Tag
}

// run runs a program in the repository; what it prints is shown when it fails.
func run(ctx context.Context, env []string, words ...string) string {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = root()
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		Fail(strings.Join(words, " ") + ": " + err.Error() + "\n" + string(out) + string(failed.Stderr))
	}
	Expect(err).NotTo(HaveOccurred(), words[0])
	return string(out)
}

// takeDown removes the cluster, or what is left of one, and this run's folder.
func takeDown(ctx context.Context) error {
	return errors.Join(localcluster.Down(ctx, stateDir(), clusterName, GinkgoWriter), os.RemoveAll(workDir()))
}
