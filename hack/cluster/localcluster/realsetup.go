// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"text/template"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/acme/platform-operator/hack/cluster/files"
	"github.com/acme/platform-operator/hack/cluster/machine"
	"github.com/acme/platform-operator/hack/cluster/process"
)

//go:embed real
var realFiles embed.FS

const (
	setUpScript     = "setup.sh"
	addonsFile      = "addons.yaml"
	provisionerName = "cluster.acme.com/folder"
	coreDNS         = "coredns"
	pauseImage      = "pause:local"
	coreDNSImage    = "coredns:local"
)

// realValues are what the files in real/ are filled in with.
func (c *Cluster) realValues() map[string]string {
	return map[string]string{
		"ControlGroup": c.controlGroup(), "Resolver": c.path("resolv.conf"), "Mark": setUpMark,
		"Node": realNodeName, "NodeAddress": machine.NodeAddress, "NodeLink": machine.NodeLink,
		"NodeFolder": c.path(nodeFolder), "NetworkFolder": c.path("network"), "PluginFolder": machine.PluginDir,
		"RegistriesFolder": c.path("registries"), "Registry": "http://" + c.RegistryFromPods(),
		"PodCIDR": realPodCIDR, "DNS": dnsServiceIP, "Provisioner": provisionerName,
		"KubeletPort": strconv.Itoa(kubeletPort), "KubeletHealthPort": strconv.Itoa(kubeletHealthPort),
		"ContainerdAddress": onNodeAt(containerdPort), "ClientCA": c.cert(clusterCA),
		"Cert": c.cert(kubeletServingCert), "Key": c.key(kubeletServingCert),
		"PauseImage": c.reference(pauseImage), "DNSImage": c.reference(coreDNSImage),
	}
}

// reference is what a pod calls an image in the cluster's registry.
func (c *Cluster) reference(image string) string { return c.RegistryAddress() + "/" + image }

// writeRealConfiguration writes what the programs of a real node read.
func (c *Cluster) writeRealConfiguration() error {
	templates, err := template.New("").Option("missingkey=error").ParseFS(realFiles, "real/*")
	if err != nil {
		return fmt.Errorf("reading the node's configuration: %w", err)
	}
	for _, name := range []string{
		"containerd.toml", "kubelet.yaml", "network/pods.conflist", "registries/_default/hosts.toml", "resolv.conf", setUpScript, addonsFile,
	} {
		var content bytes.Buffer
		if err := templates.ExecuteTemplate(&content, filepath.Base(name), c.realValues()); err != nil {
			return fmt.Errorf("filling in %s: %w", name, err)
		}
		if err := os.MkdirAll(filepath.Dir(c.path(name)), 0o700); err != nil {
			return fmt.Errorf("making a folder for %s: %w", name, err)
		}
		if err := files.Write(c.path(name), content.Bytes(), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// prepareMachine takes of the machine what the node needs.
func (l *launch) prepareMachine(ctx context.Context) error {
	c := l.cluster
	if err := c.checkFolder(); err != nil {
		return err
	}
	if err := machine.RequireSpace(c.dir); err != nil {
		return err
	}
	if err := machine.EnsurePrograms(ctx, l.out); err != nil {
		return err
	}
	if err := l.releaseEndedNode(ctx); err != nil {
		return err
	}
	if err := machine.Claim(ctx, c.dir, serviceCIDR, realPodCIDR); err != nil {
		return err
	}
	for _, dir := range []string{"lib", "log"} {
		if err := os.MkdirAll(c.path(nodeFolder, dir), 0o755); err != nil {
			return fmt.Errorf("making the node's folders: %w", err)
		}
	}
	return nil
}

// releaseEndedNode frees the machine's links of a node of another cluster that has ended without being taken down: it was killed,
// or its cluster did not come up. When that cluster comes up again, its node claims them again.
func (l *launch) releaseEndedNode(ctx context.Context) error {
	owner, err := machine.Owner()
	if err != nil || owner == "" || owner == l.cluster.dir {
		return err
	}
	if state := filepath.Dir(owner); state != filepath.Dir(l.cluster.dir) { // in the same folder, this launcher is the only one
		now, cancel := context.WithTimeout(ctx, 0)
		defer cancel()
		unlock, err := files.Lock(now, state, func() {})
		switch {
		case errors.Is(err, context.DeadlineExceeded): // the node is just being started or stopped
			return nil
		case err == nil:
			defer unlock()
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	if (process.Process{Name: nodeInit, Dir: owner}).PID() != 0 {
		return nil
	}
	say(l.out, "the real node of the cluster in %s has ended: this cluster uses its network now\n", owner)
	return machine.Release(ctx, owner)
}

// setUpNode makes the inside of the node's namespaces a place where a kubelet can work, unless it is that already.
func (l *launch) setUpNode(ctx context.Context) error {
	c := l.cluster
	pid := c.process(nodeInit).PID()
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/root%s", pid, setUpMark)); err == nil {
		return nil
	}
	if err := machine.Connect(ctx, pid, serviceCIDR, realPodCIDR); err != nil {
		return err
	}
	var words bytes.Buffer
	cmd := exec.CommandContext(ctx, "/bin/sh", c.path(setUpScript))
	cmd.Env = []string{"PATH=" + machine.Path()}
	cmd.Stdout, cmd.Stderr = &words, &words
	err := machine.StartInside(pid, cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return fmt.Errorf("setting up the node: %w: %s", err, bytes.TrimSpace(words.Bytes()))
	}
	return nil
}

// pushImages puts the images that the node itself needs into the registry.
func (l *launch) pushImages(ctx context.Context) error {
	c := l.cluster
	for program, image := range map[string]string{nodeInit: pauseImage, coreDNS: coreDNSImage} {
		if _, err := c.PushProgram(ctx, filepath.Join(c.BinDir, program), image); err != nil {
			return err
		}
	}
	return nil
}

// applyAddons makes what a cluster has besides Kubernetes itself: names for Services, and storage.
func (c *Cluster) applyAddons(ctx context.Context) error {
	var words []byte
	err := process.Poll(ctx, nodePollInterval, nil, func() (err error) { // the API server makes kube-system a moment after its start
		cmd := exec.CommandContext(ctx, filepath.Join(c.BinDir, "kubectl"), "apply", "--server-side", "--force-conflicts",
			flag("kubeconfig", c.KubeconfigPath()), flag("filename", c.path(addonsFile)))
		if words, err = cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, bytes.TrimSpace(words))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("applying add-ons: %w", err)
	}
	return nil
}

// Addons reports whether what the cluster has besides Kubernetes works; the error says what does not. With simulated
// nodes there is nothing to work.
func (c *Cluster) Addons(ctx context.Context) error {
	if !c.real() {
		return nil
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	return addonsReady(ctx, client)
}

// addonsReady reports whether names are resolved and claims get volumes.
func addonsReady(ctx context.Context, client kubernetes.Interface) error {
	dns, err := client.AppsV1().Deployments(metav1.NamespaceSystem).Get(ctx, coreDNS, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("looking at %s: %w", coreDNS, err)
	}
	if dns.Status.AvailableReplicas == 0 {
		return errors.New(coreDNS + " is not ready" + whyNot(ctx, client))
	}
	_, err = client.StorageV1().StorageClasses().Get(ctx, "standard", metav1.GetOptions{})
	return err
}

// whyNot tells what the name service's containers wait for, as far as that is known.
func whyNot(ctx context.Context, client kubernetes.Interface) string {
	pods, err := client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: "k8s-app=kube-dns"})
	if err != nil {
		return ""
	}
	for _, pod := range pods.Items {
		for _, container := range pod.Status.ContainerStatuses {
			if waiting := container.State.Waiting; waiting != nil {
				return fmt.Sprintf(": %s %s", waiting.Reason, waiting.Message)
			}
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
				return ": " + condition.Message
			}
		}
	}
	return ""
}
