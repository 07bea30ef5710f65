// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// The environment of a process that is the operator and runs no specs.
const (
	envKubeconfig = "GUARANTEES_OPERATOR_KUBECONFIG"
	envConfig     = "GUARANTEES_OPERATOR_CONFIG"
	envProbes     = "GUARANTEES_OPERATOR_PROBES"
	envLimit      = "GUARANTEES_OPERATOR_LIMIT"
	envDump       = "GUARANTEES_OPERATOR_DUMP"
)

// TestMain lets the test's own binary be the operator: what is measured of a process is what the operator needs, and not
// what the specs and the fixtures do.
func TestMain(m *testing.M) {
	if kubeconfig := os.Getenv(envKubeconfig); kubeconfig != "" {
		if err := operate(kubeconfig); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// operate is what cmd/main.go does. On a signal memory that is not used is given back, so that what is measured is what
// is used.
func operate(kubeconfig string) error {
	operator.TuneMemory([]string{os.Getenv(envLimit)})
	ctrl.SetLogger(zap.New())
	usr1 := make(chan os.Signal, 1)
	signal.Notify(usr1, syscall.SIGUSR1)
	go func() {
		for range usr1 {
			debug.FreeOSMemory()
			debug.FreeOSMemory() // what pools hold goes with the second collection
			fmt.Fprintln(os.Stderr, gaveBack+seriesNow())
		}
	}()
	usr2 := make(chan os.Signal, 1)
	signal.Notify(usr2, syscall.SIGUSR2)
	go func() {
		for range usr2 {
			runtime.GC()
			debug.FreeOSMemory() // as above
			fmt.Fprintln(os.Stderr, dumped, dumpHeap())
		}
	}()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return operator.Run(ctrl.SetupSignalHandler(), config, operator.Options{
		ConfigFile: os.Getenv(envConfig), Namespace: testenv.OperatorNamespace,
		MetricsAddress: "0", ProbeAddress: os.Getenv(envProbes), WebhookPort: -1,
	})
}

// dumped is what it says when its heap is in a file, followed by an error or nil.
const dumped = "dumped the heap:"

func dumpHeap() error {
	file, err := os.Create(os.Getenv(envDump))
	if err != nil {
		return err
	}
	debug.WriteHeapDump(file.Fd())
	return file.Close()
}

// gaveBack is what it says then, followed by what seriesNow tells.
const gaveBack = "gave memory back: "

// seriesNow tells how many time series the operator has, of how many bytes, and how many have a text of tenants in them.
func seriesNow() string {
	families, err := metrics.Registry.Gather()
	if err != nil {
		return err.Error()
	}
	series, size, foreign := 0, 0, 0
	for _, family := range families {
		for _, m := range family.GetMetric() {
			text := m.String()
			series++
			size += len(text)
			if strings.Contains(text, filledWith) {
				foreign++
			}
		}
	}
	return fmt.Sprintf("%d series, %d bytes, %d with text of tenants", series, size, foreign)
}

// process is an operator in a process of its own.
type process struct {
	cmd   *exec.Cmd
	log   *logBuffer
	ended chan struct{}
	// tests is how many MiB of its program are none of bin/manager's: this one has all tests in it.
	tests float64
	heap  string // a file
}

const (
	// memoryLimit is what config/manager allows the container, in MiB.
	memoryLimit = 256
	// programPages is how many MiB of its program bin/manager has in physical memory: 37 were measured with the samples.
	programPages = 38
)

// startProcess starts an operator with the configurations of all kinds, and waits until all of them work.
func startProcess() *process {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	probes := listener.Addr().String()
	Expect(listener.Close()).To(Succeed())

	p := &process{log: &logBuffer{}, ended: make(chan struct{}), heap: filepath.Join(GinkgoT().TempDir(), "heap")}
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), envLimit+"="+limitFile(), envKubeconfig+"="+kubeconfig(), envProbes+"="+probes, envDump+"="+p.heap,
		envConfig+"="+ConfigFile(GinkgoT(), "apiVersion: config.acme.com/v1alpha1\nkind: PlatformOperatorConfig\n"+configuration()))
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	Expect(p.cmd.Start()).To(Succeed())
	go func() {
		_ = p.cmd.Wait() // how it ended does not matter
		close(p.ended)
	}()
	DeferCleanup(p.stop)
	Eventually(func(g Gomega) {
		select {
		case <-p.ended:
			StopTrying("the operator has ended: " + p.log.String()).Now()
		default:
		}
		resp, err := http.Get("http://" + probes + "/readyz")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(resp.Body.Close()).To(Succeed())
		g.Expect(resp.StatusCode).To(Equal(http.StatusOK))
		for _, row := range operator.Kinds { // a replica is ready before its caches are filled
			g.Expect(p.log.String()).To(ContainSubstring(fmt.Sprintf(`"Starting workers","controller":%q`, newKind(row).controller)))
		}
	}).Should(Succeed())
	p.tests = p.status("RssFile") - programPages
	return p
}

// limitFile has the limit as the kernel tells it.
func limitFile() string {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), "memory.max")
	Expect(os.WriteFile(file, []byte(strconv.Itoa(memoryLimit<<20)), 0o600)).To(Succeed())
	return file
}

// stop ends the operator and waits until it has ended. One that has ended stays so.
func (p *process) stop() {
	GinkgoHelper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	Eventually(p.ended).Should(BeClosed())
}

// resident is how many MiB the operator has in physical memory after it has given back what it does not use, and peak the
// most that it has had.
func (p *process) resident() (now, peak float64) {
	GinkgoHelper()
	times := func() int { return strings.Count(p.log.String(), gaveBack) }
	before := times()
	Expect(p.cmd.Process.Signal(syscall.SIGUSR1)).To(Succeed())
	Eventually(times).Should(BeNumerically(">", before))
	return p.status("VmRSS") - p.tests, p.status("VmHWM") - p.tests
}

// dump is all that is in the operator's heap, without what is not used any more.
func (p *process) dump() []byte {
	GinkgoHelper()
	times := func() int { return strings.Count(p.log.String(), dumped+" <nil>") }
	before := times()
	Expect(p.cmd.Process.Signal(syscall.SIGUSR2)).To(Succeed())
	Eventually(times).Should(BeNumerically(">", before))
	content, err := os.ReadFile(p.heap)
	Expect(err).NotTo(HaveOccurred())
	return content
}

// series is what the operator told of its metrics when it gave memory back last.
func (p *process) series() string {
	GinkgoHelper()
	said := p.log.String()
	at := strings.LastIndex(said, gaveBack)
	Expect(at).To(BeNumerically(">=", 0))
	told, _, _ := strings.Cut(said[at+len(gaveBack):], "\n")
	return told
}

// status is an entry of the process's status in MiB.
func (p *process) status(name string) float64 {
	GinkgoHelper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	Expect(err).NotTo(HaveOccurred(), p.log.String())
	_, rest, found := strings.Cut(string(text), name+":")
	Expect(found).To(BeTrue(), name)
	kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	Expect(err).NotTo(HaveOccurred())
	return kib / 1024
}

// kubeconfig writes the operator's access to a file.
func kubeconfig() string {
	GinkgoHelper()
	user, err := Plane.User(testenv.OperatorUser, "system:serviceaccounts", "system:serviceaccounts:"+testenv.OperatorNamespace)
	Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(clientcmd.WriteToFile(*kubeconfigOf(user), file)).To(Succeed())
	return file
}

func kubeconfigOf(user *rest.Config) *clientcmdapi.Config {
	c := clientcmdapi.NewConfig()
	c.Clusters["c"] = &clientcmdapi.Cluster{Server: user.Host, CertificateAuthorityData: user.CAData}
	c.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificateData: user.CertData, ClientKeyData: user.KeyData}
	c.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	c.CurrentContext = "x"
	return c
}
