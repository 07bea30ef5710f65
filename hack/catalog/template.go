// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"

	"golang.org/x/mod/semver"
	"sigs.k8s.io/yaml"
)

const (
	schemaTemplate = "olm.template.basic"
	schemaPackage  = "olm.package"
	schemaChannel  = "olm.channel"
	schemaBundle   = "olm.bundle"
)

// blob is an object of a catalog. Only the fields that are worked on have names here.
type blob map[string]any

func (b blob) text(field string) string {
	text, _ := b[field].(string)
	return text
}

// template is a basic template: a catalog whose bundles are named by their images only.
type template struct {
	Schema  string `json:"schema"`
	Entries []blob `json:"entries"`
}

// channel is what a channel lists.
type channel struct {
	Schema  string         `json:"schema"`
	Package string         `json:"package"`
	Name    string         `json:"name"`
	Entries []channelEntry `json:"entries"`
}

// channelEntry is a version in a channel: what it replaces, and from which versions one may go to it at once.
type channelEntry struct {
	Name      string   `json:"name"`
	Replaces  string   `json:"replaces,omitempty"`
	Skips     []string `json:"skips,omitempty"`
	SkipRange string   `json:"skipRange,omitempty"`
}

func readTemplate(file string) (*template, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var t template
	if err := yaml.UnmarshalStrict(text, &t); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	if t.Schema != schemaTemplate {
		return nil, fmt.Errorf("%s has the schema %q; it must be %s", file, t.Schema, schemaTemplate)
	}
	return &t, nil
}

// addFile adds a version to the template in a file.
func addFile(file, version, image string) error {
	t, err := readTemplate(file)
	if err != nil {
		return err
	}
	if err := t.add(version, image); err != nil {
		return fmt.Errorf("adding %s to %s: %w", version, file, err)
	}
	text, err := yaml.Marshal(t)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// add lists a version in the channels that it belongs to.
func (t *template) add(version, image string) error {
	if err := checkVersion(version, image); err != nil {
		return err
	}
	channels := []string{channelCandidate}
	if semver.Prerelease("v"+version) == "" {
		channels = append(channels, channelStable)
	}
	found := 0
	for i, entry := range t.Entries {
		if entry.text("schema") != schemaChannel || !slices.Contains(channels, entry.text("name")) {
			continue
		}
		found++
		changed, err := addTo(entry, version)
		if err != nil {
			return err
		}
		t.Entries[i] = changed
	}
	if found != len(channels) {
		return fmt.Errorf("the template has not all of the channels %v", channels)
	}
	t.Entries = append(t.Entries, blob{"schema": schemaBundle, "image": image})
	return nil
}

func checkVersion(version, image string) error {
	if v := "v" + version; !semver.IsValid(v) || semver.Canonical(v) != v {
		return errors.New("it is no semantic version: give one such as 0.2.0 or 0.3.0-rc.1")
	}
	if v, err := versionOf(image); err != nil || v != version {
		return fmt.Errorf("the image %q must have the tag v%s", image, version)
	}
	return nil
}

// addTo makes a version the head of a channel. It replaces the last one, which OLM's older generation
// follows step by step, and one may skip to it from any version of the channel.
func addTo(entry blob, version string) (blob, error) {
	var c channel
	if err := convert(entry, &c); err != nil {
		return nil, err
	}
	added := channelEntry{Name: packageName + ".v" + version}
	if len(c.Entries) > 0 {
		first, last := c.Entries[0].version(), c.Entries[len(c.Entries)-1].version()
		if semver.Compare("v"+version, "v"+last) <= 0 {
			return nil, fmt.Errorf("the channel %s has %s already: a new version must be higher", c.Name, last)
		}
		added.Replaces = packageName + ".v" + last
		added.SkipRange = fmt.Sprintf(">=%s <%s", first, version)
	}
	c.Entries = append(c.Entries, added)
	changed := blob{}
	return changed, convert(c, &changed)
}

func (e channelEntry) version() string { return e.Name[len(packageName+".v"):] }

func convert(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// tag is the version at the end of an image's name; a digest may follow it.
var tag = regexp.MustCompile(`:v([^:@/]+)(@sha256:[0-9a-f]{64})?$`)

// versionOf is the version that the tag of a bundle's image states.
func versionOf(image string) (string, error) {
	match := tag.FindStringSubmatch(image)
	if match == nil {
		return "", fmt.Errorf("the image %q has no tag such as v0.2.0", image)
	}
	return match[1], nil
}
