// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
)

func TestCheck(t *testing.T) {
	long := `{"pluginConfig": [{"name": "NodeAffinity", "args": {"x": "` + strings.Repeat("x", maxRaw) + `"}}]}`
	for name, c := range map[string]struct {
		spec *v1alpha1.SchedulerProfileSpec
		Scheduler
		want []string
	}{
		"all that may be":          {cases["everything"], Scheduler{Minor: 32}, nil},
		"leaderElection":           {spec(rawPart(`{"leaderElection": {}}`)), Scheduler{}, []string{"leaderElection is no field that may be set here; these are: plugins, pluginConfig"}},
		"schedulerName":            {spec(rawPart(`{"schedulerName": "default-scheduler"}`)), Scheduler{}, []string{"schedulerName is no field that may be set here; these are: plugins, pluginConfig"}},
		"profiles":                 {spec(rawPart(`{"profiles": [], "clientConnection": {}}`)), Scheduler{}, []string{"clientConnection is no field that may be set here; these are: plugins, pluginConfig"}},
		"another case":             {spec(rawPart(`{"Plugins": {}}`)), Scheduler{}, []string{"Plugins is no field that may be set here; these are: plugins, pluginConfig"}},
		"no object":                {spec(rawPart(`[]`)), Scheduler{}, []string{"it is no object: json: cannot unmarshal array into Go value of type map[string]interface {}"}},
		"two objects":              {spec(rawPart(`{} {}`)), Scheduler{}, []string{"something follows the object"}},
		"too long":                 {spec(rawPart(long)), Scheduler{}, []string{"it has 16447 bytes; at most 16384 are allowed"}},
		"plugins no object":        {spec(rawPart(`{"plugins": []}`)), Scheduler{}, []string{"plugins must be an object"}},
		"point no object":          {spec(rawPart(`{"plugins": {"score": 1}}`)), Scheduler{}, []string{"plugins.score must be an object"}},
		"set no list":              {spec(rawPart(`{"plugins": {"score": {"enabled": {}}}}`)), Scheduler{}, []string{"plugins.score.enabled must be a list"}},
		"plugin no object":         {spec(rawPart(`{"plugins": {"score": {"enabled": ["A"]}}}`)), Scheduler{}, []string{"plugins.score.enabled[0] must be an object"}},
		"a field of a set":         {spec(rawPart(`{"plugins": {"score": {"enable": []}}}`)), Scheduler{}, []string{"plugins.score.enable is no field that may be set here; these are: enabled, disabled"}},
		"a field of a plugin":      {spec(rawPart(`{"plugins": {"score": {"enabled": [{"name": "NodeAffinity", "wait": 1}]}}}`)), Scheduler{}, []string{"plugins.score.enabled[0].wait is no field that may be set here; these are: name, weight"}},
		"a name of a number":       {spec(rawPart(`{"pluginConfig": [{"name": 1}]}`)), Scheduler{}, []string{"pluginConfig[0].name must be the name of a plugin"}},
		"config no list":           {spec(rawPart(`{"pluginConfig": {}}`)), Scheduler{}, []string{"pluginConfig must be a list"}},
		"config no object":         {spec(rawPart(`{"pluginConfig": [null, 1]}`)), Scheduler{}, []string{"pluginConfig[0].name must be the name of a plugin"}},
		"a field of a config":      {spec(rawPart(`{"pluginConfig": [{"name": "NodeAffinity", "arg": {}}]}`)), Scheduler{}, []string{"pluginConfig[0].arg is no field that may be set here; these are: name, args"}},
		"args no object":           {spec(rawPart(`{"pluginConfig": [{"name": "NodeAffinity", "args": []}]}`)), Scheduler{}, []string{"pluginConfig[0].args must be an object"}},
		"a plugin of later":        {spec(rawPart(`{"pluginConfig": [{"name": "GangScheduling"}]}`)), Scheduler{Minor: 34}, []string{`pluginConfig[0].name: kube-scheduler 1.34 has no plugin "GangScheduling"; it has: DefaultBinder, DefaultPreemption, DynamicResources, ImageLocality, InterPodAffinity, NodeAffinity, NodeName, NodePorts, NodeResourcesBalancedAllocation, NodeResourcesFit, NodeUnschedulable, NodeVolumeLimits, PodTopologySpread, PrioritySort, SchedulingGates, TaintToleration, VolumeBinding, VolumeRestrictions, VolumeZone. Further ones of a build of your own belong into spec.pluginNames`}},
		"in its version":           {spec(rawPart(`{"pluginConfig": [{"name": "GangScheduling"}]}`)), Scheduler{Minor: 35}, nil},
		"a point of later":         {spec(rawPart(`{"plugins": {"placementScore": {}}}`)), Scheduler{Minor: 35}, []string{"plugins.placementScore is no field that may be set here; these are: bind, filter, multiPoint, permit, postBind, postFilter, preBind, preEnqueue, preFilter, preScore, queueSort, reserve, score"}},
		"ignored arguments":        {spec(rawPart(`{"pluginConfig": [{"name": "TaintToleration", "args": {"x": 1}}]}`)), Scheduler{Minor: 36}, []string{"pluginConfig[0].args: the plugin TaintToleration of kube-scheduler 1.36 takes no arguments and would ignore them"}},
		"arguments of later":       {spec(rawPart(`{"pluginConfig": [{"name": "DynamicResources", "args": {"x": 1}}]}`)), Scheduler{Minor: 33}, []string{"pluginConfig[0].args: the plugin DynamicResources of kube-scheduler 1.33 takes no arguments and would ignore them"}},
		"arguments of 1.34":        {spec(rawPart(`{"pluginConfig": [{"name": "DynamicResources", "args": {"x": 1}}]}`)), Scheduler{Minor: 34}, nil},
		"one of your own":          {spec(rawPart(`{"plugins": {"multiPoint": {"enabled": [{"name": "Coscheduling"}]}}, "pluginConfig": [{"name": "Coscheduling", "args": {"a": 1}}]}`)), Scheduler{Plugins: []string{"Coscheduling"}}, nil},
		"all disabled":             {spec(rawPart(`{"plugins": {"score": {"disabled": [{"name": "*"}]}}}`)), Scheduler{Minor: 36}, nil},
		"nodes twice":              {spec(labelKeys("a"), rawPart(affinity(`[]`))), Scheduler{}, []string{"pluginConfig[0] (NodeAffinity) is set by nodes, too; use one of them"}},
		"strategy twice":           {spec(packs, rawPart(`{"pluginConfig": [{"name": "ImageLocality"}, {"name": "NodeResourcesFit"}]}`)), Scheduler{}, []string{"pluginConfig[1] (NodeResourcesFit) is set by strategy and resources, too; use one of them"}},
		"resources twice":          {spec(resources, rawPart(`{"pluginConfig": [{"name": "NodeResourcesFit"}]}`)), Scheduler{}, []string{"pluginConfig[0] (NodeResourcesFit) is set by strategy and resources, too; use one of them"}},
		"spread twice":             {spec(spread, rawPart(constraint(`[]`))), Scheduler{}, []string{"pluginConfig[0] (PodTopologySpread) is set by spread, too; use one of them"}},
		"weights twice":            {spec(weights, rawPart(`{"plugins": {"score": {}}}`)), Scheduler{}, []string{"plugins.score is set by weights, too; use one of them"}},
		"preemption twice":         {spec(preempts(v1alpha1.Disabled), rawPart(`{"plugins": {"postFilter": {}}}`)), Scheduler{}, []string{"plugins.postFilter is set by preemption, too; use one of them"}},
		"preemption of 1.37":       {spec(preempts(v1alpha1.Disabled), rawPart(`{"plugins": {"podGroupPostFilter": {}}}`)), Scheduler{Minor: 37}, []string{"plugins.podGroupPostFilter is set by preemption, too; use one of them"}},
		"a control character":      {spec(rawPart(`{"pluginConfig": [{"name": "NodeAffinity", "args": {"a\u007f": 1}}]}`)), Scheduler{}, []string{"it cannot be written as YAML: yaml: control characters are not allowed"}},
		"a line of its own":        {spec(rawPart(`{"pluginConfig": [{"name": "NodeAffinity", "args": {"a": "b\u0085c"}}]}`)), Scheduler{}, []string{"it cannot be written as YAML: it has control characters, or << as a key"}},
		"a merge key":              {spec(rawPart(`{"pluginConfig": [{"name": "NodeAffinity", "args": {"<<": "x"}}]}`)), Scheduler{}, []string{"it cannot be written as YAML: error converting YAML to JSON: yaml: map merge requires map or sequence of maps as the value"}},
		"a merge":                  {spec(rawPart(`{"pluginConfig": [{"name": "NodeAffinity", "args": {"<<": {"a": 1}}}]}`)), Scheduler{}, []string{"it cannot be written as YAML: it has control characters, or << as a key"}},
		"an anchor":                {spec(rawPart(`{"pluginConfig": [{"name": "NodeAffinity", "args": {"&a": "*a", "!!int": "1"}}]}`)), Scheduler{}, nil},
		"a long key":               {spec(rawPart(`{"pluginConfig": [{"name": "NodeAffinity", "args": {"` + strings.Repeat("k", 1025) + `": 1}}]}`)), Scheduler{}, []string{"it cannot be written as YAML: yaml: did not find expected ',' or '}'"}},
		"a large number":           {spec(rawPart(`{"pluginConfig": [{"name": "NodeAffinity", "args": {"a": 1e400}}]}`)), Scheduler{}, []string{"it cannot be written as YAML: json: cannot unmarshal number 1e400 into Go value of type float64"}},
		"deep":                     {spec(rawPart(`{"pluginConfig": [{"name": "NodeAffinity", "args": ` + strings.Repeat(`{"a":`, 28) + "[]" + strings.Repeat("}", 28) + `}]}`)), Scheduler{}, nil},
		"too deep":                 {spec(rawPart(`{"pluginConfig": [{"name": "NodeAffinity", "args": ` + strings.Repeat(`{"a":`, 2600) + "1" + strings.Repeat("}", 2600) + `}]}`)), Scheduler{}, []string{"it has more than 32 levels of objects and lists"}},
		"nodes off":                {spec(labelKeys("a"), rawPart(`{"plugins": {"multiPoint": {"disabled": [{"name": "NodeAffinity"}]}}}`)), Scheduler{}, []string{"plugins switches off NodeAffinity at filter, so that nodes would be ignored; leave it on, or remove nodes"}},
		"nodes off, too":           {spec(labelKeys("a"), rawPart(`{"plugins": {"multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": "DefaultBinder"}]}}}`)), Scheduler{}, []string{"plugins switches off NodeAffinity at filter, so that nodes would be ignored; leave it on, or remove nodes"}},
		"filters off":              {spec(labelKeys("a"), rawPart(`{"plugins": {"multiPoint": {"enabled": [{"name": "NodeAffinity"}]}, "filter": {"disabled": [{"name": "*"}]}}}`)), Scheduler{}, []string{"plugins switches off NodeAffinity at filter, so that nodes would be ignored; leave it on, or remove nodes"}},
		"all but nodes off":        {spec(labelKeys("a"), rawPart(`{"plugins": {"filter": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeAffinity"}]}}}`)), Scheduler{}, nil},
		"nodes alone":              {spec(labelKeys("a"), rawPart(`{"plugins": {"multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeAffinity"}]}, "score": {"disabled": [{"name": "*"}]}}}`)), Scheduler{}, nil},
		"strategy off":             {spec(packs, rawPart(`{"plugins": {"score": {"disabled": [{"name": "NodeResourcesFit"}]}}}`)), Scheduler{}, []string{"plugins switches off NodeResourcesFit at score, so that strategy and resources would be ignored; leave it on, or remove strategy and resources"}},
		"strategy does not filter": {spec(packs, rawPart(`{"plugins": {"filter": {"disabled": [{"name": "NodeResourcesFit"}]}}}`)), Scheduler{}, nil},
		"spread off":               {spec(spread, rawPart(`{"plugins": {"filter": {"disabled": [{"name": "PodTopologySpread"}]}}}`)), Scheduler{}, []string{"plugins switches off PodTopologySpread at filter, so that spread would be ignored; leave it on, or remove spread"}},
		"soft spread off":          {spec(spread, rawPart(`{"plugins": {"score": {"disabled": [{"name": "PodTopologySpread"}]}}}`)), Scheduler{}, []string{"plugins switches off PodTopologySpread at score, so that spread would be ignored; leave it on, or remove spread"}},
		"preemption is enabled":    {spec(preempts(v1alpha1.Enabled), rawPart(`{"plugins": {"postFilter": {}}}`)), Scheduler{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			for _, w := range c.want {
				want = append(want, "spec.profiles[0].raw: "+w)
			}
			if diff := cmp.Diff(want, Check(c.spec, c.Scheduler)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if _, err := Config(c.spec, lease, c.Scheduler); (err != nil) != (want != nil) {
				t.Errorf("it is rendered: %v", err)
			}
		})
	}
}

// TestCheckSize: the API server takes a ConfigMap with every configuration that is let through.
func TestCheckSize(t *testing.T) {
	all, wide := &v1alpha1.SchedulerProfileSpec{}, strings.Repeat("[", 25)+"1"+strings.Repeat(",1", 8000)+strings.Repeat("]", 25)
	for i := range 8 {
		p := spec(expressions, rawPart(`{"pluginConfig": [{"name": "InterPodAffinity", "args": {"a": `+wide+`}}]}`)).Profiles[0]
		p.SchedulerName = fmt.Sprint("s", i)
		all.Profiles = append(all.Profiles, p)
	}
	problems := Check(all, Scheduler{})
	if len(problems) != 1 || !strings.Contains(problems[0], "at most 1044480 fit into a ConfigMap: use fewer profiles, or smaller raw parts") {
		t.Errorf("%.200q", problems)
	}
	all.Profiles = all.Profiles[:2]
	if problems := Check(all, Scheduler{}); len(problems) > 0 {
		t.Errorf("%.200q", problems)
	}
}

func TestOf(t *testing.T) {
	own := &v1alpha1.SchedulerProfileSpec{Image: "registry.acme.com/scheduler:v1", PluginNames: []string{"Coscheduling"}}
	if s := Of(own, 36); s.Minor != 0 || len(s.Plugins) != 1 {
		t.Errorf("of an image of your own: %v", s)
	}
	if s := Of(&v1alpha1.SchedulerProfileSpec{PluginNames: []string{"Coscheduling"}}, 36); s.Minor != 36 || len(s.Plugins) != 0 {
		t.Errorf("of the operator's image: %v", s)
	}
}

// FuzzRaw: whatever the raw part is, it is rejected, or the configuration has the given Lease and scheduler names, and raw's content
// as it is.
func FuzzRaw(f *testing.F) {
	for _, seed := range []string{
		rest, `{}`, `null`, ``, `{"leaderElection": {"resourceName": "kube-scheduler"}}`, `{"schedulerName": "default-scheduler"}`,
		`{"plugins": {"score": {"enabled": [{"name": "NodeAffinity", "weight": 1e3}]}}}`, `{"pluginConfig": [null]}`, `{"plugins": {"score": null}}`,
		affinity(`[{"matchExpressions": [{"key": "\u0000\u2028: y", "operator": "Gt", "values": ["- |\n  a"]}]}]`),
		`{"pluginConfig": [{"name": "NodeAffinity", "args": {"a": 18446744073709551616, "b": 1.50, "c": -0, "d": 1e400}}]}`,
	} {
		f.Add([]byte(seed), uint8(36))
	}
	f.Fuzz(func(t *testing.T, given []byte, minor uint8) {
		spec, s := spec(labelKeys("selectable"), rawPart(string(given))), Scheduler{Minor: int(minor) % 48}
		problems := Check(spec, s)
		text, err := Config(spec, lease, s)
		if (err != nil) != (len(problems) > 0) {
			t.Fatalf("checked: %q, rendered: %v", problems, err)
		}
		if err != nil {
			return
		}
		var config object
		if err := yaml.UnmarshalStrict([]byte(text), &config); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		checkFixed(t, config, text)
		checkKept(t, given, config)
	})
}

func checkFixed(t *testing.T, config object, text string) {
	t.Helper()
	elects := config["leaderElection"].(object)
	profiles := config["profiles"].(list)
	if len(config) != 4 || elects["resourceName"] != lease.Name || elects["resourceNamespace"] != lease.Namespace || elects["leaderElect"] != true || len(elects) != 3 {
		t.Fatalf("leader election is changed:\n%s", text)
	}
	if len(profiles) != 1 || profiles[0].(object)["schedulerName"] != "gpu" {
		t.Fatalf("the profiles are changed:\n%s", text)
	}
	var requires bool
	for _, c := range profiles[0].(object)["pluginConfig"].(list) {
		requires = requires || cmp.Equal(c, any(object{"name": nodeAffinity, "args": typedArgs(&spec(labelKeys("selectable")).Profiles[0])[nodeAffinity]}))
	}
	if !requires {
		t.Fatalf("the rule on nodes is lost:\n%s", text)
	}
}

// checkKept compares what was given with what is rendered.
func checkKept(t *testing.T, given []byte, config object) {
	t.Helper()
	var asked struct {
		Plugins      any
		PluginConfig []any
	}
	if len(given) == 0 || !utf8.Valid(given) {
		return
	}
	if err := json.Unmarshal(given, &asked); err != nil {
		return // for instance a number that is too large for Go
	}
	p := config["profiles"].(list)[0].(object)
	if points, is := asked.Plugins.(object); is && len(points) > 0 && !cmp.Equal(asked.Plugins, p["plugins"]) {
		t.Fatalf("plugins, -asked +got:\n%s", cmp.Diff(asked.Plugins, p["plugins"]))
	}
	got := p["pluginConfig"].(list)
	for i, c := range asked.PluginConfig {
		if !cmp.Equal(c, got[i]) {
			t.Fatalf("pluginConfig[%d], -asked +got:\n%s", i, cmp.Diff(c, got[i]))
		}
	}
}
