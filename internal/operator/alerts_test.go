// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acme/platform-operator/internal/testenv"
)

// scraper applies what config/prometheus has for those that scrape, and returns a token of that account.
func (w *world) scraper() string {
	w.Helper()
	objects, err := testenv.ReadObjects(testenv.RepoFile("config", "prometheus", "scraper.yaml"))
	w.must(err)
	for _, o := range objects {
		w.must(w.admin.Create(w.Context(), o))
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: "platform-operator-metrics-scraper"}}
	request := &authenticationv1.TokenRequest{}
	w.must(w.admin.SubResource("token").Create(w.Context(), account, request))
	return request.Status.Token
}

// notScraped are metrics of rules and dashboards that the scrape of this test does not have, and why.
var notScraped = map[string]string{
	"apiserver_admission_webhook_fail_open_count":                    "the API server exports it once a webhook could not be called",
	"platform_operator_unserved_pods":                                "there are none while no pod waits",
	"platform_operator_webhook_certificate_expiry_timestamp_seconds": "this operator serves no webhooks",
	"platform_operator_views_registered":                             "the views are disabled",
	"platform_operator_views_mismatches_total":                       "the program of the views exports it",
	"platform_operator_restarts_total":                               "nothing was restarted",
	"platform_operator_database_polls_total":                         "no database was read",
}

var (
	metricName = regexp.MustCompile(`\b(?:platform_operator|controller_runtime|workqueue|leader_election|rest_client|apiserver|process|go)_[a-z0-9_]+\b`)
	labelName  = regexp.MustCompile(`([a-z_]+)="`)
	// targetLabels are added by Prometheus.
	targetLabels = []string{"job", "instance", "pod"}
)

// alertsUseMetrics wants each metric that rules and dashboards use in what an operator exports.
func alertsUseMetrics(t *testing.T, scraped string) {
	t.Helper()
	var used []string
	for _, file := range []string{"prometheus/rules.yaml", "grafana/platform-operator-fleet.json", "grafana/platform-operator-object.json"} {
		text, err := os.ReadFile(testenv.RepoFile("config", file))
		if err != nil {
			t.Fatal(err)
		}
		expressions := regexp.MustCompile(`(?m)^ +"?expr"?: .*$`).FindAllString(string(text), -1)
		names := metricName.FindAllString(strings.Join(expressions, "\n"), -1)
		slices.Sort(names)
		if names = slices.Compact(names); len(names) < 6 {
			t.Fatalf("found the metrics %s only in %s: the search for them is broken", names, file)
		}
		used = append(used, names...)
	}
	for _, name := range used {
		if notScraped[name] == "" && !regexp.MustCompile(`(?m)^`+name+`[{ ]`).MatchString(scraped) {
			t.Errorf("rules or dashboards use the metric %s, which the operator does not export", name)
		}
	}
	for name := range notScraped {
		if !slices.Contains(used, name) {
			t.Errorf("neither a rule nor a dashboard uses %s", name)
		}
	}
}

// seriesAreExported wants the series with which the queries of dashboards are tested to have the labels of those that an operator
// exports.
func seriesAreExported(t *testing.T, scraped string) {
	t.Helper()
	text, err := os.ReadFile(testenv.RepoFile("test", "alerts", "testdata", "series.txt"))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, m := range regexp.MustCompile(`(?m)^([a-z_]+)(\{.*\}) `).FindAllStringSubmatch(string(text), -1) {
		if !metricName.MatchString(m[1]) || notScraped[m[1]] != "" {
			continue
		}
		exported := regexp.MustCompile(`(?m)^` + m[1] + `(\{.*\})? `).FindStringSubmatch(scraped)
		if exported == nil {
			t.Errorf("the queries of dashboards are tested with %s, which the operator does not export", m[1])
			continue
		}
		want := keys(exported[1])
		if got := slices.DeleteFunc(keys(m[2]), func(key string) bool { return slices.Contains(targetLabels, key) }); !slices.Equal(got, want) {
			t.Errorf("the queries of dashboards are tested with the labels %v of %s, which the operator exports with %v", got, m[1], want)
		}
		compared++
	}
	if compared < 40 {
		t.Errorf("compared %d series only: the search for them is broken", compared)
	}
}

// keys are the names of the labels of a series, in order.
func keys(labels string) (names []string) {
	for _, m := range labelName.FindAllStringSubmatch(labels, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return names
}
