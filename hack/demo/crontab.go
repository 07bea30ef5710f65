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
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
)

const (
	// runNowAnnotation asks for a run by hand; its value names the request.
	runNowAnnotation = "batch.acme.com/run-now"
	// demoRequest is the one that the demo makes. A second demo on the same cluster finds it done.
	demoRequest = "make demo"
	// runTimeout is how long a run of the demo may take: its pod is simulated and succeeds after a second.
	runTimeout = 30 * time.Second
)

func toCronTab(o *unstructured.Unstructured) (*v1alpha1.CronTab, error) {
	c := &v1alpha1.CronTab{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, c); err != nil {
		return nil, fmt.Errorf("reading CronTab %s: %w", o.GetName(), err)
	}
	return c, nil
}

// runCronTab asks for a run by hand, and waits until it has ended.
func runCronTab(ctx context.Context, c client.Client, o *unstructured.Unstructured) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{runNowAnnotation: demoRequest}}})
	if err != nil {
		return err
	}
	live := o.DeepCopy()
	if err := c.Patch(ctx, live, client.RawPatch(client.Merge.Type(), patch), client.FieldOwner("demo")); err != nil {
		return fmt.Errorf("asking CronTab %s for a run: %w", o.GetName(), err)
	}
	err = wait.PollUntilContextTimeout(ctx, pollInterval, runTimeout, true, func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(o), live); err != nil {
			return false, err
		}
		tab, err := toCronTab(live)
		return err == nil && ranByHand(tab) && tab.Status.ActiveRuns == 0, err
	})
	if err != nil {
		return fmt.Errorf("waiting for the run of CronTab %s by hand: %w", o.GetName(), err)
	}
	return nil
}

// ranByHand tells whether the demo's request was taken up.
func ranByHand(c *v1alpha1.CronTab) bool {
	return c.Status.RunNow != nil && c.Status.RunNow.Request == demoRequest && c.Status.RunNow.Job != ""
}

// cronTabFacts tells when a CronTab runs, and how the run by hand went.
func cronTabFacts(_ context.Context, _ client.Reader, o *unstructured.Unstructured) ([]fact, error) {
	c, err := toCronTab(o)
	if err != nil {
		return nil, err
	}
	zone := c.Spec.TimeZone
	if zone == "" {
		zone = "UTC"
	}
	facts := []fact{{"Schedule", fmt.Sprintf("%q in %s, which for this object is %q", c.Spec.CronSpec, zone, c.Status.Schedule)}}
	var next []string
	for _, at := range c.Status.NextRuns {
		next = append(next, strings.ReplaceAll(at.UTC().Format("Mon Jan 2 15:04 MST"), " ", nbsp))
	}
	if len(next) > 0 {
		facts = append(facts, fact{"Next runs", strings.Join(next, ", ")})
	}
	if r := c.Status.RunNow; r != nil && r.Job != "" {
		text := fmt.Sprintf("Job %s, for the request %q that %s made with the annotation %s", r.Job, r.Request, r.By, runNowAnnotation)
		if last := c.Status.LastRun; last != nil && last.Job == r.Job {
			text += fmt.Sprintf(": %s", last.Outcome)
		}
		facts = append(facts, fact{"Run by hand", text})
	}
	return append(facts, fact{"Again", fmt.Sprintf(`kubectl annotate crontab %s %s="$(date)" --overwrite`, c.Name, runNowAnnotation)}), nil
}
