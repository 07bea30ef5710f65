// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/hack/cluster/localcluster"
)

const (
	certManagerNamespace = "cert-manager"
	certificateSecret    = "webhook-server-cert" // as config/default has it
	deployedName         = "deployed"
	webhookPort          = "9443"
)

// specsOfDeployment: README.md's way without OLM, `make deploy` on a cluster with cert-manager.
func specsOfDeployment() {
	It("runs with certificates of cert-manager", func(ctx SpecContext) {
		lab.installCertManager(ctx)
		lab.pushOperator(ctx, filepath.Join(lab.dir, deployedName), "0.1.0")
		start := time.Now()
		out, err := lab.make(ctx, "deploy", "IMG="+registry+"/"+imageName+":v0.1.0")
		Expect(err).NotTo(HaveOccurred(), out)
		eventually(ctx, "both replicas are ready", soon, func(g Gomega) {
			d := &appsv1.Deployment{}
			g.Expect(lab.client.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: deploymentName}, d)).To(Succeed())
			g.Expect(d.Status.ReadyReplicas).To(BeEquivalentTo(2))
			g.Expect(lab.served(ctx, g)).To(HaveEach(lab.issued(ctx, g)))
		})
		say("make deploy: both replicas are ready and serve the certificate that cert-manager issued, after %s", since(start))
		lab.checkWorks(ctx, deployedName)
		lab.awaitViews(ctx)
		err = lab.client.Create(ctx, newForbidden(), client.DryRunAll)
		Expect(err).To(MatchError(ContainSubstring("cannot be given to a tenant")))
		say("an AcmeNamespace is ready, and the webhooks answer: %v", err)
	}, NodeTimeout(installed))

	It("loads a new certificate without a restart", func(ctx SpecContext) { checkRotation(ctx) }, NodeTimeout(installed))

	It("is removed when no object is left", func(ctx SpecContext) { checkUndeploy(ctx) }, NodeTimeout(installed))
}

// checkRotation expects that pods load a certificate that is issued again, and answer all the while.
func checkRotation(ctx context.Context) {
	GinkgoHelper()
	before, pods := lab.issued(ctx, Default), lab.podsIn(ctx, systemNamespace)
	Expect(lab.client.Delete(ctx, lab.certificateSecret())).To(Succeed())
	start := time.Now()
	var missed stretches
	eventually(ctx, "both replicas serve the new certificate", soon, func(g Gomega) {
		missed.note(time.Now(), lab.client.Create(ctx, newForbidden(), client.DryRunAll) == nil, nil)
		g.Expect(lab.issued(ctx, g)).NotTo(Equal(before))
		g.Expect(lab.served(ctx, g)).To(HaveEach(lab.issued(ctx, g)))
	})
	missed.note(time.Time{}, false, nil)
	Expect(lab.podsIn(ctx, systemNamespace)).To(Equal(pods), "a pod of the operator was restarted or replaced")
	say("both replicas serve the new certificate after %s; longest stretch without the webhook %s", since(start), missed.longest())
	lab.checkWorks(ctx, deployedName+"-again")
}

// checkUndeploy expects that `make undeploy` refuses while there are objects, and leaves nothing then.
func checkUndeploy(ctx context.Context) {
	GinkgoHelper()
	out, err := lab.make(ctx, "undeploy")
	Expect(err).To(HaveOccurred(), out)
	Expect(out).To(ContainSubstring("There are still objects of acmenamespaces"))
	say("make undeploy refuses while there are objects")
	out, err = lab.kubectl(ctx, lab.cluster.KubeconfigPath(), "delete", "acmenamespaces", "--all", "--timeout=2m")
	Expect(err).NotTo(HaveOccurred(), out)
	lab.awaitViews(ctx)
	out, err = lab.make(ctx, "undeploy")
	Expect(err).NotTo(HaveOccurred(), out)
	lab.awaitNoViews(ctx, time.Now())
	eventually(ctx, "nothing of the operator is left", soon, func(g Gomega) { g.Expect(lab.traces(ctx, g)).To(BeEmpty()) })
	out, err = lab.kubectl(ctx, lab.cluster.KubeconfigPath(), "delete", "-f", lab.certManagerManifests(), "--timeout=2m")
	Expect(err).NotTo(HaveOccurred(), out)
	say("after make undeploy nothing is left: no kind, no role, no binding, no policy, no webhook, no namespace")
}

// make runs make against the cluster and returns all that it prints.
func (w *world) make(ctx context.Context, words ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "make", words...)
	cmd.Dir = root()
	cmd.Env = append(os.Environ(), "KUBECONFIG="+w.cluster.KubeconfigPath())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (w *world) certManagerManifests() string { return filepath.Join(w.dir, "cert-manager.yaml") }

// installCertManager installs what cert-manager's chart does, with the programs of hack/certmanager in its images.
func (w *world) installCertManager(ctx context.Context) {
	GinkgoHelper()
	start := time.Now()
	const module = "github.com/cert-manager/cert-manager"
	found := run(ctx, []string{"GOWORK=off"}, "go", "list", "-C", "hack/certmanager", "-m", "-f", "{{.Version}} {{.Dir}}", module)
	version, dir, _ := strings.Cut(found, " ")
	program := filepath.Join(binDir(), "certmanager")
	for _, command := range []string{"controller", "cainjector", "webhook"} {
		folder := filepath.Join(w.dir, "cert-manager-"+command)
		Expect(os.Mkdir(folder, 0o755)).To(Succeed())
		Expect(os.Link(program, filepath.Join(folder, "certmanager"))).To(Succeed())
		_, err := w.cluster.PushFolder(ctx, localcluster.Folder{Dir: folder, Command: []string{"/certmanager", command}},
			"jetstack/cert-manager-"+command+":"+version)
		Expect(err).NotTo(HaveOccurred())
	}
	manifests := run(ctx, nil, program, "manifests", filepath.Join(strings.TrimSpace(dir), "deploy", "charts", "cert-manager"))
	Expect(os.WriteFile(w.certManagerManifests(), []byte(manifests), 0o600)).To(Succeed())
	out, err := w.kubectl(ctx, w.cluster.KubeconfigPath(), "apply", "--server-side", "-f", w.certManagerManifests())
	Expect(err).NotTo(HaveOccurred(), out)
	out, err = w.kubectl(ctx, w.cluster.KubeconfigPath(), "wait", "deployments", "--all", "-n", certManagerNamespace,
		"--for=condition=Available", "--timeout=2m")
	Expect(err).NotTo(HaveOccurred(), out)
	issuer := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cert-manager.io/v1", "kind": "Issuer", "metadata": map[string]any{"namespace": "default", "name": "probe"},
		"spec": map[string]any{"selfSigned": map[string]any{}},
	}}
	eventually(ctx, "cert-manager's webhook answers", soon, func(g Gomega) {
		g.Expect(w.client.Create(ctx, issuer.DeepCopy(), client.DryRunAll)).To(Succeed())
	})
	say("cert-manager %s runs as pods, after %s", version, since(start))
}

func (w *world) certificateSecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: certificateSecret}}
}

// issued is the serial number of the certificate that the operator is to serve.
func (w *world) issued(ctx context.Context, g Gomega) string {
	secret := w.certificateSecret()
	g.Expect(w.client.Get(ctx, client.ObjectKeyFromObject(secret), secret)).To(Succeed())
	block, _ := pem.Decode(secret.Data[corev1.TLSCertKey])
	g.Expect(block).NotTo(BeNil())
	certificate, err := x509.ParseCertificate(block.Bytes)
	g.Expect(err).NotTo(HaveOccurred())
	return certificate.SerialNumber.String()
}

// podsOfManager selects the operator's pods, and not those of the views beside them.
var podsOfManager = client.MatchingLabels{"control-plane": "controller-manager"}

// served are the serial numbers of the certificates that the operator's pods show.
func (w *world) served(ctx context.Context, g Gomega) []string {
	pods := &corev1.PodList{}
	g.Expect(w.client.List(ctx, pods, client.InNamespace(systemNamespace), podsOfManager)).To(Succeed())
	g.Expect(pods.Items).To(HaveLen(2))
	var found []string
	for _, pod := range pods.Items {
		// Which certificate it is is all that is asked; whether it is trusted shows when the API server calls the webhook.
		dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
		connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(pod.Status.PodIP, webhookPort))
		g.Expect(err).NotTo(HaveOccurred())
		found = append(found, connection.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String())
		g.Expect(connection.Close()).To(Succeed())
	}
	return found
}
