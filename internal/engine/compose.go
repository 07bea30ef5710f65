// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/names"
)

// neverVersion is a resourceVersion that no object has: etcd's first revision is the empty store's. An object
// that is applied with it is created if it does not exist, and rejected with a conflict if it does, so that no
// existing object is adopted unseen, however old the cache.
const neverVersion = "1"

// intent is the wanted state of an object.
type intent interface {
	runtime.ApplyConfiguration
	GetKind() *string
	GetAPIVersion() *string
	GetName() *string
	GetNamespace() *string
}

// applyConfiguration is any typed apply configuration of client-go.
type applyConfiguration[A any] interface {
	intent
	WithLabels(map[string]string) A
	WithAnnotations(map[string]string) A
	WithOwnerReferences(...*metav1ac.OwnerReferenceApplyConfiguration) A
}

// Child is one object that has to exist.
type Child struct {
	intent  intent
	key     client.ObjectKey
	newLive func() client.Object
	extract func(live client.Object, manager string) (any, error)
	mark    func(labels, annotations map[string]string, owner *metav1ac.OwnerReferenceApplyConfiguration)
	adopt   bool
	replace bool
	exact   bool
	later   bool
}

// String names the child in messages.
func (c Child) String() string { return c.identity().String() }

func (c Child) identity() identity { return identity{reflect.TypeOf(c.newLive()), c.key} }

// liveObject is the pointer type PL of the struct type L.
type liveObject[L any] interface {
	*L
	client.Object
}

// NewChild wraps a typed apply configuration. The second argument is client-go's Extract function of
// the same type, for instance appsv1ac.ExtractDeployment. It rounds amounts of resources as the API server does.
func NewChild[L any, PL liveObject[L], A applyConfiguration[A]](intent A, extract func(PL, string) (A, error)) Child {
	asStored(intent)
	c := Child{intent: intent, newLive: func() client.Object { return PL(new(L)) }}
	if n := intent.GetName(); n != nil {
		c.key.Name = *n
	}
	if ns := intent.GetNamespace(); ns != nil {
		c.key.Namespace = *ns
	}
	c.extract = func(live client.Object, manager string) (any, error) { return extract(live.(PL), manager) }
	c.mark = func(l, a map[string]string, o *metav1ac.OwnerReferenceApplyConfiguration) {
		intent.WithLabels(l)
		intent.WithAnnotations(a)
		if o != nil {
			intent.WithOwnerReferences(o)
		}
	}
	return c
}

// OrAdopt allows, if ok, to adopt an object of the wanted name that is not the owner's.
func (c Child) OrAdopt(ok bool) Child {
	c.adopt = ok
	return c
}

// OrReplace allows to delete a child and create it again if its immutable fields differ from the intent. It is
// for objects without state of their own.
func (c Child) OrReplace() Child {
	c.replace = true
	return c
}

// IfUnchanged applies a child to the very version that the run has read first, else not at all, and the run is repeated: what is
// wanted was derived from it, for instance because others may take fields of it.
func (c Child) IfUnchanged() Child {
	c.exact = true
	return c
}

// Later leaves a child as it is, or does not create it: it is only checked that no other owner has its name. It is for what a later
// run creates, after work that would be in vain without it.
func (c Child) Later() Child {
	c.later = true
	return c
}

// Compose gives what a step runs that makes the cluster hold exactly the given children: each is applied unless it is already as
// wanted, and what was made for the object earlier and is not wanted any more is deleted. The function gives the
// complete list at every run.
//
// The order of the list is the order of the work, so a kind lists what removes rights before what grants them.
// A child that cannot be changed now, because it is being deleted, is rejected, or belongs to another owner,
// does not stop the others: all are attempted, and the outcome is the worst one, with a message that names
// each.
//
// Of a type of which a wanted child is not in place, nothing is deleted: it may be what the missing one stands in for.
// A kind that exchanges a child for one of another type keeps the old one in the list until the new one is there.
func (s Scope[T]) Compose(desired func() ([]Child, error)) func(context.Context) (Outcome, error) {
	return func(ctx context.Context) (Outcome, error) {
		children, err := desired()
		if err != nil {
			return Outcome{}, err
		}
		all, keep, held := troubles{}, map[identity]bool{}, map[reflect.Type]bool{}
		for _, c := range children {
			out, err := s.attempt(ctx, c)
			all.add(out, err)
			what := c.identity()
			keep[what] = true
			held[what.goType] = held[what.goType] || err != nil || !out.GoesOn()
		}
		all.add(Done(), s.prune(ctx, keep, held))
		return all.outcome()
	}
}

// troubles collects what prevents a Compose from being done.
type troubles struct {
	outs []Outcome
	errs []error
}

func (t *troubles) add(out Outcome, err error) {
	switch {
	case err != nil:
		t.errs = append(t.errs, err)
	case !out.GoesOn():
		t.outs = append(t.outs, out)
	}
}

// outcome returns the worst outcome: an error, else a block, else a wait. Lost races are returned only if
// nothing unexpected has happened besides them.
func (t *troubles) outcome() (Outcome, error) {
	if unexpected := slices.DeleteFunc(slices.Clone(t.errs), lostRace); len(unexpected) > 0 {
		t.errs = unexpected
	}
	switch {
	case len(t.errs) > 0 && len(t.errs)+len(t.outs) == 1 || len(t.errs) > 0 && lostRace(t.errs[0]):
		return Outcome{}, t.errs[0]
	case len(t.errs) > 0:
		var all []Outcome
		for _, err := range t.errs {
			all = append(all, failed(err))
		}
		return Outcome{}, Explain(errors.Join(t.errs...), all[0].reason, messagesOf(append(all, t.outs...)))
	case len(t.outs) == 0:
		return Done(), nil
	}
	slices.SortStableFunc(t.outs, func(a, b Outcome) int { return cmp.Compare(b.state, a.state) }) // blocked before waiting
	worst := t.outs[0]
	worst.message = messagesOf(t.outs)
	for _, out := range t.outs {
		worst.after, worst.due = sooner(worst.after, out.after), earlier(worst.due, out.due)
	}
	return worst, nil
}

// messagesOf returns the messages of outcomes, each once.
func messagesOf(outs []Outcome) string {
	var messages []string
	for _, out := range outs {
		if !slices.Contains(messages, out.message) {
			messages = append(messages, out.message)
		}
	}
	return strings.Join(messages, "; ")
}

// identity identifies an object of any type.
type identity struct {
	goType reflect.Type // a pointer to the struct, which is named like the kind
	key    client.ObjectKey
}

func identityOf(o client.Object) identity {
	return identity{reflect.TypeOf(o), client.ObjectKeyFromObject(o)}
}

// String returns the name of the object in messages.
func (i identity) String() string {
	return i.goType.Elem().Name() + " " + strings.TrimPrefix(i.key.String(), "/")
}

// nameTakenRecheck is how often an object whose child's name is taken looks again: the other object is not the
// operator's, so that no watch may report its end.
const nameTakenRecheck = time.Minute

// ReasonNameTaken is the reason while another owner's object has the name of a child.
const ReasonNameTaken = "NameTaken"

// placeRecheck is how often a place that is not the owner's yet is checked, in addition to the watch.
const placeRecheck = 10 * time.Second

// attempt applies one child, if the owner may have it.
func (s Scope[T]) attempt(ctx context.Context, c Child) (Outcome, error) {
	if s.Obj.GetNamespace() == "" && c.key.Namespace != "" {
		own, err := s.ownPlace(ctx, c.key.Namespace)
		switch {
		case err != nil:
			return Outcome{}, fmt.Errorf("reading the Namespace %s: %w", c.key.Namespace, err)
		case !own:
			return Wait(placeRecheck, "NamespaceNotReady", fmt.Sprintf(
				"the Namespace %q does not belong to this object yet; nothing is created in it", c.key.Namespace)), nil
		}
	}
	return s.apply(ctx, c)
}

// apply applies one child unless it already matches.
func (s Scope[T]) apply(ctx context.Context, c Child) (Outcome, error) {
	live := c.newLive()
	what := c.identity()
	s.stamp(c)
	err := s.Client.Get(ctx, c.key, live)
	if err == nil {
		live, err = Whole(ctx, s.Live, live)
	}
	switch {
	case apierrors.IsNotFound(err) && c.later:
		return Done(), nil
	case apierrors.IsNotFound(err):
		return s.create(ctx, c, what)
	case err != nil:
		return Outcome{}, fmt.Errorf("reading %s: %w", what, err)
	}
	if out, err := s.mayTake(ctx, c, live, what); err != nil || !out.GoesOn() || c.later {
		return out, err
	}
	return s.update(ctx, c, live, what)
}

// update applies a child to a live object of the owner's unless it already matches.
func (s Scope[T]) update(ctx context.Context, c Child, live client.Object, what identity) (Outcome, error) {
	differing, err := s.differing(c, live, what)
	if err != nil {
		return Outcome{}, err
	}
	if len(differing) == 0 {
		return terminating(live, what), nil
	}
	version := ""
	if c.exact {
		version = s.firstVersion(what, live)
	}
	return s.sendOver(ctx, c, live, what, version)
}

// firstVersion is the version of an object that the run has read first.
func (s Scope[T]) firstVersion(what identity, live client.Object) string {
	if l, ok := s.Client.(looking); ok {
		return l.first[what]
	}
	return live.GetResourceVersion()
}

// create applies a child that is not in the cache. If it exists (the cache is late, or selects on a mark that
// was removed), it is read from the API server and checked.
func (s Scope[T]) create(ctx context.Context, c Child, what identity) (Outcome, error) {
	out, err := s.send(ctx, c, what, "", neverVersion)
	if !apierrors.IsConflict(err) {
		return out, err
	}
	live := c.newLive()
	if err := s.Live.Get(ctx, c.key, live); err != nil {
		return Outcome{}, fmt.Errorf("reading %s: %w", what, err)
	}
	if out, err := s.mayTake(ctx, c, live, what); err != nil || !out.GoesOn() {
		return out, err
	}
	return s.sendOver(ctx, c, live, what, live.GetResourceVersion())
}

// mayTake blocks if a live object of the wanted name may not be changed.
func (s Scope[T]) mayTake(ctx context.Context, c Child, live client.Object, what identity) (Outcome, error) {
	own, err := s.owned(ctx, live)
	if err != nil || own || c.adopt || s.strayed(live) {
		return Done(), err
	}
	return s.taken(live, what), nil
}

// taken is the outcome while an object that is not the owner's has the name of a child.
func (s Scope[T]) taken(live client.Object, what identity) Outcome {
	if s.former(live) {
		return Wait(nameTakenRecheck, "ChildTerminating",
			what.String()+" belongs to a former object of this name and is being deleted with it; it is created again once it is gone")
	}
	return BlockFor(nameTakenRecheck, ReasonNameTaken,
		what.String()+" exists and does not belong to this object; it is left alone. Delete or rename it, or choose another name")
}

// sendOver applies a child to a live object, which is deleted first if it cannot be changed as wanted. An
// object that is being deleted is applied to as well: as long as a finalizer keeps it, it has its effect. With
// a version it is applied to that version only.
func (s Scope[T]) sendOver(ctx context.Context, c Child, live client.Object, what identity, version string) (Outcome, error) {
	if out, still := s.runner.overruled.still(c, live, s.Clock.Now()); still {
		return out, nil
	}
	out, err := s.send(ctx, c, what, live.GetUID(), version)
	leaving := terminating(live, what)
	switch {
	case c.replace && refusesFields(err) && leaving.GoesOn():
		return s.replace(ctx, c, live, what, err)
	case c.replace && refusesFields(err):
		return leaving, nil
	case err != nil || !out.GoesOn():
		return out, err
	default:
		return leaving, nil
	}
}

// terminating waits for the end of an object that is being deleted.
func terminating(live client.Object, what identity) Outcome {
	if live.GetDeletionTimestamp().IsZero() {
		return Done()
	}
	message := what.String() + " is being deleted; it is created again once it is gone"
	if held := live.GetFinalizers(); len(held) > 0 {
		message += ". It is held by the finalizers " + strings.Join(held, ", ")
	}
	return Wait(nameTakenRecheck, "ChildTerminating", message)
}

// send applies a child, to the object with a UID and a version if these are given, and checks that the API
// server has stored what was sent. If its namespace is being deleted, that is not an error: it has to be gone
// first.
func (s Scope[T]) send(ctx context.Context, c Child, what identity, uid types.UID, version string) (Outcome, error) {
	sent := &sending{intent: c.intent, uid: uid, version: version, answer: c.newLive()}
	err := s.Client.Apply(ctx, sent, client.FieldOwner(names.FieldManager(s.runner.Name)), client.ForceOwnership)
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return Wait(nameTakenRecheck, "NamespaceTerminating", "the Namespace is being deleted; it is created again once it is gone"), nil
	}
	if err != nil {
		return Outcome{}, s.refused(fmt.Errorf("applying %s: %w", what, err))
	}
	differing, err := s.differing(c, sent.answer, what)
	if err != nil || len(differing) == 0 {
		return Done(), err
	}
	return s.runner.overruled.note(c, sent.answer, s.Clock.Now(), overruled(what, differing)), nil
}

// prune deletes the children that are no longer wanted, except those of types that are held. It visits
// Config.Owns, which has no type that holds data.
func (s Scope[T]) prune(ctx context.Context, keep map[identity]bool, held map[reflect.Type]bool) error {
	types := slices.DeleteFunc(slices.Clone(s.runner.Owns), func(o client.Object) bool { return held[reflect.TypeOf(o)] })
	return s.eachOwned(ctx, types, func(o client.Object) error {
		if keep[identityOf(o)] || !o.GetDeletionTimestamp().IsZero() {
			return nil
		}
		return s.remove(ctx, o)
	})
}
