// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// toy is a module whose tests notice some mutations and not others.
var toy = map[string]string{
	"go.mod":      "module example.com/toy\n\ngo 1.26\n",
	"limits.yaml": "most: 3\nleast: 1\n",
	"sum/sum.go":  "package sum\n\nfunc Sum(a, b int) int {\n\treturn a + b\n}\n\nfunc Twice(a int) int { return 2 * a }\n",
	"sum/sum_test.go": `package sum

import (
	"os"
	"strings"
	"testing"
)

func TestSum(t *testing.T) {
	if Sum(1, 2) != 3 {
		t.Error("wrong")
	}
}

func TestLimits(t *testing.T) {
	text, err := os.ReadFile("../limits.yaml")
	if err != nil || !strings.Contains(string(text), "most: 3") {
		t.Errorf("wrong: %s, %v", text, err)
	}
}
`,
}

func TestMutate(t *testing.T) {
	for name, tc := range map[string]struct{ mutation, says, fails string }{
		"a test fails": {
			"breaks: sums\nkilled by: sum\nrun: TestSum\nfile: sum/sum.go\n-a + b\n+a - b\n", "killed", "",
		},
		"a test of another file fails": {
			"breaks: limits\nkilled by: sum\nfile: limits.yaml\n-most: 3\n+\n", "(TestLimits)", "",
		},
		"two edits of a file, one over two lines": {
			"breaks: sums\nkilled by: sum\nfile: sum/sum.go\n-2 * a\n+3 * a\n-int {\n-\treturn a\n+int {\n+\treturn 2*a\n", "(TestSum)", "",
		},
		"one of two in a function": {
			"breaks: sums\nkilled by: sum\nfile: sum/sum.go\n-a + b\n+a - b\n\n" +
				"breaks: order\nkilled by: sum\nfile: sum/sum.go\n-a + b\n+b + a\n", "killed", "1 of 2 mutations were not killed:\norder: survived",
		},
		"a function's head": {
			"breaks: sums\nkilled by: sum\nfile: sum/sum.go\n-Sum(a, b int)\n+Sum(a, _ int)\n-a + b\n+a\n", "(TestSum)", "",
		},
		"no test fails": {
			"breaks: products\nkilled by: sum\nfile: sum/sum.go\n-2 * a\n+3 * a\n", "SURVIVED", "products: survived",
		},
		"the test that would fail is not run": {
			"breaks: sums\nkilled by: sum\nrun: TestLimits\nfile: sum/sum.go\n-a + b\n+a - b\n", "SURVIVED", "1 of 1 mutations were not killed",
		},
		"no test is selected": {
			"breaks: sums\nkilled by: sum\nrun: TestSums\nfile: sum/sum.go\n-a + b\n+a - b\n", "", "no test was run",
		},
		"it does not compile": {
			"breaks: sums\nkilled by: sum\nfile: sum/sum.go\n-a + b\n+a +\n", "ERROR", "does not compile",
		},
		"the tests end without a failure": {
			"breaks: sums\nkilled by: sum\nfile: sum/sum.go\n-return a + b\n+go func() { panic(1) }()\n+\tselect {}\n", "ERROR", "could not run, or did not end",
		},
		"the text is gone": {
			"breaks: sums\nkilled by: sum\nfile: sum/sum.go\n-a * b\n+a - b\n", "ERROR", "no longer applies: sum/sum.go has 0 times",
		},
		"the text is there twice": {
			"breaks: sums\nkilled by: sum\nfile: sum/sum.go\n-int\n+int64\n", "ERROR", "no longer applies: sum/sum.go has 4 times",
		},
		"the file is gone": {
			"breaks: sums\nkilled by: sum\nfile: sum/gone.go\n-int\n+int64\n", "ERROR", "no longer applies: open",
		},
		"the tests fail anyway": {
			"breaks: sums\nkilled by: gone\nfile: sum/sum.go\n-a + b\n+a - b\n", "", "gone fails without any mutation",
		},
		"it is incomplete":    {"breaks: sums\nfile: sum/sum.go\n-a + b\n+a - b\n", "", "a mutation needs breaks, killed by"},
		"it is misspelled":    {"brakes: sums\n", "", `"brakes: sums" is no line of a mutation`},
		"it is unclear where": {"breaks: sums\n-a + b\n", "", "there is no file before"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			files := map[string]string{"test/mutations/toy.txt": "# A comment.\n\n" + tc.mutation}
			for _, some := range []map[string]string{toy, files} {
				for file, text := range some {
					write(t, filepath.Join(root, file), text)
				}
			}
			var out strings.Builder
			err := mutate(t.Context(), root, &out, 2, func(mutation) bool { return true })
			if (err == nil) != (tc.fails == "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("the error is %v, want %q", err, tc.fails)
			}
			if !strings.Contains(out.String(), tc.says) {
				t.Errorf("it says %s, want %s", out.String(), tc.says)
			}
			for file, text := range toy {
				if is, err := os.ReadFile(filepath.Join(root, file)); err != nil || string(is) != text {
					t.Errorf("%s was changed, or is gone: %v", file, err)
				}
			}
		})
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestNothing: a focus that selects no spec proves nothing, although the suite passes.
func TestNothing(t *testing.T) {
	for output, want := range map[string]bool{
		"Will run 0 of 2 specs\nSS\n\nRan 0 of 2 Specs in 0.000 seconds\nSUCCESS! -- 0 Passed | 0 Failed | 0 Pending | 2 Skipped\nPASS\n": true,
		"Will run 1 of 2 specs\nS•\n\nRan 1 of 2 Specs in 0.000 seconds\nPASS\n":                                                          false,
		"Ran 10 of 20 Specs in 0.000 seconds\n":     false,
		"testing: warning: no tests to run\nPASS\n": true, "PASS\n": false,
	} {
		if got := nothing.MatchString(output); got != want {
			t.Errorf("%q: %t", output, got)
		}
	}
}

// TestSelection: the mutations of this repository can be read, and each that is quick needs no control plane.
func TestSelection(t *testing.T) {
	all, err := readMutations(filepath.Join("..", "..", "test", "mutations"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range all {
		if seen[m.breaks] {
			t.Errorf("two mutations break the same: %s", m.breaks)
		}
		seen[m.breaks] = true
		if m.quick && m.focus != "" {
			t.Errorf("%s: a spec is not quick", m.breaks)
		}
		if _, err := m.apply(filepath.Join("..", "..")); err != nil {
			t.Errorf("%s: %v", m.breaks, err)
		}
	}
	if len(all) < 60 {
		t.Errorf("there are only %d mutations", len(all))
	}
}

// TestChangedBodies: what is switched on runs instead of the original, and whatever else changes is tried in a binary of its
// own.
func TestChangedBodies(t *testing.T) {
	const from = "package p\n\nconst c = 1\n\nfunc f() int { return c }\n\nfunc g() { c() }\n"
	for name, tc := range map[string]struct{ old, new, want string }{
		"results":    {"return c", "return 2", "func f() int {\nif mutationSwitch == \"7\" { return 2 \n}\n return c }"},
		"no results": {"c()", "d()", "func g() {\nif mutationSwitch == \"7\" { d() \nreturn\n}\n c() }"},
		"a constant": {"c = 1", "c = 2", ""},
		"a head":     {"g()", "g(int)", ""},
		"a function": {"func g() { c() }", "", ""},
		"a body":     {" c() ", "", ""},
		"no syntax":  {"return c", "return (", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &switched{files: map[string]*switchedFile{"p.go": {text: from}}}
			bodies, err := changedBodies(7, "p.go", from, strings.Replace(from, tc.old, tc.new, 1))
			s.files["p.go"].bodies = bodies
			if (err == nil) != (tc.want != "") || !strings.Contains(s.overlay()["p.go"], tc.want) {
				t.Errorf("%v, %s", err, s.overlay()["p.go"])
			}
		})
	}
}
