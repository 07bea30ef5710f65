// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/plugin"
	"github.com/acme/platform-operator/internal/plugin/cluster"
)

// defaultTimeout is how long --wait waits.
const defaultTimeout = 5 * time.Minute

// action is a verb that changes one object.
type action struct {
	*program
	*cluster.Cluster
	kind   plugin.Kind
	object *unstructured.Unstructured
}

// acting returns the command for a verb that changes one object.
func (p *program) acting(cmd *cobra.Command, waits string, do func(context.Context, action) error) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = atMost(2), p.completeObjects
	cmd.Flags().BoolVar(&p.wait, "wait", false, "Wait until "+waits+".")
	cmd.Flags().DurationVar(&p.timeout, "timeout", defaultTimeout, "How long --wait waits.")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, kind, name, err := p.target(args)
		if err != nil {
			return err
		}
		k, o, err := c.Get(cmd.Context(), kind, name)
		if err != nil {
			return err
		}
		return do(cmd.Context(), action{p, c, k, o})
	}
	return cmd
}

// say prints what was done to the object.
func (a action) say(format string, args ...any) {
	fmt.Fprintf(a.Out, "%s/%s %s\n", a.kind.Word(), a.object.GetName(), fmt.Sprintf(format, args...))
}

// await waits, if the user wants that, until something holds of an object.
func (a action) await(ctx context.Context, k plugin.Kind, o *unstructured.Unstructured, what string,
	holds func(context.Context, *unstructured.Unstructured) (bool, error),
) error {
	if !a.wait {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	err := a.Await(ctx, k, o, holds)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("waited %s, and not until %s; `kubectl acme why %s/%s%s` says why, --timeout sets how long to wait",
			a.timeout, what, a.kind.Word(), a.object.GetName(), plugin.In(a.object.GetNamespace()))
	}
	return err
}

func (a action) awaitServed(ctx context.Context) error {
	return a.await(ctx, a.kind, a.object, "the operator has acted on the change", func(_ context.Context, o *unstructured.Unstructured) (bool, error) {
		return plugin.Served(o), nil
	})
}

func (p *program) run() *cobra.Command {
	reason := ""
	cmd := p.acting(&cobra.Command{
		Use: "run KIND/NAME", Short: "Start a run of a schedule now",
		Long: "Start a run of a schedule now, beside its slots, also while it is suspended. Its concurrency policy decides whether it waits for\n" +
			"runs in progress. With --wait the exit code is 1 if the run fails.",
		Example: "  kubectl acme run crontab/nightly-report --reason \"incident 4711\" --wait",
	}, "the run has ended", func(ctx context.Context, a action) error { return a.startRun(ctx, reason) })
	cmd.Flags().StringVar(&reason, "reason", "", "Why the run is started: it is recorded with the request.")
	return cmd
}

// startRun requests a run. The time makes the request one that there never was.
func (a action) startRun(ctx context.Context, reason string) error {
	has, err := a.HasField(a.kind, "status", "runNow")
	if err != nil {
		return err
	}
	if !has {
		return fmt.Errorf("a %s has no runs; kubectl acme run is for kinds with a schedule, such as crontab", a.kind.Word())
	}
	request := a.Now().UTC().Format(time.RFC3339Nano)
	if reason != "" {
		request += " " + reason
	}
	if request != names.Request(request) {
		return fmt.Errorf("the reason is too long by %d bytes: shorten it", len(request)-names.MaxRequest)
	}
	if a.object, err = a.Patch(ctx, a.kind, a.object, plugin.Annotation(names.AnnotationRunNow, request)); err != nil {
		return err
	}
	a.say("has the request %q", request)
	err = a.await(ctx, a.kind, a.object, "the run has ended", func(ctx context.Context, o *unstructured.Unstructured) (bool, error) {
		return a.RunEnded(ctx, a.kind, o, request)
	})
	if err == nil && a.wait {
		a.say("has run")
	}
	return err
}

func (p *program) suspend() *cobra.Command {
	return p.acting(&cobra.Command{
		Use: "suspend KIND/NAME", Short: "Suspend a schedule, or pause the operator for an object of another kind",
		Long: "Set spec.suspend of an object whose kind has that field: no run is started by the schedule, and those in progress continue.\n" +
			"For objects of other kinds set the annotation " + names.AnnotationPaused + ", which stops everything for the object, its\ndeletion included.",
		Example: "  kubectl acme suspend crontab/nightly-report",
	}, "the operator has acted on it", func(ctx context.Context, a action) error {
		has, err := a.HasField(a.kind, "spec", "suspend")
		if err != nil {
			return err
		}
		change, said := plugin.Annotation(names.AnnotationPaused, "true"), "is paused (annotation "+names.AnnotationPaused+")"
		if has {
			change, said = map[string]any{"spec": map[string]any{"suspend": true}}, "is suspended (spec.suspend)"
		}
		if a.object, err = a.Patch(ctx, a.kind, a.object, change); err != nil {
			return err
		}
		a.say("%s", said)
		return a.awaitServed(ctx)
	})
}

func (p *program) resume() *cobra.Command {
	return p.acting(&cobra.Command{
		Use: "resume KIND/NAME", Short: "Undo suspend",
		Long:    "Remove the annotation " + names.AnnotationPaused + ", and set spec.suspend to false, where they are set.",
		Example: "  kubectl acme resume crontab/nightly-report --wait",
	}, "the operator has acted on it", func(ctx context.Context, a action) (err error) {
		change := map[string]any{}
		if plugin.IsPaused(a.object) {
			change = plugin.Annotation(names.AnnotationPaused, nil)
		}
		if plugin.IsSuspended(a.object) {
			change["spec"] = map[string]any{"suspend": false}
		}
		if len(change) == 0 {
			a.say("is neither suspended nor paused")
			return nil
		}
		if a.object, err = a.Patch(ctx, a.kind, a.object, change); err != nil {
			return err
		}
		a.say("is resumed")
		return a.awaitServed(ctx)
	})
}

func (p *program) restart() *cobra.Command {
	return p.acting(&cobra.Command{
		Use: "restart KIND/NAME", Short: "Replace the pods of the workloads of an object",
		Long: "Replace the pods of the Deployments, StatefulSets and DaemonSets that exist because of an object, as their strategies say: what\n" +
			"kubectl rollout restart does to each.",
		Example: "  kubectl acme restart webapp/shop --wait",
	}, "all pods are new and available", restart)
}

func restart(ctx context.Context, a action) error {
	children, err := a.Children(ctx, a.kind, a.object, plugin.Restartable()...)
	if err != nil {
		return err
	}
	var workloads []*unstructured.Unstructured
	for _, kind := range plugin.Restartable() {
		workloads = append(workloads, children[kind]...)
	}
	if len(workloads) == 0 {
		return fmt.Errorf("%s/%s has no workload to restart; `kubectl acme status %[1]s/%[2]s%[3]s` shows what exists because of it",
			a.kind.Word(), a.object.GetName(), plugin.In(a.object.GetNamespace()))
	}
	for i, o := range workloads {
		k, err := a.Resource(o)
		if err != nil {
			return err
		}
		if workloads[i], err = a.Patch(ctx, k, o, plugin.Restart(a.Now().UTC().Format(time.RFC3339Nano))); err != nil {
			return err
		}
		a.say("restarts its %s %s", o.GetKind(), o.GetName())
	}
	for _, o := range workloads {
		k, err := a.Resource(o)
		if err != nil {
			return err
		}
		if err := a.await(ctx, k, o, "all pods of "+o.GetName()+" are new and available", rolledOut); err != nil {
			return err
		}
	}
	return nil
}

func rolledOut(_ context.Context, o *unstructured.Unstructured) (bool, error) {
	return plugin.RolledOut(o), nil
}
