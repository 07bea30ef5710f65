// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
)

// migrating is a WebApp with a migration.
func migrating(with ...func(*v1alpha1.WebAppSpec)) *v1alpha1.WebApp {
	asks := func(s *v1alpha1.WebAppSpec) { s.Migration = &v1alpha1.Migration{Command: []string{"migrate"}} }
	return app(common.TierDev, append([]func(*v1alpha1.WebAppSpec){asks}, with...)...)
}

func job(name string, end batchv1.JobConditionType) *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if end != "" {
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue}, {Type: end, Status: corev1.ConditionTrue}}
	}
	return j
}

func TestMigrationsHaveANameForWhatTheyRun(t *testing.T) {
	base := migrationName(migrating())
	for why, a := range map[string]*v1alpha1.WebApp{
		"another image":   migrating(func(s *v1alpha1.WebAppSpec) { s.WebAppImage = "a:v2" }),
		"another command": migrating(func(s *v1alpha1.WebAppSpec) { s.Migration.Command = []string{"migrate", "all"} }),
		"arguments":       migrating(func(s *v1alpha1.WebAppSpec) { s.Migration = &v1alpha1.Migration{Args: []string{"migrate"}} }),
	} {
		if migrationName(a) == base {
			t.Errorf("%s has the same Job", why)
		}
	}
	for why, a := range map[string]*v1alpha1.WebApp{
		"another host": migrating(func(s *v1alpha1.WebAppSpec) { s.WebAppHostname = "b.acme.com" }),
		"another tier": migrating(func(s *v1alpha1.WebAppSpec) { s.DeploymentTier = common.TierProd }),
		"files":        migrating(func(s *v1alpha1.WebAppSpec) { s.Config = map[string]v1alpha1.FileContent{"a": "b"} }),
	} {
		if migrationName(a) != base {
			t.Errorf("%s runs the migration again", why)
		}
	}
	if got := migrationName(app(common.TierDev)); got != "" {
		t.Errorf("none is called %q", got)
	}
}

func TestMigrationsHold(t *testing.T) {
	a := migrating()
	current := migrationName(a)
	done := migrating()
	done.Status.Migrated = current
	before := migrating()
	before.Status.Migrated = "web-migrate-0123456789"
	recorded := migrating()
	recorded.Status.Migrated, recorded.Status.Revisions = "web-migrate-0123456789", []v1alpha1.Revision{{Number: 2}, {Number: 1, Migrated: current}}
	unasked := app(common.TierDev)
	unasked.Status.Revisions = []v1alpha1.Revision{{Number: 1}}
	gone := job("web-migrate-9999999999", "")
	gone.DeletionTimestamp = new(metav1.Now())
	goneEnded := job("web-migrate-9999999999", batchv1.JobFailed)
	goneEnded.DeletionTimestamp = new(metav1.Now())
	for _, tc := range []struct {
		reason string
		app    *v1alpha1.WebApp
		jobs   []*batchv1.Job
		want   bool
	}{
		{"none is asked for", app(common.TierDev), nil, false},
		{"it has not run", a, nil, true},
		{"it runs", a, []*batchv1.Job{job(current, "")}, true},
		{"it has failed", a, []*batchv1.Job{job(current, batchv1.JobFailed)}, true},
		{"it has succeeded, and that is not on record yet", a, []*batchv1.Job{job(current, batchv1.JobComplete)}, true},
		{"it has succeeded", done, []*batchv1.Job{job(current, batchv1.JobComplete)}, false},
		{"it has succeeded, and its Job is gone", done, nil, false},
		{"one of another version has succeeded", before, nil, true},
		{"it has succeeded for a revision that is on record", recorded, nil, false},
		{"it has succeeded for such a revision, and one of another version runs", recorded, []*batchv1.Job{job("web-migrate-0123456789", "")}, true},
		{"none is asked for, and none has run for a revision", unasked, nil, false},
		{"one of another version runs", done, []*batchv1.Job{job("web-migrate-0123456789", "")}, true},
		{"one of another version has failed", done, []*batchv1.Job{job("web-migrate-0123456789", batchv1.JobFailed)}, false},
		{"one of another version goes, and has not ended", done, []*batchv1.Job{gone}, true},
		{"one of another version goes, and has ended", done, []*batchv1.Job{goneEnded}, false},
		{"none is asked for any more, and one runs", app(common.TierDev), []*batchv1.Job{job("web-migrate-0123456789", "")}, true},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			if got := sortOut(tc.jobs, migrationName(tc.app)).holds(tc.app); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestADeploymentOfWhichThereIsNoRecordStaysAsItIs(t *testing.T) {
	was := ours(t, app(common.TierDev))
	next := migrating(func(s *v1alpha1.WebAppSpec) { s.WebAppImage, s.ServiceAccountName = "a:v2", new("robot") })
	children := func(in input) int {
		all, err := desired(in)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	if none, some := children(input{app: next, keep: true}), children(input{app: next, keep: true, deployment: was}); some != none+1 {
		t.Errorf("%d children without a Deployment, %d with one: its ServiceAccount stays", none, some)
	}
	if *was.ours.Spec.Template.Spec.Containers[0].Image != "registry.acme.com/app/app:v1.4" {
		t.Error("the version of before has changed")
	}
}

func TestMigrationJob(t *testing.T) {
	j, err := input{app: migrating(everything)}.migrationJob()
	if err != nil {
		t.Fatal(err)
	}
	pod := j.Spec.Template
	c := pod.Spec.Containers[0]
	got := []any{
		*j.Spec.BackoffLimit, pod.Spec.RestartPolicy, len(pod.Spec.Containers), len(pod.Spec.InitContainers), c.Command, len(c.Ports), c.ReadinessProbe == nil,
		c.Lifecycle == nil, c.TerminationMessagePolicy, pod.Labels[LabelWebApp], len(c.Env), len(pod.Spec.Volumes), pod.Spec.ServiceAccountName,
		*pod.Spec.SecurityContext.RunAsNonRoot, *c.SecurityContext.AllowPrivilegeEscalation,
	}
	want := []any{
		int32(0), corev1.RestartPolicyNever, 1, 0,
		[]string{"migrate"},
		0, true,
		true, corev1.TerminationMessageFallbackToLogsOnError, "", 8, 3, "robot",
		true, false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
