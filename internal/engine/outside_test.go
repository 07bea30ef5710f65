// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// asking is an outside that runs, in a bubble of its own. When the test ends no goroutine may be left.
func asking(t *testing.T, workers int, test func(t *testing.T, o *outside, woken *atomic.Int32)) {
	synctest.Test(t, func(t *testing.T) {
		var woken atomic.Int32
		o := newOutside(workers, 20*time.Second, clock.RealClock{}, func(context.Context, client.ObjectKey) { woken.Add(1) })
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- o.Start(ctx) }()
		synctest.Wait()
		test(t, o, &woken)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func about(uid string) question { return question{types.UID(uid), "billing"} }

// says answers at once, hangs until its time is over.
func says(value any, err error) func(context.Context) (any, error) {
	return func(context.Context) (any, error) { return value, err }
}

// pass lets time pass, which in a bubble takes none.
func pass(d time.Duration) { <-time.After(d) }

func hangs(ctx context.Context) (any, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// settled calls Ask, and returns the result.
func (o *outside) settled(uid string, generation int64, run func(context.Context) (any, error)) string {
	got, answered := o.ask(about(uid), generation, client.ObjectKey{Namespace: uid}, run)
	synctest.Wait()
	switch {
	case !answered:
		return "pending"
	case got.err != nil:
		return got.err.Error()
	default:
		return fmt.Sprint(got.value)
	}
}

func expect(t *testing.T, reason, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", reason, got, want)
	}
}

func TestAQuestionIsAskedOnceAndItsAnswerKept(t *testing.T) {
	asking(t, 2, func(t *testing.T, o *outside, woken *atomic.Int32) {
		var asked atomic.Int32
		slowly := func(context.Context) (any, error) {
			asked.Add(1)
			pass(time.Second)
			return "yes", nil
		}
		for range 5 {
			expect(t, "before the answer", o.settled("u", 1, slowly), "pending")
		}
		pass(10 * time.Minute)
		if asked.Load() != 1 || woken.Load() != 1 {
			t.Errorf("asked %d times, woken %d times", asked.Load(), woken.Load())
		}
		expect(t, "collected late", o.settled("u", 1, slowly), "yes")
		expect(t, "stands while the call is repeated, once it is collected", o.settled("u", 1, slowly), "yes")
		pass(2 * time.Second)
		if asked.Load() != 2 || woken.Load() != 2 {
			t.Errorf("asked %d times, woken %d times", asked.Load(), woken.Load())
		}
		expect(t, "of another object", o.settled("v", 1, says("no", nil)), "pending")
		expect(t, "of another object", o.settled("v", 1, says("no", nil)), "no")
	})
}

func TestHungQuestionsTakeTheirOwnWorkersOnly(t *testing.T) {
	asking(t, 4, func(t *testing.T, o *outside, woken *atomic.Int32) {
		var running, most atomic.Int32
		counted := func(ctx context.Context) (any, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			return hangs(ctx)
		}
		for i := range 30 {
			expect(t, "hanging", o.settled(fmt.Sprint("u", i), 1, counted), "pending")
		}
		o.ask(question{"new", "identity"}, 1, client.ObjectKey{}, says("known", nil))
		synctest.Wait()
		got, answered := o.ask(question{"new", "identity"}, 1, client.ObjectKey{}, says("known", nil))
		if !answered || got.value != "known" {
			t.Error("another topic has no answer")
		}
		if most.Load() != 4 {
			t.Errorf("%d questions at once, want 4", most.Load())
		}
		pass(8*20*time.Second + time.Second)
		if woken.Load() != 31 {
			t.Errorf("%d were woken", woken.Load())
		}
		expect(t, "after its time", o.settled("u0", 1, counted), context.DeadlineExceeded.Error())
		for i := 1; i < 30; i++ {
			o.settled(fmt.Sprint("u", i), 1, counted)
		}
		pass(repliesKept + time.Minute)
		o.settled("last", 1, says(nil, nil))
		if len(o.inquiries) != 1 {
			t.Errorf("%d replies are kept of objects that are gone", len(o.inquiries))
		}
	})
}

func TestAnAnswerOfAnotherGenerationIsNotGiven(t *testing.T) {
	asking(t, 1, func(t *testing.T, o *outside, _ *atomic.Int32) {
		expect(t, "first", o.settled("u", 1, says("old", nil)), "pending")
		expect(t, "answered, but for the old spec", o.settled("u", 2, says("new", nil)), "pending")
		expect(t, "for the new spec", o.settled("u", 2, says("", nil)), "new")

		expect(t, "an error", o.settled("e", 1, says(nil, errors.New("down"))), "pending")
		expect(t, "an error", o.settled("e", 1, nil), "down")
		expect(t, "not that of the old spec", o.settled("e", 2, says("up", nil)), "pending")
		expect(t, "for the new spec", o.settled("e", 2, nil), "up")

		deaf := func(context.Context) (any, error) { pass(time.Second); return "old", nil }
		expect(t, "one that is being asked", o.settled("v", 1, deaf), "pending")
		expect(t, "one that waits for a worker", o.settled("w", 1, says("old", nil)), "pending")
		expect(t, "one that waits for a worker", o.settled("w", 2, says("new", nil)), "pending")
		for range 3 {
			expect(t, "only one at a time", o.settled("v", 2, says("new", nil)), "pending")
		}
		pass(time.Second)
		synctest.Wait()
		expect(t, "one that waited for a worker", o.settled("w", 2, nil), "new")
		expect(t, "nothing is left of the old one", o.settled("v", 2, says("new", nil)), "pending")
		expect(t, "for the new spec", o.settled("v", 2, nil), "new")
	})
}

// What is answered at once does not wait for all that hung before and is asked again; and that gets its turn, too.
func TestNewQuestionsDoNotWaitForAllThatHang(t *testing.T) {
	asking(t, 1, func(t *testing.T, o *outside, _ *atomic.Int32) {
		for i := range 10 {
			o.settled(fmt.Sprint("u", i), 1, hangs)
		}
		pass(10*20*time.Second + time.Second)
		for i := range 10 {
			for range 2 {
				expect(t, "hung", o.settled(fmt.Sprint("u", i), 1, hangs), context.DeadlineExceeded.Error())
			}
		}
		for i := range 10 {
			expect(t, "new", o.settled(fmt.Sprint("v", i), 1, says("yes", nil)), "pending")
		}
		pass(3 * 20 * time.Second)
		expect(t, "the first of them", o.settled("v0", 1, nil), "yes")
		waiting := 0
		for _, i := range o.inquiries {
			if i.at.IsZero() && i.cancel == nil {
				waiting++
			}
		}
		if waiting >= 19-4 {
			t.Errorf("%d wait", waiting)
		}
		pass(20 * 20 * time.Second)
		for i := range 10 {
			if i := o.inquiries[about(fmt.Sprint("u", i))]; i.at.IsZero() {
				t.Errorf("%s was not asked again", i.uid)
			}
		}
	})
}

// TestHungQuestionsOfOneNamespaceDelayNoOther: 200 hanging agents of a tenant leave workers for everybody else.
func TestHungQuestionsOfOneNamespaceDelayNoOther(t *testing.T) {
	asking(t, 8, func(t *testing.T, o *outside, _ *atomic.Int32) {
		var running, most atomic.Int32
		for i := range 200 {
			o.ask(about(fmt.Sprint("u", i)), 1, client.ObjectKey{Namespace: "hostile"}, func(ctx context.Context) (any, error) {
				most.Store(max(most.Load(), running.Add(1)))
				defer running.Add(-1)
				return hangs(ctx)
			})
		}
		synctest.Wait()
		expect(t, "of another namespace", o.settled("mine", 1, says("yes", nil)), "pending")
		expect(t, "of another namespace", o.settled("mine", 1, nil), "yes")
		pass(200 * 20 * time.Second)
		if most.Load() != 2 {
			t.Errorf("%d of one namespace at once, want 2", most.Load())
		}
		if n := len(o.inquiries); n != 201 {
			t.Fatalf("%d inquiries", n)
		}
		for _, i := range o.inquiries {
			if i.at.IsZero() {
				t.Errorf("%s was not asked", i.uid)
			}
		}
	})
}

// TestAChangedQuestionWaitsAsANewOne: of a repeated one that waits for a worker nothing but its place in the lane was kept.
func TestAChangedQuestionWaitsAsANewOne(t *testing.T) {
	billing := emptyTopic(8)
	o := &outside{topics: map[string]*topic{"billing": billing}}
	var all []*inquiry
	for _, name := range []string{"again a", "again b", "new c"} {
		i := &inquiry{question: about(name), again: strings.HasPrefix(name, "again")}
		all = append(all, i)
		billing.push(i)
	}
	o.disregard(all[1], 2, nil)
	var got []string
	for next, found := billing.next(); found; next, found = billing.next() {
		got = append(got, string(next.uid))
	}
	if want := []string{"new c", "again a", "again b"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAnAnswerStandsUntilTheNext(t *testing.T) {
	asking(t, 1, func(t *testing.T, o *outside, _ *atomic.Int32) {
		expect(t, "first", o.settled("u", 1, says("unknown", nil)), "pending")
		expect(t, "collected", o.settled("u", 1, nil), "unknown")
		expect(t, "while it is asked again", o.settled("u", 1, says("known", nil)), "unknown")
		expect(t, "after that", o.settled("u", 1, nil), "known")
		expect(t, "but not for another spec", o.settled("u", 2, says("unknown", nil)), "pending")
	})
}

func TestAnErrorIsGivenAgainUntilTheNextAnswer(t *testing.T) {
	asking(t, 1, func(t *testing.T, o *outside, _ *atomic.Int32) {
		soon := func(value any, err error) func(context.Context) (any, error) {
			return func(context.Context) (any, error) { pass(time.Second); return value, err }
		}
		expect(t, "first", o.settled("u", 1, soon(nil, errors.New("down"))), "pending")
		pass(2 * time.Second)
		expect(t, "collected", o.settled("u", 1, nil), "down")
		expect(t, "while it is asked again", o.settled("u", 1, soon("up", nil)), "down")
		expect(t, "while it is asked again", o.settled("u", 1, nil), "down")
		pass(2 * time.Second)
		expect(t, "after that", o.settled("u", 1, nil), "up")

		expect(t, "a panic", o.settled("p", 1, func(context.Context) (any, error) { panic("at the disco") }), "pending")
		expect(t, "is an error", o.settled("p", 1, nil), "the call has panicked: at the disco")
	})
}

func TestTheOutsideEndsWithTheManager(t *testing.T) {
	var after atomic.Int32
	asking(t, 1, func(_ *testing.T, o *outside, _ *atomic.Int32) {
		o.settled("u", 1, hangs)
		o.settled("v", 1, func(context.Context) (any, error) { after.Add(1); return nil, nil })
	})
	if after.Load() != 0 {
		t.Error("a question was asked after the end")
	}
	synctest.Test(t, func(t *testing.T) { // What is asked before the start is asked then.
		o := newOutside(1, time.Second, clock.RealClock{}, func(context.Context, client.ObjectKey) {})
		expect(t, "before the start", o.settled("u", 1, says("yes", nil)), "pending")
		expect(t, "before the start", o.settled("u", 1, nil), "pending")
		ctx, stop := context.WithCancel(t.Context())
		stop()
		_ = o.Start(ctx)
		expect(t, "after the end", o.settled("u", 1, nil), "pending")

		ctx, stop = context.WithCancel(t.Context())
		o = newOutside(1, time.Second, clock.RealClock{}, func(context.Context, client.ObjectKey) {})
		o.settled("u", 1, says("yes", nil))
		ended := make(chan error)
		go func() { ended <- o.Start(ctx) }()
		synctest.Wait()
		expect(t, "after the start", o.settled("u", 1, nil), "yes")
		stop()
		<-ended
	})
}

// A topic takes new questions and repeated ones in turn, each in the order in which they came.
func TestTurnsOfATopic(t *testing.T) {
	topic := emptyTopic(8)
	for _, name := range []string{"again a", "again b", "new c", "again d", "new e"} {
		topic.push(&inquiry{question: question{uid: types.UID(name)}, again: strings.HasPrefix(name, "again")})
	}
	var got []string
	for next, found := topic.next(); found; next, found = topic.next() {
		got = append(got, string(next.uid))
	}
	if want := []string{"new c", "again a", "new e", "again b", "again d"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Once a call has ended, nothing is kept of what it was made with, whether its reply is collected or not.
func TestACallThatHasEndedKeepsNothing(t *testing.T) {
	asking(t, 1, func(t *testing.T, o *outside, _ *atomic.Int32) {
		ask := func(uid string) weak.Pointer[corev1.Secret] {
			secret := &corev1.Secret{}
			o.settled(uid, 1, func(context.Context) (any, error) { return len(secret.Data), nil })
			return weak.Make(secret)
		}
		collected, left := ask("collected"), ask("left")
		expect(t, "the reply", o.settled("collected", 1, says(nil, nil)), "0")
		runtime.GC()
		if collected.Value() != nil || left.Value() != nil {
			t.Errorf("what calls were made with is kept: %t, %t", collected.Value() != nil, left.Value() != nil)
		}
	})
}

// An object that is gone collects nothing. What it asked for is asked all the same, once.
func TestWhatIsGoneIsForgotten(t *testing.T) {
	asking(t, 1, func(t *testing.T, o *outside, _ *atomic.Int32) {
		var made atomic.Int32
		soon := func(context.Context) (any, error) { pass(time.Second); made.Add(1); return "yes", nil }
		expect(t, "one that has an answer", o.settled("answered", 1, says("yes", nil)), "pending")
		expect(t, "one that is being asked", o.settled("asked", 1, soon), "pending")
		expect(t, "one that waits for a worker", o.settled("waits", 1, soon), "pending")
		for _, uid := range []types.UID{"answered", "asked", "waits", "unknown"} {
			o.forget(uid)
		}
		pass(3 * time.Second)
		synctest.Wait()
		if len(o.inquiries) > 0 || made.Load() != 2 {
			t.Errorf("%d replies are kept, and %d calls were made", len(o.inquiries), made.Load())
		}
	})
}

func TestTopicsReferToNoObjects(t *testing.T) {
	type release struct {
		ID    string
		At    time.Time
		Names []string
	}
	rejects := func(create func()) (rejected bool) {
		defer func() { rejected = recover() != nil }()
		create()
		return false
	}
	for name, tc := range map[string]struct {
		create func()
		want   bool
	}{
		"names and values": {func() { newTopic[[]release, bool]() }, false},
		"an object":        {func() { newTopic[corev1.Secret, bool]() }, true},
		"a pointer":        {func() { newTopic[*release, bool]() }, true},
		"a function":       {func() { newTopic[struct{ f func() }, bool]() }, true},
		"any":              {func() { newTopic[string, any]() }, true},
		"objects":          {func() { newTopic[string, []corev1.Secret]() }, true},
	} {
		if rejects(tc.create) != tc.want {
			t.Errorf("%s: rejected is not %t", name, tc.want)
		}
	}
}

func newTopic[Q, A any]() {
	NewTopic("test", func(context.Context, Q) (A, error) { return *new(A), nil })
}
