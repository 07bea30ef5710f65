// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs checks the documentation against the code.
package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root            = "../.."
	troubleshooting = "docs/troubleshooting.md"
)

// ofKind is the page of the kind that a folder belongs to, on which its reasons and metrics may be explained instead of on the
// pages for all kinds; empty when it belongs to none.
func ofKind(t *testing.T, folder string) string {
	t.Helper()
	if folder == "internal/external/sqldb" {
		folder = "internal/controller/rebootpolicy"
	}
	kind, found := strings.CutPrefix(folder, "internal/controller/")
	if !found {
		return ""
	}
	return read(t, "docs/kinds/"+kind+".md")
}

// reasonArgument is the position of the reason in the calls that set a condition or emit an event.
var reasonArgument = map[string]int{
	"Wait": 1, "Block": 0, "BlockFor": 1, "Uncertain": 1, "Lacking": 0, "Explain": 1, "Because": 0, "setCondition": 2,
	"Event": 1, "Eventf": 3, "warn": 1,
}

// TestEveryReasonIsExplained wants each reason of a condition or an event that the code has on the page of symptoms, or on
// that of its kind.
func TestEveryReasonIsExplained(t *testing.T) {
	found := reasons(t)
	if n := len(found); n < 60 {
		t.Fatalf("found %d reasons only: the search for them is broken", n)
	}
	for _, reason := range slices.Sorted(maps.Keys(found)) {
		for folder := range found[reason] {
			if !strings.Contains(read(t, troubleshooting)+ofKind(t, folder), "`"+reason+"`") {
				t.Errorf("%s: the reason %s is not explained: add a row to %s, or to the page of the kind", folder, reason, troubleshooting)
			}
		}
	}
}

// TestEveryMetricIsExplained wants each metric on the page of operations, or on that of its kind.
func TestEveryMetricIsExplained(t *testing.T) {
	page, metric := read(t, "docs/operations.md"), regexp.MustCompile(`^platform_operator_[a-z_]+$`)
	count := 0
	walk(t, func(folder string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			if name := literal(n); metric.MatchString(name) {
				count++
				if !strings.Contains(page+ofKind(t, folder), "`"+name+"`") {
					t.Errorf("%s: the metric %s is not explained: add a row to docs/operations.md, or to the page of the kind", folder, name)
				}
			}
			return true
		})
	})
	if count < 10 {
		t.Fatalf("found %d metrics only: the search for them is broken", count)
	}
}

// reasons are the reasons that the code can show, with the folders in which it does.
func reasons(t *testing.T) map[string]map[string]bool {
	found := map[string]map[string]bool{}
	add := func(folder, reason string) {
		if !camelCase.MatchString(reason) {
			return
		}
		if found[reason] == nil {
			found[reason] = map[string]bool{}
		}
		found[reason][folder] = true
	}
	walk(t, func(folder string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			for _, reason := range reasonsIn(n) {
				add(folder, reason)
			}
			return true
		})
	})
	return found
}

// reasonsIn are the reasons that one node of the source has: constants that are named so or have the type Reason, arguments,
// and values of fields.
func reasonsIn(n ast.Node) (found []string) {
	switch n := n.(type) {
	case *ast.ValueSpec:
		for i, name := range n.Names {
			if i < len(n.Values) && (isReason(name.Name) || typeName(n.Type) == "Reason") {
				found = append(found, literal(n.Values[i]))
			}
		}
	case *ast.CallExpr:
		if at, ok := reasonArgument[typeName(n.Fun)]; ok && at < len(n.Args) {
			found = append(found, literal(n.Args[at]))
		}
	case *ast.KeyValueExpr:
		if isReason(typeName(n.Key)) {
			found = append(found, literal(n.Value))
		}
	case *ast.AssignStmt:
		for i, to := range n.Lhs {
			if i < len(n.Rhs) && isReason(typeName(to)) {
				found = append(found, literal(n.Rhs[i]))
			}
		}
	}
	return found
}

var camelCase = regexp.MustCompile(`^[A-Z][A-Za-z]+$`)

var reasonName = regexp.MustCompile(`^([rR]eason|[eE]vent|Suppressed)([A-Z]|$)`)

func isReason(name string) bool { return reasonName.MatchString(name) }

// typeName is the last name of an identifier, a selector or an instantiated type or function.
func typeName(n ast.Expr) string {
	switch n := n.(type) {
	case *ast.Ident:
		return n.Name
	case *ast.SelectorExpr:
		return n.Sel.Name
	default:
		return ""
	}
}

// literal is the value of a literal string, else empty.
func literal(n ast.Node) string {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	value, _ := strconv.Unquote(lit.Value) // the parser has read it
	return value
}

// walk parses the sources of the operator, but for tests and what only tests use.
func walk(t *testing.T, see func(folder string, file *ast.File)) {
	t.Helper()
	files := token.NewFileSet()
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"testenv", "testdata"}, d.Name()):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		see(filepath.ToSlash(folder), file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
