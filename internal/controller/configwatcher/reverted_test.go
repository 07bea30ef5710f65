// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package configwatcher_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/operator"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("An owner that takes the mark off", func() {
	It("is reported, however fast it is", func() {
		StartOperator()
		ns := Namespace()
		cm := Create(configMap(ns, "config", "k", "v"))
		d := Create(deployment(ns, "d", "web"))
		w := watching(watcher(ns, "w", "web"))
		watcher, err := client.NewWithWatch(Plane.Config, client.Options{Scheme: operator.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		changes, err := watcher.Watch(ctx, &appsv1.DeploymentList{}, client.InNamespace(ns))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(changes.Stop)
		reverts := make(chan error, 1)
		go func() { reverts <- revert(changes) }()
		set(cm, "k", "w")
		Eventually(reverts).Should(Receive(BeNil()))
		Eventually(Condition(w, "UpToDate")).Should(Equal("False RestartReverted"))
		Expect(marks(d)).To(BeEmpty())
		Expect(restarts(w)()).To(Equal(int64(1)))
	})
})

// revert takes the first mark that it sees off at once.
func revert(changes watch.Interface) error {
	for event := range changes.ResultChan() {
		if d, ok := event.Object.(*appsv1.Deployment); ok && len(d.Spec.Template.Annotations) > 0 {
			d.Spec.Template.Annotations = nil
			return Admin.Update(ctx, d)
		}
	}
	return nil
}
