// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fakedb stands in for what runs Databases where nothing runs pods: for the controllers of StatefulSets and volumes, and for
// the agents in the pods, which it plays over HTTP. It has no database, only the passwords that would be in one.
package fakedb

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/acme/platform-operator/internal/database/result"
)

// attendants is how many objects of a type have attention at once.
const attendants = 8

// Rejected is a password that no server accepts.
const Rejected = "rejected-by-the-server"

// Server is one server, as a test wants it.
type Server struct {
	// NotReady: it does not answer. Frozen: the agent does not see changes of the Secret.
	NotReady, Frozen bool
	// Total and Free are what the agent reports of the volume, in bytes.
	Total, Free int64
	// Inside are the passwords in force, and their revisions, by slot.
	Inside map[string][2]string
	// Logins counts, by slot, how often a password was changed.
	Logins map[string]int
}

// Servers are all servers of a control plane.
type Servers struct {
	clients *kubernetes.Clientset
	http    *httptest.Server
	mu      sync.Mutex
	all     map[string]*Server
	stop    chan struct{}
	factory informers.SharedInformerFactory
	queues  []workqueue.TypedInterface[string]
}

// Start plays servers until Stop.
func Start(config *rest.Config) (*Servers, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	s := &Servers{clients: clients, all: map[string]*Server{}, stop: make(chan struct{})}
	s.http = httptest.NewServer(http.HandlerFunc(s.status))
	s.factory = informers.NewSharedInformerFactory(clients, 2*time.Second)
	attend(s, s.factory.Apps().V1().StatefulSets().Informer(), s.run)
	attend(s, s.factory.Core().V1().PersistentVolumeClaims().Informer(), s.bind)
	s.factory.Start(s.stop)
	return s, nil
}

// Stop ends the play.
func (s *Servers) Stop() {
	close(s.stop)
	for _, q := range s.queues {
		q.ShutDown()
	}
	s.factory.Shutdown()
	s.http.Close()
}

// Dial connects to the agent, whatever the address is.
func (s *Servers) Dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, s.http.Listener.Addr().String())
}

// Change changes the server of a generation, NAMESPACE/NAME-g1.
func (s *Servers) Change(key string, do func(*Server)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(s.of(key))
}

func (s *Servers) of(key string) *Server {
	if s.all[key] == nil {
		s.all[key] = &Server{Total: 1 << 30, Free: 1 << 29, Inside: map[string][2]string{}, Logins: map[string]int{}}
	}
	return s.all[key]
}

// attend looks at each object of a type, again and again, at several at once.
func attend[O any](s *Servers, informer cache.SharedIndexInformer, do func(*O)) {
	queue := workqueue.NewTyped[string]()
	s.queues = append(s.queues, queue)
	look := func(o any) {
		if key, err := cache.MetaNamespaceKeyFunc(o); err == nil {
			queue.Add(key)
		}
	}
	for range attendants {
		go func() {
			for key, stops := queue.Get(); !stops; key, stops = queue.Get() {
				if o, exists, err := informer.GetStore().GetByKey(key); err == nil && exists {
					do(o.(*O))
				}
				queue.Done(key)
			}
		}()
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: look, UpdateFunc: func(_, o any) { look(o) }})
	if err != nil {
		panic(err) // it was stopped before it was started
	}
}

// run reports that the pod of a StatefulSet runs, or does not.
func (s *Servers) run(set *appsv1.StatefulSet) {
	owner := metav1.GetControllerOf(set)
	if owner == nil || owner.Kind != "Database" {
		return
	}
	notReady := false
	s.Change(set.Namespace+"/"+set.Name, func(x *Server) { notReady = x.NotReady })
	n := *set.Spec.Replicas
	want := appsv1.StatefulSetStatus{
		ObservedGeneration: set.Generation, Replicas: n, UpdatedReplicas: n, CurrentReplicas: n, CollisionCount: new(int32(0)),
	}
	if !notReady {
		want.ReadyReplicas, want.AvailableReplicas = n, n
	}
	if equality.Semantic.DeepEqual(set.Status, want) {
		return
	}
	set = set.DeepCopy()
	set.Status = want
	_, _ = s.clients.AppsV1().StatefulSets(set.Namespace).UpdateStatus(context.Background(), set, metav1.UpdateOptions{}) // it is tried again
}

// bind makes a volume for a claim.
func (s *Servers) bind(claim *corev1.PersistentVolumeClaim) {
	ctx, size := context.Background(), claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if claim.DeletionTimestamp != nil {
		s.unprotect(claim.DeepCopy())
	}
	if claim.DeletionTimestamp != nil || !strings.HasSuffix(claim.Name, "-g1") {
		return
	}
	if class := claim.Spec.StorageClassName; class != nil {
		if _, err := s.clients.StorageV1().StorageClasses().Get(ctx, *class, metav1.GetOptions{}); err != nil {
			return
		}
	}
	claim = claim.DeepCopy()
	if claim.Spec.VolumeName == "" {
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + string(claim.UID)}}
		volume.Spec = corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: size}, AccessModes: claim.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/fakedb"}},
			ClaimRef: &corev1.ObjectReference{
				Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
		}
		_, _ = s.clients.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{}) // it may exist
		claim.Spec.VolumeName = volume.Name
		_, _ = s.clients.CoreV1().PersistentVolumeClaims(claim.Namespace).Update(ctx, claim, metav1.UpdateOptions{}) // it is tried again
		return
	}
	if has := claim.Status.Capacity[corev1.ResourceStorage]; claim.Status.Phase != corev1.ClaimBound || has.Cmp(size) < 0 {
		claim.Status.Phase, claim.Status.Capacity = corev1.ClaimBound, corev1.ResourceList{corev1.ResourceStorage: size}
		_, _ = s.clients.CoreV1().PersistentVolumeClaims(claim.Namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{}) // it is tried again
	}
}

// unprotect lets a claim go that no server uses, as its protection does.
func (s *Servers) unprotect(claim *corev1.PersistentVolumeClaim) {
	const protection = "kubernetes.io/pvc-protection"
	ctx := context.Background()
	if !slices.Contains(claim.Finalizers, protection) {
		return
	}
	set, err := s.clients.AppsV1().StatefulSets(claim.Namespace).Get(ctx, claim.Name, metav1.GetOptions{})
	if err == nil && *set.Spec.Replicas > 0 {
		return
	}
	claim.Finalizers = slices.DeleteFunc(claim.Finalizers, func(f string) bool { return f == protection })
	_, _ = s.clients.CoreV1().PersistentVolumeClaims(claim.Namespace).Update(ctx, claim, metav1.UpdateOptions{}) // it is tried again
}

// status answers as the agent would, after it has applied the passwords that it was given.
func (s *Servers) status(w http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	name, rest, _ := strings.Cut(host, ".")
	namespace := strings.TrimSuffix(rest, ".svc")
	secret, err := s.clients.CoreV1().Secrets(namespace).Get(r.Context(), strings.TrimSuffix(name, "-g1")+"-admin", metav1.GetOptions{})
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	answer := result.Status{Protocol: result.Protocol, Phase: result.Running, Ready: true, Door: result.DoorOpen}
	s.Change(namespace+"/"+name, func(x *Server) {
		for _, slot := range []string{result.SlotA, result.SlotB} {
			answer.Accounts = append(answer.Accounts, x.apply(slot, string(secret.Data[slot+"-password"]), string(secret.Data[slot+"-revision"])))
		}
		answer.Storage = result.Storage{Total: x.Total, Free: x.Free}
	})
	_ = json.NewEncoder(w).Encode(answer)
}

// apply applies the password of one slot, and reports it.
func (x *Server) apply(slot, text, revision string) result.Account {
	report := result.Account{Slot: slot}
	is := x.Inside[slot]
	switch {
	case x.Frozen || is == [2]string{text, revision}:
	case text == Rejected:
		report.Error = "the password is too weak"
	default:
		if is[0] != text {
			x.Logins[slot]++
		}
		is = [2]string{text, revision}
		x.Inside[slot] = is
	}
	report.Revision, report.InForce = is[1], is == [2]string{text, revision} && text != ""
	return report
}

// Works reports what is wrong with a login: nothing if the server has this password for this user.
func (s *Servers) Works(key, user, password string) (err error) {
	s.Change(key, func(x *Server) {
		slot := "a"
		if strings.HasSuffix(user, "_b") {
			slot = "b"
		}
		if cmp.Or(x.Inside[slot][0], "none") != password {
			err = fmt.Errorf("the server refuses the login of %s", user)
		}
	})
	return err
}
