// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

const (
	fleetUID, objectUID = "platform-operator-fleet", "platform-operator-object"

	seconds, bytes, count, perSecond = "s", "bytes", "short", "ops"

	green, orange, red = "green", "orange", "red"

	gridWidth = 24
)

// builder makes the classic format, which all of Grafana 10 and later read; the second version needs Grafana 12.
type builder = dashboard.DashboardBuilder //nolint:staticcheck // See above.

// source is what the variable datasource names.
var source = common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("$datasource")}

// query is an expression, and what its values are called.
type query struct{ expr, name string }

// mine is the selector of the operator's own series, with more conditions.
func mine(metric, more string) string {
	if more != "" {
		more = ", " + more
	}
	return metric + `{job="platform-operator"` + more + `}`
}

// rate is a sum of rates.
func rate(by, metric, more string) string {
	return fmt.Sprintf("sum by (%s) (rate(%s[$__rate_interval]))", by, mine(metric, more))
}

// quantile is one of a histogram; nothing while nothing was observed.
func quantile(q float64, by, metric, more string) string {
	return fmt.Sprintf("histogram_quantile(%v, %s) >= 0", q, rate(by+", le", metric+"_bucket", more))
}

// replicas is a value that both replicas know: one of them is right, and the other has none or the same.
func replicas(by, metric, more string) string {
	return fmt.Sprintf("max by (%s) (%s)", by, mine(metric, more))
}

func newDashboard(uid, title, description string) *builder {
	b := dashboard.NewDashboardBuilder(title) //nolint:staticcheck // See builder.
	return b.Uid(uid).Description(description).Tags([]string{"platform-operator"}).
		Readonly().Time("now-6h", "now").Refresh("1m").Timezone("browser").Tooltip(dashboard.DashboardCursorSyncCrosshair).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus"))
}

// values is a variable with the values that a label has.
func values(name, label, of, key string) *dashboard.QueryVariableBuilder {
	text := fmt.Sprintf("label_values(%s, %s)", of, key)
	return dashboard.NewQueryVariableBuilder(name).Label(label).Datasource(source).Query(dashboard.StringOrMap{String: &text}).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc)
}

// targets are the queries of a panel.
func targets(now bool, queries []query) (all []cog.Builder[variants.Dataquery]) {
	for i, q := range queries {
		b := prometheus.NewDataqueryBuilder().Expr(q.expr).LegendFormat(q.name).RefId(string(rune('A' + i)))
		if now {
			b = b.Instant()
		}
		all = append(all, b)
	}
	return all
}

// step is a color from a value on.
type step struct {
	from  float64
	color string
}

func thresholds(base string, steps ...step) *dashboard.ThresholdsConfigBuilder {
	all := []dashboard.Threshold{{Color: base}}
	for _, s := range steps {
		all = append(all, dashboard.Threshold{Value: cog.ToPtr(s.from), Color: s.color})
	}
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(all)
}

// words are shown instead of values.
func words(text map[string]string) []dashboard.ValueMapping {
	options := map[string]dashboard.ValueMappingResult{}
	for value, word := range text {
		options[value] = dashboard.ValueMappingResult{Text: cog.ToPtr(word)}
	}
	return []dashboard.ValueMapping{{ValueMap: &dashboard.ValueMap{Type: dashboard.MappingTypeValueToText, Options: options}}}
}

// number shows the last value of a query.
func number(title, description, unit, expr string, colors *dashboard.ThresholdsConfigBuilder) *stat.PanelBuilder {
	return stat.NewPanelBuilder().Title(title).Description(description).Datasource(source).Unit(unit).Span(4).Height(4).
		Targets(targets(true, []query{{expr, ""}})).Thresholds(colors).ColorMode(common.BigValueColorModeValue).
		GraphMode(common.BigValueGraphModeNone).ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}))
}

// lines shows queries over time, as many panels beside each other as span allows.
func lines(title, description, unit string, span uint32, queries ...query) *timeseries.PanelBuilder {
	return timeseries.NewPanelBuilder().Title(title).Description(description).Datasource(source).Unit(unit).Span(span).Height(8).Min(0).
		Targets(targets(false, queries)).FillOpacity(8).ShowPoints(common.VisibilityModeNever).
		Legend(common.NewVizLegendOptionsBuilder().DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom).ShowLegend(true)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
}

// states shows whether conditions were True over time.
func states(title, description string, queries ...query) *statetimeline.PanelBuilder {
	return statetimeline.NewPanelBuilder().Title(title).Description(description).Datasource(source).Span(gridWidth).Height(8).
		Targets(targets(false, queries)).Mappings(words(map[string]string{"1": "True", "0": "not True"})).
		ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdThresholds)).Thresholds(thresholds(orange, step{1, green}))
}

// rows shows the last values of queries, one row for each set of labels. Columns are renamed; those with an empty name go.
func rows(title, description string, names map[string]string, queries ...query) *table.PanelBuilder {
	var all []cog.Builder[variants.Dataquery]
	hidden, renamed := map[string]bool{"Time": true}, map[string]string{}
	for i, q := range queries {
		id := string(rune('A' + i))
		all = append(all, prometheus.NewDataqueryBuilder().Expr(q.expr).RefId(id).Instant().Format(prometheus.PromQueryFormatTable))
		renamed["Value #"+id] = q.name
		if len(queries) == 1 {
			renamed = map[string]string{"Value": q.name}
		}
	}
	for from, to := range names {
		if to == "" {
			hidden[from] = true
		} else {
			renamed[from] = to
		}
	}
	return table.NewPanelBuilder().Title(title).Description(description).Datasource(source).Span(gridWidth).Height(9).Targets(all).
		WithTransformation(dashboard.DataTransformerConfig{Id: "merge", Options: map[string]any{}}).
		WithTransformation(dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{"excludeByName": hidden, "renameByName": renamed}})
}
