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

// Command release writes a new version where it stands: in the Makefile, the changelog and the base of the
// bundle. `make release VERSION=0.2.0` runs it, and then makes all that follows from it.
//
// It checks everything before it writes anything.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string, messages io.Writer) error {
	fs := flag.NewFlagSet("release", flag.ContinueOnError)
	root := fs.String("root", ".", "Root of the repository.")
	version := fs.String("version", "", "The new version, for instance 0.2.0.")
	day := fs.String("date", time.Now().UTC().Format(time.DateOnly), "The day of the release.")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if _, err := time.Parse(time.DateOnly, *day); err != nil {
		return fmt.Errorf("--date: %w", err)
	}
	if err := release(*root, *version, *day); err != nil {
		return err
	}
	fmt.Fprintf(messages, "%s is written wherever the version stands\n", *version)
	return nil
}

// edit changes the text of a file, or says why it cannot.
type edit struct {
	file   string
	change func(text string) (string, error)
}

func release(root, version, day string) error {
	if v := "v" + version; !semver.IsValid(v) || semver.Canonical(v) != v {
		return fmt.Errorf("--version %q is no semantic version: give one such as 0.2.0 or 0.3.0-rc.1", version)
	}
	edits := []edit{
		{"Makefile", func(text string) (string, error) { return setVersion(text, version) }},
		{"CHANGELOG.md", func(text string) (string, error) { return closeSection(text, version, day) }},
		{
			filepath.Join("config", "manifests", "bases", "acme-platform-operator.clusterserviceversion.yaml"),
			func(text string) (string, error) { return setCreated(text, day) },
		},
	}
	changed := map[string]string{}
	for _, e := range edits {
		file := filepath.Join(root, e.file)
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if changed[file], err = e.change(string(text)); err != nil {
			return fmt.Errorf("%s: %w", e.file, err)
		}
	}
	for file, text := range changed {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

var versionLine = regexp.MustCompile(`(?m)^VERSION \?= ([^#\s]+)`)

// setVersion makes the new version the default of the Makefile.
func setVersion(text, version string) (string, error) {
	match := versionLine.FindStringSubmatch(text)
	if match == nil {
		return "", errors.New("it has no line VERSION ?= ")
	}
	if semver.Compare("v"+version, "v"+match[1]) <= 0 {
		return "", fmt.Errorf("%s is not higher than the last version, %s", version, match[1])
	}
	return strings.Replace(text, match[0], "VERSION ?= "+version, 1), nil
}

const unreleased = "## Unreleased\n"

// isCandidate tells whether a version is to become a release.
func isCandidate(version string) bool { return semver.Prerelease("v"+version) != "" }

// closeSection gives what was not released yet the version as its title, and opens a new section. Of a
// candidate it stays unreleased: it is what the release will list.
func closeSection(text, version, day string) (string, error) {
	before, after, found := strings.Cut(text, unreleased)
	if !found {
		return "", errors.New("it has no section " + strings.TrimSpace(unreleased))
	}
	entries, _, _ := strings.Cut(after, "\n## ")
	if strings.TrimSpace(entries) == "" {
		return "", errors.New("nothing is listed as unreleased: say what the version changes for those who use it")
	}
	if isCandidate(version) {
		return text, nil
	}
	return before + unreleased + "\n## " + version + " - " + day + "\n" + after, nil
}

var createdLine = regexp.MustCompile(`(?m)^(\s+createdAt: )"[^"]*"$`)

// setCreated dates the bundle.
func setCreated(text, day string) (string, error) {
	if len(createdLine.FindAllString(text, -1)) != 1 {
		return "", errors.New("it must have one line createdAt")
	}
	return createdLine.ReplaceAllString(text, `${1}"`+day+`T00:00:00Z"`), nil
}
