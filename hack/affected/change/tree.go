// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// goPackage is a package of the main module.
type goPackage struct {
	path string
	// deps are the folders of the packages of the module that it is compiled from, its own among them; tested are those of its
	// tests.
	deps, tested map[string]bool
}

// tree has the packages of the main module by their folders, which are relative to the top.
type tree struct {
	top      string
	packages map[string]*goPackage
	embedded map[string]bool // the files that are compiled into packages by go:embed
}

// load reads the packages of the module at the top of a work tree.
func load(top string) (*tree, error) {
	out, err := output(top, "go", "list", "-test", "-json=ImportPath,Dir,Deps,EmbedFiles", "./...")
	if err != nil {
		return nil, fmt.Errorf("reading the Go packages of %s: %w", top, err)
	}
	t := &tree{top: top, packages: map[string]*goPackage{}, embedded: map[string]bool{}}
	folders := map[string]string{} // by import path
	deps := map[string][]string{}
	for decoder := json.NewDecoder(strings.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir  string
			Deps, EmbedFiles []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("reading the output of go list: %w", err)
		}
		deps[p.ImportPath] = p.Deps
		if strings.HasSuffix(p.ImportPath, ".test") || strings.Contains(p.ImportPath, " ") {
			continue // made for tests
		}
		folder, err := filepath.Rel(top, p.Dir)
		if err != nil {
			return nil, err
		}
		folder = filepath.ToSlash(folder)
		folders[p.ImportPath] = folder
		for _, file := range p.EmbedFiles {
			t.embedded[path.Join(folder, file)] = true
		}
	}
	for name, folder := range folders {
		p := &goPackage{path: name, deps: among(folders, deps[name]), tested: among(folders, deps[name+".test"])}
		p.deps[folder] = true
		maps.Copy(p.tested, p.deps)
		t.packages[folder] = p
	}
	return t, nil
}

// among returns the folders of those packages that have one. "P [Q.test]" is P, compiled for the tests of Q.
func among(folders map[string]string, packages []string) map[string]bool {
	some := map[string]bool{}
	for _, name := range packages {
		name, _, _ = strings.Cut(name, " ")
		if folder, ok := folders[name]; ok {
			some[folder] = true
		}
	}
	return some
}

// nearest returns the folder of the package that a file belongs to: its own folder's, else that of the next folder above that
// has one in the same module. It is empty if there is none.
func (t *tree) nearest(file string) string {
	for folder := path.Dir(file); folder != "."; folder = path.Dir(folder) {
		if t.packages[folder] != nil {
			return folder
		}
		if t.has(path.Join(folder, "go.mod")) {
			return ""
		}
	}
	if t.packages["."] != nil {
		return "."
	}
	return ""
}

// compiled returns the folder of the package into which a file is compiled, or was before it was removed; empty if that is
// none, or its tests only.
func (t *tree) compiled(file string) string {
	folder := t.nearest(file)
	switch {
	case forTests(file):
		return ""
	case strings.HasSuffix(file, ".go"):
		if path.Dir(file) != folder {
			return ""
		}
	case !t.embedded[file] && t.has(file):
		return ""
	}
	return folder
}

func (t *tree) has(file string) bool {
	_, err := os.Stat(filepath.Join(t.top, file))
	return err == nil
}

// forTests reports whether a file is one that the tests of its package alone use.
func forTests(file string) bool {
	return strings.HasSuffix(file, "_test.go") || strings.Contains("/"+file, "/testdata/")
}

// Packages returns the import paths of the packages that own a changed file: in their folder, or below it in a folder that is
// no package, such as testdata.
func (c Change) Packages() ([]string, error) {
	t, err := c.tree()
	if err != nil {
		return nil, err
	}
	return t.paths(func(folder string) bool {
		return slices.ContainsFunc(c.Files, func(file string) bool { return t.nearest(file) == folder })
	}), nil
}

// Tests returns the import paths of the packages that own a changed file, or that are compiled from one, tests included. It
// does not know which files tests read by their paths: Go's cache of test results does.
func (c Change) Tests() ([]string, error) {
	t, err := c.tree()
	if err != nil {
		return nil, err
	}
	owners, sources := map[string]bool{}, map[string]bool{}
	for _, file := range c.Files {
		if file == "go.mod" || file == "go.sum" {
			return t.paths(func(string) bool { return true }), nil
		}
		owners[t.nearest(file)], sources[t.compiled(file)] = true, true
	}
	return t.paths(func(folder string) bool {
		for source := range t.packages[folder].tested {
			if sources[source] {
				return true
			}
		}
		return owners[folder]
	}), nil
}

// paths returns the sorted import paths of some packages.
func (t *tree) paths(has func(folder string) bool) []string {
	var some []string
	for folder, p := range t.packages {
		if has(folder) {
			some = append(some, p.path)
		}
	}
	slices.Sort(some)
	return some
}
