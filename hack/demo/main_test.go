/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/acme/platform-operator/hack/cluster/localcluster"
)

// TestMain makes this program a stand-in for the operator when it is started under its name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == manager {
		os.Exit(standIn(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// standIn is an operator that is ready at once and ends when it is asked to.
func standIn(args []string) int {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	for _, arg := range args {
		if address, ok := strings.CutPrefix(arg, "--health-probe-bind-address="); ok {
			go func() {
				fmt.Println(http.ListenAndServe(address, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
			}()
		}
	}
	<-ended
	fmt.Println("asked to end")
	return 0
}

func TestCommandLine(t *testing.T) {
	for reason, test := range map[string]struct {
		words string
		code  int
		says  string // on either output
	}{
		"no command":         {"", exitUsage, "usage: go run ./hack/demo"},
		"help":               {"--help", exitOK, "usage: go run ./hack/demo"},
		"help for a command": {"up --help", exitOK, "--timeout"},
		"unknown command":    {"explode", exitUsage, `"explode"`},
		"unknown flag":       {"up --explode", exitUsage, "explode"},
		"positional word":    {"down demo", exitUsage, `"demo"`},
		"bad name":           {"down --name ../up", exitFailed, "no cluster name"},
		"down: not there":    {"down --name never-made", exitOK, "there is no cluster never-made"},
		"status: not there":  {"status --name never-made", exitFailed, "--name never-made` makes it"},
	} {
		t.Run(reason, func(t *testing.T) {
			var out, errOut bytes.Buffer
			code := run(context.Background(), &out, &errOut, strings.Fields(test.words))
			if said := out.String() + errOut.String(); code != test.code || !strings.Contains(said, test.says) {
				t.Errorf("exit code %d, want %d; it must say %q and says:\n%s", code, test.code, test.says, said)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	log := filepath.Join(t.TempDir(), "operator.log")
	var lines strings.Builder
	for i := range 30 {
		fmt.Fprintf(&lines, "line %d.\n", i+1)
	}
	if err := os.WriteFile(log, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	d := &demo{name: "demo"}
	cause := errors.New("it broke")
	for reason, test := range map[string]struct {
		err        error
		says, hush []string
	}{
		"a log tells more": {
			&failure{demo: d, doing: "starting the operator", err: cause, log: log},
			[]string{"failed while starting the operator: it broke", "operator.log:", "line 11.", "line 30.", "`make demo`", "`make demo-down`"},
			[]string{"line 10."},
		},
		"a component of the cluster": {
			&failure{demo: d, doing: "starting the cluster", err: &localcluster.ComponentError{
				Component: "etcd", Log: "etcd.log", Tail: "no space left", Err: cause,
			}},
			[]string{"failed while starting the cluster: etcd: it broke", "etcd.log:", "no space left"},
			nil,
		},
		"no log yet": {
			&failure{demo: d, doing: "starting the operator", err: cause, log: log + ".none"},
			[]string{"it broke", "`make demo`"},
			[]string{"the end of"},
		},
		"interrupted": {
			&failure{demo: d, doing: "applying the samples", err: context.Canceled, log: log, interrupted: true},
			[]string{"interrupted while applying the samples", "`make demo-down`"},
			[]string{"line 30.", "failed"},
		},
		"another cluster": {
			&failure{demo: &demo{name: "two"}, doing: "waiting", err: cause},
			[]string{"`go run ./hack/demo up --name two`", "`go run ./hack/demo down --name two`"},
			[]string{"make demo"},
		},
		"any error": {cause, []string{"error: it broke"}, []string{"make"}},
	} {
		t.Run(reason, func(t *testing.T) {
			var out bytes.Buffer
			explain(&out, test.err)
			for _, text := range test.says {
				if !strings.Contains(out.String(), text) {
					t.Errorf("it must say %q and says:\n%s", text, &out)
				}
			}
			for _, text := range test.hush {
				if strings.Contains(out.String(), text) {
					t.Errorf("it must not say %q and says:\n%s", text, &out)
				}
			}
		})
	}
}
