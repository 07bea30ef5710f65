// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// ours is the tree of this repository.
var ours = sync.OnceValues(func() (*tree, error) {
	top, err := filepath.Abs("../../..")
	if err != nil {
		return nil, err
	}
	return load(top)
})

// open returns the tree of this repository, and looks at the files that go list has read, so that Go's cache of test results
// knows them.
func open(t *testing.T) *tree {
	t.Helper()
	read, err := ours()
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"api", "config", "hack", "internal", "test"} {
		err := filepath.WalkDir(filepath.Join(read.top, folder), func(file string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(file, ".go") {
				_, err = os.Stat(file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return read
}

func TestKinds(t *testing.T) {
	read := open(t)
	for _, tc := range []struct{ files, want string }{
		{"", "none"},

		// a kind's own
		{"internal/controller/crontab/start.go", "CronTab || Completeness"},
		{"internal/controller/configwatcher/decide.go", "ConfigWatcher || ConfigMap || Secret || Completeness"},
		{"internal/controller/crontab/start.go internal/controller/webapp/desired.go docs/concepts.md", "CronTab || WebApp || Completeness"},
		{"test/guarantees/database_test.go", "Database || Completeness"},
		{"test/guarantees/annotated_test.go", "ConfigWatcher || ConfigMap || Secret || Completeness"},
		{"config/samples/batch_v1alpha1_crontab.yaml", "CronTab || Completeness"},
		{"config/crd/bases/batch.acme.com_crontabs.yaml", "CronTab || Completeness"},
		{"config/crd/bases/workloads.apps.acme.com_webapps.yaml", "WebApp || Completeness"},
		{"api/batch/v1alpha1/crontab_types.go", "CronTab || Completeness"},
		{"internal/webhook/schedulerprofile/schedulerprofile.go", "SchedulerProfile || Completeness"},

		// what some share
		{"internal/restart/decide.go", "ConfigWatcher || ConfigMap || Secret || RebootPolicy || Completeness"},
		{"internal/schedule/parse.go", "ConfigWatcher || ConfigMap || Secret || RebootPolicy || CronTab || Completeness"},
		{"internal/inforce/inforce.go", "AcmeNamespace || Database || Completeness"},
		{"internal/external/sqldb/sqldb.go", "RebootPolicy || Completeness"},
		{"internal/external/sqldb/postgres/postgres.go", "RebootPolicy || Completeness"},
		{"internal/external/identity/ldaptest/ldaptest.go", "AcmeNamespace || Completeness"},
		{"internal/database/result/result.go", "Database || Completeness"},
		{"internal/scheduling/render.go", "SchedulerProfile || Completeness"},

		// the frame
		{"internal/engine/reconcile.go", "all"},
		{"internal/operator/settings/defaults.go", "all"},
		{"internal/names/names.go", "all"},
		{"internal/tolerant/decode.go", "all"},
		{"internal/testenv/limit/limit.go", "all"},
		{"api/common/v1alpha1/status_types.go", "all"},
		{"api/config/v1alpha1/crontab_types.go", "all"},
		{"test/guarantees/crashes_test.go", "all"},
		{"test/guarantees/testdata/any.yaml", "all"},
		{"config/rbac/role.yaml", "all"},
		{"config/policy/guard_rails.yaml", "all"},
		{"config/webhook/manifests.yaml", "all"},
		{"go.sum", "all"},
		{"cmd/main.go", "all"},
		{".ci/run", "all"},
		{"tools/kubernetes/go.mod", "all"},

		// what nothing is known of
		{"elsewhere/any.txt", "all"},
		{"internal/removed/any.go", "all"},
		{"config/crd/bases/new.acme.com_news.yaml", "all"},
		{"config/samples/kustomization.yaml", "all"},

		// the rest
		{"docs/concepts.md README.md CHANGELOG.md", "none"},
		{"hack/affected/main.go hack/verify.sh hack/removed/main.go", "none"},
		{"hack/cluster/node/main.go", "none"},
		{"test/e2e/webapp_test.go test/bench/main.go test/bundle/testdata/any.yaml", "none"},
		{"internal/controller/crontab/crontab_test.go internal/engine/steps_test.go", "none"},
		{"internal/scheduling/testdata/any.yaml", "none"},
		{"internal/database/agent/agent.go", "none"},
		{"internal/plugin/why.go", "none"},
		{"cmd/kubectl-acme/main.go", "none"},
		{"config/grafana/kustomization.yaml bundle/metadata/annotations.yaml", "none"},
	} {
		c := Change{Proved: true, Files: strings.Fields(tc.files), tree: func() (*tree, error) { return read, nil }}
		switch kinds, err := c.Kinds(); {
		case err != nil:
			t.Fatal(err)
		case kinds.Filter() != tc.want:
			t.Errorf("%s affects %s, not %s", tc.files, kinds.Filter(), tc.want)
		}
	}
	if kinds, err := (Change{tree: func() (*tree, error) { return read, nil }}).Kinds(); err != nil || !kinds.All {
		t.Errorf("without a base that passed it affects %v, %v; want all kinds", kinds.Names, err)
	}
}

// TestKindsAreComplete compares the kinds with the packages of controllers and with the fixtures of the guarantees, which
// TestEveryKindHasAFixture compares with the operator's table.
func TestKindsAreComplete(t *testing.T) {
	read := open(t)
	all, err := read.kinds()
	if err != nil {
		t.Fatal(err)
	}
	var controllers, labels []string
	for _, k := range all {
		controllers = append(controllers, k.lower)
		labels = append(append(labels, k.name), annotated[k.name]...)
		if file := guarantees + "/" + k.lower + "_test.go"; !read.has(file) {
			t.Errorf("there is no %s", file)
		}
	}
	for file := range annotatedFiles {
		if !read.has(file) {
			t.Errorf("there is no %s", file)
		}
	}
	same(t, "controllers and kinds", folders(t, filepath.Join(read.top, "internal/controller")), controllers)
	same(t, "fixtures and labels", fixtures(t, filepath.Join(read.top, guarantees)), labels)
}

func TestRulesNameWhatIsThere(t *testing.T) {
	read := open(t)
	for _, file := range slices.Concat(frame, aside) {
		if !read.has(file) {
			t.Errorf("there is no %s", file)
		}
	}
}

func folders(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

var fixture = regexp.MustCompile(`\bfixture\("(\w+)", `)

func fixtures(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range fixture.FindAllStringSubmatch(string(text), -1) {
			if found[1] != "Kind" { // in a comment
				all = append(all, found[1])
			}
		}
	}
	return all
}

func same(t *testing.T, what string, a, b []string) {
	t.Helper()
	slices.Sort(a)
	slices.Sort(b)
	if !slices.Equal(a, b) {
		t.Errorf("%s differ:\n%v\n%v", what, a, b)
	}
}
