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
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
)

func TestCronTabFacts(t *testing.T) {
	at := metav1.NewTime(time.Date(2027, time.March, 2, 1, 17, 0, 0, time.UTC))
	c := &v1alpha1.CronTab{ObjectMeta: metav1.ObjectMeta{Name: "report"}, Spec: v1alpha1.CronTabSpec{CronSpec: "H H(2-4) * * *", TimeZone: "Europe/Berlin"}}
	c.Status.Schedule = "17 2 * * *"
	c.Status.NextRuns = []metav1.Time{at, metav1.NewTime(at.AddDate(0, 0, 1))}
	c.Status.RunNow = &v1alpha1.RunNow{Request: demoRequest, By: "demo", Job: "report-run-x"}
	c.Status.LastRun = &v1alpha1.LastRun{ActiveRun: v1alpha1.ActiveRun{Job: "report-run-x"}, Outcome: v1alpha1.OutcomeSucceeded}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c)
	if err != nil {
		t.Fatal(err)
	}
	facts, err := cronTabFacts(t.Context(), nil, &unstructured.Unstructured{Object: object})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range facts {
		got = append(got, strings.ReplaceAll(f.what+": "+f.text, nbsp, " "))
	}
	want := []string{
		`Schedule: "H H(2-4) * * *" in Europe/Berlin, which for this object is "17 2 * * *"`,
		"Next runs: Tue Mar 2 01:17 UTC, Wed Mar 3 01:17 UTC",
		`Run by hand: Job report-run-x, for the request "make demo" that demo made with the annotation batch.acme.com/run-now: Succeeded`,
		`Again: kubectl annotate crontab report batch.acme.com/run-now="$(date)" --overwrite`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
