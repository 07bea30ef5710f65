// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storage answers requests for the views: lists, single rows and watches. There is one implementation for all of them; a
// View contains what differs.
package storage

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"

	"github.com/acme/platform-operator/api/views/v1alpha1"
	"github.com/acme/platform-operator/internal/views/access"
	"github.com/acme/platform-operator/internal/views/places"
	"github.com/acme/platform-operator/internal/views/rows"
	"github.com/acme/platform-operator/internal/views/source"
)

// patience is how long a request waits until this replica has read as far as another one.
const patience = 3 * time.Second

const (
	// MaxWatches is how many watches a replica serves at once, and maxWatchesOfOne how many of them one user may have.
	MaxWatches      = 1000
	maxWatchesOfOne = 100
	// maxWatchedRows is how many rows the clients of all watches know, and maxWatchedRowsOfOne those of one user: each takes 100 bytes,
	// and where many may get all namespaces, all watches together would take more than a replica has.
	maxWatchedRows      = 1_000_000
	maxWatchedRowsOfOne = 200_000
	// maxWaits is how many requests wait at once for what another replica has read, and maxWaitsOfOne how many of one user: anybody
	// can ask for a version that never comes, and requests that wait keep out others.
	maxWaits      = 20
	maxWaitsOfOne = 5
)

// Reader gives the newest snapshot.
type Reader interface {
	// Now is nil before there is one.
	Now() *source.Snapshot
	// Check fails before there is one, and while it may be out of date.
	Check() error
}

// Observer learns which rows users were shown. It must not block.
type Observer func(access.User)

// Shared is what the storages of all views have in common.
type Shared struct {
	Reader  Reader
	Clock   clock.WithTicker
	Observe Observer

	sent *sentAnswers

	watches, watchedRows, waits *places.Places
}

// NewShared makes what storages share.
func NewShared(r Reader, c clock.WithTicker, observe Observer) *Shared {
	return &Shared{
		Reader: r, Clock: c, Observe: observe, sent: newSentAnswers(maxSentRows),
		watches: places.New(MaxWatches, maxWatchesOfOne), watchedRows: places.New(maxWatchedRows, maxWatchedRowsOfOne),
		waits: places.New(maxWaits, maxWaitsOfOne),
	}
}

// Storage serves one view.
type Storage struct {
	*Shared
	view View
}

var (
	_ rest.Storage              = &Storage{}
	_ rest.Lister               = &Storage{}
	_ rest.Getter               = &Storage{}
	_ rest.Watcher              = &Storage{}
	_ rest.Scoper               = &Storage{}
	_ rest.SingularNameProvider = &Storage{}
	_ rest.ShortNamesProvider   = &Storage{}
)

// New makes the storage of a view.
func New(s *Shared, v View) *Storage { return &Storage{Shared: s, view: v} }

// New gives an empty object.
func (s *Storage) New() runtime.Object { return s.view.object() }

// NewList gives an empty list.
func (s *Storage) NewList() runtime.Object { return s.view.list(nil) }

// Destroy does nothing: there is nothing to close.
func (s *Storage) Destroy() {}

// NamespaceScoped is false for all views.
func (s *Storage) NamespaceScoped() bool { return false }

// GetSingularName is the name of one object.
func (s *Storage) GetSingularName() string { return s.view.Singular }

// ShortNames are other names of the resource.
func (s *Storage) ShortNames() []string { return []string{s.view.ShortName} }

// ConvertToTable makes what kubectl prints.
func (s *Storage) ConvertToTable(_ context.Context, o runtime.Object, options runtime.Object) (*metav1.Table, error) {
	return s.view.table(o, options)
}

// Get gives one row. A row that the user may not see does not exist for the user.
func (s *Storage) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	u, err := s.user(ctx)
	if err != nil {
		return nil, err
	}
	now, err := s.notOlderThan(ctx, u, options.ResourceVersion)
	if err != nil {
		return nil, err
	}
	row, ok := s.view.row(now, u, name)
	if !ok {
		return nil, apierrors.NewNotFound(s.resource(), name)
	}
	return row.Object, nil
}

// List gives all rows that the user may see and that match. It ignores a limit, as servers may.
func (s *Storage) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	u, err := s.user(ctx)
	if err != nil {
		return nil, err
	}
	if options.Continue != "" {
		return nil, apierrors.NewResourceExpired("lists of views have no continuations; list again without one")
	}
	m, err := matcherOf(options)
	if err != nil {
		return nil, err
	}
	exact := options.ResourceVersionMatch == metav1.ResourceVersionMatchExact
	now, err := s.listed(ctx, u, options.ResourceVersion, exact)
	if err != nil {
		return nil, err
	}
	all := s.view.all(now, u)
	version := rows.Version{Horizon: now.Horizon, Fingerprint: s.fingerprint(all)}
	if exact {
		if wanted, _ := rows.ParseVersion(options.ResourceVersion); wanted.Fingerprint != version.Fingerprint {
			return nil, expired()
		}
		version, _ = rows.ParseVersion(options.ResourceVersion)
	}
	s.sent.put(s.identity(u, version.Fingerprint), sentRowsOf(all))
	matching := make([]rows.Row, 0, len(all))
	for _, r := range all {
		if m.matches(r.GetName(), r.GetLabels()) {
			matching = append(matching, r)
		}
	}
	l := s.view.list(matching)
	l.SetResourceVersion(version.String())
	return l, nil
}

// listed is the snapshot for a list. An exact version may be older than this replica's.
func (s *Storage) listed(ctx context.Context, u access.User, version string, exact bool) (*source.Snapshot, error) {
	if exact && (version == "" || version == "0") {
		return nil, apierrors.NewBadRequest("resourceVersionMatch Exact needs a resourceVersion that a list has returned")
	}
	return s.notOlderThan(ctx, u, version)
}

// user is who asks. Nobody gets an answer before all has been read, or from what may be out of date: API servers keep their
// connections to a replica that is no longer ready.
func (s *Storage) user(ctx context.Context) (access.User, error) {
	info, ok := request.UserFrom(ctx)
	if !ok {
		return access.User{}, apierrors.NewUnauthorized("the request has no user")
	}
	if err := s.Reader.Check(); err != nil {
		return access.User{}, apierrors.NewServiceUnavailable(err.Error())
	}
	u := access.NewUser(info.GetName(), info.GetGroups())
	if s.Observe != nil {
		s.Observe(u)
	}
	return u, nil
}

// notOlderThan is the newest snapshot, once it has what the given version has.
func (s *Storage) notOlderThan(ctx context.Context, u access.User, text string) (*source.Snapshot, error) {
	if text == "" || text == "0" {
		return s.Reader.Now(), nil
	}
	v, err := parse(text)
	if err != nil {
		return nil, err
	}
	now := s.Reader.Now()
	if now.Horizon >= v.Horizon {
		return now, nil
	}
	done, ok := s.waits.Take(u.Name, 1)
	if !ok {
		return nil, tooLarge(v.Horizon, now.Horizon)
	}
	defer done()
	if now, ok = s.await(ctx, v.Horizon); !ok {
		return nil, tooLarge(v.Horizon, now.Horizon)
	}
	return now, nil
}

// await waits, for a short time, until this replica has read as far as another.
func (s *Storage) await(ctx context.Context, horizon uint64) (*source.Snapshot, bool) {
	timer := s.Clock.NewTimer(patience)
	defer timer.Stop()
	for {
		now := s.Reader.Now()
		if now.Horizon >= horizon {
			return now, true
		}
		select {
		case <-now.Superseded():
		case <-timer.C():
			return now, false
		case <-ctx.Done():
			return now, false
		}
	}
}

func parse(text string) (rows.Version, error) {
	v, err := rows.ParseVersion(text)
	switch {
	case errors.Is(err, rows.ErrMalformed):
		return v, apierrors.NewBadRequest(fmt.Sprintf("resourceVersion %q %v", text, err))
	case err != nil:
		return v, expired()
	}
	return v, nil
}

func expired() error {
	return apierrors.NewResourceExpired("the resourceVersion is of another view, user or time; list again without one")
}

// tooLarge is worded as kube-apiserver words it, so that clients recognize it.
func tooLarge(wanted, current uint64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", wanted, current), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version",
	}}
	return err
}

func (s *Storage) resource() schema.GroupResource {
	return schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: s.view.Resource}
}

func (s *Storage) fingerprint(all []rows.Row) rows.Fingerprint {
	f := rows.NewFingerprint(s.view.Resource)
	for _, r := range all {
		f = f.Toggle(r.Sum)
	}
	return f
}

// matcher are the selectors of a request.
type matcher struct {
	label labels.Selector
	field fields.Selector
}

// maxTerms is how many requirements and values a label selector may have. A watch keeps them, each in up to 35 times the bytes of its text.
const maxTerms = 100

func matcherOf(o *internalversion.ListOptions) (matcher, error) {
	m := matcher{label: o.LabelSelector, field: o.FieldSelector}
	if m.label == nil {
		m.label = labels.Everything()
	}
	if m.field == nil {
		m.field = fields.Everything()
	}
	terms := 0
	requirements, _ := m.label.Requirements()
	for _, r := range requirements {
		terms += 1 + len(r.ValuesUnsorted())
	}
	if terms > maxTerms {
		return m, apierrors.NewBadRequest(fmt.Sprintf("the label selector has %d requirements and values; use at most %d", terms, maxTerms))
	}
	return m, nil
}

func (m matcher) matches(name string, l map[string]string) bool {
	return m.label.Matches(labels.Set(l)) && m.field.Matches(fields.Set{metav1.ObjectNameField: name})
}
