// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/acme/platform-operator/api/views/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/limit"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// kubectl starts bin/kubectl with the access of a user. It logs its requests.
func kubectl(cfg *rest.Config, args ...string) *gexec.Session {
	GinkgoHelper()
	folder := GinkgoT().TempDir()
	k := clientcmdapi.NewConfig()
	k.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://" + strings.TrimPrefix(cfg.Host, "https://"), CertificateAuthorityData: cfg.CAData}
	k.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificateData: cfg.CertData, ClientKeyData: cfg.KeyData}
	k.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	k.CurrentContext = "c"
	file := filepath.Join(folder, "kubeconfig")
	Expect(clientcmd.WriteToFile(*k, file)).To(Succeed())
	args = append([]string{"--kubeconfig=" + file, "--cache-dir=" + filepath.Join(folder, "cache"), "--v=6"}, args...)
	session, err := gexec.Start(exec.CommandContext(ctx, testenv.RepoFile("bin", "kubectl"), args...), nil, nil)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { session.Kill().Wait() })
	return session
}

// tape records the requests for lists and watches of a client, as their queries.
type tape struct {
	http.RoundTripper
	mu      sync.Mutex
	queries []url.Values
}

func (t *tape) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	t.queries = append(t.queries, r.URL.Query())
	t.mu.Unlock()
	return t.RoundTripper.RoundTrip(r)
}

// after are the requests but the first n.
func (t *tape) after(n int) []url.Values {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]url.Values(nil), t.queries[n:]...)
}

// Clients that nobody made for the views (V5).
var _ = Describe("A client", func() {
	var name string
	var sam *rest.Config
	BeforeEach(func() { name, sam = newUser() })

	It("such as kubectl waits for the end of a right, and of a Namespace (V5)", func() {
		mine, other := Namespace(), Namespace()
		binding := grant(mine, "view", user(name))
		grant(other, "view", user(name))
		Eventually(namesOf(sam)).Should(ConsistOf(mine, other))
		for namespace, end := range map[string]func(){
			mine:  func() { Remove(binding) },
			other: func() { Remove(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other}}) },
		} {
			wait := kubectl(sam, "wait", "--for=delete", "mynamespaces/"+namespace, "--timeout=2m")
			Eventually(wait.Err).Should(gbytes.Say(`watch=true`))
			Expect(wait).NotTo(gexec.Exit(), "it ends before there is a reason to")
			end()
			Eventually(wait).Should(gexec.Exit(0))
			Expect(string(wait.Out.Contents())).To(ContainSubstring("mynamespace.views.acme.com/" + namespace))
		}
	})

	It("such as kubectl shows a watch as a table, with its events (V5)", func() {
		mine := Namespace()
		w := kubectl(sam, "get", "myns", "--watch", "--output-watch-events")
		Eventually(w.Err).Should(gbytes.Say(`watch=true`))
		binding := grant(mine, "view", user(name))
		Eventually(w.Out).Should(gbytes.Say(`ADDED +` + mine + ` +Active +<none> +ClusterRole/view`))
		grant(mine, "edit", user(name))
		Eventually(w.Out).Should(gbytes.Say(`MODIFIED +` + mine + ` +Active +<none> +ClusterRole/edit,ClusterRole/view`))
		Remove(binding)
		Eventually(w.Out).Should(gbytes.Say(`MODIFIED +` + mine + ` +Active +<none> +ClusterRole/edit`))
		Remove(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: mine}})
		Eventually(w.Out).Should(gbytes.Say(`DELETED +` + mine))
	})

	It("such as an informer of metadata follows what its user may see, resyncs, and resumes at another replica (V5)", Label(limit.Slow), func() {
		DeferCleanup(func() { proxy.to(one, two) })
		proxy.to(one)
		kept, leaving := Namespace(), Namespace()
		grant(kept, "view", user(name))
		Eventually(namesOf(sam)).Should(Equal([]string{kept}))

		requests, taped := &tape{}, rest.CopyConfig(sam)
		taped.Wrap(func(next http.RoundTripper) http.RoundTripper {
			requests.RoundTripper = next
			return requests
		})
		client, err := metadata.NewForConfig(taped)
		Expect(err).NotTo(HaveOccurred())
		factory := metadatainformer.NewSharedInformerFactory(client, time.Second)
		informer := factory.ForResource(v1alpha1.GroupVersion.WithResource("mynamespaces")).Informer()
		type event struct{ kind, name string }
		events := make(chan event, 10_000)
		report := func(kind string, o any) {
			m, ok := o.(*metav1.PartialObjectMetadata)
			if gone, unknown := o.(cache.DeletedFinalStateUnknown); unknown {
				m, ok = gone.Obj.(*metav1.PartialObjectMetadata)
			}
			if ok {
				events <- event{kind, m.Name}
			}
		}
		_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(o any) { report("added", o) }, DeleteFunc: func(o any) { report("deleted", o) },
			UpdateFunc: func(old, now any) {
				if old.(*metav1.PartialObjectMetadata).ResourceVersion == now.(*metav1.PartialObjectMetadata).ResourceVersion {
					report("resynced", now)
				}
			},
		})
		Expect(err).NotTo(HaveOccurred())
		stop := make(chan struct{})
		factory.Start(stop)
		DeferCleanup(func() {
			close(stop)
			factory.Shutdown()
		})
		expect := func(kind, namespace string) {
			GinkgoHelper()
			Eventually(events).Should(Receive(Equal(event{kind, namespace})))
		}
		expect("added", kept)
		binding := grant(leaving, "view", user(name))
		expect("added", leaving)
		Remove(binding)
		expect("deleted", leaving)
		expect("resynced", kept)

		// A bookmark, one a minute, says from where it continues, once it has seen what a list has.
		Eventually(func(g Gomega) {
			list, err := myNamespaces(sam)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(informer.LastSyncResourceVersion()).To(Equal(list.ResourceVersion))
		}).Should(Succeed())
		version, before := informer.LastSyncResourceVersion(), len(requests.after(0))
		proxy.redirect(two)
		one.stop() // watches end in good order
		one = startReplica()
		grant(leaving, "view", user(name))
		expect("added", leaving)
		again := requests.after(before)
		Expect(again).NotTo(BeEmpty())
		for _, query := range again {
			Expect(query).To(HaveKeyWithValue("resourceVersion", []string{version}), "it resumes: %v", again)
			Expect(query).NotTo(HaveKey("sendInitialEvents"))
		}
		Remove(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: leaving}})
		expect("deleted", leaving)
		Expect(informer.GetStore().ListKeys()).To(Equal([]string{kept}))
	})
})
