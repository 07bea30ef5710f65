// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/internal/plugin"
)

// checkOutput rejects an unknown form of output before anything is read.
func (p *program) checkOutput() error {
	switch p.output {
	case "", "wide", "json", "yaml":
		return nil
	}
	return fmt.Errorf("there is no output format %q; choose json, yaml or wide", p.output)
}

// print writes a value for programs, or lets a printer write it for people.
func (p *program) print(value any, forPeople func(plugin.Printer)) error {
	switch p.output {
	case "json":
		e := json.NewEncoder(p.Out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(value)
	case "yaml":
		text, err := yaml.Marshal(value)
		if err != nil {
			return fmt.Errorf("writing YAML: %w", err)
		}
		_, err = p.Out.Write(text)
		return err
	}
	forPeople(p.printer())
	return nil
}
