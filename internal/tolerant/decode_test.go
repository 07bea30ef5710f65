// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerant_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	autorebootv1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	batchv1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	tenancyv1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/tolerant"
)

func TestDecode(t *testing.T) {
	for _, tc := range []struct {
		reason, give string
		into         any
		fails        string
	}{
		{"what is as it should be", `{"spec": {"image": "a", "resources": {"requests": {"cpu": "100m", "memory": "1e3"}}, "jitter": "5m"}}`, &batchv1alpha1.CronTab{}, ""},
		{"a number for a quantity", `{"spec": {"quota": {"cpu": 5}}}`, &tenancyv1alpha1.AcmeNamespace{}, ""},
		{"an exponent that is small", `{"spec": {"quota": {"cpu": "1e-99"}}}`, &tenancyv1alpha1.AcmeNamespace{}, ""},
		{"text that looks like a quantity", `{"spec": {"args": ["1e-100000000"]}}`, &batchv1alpha1.CronTab{}, ""},
		{
			"an exponent that takes minutes", `{"spec": {"resources": {"requests": {"cpu": "1e-100000000"}}}}`, &batchv1alpha1.CronTab{},
			`spec.resources.requests[cpu]: "1e-100000000" is not a valid quantity`,
		},
		{
			"the same in a list", `{"spec": {"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1E+999999999"}}}]}}`,
			&batchv1alpha1.CronTab{}, "spec.env[0].valueFrom.resourceFieldRef.divisor",
		},
		{
			"the same behind a pointer", `{"spec": {"template": {"spec": {"volumes": [{"name": "a", "emptyDir": {"sizeLimit": "1e-100000000"}}]}}}}`,
			&batchv1alpha1.CronTab{}, "spec.template.spec.volumes[0].emptyDir.sizeLimit",
		},
		{"the same in a tier", `{"spec": {"limitRange": {"max": {"cpu": "1e-100000000"}}}}`, &tenancyv1alpha1.DeploymentTier{}, "spec.limitRange.max[cpu]"},
		{"the same in a status", `{"status": {"quota": {"used": {"cpu": "1e-100000000"}}}}`, &tenancyv1alpha1.AcmeNamespace{}, "status.quota.used[cpu]"},
		{"very many digits", `{"spec": {"quota": {"cpu": "` + strings.Repeat("9", 1<<20) + `"}}}`, &tenancyv1alpha1.AcmeNamespace{}, "spec.quota[cpu]"},
		{"a fraction for an exponent", `{"spec": {"quota": {"cpu": "1e1.5"}}}`, &tenancyv1alpha1.AcmeNamespace{}, "spec.quota[cpu]: "},
		{"a duration that is none", `{"spec": {"restart": {"debounce": "soon"}}}`, &autorebootv1alpha1.ConfigWatcher{}, "spec.restart.debounce: "},
		{"a duration that is too long", `{"spec": {"jitter": "99999999999999h"}}`, &batchv1alpha1.CronTab{}, "spec.jitter: "},
		{"a time that is none", `{"spec": {"notBefore": "2027-02-30T00:00:00Z"}}`, &batchv1alpha1.CronTab{}, "spec.notBefore: "},
		{"a time without microseconds", `{"status": {"pending": {"since": "2027-01-01T00:00:00Z"}}}`, &autorebootv1alpha1.ConfigWatcher{}, "status.pending.since: "},
		{"a list for a map", `{"spec": []}`, &batchv1alpha1.CronTab{}, "struct from: slice"},
		{"text for a list", `{"spec": {"env": "a"}}`, &batchv1alpha1.CronTab{}, "slice from string"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			from := map[string]any{}
			if err := utiljson.Unmarshal([]byte(tc.give), &from); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- tolerant.Decode(from, tc.into) }()
			select {
			case err := <-ended:
				if (tc.fails == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tc.fails) {
					t.Errorf("Decode = %v, want %q in it", err, tc.fails)
				}
			case <-time.After(time.Minute):
				t.Fatal("it is still being decoded after a minute")
			}
		})
	}
}

// exploding is a type whose decoder panics.
type exploding struct{ Fuse fuse }

type fuse struct{}

func (*fuse) UnmarshalJSON([]byte) error { panic("boom") }

func TestDecodeSurvivesPanics(t *testing.T) {
	err := tolerant.Decode(map[string]any{"Fuse": "a"}, &exploding{})
	if err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("Decode = %v", err)
	}
}

func TestDecodeIsComplete(t *testing.T) {
	from := map[string]any{}
	text := `{"apiVersion": "batch.acme.com/v1alpha1", "kind": "CronTab", "metadata": {"name": "a", "generation": 3},
		"spec": {"image": "a", "replicas": 2}, "status": {"missed": 4, "replicas": 1, "activeRuns": 0}}`
	if err := utiljson.Unmarshal([]byte(text), &from); err != nil {
		t.Fatal(err)
	}
	got := &batchv1alpha1.CronTab{}
	if err := tolerant.Decode(from, got); err != nil {
		t.Fatal(err)
	}
	want := &batchv1alpha1.CronTab{Spec: batchv1alpha1.CronTabSpec{Image: "a", Replicas: 2}}
	want.APIVersion, want.Kind, want.Name, want.Generation = "batch.acme.com/v1alpha1", "CronTab", "a", 3
	want.Status.Missed, want.Status.Replicas = 4, 1
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
