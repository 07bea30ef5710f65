// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
)

var pods = schema.GroupResource{Resource: "pods"}

func TestJitter(t *testing.T) {
	for _, d := range []time.Duration{0, -time.Second} {
		if got := jitter(d); got != 0 {
			t.Errorf("jitter(%v) = %v, want no requeue", d, got)
		}
	}
	for _, d := range []time.Duration{1, 9, time.Second, 24 * time.Hour} {
		seen := map[time.Duration]bool{}
		for range 1000 {
			got := jitter(d)
			if got < d || got > d+d/10 {
				t.Fatalf("jitter(%v) = %v, want up to a tenth more", d, got)
			}
			seen[got] = true
		}
		if d >= time.Second && len(seen) < 900 {
			t.Errorf("jitter(%v) gave only %d different delays of 1000", d, len(seen))
		}
	}
}

func TestSooner(t *testing.T) {
	const never = 0
	for _, c := range []struct{ a, b, want time.Duration }{
		{never, never, never}, {1, never, 1}, {never, 1, 1}, {1, 2, 1}, {2, 1, 1}, {1, 1, 1},
	} {
		if got := sooner(c.a, c.b); got != c.want {
			t.Errorf("sooner(%d, %d) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestFailed(t *testing.T) {
	forbidden := apierrors.NewForbidden(pods, "p", errors.New("no"))
	for name, c := range map[string]struct {
		err  error
		want Outcome
	}{
		"any error":                 {errors.New("x"), Outcome{state: waiting, reason: "Error", message: "x", wrong: true}},
		"the API server's reason":   {fmt.Errorf("making: %w", forbidden), Outcome{state: waiting, reason: "Forbidden", message: "making: " + forbidden.Error(), wrong: true}},
		"an API error without one":  {&apierrors.StatusError{ErrStatus: metav1.Status{Message: "x"}}, Outcome{state: waiting, reason: "Error", message: "x", wrong: true}},
		"an explanation":            {Explain(errors.New("x"), "R", "m"), Outcome{state: waiting, reason: "R", message: "m", wrong: true}},
		"a wrapped explanation":     {fmt.Errorf("y: %w", Explain(errors.New("x"), "R", "m")), Outcome{state: waiting, reason: "R", message: "m", wrong: true}},
		"an explained reason of it": {Explain(forbidden, "R", "m"), Outcome{state: waiting, reason: "R", message: "m", wrong: true}},
		"the outer explanation":     {Explain(Explain(errors.New("x"), "Q", "l"), "R", "m"), Outcome{state: waiting, reason: "R", message: "m", wrong: true}},
	} {
		if diff := cmp.Diff(c.want, failed(c.err), cmp.AllowUnexported(Outcome{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if cause := errors.New("x"); !errors.Is(Explain(cause, "R", "m"), cause) || Explain(cause, "R", "m").Error() != "x" {
		t.Error("Explain loses the error")
	}
}

func TestResult(t *testing.T) {
	broken := errors.New("x")
	conflict := apierrors.NewConflict(pods, "p", errors.New("late"))
	held := apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict}}, "held")
	for name, c := range map[string]struct {
		err      error
		after    time.Duration
		want     error
		earliest time.Duration
		lost     bool
	}{
		"nothing to wait for":          {},
		"a delay":                      {after: time.Minute, earliest: time.Minute},
		"an error backs off":           {err: broken, after: time.Minute, want: broken},
		"the queue repeats a conflict": {err: fmt.Errorf("y: %w", conflict), after: time.Minute, lost: true},
		"a held field is an error":     {err: held, want: held},
		"an explained one as well":     {err: Explain(conflict, "R", "m"), want: conflict},
	} {
		run := &run{}
		got, err := resultOf(context.WithValue(t.Context(), runKey{}, run), clock.RealClock{}, Outcome{after: c.after}, c.err)
		if run.lost != c.lost {
			t.Errorf("%s: the race is lost: %t", name, run.lost)
		}
		if !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
		if got.RequeueAfter < c.earliest || got.RequeueAfter > c.earliest+c.earliest/10 {
			t.Errorf("%s: again after %v, want about %v", name, got.RequeueAfter, c.earliest)
		}
		if !cmp.Equal(got, ctrl.Result{RequeueAfter: got.RequeueAfter}) {
			t.Errorf("%s: %+v asks for more than a delay", name, got)
		}
	}
	if got, err := resultOf(t.Context(), clock.RealClock{}, Yield(time.Second), nil); err != nil || got.RequeueAfter == 0 || got.Priority == nil || *got.Priority >= 0 {
		t.Errorf("what is not urgent is requeued as %+v, %v", got, err)
	}
}

func TestThen(t *testing.T) {
	for name, c := range map[string]struct{ first, second, want Outcome }{
		"both done":       {Done(), Done(), Done()},
		"the first waits": {Wait(2, "R", "m"), Done(), Wait(2, "R", "m")},
		"the next waits":  {Done(), Wait(2, "R", "m"), Wait(2, "R", "m")},
		"the next blocks, but the first looks again": {DoneUntil(2), Block("R", "m"), BlockFor(2, "R", "m")},
		"the sooner delay counts":                    {DoneUntil(3), DoneUntil(2), DoneUntil(2)},
		"doubt stays":                                {Uncertain(2, "R", "m"), DoneUntil(1), Uncertain(1, "R", "m")},
		"doubt comes":                                {Done(), Uncertain(2, "R", "m"), Uncertain(2, "R", "m")},
		"a lack stays":                               {Lacking("R", "m"), Done(), Lacking("R", "m")},
		"a repetition stays":                         {Done().Repeat(), Block("R", "m"), Block("R", "m").Repeat()},
		"a repetition comes":                         {Done(), Done().Repeat(), Done().Repeat()},
		"a warning of doubt stays":                   {Uncertain(2, "R", "m").Warning(), Done(), Uncertain(2, "R", "m").Warning()},
	} {
		step := Step{"C", func(context.Context) (Outcome, error) { return c.first, nil }}.
			Then(func(context.Context) (Outcome, error) {
				if !c.first.GoesOn() {
					t.Errorf("%s: the next part runs", name)
				}
				return c.second, nil
			})
		got, err := step.Run(t.Context())
		if err != nil || step.Condition != "C" {
			t.Errorf("%s: step %q fails with %v", name, step.Condition, err)
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(Outcome{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	broken := errors.New("x")
	bad := func(context.Context) (Outcome, error) { return Outcome{}, broken }
	good := func(context.Context) (Outcome, error) { return Done(), nil }
	for _, step := range []Step{Step{"C", bad}.Then(good), Step{"C", good}.Then(bad)} {
		if _, err := step.Run(t.Context()); !errors.Is(err, broken) {
			t.Errorf("the error is lost: %v", err)
		}
	}
}

func TestClip(t *testing.T) {
	for _, text := range []string{"", "abc", "äöü", strings.Repeat("ä", 2000)} {
		for _, n := range []int{3, 6, names.MaxNote} {
			got := clip(text, n)
			if len(got) > n || !utf8.ValidString(got) || !strings.HasPrefix(text, got) {
				t.Errorf("clip(%.9q, %d) = %q", text, n, got)
			}
			if len(got) < min(len(text), n-1) {
				t.Errorf("clip(%.9q, %d) = %q loses too much", text, n, got)
			}
		}
	}
}

func TestDifferences(t *testing.T) {
	quota := func(hard ...string) *corev1ac.ResourceQuotaApplyConfiguration {
		list := corev1.ResourceList{}
		for pair := range slices.Chunk(hard, 2) {
			list[corev1.ResourceName(pair[0])] = resource.MustParse(pair[1])
		}
		return corev1ac.ResourceQuota("q", "ns").WithSpec(corev1ac.ResourceQuotaSpec().WithHard(list))
	}
	role := func(rules ...[]string) *rbacv1ac.RoleApplyConfiguration {
		r := rbacv1ac.Role("r", "ns")
		for _, verbs := range rules {
			r.WithRules(rbacv1ac.PolicyRule().WithAPIGroups("").WithVerbs(verbs...))
		}
		return r
	}
	env := func(value *string, ports ...int32) *corev1ac.ContainerApplyConfiguration {
		c := corev1ac.Container().WithEnv(&corev1ac.EnvVarApplyConfiguration{Name: new("A"), Value: value})
		for _, p := range ports {
			c.WithPorts(corev1ac.ContainerPort().WithContainerPort(p))
		}
		return c
	}
	for name, c := range map[string]struct {
		got, want any
		differ    []string
	}{
		"nothing":                    {quota("pods", "3"), quota("pods", "3"), nil},
		"the same amount":            {quota("cpu", "1", "memory", "1Gi"), quota("cpu", "1000m", "memory", "1024Mi"), nil},
		"amounts, by their names":    {quota("cpu", "1", "memory", "1", "pods", "1"), quota("cpu", "2", "memory", "1", "pods", "2"), []string{"spec.hard[cpu]", "spec.hard[pods]"}},
		"what is missing or added":   {quota("cpu", "1"), quota("pods", "1"), []string{"spec.hard[cpu]", "spec.hard[pods]"}},
		"a label":                    {role().WithLabels(map[string]string{"a/b": "c"}), role().WithLabels(map[string]string{"a/b": "d"}), []string{"metadata.labels[a/b]"}},
		"one of several in a list":   {role([]string{"get"}, []string{"list"}), role([]string{"get"}, []string{"watch"}), []string{"rules[1].verbs[0]"}},
		"the length of a list":       {role([]string{"get"}), role([]string{"get", "list"}), []string{"rules[0].verbs"}},
		"a list that is missing":     {role(), role([]string{"get"}), []string{"rules"}},
		"an empty string is none":    {env(nil), env(new("")), nil},
		"none is an empty string":    {env(new("")), env(nil), nil},
		"a string is not none":       {env(nil), env(new("x")), []string{"env[0].value"}},
		"zero is not none":           {env(nil, 0), env(nil, 1), []string{"ports[0].containerPort"}},
		"what stands behind a point": {role().WithName("x"), role(), []string{"metadata.name"}},
	} {
		if diff := cmp.Diff(c.differ, differences("", reflect.ValueOf(c.got), reflect.ValueOf(c.want))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestOverruledNamesSomeFieldsOnly(t *testing.T) {
	got := overruled(identity{reflect.TypeFor[*corev1.Namespace](), client.ObjectKey{Name: "ns"}}, []string{"a", "b", "c", "d", "e", "f", "g"})
	if !strings.Contains(got.message, "Namespace ns differs from what was sent") || !strings.Contains(got.message, "changes a, b, c, d, e and 2 more. ") {
		t.Errorf("message %q", got.message)
	}
}

// thing is the least that the engine works on.
type thing struct {
	corev1.ConfigMap
	status common.Status
}

func (t *thing) CommonStatus() *common.Status { return &t.status }

// TestStepsEndBeforeTheRun shows that a step that hangs leaves time to write the status.
func TestStepsEndBeforeTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), runTimeout)
		defer cancel()
		r := &runner[*thing]{Config: Config[*thing]{}.withDefaults()}
		s := Scope[*thing]{Obj: &thing{}, Clock: r.Clock, runner: r, wrong: new(bool)}
		_, err := s.run(ctx, []Step{{"Hanging", func(ctx context.Context) (Outcome, error) {
			<-ctx.Done()
			return Outcome{}, ctx.Err()
		}}})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("run = %v", err)
		}
		if ctx.Err() != nil {
			t.Error("no time is left to write the status")
		}
		if c := s.Obj.status.Conditions; len(c) != 2 || c[0].Message != context.DeadlineExceeded.Error() {
			t.Errorf("conditions %+v", c)
		}
	})
}
