// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// The program dashboards writes the Grafana dashboards and the configuration of kube-state-metrics that one of them needs to
// config/grafana. test/alerts evaluates every query in Prometheus' own engine.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	crds := flag.String("crds", "", "the folder with the CustomResourceDefinitions")
	to := flag.String("to", "", "the folder to write to")
	flag.Parse()
	if *crds == "" || *to == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "--crds and --to are required; positional arguments are not accepted")
		os.Exit(2)
	}
	if err := write(*crds, *to); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write writes all files.
func write(crds, to string) error {
	files := map[string]func() ([]byte, error){
		"platform-operator-fleet.json":  func() ([]byte, error) { return marshal(fleet()) },
		"platform-operator-object.json": func() ([]byte, error) { return marshal(object()) },
		"custom-resource-state.yaml":    func() ([]byte, error) { return stateMetrics(crds) },
	}
	for name, make := range files {
		text, err := make()
		if err != nil {
			return fmt.Errorf("making %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(to, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func marshal(b *builder) ([]byte, error) {
	d, err := b.Build()
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(d, "", "  ")
	return append(text, '\n'), err
}
