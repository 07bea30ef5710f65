// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	viewEvery = 200 * time.Millisecond
	viewLimit = 5 * time.Second
	// mostUnseen is how long the views may be without an answer while the operator is replaced.
	mostUnseen = 2 * time.Second
)

// viewer asks for a tenant's namespaces and for what the API server serves, again and again, with a watch open beside that.
type viewer struct {
	views dynamic.ResourceInterface
	stop  context.CancelFunc
	all   sync.WaitGroup

	// Valid once it has ended.
	lists, watches, relists int
	slowest                 time.Duration
	refused                 stretches // of lists
	unknown                 stretches // in which the API server could not say what it serves: no namespace could be deleted
	unwatched               stretches

	mu    sync.Mutex
	shown map[string]bool // what the watch has shown
}

// startViewer starts a viewer that ends with the spec at the latest.
func (w *world) startViewer(ctx context.Context) *viewer {
	GinkgoHelper()
	w.awaitViews(ctx)
	path, _ := w.login(teamAdmin, teamNamespace)
	config, err := clientcmd.BuildConfigFromFlags("", path)
	Expect(err).NotTo(HaveOccurred())
	config.QPS = -1
	views, err := dynamic.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	limited := rest.CopyConfig(config)
	limited.Timeout = viewLimit
	served, err := discovery.NewDiscoveryClientForConfig(limited)
	Expect(err).NotTo(HaveOccurred())
	v := &viewer{views: views.Resource(schema.GroupVersionResource{Group: "views.acme.com", Version: "v1alpha1", Resource: "mynamespaces"})}
	ctx, v.stop = context.WithCancel(context.Background())
	v.all.Go(func() { v.ask(ctx, served) })
	v.all.Go(func() { v.watch(ctx) })
	DeferCleanup(v.end)
	return v
}

func (v *viewer) end() {
	v.stop()
	v.all.Wait()
}

// ask lists, and asks what is served, until ctx ends. A question that was begun gets its answer.
func (v *viewer) ask(ctx context.Context, served discovery.DiscoveryInterface) {
	ticker := time.NewTicker(viewEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		start := time.Now()
		err := v.list(context.WithoutCancel(ctx), func(*unstructured.UnstructuredList) {})
		v.lists++
		v.slowest = max(v.slowest, time.Since(start))
		v.refused.note(start, err != nil, err)
		start = time.Now()
		_, _, err = served.ServerGroupsAndResources()
		v.unknown.note(start, err != nil, err)
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	v.refused.note(time.Time{}, false, nil)
	v.unknown.note(time.Time{}, false, nil)
}

func (v *viewer) list(ctx context.Context, do func(*unstructured.UnstructuredList)) error {
	ctx, cancel := context.WithTimeout(ctx, viewLimit)
	defer cancel()
	list, err := v.views.List(ctx, metav1.ListOptions{})
	if err == nil {
		do(list)
	}
	return err
}

// watch watches until ctx ends, as an informer does: from the version of the last bookmark, and after a list where that is too old.
func (v *viewer) watch(ctx context.Context) {
	var version string
	for ctx.Err() == nil {
		start := time.Now()
		if version == "" {
			err := v.list(ctx, func(list *unstructured.UnstructuredList) { v.replace(list); version = list.GetResourceVersion() })
			if err != nil {
				v.unwatched.note(start, true, err)
				continue
			}
			v.relists++
		}
		events, err := v.views.Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
		if err != nil {
			if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
				version = ""
			}
			v.unwatched.note(start, true, err)
			continue
		}
		v.watches++
		v.unwatched.note(start, false, nil)
		version = v.follow(events, version)
		v.unwatched.note(time.Now(), ctx.Err() == nil, nil)
	}
	v.unwatched.note(time.Time{}, false, nil)
}

// follow takes down what a watch shows until it ends. It returns the version to continue from; empty if that is too old.
func (v *viewer) follow(events watch.Interface, version string) string {
	defer events.Stop()
	for event := range events.ResultChan() {
		o, is := event.Object.(*unstructured.Unstructured)
		switch {
		case event.Type == watch.Error || !is:
			return ""
		case event.Type == watch.Bookmark:
			version = o.GetResourceVersion()
		default:
			v.mu.Lock()
			v.shown[o.GetName()] = event.Type != watch.Deleted
			v.mu.Unlock()
		}
	}
	return version
}

func (v *viewer) replace(list *unstructured.UnstructuredList) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shown = map[string]bool{}
	for i := range list.Items {
		v.shown[list.Items[i].GetName()] = true
	}
}

// report expects that the watch shows what a list does, ends the viewer, prints its figures, and expects that there was no gap.
func (v *viewer) report(ctx context.Context, during string) {
	GinkgoHelper()
	var names []string
	eventually(ctx, "the watch shows what a list does", soon, func(g Gomega) {
		names = nil
		g.Expect(v.list(ctx, func(list *unstructured.UnstructuredList) {
			for i := range list.Items {
				names = append(names, list.Items[i].GetName())
			}
		})).To(Succeed())
		v.mu.Lock()
		shown := maps.Clone(v.shown)
		v.mu.Unlock()
		maps.DeleteFunc(shown, func(_ string, is bool) bool { return !is })
		g.Expect(slices.Collect(maps.Keys(shown))).To(ConsistOf(names))
	})
	v.end()
	say("%s: %d lists of %d namespaces, slowest %s, longest stretch of refused ones %s, of failed discovery %s", during, v.lists, len(names),
		v.slowest.Round(time.Millisecond), v.refused.longest(), v.unknown.longest())
	say("%s: %d watches after %d lists, longest stretch without one %s", during, v.watches, v.relists, v.unwatched.longest())
	for _, s := range []*stretches{&v.refused, &v.unknown, &v.unwatched} {
		for i, err := range s.errs {
			if err != nil {
				say("for %s: %v", s.lengths[i].Round(time.Millisecond), err)
			}
		}
	}
	Expect(v.unknown.errs).To(BeEmpty(), "failures of discovery")
	Expect(v.refused.longest()).To(BeNumerically("<=", mostUnseen), "the longest stretch of refused lists")
	Expect(v.unwatched.longest()).To(BeNumerically("<=", mostUnseen), "the longest stretch without a watch")
}
