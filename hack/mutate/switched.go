// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// variable is the variable of the environment that has the number of the mutation that a switched binary runs with.
const variable = "PLATFORM_MUTATION"

// switched are mutations in one tree: each changed function begins with the changed bodies, one of which runs when the
// variable has its number. So one test binary serves all mutations that the tests of a package kill: linking it takes most
// of the time of a mutation. It grows by bodies that are inserted.
type switched struct {
	root  string
	files map[string]*switchedFile // by path
}

type switchedFile struct {
	text   string
	bodies []inserted
}

// inserted is text that comes into a file at an offset.
type inserted struct {
	at   int
	text string
}

// add takes a mutation in. It fails when that changes more than the bodies of functions.
func (s *switched) add(number int, m mutation) error {
	changed, err := m.apply(s.root)
	if err != nil {
		return err
	}
	bodies := map[string][]inserted{}
	for file, text := range changed {
		original, err := os.ReadFile(filepath.Join(s.root, file))
		if err != nil {
			return err
		}
		if bodies[file], err = changedBodies(number, file, string(original), text); err != nil {
			return err
		}
		if s.files[file] == nil {
			s.files[file] = &switchedFile{text: string(original)}
		}
	}
	for file, some := range bodies {
		s.files[file].bodies = append(s.files[file].bodies, some...)
	}
	return nil
}

// overlay gives the content of the changed files, and of a file beside them that reads the variable, by their path.
func (s *switched) overlay() map[string]string {
	all := map[string]string{}
	for file, f := range s.files {
		slices.SortStableFunc(f.bodies, func(a, b inserted) int { return cmp.Compare(b.at, a.at) })
		text := f.text
		for _, body := range f.bodies {
			text = text[:body.at] + body.text + text[body.at:]
		}
		all[file] = text
		all[path.Join(path.Dir(file), "mutation_switch.go")] = fmt.Sprintf(
			"package %s\n\nimport \"os\"\n\nvar mutationSwitch = os.Getenv(%q)\n", packageOf(text), variable)
	}
	return all
}

// packageOf is the name of the package of a file that can be parsed.
func packageOf(text string) string {
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.PackageClauseOnly)
	if err != nil {
		return ""
	}
	return f.Name.Name
}

// changedBodies are what makes a file a changed one when the mutation of that number is switched on.
func changedBodies(number int, file, from, to string) ([]inserted, error) {
	before, err := declarations(file, from)
	if err != nil {
		return nil, err
	}
	after, err := declarations(file, to)
	if err != nil {
		return nil, err
	}
	if len(before) != len(after) {
		return nil, fmt.Errorf("%s has other declarations then", file)
	}
	var bodies []inserted
	for i, old := range before {
		changed := after[i]
		if old.head != changed.head || old.body != changed.body && (old.body == "" || changed.body == "") {
			return nil, fmt.Errorf("%s changes outside of the bodies of functions", file)
		}
		if old.body != changed.body {
			bodies = append(bodies, inserted{old.at, fmt.Sprintf("\nif mutationSwitch == \"%d\" {%s\n%s}\n", number, changed.body, old.end)})
		}
	}
	return bodies, nil
}

// declaration is one of a file: its text, of a function that up to the body. Of a function it also has the body between the
// braces, where that begins, and how a body that is inserted there ends, so that the original one does not run as well.
type declaration struct {
	head, body, end string
	at              int
}

func declarations(file, text string) ([]declaration, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	offset := func(p token.Pos) int { return set.Position(p).Offset }
	var all []declaration
	for _, d := range parsed.Decls {
		is := declaration{head: text[offset(d.Pos()):offset(d.End())]}
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			at := offset(f.Body.Lbrace) + 1
			is = declaration{head: text[offset(f.Pos()):at], body: text[at:offset(f.Body.Rbrace)], at: at}
			if f.Type.Results == nil {
				is.end = "return\n"
			}
		}
		all = append(all, is)
	}
	return all, nil
}
