// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func TestTrack(t *testing.T) {
	const deadline = 5 * time.Minute
	rolling := func(since *time.Time) *v1alpha1.Rollout {
		r := &v1alpha1.Rollout{}
		if since != nil {
			r.StartedAt = new(metav1.NewTime(*since))
		}
		return r
	}
	before, later := noon.Add(-time.Minute), noon.Add(time.Hour)
	for _, tc := range []struct {
		why     string
		rollout *v1alpha1.Rollout
		with    func(*v1alpha1.WebAppSpec)
		give    progress
		due     time.Time
		want    *v1alpha1.Rollout
		serving int64
	}{
		{"it begins", rolling(nil), nil, progress{}, noon.Add(deadline), rolling(&noon), 1},
		{"it continues", rolling(&before), nil, progress{}, before.Add(deadline), rolling(&before), 1},
		{"it is complete", rolling(&before), nil, progress{complete: true}, time.Time{}, nil, 2},
		{"it is complete while it is paused", rolling(&before), nil, progress{complete: true, paused: true}, time.Time{}, nil, 2},
		{"no pods show that it works", rolling(&before), nil, progress{complete: true, none: true}, time.Time{}, rolling(nil), 1},
		{"it is paused", rolling(&before), nil, progress{paused: true}, time.Time{}, rolling(nil), 1},
		{"a newer version is held back", rolling(&before), nil, progress{held: true}, time.Time{}, rolling(nil), 1},
		{"it is complete while a newer version is held back", rolling(&before), nil, progress{complete: true, held: true}, time.Time{}, nil, 2},
		{"the clock was set back", rolling(&later), nil, progress{}, noon.Add(deadline), rolling(&noon), 1},
		{"it was complete once", nil, nil, progress{}, time.Time{}, nil, 1},
		{"no deadline", rolling(nil), func(s *v1alpha1.WebAppSpec) { s.RolloutDeadline = nil }, progress{}, time.Time{}, rolling(&noon), 1},
		{"autoRollback brings one along", rolling(nil), func(s *v1alpha1.WebAppSpec) { s.RolloutDeadline, s.AutoRollback = nil, true }, progress{}, noon.Add(10 * time.Minute), rolling(&noon), 1},
	} {
		a := app(common.TierDev, func(s *v1alpha1.WebAppSpec) { s.RolloutDeadline = &metav1.Duration{Duration: deadline} })
		if tc.with != nil {
			tc.with(&a.Spec)
		}
		a.Status.Revision, a.Status.ServingRevision, a.Status.Rollout = 2, 1, tc.rollout
		due := track(a, tc.give, noon)
		if !due.Equal(tc.due) || fmt.Sprint(a.Status.Rollout) != fmt.Sprint(tc.want) || a.Status.ServingRevision != tc.serving {
			t.Errorf("%s: due %v, rollout %v, serving %d", tc.why, due, a.Status.Rollout, a.Status.ServingRevision)
		}
	}
}

func TestOutcomesOfRollouts(t *testing.T) {
	f := finding{6, ReasonCrashLoop, "the container app of the pod web-1 ends again and again"}
	done := engine.Done().Saying("2 of 2 pods serve")
	due := noon.Add(-time.Second)
	rolledBack := func(a *v1alpha1.WebApp) {
		a.Spec.AutoRollback, a.Spec.Migration = true, &v1alpha1.Migration{}
		a.Status.RolledBack = &v1alpha1.RolledBack{Revision: 2, To: 1, Message: "revision 2 (i) was not complete after 10m0s: no luck."}
		a.Status.Revision = 1
	}
	for _, tc := range []struct {
		why    string
		with   func(*v1alpha1.WebApp)
		judge  func(*v1alpha1.WebApp) engine.Outcome
		reason string
		goesOn bool
		wants  []string
	}{
		{"it serves", nil, func(a *v1alpha1.WebApp) engine.Outcome { return judgeServing(a, course{why: bySpec}, done) }, "Done", true, nil},
		{"it serves as asked", nil, func(a *v1alpha1.WebApp) engine.Outcome { return judgeServing(a, course{number: 1, why: byUser}, done) }, ReasonRolledBack, true, []string{"revision 1 serves, as spec.rollbackTo asks", "until spec.rollbackTo is removed"}},
		{"nothing serves as asked", nil, func(a *v1alpha1.WebApp) engine.Outcome {
			return judgeServing(a, course{number: 1, why: byUser}, engine.Done().Because(ReasonScaledToZero))
		}, ReasonScaledToZero, true, nil},
		{"it serves after a failure", rolledBack, func(a *v1alpha1.WebApp) engine.Outcome {
			return judgeServing(a, course{number: 1, why: byFailure}, done)
		}, ReasonRolledBack, false, []string{"revision 2 (i) was not complete after 10m0s: no luck. What its migration has changed is not undone. Revision 1 serves. Change the spec to try again"}},
		{"it comes after a failure", rolledBack, func(a *v1alpha1.WebApp) engine.Outcome {
			return judgeLacking(a, course{number: 1, why: byFailure}, f, time.Time{}, noon)
		}, ReasonRolledBack, false, []string{"Revision 1 is rolled out instead: the container app"}},
		{"it fails after a failure", rolledBack, func(a *v1alpha1.WebApp) engine.Outcome {
			return judgeLacking(a, course{number: 1, why: byFailure}, f, due, noon)
		}, ReasonRolledBack, false, []string{"Revision 1 does not serve either: the container app"}},
		{"it comes", nil, func(a *v1alpha1.WebApp) engine.Outcome {
			return judgeLacking(a, course{why: bySpec}, f, noon.Add(1), noon)
		}, ReasonCrashLoop, false, []string{"web-1"}},
		{"it is late", func(a *v1alpha1.WebApp) { a.Status.ServingRevision = 1 }, func(a *v1alpha1.WebApp) engine.Outcome { return judgeLacking(a, course{why: bySpec}, f, due, noon) }, ReasonRolloutFailed, false, []string{"revision 2 (i) was not complete after 5m0s: the container app of the pod web-1 ends again", "set spec.rollbackTo to 1"}},
		{"what was asked for is late", func(a *v1alpha1.WebApp) { a.Status.ServingRevision, a.Spec.RollbackTo = 1, new(int64(2)) }, func(a *v1alpha1.WebApp) engine.Outcome { return judgeLacking(a, course{why: byUser}, f, due, noon) }, ReasonRolloutFailed, false, []string{". Set spec.rollbackTo to 1, the revision that has served last, or remove it"}},
		{"the first is late", nil, func(a *v1alpha1.WebApp) engine.Outcome { return judgeLacking(a, course{why: bySpec}, f, noon, noon) }, ReasonRolloutFailed, false, []string{"No revision has served before"}},
		{"the one that has served is late", func(a *v1alpha1.WebApp) { a.Status.ServingRevision = 2 }, func(a *v1alpha1.WebApp) engine.Outcome { return judgeLacking(a, course{why: bySpec}, f, due, noon) }, ReasonRolloutFailed, false, []string{"It is the one that has served last"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			a := history(func(a *v1alpha1.WebApp) { a.Spec.RolloutDeadline = &metav1.Duration{Duration: 5 * time.Minute} }, 2, 1)
			if tc.with != nil {
				tc.with(a)
			}
			out := tc.judge(a)
			if out.Reason() != tc.reason || out.GoesOn() != tc.goesOn {
				t.Errorf("got %s, continues %v", out.Reason(), out.GoesOn())
			}
			for _, want := range tc.wants {
				if !strings.Contains(fmt.Sprintf("%+v", out), want) {
					t.Errorf("got %+v, want %q", out, want)
				}
			}
		})
	}
}

func TestAnUnknownRevisionIsNamed(t *testing.T) {
	asked := func(a *v1alpha1.WebApp) { a.Spec.RollbackTo = new(int64(7)) }
	for want, a := range map[string]*v1alpha1.WebApp{
		"there is no record of revision 7, so that nothing is changed. Remove spec.rollbackTo, or choose one of 2 (i), 1 (i)": history(asked, 7, 3, 2, 1),
		"There are no other revisions: remove spec.rollbackTo":                                                                history(asked, 3),
		"It was to be rolled back to; change the spec":                                                                        history(func(*v1alpha1.WebApp) {}, 2),
	} {
		recorded := func(r v1alpha1.Revision) bool { return r.Number != 3 }
		if got := unknown(a, 7, recorded); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAFailureIsToldWithoutARecord(t *testing.T) {
	a := history(func(a *v1alpha1.WebApp) { a.Status.Revision = 1 })
	if got := failure(a, finding{message: "why"}); !strings.HasPrefix(got, "revision 1 ") {
		t.Errorf("got %q", got)
	}
}

// world is a WebApp, its Deployment and the time, as a model. What is in a revision is a letter.
type world struct {
	app      v1alpha1.WebApp
	now      time.Time
	spec     string
	deployed string
	sick     map[string]bool // what does not become available
	held     map[string]bool // what has no database, or no migration that has succeeded
	paused   bool

	// What has happened so far, for the rules.
	served  map[string]bool
	numbers map[int64]string
	failed  string // what was rolled back and must not come again until the user changes something
}

func (w world) clone() world {
	w.app = *w.app.DeepCopy()
	w.sick, w.held, w.served, w.numbers = cloned(w.sick), cloned(w.held), cloned(w.served), cloned(w.numbers)
	return w
}

func cloned[K comparable, V any](m map[K]V) map[K]V {
	out := map[K]V{}
	for k, v := range m {
		out[k] = v
	}
	return out
}

// key is the same for worlds of which nothing can be told apart from now on.
func (w world) key() string {
	s := w.app.Status
	since := time.Duration(-1)
	if s.Rollout != nil && s.Rollout.StartedAt != nil {
		since = w.now.Sub(s.Rollout.StartedAt.Time)
	}
	back := [2]int64{}
	if s.RolledBack != nil {
		back = [2]int64{s.RolledBack.Revision, s.RolledBack.To}
	}
	return fmt.Sprint(w.spec, w.deployed, w.sick, w.held, w.paused, w.failed, w.app.Spec.AutoRollback, ptr.Deref(w.app.Spec.RollbackTo, 0),
		s.Revision, s.ServingRevision, s.LastRevision, s.Revisions, s.Rollout != nil, since, back, len(w.served))
}

// run is one reconcile; its status is lost when the operator ends before it is written.
func (w *world) run(lost bool) error {
	a := w.app.DeepCopy()
	c, was := choose(a, w.spec), w.deployed
	held := c.hash == "" || w.held[c.hash]
	in := lead(a, recorded(c.hash), recorded(was), held)
	switch {
	case !held:
		take(a, c, in.app, w.spec)
	case was != "":
		take(a, course{numberOf(&a.Status, was), was, byUser}, in.app, w.spec)
	}
	if !in.keep {
		w.deployed = in.content.hash
	}
	p := progress{complete: !w.sick[w.deployed] && !w.paused, paused: w.paused, held: held}
	due := track(a, p, w.now)
	back := !held && !p.complete && rollsBack(a, due, w.now) && !w.held[hashOf(&a.Status, a.Status.ServingRevision)]
	if back {
		rollBack(a, "why", w.now)
	}
	if err := w.rules(a, c, back); err != nil {
		return err
	}
	if held && (w.deployed != was || hashOf(&a.Status, a.Status.Revision) != was) {
		return fmt.Errorf("%q is held back, and %q becomes %q", c.hash, was, w.deployed)
	}
	if lost {
		return nil
	}
	if back {
		w.failed = w.deployed
	}
	if p.complete {
		w.served[w.deployed] = true
	}
	for _, r := range a.Status.Revisions {
		w.numbers[r.Number] = r.Hash
	}
	w.app = *a
	return nil
}

// recorded is a version on record; none when its hash is empty.
func recorded(hash string) version {
	if hash == "" {
		return version{}
	}
	return version{content{hash: hash}, &v1alpha1.WebApp{}}
}

// rules are what must hold in every run.
func (w *world) rules(a *v1alpha1.WebApp, c course, back bool) error {
	s := a.Status
	seen := map[string]bool{}
	for _, r := range s.Revisions {
		if was, known := w.numbers[r.Number]; known && was != r.Hash || seen[r.Hash] || r.Number > s.LastRevision {
			return fmt.Errorf("revision %d was %q and is %q", r.Number, was, r.Hash)
		}
		seen[r.Hash] = true
	}
	pin := hashOf(&w.app.Status, ptr.Deref(a.Spec.RollbackTo, 0))
	switch {
	case pin != "" && c.hash != pin:
		return fmt.Errorf("rollbackTo %d makes %q", *a.Spec.RollbackTo, c.hash)
	case a.Spec.RollbackTo == nil && !a.Spec.AutoRollback && c.hash != w.spec:
		return fmt.Errorf("the spec says %q, and %q is made", w.spec, c.hash)
	case w.failed != "" && c.hash == w.failed:
		return fmt.Errorf("%q has failed, and is tried again", c.hash)
	case w.failed != "" && back:
		return fmt.Errorf("%q is rolled back after %q", c.hash, w.failed)
	case back && !w.served[hashOf(&s, s.RolledBack.To)]:
		return fmt.Errorf("rolled back to %d, which has never served", s.RolledBack.To)
	case back && hashOf(&s, s.RolledBack.To) == c.hash:
		return fmt.Errorf("rolled back from %q to itself", c.hash)
	case c.why == byFailure && !w.served[c.hash]:
		return fmt.Errorf("%q is made after a failure, and has never served", c.hash)
	}
	return nil
}

// user is a change by a user, after which anything may be tried again.
func user(do func(*world)) func(*world) error {
	return func(w *world) error {
		do(w)
		w.failed = ""
		return nil
	}
}

// happenings are all that may happen, in every order.
func happenings() map[string]func(*world) error {
	all := map[string]func(*world) error{
		"run":      func(w *world) error { return w.run(false) },
		"lost run": func(w *world) error { return w.run(true) },
		"time":     func(w *world) error { w.now = w.now.Add(6 * time.Minute); return nil },
		"pause":    func(w *world) error { w.paused = !w.paused; return nil },
		"auto":     user(func(w *world) { w.app.Spec.AutoRollback = !w.app.Spec.AutoRollback }),
		"unpin":    user(func(w *world) { w.app.Spec.RollbackTo = nil }),
	}
	for _, n := range []int64{1, 2, 9} {
		all[fmt.Sprint("pin ", n)] = user(func(w *world) { w.app.Spec.RollbackTo = &n })
	}
	for _, content := range []string{"a", "c"} {
		all["hold "+content] = func(w *world) error { w.held[content] = !w.held[content]; return nil }
	}
	for _, content := range []string{"a", "b", "c"} {
		all["spec "+content] = func(w *world) error {
			if w.spec == content {
				return nil
			}
			return user(func(w *world) { w.spec = content })(w)
		}
		all["turn "+content] = func(w *world) error { w.sick[content] = !w.sick[content]; return nil }
	}
	return all
}

// TestRollbacksInEveryOrder explores all that may happen to a WebApp whose first version serves and whose second one does not
// become available, up to a number of steps.
func TestRollbacksInEveryOrder(t *testing.T) {
	const steps = 8
	first := world{now: noon, spec: "a", sick: map[string]bool{"b": true}, served: map[string]bool{}, numbers: map[int64]string{}}
	first.app.Spec.AutoRollback, first.app.Spec.RolloutDeadline = true, &metav1.Duration{Duration: 10 * time.Minute}
	for _, content := range []string{"a", "b"} {
		first.spec = content
		if err := first.run(false); err != nil {
			t.Fatal(err)
		}
	}
	type path struct {
		world
		how string
	}
	seen, now, rollbacks := map[string]bool{}, []path{{world: first}}, 0
	for range steps {
		var next []path
		for _, p := range now {
			for name, happen := range happenings() {
				w := p.clone()
				if err := happen(&w); err != nil {
					t.Fatalf("%s, %s: %v", p.how, name, err)
				}
				if key := w.key(); !seen[key] {
					seen[key] = true
					next = append(next, path{w, p.how + ", " + name})
				}
				if w.failed != "" && p.failed == "" {
					rollbacks++
				}
			}
		}
		now = next
	}
	if rollbacks < 50 {
		t.Errorf("%d rollbacks in %d worlds: the model does not reach them", rollbacks, len(seen))
	}
	t.Logf("%d worlds, %d rollbacks", len(seen), rollbacks)
}
