// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"net"
	"strconv"

	"github.com/acme/platform-operator/hack/cluster/machine"
)

// Components, by the names of their programs.
const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	kwok              = "kwok"
)

const (
	etcdPeerPort   = "etcd-peer"
	serviceCIDR    = "10.96.0.0/16"
	firstServiceIP = "10.96.0.1"
	podCIDR        = "10.240.0.0/12" // room for 4,096 nodes of 256 addresses
)

// componentNames lists the components of all clusters. They stop in the reverse order: the node before
// the control plane, and on the node first what would start containers again.
var componentNames = []string{
	etcd, apiServer, controllerManager, scheduler, kwok,
	imageRegistry, nodeInit, containerd, storageProvisioner, kubeProxy, kubelet,
}

// portNames lists what gets a port of its own on this machine.
func (c *Cluster) portNames() []string {
	names := []string{etcdPeerPort, etcd, apiServer, controllerManager, scheduler}
	if c.real() {
		return append(names, imageRegistry, storageProvisioner)
	}
	return append(names, kwok)
}

// component is a program of the cluster.
type component struct {
	name    string
	system  bool // a package of the system brings the program; else it is one of the launcher's own
	args    []string
	address string // host:port, or empty when it serves nobody
	health  string // URL that answers 200 when the component is ready to work; empty: it only has to run
	place   place
}

// place is where a component runs.
type place int

const (
	onMachine place = iota
	asNode          // the first process of the node's namespaces
	onNode          // in those namespaces
)

// stage is a set of components that start together, when prepare has succeeded.
type stage struct {
	prepare    func(context.Context) error // may be nil
	components []component
}

// components lists the programs in the order of their stages.
func (c *Cluster) components() []component {
	var list []component
	for _, s := range c.stages(nil) {
		list = append(list, s.components...)
	}
	return list
}

// stages lists the programs in stages. Those of a stage start when the stage before is healthy. l does what is
// to be done between the stages.
func (c *Cluster) stages(l *launch) []stage {
	if c.real() {
		return c.realStages(l)
	}
	return []stage{
		{components: []component{c.etcd()}},
		{components: []component{c.apiServer()}},
		{components: []component{
			c.controller(controllerManager, "/healthz", c.controllerManagerArgs()),
			c.controller(scheduler, "/readyz", nil),
			{name: kwok, args: c.kwokArgs(), address: loopback(c.Ports[kwok]), health: c.url("http", kwok, "/healthz")},
		}},
	}
}

func (c *Cluster) etcd() component {
	return component{name: etcd, args: c.etcdArgs(), address: loopback(c.Ports[etcd]), health: c.url("https", etcd, "/readyz")}
}

func (c *Cluster) apiServer() component {
	return component{name: apiServer, args: c.apiServerArgs(), address: c.apiAddress(), health: c.server() + "/readyz"}
}

// controller is the controller manager or the scheduler.
func (c *Cluster) controller(name, healthPath string, more []string) component {
	return component{
		name: name, args: append(c.controllerArgs(name), more...),
		address: loopback(c.Ports[name]), health: c.url("https", name, healthPath),
	}
}

func (c *Cluster) url(scheme, component, path string) string {
	return scheme + "://" + loopback(c.Ports[component]) + path
}

// host is the machine's address for the API server: pods have a loopback of their own.
func (c *Cluster) host() string {
	if c.real() {
		return machine.HostAddress
	}
	return "127.0.0.1"
}

func (c *Cluster) apiAddress() string {
	return net.JoinHostPort(c.host(), strconv.Itoa(c.Ports[apiServer]))
}

func flag(name, value string) string { return "--" + name + "=" + value }

// etcdArgs: durability is given up for speed; a local cluster is thrown away.
func (c *Cluster) etcdArgs() []string {
	client, peer := c.url("https", etcd, ""), c.url("https", etcdPeerPort, "")
	return []string{
		flag("name", c.record.Name), flag("data-dir", c.path("etcd")), "--unsafe-no-fsync",
		flag("listen-client-urls", client), flag("advertise-client-urls", client),
		flag("listen-peer-urls", peer), flag("initial-advertise-peer-urls", peer), flag("initial-cluster", c.record.Name+"="+peer),
		flag("cert-file", c.cert(etcdServingCert)), flag("key-file", c.key(etcdServingCert)),
		flag("trusted-ca-file", c.cert(etcdCA)), "--client-cert-auth",
		flag("peer-cert-file", c.cert(etcdServingCert)), flag("peer-key-file", c.key(etcdServingCert)),
		flag("peer-trusted-ca-file", c.cert(etcdCA)), "--peer-client-cert-auth",
		"--enable-grpc-gateway=false", "--quota-backend-bytes=8589934592", "--log-level=warn",
	}
}

// apiServerArgs: without a real node the address of the kubernetes Service is not maintained
// (endpoint-reconciler-type none), because nothing routes service addresses then and a loopback address
// would be refused for it. The request limits leave room for benchmarks.
func (c *Cluster) apiServerArgs() []string {
	more := []string{"--endpoint-reconciler-type=none"}
	if c.real() {
		more = c.realAPIServerArgs()
	}
	return append([]string{
		flag("bind-address", c.host()), flag("advertise-address", c.host()), flag("secure-port", strconv.Itoa(c.Ports[apiServer])),
		flag("etcd-servers", c.url("https", etcd, "")), flag("etcd-cafile", c.cert(etcdCA)),
		flag("etcd-certfile", c.cert(etcdClientCert)), flag("etcd-keyfile", c.key(etcdClientCert)),
		flag("cert-dir", c.pkiDir()), flag("tls-cert-file", c.cert(servingCert)), flag("tls-private-key-file", c.key(servingCert)),
		flag("client-ca-file", c.cert(clusterCA)), "--authorization-mode=Node,RBAC", "--allow-privileged",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		flag("service-account-key-file", c.cert(serviceAccountKey)),
		flag("service-account-signing-key-file", c.key(serviceAccountKey)),
		flag("service-cluster-ip-range", serviceCIDR),
		flag("requestheader-client-ca-file", c.cert(frontProxyCA)), flag("requestheader-allowed-names", frontProxyClient),
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		flag("proxy-client-cert-file", c.cert(frontProxyClient)), flag("proxy-client-key-file", c.key(frontProxyClient)),
		"--max-requests-inflight=1200", "--max-mutating-requests-inflight=600",
	}, more...)
}

func (c *Cluster) controllerManagerArgs() []string {
	args := []string{
		"--use-service-account-credentials", flag("root-ca-file", c.cert(clusterCA)),
		flag("service-account-private-key-file", c.key(serviceAccountKey)),
		flag("cluster-signing-cert-file", c.cert(clusterCA)), flag("cluster-signing-key-file", c.key(clusterCA)),
	}
	if c.real() {
		return args // the only node's addresses are in its configuration
	}
	return append(args, "--allocate-node-cidrs", flag("cluster-cidr", podCIDR), flag("service-cluster-ip-range", serviceCIDR))
}

// controllerArgs are the flags that controller manager and scheduler share. There is one of each, so
// an election would only cost writes. Their own brake on requests would make a start take seconds
// longer; the API server's limits are enough.
func (c *Cluster) controllerArgs(name string) []string {
	kubeconfig := c.kubeconfigOf(name)
	return []string{
		flag("kubeconfig", kubeconfig), flag("authentication-kubeconfig", kubeconfig),
		flag("authorization-kubeconfig", kubeconfig), "--leader-elect=false",
		"--kube-api-qps=500", "--kube-api-burst=1000",
		"--bind-address=127.0.0.1", flag("secure-port", strconv.Itoa(c.Ports[name])),
		flag("tls-cert-file", c.cert(servingCert)), flag("tls-private-key-file", c.key(servingCert)),
	}
}

// kwokArgs: a lease is renewed after a quarter of its duration; the controller manager gives a node
// up after 50 s without. Each renewal would be a line in the log, hence the level.
func (c *Cluster) kwokArgs() []string {
	return []string{
		flag("kubeconfig", c.kubeconfigOf(kwok)), flag("config", c.path(stagesFile)), "--manage-all-nodes",
		"--node-ip=127.0.0.1", flag("server-address", loopback(c.Ports[kwok])),
		flag("cidr", podCIDR), "--node-lease-duration-seconds=40", "--v=WARN",
	}
}
