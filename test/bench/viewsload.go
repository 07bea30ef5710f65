// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/api/views/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
)

const (
	viewsService = "platform-operator-views"
	// quotaCount is how many namespaces have a quota.
	quotaCount = 100
)

// viewsBench measures a server of the views.
type viewsBench struct {
	*bench
	cmd     *exec.Cmd
	log     string
	ended   chan struct{} // closed when it has ended
	clients map[int]rest.Interface
}

func numbered(prefix string, n int) string { return fmt.Sprintf("%s-%d", prefix, n) }

// populate makes the namespaces and their RoleBindings: those of the profiles, and of others up to the number that there are to be.
func (b *viewsBench) populate(ctx context.Context) error {
	numbers := map[string]int{}
	var names []string
	for i := range b.namespaces {
		names = append(names, numbered("space", i))
		numbers[names[i]] = i
	}
	return each(ctx, b.workers, names, func(ctx context.Context, name string) error {
		if err := b.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": "a"}}}); err != nil {
			return fmt.Errorf("creating a Namespace: %w", err)
		}
		users := []string{}
		for _, rows := range b.profiles() {
			if numbers[name] < rows {
				users = append(users, numbered("user", rows))
			}
		}
		for n := len(users); n < bindingsEach; n++ {
			users = append(users, fmt.Sprintf("other-%d-%d", numbers[name]%97, n))
		}
		for _, user := range users {
			if err := b.admin.Create(ctx, binding(name, user)); err != nil {
				return fmt.Errorf("creating a RoleBinding: %w", err)
			}
		}
		if numbers[name] >= quotaCount {
			return nil
		}
		return b.admin.Create(ctx, &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "quota"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"pods": resource.MustParse("1")}},
		})
	})
}

func binding(namespace, user string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
}

// start builds the server, starts it, and registers its API, for which the operator is not needed.
func (b *viewsBench) start(ctx context.Context) error {
	program := filepath.Join(b.dir, "views")
	if err := b.command(ctx, []string{"CGO_ENABLED=0"}, "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", program, "./cmd/views"); err != nil {
		return err
	}
	authority, err := testenv.NewAuthority("bench")
	if err != nil {
		return fmt.Errorf("making a certificate: %w", err)
	}
	cert, key, err := authority.Issue("views", viewsService+"."+ownNamespace+".svc")
	if err != nil {
		return fmt.Errorf("making a certificate: %w", err)
	}
	kubeconfig, err := b.kubeconfigOf("system:serviceaccount:" + ownNamespace + ":" + viewsService)
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{"tls.crt": cert, "tls.key": key, "views.kubeconfig": kubeconfig} {
		if err := os.WriteFile(filepath.Join(b.dir, name), data, 0o600); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	address, err := freeAddress()
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if err := b.launch(program, port); err != nil {
		return err
	}
	return b.register(ctx, authority.PEM, port)
}

func (b *viewsBench) launch(program, port string) error {
	b.log, b.ended = filepath.Join(b.dir, "views.log"), make(chan struct{})
	log, err := os.Create(b.log)
	if err != nil {
		return fmt.Errorf("starting the views: %w", err)
	}
	defer func() { _ = log.Close() }() // nothing is written through this handle
	b.cmd = exec.Command(program, "--bind-address=127.0.0.1", "--secure-port="+port, "--cert-dir="+b.dir,
		"--kubeconfig="+filepath.Join(b.dir, "views.kubeconfig"), "--service=")
	b.cmd.Stdout, b.cmd.Stderr = log, log
	if err := b.cmd.Start(); err != nil {
		return fmt.Errorf("starting the views: %w", err)
	}
	go func() {
		_ = b.cmd.Wait() // it is stopped by a signal
		close(b.ended)
	}()
	return nil
}

// register leads API servers to the port, and waits until the API is available.
func (b *viewsBench) register(ctx context.Context, ca []byte, port string) error {
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return err
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ownNamespace, Name: viewsService}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeExternalName, ExternalName: "localhost", Ports: []corev1.ServicePort{{Name: "https", Port: int32(number)}},
	}}
	if err := b.admin.Create(ctx, service); err != nil {
		return fmt.Errorf("creating the Service: %w", err)
	}
	api := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": v1alpha1.GroupVersion.Group, "version": v1alpha1.GroupVersion.Version,
		"groupPriorityMinimum": int64(100), "versionPriority": int64(15),
		"caBundle": base64.StdEncoding.EncodeToString(ca),
		"service":  map[string]any{"namespace": ownNamespace, "name": viewsService, "port": number},
	}}}
	api.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
	api.SetName(v1alpha1.GroupVersion.Version + "." + v1alpha1.GroupVersion.Group)
	if err := b.admin.Create(ctx, api); err != nil {
		return fmt.Errorf("creating the APIService: %w", err)
	}
	return poll(ctx, "the views answer", 100*time.Millisecond, func(ctx context.Context) (bool, error) {
		select {
		case <-b.ended:
			return false, errors.New("the views have ended")
		default:
			_, err := b.list(ctx, b.namespaces, asJSON)
			return err == nil, nil
		}
	})
}

// stop ends the server. Of an error before, the end of its log tells more.
func (b *viewsBench) stop(before error) error {
	err := b.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-b.ended:
	case <-time.After(stopGrace):
		err = errors.Join(err, b.cmd.Process.Kill())
	}
	if before != nil {
		return fmt.Errorf("the end of the log of the views:\n%s", tailOf(b.log))
	}
	return err
}

func (b *viewsBench) pid() string { return strconv.Itoa(b.cmd.Process.Pid) }

func (b *viewsBench) pids() ([]string, error) { return []string{b.pid()}, nil }

// kubeconfigOf is the administrator's kubeconfig, with which a program acts as somebody else.
func (b *viewsBench) kubeconfigOf(user string) ([]byte, error) {
	config, err := clientcmd.LoadFromFile(b.adminKubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the administrator's kubeconfig: %w", err)
	}
	for _, access := range config.AuthInfos {
		access.Impersonate = user
	}
	return clientcmd.Write(*config)
}

// configOf is the access of a user; of the administrator if that is empty.
func (b *viewsBench) configOf(user string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", b.adminKubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the administrator's kubeconfig: %w", err)
	}
	config.QPS, config.Impersonate.UserName = -1, user
	return config, nil
}

// The forms of lists: what programs ask for, and what kubectl prints.
const (
	asJSON  = "application/json"
	asTable = "application/json;as=Table;g=meta.k8s.io;v=v1"
)

// list takes the time of a list in a form: by the user of a profile, or `get namespaces` by the administrator if that is 0.
func (b *viewsBench) list(ctx context.Context, rows int, form string) (time.Duration, error) {
	path, user := "/apis/views.acme.com/v1alpha1/mynamespaces", numbered("user", rows)
	if rows == 0 {
		path, user = "/api/v1/namespaces", ""
	}
	if b.clients[rows] == nil {
		config, err := b.configOf(user)
		if err != nil {
			return 0, err
		}
		config.NegotiatedSerializer = clientgoscheme.Codecs.WithoutConversion()
		c, err := rest.UnversionedRESTClientFor(config)
		if err != nil {
			return 0, fmt.Errorf("making a client: %w", err)
		}
		if b.clients == nil {
			b.clients = map[int]rest.Interface{}
		}
		b.clients[rows] = c
	}
	start := time.Now()
	body, err := b.clients[rows].Get().AbsPath(path).SetHeader("Accept", form).Stream(ctx)
	if err != nil {
		return 0, fmt.Errorf("listing %s as %q: %w", path, user, err)
	}
	_, err = io.Copy(io.Discard, body)
	return time.Since(start), errors.Join(err, body.Close())
}

// reviews is how many SubjectAccessReviews the API server has counted.
func (b *viewsBench) reviews(ctx context.Context) (float64, error) {
	return b.counted(ctx, func(text []byte) (n float64, err error) {
		err = eachRequest(text, func(have map[string]string, count float64) {
			if have["resource"] == "subjectaccessreviews" {
				n += count
			}
		})
		return n, err
	})
}

// watchAs watches a view as a user.
func (b *viewsBench) watchAs(ctx context.Context, user, view string) (watch.Interface, error) {
	config, err := b.configOf(user)
	if err != nil {
		return nil, err
	}
	c, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return c.Resource(v1alpha1.GroupVersion.WithResource(view)).Watch(ctx, metav1.ListOptions{})
}

// grants gives each of many users who watch access to a namespace, and takes it away again.
func (b *viewsBench) grants(ctx context.Context, res *viewsResult) error {
	watches := map[string]watch.Interface{}
	numbers := map[string]int{}
	users := nameList("watcher", b.watches)
	for i, user := range users {
		w, err := b.watchAs(ctx, user, "mynamespaces")
		if err != nil {
			return fmt.Errorf("watching as %s: %w", user, err)
		}
		defer w.Stop()
		watches[user], numbers[user] = w, i
	}
	var mu sync.Mutex
	var granted, revoked []time.Duration
	var events atomic.Int64
	err := each(ctx, b.workers, users, func(ctx context.Context, user string) error {
		grant := binding(numbered("space", numbers[user]%b.namespaces), user)
		add, err := untilEvent(ctx, watches[user], watch.Added, &events, func() error { return b.admin.Create(ctx, grant) })
		if err != nil {
			return err
		}
		del, err := untilEvent(ctx, watches[user], watch.Deleted, &events, func() error { return b.admin.Delete(ctx, grant) })
		mu.Lock()
		defer mu.Unlock()
		granted, revoked = append(granted, add), append(revoked, del)
		return err
	})
	slices.Sort(granted)
	slices.Sort(revoked)
	res.Grant, res.Revoke, res.Events = percentilesOf(granted), percentilesOf(revoked), float64(events.Load())/float64(2*len(users))
	return err
}

// untilEvent takes the time from a change to an event of a type, and counts the events until then.
func untilEvent(ctx context.Context, w watch.Interface, want watch.EventType, events *atomic.Int64, change func() error) (time.Duration, error) {
	start := time.Now()
	if err := change(); err != nil {
		return 0, fmt.Errorf("changing a RoleBinding: %w", err)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-timer.C:
			return 0, fmt.Errorf("no event %s within %s", want, patience)
		case e, open := <-w.ResultChan():
			if !open || e.Type == watch.Error {
				return 0, fmt.Errorf("the watch has ended: %v", e.Object)
			}
			if events.Add(1); e.Type == want {
				return time.Since(start), nil
			}
		}
	}
}

// watchUsage has a user watch the usage of all namespaces.
func (b *viewsBench) watchUsage(ctx context.Context) (stop func(), err error) {
	const user = "billing"
	bind := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "platform-operator-usage-reader"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if err := b.admin.Create(ctx, bind); err != nil {
		return nil, fmt.Errorf("creating a ClusterRoleBinding: %w", err)
	}
	w, err := b.watchAs(ctx, user, "namespaceusages")
	if err != nil {
		return nil, fmt.Errorf("watching as %s: %w", user, err)
	}
	go func() {
		for range w.ResultChan() { // what it shows is tested elsewhere
		}
	}()
	return w.Stop, nil
}

// changeQuota changes one of the quotas.
func (b *viewsBench) changeQuota(ctx context.Context, i int) error {
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: numbered("space", i%min(quotaCount, b.namespaces)), Name: "quota"}}
	patch := client.RawPatch(client.Merge.Type(), fmt.Appendf(nil, `{"spec":{"hard":{"pods":"%d"}}}`, 2+i))
	if err := b.admin.Patch(ctx, q, patch); err != nil {
		return fmt.Errorf("changing a ResourceQuota: %w", err)
	}
	return nil
}
