// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/acme/platform-operator/internal/testenv/limit"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// The heap may grow by a tenth of what comes: what is kept of a Secret that is not the operator's does not depend on its size.
const (
	unrelated     = 2000
	unrelatedSize = 100 << 10
	maxGrowth     = unrelated * unrelatedSize / 10
)

// describeBounded has G8 and G14, each spec of which fills a control plane of its own: in order, so that there is one at a time, but
// for the flood, which takes as long as all others together.
func describeBounded(all []*kind) {
	Describe("With much in the cluster", Ordered, ContinueOnFailure, Label(limit.Slow, limit.Timed), func() {
		BeforeEach(OwnPlane)
		describeMemory(keepers("G8", all))
		describeLarge()
	})
	Describe("With a flood in the cluster", Label(limit.Slow, limit.Timed), func() {
		BeforeEach(OwnPlane)
		describeFlood(keepers("G14", all))
		describeFilled(keepers("G14", all))
	})
}

// describeMemory has G8.
func describeMemory(all []*kind) {
	It("G8: needs no memory for what is not its own", labels("G8", all), func(ctx context.Context) {
		op := start()
		for _, k := range all {
			k.several(1, "g8")
		}
		before := heap()
		createSecrets(ctx)
		Expect(growth(before)).To(BeNumerically("<", maxGrowth), "while Secrets come")
		op.Restart()
		for _, k := range all {
			k.several(1, "g8")
		}
		Expect(growth(before)).To(BeNumerically("<", maxGrowth), "started with Secrets there")
	})
}

// labels are those of a spec that is for all kinds at once: a run of one kind has it, too.
func labels(g string, all []*kind, more ...string) Labels {
	l := append(Labels{g}, more...)
	for _, k := range all {
		l = append(l, k.name)
	}
	return l
}

func heap() uint64 {
	for range 3 { // what finalizers and pools hold goes with a later collection
		runtime.GC()
	}
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func growth(before uint64) int64 {
	g := int64(heap()) - int64(before)
	AddReportEntry("growth of the heap", fmt.Sprintf("%.1f MiB", float64(g)/(1<<20)))
	return g
}

const crowded = "g8-crowded"

// clientset speaks the protocol of protocol buffers, which carries bytes as they are.
func clientset() kubernetes.Interface {
	GinkgoHelper()
	config := rest.CopyConfig(Plane.Config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	cs, err := kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	return cs
}

func createSecrets(ctx context.Context) {
	GinkgoHelper()
	cs := clientset()
	Create(namespaceNamed(crowded))
	data := map[string][]byte{"data": make([]byte, unrelatedSize)}
	var g errgroup.Group
	g.SetLimit(8)
	for i := range unrelated {
		g.Go(func() error {
			s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("unrelated-%d", i)}, Data: data}
			_, err := cs.CoreV1().Secrets(crowded).Create(ctx, s, metav1.CreateOptions{})
			return err
		})
	}
	Expect(g.Wait()).To(Succeed())
}
