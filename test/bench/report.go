// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/acme/platform-operator/hack/cluster/binaries"
)

// report is the JSON file.
type report struct {
	Time       time.Time `json:"time"`
	CPUs       int       `json:"cpus"`
	Go         string    `json:"go"`
	Kubernetes string    `json:"kubernetes"`
	// Results are those of the benchmarks that were run, by their names.
	Results map[string]outcome `json:"results"`
}

// result is what was found about one kind. Seconds are of this machine; the ratio is what compares.
type result struct {
	Name    string  `json:"name"`
	Objects int     `json:"objects"`
	WarmUp  int     `json:"warmUpObjects"`
	Workers int     `json:"workers"`
	Rounds  []round `json:"rounds"`
	// Ratio is the median of the rounds' operator / raw client.
	Ratio float64 `json:"ratio"`
	// CPURatio is the same of the processor time that cluster, operator and bench used together. Other
	// load on the machine does not change it.
	CPURatio float64 `json:"cpuRatio"`
	// ReadySeconds are over the objects of all rounds.
	ReadySeconds percentiles `json:"readySeconds"`
	// RequestsPerObject are those of the round with the most.
	RequestsPerObject requests `json:"requestsPerObject"`
	// CPUMillisPerObject is the operator's processor time, of the round with the most.
	CPUMillisPerObject float64 `json:"cpuMillisPerObject"`
	// MemoryMiB is that of the round with the highest peak, when all objects were Ready.
	MemoryMiB memory        `json:"memoryMiB"`
	Restart   restartResult `json:"restart"`
	Secrets   secretsResult `json:"secrets"`
	// ChangeSeconds are from a change of an object to that of its Deployment, at five changes a second, where that is measured.
	ChangeSeconds *percentiles `json:"changeSeconds,omitempty"`
	Aims          []aim        `json:"aims"`

	aims aims
}

type round struct {
	RawFirst           bool     `json:"rawFirst"`
	RawSeconds         float64  `json:"rawSeconds"`
	OperatorSeconds    float64  `json:"operatorSeconds"`
	Ratio              float64  `json:"ratio"`
	RawLoad            load     `json:"rawLoad"`
	OperatorLoad       load     `json:"operatorLoad"`
	CPURatio           float64  `json:"cpuRatio"`
	RequestsPerObject  requests `json:"requestsPerObject"`
	CPUMillisPerObject float64  `json:"cpuMillisPerObject"`
	MemoryMiB          memory   `json:"memoryMiB"`

	watch *stopwatch
}

type percentiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

type restartResult struct {
	// Seconds from the start of the process until it has looked at every object and its queue is empty.
	Seconds float64 `json:"seconds"`
	// Writes are all write requests of the process, up to the end of the measurement.
	Writes float64 `json:"writes"`
	// MemoryMiB is that of the restarted process, when it was idle.
	MemoryMiB memory `json:"memoryMiB"`
}

type secretsResult struct {
	Secrets   int     `json:"secrets"`
	GrowthMiB float64 `json:"growthMiB"`
}

// aims are the most that a kind may take. That a restart writes nothing holds for every kind.
type aims struct{ ratio, cpuRatio, requests, residentMiB, growthMiB, changeSeconds float64 }

func newReport(l *lab) *report {
	version, err := binaries.KubernetesVersion(l.root)
	if err != nil {
		version = "unknown"
	}
	return &report{Time: time.Now().UTC(), CPUs: runtime.NumCPU(), Go: runtime.Version(), Kubernetes: version, Results: map[string]outcome{}}
}

// sumUp derives from the rounds what is said about all of them.
func (r *result) sumUp() {
	var times []time.Duration
	var ratios, cpuRatios []float64
	for _, one := range r.Rounds {
		ratios, cpuRatios = append(ratios, one.Ratio), append(cpuRatios, one.CPURatio)
		times = append(times, one.watch.times()...)
		if one.RequestsPerObject.Total > r.RequestsPerObject.Total {
			r.RequestsPerObject = one.RequestsPerObject
		}
		r.CPUMillisPerObject = max(r.CPUMillisPerObject, one.CPUMillisPerObject)
		if one.MemoryMiB.Peak > r.MemoryMiB.Peak {
			r.MemoryMiB = one.MemoryMiB
		}
	}
	slices.Sort(times)
	r.Ratio, r.CPURatio = median(ratios), median(cpuRatios)
	r.ReadySeconds = percentilesOf(times)
	all := []aim{
		{Name: "time of the operator / raw client", Most: r.aims.ratio, Got: r.Ratio},
		{Name: "processor time with the operator / raw client", Most: r.aims.cpuRatio, Got: r.CPURatio, Enforced: true},
		{Name: "requests per object", Most: r.aims.requests, Got: r.RequestsPerObject.Total, Enforced: true},
		{Name: "writes after a restart", Most: 0, Got: r.Restart.Writes, Enforced: true},
		{Name: "resident memory at its peak, MiB", Most: r.aims.residentMiB, Got: max(r.MemoryMiB.Peak, r.Restart.MemoryMiB.Peak)},
		{Name: "growth by unrelated Secrets, MiB", Most: r.aims.growthMiB, Got: r.Secrets.GrowthMiB, Enforced: true},
	}
	if r.ChangeSeconds != nil {
		all = append(all, aim{Name: "a change until the Deployment is patched, p99, s", Most: r.aims.changeSeconds, Got: r.ChangeSeconds.P99})
	}
	r.Aims = compare(all...)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
}

func (r *result) judged() []aim { return r.Aims }

// show writes the tables.
func (r *result) show(out io.Writer) {
	fmt.Fprintf(out, "\n%s, %d objects\n\n", r.Name, r.Objects)
	table(out, tabwriter.AlignRight, func(row func(string, ...any)) {
		row("round\traw client\toperator\tratio\tprocessor time\tratio\tload by others\t")
		for i, one := range r.Rounds {
			raw, op := one.RawLoad, one.OperatorLoad
			row("%d\t%.1f s\t%.1f s\t%.2f\t%.1f s, %.1f s\t%.2f\t%.0f %%, %.0f %%\t", i+1, one.RawSeconds, one.OperatorSeconds, one.Ratio,
				raw.CPUSeconds, op.CPUSeconds, one.CPURatio, 100*raw.Others, 100*op.Others)
		}
	})
	table(out, 0, func(row func(string, ...any)) {
		row("  creation to Ready\tp50 %.2f s, p99 %.2f s", r.ReadySeconds.P50, r.ReadySeconds.P99)
		q := r.RequestsPerObject
		row("  requests per object\t%.2f: apply %.2f, patch %.2f, delete %.2f, events %.2f, get %.2f",
			q.Total, q.Apply, q.Patch, q.Delete, q.Events, q.Get)
		row("  processor time per object\t%.1f ms", r.CPUMillisPerObject)
		row("  resident memory\t%.0f MiB, at its peak %.0f MiB", r.MemoryMiB.Resident, r.MemoryMiB.Peak)
		m := r.Restart.MemoryMiB
		row("  restart\tidle after %.2f s, %.0f writes, %.0f MiB, at its peak %.0f MiB", r.Restart.Seconds, r.Restart.Writes, m.Resident, m.Peak)
		row("  %d Secrets of %d KiB\tmemory %+.1f MiB", r.Secrets.Secrets, secretSize>>10, r.Secrets.GrowthMiB)
		if c := r.ChangeSeconds; c != nil {
			row("  change to a patched Deployment\tp50 %.1f ms, p99 %.1f ms", 1000*c.P50, 1000*c.P99)
		}
	})
	printAims(out, r.Aims)
}

// table aligns the columns of rows, which tabs separate, and ends with an empty line.
func table(out io.Writer, flags uint, fill func(row func(format string, args ...any))) {
	t := tabwriter.NewWriter(out, 0, 0, 3, ' ', flags)
	fill(func(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) })
	_ = t.Flush() // what cannot be printed cannot be reported either
	fmt.Fprintln(out)
}

func (r *report) write(path string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
