// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/acme/platform-operator/internal/names"
)

// world is what a controller in a bubble works on: the objects of a kind, of which those with a name that begins with "large" are cut.
type world struct {
	queue *queue
	// work is what a run of an object does after it has its places.
	work func(context.Context, reconcile.Request) error

	mu      sync.Mutex
	runs    map[reconcile.Request]int // that have worked
	tries   int                       // runs, also those that found no place
	working map[string]int            // by namespace
	most    map[string]int
}

// controlled runs a controller in a bubble, of controller-runtime, with a fake clock.
func controlled(t *testing.T, workers int, work func(context.Context, reconcile.Request) error, test func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{work: work, queue: newQueue(workers), runs: map[reconcile.Request]int{}, working: map[string]int{}, most: map[string]int{}}
		stop := w.start(t, workers)
		test(t, w)
		stop()
	})
}

// start starts a controller, and returns what stops it.
func (w *world) start(t *testing.T, workers int) (stop func()) {
	r := &runner[*thing]{Config: Config[*thing]{Name: "thing"}.withDefaults(), live: w}
	o := controllerOptions(w.queue, workers, r.RetryMax)
	o.SkipNameValidation = new(true)
	o.Reconciler = w.queue.reconciler("thing", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		w.mu.Lock()
		w.tries++
		w.mu.Unlock()
		obj := &thing{}
		obj.Name, obj.Namespace = req.Name, req.Namespace
		if strings.HasPrefix(req.Name, "large") {
			obj.Annotations = map[string]string{names.AnnotationCut: "true"}
			return r.Reconcile(ctx, obj)
		}
		return resultOf(ctx, r.Clock, Outcome{}, client.IgnoreNotFound(w.Get(ctx, req.NamespacedName, nil)))
	}))
	c, err := controller.NewUnmanaged("thing", o)
	if err != nil {
		t.Fatal(err)
	}
	type queueOf = workqueue.TypedRateLimitingInterface[reconcile.Request]
	if err := c.Watch(source.Func(func(context.Context, queueOf) error { return nil })); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Start(ctx) }()
	synctest.Wait()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// Get implements client.Reader: it is the work of a run.
func (w *world) Get(ctx context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	w.mu.Lock()
	w.runs[reconcile.Request{NamespacedName: key}]++
	w.working[key.Namespace]++
	w.most[key.Namespace] = max(w.most[key.Namespace], w.working[key.Namespace])
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.working[key.Namespace]--
		w.mu.Unlock()
	}()
	if err := w.work(ctx, reconcile.Request{NamespacedName: key}); err != nil {
		return err
	}
	return apierrors.NewNotFound(pods, key.Name) // so that nothing is left to do
}

// List implements client.Reader.
func (w *world) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// add adds requests, of which text has several with %d.
func (w *world) add(n int, text string) {
	for i := range n {
		w.queue.Add(request(fmt.Sprintf(text, i)))
	}
}

// ran is how many runs of an object have worked.
func (w *world) ran(item string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.runs[request(item)]
}

func (w *world) tried() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tries
}

// long is work for so long.
func long(d time.Duration, err error) func(context.Context, reconcile.Request) error {
	return func(context.Context, reconcile.Request) error {
		pass(d)
		return err
	}
}

// retries is how often something that fails all the time is tried in an hour: with twice the delay each time, up to five minutes.
const retries = 25

func TestLargeObjectsThatFailBackOff(t *testing.T) {
	const many = 20
	controlled(t, many, long(time.Second, errors.New("over quota")), func(t *testing.T, w *world) {
		w.add(many, "a/large-%d")
		pass(time.Hour)
		for i := range many {
			if n := w.ran(fmt.Sprint("a/large-", i)); n < 10 || n > retries {
				t.Errorf("large-%d was tried %d times", i, n)
			}
		}
		if n := w.tried(); n > 2*many*retries { // each waits for a place once at most
			t.Errorf("%d runs", n)
		}
	})
}

func TestConflictsBackOff(t *testing.T) {
	late := apierrors.NewConflict(pods, "p", errors.New("late"))
	controlled(t, 1, long(0, late), func(t *testing.T, w *world) {
		w.add(1, "a/%d")
		pass(2 * firstRetry)
		if n := w.tried(); n < 2 {
			t.Error("the first one is not repeated soon")
		}
		pass(time.Hour)
		if n := w.tried(); n > retries {
			t.Errorf("%d runs", n)
		}
	})
}

// A namespace with much to do leaves workers for others. Cluster-scoped objects are no tenant's.
func TestShareOfWorkers(t *testing.T) {
	const many, each = 20, 50 * time.Second
	controlled(t, many, long(each, nil), func(t *testing.T, w *world) {
		w.add(many, "a/%d")
		w.add(many, "b/%d")
		synctest.Wait()
		w.add(1, "c/%d")
		synctest.Wait()
		if w.ran("c/0") != 1 {
			t.Error("an object of another namespace waits")
		}
		pass(many * each)
		for i := range many {
			for _, item := range []string{fmt.Sprint("a/", i), fmt.Sprint("b/", i)} {
				if w.ran(item) != 1 {
					t.Errorf("%s has %d runs", item, w.ran(item))
				}
			}
		}
		if w.most["a"] != many/4 || w.most["b"] != many/4 {
			t.Errorf("at once: %v", w.most)
		}
		w.add(many, "/%d")
		synctest.Wait()
		if w.working[""] != many {
			t.Errorf("%d cluster-scoped objects at once", w.working[""])
		}
	})
}

// Large objects have their places in turns of namespaces, no small one waits for them, and nothing polls.
func TestPlacesOfLargeObjects(t *testing.T) {
	const many = 8
	controlled(t, many, long(time.Second, nil), func(t *testing.T, w *world) {
		w.add(many, "a/large-%d")
		synctest.Wait()
		w.add(1, "b/large-%d")
		w.add(1, "c/large-%d")
		w.add(1, "a/small-%d")
		synctest.Wait()
		if w.ran("b/large-0") != 1 || w.ran("a/small-0") != 1 || w.ran("c/large-0") != 0 {
			t.Error("others wait for the large ones of a namespace")
		}
		pass(1100 * time.Millisecond)
		synctest.Wait()
		if w.ran("c/large-0") != 1 {
			t.Error("the third namespace has not had its turn")
		}
		pass(time.Minute)
		for i := range many {
			if item := fmt.Sprint("a/large-", i); w.ran(item) != 1 {
				t.Errorf("%s has %d runs", item, w.ran(item))
			}
		}
		if n := w.tried(); n > 2*(many+2)+1 { // once without a place, once with one
			t.Errorf("%d runs", n)
		}
		if len(w.queue.large)+len(w.queue.keeps) > 0 {
			t.Errorf("%d places are kept", len(w.queue.large))
		}
	})
}

// Who has its place among the large ones comes first, however much its namespace has to do and has in work: others wait for that place.
func TestAPlaceIsUsedAtOnce(t *testing.T) {
	const many = 20
	controlled(t, many, func(_ context.Context, item reconcile.Request) error {
		pass(map[bool]time.Duration{true: time.Second, false: time.Minute}[strings.HasPrefix(item.Name, "large")])
		return nil
	}, func(t *testing.T, w *world) {
		w.add(2, "a/large-%d")
		w.add(2, "b/large-%d")
		synctest.Wait()
		w.add(many, "a/slow-%d")
		w.add(many, "b/slow-%d")
		w.add(2, "a/large-%d") // those that wait for a place are touched
		w.add(2, "b/large-%d")
		synctest.Wait()
		w.add(1, "c/large-%d")
		pass(4 * time.Second)
		if w.ran("c/large-0") != 1 {
			t.Errorf("a place stands idle: %v", w.runs)
		}
		if w.most["a"] > many/4+1 || w.most["b"] > many/4+1 {
			t.Errorf("at once: %v", w.most)
		}
		pass(time.Hour)
		if q := w.queue; len(q.large)+len(q.keeps)+len(q.turns.first)+len(q.turns.in)+q.turns.ready > 0 || len(q.turns.placed) > 0 {
			t.Errorf("kept: %v %v %v %v %d %v", q.large, q.keeps, q.turns.first, q.turns.in, q.turns.ready, q.turns.placed)
		}
	})
}

// What ends with its places, or while it waits for one, gives them back: the next operator of the process has them.
func TestPlacesEndWithTheController(t *testing.T) {
	controlled(t, 4, long(time.Second, nil), func(_ *testing.T, w *world) {
		w.add(9, "a/large-%d")
		w.add(9, "b/large-%d")
		synctest.Wait()
	})
	controlled(t, 4, long(time.Second, nil), func(t *testing.T, w *world) {
		w.add(1, "a/large-%d")
		w.add(1, "b/large-%d")
		synctest.Wait()
		if w.ran("a/large-0") != 1 || w.ran("b/large-0") != 1 {
			t.Error("a place is lost")
		}
	})
}

// An object whose run reads much rests, however often it is touched, and nobody else does.
func TestARunThatReadsMuchIsPaced(t *testing.T) {
	const much = 10 * restPer
	transport := CountRequests(answering(much))
	controlled(t, 4, func(ctx context.Context, item reconcile.Request) error {
		if item.Namespace == "a" {
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://api/pods", http.NoBody)
			res, err := transport.RoundTrip(req)
			if err != nil {
				return err
			}
			defer func() { _ = res.Body.Close() }()
			_, err = io.Copy(io.Discard, res.Body)
			return err
		}
		return nil
	}, func(t *testing.T, w *world) {
		for range 290 {
			w.add(1, "a/%d")
			w.add(1, "b/%d")
			pass(100 * time.Millisecond)
		}
		if a, b := w.ran("a/0"), w.ran("b/0"); a != 3 || b != 290 {
			t.Errorf("%d runs in 29 s of one that reads for 10 s, %d of another", a, b)
		}
		pass(time.Minute)
		if a := w.ran("a/0"); a != 4 {
			t.Errorf("%d runs: the last touch is lost", a)
		}
	})
}

// A run that reads a little rests as long as that takes, and one that reads all that there is not for ever.
func TestPaceGoesByWhatIsRead(t *testing.T) {
	for read, rests := range map[int64]time.Duration{
		restFrom: 0, restPer / 2: time.Second / 2, restPer: time.Second, 1000 * restPer: maxRest,
	} {
		synctest.Test(t, func(t *testing.T) {
			q := begun(1)
			defer q.ShutDown()
			r := &run{queue: q, item: request("a/1")}
			r.read.Add(read)
			q.ran(r)
			if got := max(0, q.rest(r.item)); got != rests {
				t.Errorf("after %d bytes it rests for %s, want %s", read, got, rests)
			}
		})
	}
}

// answering is an API server whose answers have so many bytes.
type answering int64

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(io.LimitReader(zeros{}, int64(a)))}, nil
}

type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestAChainOfPlacesPassesOnce has one worker and one tenant with large objects that take the place from each other.
func TestAChainOfPlacesPassesOnce(t *testing.T) {
	controlled(t, 1, func(context.Context, reconcile.Request) error {
		pass(time.Second)
		return nil
	}, func(t *testing.T, w *world) {
		held := large.Ask("a", nil)
		w.add(9, "a/large-%d")
		synctest.Wait()
		held.Leave()
		synctest.Wait()
		w.add(3, "b/small-%d")
		pass(7 * time.Second)
		for _, small := range []string{"b/small-0", "b/small-1", "b/small-2"} {
			if w.ran(small) != 1 {
				t.Errorf("%s waits behind all large objects of another namespace: %v", small, w.runs)
			}
		}
		pass(time.Hour)
	})
}
