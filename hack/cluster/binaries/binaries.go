// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package binaries builds the programs of a local cluster from the modules under tools/, in
// the versions that the modules' go.mod files pin, and those of our own that a real node needs.
package binaries

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Binary is a program of the local cluster.
type Binary struct {
	Name    string // file name under bin/
	dir     string // folder of the Go module that pins or holds it, in the repository
	pkg     string // Go package
	module  string // module whose version is the program's version; that of dir when the program is our own
	ldflags func(version string) string
	tags    string // build tags, comma-separated; what needs C libraries is left out by them
	always  bool   // go build finds out whether there is something to do: the operator, which has no pinned version
}

const (
	kubernetesDir    = "tools/kubernetes"
	kubernetesModule = "k8s.io/kubernetes"
	nodeDir          = "hack/cluster/node"
	nodeModule       = "github.com/acme/platform-operator/hack/cluster/node"
	strip            = "-s -w"

	olmDir    = "tools/olm"
	olmModule = "github.com/operator-framework/operator-lifecycle-manager"
	// withoutC leaves out of the programs of OLM what needs C libraries, and what serves catalogs of the old kind.
	withoutC = "containers_image_openpgp,exclude_graphdriver_btrfs,json1"

	certManagerDir    = "hack/certmanager"
	certManagerModule = "github.com/cert-manager/cert-manager/platform-operator"
)

var table = []Binary{
	kubernetes("kube-apiserver"),
	kubernetes("kube-controller-manager"),
	kubernetes("kube-scheduler"),
	kubernetes("kubectl"),
	{Name: "etcd", dir: "tools/etcd", pkg: "go.etcd.io/etcd/server/v3", module: "go.etcd.io/etcd/server/v3", ldflags: plain},
	{Name: "kwok", dir: "tools/kwok", pkg: "sigs.k8s.io/kwok/cmd/kwok", module: "sigs.k8s.io/kwok", ldflags: plain},
	kubernetes("kubelet"),
	kubernetes("kube-proxy"),
	{Name: "coredns", dir: "tools/coredns", pkg: "github.com/coredns/coredns", module: "github.com/coredns/coredns", ldflags: plain},
	own("node-init"),
	own("image-registry"),
	own("image-push"),
	own("storage-provisioner"),

	olm("olm", "cmd/olm"),
	olm("catalog", "cmd/catalog"),
	olm("copy-content", "cmd/copy-content"),
	olm("cpb", "util/cpb"),
	{
		Name: "grpc_health_probe", dir: olmDir, ldflags: plain,
		pkg: "github.com/grpc-ecosystem/grpc-health-probe", module: "github.com/grpc-ecosystem/grpc-health-probe",
	},

	{Name: "certmanager", dir: certManagerDir, pkg: certManagerModule, module: certManagerModule, ldflags: ownFlags},
}

// sets name groups of binaries for Select: what one purpose needs.
var sets = map[string][]string{
	"envtest":   {"etcd", "kube-apiserver", "kube-controller-manager", "kubectl"},
	"simulated": {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok"},
	"real": {
		"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kubelet", "kube-proxy",
		"coredns", "node-init", "image-registry", "image-push", "storage-provisioner",
	},
	"olm": {"olm", "catalog", "copy-content", "cpb", "grpc_health_probe"},
}

// All lists every binary that a cluster with simulated nodes needs, in the order in which they are built.
func All() []Binary { return chosen(sets["simulated"]) }

// Kubectl is what a cluster from elsewhere needs here.
func Kubectl() []Binary { return chosen([]string{"kubectl"}) }

// Real lists every binary that a cluster with a real node needs, in the order in which they are built.
func Real() []Binary { return chosen(sets["real"]) }

// OLM lists what the Operator Lifecycle Manager needs to run in a cluster with a real node.
func OLM() []Binary { return chosen(sets["olm"]) }

// CertManager lists what cert-manager needs to run in a cluster with a real node.
func CertManager() []Binary { return chosen([]string{"certmanager"}) }

// Manager is the operator.
func Manager(version string) Binary { return ours("manager", "cmd", version) }

// DatabaseAgent is the program that runs beside a database server.
func DatabaseAgent() Binary { return ours("database-agent", "cmd/database-agent", "") }

// Views is the program that answers the API of the views.
func Views() Binary { return ours("views", "cmd/views", "") }

// Plugin is the kubectl plugin.
func Plugin(version string) Binary { return ours("kubectl-acme", "cmd/kubectl-acme", version) }

// ours is a program of this repository. It is built with Go's flags as they are, so that it shares packages with the programs under hack.
func ours(name, folder, version string) Binary {
	return Binary{
		Name: name, dir: ".", pkg: "github.com/acme/platform-operator/" + folder, always: true,
		ldflags: func(string) string { return strip + " -X main.version=" + version },
	}
}

// Select lists the binaries that only names: a comma-separated list of binary names and sets
// ("envtest" is what tests need, "simulated" and "real" what a cluster with such nodes needs, "olm" the
// Operator Lifecycle Manager). The empty string selects "simulated". An unknown name is an error.
func Select(only string) ([]Binary, error) {
	if only == "" {
		return All(), nil
	}
	var wanted []string
	for name := range strings.SplitSeq(only, ",") {
		members, isSet := sets[name]
		if !isSet && !slices.Contains(names(), name) {
			return nil, fmt.Errorf("there is no binary %q; there are: %s, %s", name,
				strings.Join(slices.Sorted(maps.Keys(sets)), ", "), strings.Join(names(), ", "))
		}
		wanted = append(append(wanted, members...), name)
	}
	return chosen(wanted), nil
}

// chosen lists the binaries of these names, in the order of the table.
func chosen(wanted []string) []Binary {
	var list []Binary
	for _, b := range table {
		if slices.Contains(wanted, b.Name) {
			list = append(list, b)
		}
	}
	return list
}

func names() []string {
	var list []string
	for _, b := range table {
		list = append(list, b.Name)
	}
	return list
}

func kubernetes(name string) Binary {
	return Binary{
		Name: name, dir: kubernetesDir, pkg: kubernetesModule + "/cmd/" + name, module: kubernetesModule,
		ldflags: kubernetesFlags,
	}
}

// olm is a program of the Operator Lifecycle Manager.
func olm(name, folder string) Binary {
	return Binary{Name: name, dir: olmDir, pkg: olmModule + "/" + folder, module: olmModule, ldflags: plain, tags: withoutC}
}

// ours reports whether it is a program of this repository.
func (b Binary) ours() bool { return b.dir == nodeDir || b.dir == certManagerDir }

// own is a program of this repository that a node needs.
func own(name string) Binary {
	return Binary{Name: name, dir: nodeDir, pkg: nodeModule + "/" + name, module: nodeModule, ldflags: ownFlags}
}

// ownFlags put a name for the sources into the build record. No such variable is declared, and none needs to be.
func ownFlags(version string) string { return strip + " -X main.sources=" + version }

func plain(string) string { return strip }

// kubernetesFlags tell the program its version, which `go build` alone does not.
func kubernetesFlags(version string) string {
	const v = " -X k8s.io/component-base/version."
	parts := strings.SplitN(strings.TrimPrefix(version, "v")+"..", ".", 3)
	return strip + v + "gitVersion=" + version + v + "gitMajor=" + parts[0] + v + "gitMinor=" + parts[1]
}
