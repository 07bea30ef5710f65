// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What is pruned is what Config.Owns lists: a type that holds data cannot be in it.
func TestTypesThatHoldDataCannotBeOwned(t *testing.T) {
	for _, o := range []client.Object{&corev1.Namespace{}, &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{}} {
		c := Config[*thing]{Name: "thing", Owns: []client.Object{&corev1.ConfigMap{}, o}}
		if err := c.check(clientgoscheme.Scheme); err == nil || !strings.Contains(err.Error(), "declare it in Keeps") {
			t.Errorf("%T in Owns: %v", o, err)
		}
		c = Config[*thing]{Name: "thing", Owns: []client.Object{&corev1.ConfigMap{}}, Keeps: []client.Object{o}}
		if err := c.check(clientgoscheme.Scheme); err != nil {
			t.Errorf("%T in Keeps: %v", o, err)
		}
	}
	for kind, want := range map[schema.GroupKind]bool{
		{Group: "databases.acme.com", Kind: "DatabaseBackup"}:         true,
		{Group: "databases.acme.com", Kind: "Database"}:               true,
		{Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshot"}:    true,
		{Group: "apiextensions.k8s.io", Kind: "X"}:                    true,
		{Group: "batch", Kind: "Job"}:                                 false,
		{Group: "", Kind: "ConfigMap"}:                                false,
		{Group: "networking.k8s.io", Kind: "Namespace"}:               false,
		{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:     false,
		{Group: "scheduling.acme.com", Kind: "PersistentVolumeClaim"}: false,
	} {
		if got := holdsData(kind); got != want {
			t.Errorf("holdsData(%s) = %v", kind, got)
		}
	}
}

func TestPlacesNeedNames(t *testing.T) {
	for _, c := range []Config[*thing]{
		{ByMark: true},
		{Places: func(*thing) []string { return nil }},
		{ByMark: true, Places: func(*thing) []string { return nil }},
	} {
		if err := c.check(clientgoscheme.Scheme); err == nil {
			t.Errorf("ByMark %v without places or names is accepted", c.ByMark)
		}
	}
}

// Every deletion goes through one function, which sets preconditions and rejects data.
func TestOnePlaceDeletes(t *testing.T) {
	var found []string
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			ast.Inspect(decl, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				of, _ := sel.X.(*ast.Ident)
				ofSlices := of != nil && of.Name == "slices" // of Go's library, which deletes elements
				if sel.Sel.Name == "DeleteAllOf" || sel.Sel.Name == "Delete" && !ofSlices {
					found = append(found, name+" "+decl.(*ast.FuncDecl).Name.Name)
				}
				return true
			})
		}
	}
	if len(found) != 1 || found[0] != "ownership.go remove" {
		t.Errorf("these delete: %v, want remove alone", found)
	}
}

func TestTroubles(t *testing.T) {
	block, wait := Block("NameTaken", "x is taken"), Wait(5, "ChildTerminating", "y is leaving")
	race := apierrors.NewConflict(pods, "p", errors.New("late"))
	broken, stuck := errors.New("disk on fire"), errors.New("lid is stuck")
	for _, c := range []struct {
		reason    string
		outs      []Outcome
		errs      []error
		lost      bool
		wantError bool
		want, msg string
	}{
		{reason: "none", want: "Done"},
		{reason: "a wait", outs: []Outcome{wait}, want: "ChildTerminating", msg: "y is leaving"},
		{reason: "a block is worse than a wait", outs: []Outcome{wait, block}, want: "NameTaken", msg: "x is taken; y is leaving"},
		{reason: "the same twice is said once", outs: []Outcome{wait, wait}, want: "ChildTerminating", msg: "y is leaving"},
		{
			reason: "an error is worse than both", outs: []Outcome{wait, block}, errs: []error{broken}, wantError: true, want: "Error",
			msg: "disk on fire; y is leaving; x is taken",
		},
		{reason: "a lost race alone is one", outs: []Outcome{block}, errs: []error{race}, wantError: true, lost: true},
		{reason: "a lost race hides no error", errs: []error{race, broken}, wantError: true, want: "Error", msg: "disk on fire"},
		{reason: "an error hides no other", errs: []error{broken, stuck}, wantError: true, want: "Error", msg: "disk on fire; lid is stuck"},
	} {
		var all troubles
		for _, out := range c.outs {
			all.add(out, nil)
		}
		for _, err := range c.errs {
			all.add(Outcome{}, err)
		}
		out, err := all.outcome()
		if (err != nil) != c.wantError || lostRace(err) != c.lost {
			t.Errorf("%s: error %v", c.reason, err)
			continue
		}
		if err != nil {
			out = failed(err)
		}
		if !c.lost && (out.reason != c.want || out.message != c.msg) {
			t.Errorf("%s: %q %q, want %q %q", c.reason, out.reason, out.message, c.want, c.msg)
		}
	}
	var both troubles
	both.add(Wait(7, "A", ""), nil)
	both.add(BlockFor(5, "B", ""), nil)
	if out, _ := both.outcome(); out.after != 5 || out.reason != "B" {
		t.Errorf("looked at again after %v because of %s", out.after, out.reason)
	}
}
