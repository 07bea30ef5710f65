// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/engine"
)

// subject is a kind that is measured.
type subject struct {
	// name is the kind in lower case, as engine.Config has it.
	name string
	// object makes a valid object whose children differ from those of another object in nothing but
	// this name, wherever it stands.
	object func(name string) engine.Object
	// namespace is where all objects are; empty for a kind of the cluster's scope.
	namespace string
	// condition is what the clock waits for, of each object; empty is Ready.
	condition string
	// children lists an empty object of each type that is made for an object, parents first.
	children []client.Object
	// change changes an object so that its Deployment gets another pod template; nil when that is not measured.
	change func(ctx context.Context, b *bench, name string) error
	aims   aims
}

// sampleName is the object that the raw client's requests are learned from.
const sampleName = "bench-sample"

// measure measures a kind.
func measure(ctx context.Context, l *lab, s subject) (_ outcome, err error) {
	defer func() { err = errors.Join(err, l.cleanUp(context.WithoutCancel(ctx))) }()
	if err := l.prepare(ctx); err != nil {
		return nil, err
	}
	l.say("%s: %d rounds of %d objects, after %d to warm up, each on a new cluster\n", s.name, l.rounds, l.count, l.warmUp)
	res := &result{Name: s.name, Objects: l.count, WarmUp: l.warmUp, Workers: l.workers, aims: s.aims}
	for i := range l.rounds {
		b := &bench{lab: l, subject: s}
		// The two take turns in going first; in the last round the operator is last, and its objects are
		// there for the restart.
		r, err := b.round(ctx, (l.rounds-i)%2 == 1)
		if err != nil {
			return nil, fmt.Errorf("round %d: %w", i+1, err)
		}
		l.say("  round %d of %d done\n", i+1, l.rounds)
		res.Rounds = append(res.Rounds, *r)
		if i == l.rounds-1 {
			if err := b.aftermath(ctx, res); err != nil {
				return nil, err
			}
		}
	}
	res.sumUp()
	return res, nil
}

// bench measures one kind on one cluster.
type bench struct {
	*lab
	subject
	*cluster
	templates []template
}

// round measures the raw client and the operator once.
func (b *bench) round(ctx context.Context, rawFirst bool) (r *round, err error) {
	if b.cluster, err = b.up(ctx, 0); err != nil {
		return nil, err
	}
	if b.namespace != "" {
		if err := b.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}}); err != nil {
			return nil, fmt.Errorf("creating a Namespace: %w", err)
		}
	}
	if err := b.warm(ctx); err != nil {
		return nil, fmt.Errorf("warming up: %w", err)
	}
	r = &round{RawFirst: rawFirst}
	runs := []func(context.Context, *round) error{b.runRaw, b.runOperator}
	if !rawFirst {
		runs[0], runs[1] = runs[1], runs[0]
	}
	for _, run := range runs {
		if err := b.settled(ctx); err != nil {
			return nil, err
		}
		if err := run(ctx, r); err != nil {
			return nil, err
		}
	}
	r.Ratio = r.OperatorSeconds / r.RawSeconds
	r.CPURatio = r.OperatorLoad.CPUSeconds / r.RawLoad.CPUSeconds
	return r, nil
}

// warm lets both clients and the API server do everything once, and learns what the raw client is to do.
func (b *bench) warm(ctx context.Context) error {
	sample := b.object(sampleName)
	err := b.withOperator(ctx, func(p *process) error {
		if _, err := b.create(ctx, append(nameList("warm-operator", b.warmUp-1), sampleName)); err != nil {
			return err
		}
		_, _, err := p.awaitIdle(ctx, b.warmUp)
		return err
	})
	if err != nil {
		return err
	}
	if err := b.admin.Get(ctx, client.ObjectKeyFromObject(sample), sample); err != nil {
		return fmt.Errorf("reading the sample: %w", err)
	}
	if b.templates, err = b.learn(ctx, b.subject, sample); err != nil {
		return err
	}
	_, err = b.raw(ctx, b.workers, b.templates, sampleName, nameList("warm-raw", b.warmUp))
	return err
}

func (b *bench) runRaw(ctx context.Context, r *round) error {
	before, err := b.usage(nil)
	if err != nil {
		return err
	}
	took, err := b.raw(ctx, b.workers, b.templates, sampleName, nameList("raw", b.count))
	if err != nil {
		return err
	}
	after, err := b.usage(nil)
	r.RawSeconds, r.RawLoad = took.Seconds(), after.since(before)
	return err
}

// runOperator measures a fresh operator that knows only the objects of the warm-up.
func (b *bench) runOperator(ctx context.Context, r *round) error {
	return b.withOperator(ctx, func(p *process) error {
		_, before, err := p.awaitIdle(ctx, b.warmUp)
		if err != nil {
			return err
		}
		if err := b.timeOperator(ctx, p, r); err != nil {
			return err
		}
		// What comes after the last object is Ready belongs to the objects as well.
		_, after, err := p.awaitIdle(ctx, b.warmUp)
		if err != nil {
			return err
		}
		r.RequestsPerObject = after.since(before, b.count)
		r.CPUMillisPerObject = 1000 * (after.cpu - before.cpu) / float64(b.count)
		r.MemoryMiB, err = p.memory()
		return err
	})
}

// timeOperator creates the objects and waits until the last one is Ready.
func (b *bench) timeOperator(ctx context.Context, p *process, r *round) error {
	before, err := b.usage(p)
	if err != nil {
		return err
	}
	if r.watch, err = b.create(ctx, nameList("operator", b.count)); err != nil {
		return err
	}
	after, err := b.usage(p)
	r.OperatorSeconds, r.OperatorLoad = r.watch.total().Seconds(), after.since(before)
	return err
}

// withOperator runs the operator while do runs.
func (b *bench) withOperator(ctx context.Context, do func(*process) error) (err error) {
	p, err := b.start(b.cluster, b.name)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w\nthe end of the operator's log:\n%s", err, p.logTail())
		}
		err = errors.Join(err, p.stop())
	}()
	if err := p.awaitReady(ctx); err != nil {
		return err
	}
	return do(p)
}

// aftermath restarts the operator over all objects, then fills the cluster with Secrets that are none of
// its business.
func (b *bench) aftermath(ctx context.Context, res *result) error {
	return b.withOperator(ctx, func(p *process) error {
		idleSince, _, err := p.awaitIdle(ctx, b.count+b.warmUp)
		if err != nil {
			return err
		}
		res.Restart.Seconds = idleSince.Sub(p.started).Seconds()
		if res.Restart.MemoryMiB, err = p.memory(); err != nil {
			return err
		}
		if err := b.createSecrets(ctx); err != nil {
			return err
		}
		_, now, err := p.awaitIdle(ctx, b.count+b.warmUp)
		if err != nil {
			return err
		}
		after, err := p.memory()
		if err != nil {
			return err
		}
		res.Restart.Writes = now.written()
		res.Secrets = secretsResult{Secrets: b.secrets, GrowthMiB: after.Resident - res.Restart.MemoryMiB.Resident}
		return b.changes(ctx, res)
	})
}

// changes takes the time from a change of an object to the new pod template of its Deployment.
func (b *bench) changes(ctx context.Context, res *result) error {
	if b.change == nil {
		return nil
	}
	b.say("  %d changes a second\n", steadyRate)
	times, err := b.steady(ctx, nameList("operator", b.count), func(ctx context.Context, name string) error { return b.change(ctx, b, name) })
	res.ChangeSeconds = &times
	return err
}

const secretSize = 20 << 10

func (b *bench) createSecrets(ctx context.Context) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "unrelated"}}
	if err := b.admin.Create(ctx, ns); err != nil {
		return fmt.Errorf("creating a Namespace: %w", err)
	}
	return each(ctx, b.workers, nameList("secret", b.secrets), func(ctx context.Context, name string) error {
		data := make([]byte, secretSize)
		_, _ = rand.Read(data) // it never fails
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: name}, Data: map[string][]byte{"data": data}}
		if err := b.admin.Create(ctx, s); err != nil {
			return fmt.Errorf("creating a Secret: %w", err)
		}
		return nil
	})
}

// settled waits until the cluster has done what it does for every Namespace by itself, so that one
// measurement's leftovers are no load on the next: a service account, a certificate bundle, and the
// counting of quotas.
func (c *cluster) settled(ctx context.Context) error {
	return poll(ctx, "the cluster has settled", 250*time.Millisecond, func(ctx context.Context) (bool, error) {
		namespaces, accounts, bundles := &corev1.NamespaceList{}, &corev1.ServiceAccountList{}, &corev1.ConfigMapList{}
		quotas := &corev1.ResourceQuotaList{}
		err := errors.Join(c.admin.List(ctx, namespaces),
			c.admin.List(ctx, accounts, client.MatchingFields{"metadata.name": "default"}),
			c.admin.List(ctx, bundles, client.MatchingFields{"metadata.name": "kube-root-ca.crt"}),
			c.admin.List(ctx, quotas))
		for _, q := range quotas.Items {
			if len(q.Status.Hard) == 0 {
				return false, err
			}
		}
		return len(accounts.Items) == len(namespaces.Items) && len(bundles.Items) == len(namespaces.Items), err
	})
}

func nameList(prefix string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s-%04d", prefix, i)
	}
	return list
}

// each calls do for every name, several at a time. The first error ends it.
func each(ctx context.Context, workers int, list []string, do func(context.Context, string) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for _, name := range list {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return do(ctx, name)
		})
	}
	return g.Wait()
}
