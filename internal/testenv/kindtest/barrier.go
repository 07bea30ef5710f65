// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kindtest

import (
	"strconv"
	"strings"
	"sync"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/suite"
)

// looks are the runs of an operator that have ended. The zero value is ready.
type looks struct {
	mu  sync.Mutex
	all map[look]seen
}

// look is an object that runs are about, by the name of its controller.
type look struct {
	controller string
	key        client.ObjectKey
}

// seen is how often an object was looked at, and the newest version of it.
type seen struct {
	runs    int
	version uint64
}

// ran is for operator.Options.
func (l *looks) ran(controller string, key client.ObjectKey, resourceVersion string) {
	version, _ := strconv.ParseUint(resourceVersion, 10, 64) // of an API server they are numbers
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[look]seen{}
	}
	s := l.all[look{controller, key}]
	l.all[look{controller, key}] = seen{s.runs + 1, max(s.version, version)}
}

// of is what there was of an object's runs.
func (l *looks) of(o client.Object) seen {
	ginkgo.GinkgoHelper()
	gvk, err := apiutil.GVKForObject(o, operator.Scheme())
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	controller := strings.ToLower(gvk.Kind)
	if gvk.Group == "" { // which asks by an annotation
		controller += "-annotation"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[look{controller, client.ObjectKeyFromObject(o)}]
}

// Runs is how many runs of an object have ended since the first start of the operator.
func (o *Operator) Runs(of client.Object) int {
	ginkgo.GinkgoHelper()
	return o.looks.of(of).runs
}

// AwaitLook pokes some objects, and waits until the operator has ended a run of each that has seen that.
func (o *Operator) AwaitLook(objects ...engine.Object) {
	ginkgo.GinkgoHelper()
	for _, x := range objects {
		suite.Poke(x)
	}
	for _, x := range objects {
		version, err := strconv.ParseUint(x.GetResourceVersion(), 10, 64)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		gomega.Eventually(func() uint64 { return o.looks.of(x).version }).Should(gomega.BeNumerically(">=", version), "%s is not looked at", x.GetName())
	}
}

// Quiet gives what the operator writes for some objects while it looks at each of them twice: what it has seen of others'
// objects by the first look, whose watches are none of the object's, it has acted on by the second. The objects change by that:
// they carry another annotation.
func (o *Operator) Quiet(objects ...engine.Object) []testenv.Write {
	ginkgo.GinkgoHelper()
	before := len(o.Wire.Writes())
	o.AwaitLook(objects...)
	o.AwaitLook(objects...)
	var writes []testenv.Write
	for _, w := range o.Wire.Writes()[before:] {
		for _, x := range objects {
			if w.For(x.GetName()) {
				writes = append(writes, w)
				break
			}
		}
	}
	return writes
}
