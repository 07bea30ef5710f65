// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"maps"
	"slices"

	"github.com/acme/platform-operator/internal/views/access"
	"github.com/acme/platform-operator/internal/views/rows"
)

// Snapshot is what all sources contained at one time. It never changes, so that readers need no locks.
type Snapshot struct {
	// Horizon is the largest number of a change that was seen, and larger than that of an earlier snapshot with another content.
	Horizon uint64

	namespaces map[string]*rows.Namespace
	tenants    map[string]*rows.Tenant // by the names of their rows
	cluster    access.Cluster
	// bound are the namespaces in which RoleBindings give a subject a right, sorted.
	bound map[access.Subject][]string

	sequence   uint64
	history    []Change // the last ones, that of this snapshot at the end
	superseded chan struct{}
}

// Change is how a snapshot differs from the one before.
type Change struct {
	// All is true if any row may differ, because ClusterRoleBindings give something else.
	All bool
	// Namespaces and Tenants are the names of the rows that may differ.
	Namespaces []string
	Tenants    []string
}

// historySize is how many changes are kept for watches that lag.
const historySize = 64

// NewSnapshot is that of a cluster without namespaces.
func NewSnapshot() *Snapshot {
	return &Snapshot{
		namespaces: map[string]*rows.Namespace{}, tenants: map[string]*rows.Tenant{}, cluster: access.Cluster{},
		bound: map[access.Subject][]string{}, superseded: make(chan struct{}),
	}
}

// Superseded is closed once there is a newer snapshot.
func (s *Snapshot) Superseded() <-chan struct{} { return s.superseded }

// Since are the changes after an earlier snapshot. False if they are no longer known, or if any row may differ.
func (s *Snapshot) Since(earlier *Snapshot) ([]Change, bool) {
	n := s.sequence - earlier.sequence
	if n > uint64(len(s.history)) {
		return nil, false
	}
	changes := s.history[uint64(len(s.history))-n:]
	if slices.ContainsFunc(changes, func(c Change) bool { return c.All }) {
		return nil, false
	}
	return changes, true
}

// Supersede wakes waiters: there is a newer snapshot. It is called once, after they can find that.
func (s *Snapshot) Supersede() { close(s.superseded) }

// answer is what a user may in a namespace.
func (s *Snapshot) answer(u access.User, n *rows.Namespace) access.Answer {
	return access.Of(u, s.cluster, n.Name, n.Grants)
}

// May answers for any namespace, also for one that does not exist.
func (s *Snapshot) May(u access.User, namespace string) access.Rights {
	var grants access.Grants
	if n, ok := s.namespaces[namespace]; ok {
		grants = n.Grants
	}
	return access.Of(u, s.cluster, namespace, grants).Rights
}

// Sample picks a namespace that a user may get, and one that the user may not. Empty if there is none.
func (s *Snapshot) Sample(u access.User) (shown, hidden string) {
	for name := range s.namespaces { // in random order
		if s.May(u, name).Get {
			shown = name
		} else {
			hidden = name
		}
		if shown != "" && hidden != "" {
			break
		}
	}
	return shown, hidden
}

// names are the namespaces in which a user may have a right, sorted. The answer for each decides.
func (s *Snapshot) names(u access.User, everywhere func(access.Rights) bool) []string {
	scope := access.ScopeOf(u, s.cluster)
	if everywhere(scope.All) {
		return slices.Sorted(maps.Keys(s.namespaces))
	}
	found := slices.DeleteFunc(scope.Names, func(name string) bool { return s.namespaces[name] == nil })
	for _, subject := range u.Subjects() {
		found = append(found, s.bound[subject]...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// Gettable are the namespaces that a user may be able to get, sorted.
func (s *Snapshot) Gettable(u access.User) []string {
	return s.names(u, func(r access.Rights) bool { return r.Get })
}

// Listable are the namespaces of which a user may be able to list ResourceQuotas, sorted.
func (s *Snapshot) Listable(u access.User) []string {
	return s.names(u, func(r access.Rights) bool { return r.List })
}

// Tenants are the names of the rows of tenants that a user may be able to see, sorted.
func (s *Snapshot) Tenants(u access.User) []string {
	var found []string
	for _, name := range s.Listable(u) {
		if t := s.namespaces[name].Tenant(); t != "" {
			found = append(found, rows.TenantName(t))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// SeesMyNamespace is whether MyNamespace has a row.
func (s *Snapshot) SeesMyNamespace(u access.User, name string) bool {
	n, ok := s.namespaces[name]
	return ok && s.answer(u, n).Get
}

// MyNamespace is the row of a namespace, if the user may get it.
func (s *Snapshot) MyNamespace(u access.User, name string) (rows.Row, bool) {
	n, ok := s.namespaces[name]
	if !ok {
		return rows.Row{}, false
	}
	a := s.answer(u, n)
	if !a.Get {
		return rows.Row{}, false
	}
	return rows.MyNamespace(n, a), true
}

// NamespaceUsage is the usage of a namespace, if the user may list its ResourceQuotas.
func (s *Snapshot) NamespaceUsage(u access.User, name string) (rows.Row, bool) {
	n, ok := s.namespaces[name]
	if !ok {
		return rows.Row{}, false
	}
	return rows.NamespaceUsage(n, s.answer(u, n))
}

// TenantUsage is the usage of a tenant, if the user may see every part of it.
func (s *Snapshot) TenantUsage(u access.User, name string) (rows.Row, bool) {
	t, ok := s.tenants[name]
	if !ok {
		return rows.Row{}, false
	}
	for _, namespace := range t.Namespaces {
		if a := s.answer(u, s.namespaces[namespace]); !a.Get || !a.List {
			return rows.Row{}, false
		}
	}
	return t.Row, true
}

// Next is the next snapshot: some namespaces as they are now, nil where they are gone. It gives the same one if nothing differs.
func (s *Snapshot) Next(horizon uint64, now map[string]*rows.Namespace, cluster access.Cluster) *Snapshot {
	next := &Snapshot{
		namespaces: s.namespaces, tenants: s.tenants, cluster: s.cluster, bound: s.bound,
		sequence: s.sequence + 1, superseded: make(chan struct{}),
	}
	var change Change
	if !cluster.Equal(s.cluster) {
		next.cluster, change.All = cluster, true
	}
	if change.Namespaces = s.differing(now); len(change.Namespaces) > 0 {
		next.replace(change.Namespaces, now)
		change.Tenants = next.sumTenants(s, change.Namespaces)
	}
	changed := change.All || len(change.Namespaces) > 0
	if !changed && horizon <= s.Horizon {
		return s
	}
	next.Horizon = max(horizon, s.Horizon)
	if changed && next.Horizon == s.Horizon {
		next.Horizon++
	}
	next.history = append(slices.Clone(s.history[max(0, len(s.history)-historySize+1):]), change)
	return next
}

// differing are the names of the namespaces that changed, sorted.
func (s *Snapshot) differing(now map[string]*rows.Namespace) []string {
	var names []string
	for name, n := range now {
		before := s.namespaces[name]
		if n == nil && before == nil || n != nil && before != nil && n.Equal(before) {
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// replace replaces namespaces, in copies of the maps.
func (s *Snapshot) replace(names []string, now map[string]*rows.Namespace) {
	before := s.namespaces
	s.namespaces = maps.Clone(before)
	moves := map[access.Subject]map[string]bool{}
	for _, name := range names {
		if old := before[name]; old != nil {
			delete(s.namespaces, name)
			note(moves, name, old.Grants, false)
		}
		if n := now[name]; n != nil {
			s.namespaces[name] = n
			note(moves, name, n.Grants, true)
		}
	}
	if len(moves) == 0 {
		return
	}
	s.bound = maps.Clone(s.bound)
	for subject, move := range moves {
		if bound := moved(s.bound[subject], move); len(bound) > 0 {
			s.bound[subject] = bound
		} else {
			delete(s.bound, subject)
		}
	}
}

// note records that subjects with rights in a namespace have them now, or no longer. What is noted last holds.
func note(moves map[access.Subject]map[string]bool, name string, grants access.Grants, present bool) {
	for subject, g := range grants {
		if !g.Any() {
			continue
		}
		if moves[subject] == nil {
			moves[subject] = map[string]bool{}
		}
		moves[subject][name] = present
	}
}

func moved(names []string, move map[string]bool) []string {
	kept := make([]string, 0, len(names)+len(move))
	for _, name := range names {
		if _, known := move[name]; !known {
			kept = append(kept, name)
		}
	}
	for name, present := range move {
		if present {
			kept = append(kept, name)
		}
	}
	slices.Sort(kept)
	return kept
}

// sumTenants sums the tenants to which changed namespaces belong or belonged. It gives the names of their rows, sorted.
func (s *Snapshot) sumTenants(before *Snapshot, changed []string) []string {
	affected := map[string][]string{} // changed namespaces by tenant
	for _, name := range changed {
		for _, n := range []*rows.Namespace{before.namespaces[name], s.namespaces[name]} {
			if n != nil && n.Tenant() != "" {
				affected[n.Tenant()] = append(affected[n.Tenant()], name)
			}
		}
	}
	if len(affected) == 0 {
		return nil
	}
	s.tenants = maps.Clone(before.tenants)
	var names []string
	for tenant, candidates := range affected {
		row := rows.TenantName(tenant)
		names = append(names, row)
		if t := before.tenants[row]; t != nil {
			candidates = append(candidates, t.Namespaces...)
		}
		delete(s.tenants, row)
		if members := s.members(tenant, candidates); len(members) > 0 {
			s.tenants[row] = rows.NewTenant(tenant, members)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// members are the namespaces of a tenant among some, sorted by name.
func (s *Snapshot) members(tenant string, candidates []string) []*rows.Namespace {
	slices.Sort(candidates)
	var members []*rows.Namespace
	for _, name := range slices.Compact(candidates) {
		if n := s.namespaces[name]; n != nil && n.Tenant() == tenant {
			members = append(members, n)
		}
	}
	return members
}
