// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/acme/platform-operator/api/config/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/coordination/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/limit"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// handOvers is how many hand-overs there are at least, elections among how many LeaderElections, and longestDelay how long a
// request takes at most. The environment may ask for more: LEADER_HAND_OVERS=2000 LEADER_ELECTIONS=40 LEADER_DELAY=5s.
func handOvers() int { return numberOr("LEADER_HAND_OVERS", 20) }

func elections() int { return numberOr("LEADER_ELECTIONS", 2) }

func numberOr(variable string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		return n
	}
	return otherwise
}

func longestDelay() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("LEADER_DELAY")); err == nil {
		return d
	}
	return 100 * time.Millisecond
}

// chaos is a network between an operator and the API server: requests are late, are lost, lose their answers, and arrive when
// nobody waits for them any more.
type chaos struct {
	next http.RoundTripper
	calm *atomic.Bool
	late *sync.WaitGroup
}

var errChaos = errors.New("lost by the network of the test")

// RoundTrip implements http.RoundTripper.
func (c chaos) RoundTrip(req *http.Request) (*http.Response, error) {
	concerns := strings.Contains(req.URL.Path, "/pods/") || strings.Contains(req.URL.Path, "/leases") || strings.Contains(req.URL.Path, "/leaderelections/")
	if c.calm.Load() || !concerns || req.URL.Query().Get("watch") != "" {
		return c.next.RoundTrip(req)
	}
	time.Sleep(rand.N(longestDelay())) //nolint:forbidigo // a delay, not a condition
	switch n := rand.IntN(100); {
	case n < 5:
		return nil, errChaos
	case n < 12:
		resp, err := c.next.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		return nil, errors.Join(errChaos, resp.Body.Close())
	case n < 18 && req.GetBody != nil:
		c.sendLater(req)
		return nil, errChaos
	}
	return c.next.RoundTrip(req)
}

// sendLater sends a request when the operator has given it up.
func (c chaos) sendLater(req *http.Request) {
	body, err := req.GetBody()
	if err != nil {
		return
	}
	later := req.Clone(context.Background())
	later.Body = body
	c.late.Go(func() {
		time.Sleep(rand.N(10 * longestDelay())) //nolint:forbidigo // a delay, not a condition
		if resp, err := c.next.RoundTrip(later); err == nil {
			_ = resp.Body.Close()
		}
	})
}

// checker sees every version of every pod of a namespace, in their order.
type checker struct {
	mu       sync.Mutex
	labelled map[string]bool
	last     string // the UID of the last leader
	epoch    int64
	changes  int
	wrong    []string
	events   int
	trace    []string // what was seen last, of pods, Leases and LeaderElections
}

// note adds to the trace.
func (c *checker) note(e watch.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := string(e.Type)
	switch o := e.Object.(type) {
	case *corev1.Pod:
		text += fmt.Sprintf(" pod %s/%.4s %v %v, version %s", o.Name, o.UID, o.Labels, o.Annotations, o.ResourceVersion)
	case *coordinationv1.Lease:
		text += fmt.Sprintf(" Lease/%.4s %v %v, version %s", o.UID, o.Spec.String(), o.Annotations, o.ResourceVersion)
	case *v1alpha1.LeaderElection:
		text += fmt.Sprintf(" LeaderElection %d %v, version %s", o.Status.Epoch, o.Status.Leader, o.ResourceVersion)
	}
	c.trace = append(c.trace[max(0, len(c.trace)-200):], text)
}

func (c *checker) see(e watch.Event, mark string) {
	p, ok := e.Object.(*corev1.Pod)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events++
	delete(c.labelled, string(p.UID))
	if e.Type != watch.Deleted && p.Labels["leader"] == "true" {
		c.labelled[string(p.UID)] = true
	}
	if len(c.labelled) > 1 {
		c.wrong = append(c.wrong, fmt.Sprintf("%d pods have the label at version %s", len(c.labelled), p.ResourceVersion))
	}
	kind, number, _ := strings.Cut(p.Annotations[mark], " ")
	epoch, err := strconv.ParseInt(number, 10, 64)
	if kind != "leader" || err != nil || e.Type == watch.Deleted || c.last == string(p.UID) && epoch == c.epoch {
		return
	}
	if epoch <= c.epoch {
		c.wrong = append(c.wrong, fmt.Sprintf("epoch %d of the pod %s after epoch %d, at version %s", epoch, p.Name, c.epoch, p.ResourceVersion))
	}
	c.last, c.epoch = string(p.UID), epoch
	c.changes++
}

func (c *checker) state() (changes, events int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes, c.events
}

// watchPods lets a checker see all changes of pods from now on.
func watchPods(ns, mark string) *checker {
	GinkgoHelper()
	set, err := kubernetes.NewForConfig(Plane.Config)
	Expect(err).NotTo(HaveOccurred())
	list, err := set.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	w, err := set.CoreV1().Pods(ns).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion, TimeoutSeconds: new(int64(24 * 3600))})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(w.Stop)
	c := &checker{labelled: map[string]bool{}}
	follow(ns, &coordinationv1.LeaseList{}, c)
	follow(ns, &v1alpha1.LeaderElectionList{}, c)
	go func() {
		for e := range w.ResultChan() {
			c.note(e)
			if e.Type == watch.Error {
				c.mu.Lock()
				c.wrong = append(c.wrong, fmt.Sprintf("the watch has ended: %v", e.Object))
				c.mu.Unlock()
				return
			}
			c.see(e, mark)
		}
	}()
	return c
}

// follow lets a checker trace all changes of a type.
func follow(ns string, list client.ObjectList, c *checker) {
	GinkgoHelper()
	cl, err := client.NewWithWatch(Plane.Config, client.Options{Scheme: operator.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	w, err := cl.Watch(ctx, list, client.InNamespace(ns), &client.ListOptions{Raw: &metav1.ListOptions{TimeoutSeconds: new(int64(24 * 3600))}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(w.Stop)
	go func() {
		for e := range w.ResultChan() {
			c.note(e)
		}
	}()
}

// sound fails with what was seen if anything was wrong.
func (c *checker) sound() {
	GinkgoHelper()
	c.mu.Lock()
	defer c.mu.Unlock()
	Expect(c.wrong).To(BeEmpty(), func() string { return strings.Join(c.trace, "\n") })
}

// startUnelected starts an operator that leads without asking, behind a network of its own.
func startUnelected(calm *atomic.Bool, late *sync.WaitGroup) {
	GinkgoHelper()
	config, err := Plane.User(testenv.OperatorUser, "system:serviceaccounts", "system:serviceaccounts:"+testenv.OperatorNamespace)
	Expect(err).NotTo(HaveOccurred())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return chaos{next, calm, late} })
	settings := &configv1alpha1.PlatformOperatorConfig{}
	settings.LeaderElection.RetryMax = &configv1alpha1.Duration{Duration: 200 * time.Millisecond}
	settings.LeaderElection.MaxConcurrentReconciles = new(int32(max(20, elections())))
	configv1alpha1.Default(settings)
	mgr, err := operator.NewManager(config, settings, operator.Options{
		Namespace: testenv.OperatorNamespace, MetricsAddress: "0", ProbeAddress: "0", WebhookPort: -1,
	})
	Expect(err).NotTo(HaveOccurred())
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(running) }()
	DeferCleanup(func() {
		cancel()
		Eventually(ended).Should(Receive())
	})
}

// disturb does something to one of the candidates, or to the ledger.
func disturb(e *v1alpha1.LeaderElection, candidates []*corev1.Pod, n int) {
	GinkgoHelper()
	p := candidates[rand.IntN(len(candidates))]
	switch rand.IntN(12) {
	case 0:
		kill(p)
		*p = *pod(e.Namespace, p.Name)
	case 1:
		Annotate(e, names.AnnotationHandOver, fmt.Sprint(n))
	case 2:
		_ = Admin.Delete(ctx, leaseOf(e))
	case 3, 4, 5, 6:
		SetPodReady(p, false)
	default:
		SetPodReady(p, true)
	}
}

var _ = Describe("Two operators at once, behind networks that lose requests", Label(limit.Random), func() {
	It("never leave the label on two pods, and never let the epoch fall", func() {
		calm, late := &atomic.Bool{}, &sync.WaitGroup{}
		var all []*v1alpha1.LeaderElection
		var checkers []*checker
		var pods [][]*corev1.Pod
		for range elections() {
			e := election()
			checkers = append(checkers, watchPods(e.Namespace, names.LeaderMark(e.Name)))
			pods = append(pods, []*corev1.Pod{pod(e.Namespace, "ledger-0"), pod(e.Namespace, "ledger-1"), pod(e.Namespace, "ledger-2")})
			all = append(all, Create(e))
		}
		startUnelected(calm, late)
		startUnelected(calm, late)
		for n := 0; ; n++ {
			enough := true
			for i, e := range all {
				changes, _ := checkers[i].state()
				checkers[i].sound()
				if changes < handOvers()/elections() {
					enough = false
					disturb(e, pods[i], n)
				}
			}
			if enough {
				break
			}
			time.Sleep(rand.N(3 * longestDelay())) //nolint:forbidigo // a delay, not a condition
		}
		calm.Store(true)
		late.Wait()
		for i, e := range all {
			for _, p := range pods[i] {
				SetPodReady(p, true)
			}
			Poke(e)
			Eventually(func(g Gomega) {
				g.Expect(Ready(e)()).To(Equal("True Ready"))
				g.Expect(Reload(e)).To(Succeed())
				g.Expect(e.Status.Leader).NotTo(BeNil())
				g.Expect(labelled(e.Namespace)()).To(Equal([]string{e.Status.Leader.Pod}))
				l := leaseOf(e)
				g.Expect(Reload(l)).To(Succeed())
				g.Expect(l.Spec.HolderIdentity).NotTo(BeNil())
				g.Expect(*l.Spec.HolderIdentity).To(Equal(e.Status.Leader.Pod + "/" + string(e.Status.Leader.UID)))
				g.Expect(int64(*l.Spec.LeaseTransitions)).To(Equal(e.Status.Epoch))
			}).Should(Succeed())
			changes, events := checkers[i].state()
			checkers[i].sound()
			AddReportEntry("hand-overs", fmt.Sprintf("%d, %d events", changes, events))
		}
	})
})
