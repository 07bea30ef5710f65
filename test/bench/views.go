// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// viewsName is the name of the benchmark of the views. It measures the program that answers them, behind the API server, without the operator.
const viewsName = "views"

var _ = join(benchmark{name: viewsName, small: "--namespaces 300 --watches 20", run: measureViews})

const (
	// fewestNamespaces are enough for the users of all profiles to differ.
	fewestNamespaces = 210
	// wholeNamespaces are so many that a list of a tenth of them costs more than the way through two servers.
	wholeNamespaces = 5000
	// bindingsEach is how many RoleBindings there are in each namespace.
	bindingsEach = 10
	// listRounds is how often each list is asked for.
	listRounds = 100
	// restFirst is how long nothing is asked before the memory is read: the garbage of the start is gone then.
	restFirst = 10 * time.Second
	// quotaRate is how many quotas change in a second, and quotaFor for how long.
	quotaRate = 50
	quotaFor  = 10 * time.Second
)

// viewsResult is what was found about the views.
type viewsResult struct {
	Namespaces int `json:"namespaces"`
	Bindings   int `json:"roleBindings"`
	Watches    int `json:"watches"`
	// All is `get namespaces` by an administrator.
	All   percentiles  `json:"getNamespacesSeconds"`
	Lists []listResult `json:"lists"`
	// CPURatio is the processor time of a list of all namespaces, of cluster and views together, by that of `get namespaces`; TenthRatio
	// is that of a list of a tenth of them, and TableRatio that of all as a table, which kubectl asks for, by the same as a table.
	CPURatio   float64 `json:"cpuRatio"`
	TenthRatio float64 `json:"tenthRatio"`
	TableRatio float64 `json:"tableRatio"`
	// Reviews are the SubjectAccessReviews per list.
	Reviews float64     `json:"reviewsPerList"`
	Grant   percentiles `json:"grantSeconds"`
	Revoke  percentiles `json:"revokeSeconds"`
	// Events are those that a watch gets for a grant or a revocation.
	Events float64 `json:"eventsPerChange"`
	// QuotaCores is how many processors the views use while quotas change, and QuotaRatio their processor time by that of the cluster.
	QuotaCores float64 `json:"quotaCores"`
	QuotaRatio float64 `json:"quotaRatio"`
	// MemoryMiB is what the process has at rest, before anybody asks, and at its peak. LoadedMiB is what it has after all requests.
	MemoryMiB memory  `json:"memoryMiB"`
	LoadedMiB float64 `json:"loadedMiB"`
	Aims      []aim   `json:"aims"`
}

// listResult is what was found about the list of a user who may access so many namespaces.
type listResult struct {
	Rows    int         `json:"rows"`
	Seconds percentiles `json:"seconds"`
	// Ratio is that of the medians of this list and of `get namespaces`, and Ratio99 that of the slowest ones.
	Ratio   float64 `json:"ratio"`
	Ratio99 float64 `json:"ratioP99"`
}

// measureViews measures on a cluster of its own.
func measureViews(ctx context.Context, l *lab) (_ outcome, err error) {
	defer func() { err = errors.Join(err, l.cleanUp(context.WithoutCancel(ctx))) }()
	if l.namespaces < fewestNamespaces {
		return nil, fmt.Errorf("--namespaces must be at least %d", fewestNamespaces)
	}
	if err := l.prepare(ctx); err != nil {
		return nil, err
	}
	b := &viewsBench{bench: &bench{lab: l, subject: subject{name: viewsName}}}
	if b.cluster, err = b.up(ctx, 0); err != nil {
		return nil, err
	}
	res := &viewsResult{Namespaces: l.namespaces, Bindings: l.namespaces * bindingsEach, Watches: l.watches}
	l.say("%s: %d RoleBindings in %d namespaces\n", viewsName, res.Bindings, res.Namespaces)
	if err := b.populate(ctx); err != nil {
		return nil, err
	}
	if err := b.start(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.stop(err)) }()
	for _, each := range []func(context.Context, *viewsResult) error{b.rest, b.lists, b.listCPU, b.grants, b.quotas} {
		if err := each(ctx, res); err != nil {
			return nil, err
		}
	}
	after, err := memoryOfProcess(b.pid())
	res.LoadedMiB, res.MemoryMiB.Peak = after.Resident, after.Peak
	res.judge()
	return res, err
}

// rest reads the memory once everything was read and a user has listed all namespaces.
func (b *viewsBench) rest(ctx context.Context, res *viewsResult) (err error) {
	if err := sleepUntil(ctx, time.Now().Add(restFirst)); err != nil {
		return err
	}
	res.MemoryMiB, err = memoryOfProcess(b.pid())
	return err
}

// profiles are for how many namespaces there is a user who may access as many: twenty, a tenth and all.
func (b *viewsBench) profiles() []int { return []int{20, b.namespaces / 10, b.namespaces} }

// lists takes the times of all lists in turns, so that load hits all of them.
func (b *viewsBench) lists(ctx context.Context, res *viewsResult) error {
	times := map[int][]time.Duration{}
	reviews, err := b.reviews(ctx)
	if err != nil {
		return err
	}
	for range listRounds {
		for _, rows := range append(b.profiles(), 0) { // 0: get namespaces
			took, err := b.list(ctx, rows, asJSON)
			if err != nil {
				return err
			}
			times[rows] = append(times[rows], took)
		}
	}
	after, err := b.reviews(ctx)
	if err != nil {
		return err
	}
	of := func(rows int) percentiles { slices.Sort(times[rows]); return percentilesOf(times[rows]) }
	res.Reviews = (after - reviews) / float64(listRounds*len(b.profiles()))
	res.All = of(0)
	for _, rows := range b.profiles() {
		seconds := of(rows)
		res.Lists = append(res.Lists, listResult{rows, seconds, seconds.P50 / res.All.P50, seconds.P99 / res.All.P99})
	}
	return nil
}

// listCPU compares the processor time of lists.
func (b *viewsBench) listCPU(ctx context.Context, res *viewsResult) error {
	used := func(rows int, form string) (float64, error) {
		before, err := b.usageWith(b.pids)
		if err != nil {
			return 0, err
		}
		for range listRounds {
			if _, err := b.list(ctx, rows, form); err != nil {
				return 0, err
			}
		}
		after, err := b.usageWith(b.pids)
		return after.ours - before.ours, err
	}
	for _, each := range []struct {
		ratio *float64
		rows  int
		form  string
	}{{&res.CPURatio, b.namespaces, asJSON}, {&res.TenthRatio, b.namespaces / 10, asJSON}, {&res.TableRatio, b.namespaces, asTable}} {
		plain, err := used(0, each.form)
		if err != nil {
			return err
		}
		own, err := used(each.rows, each.form)
		if err != nil {
			return err
		}
		*each.ratio = own / plain
	}
	return nil
}

// quotas counts the processor time while quotas change.
func (b *viewsBench) quotas(ctx context.Context, res *viewsResult) error {
	stop, err := b.watchUsage(ctx)
	if err != nil {
		return err
	}
	defer stop()
	before, err := b.usageWith(b.pids)
	if err != nil {
		return err
	}
	begin := time.Now()
	for i := range int(quotaFor.Seconds() * quotaRate) {
		if err := sleepUntil(ctx, begin.Add(time.Duration(i)*time.Second/quotaRate)); err != nil {
			return err
		}
		if err := b.changeQuota(ctx, i); err != nil {
			return err
		}
	}
	after, err := b.usageWith(b.pids)
	own := after.own - before.own
	res.QuotaCores = own / after.at.Sub(before.at).Seconds()
	res.QuotaRatio = own / (after.ours - before.ours - own)
	return err
}

// judge compares with the aims.
func (r *viewsResult) judge() {
	r.Aims = compare(
		aim{Name: "list of a tenth of the namespaces / get namespaces, p50", Most: 1, Got: r.Lists[1].Ratio},
		aim{Name: "the same, p99", Most: 1, Got: r.Lists[1].Ratio99},
		aim{Name: "list of all namespaces / get namespaces, p50", Most: 2, Got: r.Lists[2].Ratio},
		aim{Name: "the same, p99", Most: 2, Got: r.Lists[2].Ratio99},
		aim{Name: "processor time of a list of all namespaces / get namespaces", Most: 2, Got: r.CPURatio, Enforced: true},
		aim{Name: "the same of a tenth of them", Most: 1, Got: r.TenthRatio, Enforced: r.Namespaces >= wholeNamespaces},
		aim{Name: "the same of all, as tables", Most: 2, Got: r.TableRatio, Enforced: true},
		aim{Name: "reviews per list", Most: 1, Got: r.Reviews, Enforced: true},
		aim{Name: "grant until the watch shows it, p99, s", Most: 2, Got: r.Grant.P99},
		aim{Name: "revocation until the watch shows it, p99, s", Most: 2, Got: r.Revoke.P99},
		aim{Name: "events per grant and revocation", Most: 1, Got: r.Events, Enforced: true},
		aim{Name: "processor time of the views / of the cluster while quotas change", Most: 0.5, Got: r.QuotaRatio, Enforced: true},
		aim{Name: "resident memory at rest, MiB", Most: 160, Got: r.MemoryMiB.Resident, Enforced: true},
		aim{Name: "resident memory at its peak, MiB", Most: 220, Got: r.MemoryMiB.Peak, Enforced: true},
	)
}

func (r *viewsResult) judged() []aim { return r.Aims }

// show writes the tables.
func (r *viewsResult) show(out io.Writer) {
	fmt.Fprintf(out, "\n%s, %d RoleBindings in %d namespaces\n\n", viewsName, r.Bindings, r.Namespaces)
	table(out, tabwriter.AlignRight, func(row func(string, ...any)) {
		row("\tp50\tp99\tratio, p50\tp99\t")
		row("get namespaces\t%.1f ms\t%.1f ms\t\t\t", 1000*r.All.P50, 1000*r.All.P99)
		for _, l := range r.Lists {
			row("get mynamespaces, %d rows\t%.1f ms\t%.1f ms\t%.2f\t%.2f\t", l.Rows, 1000*l.Seconds.P50, 1000*l.Seconds.P99, l.Ratio, l.Ratio99)
		}
	})
	table(out, 0, func(row func(string, ...any)) {
		row("  grant to event, %d watches\tp50 %.0f ms, p99 %.0f ms", r.Watches, 1000*r.Grant.P50, 1000*r.Grant.P99)
		row("  revocation to event\tp50 %.0f ms, p99 %.0f ms", 1000*r.Revoke.P50, 1000*r.Revoke.P99)
		row("  %d quotas change in a second\t%.2f processors, %.2f of what the cluster uses", quotaRate, r.QuotaCores, r.QuotaRatio)
		row("  resident memory\t%.0f MiB at rest, %.0f MiB after all that, at its peak %.0f MiB", r.MemoryMiB.Resident, r.LoadedMiB, r.MemoryMiB.Peak)
	})
	printAims(out, r.Aims)
}
