/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package engine

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/names"
)

// neverVersion is a resourceVersion that no object has: etcd's first revision is the empty store's.
// Applied with it, an object is created when there is none and refused with a conflict when there is
// one, so that nothing is taken over unseen, however old the cache.
const neverVersion = "1"

// applyConfiguration is any typed apply configuration of client-go.
type applyConfiguration[A any] interface {
	runtime.ApplyConfiguration
	GetName() *string
	GetNamespace() *string
	WithLabels(map[string]string) A
	WithAnnotations(map[string]string) A
	WithOwnerReferences(...*metav1ac.OwnerReferenceApplyConfiguration) A
	WithUID(types.UID) A
	WithResourceVersion(string) A
}

// Child is one object that has to exist.
type Child struct {
	intent  runtime.ApplyConfiguration
	key     client.ObjectKey
	newLive func() client.Object
	extract func(live client.Object, manager string) (any, error)
	mark    func(labels, annotations map[string]string, owner *metav1ac.OwnerReferenceApplyConfiguration)
	expect  func(uid types.UID, resourceVersion string)
	adopt   bool
	replace bool
}

// liveObject is the pointer type PL of the struct type L.
type liveObject[L any] interface {
	*L
	client.Object
}

// NewChild wraps a typed apply configuration. The second argument is client-go's Extract function of
// the same type, for instance appsv1ac.ExtractDeployment.
func NewChild[L any, PL liveObject[L], A applyConfiguration[A]](intent A, extract func(PL, string) (A, error)) Child {
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
	c.expect = func(uid types.UID, resourceVersion string) {
		if uid != "" {
			intent.WithUID(uid)
		}
		if resourceVersion != "" {
			intent.WithResourceVersion(resourceVersion)
		}
	}
	return c
}

// OrAdopt allows, when ok, to take over an object of the wanted name that is not ours.
func (c Child) OrAdopt(ok bool) Child {
	c.adopt = ok
	return c
}

// OrReplace allows to delete and make anew a child whose immutable fields are not as wanted. It is for
// objects that hold no state of their own.
func (c Child) OrReplace() Child {
	c.replace = true
	return c
}

// Compose is the step that makes the cluster hold exactly the given children: each is applied unless
// it is already as wanted, and what was made for the object earlier and is not wanted any more is
// deleted. The function gives the complete list at every run.
func (s Scope[T]) Compose(condition string, desired func() ([]Child, error)) Step {
	return Step{condition, func(ctx context.Context) (Outcome, error) {
		children, err := desired()
		if err != nil {
			return Outcome{}, err
		}
		keep := map[identity]bool{}
		for _, c := range children {
			if out, err := s.apply(ctx, c); err != nil || !out.GoesOn() {
				return out, err
			}
			keep[identity{reflect.TypeOf(c.newLive()), c.key}] = true
		}
		return Done(), s.prune(ctx, keep)
	}}
}

// identity tells objects of all types apart.
type identity struct {
	goType reflect.Type // a pointer to the struct, which is named like the kind
	key    client.ObjectKey
}

// String is what messages call the object.
func (i identity) String() string {
	return i.goType.Elem().Name() + " " + strings.TrimPrefix(i.key.String(), "/")
}

// nameTakenRecheck is how often an object that found its child's name taken looks again: the other
// object is none of ours, so that no watch may tell.
const nameTakenRecheck = time.Minute

// apply makes one child true.
func (s Scope[T]) apply(ctx context.Context, c Child) (Outcome, error) {
	live := c.newLive()
	what := identity{reflect.TypeOf(live), c.key}
	s.stamp(c)
	err := s.Client.Get(ctx, c.key, live)
	if err == nil {
		live, err = Whole(ctx, s.Live, live)
	}
	if apierrors.IsNotFound(err) {
		return s.create(ctx, c, what)
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("reading %s: %w", what, err)
	}
	if out := s.mayTake(c, live, what); !out.GoesOn() {
		return out, nil
	}
	if !live.GetDeletionTimestamp().IsZero() {
		return Wait(nameTakenRecheck, "ChildTerminating", what.String()+" is being deleted; it is made anew once it is gone"), nil
	}
	extracted, err := c.extract(live, names.FieldManager(s.runner.Name))
	if err != nil {
		return Outcome{}, fmt.Errorf("reading the owned fields of %s: %w", what, err)
	}
	if equality.Semantic.DeepEqual(extracted, c.intent) {
		return Done(), nil
	}
	c.expect(live.GetUID(), "")
	return s.sendOver(ctx, c, live, what)
}

// sendOver applies a child over a live object, which goes first when it cannot be changed as wanted.
func (s Scope[T]) sendOver(ctx context.Context, c Child, live client.Object, what identity) (Outcome, error) {
	out, err := s.send(ctx, c, what)
	if c.replace && apierrors.IsInvalid(err) {
		return s.delete(ctx, live, what)
	}
	return out, err
}

// delete deletes a child that is to be made anew: the next run creates it.
func (s Scope[T]) delete(ctx context.Context, live client.Object, what identity) (Outcome, error) {
	// A cache that selects on our marks may have dropped the object already: no read is to wait for it.
	err := s.Client.Delete(ctx, live, client.Preconditions{UID: new(live.GetUID())}, client.DisableReadYourWritesConsistency)
	if client.IgnoreNotFound(err) != nil {
		return Outcome{}, fmt.Errorf("deleting %s: %w", what, err)
	}
	return Wait(time.Second, "Replacing", what.String()+" cannot be changed as wanted and is made anew"), nil
}

// create applies a child that the cache does not show. If there is one after all (the cache is late, or
// selects on a mark that was taken off), that one is read from the API server and judged.
func (s Scope[T]) create(ctx context.Context, c Child, what identity) (Outcome, error) {
	c.expect("", neverVersion)
	out, err := s.send(ctx, c, what)
	if !apierrors.IsConflict(err) {
		return out, err
	}
	live := c.newLive()
	if err := s.Live.Get(ctx, c.key, live); err != nil {
		return Outcome{}, fmt.Errorf("reading %s: %w", what, err)
	}
	if out := s.mayTake(c, live, what); !out.GoesOn() {
		return out, nil
	}
	c.expect(live.GetUID(), live.GetResourceVersion())
	return s.sendOver(ctx, c, live, what)
}

// mayTake blocks when a live object of the wanted name is not ours to change.
func (s Scope[T]) mayTake(c Child, live client.Object, what identity) Outcome {
	if c.adopt || s.Owned(live) {
		return Done()
	}
	return BlockFor(nameTakenRecheck, "NameTaken",
		what.String()+" exists and does not belong to this object; it is left alone. Delete or rename it, or choose another name")
}

// send applies a child. That its namespace is going away is no error: it has to be gone first.
func (s Scope[T]) send(ctx context.Context, c Child, what identity) (Outcome, error) {
	err := s.Client.Apply(ctx, c.intent, client.FieldOwner(names.FieldManager(s.runner.Name)), client.ForceOwnership)
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return Wait(nameTakenRecheck, "NamespaceTerminating", "the Namespace is being deleted; it is made anew once it is gone"), nil
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("applying %s: %w", what, err)
	}
	return Done(), nil
}

// stamp puts the marks of ownership on a child.
func (s Scope[T]) stamp(c Child) {
	var ref *metav1ac.OwnerReferenceApplyConfiguration
	if !s.runner.ByMark {
		ref = metav1ac.OwnerReference().WithAPIVersion(s.runner.gvk.GroupVersion().String()).WithKind(s.runner.gvk.Kind).
			WithName(s.Obj.GetName()).WithUID(s.Obj.GetUID()).WithController(true).WithBlockOwnerDeletion(true)
	}
	c.mark(
		map[string]string{names.LabelManagedBy: names.Operator, names.LabelOwnerUID: string(s.Obj.GetUID())},
		map[string]string{names.AnnotationOwner: ownerMark(s.runner.Name, s.Obj)},
		ref)
}

// Owned tells whether an object was made for the object of this run. One of the two marks is enough:
// taking one off is drift, not a release. With ByMark an owner that was re-created under its old name
// owns what it left.
func (s Scope[T]) Owned(live client.Object) bool {
	uid := live.GetLabels()[names.LabelOwnerUID]
	sameName := live.GetAnnotations()[names.AnnotationOwner] == ownerMark(s.runner.Name, s.Obj)
	return uid == string(s.Obj.GetUID()) || sameName && (s.runner.ByMark || uid == "")
}

// prune deletes what carries this object's mark and is not wanted any more.
func (s Scope[T]) prune(ctx context.Context, keep map[identity]bool) error {
	return s.EachOwned(ctx, func(o client.Object) error {
		id := identity{reflect.TypeOf(o), client.ObjectKeyFromObject(o)}
		if keep[id] || !o.GetDeletionTimestamp().IsZero() {
			return nil
		}
		if _, isClaim := o.(*corev1.PersistentVolumeClaim); isClaim || !s.applied(o) {
			return nil // Data is never pruned, nor what somebody copied together with our marks.
		}
		_, err := s.delete(ctx, o, id)
		return err
	})
}

// applied tells whether an object was made by this kind, which its marks alone do not prove.
func (s Scope[T]) applied(o client.Object) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == names.FieldManager(s.runner.Name) && m.Operation == metav1.ManagedFieldsOperationApply
	})
}

// Reclaim puts this object's marks on one that the kind once made and that has none any more. Any other one is
// left as it is.
func (s Scope[T]) Reclaim(ctx context.Context, o client.Object) error {
	if !s.applied(o) || len(ownersOf(o)) > 0 || !o.GetDeletionTimestamp().IsZero() {
		return nil
	}
	before := o.DeepCopyObject().(client.Object)
	if err := s.mark(o); err != nil {
		return err
	}
	err := s.Client.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("taking up %T %s: %w", o, o.GetName(), err)
	}
	return nil
}

// EachOwned calls do for every child that exists, in the order of Config.Owns. The objects are the
// cache's own: they are not to be changed.
func (s Scope[T]) EachOwned(ctx context.Context, do func(client.Object) error) error {
	uid := string(s.Obj.GetUID())
	for _, proto := range s.runner.Owns {
		err := s.eachMarked(ctx, proto, uid, do)
		if err != nil {
			return err
		}
		// One that lacks the uid, or has that of an earlier object of our name.
		err = s.eachMarked(ctx, proto, ownerMark(s.runner.Name, s.Obj), func(o client.Object) error {
			if o.GetLabels()[names.LabelOwnerUID] == uid || !s.Owned(o) {
				return nil
			}
			return do(o)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachMarked calls do for every object of a type that carries a mark of ownership.
func (s Scope[T]) eachMarked(ctx context.Context, proto client.Object, mark string, do func(client.Object) error) error {
	newList, err := listOf(s.Client.Scheme(), proto)
	if err != nil {
		return err
	}
	list := newList()
	if err := s.Client.List(ctx, list, client.MatchingFields{s.runner.ownerIndex(): mark},
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return fmt.Errorf("listing the children of type %T: %w", proto, err)
	}
	return meta.EachListItem(list, func(item runtime.Object) error { return do(item.(client.Object)) })
}
