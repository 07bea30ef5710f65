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

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// sample is an object of config/samples.
type sample struct {
	file    string // relative to the repository
	comment string // what stands above the object
	text    string // the object as the file has it
	object  *unstructured.Unstructured
	live    *unstructured.Unstructured // as the API server had it last; nil until it was applied
	tells   bool                       // the kind has a status, which tells when the object is ready
}

func (s *sample) title() string { return s.object.GetKind() + " " + s.object.GetName() }

// loadSamples reads the samples that the kustomization of the repository at root lists, in its order.
func loadSamples(root string) ([]*sample, error) {
	dir := filepath.Join("config", "samples")
	data, err := os.ReadFile(filepath.Join(root, dir, "kustomization.yaml"))
	if err != nil {
		return nil, fmt.Errorf("reading the list of samples: %w", err)
	}
	var list struct {
		Resources []string `json:"resources"`
	}
	if err := yaml.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("reading the list of samples: %w", err)
	}
	var samples []*sample
	for _, name := range list.Resources {
		file := filepath.Join(dir, name)
		data, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, fmt.Errorf("reading a sample: %w", err)
		}
		found, err := parseSamples(file, data)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		samples = append(samples, found...)
	}
	return samples, nil
}

func parseSamples(file string, data []byte) ([]*sample, error) {
	var samples []*sample
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return samples, nil
		}
		if err != nil {
			return nil, err
		}
		s := &sample{file: file, object: &unstructured.Unstructured{}}
		s.comment, s.text = splitComment(string(doc))
		if err := yaml.Unmarshal(doc, &s.object.Object); err != nil {
			return nil, err
		}
		if len(s.object.Object) > 0 {
			samples = append(samples, s)
		}
	}
}

// splitComment parts the comment at the head of a document from the rest.
func splitComment(doc string) (comment, rest string) {
	var said []string
	lines := strings.Split(strings.TrimSpace(strings.TrimPrefix(doc, "---\n")), "\n")
	for len(lines) > 0 && strings.HasPrefix(lines[0], "#") {
		said = append(said, strings.TrimSpace(strings.TrimPrefix(lines[0], "#")))
		lines = lines[1:]
	}
	return strings.Join(said, " "), strings.Join(lines, "\n")
}

// applySamples applies the samples and waits until all are ready.
func (s *session) applySamples(ctx context.Context) (err error) {
	if s.samples, err = loadSamples(s.root); err != nil {
		return err
	}
	var titles []string
	for _, each := range s.samples {
		titles = append(titles, each.title())
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, fmt.Errorf("not all is ready after %s", s.timeout))
	defer cancel()
	b := s.board(titles...)
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		err := s.advance(ctx, b)
		b.draw()
		open := b.open()
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("%w: %s", context.Cause(ctx), strings.Join(open, "; "))
		case err != nil:
			return err
		case len(open) == 0:
			return nil
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// act has the samples show what they are for.
func (s *session) act(ctx context.Context) error {
	for _, each := range s.samples {
		act := viewOf(each.object).act
		if act == nil {
			continue
		}
		if err := each.look(ctx, s.admin); err != nil {
			return err
		}
		if err := act(ctx, s.admin, each.live); err != nil {
			return err
		}
	}
	return nil
}

// advance brings each sample that is not ready one step further.
func (s *session) advance(ctx context.Context, b *board) error {
	for i, each := range s.samples {
		if b.rows[i].done {
			continue
		}
		state, done, err := each.advance(ctx, s.admin)
		if err != nil {
			return err
		}
		if done {
			state += " after " + b.elapsed()
		}
		b.set(i, state, done)
	}
	return nil
}

// advance applies the sample when that was not done yet, and looks how far it is.
func (s *sample) advance(ctx context.Context, c client.Client) (state string, done bool, err error) {
	if s.live == nil {
		if err := s.place(ctx, c); err != nil {
			return waitingOr(err)
		}
		if stage := viewOf(s.object).stage; stage != nil {
			if err := stage(ctx, c, s.object); err != nil {
				return waitingOr(err)
			}
		}
		if err := apply(ctx, c, s.object); err != nil {
			return waitingOr(err)
		}
	}
	if err := s.look(ctx, c); err != nil {
		return waitingOr(err)
	}
	state, done = s.state()
	return state, done, nil
}

// place finds out what the API server knows about the kind. An object that lives in a namespace and names
// none gets the one that kubectl would choose.
func (s *sample) place(ctx context.Context, c client.Client) error {
	gvk := s.object.GroupVersionKind()
	mapping, err := c.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace && s.object.GetNamespace() == "" {
		s.object.SetNamespace(metav1.NamespaceDefault)
	}
	crd := newCRD()
	err = c.Get(ctx, client.ObjectKey{Name: mapping.Resource.GroupResource().String()}, crd)
	s.tells = hasStatus(crd)
	return client.IgnoreNotFound(err)
}

// hasStatus tells whether a custom resource has a status apart from its spec.
func hasStatus(crd *unstructured.Unstructured) bool {
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	return err == nil && slices.ContainsFunc(versions, func(v any) bool {
		version, _ := v.(map[string]any)
		_, found, err := unstructured.NestedMap(version, "subresources", "status")
		return err == nil && found
	})
}

func waitingOr(err error) (string, bool, error) {
	if notYet(err) {
		return "waiting for its namespace", false, nil
	}
	return "", false, err
}

func isNoMatch(err error) bool { return meta.IsNoMatchError(err) }

func (s *sample) look(ctx context.Context, c client.Client) error {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(s.object.GroupVersionKind())
	if err := c.Get(ctx, client.ObjectKeyFromObject(s.object), live); err != nil {
		return fmt.Errorf("reading %s: %w", s.title(), err)
	}
	s.live = live
	return nil
}

// state says in a few words how far the object is. A kind without a status has nothing to wait for.
func (s *sample) state() (text string, ready bool) {
	if !s.tells {
		return "in place", true
	}
	c, found := condition(s.live, "Ready")
	observed, _ := c["observedGeneration"].(int64)
	switch {
	case !found || observed < s.live.GetGeneration():
		return "waiting for the operator", false
	case c["status"] == "True":
		return "Ready", true
	case viewOf(s.live).needs != "":
		return fmt.Sprintf("needs %s: %s", viewOf(s.live).needs, c["reason"]), true
	default:
		return fmt.Sprintf("%s: %s", c["reason"], c["message"]), false
	}
}

// health is nil when the sample is in the cluster and ready.
func (s *sample) health(ctx context.Context, c client.Client) error {
	if err := errors.Join(s.place(ctx, c), s.look(ctx, c)); err != nil {
		return err
	}
	if text, ready := s.state(); !ready {
		return errors.New(text)
	}
	return nil
}
