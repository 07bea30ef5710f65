// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	worlds "github.com/acme/platform-operator/internal/testenv/explore"
)

// rivalNames are two installations in one cluster.
var rivalNames = []Names{{Namespace: "one", Service: ours.Service}, {Namespace: "two", Service: ours.Service}}

// registered is an APIService; zero: there is none.
type registered struct {
	// uid and version identify the object and its content. Only whether two are equal matters.
	uid, version int
	// holder is the installation whose reader it leads to, and bundle the certificates of that reader.
	holder, bundle int
}

// object is the APIService as the API server returns it.
func (s registered) object() *unstructured.Unstructured {
	if s == (registered{}) {
		return nil
	}
	u := desired(rivalNames[s.holder], owner("uid"), 443, pem(s.bundle), "")
	u.SetUID(types.UID(strconv.Itoa(s.uid)))
	u.SetResourceVersion(strconv.Itoa(s.version))
	return u
}

// contentOf reads what leads where from an APIService that is written.
func contentOf(u *unstructured.Unstructured) (s registered) {
	if holderOf(u, rivalNames[0]) != "" {
		s.holder = 1
	}
	for string(bundleOf(u)) != string(pem(s.bundle)) {
		s.bundle++
	}
	return s
}

func pem(n int) []byte { return fmt.Appendf(nil, "pem %d", n) }

// rivals is a world with two installations that both register the API.
type rivals struct {
	live registered
	// seen is what the cache of each leader shows: what was live at some time.
	seen [2]registered
	// enabled is the configuration of each installation, and bundle the certificates of its reader.
	enabled [2]bool
	bundle  [2]int
	// fault is what a leader did wrong.
	fault string
}

// server is the API server, as it answers one leader.
type server struct {
	client.Client
	*rivals
	leader  int
	refused *int
}

var apiServices = schema.GroupResource{Group: "apiregistration.k8s.io", Resource: "apiservices"}

func (s server) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	if s.live != (registered{}) {
		*s.refused++
		return apierrors.NewAlreadyExists(apiServices, apiServiceName)
	}
	s.put(o.(*unstructured.Unstructured), fresh)
	return nil
}

func (s server) Patch(_ context.Context, o client.Object, p client.Patch, _ ...client.PatchOption) error {
	text, err := p.Data(o)
	if err != nil {
		return err
	}
	var sent struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.Unmarshal(text, &sent); err != nil {
		return err
	}
	switch {
	case s.live == (registered{}):
		*s.refused++
		return apierrors.NewNotFound(apiServices, apiServiceName)
	case sent.Metadata.ResourceVersion != "" && sent.Metadata.ResourceVersion != strconv.Itoa(s.live.version):
		*s.refused++
		return apierrors.NewConflict(apiServices, apiServiceName, nil)
	}
	s.check("changes")
	s.put(o.(*unstructured.Unstructured), s.live.uid)
	return nil
}

func (s server) Delete(_ context.Context, _ client.Object, opts ...client.DeleteOption) error {
	condition := (&client.DeleteOptions{}).ApplyOptions(opts).Preconditions
	switch {
	case s.live == (registered{}):
		return apierrors.NewNotFound(apiServices, apiServiceName)
	case condition != nil && condition.UID != nil && string(*condition.UID) != strconv.Itoa(s.live.uid):
		*s.refused++
		return apierrors.NewConflict(apiServices, apiServiceName, nil)
	}
	s.check("deletes")
	s.live = registered{}
	return nil
}

// fresh is a number that no object and no version has: tidy gives out small ones.
const fresh = 9

func (s server) put(u *unstructured.Unstructured, uid int) {
	s.live = contentOf(u)
	s.live.uid, s.live.version = uid, fresh
	if uid == 0 {
		s.live.uid = fresh
	}
}

// check notes a write to an APIService that leads to the other installation.
func (s server) check(does string) {
	if s.live != (registered{}) && s.live.holder != s.leader {
		s.fault = fmt.Sprintf("installation %d %s the APIService of the other one", s.leader, does)
	}
}

// tidy numbers objects and versions from one again: only whether they are equal matters.
func (w *rivals) tidy() {
	uids, versions := map[int]int{0: 0}, map[int]int{0: 0}
	number := func(of map[int]int, n *int) {
		if _, known := of[*n]; !known {
			of[*n] = len(of)
		}
		*n = of[*n]
	}
	for _, s := range []*registered{&w.live, &w.seen[0], &w.seen[1]} {
		number(uids, &s.uid)
		number(versions, &s.version)
	}
}

// decide has a leader look at its cache, and carry out what follows.
func (w *rivals) decide(leader int, refused *int) {
	bundle := pem(w.bundle[leader])
	r := &registrar{
		Options: Options{Names: rivalNames[leader], Enabled: w.enabled[leader], UnreachableAfter: time.Minute, Clock: clocktesting.NewFakePassiveClock(noon)},
		live:    server{rivals: w, leader: leader, refused: refused},
	}
	seen := world{apiService: w.seen[leader].object(), owners: owner("uid"), port: 443, ready: true}
	d, _ := decide(r.observe(seen), memory{}, noon)
	if err := r.write(context.Background(), d, seen, bundle); err != nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
		panic(err)
	}
	w.tidy()
}

func (w *rivals) see(leader int) {
	w.seen[leader] = w.live
	w.tidy()
}

func (w rivals) next(refused *int, do func(string, rivals)) {
	step := func(by string, change func(*rivals)) {
		x := w
		change(&x)
		do(by, x)
	}
	for i := range w.seen {
		step(fmt.Sprintf("leader %d sees", i), func(x *rivals) { x.see(i) })
		step(fmt.Sprintf("leader %d decides", i), func(x *rivals) { x.decide(i, refused) })
		step(fmt.Sprintf("the configuration of %d changes", i), func(x *rivals) { x.enabled[i] = !x.enabled[i] })
		step(fmt.Sprintf("the certificate of %d changes", i), func(x *rivals) { x.bundle[i] = 1 - x.bundle[i] })
	}
	if w.live != (registered{}) {
		step("an administrator deletes it", func(x *rivals) { x.live = registered{}; x.tidy() })
	}
}

// unstable says what is wrong with what leaders make of a world when nothing else changes any more; empty if nothing.
func (w rivals) unstable(first int) string {
	var last rivals
	for range 4 {
		last = w
		for _, leader := range []int{first, 1 - first} {
			w.see(leader)
			w.decide(leader, new(int))
		}
	}
	w.see(0)
	w.see(1)
	last.see(0)
	last.see(1)
	switch {
	case w != last:
		return "the leaders write without end"
	case w.live == (registered{}) && w.enabled != [2]bool{}:
		return "it is not registered in the end"
	case w.live != (registered{}) && (!w.enabled[w.live.holder] || w.live.bundle != w.bundle[w.live.holder]):
		return "it stays registered for an installation that wants it otherwise"
	}
	return w.fault
}

// Two installations in one cluster want the same name. Whatever their caches show, the one that came second leaves the APIService of the
// first one alone, and takes its turn when that is gone.
func TestTwoInstallationsDoNotFight(t *testing.T) {
	refused, held := 0, [2]int{}
	space := worlds.Space[rivals, rivals]{
		First: rivals{enabled: [2]bool{true, true}}, Key: worlds.Same[rivals],
		Next: func(w rivals, do func(string, rivals)) { w.next(&refused, do) },
		Wrong: func(w rivals) string {
			if w.live != (registered{}) {
				held[w.live.holder]++
			}
			for _, wrong := range []string{w.fault, w.unstable(0), w.unstable(1)} {
				if wrong != "" {
					return wrong
				}
			}
			return ""
		},
	}
	way, n := space.Search()
	t.Logf("%d worlds; installations hold it in %v of them, and %d writes were refused", n, held, refused)
	if way != nil || held[0] == 0 || held[0] != held[1] || refused == 0 {
		t.Errorf("%d worlds:\n%s", n, strings.Join(way, "\n"))
	}
}
