// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/acme/platform-operator/internal/views/access"
	"github.com/acme/platform-operator/internal/views/source"
)

const (
	checkInterval = time.Minute
	// checkDelay is how long a difference must last to count: the API server's own caches lag too.
	checkDelay = 5 * time.Second
	// recentUsers is from how many recent users one is picked.
	recentUsers = 64
)

var (
	mismatches = metrics.NewCounter(&metrics.CounterOpts{
		Namespace: "platform_operator", Subsystem: "views", Name: "mismatches_total", StabilityLevel: metrics.ALPHA,
		Help: "Answers about who may get a Namespace that differ from a SubjectAccessReview. Reasons are another authorizer than RBAC, and " +
			"RoleBindings with more subjects than count.",
	})
	checks = metrics.NewCounter(&metrics.CounterOpts{
		Namespace: "platform_operator", Subsystem: "views", Name: "checks_total", StabilityLevel: metrics.ALPHA,
		Help: "Answers about who may get a Namespace that were compared with a SubjectAccessReview.",
	})
	registerMetrics = sync.OnceFunc(func() { legacyregistry.MustRegister(mismatches, checks) })
)

// selfCheck compares answers with those of the API server, once a minute.
type selfCheck struct {
	source  *source.Source
	reviews authorizationclient.SubjectAccessReviewInterface
	clock   clock.WithTicker

	mu     sync.Mutex
	recent []access.User
}

func newSelfCheck(s *source.Source, reviews authorizationclient.SubjectAccessReviewInterface, c clock.WithTicker) *selfCheck {
	registerMetrics()
	return &selfCheck{source: s, reviews: reviews, clock: c}
}

// observe records a user who asks.
func (s *selfCheck) observe(u access.User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.recent) < recentUsers {
		s.recent = append(s.recent, u)
		return
	}
	s.recent[rand.IntN(recentUsers)] = u //nolint:gosec // which one is of no importance
}

func (s *selfCheck) run(ctx context.Context) {
	ticker := s.clock.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			s.once(ctx)
		}
	}
}

// once compares one namespace that a user is shown, and one that is hidden.
func (s *selfCheck) once(ctx context.Context) {
	s.mu.Lock()
	users := s.recent
	s.recent = nil
	s.mu.Unlock()
	now := s.source.Now()
	if len(users) == 0 || now == nil {
		return
	}
	u := users[rand.IntN(len(users))] //nolint:gosec // any will do
	shown, hidden := now.Sample(u)
	for _, namespace := range []string{shown, hidden} {
		if namespace == "" {
			continue
		}
		checks.Inc()
		if s.differs(ctx, u, namespace) && s.wait(ctx) && s.differs(ctx, u, namespace) {
			mismatches.Inc()
			klog.InfoS("A SubjectAccessReview about a Namespace differs from the views, so users may see too many or too few; look for another " +
				"authorizer than RBAC, and for RoleBindings with more subjects than count (docs/views.md, Limits)")
		}
	}
}

func (s *selfCheck) wait(ctx context.Context) bool {
	timer := s.clock.NewTimer(checkDelay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}

// differs asks the API server. No answer is no difference.
func (s *selfCheck) differs(ctx context.Context, u access.User, namespace string) bool {
	review, err := s.reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: u.Name, Groups: u.Groups,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "get", Version: "v1", Resource: "namespaces", Name: namespace},
	}}, metav1.CreateOptions{})
	return err == nil && review.Status.Allowed != s.source.Now().May(u, namespace).Get
}
