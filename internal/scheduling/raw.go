// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
)

// maxRaw is how large the raw part of a profile may be.
const maxRaw = 16 << 10

// maxDepth is how many levels of objects and lists it may have. The deepest arguments of kube-scheduler need 11.
const maxDepth = 32

// maxConfig is how large the configuration may be in a ConfigMap, of which the API server takes 1 MiB.
const maxConfig = 1<<20 - 4<<10

// raw is the raw part of a profile.
type raw struct {
	plugins      object
	pluginConfig list
}

// Check returns what is wrong with the raw parts of the profiles, sorted: fields that do not exist, plugins that the scheduler does
// not have, and what typed fields set as well. kube-scheduler ignores the configuration of a plugin that it does not have, and
// places pods without it. All else is left to kube-scheduler, which does not start with it.
func Check(spec *v1alpha1.SchedulerProfileSpec, s Scheduler) (problems []string) {
	for i := range spec.Profiles {
		p := &spec.Profiles[i]
		r, err := parse(p.Raw, s)
		found := clashes(p, r, s)
		if err != nil {
			found = []string{err.Error()}
		}
		for _, f := range found {
			problems = append(problems, fmt.Sprintf("spec.profiles[%d].raw: %s", i, f))
		}
	}
	if len(problems) > 0 {
		return problems
	}
	text, err := Config(spec, Lease{}, s)
	switch {
	case err != nil:
		return []string{"spec.profiles: " + err.Error()}
	case len(text) > maxConfig:
		return []string{fmt.Sprintf("spec.profiles: the configuration has %d bytes; at most %d fit into a ConfigMap: use fewer profiles, or "+
			"smaller raw parts", len(text), maxConfig)}
	}
	return nil
}

// parse reads the raw part of a profile strictly.
func parse(given *runtime.RawExtension, s Scheduler) (out raw, err error) {
	if given == nil || len(given.Raw) == 0 {
		return raw{}, nil
	}
	if len(given.Raw) > maxRaw {
		return raw{}, fmt.Errorf("it has %d bytes; at most %d are allowed", len(given.Raw), maxRaw)
	}
	fields, err := decode(given.Raw)
	if err == nil {
		err = canBeWritten(fields)
	}
	if err != nil {
		return raw{}, err
	}
	if err := only(fields, "", "plugins", "pluginConfig"); err != nil {
		return raw{}, err
	}
	if out.plugins, err = s.checkPlugins(fields["plugins"]); err != nil {
		return raw{}, err
	}
	out.pluginConfig, err = s.checkConfig(fields["pluginConfig"])
	return out, err
}

// decode reads an object, with numbers as they are written.
func decode(text []byte) (fields object, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		return nil, fmt.Errorf("it is no object: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object")
	}
	return fields, nil
}

// canBeWritten fails if the configuration, which is YAML, could not have an object as it is: YAML has neither some control characters nor
// long keys, and indents what is nested.
func canBeWritten(fields object) error {
	if nested(fields, maxDepth) {
		return fmt.Errorf("it has more than %d levels of objects and lists", maxDepth)
	}
	var given, written object
	text, err := json.Marshal(fields)
	if err == nil {
		err = json.Unmarshal(text, &given)
	}
	if err == nil {
		text, err = yaml.Marshal(fields)
	}
	if err == nil {
		err = yaml.Unmarshal(text, &written)
	}
	switch {
	case err != nil:
		return fmt.Errorf("it cannot be written as YAML: %w", err)
	case !reflect.DeepEqual(given, written):
		return errors.New("it cannot be written as YAML: it has control characters, or << as a key")
	}
	return nil
}

// nested reports whether a value has more than some levels of objects and lists.
func nested(value any, levels int) bool {
	deeper := func(v any) bool { return nested(v, levels-1) }
	switch v := value.(type) {
	case object:
		return levels == 0 || slices.ContainsFunc(slices.Collect(maps.Values(v)), deeper)
	case list:
		return levels == 0 || slices.ContainsFunc(v, deeper)
	}
	return false
}

// only fails if an object has other fields than these.
func only(fields object, path string, allowed ...string) error {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(allowed, name) {
			return fmt.Errorf("%s is no field that may be set here; these are: %s", join(path, name), strings.Join(allowed, ", "))
		}
	}
	return nil
}

func join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

// checkPlugins checks which plugins are enabled and disabled at which extension points.
func (s Scheduler) checkPlugins(given any) (object, error) {
	points, err := as[object](given, "plugins", "an object")
	if err != nil {
		return nil, err
	}
	if err := only(points, "plugins", s.points()...); err != nil {
		return nil, err
	}
	for _, point := range slices.Sorted(maps.Keys(points)) {
		path := join("plugins", point)
		sets, err := as[object](points[point], path, "an object")
		if err != nil {
			return nil, err
		}
		if err := only(sets, path, "enabled", "disabled"); err != nil {
			return nil, err
		}
		for _, set := range slices.Sorted(maps.Keys(sets)) {
			if err := s.checkSet(sets[set], join(path, set), set == "disabled"); err != nil {
				return nil, err
			}
		}
	}
	return points, nil
}

// checkSet checks a list of plugins. Only where plugins are disabled, * stands for all.
func (s Scheduler) checkSet(given any, path string, star bool) error {
	all, err := as[list](given, path, "a list")
	if err != nil {
		return err
	}
	for i, item := range all {
		at := fmt.Sprintf("%s[%d]", path, i)
		plugin, err := as[object](item, at, "an object")
		if err != nil {
			return err
		}
		if err := only(plugin, at, "name", "weight"); err != nil {
			return err
		}
		if name := plugin["name"]; star && name == "*" {
			continue
		}
		if err := s.checkName(plugin["name"], join(at, "name")); err != nil {
			return err
		}
	}
	return nil
}

// checkConfig checks the arguments of plugins.
func (s Scheduler) checkConfig(given any) (list, error) {
	all, err := as[list](given, "pluginConfig", "a list")
	if err != nil {
		return nil, err
	}
	for i, item := range all {
		at := fmt.Sprintf("pluginConfig[%d]", i)
		config, err := as[object](item, at, "an object")
		if err != nil {
			return nil, err
		}
		if err := only(config, at, "name", "args"); err != nil {
			return nil, err
		}
		if err := s.checkName(config["name"], join(at, "name")); err != nil {
			return nil, err
		}
		if err := s.checkArgs(config, at); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// checkArgs checks the arguments of a plugin as far as kube-scheduler would ignore what is wrong.
func (s Scheduler) checkArgs(config object, at string) error {
	args, err := as[object](config["args"], join(at, "args"), "an object")
	if name, _ := config["name"].(string); err == nil && len(args) > 0 && !s.takesArgs(name) {
		return fmt.Errorf("%s: the plugin %s of %s takes no arguments and would ignore them", join(at, "args"), name, s)
	}
	return err
}

// checkName checks the name of a plugin.
func (s Scheduler) checkName(given any, path string) error {
	name, is := given.(string)
	if !is {
		return fmt.Errorf("%s must be the name of a plugin", path)
	}
	if !slices.Contains(s.plugins(), name) {
		return fmt.Errorf("%s: %s has no plugin %q; it has: %s. Further ones of a build of your own belong into spec.pluginNames", path, s,
			name, strings.Join(s.plugins(), ", "))
	}
	return nil
}

// String names the scheduler in messages.
func (s Scheduler) String() string {
	if s.Minor == 0 {
		return "kube-scheduler"
	}
	return fmt.Sprintf("kube-scheduler 1.%d", s.Minor)
}

// as returns a value as a type; the zero value for one that is missing.
func as[T any](given any, path, what string) (out T, err error) {
	if given == nil {
		return out, nil
	}
	out, is := given.(T)
	if !is {
		return out, fmt.Errorf("%s must be %s", path, what)
	}
	return out, nil
}

// clashes returns what the raw part sets although a typed field does, too, and the plugins of such fields that it switches off.
func clashes(p *v1alpha1.Profile, r raw, s Scheduler) (problems []string) {
	byPoint := map[string]string{score: "weights", postFilter: "preemption", podGroupPostFilter: "preemption"}
	for _, point := range slices.Sorted(maps.Keys(typedPoints(p, s))) {
		if _, both := r.plugins[point]; both {
			problems = append(problems, fmt.Sprintf("plugins.%s is set by %s, too; use one of them", point, byPoint[point]))
		}
	}
	byPlugin := map[string]string{nodeAffinity: "nodes", nodeResourcesFit: "strategy and resources", podTopologySpread: "spread"}
	args := typedArgs(p)
	for i, config := range r.pluginConfig {
		name, _ := config.(object)["name"].(string)
		if _, both := args[name]; both {
			problems = append(problems, fmt.Sprintf("pluginConfig[%d] (%s) is set by %s, too; use one of them", i, name, byPlugin[name]))
		}
	}
	for _, plugin := range slices.Sorted(maps.Keys(args)) {
		for _, point := range acts(p, plugin) {
			if !r.runs(plugin, point) && len(problems) == 0 {
				problems = append(problems, fmt.Sprintf("plugins switches off %s at %s, so that %s would be ignored; leave it on, or remove %s",
					plugin, point, byPlugin[plugin], byPlugin[plugin]))
			}
		}
	}
	return problems
}

// acts returns the extension points at which a plugin does what the typed fields ask of it.
func acts(p *v1alpha1.Profile, plugin string) (points []string) {
	switch plugin {
	case nodeAffinity:
		return []string{filter}
	case nodeResourcesFit:
		return []string{score}
	}
	for _, s := range p.Spread {
		if s.WhenUnsatisfiable == corev1.DoNotSchedule {
			points = append(points, filter)
		} else {
			points = append(points, score)
		}
	}
	return points
}

// runs reports whether a plugin of kube-scheduler's default runs at an extension point. What is said of a point comes before what
// multiPoint says of all.
func (r raw) runs(plugin, point string) bool {
	switch {
	case r.names(point, "enabled", plugin):
		return true
	case r.names(point, "disabled", plugin, "*"):
		return false
	}
	return r.names(multiPoint, "enabled", plugin) || !r.names(multiPoint, "disabled", plugin, "*")
}

// names reports whether a set of an extension point has one of these names.
func (r raw) names(point, set string, names ...string) bool {
	sets, _ := r.plugins[point].(object)
	all, _ := sets[set].(list)
	return slices.ContainsFunc(all, func(item any) bool {
		name, _ := item.(object)["name"].(string)
		return slices.Contains(names, name)
	})
}
