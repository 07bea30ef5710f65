// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"slices"
	"sync"
	"time"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/acme/platform-operator/internal/names"
)

// unservedAfter is how old a pod is when a scheduler would have looked at it. Pods that wait for long are looked at once a minute at
// least.
const unservedAfter = time.Minute

// maxSchedulerName is the most bytes that the name of a scheduler has in a SchedulerProfile. The API server does not validate the name
// in a pod, which may have as many bytes as the pod.
const maxSchedulerName = 63

// schedulerNameOf returns spec.schedulerName of a pod, cut if it is longer than any profile's name. A name that is cut ends in "…", so
// that it equals no profile's name.
func schedulerNameOf(p *corev1.Pod) string { return names.Clip(p.Spec.SchedulerName, maxSchedulerName) }

// row is what is known of a pod that has no node. There may be many, so that what they have in common is held once. It has no text
// that a tenant may make longer than a name.
type row struct {
	namespace, scheduler unique.Handle[string]
	name                 string
	// created is in seconds, as the API server has it.
	created int64
	// seen: a scheduler has looked at it, or it is not to be scheduled yet.
	seen bool
	// told is the reason that its last event has.
	told string
}

// waiting are pods that have no node and name another scheduler than the default one. It is the store of a reflector, and keeps only
// what is needed of a pod.
type waiting struct {
	mu   sync.Mutex
	rows map[types.UID]row
}

func newWaiting() *waiting { return &waiting{rows: map[types.UID]row{}} }

func rowOf(p *corev1.Pod) row {
	return row{
		namespace: unique.Make(p.Namespace), name: p.Name, scheduler: unique.Make(schedulerNameOf(p)), created: p.CreationTimestamp.Unix(),
		seen: len(p.Spec.SchedulingGates) > 0 || !p.DeletionTimestamp.IsZero() || isScheduled(p),
	}
}

// isScheduled reports whether a scheduler has looked at a pod.
func isScheduled(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled })
}

// pruned returns a pod with what rowOf reads, in at most a KiB: a reflector holds all pods of a list before it hands them over.
func pruned(p *corev1.Pod) *corev1.Pod {
	out := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace, Name: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion, CreationTimestamp: p.CreationTimestamp,
			DeletionTimestamp: p.DeletionTimestamp,
		},
		Spec: corev1.PodSpec{SchedulerName: schedulerNameOf(p)},
	}
	if len(p.Spec.SchedulingGates) > 0 {
		out.Spec.SchedulingGates = []corev1.PodSchedulingGate{{}}
	}
	if isScheduled(p) {
		out.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled}}
	}
	return out
}

func (w *waiting) put(o any) {
	if p, is := o.(*corev1.Pod); is {
		next := rowOf(p)
		next.told = w.rows[p.UID].told
		w.rows[p.UID] = next
	}
}

// Add implements cache.ReflectorStore.
func (w *waiting) Add(o any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.put(o)
	return nil
}

// Update implements cache.ReflectorStore.
func (w *waiting) Update(o any) error { return w.Add(o) }

// Delete implements cache.ReflectorStore. A pod that has got a node is deleted from what is watched.
func (w *waiting) Delete(o any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p, is := o.(*corev1.Pod); is {
		delete(w.rows, p.UID)
	}
	return nil
}

// Replace implements cache.ReflectorStore.
func (w *waiting) Replace(all []any, _ string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	former := w.rows
	w.rows = make(map[types.UID]row, len(all))
	for _, o := range all {
		w.put(o)
		if p, is := o.(*corev1.Pod); is && former[p.UID].told != "" {
			next := w.rows[p.UID]
			next.told = former[p.UID].told
			w.rows[p.UID] = next
		}
	}
	return nil
}

// Resync implements cache.ReflectorStore.
func (*waiting) Resync() error { return nil }

// unserved reports whether no scheduler has looked at a pod that is old enough.
func (r row) unserved(now time.Time) bool {
	return !r.seen && now.Sub(time.Unix(r.created, 0)) >= unservedAfter
}

// due returns at most eachSecond pods that no scheduler looks at, and that have not been told so for the reason that there is now. Namespaces
// take turns, so that the pods of one do not delay the event of another's.
func (w *waiting) due(now time.Time, reason func(scheduler string) string) map[types.UID]row {
	w.mu.Lock()
	defer w.mu.Unlock()
	byNamespace := map[unique.Handle[string]][]types.UID{}
	for uid, r := range w.rows {
		// More than these of a namespace are never needed.
		if len(byNamespace[r.namespace]) < eachSecond && r.unserved(now) && r.told != reason(r.scheduler.Value()) {
			byNamespace[r.namespace] = append(byNamespace[r.namespace], uid)
		}
	}
	out := map[types.UID]row{}
	for turn := range eachSecond {
		for _, uids := range byNamespace {
			if turn < len(uids) && len(out) < eachSecond {
				out[uids[turn]] = w.rows[uids[turn]]
			}
		}
	}
	return out
}

// tell notes the reason of the last event of a pod.
func (w *waiting) tell(uid types.UID, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r, still := w.rows[uid]; still {
		r.told = reason
		w.rows[uid] = r
	}
}

// tally is how many pods wait for a scheduler.
type tally struct {
	pending, unserved int32
	oldest            time.Time
}

// count counts the pods by the scheduler that they name.
func (w *waiting) count(now time.Time) map[string]tally {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]tally{}
	for _, r := range w.rows {
		t := out[r.scheduler.Value()]
		t.pending++
		if r.unserved(now) {
			t.unserved++
		}
		if created := time.Unix(r.created, 0); t.oldest.IsZero() || created.Before(t.oldest) {
			t.oldest = created
		}
		out[r.scheduler.Value()] = t
	}
	return out
}
