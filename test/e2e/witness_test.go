// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	coordinationv1alpha1 "github.com/acme/platform-operator/api/coordination/v1alpha1"
)

const (
	// askEvery and askLimit are of the client that asks the leader's Service, each time on a connection of its own.
	askEvery = 20 * time.Millisecond
	askLimit = time.Second
	// markAnnotation has the mark of the operator.
	markAnnotation = "coordination.acme.com/" + electedName
)

// witness sees all of a LeaderElection, and when: which pod has the label, where the Service leads, who answers a client of it, and
// what the pods read in their files.
type witness struct {
	end func() // ends what start has started

	mu       sync.Mutex
	labelled map[types.UID]string // pods that have the label
	led      []moment             // the pod that has the label
	routed   []moment             // the pod that the Service leads to
	answered []moment             // the pod that answers
	answer   int                  // how many there were
	refused  stretches
	failed   int
	written  map[fileText]time.Time // when it was in the API
	read     map[fileText]time.Time // when it was in the file; zero when it may have been there before
	last     map[[2]string]string   // text of a file of a pod
	errs     []string
}

// moment is when something became so; what is empty when there is none.
type moment struct {
	what string
	at   time.Time
}

// fileText is what a pod has in a file.
type fileText struct{ pod, file, text string }

// note takes down what is so, if it was not so before.
func note(to *[]moment, what string) {
	if current(*to) != what {
		*to = append(*to, moment{what, time.Now()})
	}
}

func current(of []moment) string {
	if len(of) == 0 {
		return ""
	}
	return of[len(of)-1].what
}

// start starts to watch. It ends with the specs at the latest.
func (w *witness) start(ctx context.Context) {
	GinkgoHelper()
	w.labelled, w.written, w.read, w.last = map[types.UID]string{}, map[fileText]time.Time{}, map[fileText]time.Time{}, map[[2]string]string{}
	c, err := client.NewWithWatch(lab.config, client.Options{Scheme: lab.scheme})
	Expect(err).NotTo(HaveOccurred())
	service := &corev1.Service{}
	eventually(ctx, "the leader has a Service", soon, func(g Gomega) {
		g.Expect(lab.client.Get(ctx, client.ObjectKey{Namespace: elected, Name: electedName + "-leader"}, service)).To(Succeed())
	})
	working, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, each := range []struct {
		list   client.ObjectList
		labels client.MatchingLabels
		note   func(watch.Event)
	}{
		{&corev1.PodList{}, client.MatchingLabels{"app": electedName}, w.notePod},
		{&discoveryv1.EndpointSliceList{}, client.MatchingLabels{discoveryv1.LabelServiceName: service.Name}, w.noteSlice},
		{&corev1.ConfigMapList{}, nil, w.noteConfigMap},
	} {
		events, err := c.Watch(working, each.list, client.InNamespace(elected), each.labels)
		Expect(err).NotTo(HaveOccurred())
		all.Go(func() {
			for event := range events.ResultChan() {
				w.noteEvent(event, each.note)
			}
			w.complain(working.Err() == nil, "a watch has ended")
		})
	}
	all.Go(func() { w.ask(working, "http://"+service.Spec.ClusterIP+"/") })
	w.end = sync.OnceFunc(func() {
		stop()
		all.Wait()
	})
	DeferCleanup(func() {
		if CurrentSpecReport().Failed() {
			w.end()
		}
	})
}

func (w *witness) noteEvent(event watch.Event, do func(watch.Event)) {
	if event.Type == watch.Bookmark {
		return
	}
	w.complain(event.Type == watch.Error, "%v", event.Object)
	w.mu.Lock()
	defer w.mu.Unlock()
	do(event)
}

func (w *witness) complain(really bool, format string, values ...any) {
	if !really {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errs = append(w.errs, fmt.Sprintf(format, values...))
}

func (w *witness) notePod(event watch.Event) {
	pod, is := event.Object.(*corev1.Pod)
	if !is {
		return
	}
	delete(w.labelled, pod.UID)
	if event.Type != watch.Deleted && pod.Labels["leader"] == "true" {
		w.labelled[pod.UID] = pod.Name
	}
	w.noteWritten(fileText{pod.Name, markFile, pod.Annotations[markAnnotation]})
	var names []string
	for _, name := range w.labelled {
		names = append(names, name)
	}
	if len(names) > 1 {
		w.errs = append(w.errs, fmt.Sprintf("%v have the label", names))
	}
	note(&w.led, strings.Join(names, " "))
}

func (w *witness) noteSlice(event watch.Event) {
	slice, is := event.Object.(*discoveryv1.EndpointSlice)
	if !is {
		return
	}
	var names []string
	for _, e := range slice.Endpoints {
		if e.Conditions.Ready != nil && *e.Conditions.Ready && e.TargetRef != nil && event.Type != watch.Deleted {
			names = append(names, e.TargetRef.Name)
		}
	}
	note(&w.routed, strings.Join(names, " "))
}

func (w *witness) noteConfigMap(event watch.Event) {
	if c, is := event.Object.(*corev1.ConfigMap); is && c.Name == electedName+"-leader" {
		w.noteWritten(fileText{"", epochFile, c.Data["epoch"]})
	}
}

func (w *witness) noteWritten(text fileText) {
	if _, known := w.written[text]; !known {
		w.written[text] = time.Now()
	}
}

// ask asks who leads, again and again, until ctx ends.
func (w *witness) ask(ctx context.Context, url string) {
	ticker := time.NewTicker(askEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		start := time.Now()
		name, err := fetch(url)
		w.mu.Lock()
		w.refused.note(start, err != nil, err)
		if err == nil {
			w.answer++
			note(&w.answered, strings.TrimSpace(string(name)))
		} else {
			w.failed++
		}
		w.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// fetch sends a request on a connection of its own.
func fetch(url string) ([]byte, error) {
	c := http.Client{Timeout: askLimit, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := c.Get(url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // all that matters has been read
	return io.ReadAll(response.Body)
}

func (w *witness) locked(read func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	read()
}

// leads, routes and answers are the pods that do, one or none.
func (w *witness) leads() (name string) {
	w.locked(func() { name = current(w.led) })
	return name
}

func (w *witness) routes() (name string) {
	w.locked(func() { name = current(w.routed) })
	return name
}

func (w *witness) answers() (name string) {
	w.locked(func() { name = current(w.answered) })
	return name
}

func (w *witness) failures() (n int) {
	w.locked(func() { n = w.failed })
	return n
}

// awaitAnswers waits for more answers.
func (w *witness) awaitAnswers(ctx context.Context, more int) {
	GinkgoHelper()
	count := func() (n int) {
		w.locked(func() { n = w.answer })
		return n
	}
	before := count()
	eventually(ctx, "there are more answers", soon, func(g Gomega) { g.Expect(count()).To(BeNumerically(">=", before+more)) })
}

// handOver does something after which another pod leads, and prints how long that takes, as seen from the API, the Service and a client.
func (w *witness) handOver(ctx context.Context, what string, do func(old string)) {
	GinkgoHelper()
	var old string
	var failed int
	w.locked(func() { old, failed, w.refused.lengths = current(w.answered), w.failed, nil })
	start := time.Now()
	do(old)
	eventually(ctx, what+": another pod leads and answers", soon, func(g Gomega) {
		leads := w.leads()
		g.Expect(leads).NotTo(Or(BeEmpty(), Equal(old)))
		g.Expect(w.routes()).To(Equal(leads))
		g.Expect(w.answers()).To(Equal(leads))
	})
	w.awaitAnswers(ctx, 1) // so that the last stretch of failures has ended
	w.mu.Lock()
	defer w.mu.Unlock()
	after := func(of []moment) time.Duration { return of[len(of)-1].at.Sub(start).Round(time.Millisecond) }
	say("%s: another pod had the label after %s, the Service led to it after %s, it answered after %s; %d requests failed, for %s at a stretch",
		what, after(w.led), after(w.routed), after(w.answered), w.failed-failed, w.refused.longest())
}

// awaitCandidates waits until all pods could lead, and asks them what they have read.
func (w *witness) awaitCandidates(ctx context.Context) {
	GinkgoHelper()
	eventually(ctx, "three pods could lead", soon, func(g Gomega) {
		e := &coordinationv1alpha1.LeaderElection{}
		g.Expect(lab.client.Get(ctx, client.ObjectKey{Namespace: elected, Name: electedName}, e)).To(Succeed())
		g.Expect(e.Status.ReadyCandidates).To(BeEquivalentTo(3))
		w.askPods(ctx, g)
	})
}

// askPods asks all pods what they have read in their files.
func (w *witness) askPods(ctx context.Context, g Gomega) {
	pods := &corev1.PodList{}
	g.Expect(lab.client.List(ctx, pods, client.InNamespace(elected), client.MatchingLabels{"app": electedName})).To(Succeed())
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp != nil {
			continue
		}
		body, err := fetch("http://" + pod.Status.PodIP + ":8080/seen")
		g.Expect(err).NotTo(HaveOccurred())
		var seen []struct {
			File, Text string
			At         time.Time
		}
		g.Expect(json.Unmarshal(body, &seen)).To(Succeed(), string(body))
		w.locked(func() {
			first := map[string]bool{}
			for _, s := range seen {
				key := fileText{pod.Name, s.File, s.Text}
				if _, known := w.read[key]; !known {
					w.read[key] = s.At
					if !first[s.File] {
						w.read[key] = time.Time{} // it was there when the pod began to look
					}
				}
				first[s.File], w.last[[2]string{pod.Name, s.File}] = true, s.Text
			}
		})
	}
}

// expectTold expects that all pods have read what is in the API.
func (w *witness) expectTold(ctx context.Context, g Gomega, file string) {
	w.askPods(ctx, g)
	pods := &corev1.PodList{}
	g.Expect(lab.client.List(ctx, pods, client.InNamespace(elected), client.MatchingLabels{"app": electedName})).To(Succeed())
	told := &corev1.ConfigMap{}
	g.Expect(lab.client.Get(ctx, client.ObjectKey{Namespace: elected, Name: electedName + "-leader"}, told)).To(Succeed())
	for _, pod := range pods.Items {
		want := map[string]string{markFile: pod.Annotations[markAnnotation], epochFile: told.Data["epoch"]}[file]
		w.mu.Lock()
		got := w.last[[2]string{pod.Name, file}]
		w.mu.Unlock()
		g.Expect(got).To(Equal(want), pod.Name)
	}
}

// latency says how long it took from the API to the files.
func (w *witness) latency(file string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []time.Duration
	for text, at := range w.read {
		key := text
		if file == epochFile {
			key.pod = ""
		}
		if written, known := w.written[key]; known && !at.IsZero() && text.file == file && text.text != "" {
			all = append(all, at.Sub(written).Round(time.Millisecond))
		}
	}
	slices.Sort(all)
	if len(all) == 0 {
		return "never seen to change"
	}
	return fmt.Sprintf("%d changes were read after %s to %s, half of them within %s", len(all), all[0], all[len(all)-1], all[(len(all)-1)/2])
}

// wrong is what must not be: two leaders in the API, or a pod that answers for the Service without having become the leader.
func (w *witness) wrong() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all, led := slices.Clone(w.errs), w.led
	for _, a := range w.answered {
		i := slices.IndexFunc(led, func(m moment) bool { return m.what == a.what })
		if i < 0 {
			return append(all, fmt.Sprintf("%s answered, and was not the next leader", a.what))
		}
		led = led[i+1:]
	}
	return all
}
