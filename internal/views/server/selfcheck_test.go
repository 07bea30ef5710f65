// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-base/metrics/legacyregistry"
	clocktesting "k8s.io/utils/clock/testing"

	. "github.com/acme/platform-operator/internal/testenv/suite"
	"github.com/acme/platform-operator/internal/views/access"
)

func valueOf(c interface{ Write(*dto.Metric) error }) float64 {
	GinkgoHelper()
	m := &dto.Metric{}
	Expect(c.Write(m)).To(Succeed())
	return m.GetCounter().GetValue()
}

// A difference is no reason to look at other authorizers only.
func TestAMismatchHasSeveralReasons(t *testing.T) {
	registerMetrics()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "platform_operator_views_mismatches_total" {
			continue
		}
		for _, reason := range []string{"another authorizer than RBAC", "RoleBindings"} {
			if !strings.Contains(f.GetHelp(), reason) {
				t.Errorf("%q does not name %q", f.GetHelp(), reason)
			}
		}
		return
	}
	t.Error("there is no such metric")
}

var _ = Describe("The self-check", func() {
	DescribeTable("counts what differs from the API server for five seconds",
		func(answer func(review int, truth bool) (bool, error), reviews int, counted float64) {
			mine := Namespace()
			Namespace() // which is hidden
			name, sam := newUser()
			grant(mine, "view", user(name))
			Eventually(namesOf(sam)).Should(Equal([]string{mine}))
			who := access.NewUser(name, []string{"system:authenticated"})
			Eventually(func() bool { return one.source.Now().May(who, mine).Get }).Should(BeTrue())

			asked := map[string]int{}
			api := fake.NewClientset()
			api.PrependReactor("create", "subjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
				review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
				Expect(review.Spec.User).To(Equal(name))
				about := review.Spec.ResourceAttributes
				Expect(about.Verb + " " + about.Resource).To(Equal("get namespaces"))
				asked[about.Name]++
				var err error
				review.Status.Allowed, err = answer(asked[about.Name], about.Name == mine)
				return true, review, err
			})
			now := clocktesting.NewFakeClock(time.Unix(1e9, 0))
			check := newSelfCheck(one.source, api.AuthorizationV1().SubjectAccessReviews(), now)
			check.observe(who)
			before := valueOf(mismatches)
			ended := make(chan struct{})
			go func() {
				defer GinkgoRecover()
				defer close(ended)
				check.once(ctx)
			}()
			Eventually(func() bool {
				if now.HasWaiters() {
					now.Step(checkDelay)
				}
				select {
				case <-ended:
					return true
				default:
					return false
				}
			}).Should(BeTrue())
			Expect(asked).To(HaveLen(2), "one that is shown, and one that is hidden")
			Expect(asked).To(HaveEach(reviews))
			Expect(asked).To(HaveKeyWithValue(mine, reviews))
			Expect(valueOf(mismatches) - before).To(Equal(counted))
			check.once(ctx) // nobody has asked since
			Expect(asked).To(HaveEach(reviews))
		},
		Entry("the same answer", func(_ int, truth bool) (bool, error) { return truth, nil }, 1, 0.0),
		Entry("another answer", func(_ int, truth bool) (bool, error) { return !truth, nil }, 2, 2.0),
		Entry("another answer for a moment", func(review int, truth bool) (bool, error) { return truth == (review > 1), nil }, 2, 0.0),
		Entry("no answer", func(_ int, truth bool) (bool, error) { return !truth, errors.New("connection refused") }, 1, 0.0),
	)

	It("knows who has asked", func() {
		name, sam := newUser()
		DeferCleanup(func() { proxy.to(one, two) })
		proxy.to(one)
		Eventually(func(g Gomega) []string { // it forgets users when it runs
			namesOf(sam)(g)
			one.check.mu.Lock()
			defer one.check.mu.Unlock()
			var known []string
			for _, u := range one.check.recent {
				known = append(known, u.Name)
			}
			return known
		}).Should(ContainElement(name))
	})

	It("runs each minute", func() {
		name, sam := newUser()
		mine := Namespace()
		grant(mine, "view", user(name))
		Eventually(namesOf(sam)).Should(Equal([]string{mine}))
		who := access.NewUser(name, []string{"system:authenticated"})
		Eventually(func() bool { return one.source.Now().May(who, mine).Get }).Should(BeTrue())
		var reviews atomic.Int64
		api := fake.NewClientset()
		api.PrependReactor("create", "subjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
			reviews.Add(1)
			review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
			review.Status.Allowed = one.source.Now().May(who, review.Spec.ResourceAttributes.Name).Get
			return true, review, nil
		})
		now := clocktesting.NewFakeClock(time.Unix(1e9, 0))
		check := newSelfCheck(one.source, api.AuthorizationV1().SubjectAccessReviews(), now)
		running, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			check.run(running)
		}()
		Eventually(now.HasWaiters).Should(BeTrue())
		for minute := range int64(3) {
			check.observe(who)
			now.Step(checkInterval - time.Nanosecond)
			Consistently(reviews.Load).Should(Equal(2*minute), "before the minute is over")
			now.Step(time.Nanosecond)
			Eventually(reviews.Load).Should(Equal(2*(minute+1)), "one namespace that is shown, and one that is hidden")
		}
		stop()
		Eventually(ended).Should(BeClosed())
	})
})
