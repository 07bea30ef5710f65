// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// What makes a list fail.
const (
	byAPIServer  = "the API server is not reached"
	byAggregator = "the API server does not reach a replica"
	byCut        = "the API server has lost a replica in the middle of its answer"
	byViews      = "a replica says so"
)

// blame says what made a list fail. What the aggregator says is plain text, and what replicas say a Status with a message of their own.
func blame(err error) string {
	connection, status := (*url.Error)(nil), (*apierrors.StatusError)(nil)
	switch {
	case errors.As(err, &connection) && strings.Contains(err.Error(), "stream error"):
		return byCut
	case errors.As(err, &connection):
		return byAPIServer
	case errors.As(err, &status) && status.ErrStatus.Details != nil && slices.ContainsFunc(status.ErrStatus.Details.Causes, isAggregators):
		return byAggregator
	}
	return byViews
}

func isAggregators(c metav1.StatusCause) bool {
	return c.Type == metav1.CauseTypeUnexpectedServerResponse &&
		(strings.HasPrefix(c.Message, "error trying to reach service") || strings.TrimSpace(c.Message) == "service unavailable")
}

// lists has users list until the end, and counts what fails, and what is wrong.
type lists struct {
	sync.WaitGroup
	ended    atomic.Bool
	answered atomic.Int64

	mu     sync.Mutex
	failed map[string]int
	texts  map[string]string
}

func startLists(n int) *lists {
	GinkgoHelper()
	l := &lists{failed: map[string]int{}, texts: map[string]string{}}
	for range n {
		mine := Namespace()
		name, sam := newUser()
		sam.QPS = -1
		grant(mine, "view", user(name))
		Eventually(namesOf(sam)).Should(Equal([]string{mine}))
		l.Go(func() {
			for !l.ended.Load() {
				list, err := myNamespaces(sam)
				if err == nil && (len(list.Items) != 1 || list.Items[0].Name != mine) {
					err = fmt.Errorf("%d rows, which are not those of the user", len(list.Items))
				}
				l.count(err)
			}
		})
	}
	return l
}

func (l *lists) count(err error) {
	if err == nil {
		l.answered.Add(1)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed[blame(err)]++
	l.texts[err.Error()] = blame(err)
}

// continues waits until more lists are answered.
func (l *lists) continues() {
	GinkgoHelper()
	before := l.answered.Load()
	Eventually(l.answered.Load).Should(BeNumerically(">", before+50))
}

// end gives how many failed, by what made them fail.
func (l *lists) end(what string) map[string]int {
	l.ended.Store(true)
	l.Wait()
	AddReportEntry(what, fmt.Sprintf("%d answered, failed: %v %v", l.answered.Load(), l.failed, l.texts))
	return l.failed
}

// deleting begins to delete a Namespace with content, and gives a function that waits until it is gone (V9).
func deleting() (gone func()) {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace()}}
	Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "content"}})
	Remove(namespace)
	return func() {
		GinkgoHelper()
		Eventually(Gone(namespace)).Should(Succeed())
	}
}

var _ = Describe("Lists", func() {
	const times = 6

	It("are all answered, and namespaces are deleted, while replicas are replaced as in a rollout", func() {
		var gone []func()
		l := startLists(4)
		for range times {
			l.continues()
			gone = append(gone, deleting())
			old := one
			one, two = two, startReplica()
			proxy.redirect(one, two)
			old.stop()
		}
		Expect(l.end("a rollout")).To(BeEmpty())
		for _, wait := range gone {
			wait()
		}
	})

	It("fail only because the API server does not reach a replica, and namespaces are deleted, while replicas are killed", func() {
		var gone []func()
		l := startLists(4)
		for range times {
			l.continues()
			gone = append(gone, deleting())
			proxy.switchTo(two)
			one.stop()
			one, two = two, startReplica()
			proxy.switchTo(one, two)
		}
		failed := l.end("kills")
		Expect(failed).NotTo(Or(HaveKey(byViews), HaveKey(byAPIServer)), "%v", l.texts)
		for _, wait := range gone {
			wait()
		}
	})
})
