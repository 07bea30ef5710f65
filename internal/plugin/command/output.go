// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

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
		var text strings.Builder
		e := json.NewEncoder(&text)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		if err := e.Encode(value); err != nil {
			return fmt.Errorf("writing JSON: %w", err)
		}
		_, err := io.WriteString(p.Out, plugin.EscapeControls(text.String()))
		return err
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
