// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ci

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	// patience is the least limit of a wait in the gate. It only ends what hangs.
	patience = 2 * time.Minute
	// shortest is the shortest limit that is one: a context of less is made to end, to see what happens then.
	shortest = time.Second
)

// A wait of the gate has no literal limit below patience, because a busy machine exceeds it. A spec that is Slow, Timed or Random is
// not in the gate, and may have one.
func TestNoWaitHasAShortLimit(t *testing.T) {
	files, waits := 0, 0
	for _, root := range []string{"../../internal", "../guarantees"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") && (!strings.Contains(path, "/testenv/") || !strings.HasSuffix(path, ".go")) {
				return err
			}
			files++
			short, n, err := shortWaits(path, nil)
			for _, at := range short {
				t.Error(at)
			}
			waits += n
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 100 || waits < 500 {
		t.Errorf("only %d waits in %d files were found", waits, files)
	}
}

// shortWaits are the places in a Go file where a wait has a short, literal limit; and how many waits there are. Without a source it is
// read from the file.
func shortWaits(path string, source any) (short []string, waits int, err error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, source, 0)
	if err != nil {
		return nil, 0, err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if outsideOfGate(call) {
			return false
		}
		limits := limitsOf(call)
		if limits == nil {
			return true
		}
		waits++
		for _, arg := range limits {
			if d := literal(arg); d >= shortest && d < patience {
				short = append(short, fmt.Sprintf("%s: a wait has the limit %s; leave it to the suite's patience", set.Position(arg.Pos()), d))
			}
		}
		return true
	})
	return short, waits, nil
}

// outsideOfGate reports whether a call describes specs that have a label of the shards.
func outsideOfGate(call *ast.CallExpr) (outside bool) {
	for _, arg := range call.Args {
		if _, body := arg.(*ast.FuncLit); body {
			continue
		}
		ast.Inspect(arg, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "limit" {
					outside = outside || s.Sel.Name == "Slow" || s.Sel.Name == "Timed" || s.Sel.Name == "Random"
				}
			}
			return true
		})
	}
	return outside
}

// limitsOf are the arguments of a call that limit a wait; nil if it is none. The second one of Eventually is its limit, the third
// how often it looks.
func limitsOf(call *ast.CallExpr) []ast.Expr {
	name := ""
	switch f := call.Fun.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
	}
	switch {
	case name == "Eventually" && len(call.Args) > 1:
		return call.Args[1:2]
	case name == "Eventually":
		return []ast.Expr{}
	case name == "Within" && len(call.Args) == 1:
		return call.Args
	case name == "WithTimeout" && len(call.Args) > 0:
		return call.Args[len(call.Args)-1:]
	}
	return nil
}

// literal is the duration that an expression spells out, 0 if it spells none.
func literal(e ast.Expr) time.Duration {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		d, _ := time.ParseDuration(text)
		return d
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok && x.Name == "time" {
			return map[string]time.Duration{"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}[e.Sel.Name]
		}
	case *ast.BinaryExpr:
		if n, ok := e.X.(*ast.BasicLit); ok && e.Op == token.MUL {
			times, _ := strconv.Atoi(n.Value)
			return time.Duration(times) * literal(e.Y)
		}
	}
	return 0
}

func TestShortWaits(t *testing.T) {
	const source = `package p
func _() {
	It("waits", func() {
		Eventually(f).Should(Succeed())
		Eventually(f, "5s").Should(Succeed())
		Eventually(f, "2m", "5s").Should(Succeed())
		Eventually(f).WithTimeout(30 * time.Second).Should(Succeed())
		Eventually(f).Within(time.Minute).Should(Succeed())
		ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
		ctx, cancel = context.WithTimeout(ctx, time.Millisecond)
	})
	It("is timed", Label(limit.Timed), func() { Eventually(f, "5s").Should(Succeed()) })
	It("is of the gate", Label("G5"), func() { g.Eventually(f, "1s").Should(Succeed()) })
}`
	short, waits, err := shortWaits("p.go", source)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, s := range short {
		lines = append(lines, strings.SplitN(s, ":", 3)[1])
	}
	if diff := cmp.Diff([]string{"5", "7", "8", "13"}, lines); diff != "" || waits < 6 {
		t.Errorf("of %d waits those of these lines are short (-want +got):\n%s", waits, diff)
	}
}
