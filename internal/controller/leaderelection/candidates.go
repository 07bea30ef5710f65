// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/coordination/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/tenancy"
)

// endpoint is a pod, as the EndpointSlices of a Service have it: what routing goes by.
type endpoint struct {
	identity
	address, node, zone string
	ready               bool
}

// endpoints returns the pods behind a Service of the object, sorted by name. The cache has the slices of the operator's
// Services, to which Kubernetes copies the labels of the Service.
func (r *run) endpoints(ctx context.Context, service string) ([]endpoint, error) {
	svc := &corev1.Service{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.Obj.Namespace, Name: service}, svc); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !r.Owned(svc) {
		return nil, nil
	}
	list := &discoveryv1.EndpointSliceList{}
	err := r.Client.List(ctx, list, client.InNamespace(r.Obj.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service},
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		return nil, fmt.Errorf("listing the EndpointSlices of the Service %s: %w", service, err)
	}
	all := map[identity]endpoint{}
	for i := range list.Items {
		// Others may write slices with these labels; Kubernetes' own refer to the Service.
		if owner := metav1.GetControllerOfNoCopy(&list.Items[i]); owner == nil || owner.UID != svc.UID {
			continue
		}
		slice, err := engine.Whole(ctx, r.Live, &list.Items[i])
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		addEndpoints(all, slice)
	}
	return slices.SortedFunc(maps.Values(all), func(a, b endpoint) int { return strings.Compare(a.name, b.name) }), nil
}

// addEndpoints adds what a slice has. A pod with addresses of two families is in two slices.
func addEndpoints(all map[identity]endpoint, slice *discoveryv1.EndpointSlice) {
	for _, e := range slice.Endpoints {
		if e.TargetRef == nil || e.TargetRef.Kind != "Pod" {
			continue
		}
		x := endpoint{identity: identity{e.TargetRef.Name, string(e.TargetRef.UID)}}
		if was, known := all[x.identity]; known && slice.AddressType != discoveryv1.AddressTypeIPv4 {
			x = was
		} else if len(e.Addresses) > 0 {
			x.address = e.Addresses[0]
		}
		if e.NodeName != nil {
			x.node = *e.NodeName
		}
		if e.Zone != nil {
			x.zone = *e.Zone
		}
		x.ready = isReady(e.Conditions)
		all[x.identity] = x
	}
}

// isReady reports whether a pod is Ready. Somebody may have a Service publish pods that are not: these count as ready, but not as serving.
func isReady(c discoveryv1.EndpointConditions) bool {
	return c.Ready != nil && *c.Ready && (c.Serving == nil || *c.Serving)
}

// readPods reads the candidates from the API server, and those that the ledger names.
func (r *run) readPods(ctx context.Context, l ledger) ([]pod, error) {
	var all []pod
	newest := map[string]time.Time{}
	templates := map[identity]string{}
	selector := labels.SelectorFromSet(selectorOf(r.Obj))
	complete, err := tenancy.Each(ctx, r.Live, r.Obj.Namespace, &corev1.PodList{}, maxCandidates+1, func(p *corev1.Pod) {
		x := r.observed(p, selector)
		all = append(all, x)
		template := templateOf(p)
		templates[x.identity] = template
		if newest[template].Before(p.CreationTimestamp.Time) {
			newest[template] = p.CreationTimestamp.Time
		}
	}, client.MatchingLabelsSelector{Selector: selector})
	if err != nil {
		return nil, fmt.Errorf("listing the candidates: %w", err)
	}
	if !complete {
		return nil, errTooMany
	}
	for i := range all {
		all[i].template = newest[templates[all[i].identity]]
	}
	return r.addNamed(ctx, all, selector, l)
}

// addNamed adds the pods that the ledger and the status name, and that are not among those that were listed. Of these, only what has led
// for this object may be changed or deleted: the ledger alone proves nothing.
func (r *run) addNamed(ctx context.Context, all []pod, selector labels.Selector, l ledger) ([]pod, error) {
	for _, id := range []identity{l.holder, l.revoking, r.led} {
		if id.name == "" || slices.ContainsFunc(all, func(p pod) bool { return p.identity == id }) {
			continue
		}
		p := &corev1.Pod{}
		err := r.Live.Get(ctx, client.ObjectKey{Namespace: r.Obj.Namespace, Name: id.name}, p)
		switch {
		case apierrors.IsNotFound(err) || err == nil && (string(p.UID) != id.uid || id != r.led && !r.hasMark(p)):
		case err != nil:
			return nil, fmt.Errorf("reading the pod %s: %w", id.name, err)
		default:
			all = append(all, r.observed(p, selector))
		}
	}
	return all, nil
}

// hasMark reports whether a pod has a mark of this object. Users who can write it may patch the pod, and so end it by other
// means. Marks of earlier versions have no UID.
func (r *run) hasMark(p *corev1.Pod) bool {
	by := p.Annotations[names.LeaderMarkBy(r.Obj.Name)]
	return parseMark(p.Annotations[names.LeaderMark(r.Obj.Name)]) != mark{} && (by == "" || by == string(r.Obj.UID))
}

// publishing is how long Kubernetes may take to publish a pod in an EndpointSlice.
const publishing = 10 * time.Second

// placed reports whether the zones of the candidates are known, if they count: they are published with the pods.
func (r *run) placed(v view) bool {
	if !slices.ContainsFunc(r.Obj.Spec.Preferred, func(p v1alpha1.Preference) bool { return p.Zone != "" }) {
		return true
	}
	return !slices.ContainsFunc(v.pods, func(p pod) bool {
		late := p.since
		if created := r.Obj.CreationTimestamp.Time; late.Before(created) {
			late = created
		}
		return p.candidate() && p.ready && !r.published(p.identity) && v.now.Before(late.Add(publishing))
	})
}

// published reports whether a pod is in the EndpointSlices of all candidates, which report its changes.
func (r *run) published(id identity) bool {
	return slices.ContainsFunc(r.members, func(e endpoint) bool { return e.identity == id })
}

// templateOf identifies the template that a pod was made from, among those of its workload.
func templateOf(p *corev1.Pod) string {
	for _, key := range []string{"pod-template-hash", "controller-revision-hash"} {
		if hash := p.Labels[key]; hash != "" {
			return hash
		}
	}
	return ""
}

// observed returns the relevant part of a pod.
func (r *run) observed(p *corev1.Pod, selector labels.Selector) pod {
	label := labelOf(r.Obj)
	x := pod{
		identity: identity{p.Name, string(p.UID)}, version: p.ResourceVersion,
		labelled: p.Labels[label.Key] == label.Value, mark: parseMark(p.Annotations[names.LeaderMark(r.Obj.Name)]),
		selected: selector.Matches(labels.Set(p.Labels)) && !ofJob(p),
		ended:    p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed,
		since:    p.CreationTimestamp.Time,
	}
	if p.DeletionTimestamp != nil {
		x.deleted = p.DeletionTimestamp.Time
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			x.ready, x.since = c.Status == corev1.ConditionTrue, c.LastTransitionTime.Time
		}
	}
	x.score = r.score(p)
	return x
}

// ofJob reports whether a pod belongs to a Job: it ends by itself.
func ofJob(p *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(p)
	return owner != nil && owner.Kind == "Job" && strings.HasPrefix(owner.APIVersion, "batch/")
}

// score adds up the weights of the preferences that select a pod.
func (r *run) score(p *corev1.Pod) (sum int64) {
	zone := ""
	if i := slices.IndexFunc(r.members, func(e endpoint) bool { return e.uid == string(p.UID) }); i >= 0 {
		zone = r.members[i].zone
	}
	for _, pref := range r.Obj.Spec.Preferred {
		if prefers(pref, p, zone) {
			sum += int64(pref.Weight)
		}
	}
	return sum
}

func prefers(pref v1alpha1.Preference, p *corev1.Pod, zone string) bool {
	switch {
	case pref.PodName != "":
		return pref.PodName == p.Name
	case pref.Zone != "":
		return pref.Zone == zone
	}
	for k, v := range pref.PodLabels {
		if p.Labels[k] != string(v) {
			return false
		}
	}
	return len(pref.PodLabels) > 0
}

// String is the annotation that has the mark.
func (m mark) String() string { return string(m.kind) + " " + strconv.FormatInt(m.epoch, 10) }

// parseMark is the reverse of String. What is no mark counts as none.
func parseMark(text string) mark {
	kind, number, _ := strings.Cut(text, " ")
	epoch, err := strconv.ParseInt(number, 10, 64)
	if err != nil || epoch < 1 || epoch > maxEpoch || !slices.Contains([]markKind{markLeader, markFenced, markFormer}, markKind(kind)) {
		return mark{}
	}
	return mark{markKind(kind), epoch}
}
