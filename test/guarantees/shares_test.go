// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"cmp"
	"fmt"
	"strconv"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/operator"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// workers are those of each kind in the specs of G16: so many that one namespace may have one of them.
const workers = 4

// describeShares has G16: an object is looked at after at most as many runs of others as there are tenants with something to do,
// however much that is and however long their runs take. Those of others end when the spec lets them, so that it counts them.
func describeShares(k *kind) {
	It("G16: is looked at in its turn, however much other tenants have to do", Label("G16"), func() {
		g := &gate{controller: k.controller, open: make(chan struct{}), held: map[string]int{}}
		op := startWith(withWorkers(configuration()), func(o *operator.Options) {
			counted := o.Ran
			o.Ran = func(controller string, key client.ObjectKey, version string) {
				counted(controller, key, version)
				g.ran(controller, key, version)
			}
		})
		mine := k.several(1, "g16-mine", k.briefly)[0]
		var others []engine.Object
		for i := range workers {
			tenant := unique("g16-tenant")
			for range max(2, workers+1-i*workers) { // the first one has enough to do for all workers
				others = append(others, k.makeIn(tenant))
			}
		}
		alone(op)
		idle := k.waiting()
		DeferCleanup(g.close(mine))

		if k.namespaced { // each cluster-scoped object is a tenant of its own
			first := others[:workers+1]
			touch(first...)
			Eventually(func() int { return g.holds(first[0]) }).Should(Equal(1))
			op.AwaitLook(mine)
			Expect(g.holds(first[0])).To(Equal(1), "runs of one tenant at once")
		}
		touch(others...)
		Eventually(func() int { return g.holds(others...) }).Should(Equal(workers))
		touch(others...) // also those whose runs are held
		all := idle + float64(len(others))
		Eventually(k.waiting).Should(Equal(all))
		touch(mine)
		Eventually(k.waiting).Should(Equal(all + 1))
		passed := 0
		for g.next(mine) {
			passed++
			Expect(passed).To(BeNumerically("<=", g.tenants()), "so many runs of others have begun meanwhile")
		}
		AddReportEntry("runs of others before", fmt.Sprintf("%d, %d tenants", passed, g.tenants()))
	})
}

// makeIn makes one more object, of a tenant.
func (k *kind) makeIn(tenant string) engine.Object {
	GinkgoHelper()
	o := k.object(unique(tenant))
	if k.namespaced {
		o.SetNamespace(tenant)
	}
	k.briefly(o)
	k.surround(o)
	Create(o)
	discardLater(o)
	return o
}

// waiting is how many objects of the kind wait for a run, also those that have one and change meanwhile.
func (k *kind) waiting() float64 { return Metric("workqueue_depth", k.controller) }

func touch(all ...engine.Object) {
	GinkgoHelper()
	for _, o := range all {
		Poke(o)
	}
}

// withWorkers sets how many objects of each kind are worked on at once.
func withWorkers(sections string) string {
	GinkgoHelper()
	all := map[string]map[string]any{}
	Expect(yaml.Unmarshal([]byte(sections), &all)).To(Succeed())
	for _, section := range all {
		section["maxConcurrentReconciles"] = workers
	}
	text, err := yaml.Marshal(all)
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// gate holds the runs of a kind at their end while it is closed, all but those of one object.
type gate struct {
	controller string
	open       chan struct{} // lets one run go

	mu     sync.Mutex
	closed bool
	mine   client.ObjectKey
	held   map[string]int // by tenant
	begun  int            // that were held
	looked uint64         // the newest version of mine that a run began with
}

// ran is for operator.Options.
func (g *gate) ran(controller string, key client.ObjectKey, version string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !g.closed || controller != g.controller:
	case key == g.mine:
		n, _ := strconv.ParseUint(version, 10, 64) // of an API server they are numbers
		g.looked = max(g.looked, n)
	default:
		tenant := cmp.Or(key.Namespace, key.Name)
		g.held[tenant]++
		g.begun++
		g.mu.Unlock()
		<-g.open
		g.mu.Lock()
		g.held[tenant]--
	}
}

// close closes the gate for all runs but those of one object, and returns what opens it for ever.
func (g *gate) close(mine client.Object) (open func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed, g.mine = true, client.ObjectKeyFromObject(mine)
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.closed = false
		close(g.open)
	}
}

// holds is how many runs of the tenants of some objects are held.
func (g *gate) holds(of ...engine.Object) (sum int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	tenants := map[string]bool{}
	for _, o := range of {
		tenants[cmp.Or(o.GetNamespace(), o.GetName())] = true
	}
	for tenant := range tenants {
		sum += g.held[tenant]
	}
	return sum
}

// tenants is how many tenants had something to do.
func (g *gate) tenants() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.held)
}

// next lets one run go, and waits for the next one: it reports whether that is another tenant's.
func (g *gate) next(mine client.Object) (others bool) {
	GinkgoHelper()
	version, err := strconv.ParseUint(mine.GetResourceVersion(), 10, 64)
	Expect(err).NotTo(HaveOccurred())
	g.mu.Lock()
	begun := g.begun
	g.mu.Unlock()
	g.open <- struct{}{}
	Eventually(func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		looked := g.looked >= version // which the next run of others follows at once
		others = !looked
		return looked || g.begun > begun
	}).Should(BeTrue(), "no run follows")
	return others
}
