// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// heldCaches are caches that hold some objects.
type heldCaches struct {
	cache.Cache
	objects []client.Object
}

func (c heldCaches) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	for _, o := range c.objects {
		if client.ObjectKeyFromObject(o) == key && reflect.TypeOf(o) == reflect.TypeOf(into) {
			reflect.ValueOf(into).Elem().Set(reflect.ValueOf(o.DeepCopyObject()).Elem())
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (c heldCaches) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	for _, o := range c.objects {
		if list, ok := into.(*rbacv1.ClusterRoleList); ok {
			if role, ok := o.(*rbacv1.ClusterRole); ok {
				list.Items = append(list.Items, *role)
			}
		}
	}
	return nil
}

// writes is an API server that has no object. Each write goes to the function.
type writes struct {
	client.Client
	write func(ctx context.Context, verb string, o client.DeleteOptions) error
}

func (writes) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (w writes) Create(ctx context.Context, _ client.Object, _ ...client.CreateOption) error {
	return w.write(ctx, "create", client.DeleteOptions{})
}

func (w writes) Patch(ctx context.Context, _ client.Object, _ client.Patch, _ ...client.PatchOption) error {
	return w.write(ctx, "patch", client.DeleteOptions{})
}

func (w writes) Delete(ctx context.Context, _ client.Object, opts ...client.DeleteOption) error {
	return w.write(ctx, "delete", *(&client.DeleteOptions{}).ApplyOptions(opts))
}

var errOut = errors.New("the API server is out")

// newRegistrar is a leader that sees some objects.
func newRegistrar(write func(ctx context.Context, verb string, o client.DeleteOptions) error, seen ...client.Object) *registrar {
	return &registrar{
		Options: Options{Names: ours, Enabled: true, UnreachableAfter: time.Minute, Clock: clocktesting.NewFakePassiveClock(noon)},
		live:    writes{write: write}, caches: heldCaches{objects: seen}, recorder: events.NewFakeRecorder(10), metric: &gauge{},
	}
}

// seenObjects are all objects that the registration reads.
func seenObjects() (objects []client.Object) {
	apiService := desired(ours, owner("uid"), 443, []byte("pem"), "")
	apiService.SetUID("registered")
	in := metav1.ObjectMeta{Namespace: ours.Namespace, Name: ours.Service}
	return []client.Object{
		apiService,
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: ours.Role(), UID: "uid"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ours.Namespace, Name: ours.Secret()}},
		&corev1.Service{ObjectMeta: in, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443}}}},
	}
}

// What is being deleted is as good as gone.
func TestWhatIsBeingDeletedIsNotSeen(t *testing.T) {
	for i, what := range []string{"APIService", "ClusterRole", "Secret", "Service", "nothing"} {
		objects := seenObjects()
		if i < len(objects) {
			objects[i].SetDeletionTimestamp(&metav1.Time{Time: noon})
			objects[i].SetFinalizers([]string{"example.com/waits"})
		}
		r := newRegistrar(nil, objects...)
		w, err := r.look(t.Context(), r.caches)
		if err != nil {
			t.Fatal(err)
		}
		for j, seen := range []bool{w.apiService != nil, len(w.owners) > 0, w.secret != nil, w.port != 0} {
			if seen == (i == j) {
				t.Errorf("%s is being deleted, and of what is number %d seen is %t", what, j, seen)
			}
		}
	}
}

// Somebody may have created the APIService again since the caches have seen it.
func TestTheAPIServiceThatWasSeenIsDeleted(t *testing.T) {
	var deleted []types.UID
	r := newRegistrar(func(_ context.Context, verb string, o client.DeleteOptions) error {
		if verb != "delete" || o.Preconditions == nil || o.Preconditions.UID == nil {
			t.Errorf("%s without a precondition", verb)
			return nil
		}
		deleted = append(deleted, *o.Preconditions.UID)
		return nil
	}, seenObjects()...)
	w, err := r.look(t.Context(), r.caches)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.write(t.Context(), decision{cause: causeNotServed}, w, nil); err != nil || len(deleted) != 1 || deleted[0] != "registered" {
		t.Errorf("%v was deleted, %v", deleted, err)
	}
}

// While the Service is gone for a moment, the APIService stays as it is: there is no port to write into it.
func TestNothingIsWrittenWithoutAPort(t *testing.T) {
	r := newRegistrar(func(_ context.Context, verb string, _ client.DeleteOptions) error {
		t.Errorf("it does %s", verb)
		return nil
	}, seenObjects()[:3]...)
	w, err := r.look(t.Context(), r.caches)
	if err != nil {
		t.Fatal(err)
	}
	for _, present := range []bool{true, false} {
		if !present {
			w.apiService = nil
		}
		if err := r.write(t.Context(), decision{register: true}, w, []byte("other pem")); err != nil {
			t.Error(err)
		}
	}
}

// A Secret that cannot be written changes nothing: what API servers trust stays, and where there is no certificate, nothing is registered.
func TestASecretThatCannotBeWrittenChangesNothing(t *testing.T) {
	refuse := func(context.Context, string, client.DeleteOptions) error { return errOut }
	registered := seenObjects()
	r := newRegistrar(refuse, registered[0], registered[1], registered[3])
	w, err := r.look(t.Context(), r.caches)
	if err != nil {
		t.Fatal(err)
	}
	if bundle, _, err := r.certify(t.Context(), w); !errors.Is(err, errOut) || string(bundle) != "pem" {
		t.Errorf("API servers are to trust %q, %v", bundle, err)
	}

	var did []string
	r = newRegistrar(func(_ context.Context, verb string, _ client.DeleteOptions) error {
		did = append(did, verb)
		return errOut
	}, served(registered[1], registered[3])...)
	if recheck := r.pass(t.Context()); recheck != tick {
		t.Errorf("it looks again in %s", recheck)
	}
	if len(did) != 1 || r.reported != (decision{}) {
		t.Errorf("it does %v, and reports %+v", did, r.reported)
	}
}

// served are objects with a Service that needs no endpoints.
func served(objects ...client.Object) []client.Object {
	for _, o := range objects {
		if s, ok := o.(*corev1.Service); ok {
			s.Spec.Type = corev1.ServiceTypeExternalName
		}
	}
	return objects
}

// takenAway are the reasons to take an API away at the first look.
var takenAway = map[string]func(*registrar){
	"disabled":                 func(r *registrar) { r.Enabled = false },
	"not served for too long":  func(r *registrar) { r.memory.unserved = ago(servedGrace) },
	"not reached for too long": func(r *registrar) { r.memory.looked, r.memory.failing = true, ago(time.Minute) },
	"waiting to try again":     func(r *registrar) { r.memory.retryAt = noon.Add(time.Minute) },
}

// Taking the API away needs no certificate: a policy or a webhook may reject the Secret.
func TestTheAPIIsTakenAwayWithoutACertificate(t *testing.T) {
	for reason, set := range takenAway {
		var did []string
		objects := seenObjects()
		unstructured.RemoveNestedField(objects[0].(*unstructured.Unstructured).Object, "spec", "caBundle")
		r := newRegistrar(func(_ context.Context, verb string, _ client.DeleteOptions) error {
			did = append(did, verb)
			if verb == "create" {
				return errOut
			}
			return nil
		}, objects[0], objects[1], objects[3])
		set(r)
		if recheck := r.pass(t.Context()); recheck != tick {
			t.Errorf("%s: it looks again in %s", reason, recheck)
		}
		if want := []string{"delete", "create"}; !slices.Equal(did, want) {
			t.Errorf("%s: it does %v, want %v", reason, did, want)
		}
	}
}

// A Secret whose write hangs takes no time from the APIService.
func TestASecretThatHangsHoldsUpNothing(t *testing.T) {
	for enabled, want := range map[bool]string{false: "delete", true: "patch"} {
		synctest.Test(t, func(t *testing.T) {
			var did []string
			objects := seenObjects()
			objects[0].SetLabels(nil) // so that it has to be changed, if it is to stay
			r := newRegistrar(func(ctx context.Context, verb string, _ client.DeleteOptions) error {
				if verb == "create" {
					<-ctx.Done()
				}
				if ctx.Err() == nil {
					did = append(did, verb)
				}
				return ctx.Err()
			}, served(objects[0], objects[1], objects[3])...)
			r.Enabled = enabled
			if recheck := r.pass(t.Context()); recheck != tick {
				t.Errorf("it looks again in %s", recheck)
			}
			if !slices.Equal(did, []string{want}) {
				t.Errorf("with time left it does %v, want %s", did, want)
			}
		})
	}
}
