// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
)

// pinned is the minor version of the kube-scheduler in bin/.
const pinned = 36

func schedulerBinary() string {
	return filepath.Join(cmp.Or(os.Getenv("KUBEBUILDER_ASSETS"), testenv.RepoFile("bin")), "kube-scheduler")
}

// lastError is the error with which kube-scheduler ends, as its log has it.
var lastError = regexp.MustCompile(`"command failed" err=("(?:[^"\\]|\\.)*")`)

// runScheduler has kube-scheduler read a configuration, without a cluster. It returns what it makes of it, or why it does not start.
func runScheduler(t *testing.T, config string) (effective object, refusal string) {
	t.Helper()
	folder := t.TempDir()
	given, written := filepath.Join(folder, "given.yaml"), filepath.Join(folder, "written.yaml")
	if err := os.WriteFile(given, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	// Without a port: another test's scheduler would have it.
	output, err := exec.CommandContext(ctx, schedulerBinary(), "--config="+given, "--master=http://127.0.0.1:1", "--secure-port=0",
		"--write-config-to="+written).CombinedOutput()
	if err != nil {
		found := lastError.FindSubmatch(output)
		if found == nil {
			t.Fatalf("%v (make test-tools builds it)\n%s", err, output)
		}
		if refusal, err = strconv.Unquote(string(found[1])); err != nil {
			t.Fatal(err)
		}
		return nil, refusal
	}
	text, err := os.ReadFile(written)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &effective); err != nil {
		t.Fatal(err)
	}
	return effective, ""
}

// TestVersion: the tables for the version of the binary are tried below with that very version.
func TestVersion(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), schedulerBinary(), "--version").CombinedOutput()
	if err != nil || !strings.Contains(string(output), fmt.Sprintf("v1.%d.", pinned)) {
		t.Fatalf("%s: %v", output, err)
	}
}

// TestSchedulerTakesEveryCase: kube-scheduler starts with every configuration, and has all that is in it. A process takes long to
// start, so all cases of a version are the profiles of one scheduler.
func TestSchedulerTakesEveryCase(t *testing.T) {
	for _, s := range []Scheduler{{Minor: oldest}, {Minor: pinned}, {}} {
		t.Run(s.String(), func(t *testing.T) {
			all := &v1alpha1.SchedulerProfileSpec{}
			for _, name := range slices.Sorted(maps.Keys(cases)) {
				for i, p := range cases[name].Profiles {
					p.SchedulerName = fmt.Sprintf("%s-%d", name, i)
					all.Profiles = append(all.Profiles, p)
				}
			}
			text := render1(t, all, s)
			effective, refusal := runScheduler(t, text)
			if refusal != "" {
				t.Fatalf("%s\n%s", refusal, text)
			}
			var asked object
			if err := yaml.Unmarshal([]byte(text), &asked); err != nil {
				t.Fatal(err)
			}
			for _, missing := range lacking("", asked, effective) {
				t.Errorf("not in effect: %s", missing)
			}
		})
	}
}

// lacking returns what one tree has and another has not. Elements of lists are the same if they have the same name.
func lacking(path string, want, got any) (missing []string) {
	switch w := want.(type) {
	case object:
		g, _ := got.(object)
		for k, v := range w {
			missing = append(missing, lacking(path+"."+k, v, g[k])...)
		}
	case list:
		g, _ := got.(list)
		for i, v := range w {
			missing = append(missing, lacking(fmt.Sprintf("%s[%d]", path, i), v, matching(v, i, g))...)
		}
	case nil: // it leaves the default
	default:
		if fmt.Sprint(want) != fmt.Sprint(got) {
			missing = append(missing, fmt.Sprintf("%s: %v (but %v)", path, want, got))
		}
	}
	return missing
}

func matching(want any, i int, all list) any {
	for _, key := range []string{"name", "schedulerName"} {
		if w, is := want.(object); is && w[key] != nil {
			for _, g := range all {
				if g.(object)[key] == w[key] {
					return g
				}
			}
			return nil
		}
	}
	if i < len(all) {
		return all[i]
	}
	return nil
}

// TestPluginNames: the scheduler has the plugins, arguments and extension points of the tables for its version, and none that come
// later.
func TestPluginNames(t *testing.T) {
	s, later := Scheduler{Minor: pinned}, Scheduler{}
	var enabled, args, unknown []string
	for _, name := range s.plugins() {
		enabled = append(enabled, `{"name": "`+name+`"}`)
		if s.takesArgs(name) {
			unknown = append(unknown, name)
		}
		args = append(args, `{"name": "`+name+`", "args": {"no-such": 1}}`)
	}
	if _, refusal := runScheduler(t, configOf(`{"schedulerName": "a", "plugins": {"multiPoint": {"enabled": [`+strings.Join(enabled, ", ")+`]}}}`)); refusal != "" {
		t.Errorf("one of the plugins does not exist: %s", refusal)
	}
	_, refusal := runScheduler(t, configOf(`{"schedulerName": "a", "pluginConfig": [`+strings.Join(args, ", ")+`]}`))
	var takers []string
	for _, found := range regexp.MustCompile(`decoding args for plugin (\w+): strict decoding error: unknown field "no-such"`).FindAllStringSubmatch(refusal, -1) {
		takers = append(takers, found[1])
	}
	if !slices.Equal(takers, unknown) {
		t.Errorf("these take arguments: %q, the table has %q: %s", takers, unknown, refusal)
	}
	for _, name := range later.plugins() {
		if slices.Contains(s.plugins(), name) {
			continue
		}
		if _, refusal := runScheduler(t, configOf(`{"schedulerName": "a", "plugins": {"multiPoint": {"enabled": [{"name": "`+name+`"}]}}}`)); !strings.Contains(refusal, "does not exist") {
			t.Errorf("%s exists: %q", name, refusal)
		}
	}
	var points []string
	for _, point := range later.points() {
		points = append(points, `"`+point+`": {}`)
	}
	_, refusal = runScheduler(t, configOf(`{"schedulerName": "a", "plugins": {`+strings.Join(points, ", ")+`}}`))
	if want := `strict decoding error: unknown field "profiles[0].plugins.podGroupPostFilter"`; refusal != want {
		t.Errorf("of all extension points: %q, want %q", refusal, want)
	}
}

// configOf is a configuration of one profile.
func configOf(profile string) string {
	return `{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [` + profile + `],
		"leaderElection": {"resourceName": "a", "resourceNamespace": "b"}}`
}

func affinity(terms string) string {
	return `{"pluginConfig": [{"name": "NodeAffinity", "args": {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": ` +
		terms + `}}}}]}`
}

func constraint(constraints string) string {
	return `{"pluginConfig": [{"name": "PodTopologySpread", "args": {"defaultingType": "List", "defaultConstraints": ` + constraints + `}}]}`
}

// TestBadRaw has for bad raw parts who notices: we do (checked), or kube-scheduler, which does not start (refusal), or nobody (both
// empty). What kube-scheduler says is exact, so that a change in a new version is seen.
func TestBadRaw(t *testing.T) {
	for raw, want := range map[string]struct{ checked, refusal string }{
		// kube-scheduler ignores the first four, and places pods without the rule.
		`{"pluginConfig": [{"name": "NodeAfinity", "args": {"addedAffinity": {}}}]}`: {
			checked: `pluginConfig[0].name: kube-scheduler 1.36 has no plugin "NodeAfinity"; it has: DefaultBinder, `,
		},
		`{"plugins": {"score": {"disabled": [{"name": "Imagelocality"}]}}}`: {
			checked: `plugins.score.disabled[0].name: kube-scheduler 1.36 has no plugin "Imagelocality"`,
		},
		`{"pluginConfig": [{"name": "TaintToleration", "args": {"x": 1}}]}`: {
			checked: "pluginConfig[0].args: the plugin TaintToleration of kube-scheduler 1.36 takes no arguments and would ignore them",
		},
		`{"plugins": {"score": {"disabled": [{}]}}}`: {checked: "plugins.score.disabled[0].name must be the name of a plugin"},
		// It refuses these as well.
		`{"plugins": {"score": {"enabled": [{"name": "Foo"}]}}}`: {
			checked: `plugins.score.enabled[0].name: kube-scheduler 1.36 has no plugin "Foo"`,
			refusal: `initializing profiles: creating profile for scheduler name a: ScorePlugin "Foo" does not exist`,
		},
		`{"plugins": {"scores": {}}}`: {
			checked: "plugins.scores is no field that may be set here; these are: bind, filter, ",
			refusal: `strict decoding error: unknown field "profiles[0].plugins.scores"`,
		},
		`{"plugins": {"score": {"enabled": [{"name": "*"}]}}}`: {
			checked: `plugins.score.enabled[0].name: kube-scheduler 1.36 has no plugin "*"`,
			refusal: `initializing profiles: creating profile for scheduler name a: ScorePlugin "*" does not exist`,
		},
		`{"plugins": {"podGroupPostFilter": {}}}`: {
			checked: "plugins.podGroupPostFilter is no field that may be set here",
			refusal: `strict decoding error: unknown field "profiles[0].plugins.podGroupPostFilter"`,
		},
		// These it alone refuses.
		`{"pluginConfig": [{"name": "NodeAffinity", "args": {"addedAfinity": {}}}]}`: {refusal: `strict decoding error: decoding .profiles[0].pluginConfig[0]: ` +
			`strict decoding error: decoding args for plugin NodeAffinity: strict decoding error: unknown field "addedAfinity"`},
		`{"pluginConfig": [{"name": "NodeAffinity", "args": {"kind": "NodeAfinityArgs", "apiVersion": "kubescheduler.config.k8s.io/v1"}}]}`: {
			refusal: `decoding .profiles[0].pluginConfig[0]: decoding args for plugin NodeAffinity: no kind "NodeAfinityArgs" is registered for ` +
				`version "kubescheduler.config.k8s.io/v1" in scheme "pkg/runtime/scheme.go:111"`,
		},
		affinity(`[{"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1", "2"]}]}]`): {
			refusal: `profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].` +
				`matchExpressions[0].values: Invalid value: ["1","2"]: for 'Gt', 'Lt' operators, exactly one value is required`,
		},
		affinity(`[{"matchExpressions": [{"key": "a", "operator": "Lt", "values": ["-1"]}]}]`): {
			refusal: `profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].` +
				`matchExpressions[0].values[0][a]: Invalid value: "-1": a valid label must be an empty string or consist of alphanumeric characters, ` +
				`'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for ` +
				`validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
		},
		affinity(`[{"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["1"]}]}]`): {
			refusal: `profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].` +
				`matchExpressions[0].values: Invalid value: ["1"]: values set must be empty for exists and does not exist`,
		},
		constraint(`[{"maxSkew": 0, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]`): {
			refusal: `profiles[0].pluginConfig[0].args.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)`,
		},
		constraint(`[{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}]`): {
			refusal: `profiles[0].pluginConfig[0].args.defaultConstraints[0].labelSelector: Forbidden: constraint must not define a selector, as they deduced for each pod`,
		},
		`{"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 101}]}}}]}`: {
			refusal: `initializing profiles: creating profile for scheduler name a: initializing plugin "NodeResourcesFit": scoringStrategy.resources[0].weight: ` +
				`Invalid value: 101: resource weight of cpu not in valid range (0, 100]`,
		},
		`{"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"resources": [{"name": "cpu", "weight": 1}]}}}]}`: {
			refusal: `initializing profiles: creating profile for scheduler name a: initializing plugin "NodeResourcesFit": scoringStrategy.type: ` +
				`Unsupported value: "": supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"`,
		},
		`{"pluginConfig": [{"name": "ImageLocality"}, {"name": "ImageLocality"}]}`: {
			refusal: `profiles[0].pluginConfig[1]: Duplicate value: "ImageLocality"`,
		},
		`{"plugins": {"score": {"enabled": [{"name": "NodePorts"}]}}}`: {
			refusal: `initializing profiles: creating profile for scheduler name a: plugin "NodePorts" does not extend ScorePlugin plugin`,
		},
		`{"plugins": {"score": {"enabled": [{"name": "ImageLocality", "weight": -1}]}}}`: {
			refusal: `initializing profiles: creating profile for scheduler name a: score plugins: total score of Score plugins could overflow`,
		},
		`{"plugins": {"bind": {"disabled": [{"name": "*"}]}}}`: {
			refusal: `initializing profiles: creating profile for scheduler name a: at least one bind plugin is needed for profile with scheduler name "a"`,
		},
		`{"plugins": {"queueSort": {"disabled": [{"name": "*"}]}}}`: {
			refusal: `initializing profiles: creating profile for scheduler name a: only one queue sort plugin required for profile with scheduler name "a", but got 0`,
		},
		// And these nobody, although no node meets the first two.
		affinity(`[]`):   {},
		affinity(`[{}]`): {},
		constraint(`[{"maxSkew": 1, "minDomains": 3, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]`): {},
		`{"plugins": {"score": {"enabled": [{"name": "ImageLocality", "weight": 2147483647}]}}}`:                      {},
		`{"plugins": {"multiPoint": {"enabled": [{"name": "GangScheduling"}]}}}`:                                      {},
		`{"pluginConfig": [{"name": "NodeAffinity", "args": null}]}`:                                                  {},
	} {
		t.Run(raw, func(t *testing.T) {
			found := strings.Join(Check(spec(rawPart(raw)), Scheduler{Minor: pinned}), "\n")
			if want.checked == "" && found != "" || !strings.HasPrefix(found, strings.TrimSuffix("spec.profiles[0].raw: "+want.checked, "spec.profiles[0].raw: ")) {
				t.Errorf("checked: %q, want %q", found, want.checked)
			}
			if _, refusal := runScheduler(t, configOf(`{"schedulerName": "a", `+raw[1:])); refusal != want.refusal {
				t.Errorf("kube-scheduler: %q, want %q", refusal, want.refusal)
			}
		})
	}
}

// TestBadConfiguration has what is wrong outside of the raw parts, which the schema and the renderer prevent.
func TestBadConfiguration(t *testing.T) {
	const good = `{"schedulerName": "a"}`
	for config, want := range map[string]string{
		configOf(good): "",
		strings.Replace(configOf(good), "k8s.io/v1", "k8s.io/v1beta3", 1): `no kind "KubeSchedulerConfiguration" is registered for version ` +
			`"kubescheduler.config.k8s.io/v1beta3" in scheme "pkg/runtime/scheme.go:111"`,
		strings.Replace(configOf(good), `"profiles"`, `"foo": 1, "profiles"`, 1): `strict decoding error: unknown field "foo"`,
		configOf(good + ", " + good):                                        `profiles[1].schedulerName: Duplicate value: {}`,
		configOf(`{"schedulerName": ""}`):                                   `profiles[0].schedulerName: Required value`,
		configOf(`{"schedulerName": "a", "percentageOfNodesToScore": 101}`): `profiles[0].percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]`,
		configOf(good + `, {"schedulerName": "b", "plugins": {"queueSort": {"disabled": [{"name": "PrioritySort"}]}}}`): `profiles[1].plugins.queueSort: Invalid value: {"Enabled":null,"Disabled":[{"Name":"PrioritySort","Weight":0}]}: must be the same for all profiles`,
	} {
		if _, refusal := runScheduler(t, config); refusal != want {
			t.Errorf("%s: %q, want %q", config, refusal, want)
		}
	}
}

// TestDefaultLease: without our Lease, a scheduler would use that of the default one. That is why it is always rendered.
func TestDefaultLease(t *testing.T) {
	effective, _ := runScheduler(t, `{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}`)
	if name := effective["leaderElection"].(object)["resourceName"]; name != "kube-scheduler" {
		t.Errorf("the default name is %q", name)
	}
	effective, refusal := runScheduler(t, render1(t, &v1alpha1.SchedulerProfileSpec{Profiles: []v1alpha1.Profile{
		{SchedulerName: "a", Raw: &runtime.RawExtension{Raw: []byte(rest)}},
	}}, Scheduler{Minor: pinned}))
	if refusal != "" {
		t.Fatal(refusal)
	}
	got := effective["leaderElection"].(object)
	if got["resourceName"] != lease.Name || got["resourceNamespace"] != lease.Namespace || got["leaderElect"] != true {
		t.Errorf("leader election is %v", got)
	}
}
