// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/acme/platform-operator/internal/database/result"
)

// Verb does one thing; it fills its part of the result.
type Verb struct {
	name string
	do   func(ctx context.Context, o Options, r *result.Result) error
}

var verbs = map[string]func(ctx context.Context, o Options, r *result.Result) error{
	"install": func(_ context.Context, o Options, _ *result.Result) error { return Install(o.To) },
	"run":     func(ctx context.Context, o Options, _ *result.Result) error { return runServer(ctx, o) },
	"backup": func(ctx context.Context, o Options, r *result.Result) (err error) {
		r.Backup, err = Backup(ctx, o)
		return err
	},
	"restore": func(ctx context.Context, o Options, r *result.Result) (err error) {
		r.Restore, err = Restore(ctx, o)
		return err
	},
	"setup": func(ctx context.Context, o Options, r *result.Result) (err error) {
		r.Setup, err = Setup(ctx, o)
		return err
	},
	"migrate": func(ctx context.Context, o Options, r *result.Result) (err error) {
		r.Migrate, err = Migrate(ctx, o)
		return err
	},
	"discard": func(ctx context.Context, o Options, _ *result.Result) error { return Discard(ctx, o) },
	"door": func(ctx context.Context, o Options, r *result.Result) (err error) {
		r.Door, err = Door(ctx, o)
		return err
	},
	"status": func(ctx context.Context, o Options, r *result.Result) (err error) {
		r.Status, err = AskStatus(ctx, o)
		return err
	},
}

// Verbs are the names of all verbs.
func Verbs() []string { return slices.Sorted(maps.Keys(verbs)) }

// VerbNamed returns the verb of a name.
func VerbNamed(name string) (Verb, bool) {
	do, known := verbs[name]
	return Verb{name: name, do: do}, known
}

// Do runs a verb and says how it went.
func Do(ctx context.Context, v Verb, o Options) result.Result {
	begin := o.Now()
	r := result.Result{Protocol: result.Protocol, Verb: v.name}
	err := v.do(ctx, o, &r)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = result.Errorf(result.DeadlineExceeded, "it took longer than %s: %w", o.Timeout, err)
	}
	if err != nil {
		r.Message = err.Error()
	}
	r.Reason, r.Seconds = result.ReasonOf(err), o.Now().Sub(begin).Round(time.Millisecond).Seconds()
	r.OK = err == nil
	return r
}

func runServer(ctx context.Context, o Options) error {
	signals, ended := make(chan os.Signal, 1), make(chan struct{}, 1)
	signal.Notify(signals, syscall.SIGCHLD)
	defer signal.Stop(signals)
	go func() {
		for range signals {
			select {
			case ended <- struct{}{}:
			default: // the one that waits collects all
			}
		}
	}()
	return Run(ctx, o, ended)
}
