// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"context"
	"encoding/json"
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
)

// foreign is a pod that names a scheduler, of the given age.
func foreign(uid, scheduler string, age time.Duration, with ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: uid, UID: types.UID(uid), CreationTimestamp: metav1.NewTime(noon.Add(-age))}}
	p.Spec.SchedulerName = scheduler
	for _, w := range with {
		w(p)
	}
	return p
}

func scheduled(status corev1.ConditionStatus) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: status}}
	}
}

func TestDue(t *testing.T) {
	w := newWaiting()
	for _, p := range []*corev1.Pod{
		foreign("old", "nobody", time.Minute), foreign("young", "nobody", 59*time.Second),
		foreign("seen", "volcano", time.Hour, scheduled(corev1.ConditionFalse)),
		foreign("gated", "nobody", time.Hour, func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "a"}} }),
		foreign("ends", "nobody", time.Hour, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: noon} }),
	} {
		if err := w.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	reason := func(string) string { return EventNoSuchScheduler }
	due := func(now time.Time) (all []string) {
		for uid := range w.due(now, reason) {
			all = append(all, string(uid))
		}
		return all
	}
	if diff := cmp.Diff([]string{"old"}, due(noon)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	w.tell("old", EventNoSuchScheduler)
	if diff := cmp.Diff([]string{"young"}, due(noon.Add(time.Second))); diff != "" {
		t.Errorf("one is reported twice, or one that has become old is not; -want +got:\n%s", diff)
	}
	// What was reported is not forgotten when the pod changes, or all are listed again.
	if err := w.Update(foreign("old", "nobody", time.Minute)); err != nil || len(due(noon)) > 0 {
		t.Errorf("it is reported again after a change: %v", err)
	}
	if err := w.Replace([]any{foreign("old", "nobody", time.Minute)}, ""); err != nil || len(due(noon)) > 0 || len(w.rows) != 1 {
		t.Errorf("it is reported again after a list: %v", err)
	}
	reason = func(string) string { return EventNotServing }
	if diff := cmp.Diff([]string{"old"}, due(noon)); diff != "" {
		t.Errorf("another reason is not reported; -want +got:\n%s", diff)
	}
	if err := w.Delete(foreign("old", "nobody", time.Minute)); err != nil || len(w.rows) > 0 {
		t.Errorf("a pod that has a node is kept: %v", err)
	}
}

func TestDueAtOnce(t *testing.T) {
	w := newWaiting()
	for i := range 100 {
		_ = w.Add(foreign(fmt.Sprint(i), "nobody", time.Hour)) // it never fails
	}
	if n := len(w.due(noon, func(string) string { return EventNoSuchScheduler })); n != eachSecond {
		t.Errorf("%d pods are reported at once", n)
	}
}

// TestDueInTurns: a namespace with a thousand pods does not keep another one waiting.
func TestDueInTurns(t *testing.T) {
	w := newWaiting()
	for i := range 1000 {
		_ = w.Add(foreign(fmt.Sprint(i), "nobody", time.Hour)) // it never fails
	}
	_ = w.Add(foreign("neighbour", "nobody", time.Minute, func(p *corev1.Pod) { p.Namespace = "neighbour" }))
	due := w.due(noon, func(string) string { return EventNoSuchScheduler })
	if _, is := due["neighbour"]; !is || len(due) != eachSecond {
		t.Errorf("%d pods are reported at once, among them the neighbour's: %t", len(due), is)
	}
}

func TestReasonFor(t *testing.T) {
	all := []v1alpha1.SchedulerProfile{*named("gpu")}
	if got := reasonFor(all, "selective") + " " + reasonFor(all, "other"); got != EventNotServing+" "+EventNoSuchScheduler {
		t.Error(got)
	}
}

func TestCount(t *testing.T) {
	w := newWaiting()
	for _, p := range []*corev1.Pod{
		foreign("a", "one", time.Hour), foreign("b", "one", time.Second), foreign("c", "one", 2*time.Hour, scheduled(corev1.ConditionFalse)), foreign("d", "two", 0),
	} {
		_ = w.Add(p) // it never fails
	}
	want := map[string]tally{"one": {3, 1, noon.Add(-2 * time.Hour)}, "two": {1, 0, noon}}
	if diff := cmp.Diff(want, w.count(noon), cmp.AllowUnexported(tally{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestWaitingIsSmall: 10,000 pods that wait for another scheduler, each with much in it, take less than 5 MiB.
func TestWaitingIsSmall(t *testing.T) {
	heap := func() int64 {
		goruntime.GC()
		s := goruntime.MemStats{}
		goruntime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	w := newWaiting()
	before := heap()
	for i := range 10_000 {
		p := foreign(fmt.Sprintf("00000000-0000-0000-0000-%012d", i), "volcano", time.Hour)
		p.Annotations = map[string]string{"large": string(make([]byte, 4096))}
		_ = w.Add(pruned(p)) // it never fails
	}
	grown := heap() - before
	goruntime.KeepAlive(w)
	t.Logf("10,000 pods take %d KiB", grown>>10)
	if grown > 5<<20 {
		t.Errorf("10,000 pods take %d bytes", grown)
	}
}

// TestWhatIsKeptOfAPod: of a pod with a long text in each field, no more is kept than what the API server bounds and a scheduler's
// name, however long it is.
func TestWhatIsKeptOfAPod(t *testing.T) {
	full := &corev1.Pod{}
	testenv.Fill(&full.Spec, strings.Repeat("x", 10<<10))
	testenv.Fill(&full.Status, strings.Repeat("x", 10<<10))
	for range 8 {
		full.Spec.SchedulingGates = append(full.Spec.SchedulingGates, full.Spec.SchedulingGates...)
		full.Status.Conditions = append(full.Status.Conditions, full.Status.Conditions...)
	}
	full.Status.Conditions[0].Type = corev1.PodScheduled
	text, err := json.Marshal(pruned(full))
	if err != nil || len(text) > 1024 {
		t.Errorf("%d bytes are kept: %v", len(text), err)
	}
	w := newWaiting()
	_ = w.Add(full) // it never fails
	for name := range w.count(noon) {
		if len(name) > 80 {
			t.Errorf("%d bytes are kept of the scheduler's name", len(name))
		}
	}
}

// TestPrunedIsTheSame: what is left out of a pod changes nothing.
func TestPrunedIsTheSame(t *testing.T) {
	for name, p := range map[string]*corev1.Pod{
		"waits":      foreign("a", "nobody", time.Minute),
		"longest":    foreign("a", strings.Repeat("x", 63), time.Minute),
		"too long":   foreign("a", strings.Repeat("x", 64), time.Minute),
		"looked at":  foreign("a", "volcano", time.Minute, scheduled(corev1.ConditionFalse)),
		"only ready": foreign("a", "volcano", 0, func(p *corev1.Pod) { p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady}} }),
		"gated":      foreign("a", "nobody", 0, func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "a"}, {Name: "b"}} }),
		"ends":       foreign("a", "nobody", 0, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: noon} }),
	} {
		if rowOf(p) != rowOf(pruned(p)) {
			t.Errorf("%s: %v, and pruned %v", name, rowOf(p), rowOf(pruned(p)))
		}
	}
}

// TestACutNameIsNobodys: a name that is too long for a profile does not become the name of one when it is cut.
func TestACutNameIsNobodys(t *testing.T) {
	longest := strings.Repeat("x", 63)
	profile := *named("gpu")
	profile.Spec.Profiles = []v1alpha1.Profile{{SchedulerName: longest}}
	for name, want := range map[string]string{longest: EventNotServing, longest + "x": EventNoSuchScheduler} {
		if got := reasonFor([]v1alpha1.SchedulerProfile{profile}, rowOf(foreign("a", name, 0)).scheduler.Value()); got != want {
			t.Errorf("a pod that names a scheduler of %d characters: %s", len(name), got)
		}
	}
}

// TestPagesThatExpire has the pages of a list expire while it is read: the reflector must begin again, and take no part for the whole.
func TestPagesThatExpire(t *testing.T) {
	const pods = 3 * pageSize
	client := fake.NewClientset()
	client.PrependReactor("list", "pods", func(action kubetesting.Action) (bool, runtime.Object, error) {
		o := action.(kubetesting.ListActionImpl).ListOptions
		if o.Limit != 0 && o.Continue != "" {
			return true, nil, apierrors.NewResourceExpired("")
		}
		list := &corev1.PodList{Items: make([]corev1.Pod, pods)}
		if o.Limit != 0 {
			list.Items, list.Continue = list.Items[:o.Limit], "more"
		}
		return true, list, nil
	})
	source := toolscache.ToListerWatcherWithContext((&unserved{pods: client}).source())
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return source.ListWithContext(ctx, o)
	})
	pages.PageSize = pageSize
	if list, _, err := pages.List(t.Context(), metav1.ListOptions{ResourceVersion: "0"}); !apierrors.IsResourceExpired(err) {
		t.Errorf("the list is %v, %v", list, err)
	}
}
