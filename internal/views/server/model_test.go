// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/acme/platform-operator/api/views/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv/limit"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// mirror is an informer of a user, and what its events have said.
type mirror struct {
	user, team string
	informer   cache.SharedIndexInformer

	mu    sync.Mutex
	names map[string]*v1alpha1.MyNamespace
	shown map[string]bool // the names of all events
	leaks []string        // events of an end that say more than what ended
}

// remove records the end of access to a namespace. A tombstone is what the informer knew before.
func (m *mirror) remove(obj any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n, ok := obj.(*v1alpha1.MyNamespace); ok && (len(n.Labels) > 0 || len(n.Roles) > 0 || n.Phase != "") {
		m.leaks = append(m.leaks, fmt.Sprintf("%+v", n))
	}
	if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
		m.shown[key] = true
		delete(m.names, key)
	}
}

// seen are the names of the namespaces that events were about, and the events that say too much.
func (m *mirror) seen() (names, leaks []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.shown)), slices.Clone(m.leaks)
}

func newMirror(running context.Context, name, team string) *mirror {
	GinkgoHelper()
	m := &mirror{user: name, team: team, names: map[string]*v1alpha1.MyNamespace{}, shown: map[string]bool{}}
	optional := func(o *metav1.ListOptions) {
		if team != "" {
			o.LabelSelector = "team=" + team
		}
	}
	lw := cache.NewFilteredListWatchFromClient(views(as(name)), "mynamespaces", "", optional)
	m.informer = cache.NewSharedIndexInformer(lw, &v1alpha1.MyNamespace{}, 0, nil)
	put := func(obj any) {
		m.mu.Lock()
		defer m.mu.Unlock()
		n := obj.(*v1alpha1.MyNamespace)
		m.names[n.Name], m.shown[n.Name] = n, true
	}
	_, err := m.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: put, UpdateFunc: func(_, now any) { put(now) },
		DeleteFunc: m.remove,
	})
	Expect(err).NotTo(HaveOccurred())
	go m.informer.RunWithContext(running)
	return m
}

// model is what must be the case, whatever happened on the way (V2).
type model struct {
	*rand.Rand
	users  []string
	uids   map[string]string          // of the namespaces
	teams  map[string]string          // their labels
	grants map[string]map[string]bool // by namespace, user/role
	ever   map[string]bool            // user/namespace
	made   int
}

func (m *model) namespace() string {
	all := keys(m.uids)
	return all[m.IntN(len(all))]
}

func (m *model) create() {
	GinkgoHelper()
	m.made++
	ns := Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("model-%d", m.made)}})
	m.uids[ns.Name], m.teams[ns.Name], m.grants[ns.Name] = string(ns.UID), "", map[string]bool{}
}

func (m *model) step() {
	GinkgoHelper()
	namespace, name := m.namespace(), m.users[m.IntN(len(m.users))]
	role := []string{"view", "edit"}[m.IntN(2)]
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-" + role}, Subjects: []rbacv1.Subject{user(name)},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	}
	switch key := name + "/" + role; {
	case m.IntN(60) == 0:
		Remove(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		delete(m.uids, namespace)
		delete(m.teams, namespace)
		delete(m.grants, namespace)
		m.create()
	case m.IntN(4) == 0:
		m.teams[namespace] = []string{"x", "y"}[m.IntN(2)]
		Patch(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, `{"metadata":{"labels":{"team":"`+m.teams[namespace]+`"}}}`)
	case m.grants[namespace][key]:
		Remove(binding)
		delete(m.grants[namespace], key)
	default:
		Create(binding)
		m.grants[namespace][key], m.ever[name+"/"+namespace] = true, true
	}
}

// want are the rows of an informer, as UID, team and roles by name.
func (m *model) want(of *mirror) map[string]string {
	rows := map[string]string{}
	for namespace, uid := range m.uids {
		roles := []string{}
		for _, role := range []string{"edit", "view"} {
			if m.grants[namespace][of.user+"/"+role] {
				roles = append(roles, "ClusterRole/"+role)
			}
		}
		if len(roles) > 0 && (of.team == "" || of.team == m.teams[namespace]) {
			rows[namespace] = fmt.Sprint(uid, m.teams[namespace], roles)
		}
	}
	return rows
}

func (m *mirror) got() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	rows := map[string]string{}
	for name, n := range m.names {
		rows[name] = fmt.Sprint(n.UID, n.Labels["team"], n.Roles)
	}
	return rows
}

var _ = Describe("Informers", func() {
	mirrored := func(steps int) {
		GinkgoHelper()
		running, stop := context.WithCancel(ctx)
		defer stop()
		m := &model{
			Rand: rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 2)), uids: map[string]string{}, teams: map[string]string{},
			grants: map[string]map[string]bool{}, ever: map[string]bool{},
		}
		for range 12 {
			m.create()
		}
		var mirrors []*mirror
		for i := range 10 {
			name := fmt.Sprintf("model-%d", i)
			m.users = append(m.users, name)
			mirrors = append(mirrors, newMirror(running, name, ""), newMirror(running, name, "x"))
		}
		const kills = 6
		for i := range steps {
			m.step()
			if i%(steps/kills) == steps/kills-1 {
				proxy.switchTo(two)
				one.stop()
				one, two = two, startReplica()
				proxy.switchTo(one, two)
			}
		}
		for _, of := range mirrors {
			Eventually(of.got).Should(Equal(m.want(of)), "%s with team %q", of.user, of.team)
			names, leaks := of.seen()
			for _, name := range names {
				Expect(m.ever).To(HaveKey(of.user+"/"+name), "an event about a namespace that was never granted")
			}
			Expect(leaks).To(BeEmpty(), "%s with team %q", of.user, of.team)
		}
	}
	It("end equal to what their users may see, whatever changes and whichever replica is killed (V2)", func() { mirrored(200) })
	It("end equal to what their users may see after 2,000 changes (V2)", Label(limit.Slow), func() { mirrored(2000) })
})
