// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/pem"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/hack/olm"
)

const (
	indexName = "operator-framework/index:local"
	// unpackName is the image by which operator-sdk v1.42 unpacks its catalog; run bundle-upgrade takes no other.
	unpackName = "ubi9/ubi:9.7"
)

// specsOfRunBundle: what a developer uses to try a bundle without a catalog.
func specsOfRunBundle() {
	It("installs a bundle and upgrades it", func(ctx SpecContext) {
		for _, name := range []string{indexName, unpackName} {
			Expect(olm.Index(ctx, olm.Options{Cluster: lab.cluster, BinDir: binDir()}, name)).To(Succeed())
		}
		// The pods that operator-sdk makes do not meet the level restricted.
		Expect(lab.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: systemNamespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "baseline"},
		}})).To(Succeed())
		sdk := lab.newOperatorSDK()

		start := time.Now()
		sdk.run(ctx, "bundle", sdk.address+"/"+bundleName+":v"+first.version, "--index-image", sdk.address+"/"+indexName,
			"--install-mode", "AllNamespaces")
		lab.awaitPhase(ctx, first, operatorsv1alpha1.CSVPhaseSucceeded)
		say("operator-sdk run bundle installed %s, after %s", first.csv(), since(start))
		lab.checkWorks(ctx, "by-sdk")

		start = time.Now()
		sdk.run(ctx, "bundle-upgrade", sdk.address+"/"+bundleName+":v"+second.version)
		lab.awaitPhase(ctx, second, operatorsv1alpha1.CSVPhaseSucceeded)
		say("operator-sdk run bundle-upgrade continued to %s, after %s", second.csv(), since(start))
		lab.checkWorks(ctx, "by-sdk-again")
	}, NodeTimeout(installed*3))
}

// operatorSDK is operator-sdk with a way to the cluster's registry over TLS: it asks for an index's labels over nothing else.
type operatorSDK struct {
	address string // of the registry
	ca      string // file with its certificate
}

func (w *world) newOperatorSDK() operatorSDK {
	GinkgoHelper()
	target := &url.URL{Scheme: "http", Host: w.cluster.RegistryAddress()}
	front := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }})
	DeferCleanup(front.Close)
	sdk := operatorSDK{address: front.Listener.Addr().String(), ca: filepath.Join(w.dir, "registry.crt")}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})
	Expect(os.WriteFile(sdk.ca, certificate, 0o600)).To(Succeed())
	return sdk
}

// run runs operator-sdk run against the cluster, in the operator's namespace.
func (s operatorSDK) run(ctx context.Context, words ...string) {
	GinkgoHelper()
	words = append(append([]string{"run"}, words...),
		"--security-context-config", "restricted", "--namespace", systemNamespace, "--timeout", installed.String())
	cmd := exec.CommandContext(ctx, filepath.Join(binDir(), "operator-sdk"), words...)
	cmd.Dir = lab.dir
	cmd.Env = []string{
		"KUBECONFIG=" + lab.cluster.KubeconfigPath(), "HOME=" + lab.dir, "TMPDIR=" + lab.dir, "PATH=" + os.Getenv("PATH"), "SSL_CERT_FILE=" + s.ca,
	}
	out, err := cmd.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "operator-sdk %s:\n%s", strings.Join(words, " "), out)
}

// awaitPhase waits until a version is in a phase.
func (w *world) awaitPhase(ctx context.Context, r release, phase operatorsv1alpha1.ClusterServiceVersionPhase) {
	GinkgoHelper()
	eventually(ctx, r.csv()+" is "+string(phase), installed, func(g Gomega) {
		csv := &operatorsv1alpha1.ClusterServiceVersion{}
		g.Expect(w.client.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: r.csv()}, csv)).To(Succeed())
		g.Expect(csv.Status.Phase).To(Equal(phase), csv.Status.Message)
	})
}
