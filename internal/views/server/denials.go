// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/utils/clock"

	"github.com/acme/platform-operator/internal/views/places"
	"github.com/acme/platform-operator/internal/views/storage"
)

const (
	// denialCache is how long a denial holds. An API server that starts denies what it allows as soon as it has read RBAC: a denial that is
	// kept for longer outlasts that.
	denialCache = time.Second
	// maxWaiting is how many requests may wait for a review, and maxWaitingOfOne how many of one user: as many as the watches and requests
	// that one user may have.
	maxWaiting      = storage.MaxWatches + maxArrived
	maxWaitingOfOne = 120
	// deniedOfOne is how many reviews of one user may end in a denial within denialCache, and how many may be asked for at once. Users who
	// come by way of kube-apiserver may do what they ask; a user who may do nothing could have each of many paths reviewed.
	deniedOfOne = 20
	// maxDenials is how many requests, and how many users, are remembered.
	maxDenials = 4096
	// maxName is how long the name of a row can be: that of a namespace, or of a tenant.
	maxName = validation.DNS1123SubdomainMaxLength

	tooMany = "many of your requests were denied within a second, or wait for a review; send only those that you may, and try again"
)

// denials asks another authorizer, and remembers for a short time what it did not allow. What it allowed is for the other to remember.
type denials struct {
	authorizer.Authorizer

	requests *cache.LRUExpireCache // the answer's reason, by request
	waiting  *places.Places
	asked    *places.Places
	// asking is what is being reviewed, by request: many that ask the same, such as the watches of a client that starts, take one review.
	asking singleflight.Group

	mu    sync.Mutex
	users *cache.LRUExpireCache // a count of denials, by the user's name
}

func newDenials(next authorizer.Authorizer, c clock.PassiveClock) *denials {
	return &denials{
		Authorizer: next, requests: cache.NewLRUExpireCacheWithClock(maxDenials, c), users: cache.NewLRUExpireCacheWithClock(maxDenials, c),
		waiting: places.New(maxWaiting, maxWaitingOfOne), asked: places.New(maxWaiting, deniedOfOne),
	}
}

// Authorize reviews the right to all rows first, and the right to the row that is named only if there is none: a user may name rows at
// will, and each review is remembered.
func (d *denials) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	free, ok := d.waiting.Take(a.GetUser().GetName(), 1)
	if !ok {
		return authorizer.DecisionNoOpinion, tooMany, nil
	}
	defer free()
	decision, reason, err := d.review(ctx, bare(a, ""))
	if name := a.GetName(); err == nil && decision != authorizer.DecisionAllow && name != "" && len(name) <= maxName {
		return d.review(ctx, bare(a, name))
	}
	return decision, reason, err
}

// bare is a request without selectors, which only narrow a right, and without a path if it has a resource.
func bare(a authorizer.Attributes, name string) authorizer.AttributesRecord {
	b := authorizer.AttributesRecord{
		User: a.GetUser(), Verb: a.GetVerb(), APIGroup: a.GetAPIGroup(), APIVersion: a.GetAPIVersion(), Resource: a.GetResource(),
		Subresource: a.GetSubresource(), Namespace: a.GetNamespace(), Name: name, ResourceRequest: a.IsResourceRequest(),
	}
	if !b.ResourceRequest {
		b.Path = a.GetPath()
	}
	return b
}

// answer is one of the other authorizer.
type answer struct {
	decision authorizer.Decision
	reason   string
}

// review denies again what was denied a short time ago. Requests for the same share a review, which the end of one of them does not end.
func (d *denials) review(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	request := requestOf(a)
	if reason, ok := d.requests.Get(request); ok {
		return authorizer.DecisionNoOpinion, reason.(string), nil
	}
	result, err, _ := d.asking.Do(string(request[:]), func() (any, error) {
		shared, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		defer cancel()
		return d.ask(shared, a, request)
	})
	got := result.(answer)
	return got.decision, got.reason, err
}

// ask asks the other authorizer, unless the user had too many requests denied, or too many are being asked for. Each counts as denied
// until it is allowed: those that are asked for at once are bounded, too.
func (d *denials) ask(ctx context.Context, a authorizer.Attributes, request [sha256.Size]byte) (answer, error) {
	name := a.GetUser().GetName()
	free, ok := d.asked.Take(name, 1)
	if !ok {
		return answer{authorizer.DecisionNoOpinion, tooMany}, nil
	}
	defer free()
	denied := d.count(name)
	if denied.Add(1) > deniedOfOne {
		denied.Add(-1)
		return answer{authorizer.DecisionNoOpinion, tooMany}, nil
	}
	decision, reason, err := d.Authorizer.Authorize(ctx, a)
	if err != nil || decision == authorizer.DecisionAllow {
		denied.Add(-1)
	} else {
		d.requests.Add(request, reason, denialCache)
	}
	return answer{decision, reason}, err
}

// ConditionsAwareAuthorize is the same: there are no conditions.
func (d *denials) ConditionsAwareAuthorize(ctx context.Context, a authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(d.Authorize(ctx, a))
}

// count is how many requests of a user were denied since the first one within denialCache.
func (d *denials) count(name string) *atomic.Int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n, ok := d.users.Get(name); ok {
		return n.(*atomic.Int64)
	}
	n := &atomic.Int64{}
	d.users.Add(name, n, denialCache)
	return n
}

// requestOf is a key for who asks for what.
func requestOf(a authorizer.Attributes) [sha256.Size]byte {
	u := a.GetUser()
	return sha256.Sum256(fmt.Appendf(nil, "%q", []any{
		u.GetName(), u.GetUID(), u.GetGroups(), u.GetExtra(), a.GetVerb(), a.GetAPIGroup(), a.GetAPIVersion(), a.GetResource(), a.GetSubresource(),
		a.GetNamespace(), a.GetName(), a.GetPath(),
	}))
}
