// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	tenancy "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/api/views/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

const (
	home    = testenv.OperatorNamespace
	service = "platform-operator-views"
	// accountName is the service account that the program runs as in a cluster.
	accountName = "system:serviceaccount:" + home + ":platform-operator-views"
)

var (
	ctx = context.Background()
	// account is the access of that service account, with the rights of config/views/rbac.
	account *rest.Config
	// serving signs the certificates of all replicas.
	serving *testenv.Authority
	// front is what the API server connects to.
	proxy *balancer
	// one and two are the replicas; specs that stop one start it again.
	one, two *replica
)

func TestServer(t *testing.T) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, tenancy.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	Setup{
		Options:   testenv.Options{WithAggregation: true, WithControllers: true},
		Scheme:    s,
		Installed: true,
		Prepare:   prepare,
	}.Run(t, "views")
}

// logs is what the servers log.
var logs lockedBuffer

type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// prepare starts two replicas behind a balancer, and registers them.
func prepare() {
	klog.LogToStderr(false)
	klog.SetOutput(&logs)
	var err error
	account, err = Plane.User(accountName, "system:serviceaccounts", "system:serviceaccounts:"+home)
	Expect(err).NotTo(HaveOccurred())
	serving, err = testenv.NewAuthority("views")
	Expect(err).NotTo(HaveOccurred())
	proxy = balance()
	one, two = startReplica(), startReplica()
	proxy.switchTo(one, two)
	DeferCleanup(func() {
		one.stop()
		two.stop()
		proxy.close()
	})
	Create(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: service},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeExternalName, ExternalName: "localhost",
			Ports: []corev1.ServicePort{{Name: "https", Port: proxy.port()}},
		},
	})
	register()
}

// register makes the API server serve the views, and waits until it does.
func register() {
	GinkgoHelper()
	registration := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{
			"name": apiServiceName(), "labels": map[string]any{"app.kubernetes.io/managed-by": "platform-operator"},
		},
		"spec": map[string]any{
			"group": v1alpha1.GroupVersion.Group, "version": v1alpha1.GroupVersion.Version,
			"groupPriorityMinimum": int64(100), "versionPriority": int64(15), "caBundle": serving.PEM,
			"service": map[string]any{"namespace": home, "name": service, "port": int64(proxy.port())},
		},
	}}
	Create(registration)
	Eventually(func() any {
		Expect(Reload(registration)).To(Succeed())
		conditions, _, _ := unstructured.NestedSlice(registration.Object, "status", "conditions")
		return conditions
	}).Should(ContainElement(And(HaveKeyWithValue("type", "Available"), HaveKeyWithValue("status", "True"))))
}

// replica is a server in this process.
type replica struct {
	*Server
	dir  string
	stop func()
}

func startReplica(change ...func(*Options)) *replica {
	GinkgoHelper()
	dir, err := os.MkdirTemp("", "views-")
	Expect(err).NotTo(HaveOccurred())
	writeCertificate(dir, serving)
	o := Options{BindAddress: "127.0.0.1", CertDir: dir, Config: account}
	for _, c := range change {
		c(&o)
	}
	s, err := New(o)
	Expect(err).NotTo(HaveOccurred())
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(running) }()
	r := &replica{Server: s, dir: dir}
	r.stop = sync.OnceFunc(func() {
		cancel()
		Eventually(ended).Should(Receive(BeNil()))
		Expect(os.RemoveAll(dir)).To(Succeed())
	})
	Eventually(r.ready).Should(Equal(http.StatusOK))
	return r
}

// ready is what the readiness probe gets: a replica that has read the cluster may not know the front proxy yet.
func (r *replica) ready() int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://localhost:%d/readyz", r.port()), nil)
	Expect(err).NotTo(HaveOccurred())
	client := bypass()
	defer client.CloseIdleConnections()
	answer, err := client.Do(request)
	if err != nil {
		return 0
	}
	Expect(answer.Body.Close()).To(Succeed())
	return answer.StatusCode
}

func (r *replica) port() int32 { return portOf(r.Address()) }

func portOf(a net.Addr) int32 { return int32(a.(*net.TCPAddr).Port) }

func portNumber(text string) int32 {
	GinkgoHelper()
	port, err := strconv.ParseInt(text, 10, 32)
	Expect(err).NotTo(HaveOccurred())
	return int32(port)
}

func writeCertificate(dir string, a *testenv.Authority) {
	GinkgoHelper()
	cert, key, err := a.Issue(service, service+"."+home+".svc", "localhost")
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(filepath.Join(dir, "tls.crt"), cert, 0o600)).To(Succeed())
	Expect(os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600)).To(Succeed())
}

// balancer forwards connections, each to one of some replicas in turn. It cuts those to replicas that are taken out.
type balancer struct {
	// host is where the ports are.
	host     string
	listener net.Listener
	turn     atomic.Int64

	mu    sync.Mutex
	ports []int32
	open  map[net.Conn]int32
}

func balance() *balancer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	b := &balancer{host: "127.0.0.1", listener: l, open: map[net.Conn]int32{}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go b.forward(c)
		}
	}()
	return b
}

func (b *balancer) port() int32 { return portOf(b.listener.Addr()) }

// to sends new connections to some replicas, cuts all that are open, and returns once the API server has noticed.
func (b *balancer) to(replicas ...*replica) {
	GinkgoHelper()
	b.switchTo(replicas...)
	Eventually(func() error {
		return views(Plane.Config).Get().AbsPath("/apis/views.acme.com/v1alpha1").Do(ctx).Error()
	}).Should(Succeed())
}

func (b *balancer) switchTo(replicas ...*replica) { b.switchToPorts(portsOf(replicas)...) }

// redirect sends new connections to some replicas, and keeps those that are open.
func (b *balancer) redirect(replicas ...*replica) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ports = portsOf(replicas)
}

func portsOf(replicas []*replica) (ports []int32) {
	for _, r := range replicas {
		ports = append(ports, r.port())
	}
	return ports
}

func (b *balancer) switchToPorts(ports ...int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ports = ports
	for c := range b.open {
		_ = c.Close()
	}
}

func (b *balancer) close() { _ = b.listener.Close() }

func (b *balancer) forward(c net.Conn) {
	defer func() { _ = c.Close() }()
	b.mu.Lock()
	if len(b.ports) == 0 {
		b.mu.Unlock()
		return
	}
	port := b.ports[int(b.turn.Add(1))%len(b.ports)]
	b.open[c] = port
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(b.open, c)
		b.mu.Unlock()
	}()
	up, err := net.Dial("tcp", net.JoinHostPort(b.host, strconv.Itoa(int(port))))
	if err != nil {
		return
	}
	defer func() { _ = up.Close() }()
	go func() {
		defer func() { _ = c.Close() }()
		_, _ = io.Copy(c, up)
	}()
	_, _ = io.Copy(up, c)
}

var users atomic.Int64

// newUser is the access of a user that no other spec has, with a certificate.
func newUser(groups ...string) (string, *rest.Config) {
	GinkgoHelper()
	name := fmt.Sprintf("user-%d", users.Add(1))
	cfg, err := Plane.User(name, groups...)
	Expect(err).NotTo(HaveOccurred())
	return name, cfg
}

// as is the administrator's access, impersonating a user.
func as(name string, groups ...string) *rest.Config {
	cfg := rest.CopyConfig(Plane.Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: append([]string{"system:authenticated"}, groups...)}
	return cfg
}
