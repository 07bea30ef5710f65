// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
)

const (
	module    = "github.com/cert-manager/cert-manager"
	namespace = "cert-manager"
)

// values of the chart: the CustomResourceDefinitions too, and nothing that the three commands do not do.
var values = map[string]any{
	"crds":            map[string]any{"enabled": true},
	"prometheus":      map[string]any{"enabled": false},
	"startupapicheck": map[string]any{"enabled": false},
}

// manifests prints what the chart in a folder, that of cert-manager's module, installs.
func manifests(_ context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("manifests needs the folder of the chart")
	}
	version, err := builtWith()
	if err != nil {
		return err
	}
	return render(os.Stdout, args[0], version)
}

// builtWith is the version of cert-manager in this program.
func builtWith() (string, error) {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			return dependency.Version, nil
		}
	}
	return "", fmt.Errorf("this program was built without %s", module)
}

// workloadsLast orders the chart's files so that what pods need is there before them.
func workloadsLast(a, b string) int {
	order := func(name string) string { return fmt.Sprint(strings.Contains(name, "deployment"), name) }
	return strings.Compare(order(a), order(b))
}

func render(out io.Writer, dir, version string) error {
	chart, err := loader.Load(dir)
	if err != nil {
		return fmt.Errorf("loading the chart: %w", err)
	}
	chart.Metadata.Version, chart.Metadata.AppVersion = version, version // filled in when the chart is published
	release := common.ReleaseOptions{Name: namespace, Namespace: namespace, IsInstall: true}
	all, err := util.ToRenderValues(chart, values, release, common.DefaultCapabilities)
	if err != nil {
		return fmt.Errorf("preparing the chart's values: %w", err)
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return fmt.Errorf("rendering the chart: %w", err)
	}
	documents := []string{"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: " + namespace}
	for _, name := range slices.SortedFunc(maps.Keys(files), workloadsLast) {
		if strings.HasSuffix(name, ".yaml") && strings.TrimSpace(files[name]) != "" {
			documents = append(documents, files[name])
		}
	}
	_, err = fmt.Fprintln(out, strings.Join(documents, "\n---\n"))
	return err
}
