// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// table has the operator's kinds. It is read as text, because importing it links the whole operator.
const table = "internal/operator/kinds.go"

var row = regexp.MustCompile(`(?m)^\t\tObject:\s+&\w+\.(\w+)\{\}`)

const guarantees = "test/guarantees"

// With a kind go the guarantees of what Kubernetes' own types ask of it by annotations, which have labels and a file of their
// own.
var (
	annotated      = map[string][]string{"ConfigWatcher": {"ConfigMap", "Secret"}}
	annotatedFiles = map[string]string{guarantees + "/annotated_test.go": "ConfigWatcher"}
)

var (
	// frame is what the guarantees of all kinds stand on, beside the packages that all kinds are compiled from.
	frame = []string{
		".ci/", "go.mod", "go.sum", "cmd/main.go", "api/common/", "api/config/", "internal/engine/", "internal/names/", "internal/operator/",
		"internal/testenv/", guarantees + "/", "config/crd/", "config/namespace/", "config/policy/", "config/rbac/", "config/webhook/",
		"hack/cluster/binaries/", "tools/codegen/", "tools/etcd/", "tools/kubernetes/",
	}
	// aside is what no guarantee depends on, unless it is a package that they are compiled from.
	aside = []string{
		"docs/", "hack/", "test/", "bundle/", "catalog/", "config/certmanager/", "config/default/", "config/grafana/", "config/install/",
		"config/manager/", "config/manifests/", "config/olm/", "config/prometheus/", "config/scorecard/", "config/tenancy/", "tools/coredns/",
		"tools/kwok/", "tools/lint/", "tools/olm/", "tools/operator-sdk/", "tools/opm/", "tools/s3/", "CHANGELOG.md", "CONTRIBUTING.md",
		"README.md", "LICENSE", "PROJECT", "Dockerfile", "bundle.Dockerfile", "catalog.Dockerfile", ".dockerignore", ".gitignore",
		".golangci.yml",
	}
	// recipe is in the changed lines of the Makefile that run the guarantees.
	recipe = regexp.MustCompile(`(?mi)^[-+].*(PROCS|guarantees)`)
)

// Kinds are the kinds of the operator whose guarantees may be affected.
type Kinds struct {
	// Names are in the order of the operator's table.
	Names []string
	// All says that Names has all kinds.
	All bool
	// Because has, for each name, the first changed file that affects it.
	Because map[string]string
}

// Filter returns a label filter of Ginkgo's that selects the guarantees of the kinds, or "all", or "none".
func (k Kinds) Filter() string {
	switch {
	case k.All:
		return "all"
	case len(k.Names) == 0:
		return "none"
	}
	var labels []string
	for _, name := range k.Names {
		labels = append(append(labels, name), annotated[name]...)
	}
	return strings.Join(append(labels, "Completeness"), " || ")
}

// Kinds returns the kinds whose guarantees have to be checked: all of them if no base is known to have passed. A file of which
// nothing is known affects all of them.
func (c Change) Kinds() (Kinds, error) {
	t, err := c.tree()
	if err != nil {
		return Kinds{}, err
	}
	all, err := t.kinds()
	if err != nil {
		return Kinds{}, err
	}
	because := c.because(t, all)
	affected := Kinds{All: len(because) == len(all), Because: because}
	for _, k := range all {
		if because[k.name] != "" {
			affected.Names = append(affected.Names, k.name)
		}
	}
	return affected, nil
}

// because returns a file that affects the guarantees of a kind, by the names of the kinds that are affected.
func (c Change) because(t *tree, all []kind) map[string]string {
	because := map[string]string{}
	for _, k := range all {
		if !c.Proved {
			because[k.name] = "no commit that passed"
		}
	}
	for _, file := range c.Files {
		if file == "Makefile" && !c.changesRecipe() {
			continue
		}
		for _, k := range t.affectedBy(file, all) {
			if because[k.name] == "" {
				because[k.name] = file
			}
		}
	}
	return because
}

// changesRecipe reports whether the Makefile runs the guarantees in another way.
func (c Change) changesRecipe() bool {
	diff, err := c.repo.git("diff", "--unified=0", "--no-ext-diff", "--no-color", c.Base, "--", "Makefile")
	return err != nil || recipe.MatchString(diff)
}

// kind is a kind of the operator.
type kind struct {
	name, lower string
	// deps are the folders of the packages that its controller and its webhooks are compiled from, and of the adapters of the ports
	// among them.
	deps map[string]bool
}

// kinds reads the operator's table.
func (t *tree) kinds() ([]kind, error) {
	text, err := os.ReadFile(filepath.Join(t.top, table))
	if err != nil {
		return nil, fmt.Errorf("reading the table of kinds: %w", err)
	}
	var all []kind
	for _, found := range row.FindAllStringSubmatch(string(text), -1) {
		k := kind{name: found[1], lower: strings.ToLower(found[1]), deps: map[string]bool{}}
		controller := t.packages["internal/controller/"+k.lower]
		if controller == nil {
			return nil, fmt.Errorf("%s has the kind %s, but there is no package internal/controller/%s", table, k.name, k.lower)
		}
		maps.Copy(k.deps, controller.deps)
		if webhook := t.packages["internal/webhook/"+k.lower]; webhook != nil {
			maps.Copy(k.deps, webhook.deps)
		}
		for folder := range t.packages {
			if parts := strings.Split(folder, "/"); len(parts) > 3 && k.deps[path.Join(parts[:3]...)] && parts[1] == "external" {
				k.deps[folder] = true
			}
		}
		all = append(all, k)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no line like %q", table, "Object: &batchv1alpha1.CronTab{},")
	}
	return all, nil
}

// affectedBy returns those of all kinds whose guarantees a file may affect.
func (t *tree) affectedBy(file string, all []kind) []kind {
	of := func(has func(kind) bool) []kind {
		return slices.DeleteFunc(slices.Clone(all), func(k kind) bool { return !has(k) })
	}
	source := t.compiled(file)
	own := of(func(k kind) bool { return k.owns(file) })
	users := of(func(k kind) bool { return k.deps[source] })
	switch {
	case forTests(file) && !strings.HasPrefix(file, guarantees+"/"):
		return nil
	case len(own) > 0:
		return own
	case under(frame, file):
		return all
	case len(users) > 0:
		return users
	case (source != "" || under(aside, file)) && !t.guaranteesUse(source):
		return nil
	}
	return all
}

// owns reports whether a file that is no Go package's is about the kind: its fixture, its sample, or a CRD of an API group of
// which it uses types.
func (k kind) owns(file string) bool {
	folder, name := path.Split(file)
	switch folder {
	case guarantees + "/":
		return name == k.lower+"_test.go" || annotatedFiles[file] == k.name
	case "config/samples/":
		return strings.HasSuffix(name, "_"+k.lower+".yaml")
	case "config/crd/bases/":
		group, _, _ := strings.Cut(name, ".")
		for dep := range k.deps {
			if strings.HasPrefix(dep, "api/"+group+"/") {
				return true
			}
		}
	}
	return false
}

// guaranteesUse reports whether the guarantees are compiled from the package in a folder.
func (t *tree) guaranteesUse(folder string) bool {
	suite := t.packages[guarantees]
	return suite == nil || suite.tested[folder]
}

// under reports whether a file is one of some, or in one of those that are folders.
func under(some []string, file string) bool {
	return slices.ContainsFunc(some, func(s string) bool { return file == s || strings.HasSuffix(s, "/") && strings.HasPrefix(file, s) })
}
