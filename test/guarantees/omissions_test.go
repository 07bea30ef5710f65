// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/sets"
)

// guarantees are all of them; docs/develop/guarantees.md has a row for each.
var guarantees = func() []string {
	var all []string
	for i := range 16 {
		all = append(all, fmt.Sprintf("G%d", i+1))
	}
	return all
}()

// omission is something that a guarantee says of every kind, or of every type, and that is not tried for one of them.
type omission struct{ guarantee, what, why string }

// omissions are all of them. They are printed at the end; nothing is left out without an entry.
var (
	omissions   []omission
	omissionsMu sync.Mutex
)

// omit records that something is left out.
func omit(guarantee, what, why string) {
	omissionsMu.Lock()
	defer omissionsMu.Unlock()
	if o := (omission{guarantee, what, why}); !slices.Contains(omissions, o) {
		omissions = append(omissions, o)
	}
}

// leftOut is the name of report entries that are omissions which only a spec finds.
const leftOut = "left out"

// omitNow is omit in a spec, which may run in another process than the one that prints.
func omitNow(guarantee, what, why string) {
	AddReportEntry(leftOut, strings.Join([]string{guarantee, what, why}, "\t"))
}

// found records what specs have left out.
func found(report Report) {
	for _, spec := range report.SpecReports {
		for _, e := range spec.ReportEntries {
			if parts := strings.Split(e.StringRepresentation(), "\t"); e.Name == leftOut && len(parts) == 3 {
				omit(parts[0], parts[1], parts[2])
			}
		}
	}
}

// used are the reasons of fixtures that were asked for, as "Kind guarantee".
var used = sets.New[string]()

// leavesOut reports whether the kind leaves out a guarantee, or the part of it that follows its name: "G4 deletion". It does
// when its fixture gives a reason.
func (k *kind) leavesOut(what string) bool {
	if k.fixture == nil {
		return false
	}
	why, ok := k.fixture.LeavesOut()[what]
	if ok {
		used.Insert(k.name + " " + what)
		guarantee, _, _ := strings.Cut(what, " ")
		omit(guarantee, strings.TrimSpace(k.name+strings.TrimPrefix(what, guarantee)), why)
	}
	return ok
}

// hasOutside reports whether there is an outside system that the kind depends on. Without one, what a guarantee says of
// such systems is void.
func (k *kind) hasOutside(guarantee string) bool {
	has := k.fixture.External() != nil
	if !has {
		omit(guarantee, k.name+" outside system", "there is none that it reports to")
	}
	return has
}

// hasWebhook reports whether the kind has a webhook. Without one, nothing of it is different with webhooks and without.
func (k *kind) hasWebhook(guarantee string) bool {
	has := k.row.Webhook != nil
	if !has {
		omit(guarantee, k.name+" webhooks", "it has none: what its schema and the operator say holds with webhooks and without")
	}
	return has
}

// describeOmissions checks the reasons that fixtures give.
func describeOmissions(all []*kind) {
	Describe("Omissions", Label("Completeness"), func() {
		for _, k := range all {
			It("of "+k.name+" are of what a spec asks for, and say why", Label(k.name), func() {
				for what, why := range k.fixture.LeavesOut() {
					Expect(used.Has(k.name+" "+what)).To(BeTrue(), "no spec leaves out %q", what)
					Expect(len(why)).To(BeNumerically(">", 20), "%q needs a reason", what)
				}
			})
		}
	})
}

// The closing tables: kinds by guarantees, and what is left out. A kind without a spec of a guarantee, and without a
// reason, fails the suite.
var _ = ReportAfterSuite("table", func(report Report) {
	if report.SuiteConfig.DryRun {
		return
	}
	cells := count(report)
	found(report)
	fmt.Print(matrix(cells), omitted())
	Expect(gaps(cells)).To(BeEmpty(), "kinds that leave out a guarantee without a reason")
})

// cell is what became of a guarantee for a kind.
type cell struct {
	specs, run int
	bad        bool
	seconds    float64
}

func count(report Report) map[string]cell {
	cells := map[string]cell{}
	for _, spec := range report.SpecReports {
		if spec.LeafNodeType != types.NodeTypeIt {
			continue
		}
		for _, kind := range spec.Labels() {
			for _, g := range guarantees {
				if !slices.Contains(spec.Labels(), g) || kind == g {
					continue
				}
				c := cells[kind+g]
				c.specs++
				if spec.State != types.SpecStateSkipped {
					c.run++
					c.bad = c.bad || spec.State != types.SpecStatePassed
					c.seconds += spec.RunTime.Seconds()
				}
				cells[kind+g] = c
			}
		}
	}
	return cells
}

// gaps are the guarantees that no spec tries of a kind, and for which no reason is given.
func gaps(cells map[string]cell) []string {
	var all []string
	for _, k := range table() {
		for _, g := range guarantees {
			reason := k.fixture != nil && k.fixture.LeavesOut()[g] != ""
			if (cells[k.name+g].specs == 0) != reason {
				all = append(all, k.name+" "+g)
			}
		}
	}
	return all
}

func matrix(cells map[string]cell) string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "\n\n%-16s", "")
	for _, g := range guarantees {
		fmt.Fprintf(b, "%9s", g)
	}
	for _, k := range table() {
		name := k.name
		fmt.Fprintf(b, "\n%-16s", name)
		for _, g := range guarantees {
			text := "-" // not run
			switch c := cells[name+g]; {
			case c.specs == 0:
				text = "left out"
			case c.bad:
				text = "BROKEN"
			case c.run > 0:
				text = fmt.Sprintf("ok %.0fs", c.seconds)
			}
			fmt.Fprintf(b, "%9s", text)
		}
	}
	return b.String() + "\n\n"
}

// omitted is the table of what is left out, and why.
func omitted() string {
	b := &strings.Builder{}
	b.WriteString("Left out, by a kind or for a type:\n")
	slices.SortFunc(omissions, func(a, b omission) int {
		return cmp.Or(slices.Index(guarantees, a.guarantee)-slices.Index(guarantees, b.guarantee), strings.Compare(a.what, b.what))
	})
	for _, o := range omissions {
		fmt.Fprintf(b, "  %-4s %-32s %s\n", o.guarantee, o.what, o.why)
	}
	return b.String() + "\n"
}
