// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	worlds "github.com/acme/platform-operator/internal/testenv/explore"
)

// rotation is a state of the model: what is in the Secret, in the APIService, and in the memory of the reader that is slowest.
// Certificates are numbers, in the order in which they were made.
type rotation struct {
	keyring
	// registered is what the APIService has; nil while there is none. believed is what the API server that is slowest knows of it, and
	// behind since when it is another one.
	registered, believed []*x509.Certificate
	behind               time.Time
	// shown is what the reader shows, and stale since when the Secret has another one.
	shown *pair
	stale time.Time
	now   time.Time
	made  int
}

// A reader shows what is no longer in the Secret for lag at most, and an API server verifies by an older APIService for apiLag.
const (
	lag    = 2 * time.Minute
	apiLag = 9 * time.Minute
)

func number(c *x509.Certificate) int { return int(c.SerialNumber.Int64()) }

// String has all that matters of a state: two with the same text are the same.
func (s *rotation) String() string {
	of := func(p *pair) string {
		if p == nil {
			return "-"
		}
		return fmt.Sprint(number(p.Certificate))
	}
	list := func(all []*x509.Certificate) string {
		var out []string
		for _, c := range all {
			out = append(out, fmt.Sprint(number(c)))
		}
		return strings.Join(out, "+")
	}
	return strings.Join([]string{
		of(s.serving), of(s.next), list(s.trusted), s.trustedSince.String(), list(s.registered), fmt.Sprint(s.registered == nil),
		list(s.believed), fmt.Sprint(s.believed == nil), of(s.shown), s.stale.String(), s.behind.String(), s.now.String(),
	}, " ")
}

// issue makes a certificate without a key: the model verifies none.
func (s *rotation) issue() (*pair, error) {
	s.made++
	p, err := newPairOf(s.made, s.now)
	return p, err
}

// move is something that can happen next. It returns false where it cannot.
type move struct {
	name string
	do   func(*rotation) bool
}

func (s *rotation) trusts(c *x509.Certificate) bool {
	return s.registered == nil || slices.ContainsFunc(s.registered, c.Equal)
}

// writeSecret is the first half of what a leader does; it may crash after it.
func writeSecret(s *rotation) bool {
	k, _, err := s.keyring.advance(s.trusts, s.now, s.issue)
	if err != nil {
		panic(err)
	}
	s.keyring = k
	switch {
	case s.shown == nil: // the pod waits for its volume
		s.shown = k.serving
	case s.shown.Equal(k.serving.Certificate):
		s.stale = time.Time{}
	case s.stale.IsZero():
		s.stale = s.now
	}
	return true
}

var moves = []move{
	{"the leader writes the Secret and crashes", writeSecret},
	{"the leader writes the Secret and the APIService", func(s *rotation) bool {
		writeSecret(s)
		s.register(s.trusted)
		return true
	}},
	{"the API is unregistered", func(s *rotation) bool {
		s.register(nil)
		return true
	}},
	{"all API servers read the APIService", func(s *rotation) bool {
		done := !s.behind.IsZero()
		s.believed, s.behind = s.registered, time.Time{}
		return done
	}},
	{"the reader reads the Secret", func(s *rotation) bool {
		done := !s.stale.IsZero()
		s.shown, s.stale = s.serving, time.Time{}
		return done
	}},
	{"a minute passes", func(s *rotation) bool { return s.pass(time.Minute) }},
	{"nine minutes pass", func(s *rotation) bool { return s.pass(9 * time.Minute) }},
	{"a day passes", func(s *rotation) bool { return s.pass(day) }},
}

// register writes the APIService. API servers that do not know a registration forward nothing.
func (s *rotation) register(bundle []*x509.Certificate) {
	s.registered = bundle
	switch {
	case slices.EqualFunc(bundle, s.believed, (*x509.Certificate).Equal):
		s.behind = time.Time{}
	case bundle == nil || s.believed == nil:
		s.believed, s.behind = bundle, time.Time{}
	case s.behind.IsZero():
		s.behind = s.now
	}
}

// pass lets time pass, unless somebody would have read what is new meanwhile.
func (s *rotation) pass(d time.Duration) bool {
	s.now = s.now.Add(d)
	return (s.stale.IsZero() || s.now.Sub(s.stale) <= lag) && (s.behind.IsZero() || s.now.Sub(s.behind) <= apiLag)
}

// wrong says what must never be.
func (s *rotation) wrong() string {
	switch {
	case s.serving != nil && s.next != nil && s.serving.Equal(s.next.Certificate):
		return "the next certificate is the one that is served"
	case s.believed != nil && s.shown != nil && !slices.ContainsFunc(s.believed, s.shown.Equal):
		return "the reader shows a certificate that an API server does not trust"
	case s.shown != nil && !s.now.Before(s.shown.NotAfter):
		return "the reader shows a certificate that has expired"
	}
	return ""
}

// explore looks at every state that so many moves reach from one in which the certificate is to be rotated, and returns how many there are.
func explore(t *testing.T, depth int, moves []move, wrong func(*rotation) string) int {
	t.Helper()
	way, n := worlds.Space[*rotation, string]{
		First: due(), Key: (*rotation).String, Depth: depth, Wrong: wrong,
		Next: func(from *rotation, do func(string, *rotation)) {
			for _, m := range moves {
				s := *from
				if m.do(&s) {
					do(m.name, &s)
				}
			}
		},
	}.Search()
	if way != nil {
		t.Fatalf("%d states:\n%s", n, strings.Join(way, "\n"))
	}
	return n
}

// The leader may crash between any two steps of a rotation, and be away for a day, and readers may be late: the reader is trusted
// throughout.
func TestEveryInterleavingOfARotation(t *testing.T) {
	promoted := 0
	states := explore(t, 11, moves, func(s *rotation) string {
		if s.serving != nil && number(s.serving.Certificate) == 2 {
			promoted++
		}
		if s.made > 2 {
			return "a rotation made two certificates"
		}
		return s.wrong()
	})
	if promoted == 0 {
		t.Error("no state has the new certificate in service: the model is too small")
	}
	t.Logf("%d states, in %d of them the new certificate is served", states, promoted)
}

// From each state of a rotation a leader that stays ends it.
func TestEveryRotationEnds(t *testing.T) {
	explore(t, 6, moves, func(s *rotation) string {
		end := *s
		for range 6 {
			writeSecret(&end)
			end.settle()
			end.now = end.now.Add(overlap)
		}
		if end.next != nil || end.serving == nil || number(end.serving.Certificate) != 2 || len(end.trusted) != 2 {
			return "it ends as " + end.String()
		}
		return s.wrong()
	})
}

// Whatever somebody does to the Secret, the reader is trusted again as soon as it has read what the leader wrote next.
func TestASpoiledSecretHeals(t *testing.T) {
	spoil := []move{
		{"the Secret is deleted", func(s *rotation) bool { s.keyring = keyring{}; return true }},
		{"the serving pair is spoiled", func(s *rotation) bool { s.serving = nil; return true }},
		{"the next pair is spoiled", func(s *rotation) bool { s.next, s.trustedSince = nil, time.Time{}; return true }},
		{"ca.crt is spoiled", func(s *rotation) bool { s.trusted = nil; return true }},
	}
	states := explore(t, 5, append(slices.Clone(moves), spoil...), func(s *rotation) string {
		end := *s
		writeSecret(&end)
		end.settle()
		return end.wrong()
	})
	t.Logf("%d states", states)
}

// settle has everybody read what the leader has written.
func (s *rotation) settle() {
	s.register(s.trusted)
	s.believed, s.behind = s.registered, time.Time{}
	s.shown, s.stale = s.serving, time.Time{}
}

// due is a state in which the certificate is to be rotated.
func due() *rotation {
	first := must(newPairOf(1, ago(validity/3*2)))
	trusted := []*x509.Certificate{first.Certificate}
	return &rotation{
		keyring: keyring{serving: first, trusted: trusted}, registered: trusted, believed: trusted, shown: first, now: noon, made: 1,
	}
}

// newPairOf is a certificate of the model: it has a number and a time, and no key.
func newPairOf(number int, now time.Time) (*pair, error) {
	p, err := newPair(ours.hosts(), now)
	if err != nil {
		return nil, err
	}
	p.SerialNumber.SetInt64(int64(number))
	return p, nil
}
