// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"math"
	"net/http"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	. "github.com/acme/platform-operator/internal/testenv/suite"
)

const (
	// longest is the most seconds that a time.Duration can be.
	longest = math.MaxInt64 / int64(time.Second)
	// maxWatchesOfBoth times the four kinds is more than the watches that one user may have at both replicas.
	maxWatchesOfBoth = 60
)

// That a watch without any time ends within twelve minutes is a test of the storage (TestWatchesEnd).
var _ = Describe("The timeoutSeconds of a watch", func() {
	It("may be large: the watch is served, and no longer than others", func() {
		mine := Namespace()
		name, sam := newUser()
		s := mustWatch(sam, metav1.ListOptions{TimeoutSeconds: ptr.To(longest)})
		s.silent()
		grant(mine, "view", user(name))
		s.expect(watch.Added, mine)
	})

	It("may be negative, or more than a time can be: the watch ends at once, and gives its place back", func() {
		_, sam := newUser()
		for range maxWatchesOfBoth {
			for _, seconds := range []int64{-1, -longest, math.MaxInt64, longest + 1} {
				s := mustWatch(sam, metav1.ListOptions{TimeoutSeconds: ptr.To(seconds)})
				Eventually(s.ResultChan()).WithTimeout(soon).WithPolling(time.Millisecond).Should(BeClosed(), strconv.FormatInt(seconds, 10))
			}
		}
		mustWatch(sam, metav1.ListOptions{}).silent()
	})

	It("is rejected if it is no number", func() {
		_, sam := newUser()
		for _, text := range []string{"99999999999999999999", "1e9", "10m", "0x10"} {
			err := views(sam).Get().Resource("mynamespaces").Param("watch", "1").Param("timeoutSeconds", text).Do(ctx).Error()
			Expect(statusOf(err)).To(Equal(http.StatusBadRequest), "%s: %v", text, err)
		}
	})
})

func isTooLarge(err error) bool {
	return apierrors.IsTimeout(err) && apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}
