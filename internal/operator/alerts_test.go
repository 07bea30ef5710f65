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

// notScraped are metrics of rules that the scrape of this test does not have, and why.
var notScraped = map[string]string{
	"apiserver_admission_webhook_fail_open_count":                    "the API server exports it once a webhook could not be called",
	"platform_operator_unserved_pods":                                "there are none while no pod waits",
	"platform_operator_webhook_certificate_expiry_timestamp_seconds": "this operator serves no webhooks",
}

var metricName = regexp.MustCompile(`\b(?:platform_operator|controller_runtime|workqueue|leader_election|rest_client|apiserver|process|go)_[a-z0-9_]+\b`)

// alertsUseMetrics wants each metric that rules use in what an operator exports.
func alertsUseMetrics(t *testing.T, scraped string) {
	t.Helper()
	text, err := os.ReadFile(testenv.RepoFile("config", "prometheus", "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	expressions := regexp.MustCompile(`(?m)^ +expr: .*$`).FindAllString(string(text), -1)
	used := metricName.FindAllString(strings.Join(expressions, "\n"), -1)
	slices.Sort(used)
	if used = slices.Compact(used); len(used) < 12 {
		t.Fatalf("found the metrics %s only: the search for them is broken", used)
	}
	for _, name := range used {
		if notScraped[name] == "" && !regexp.MustCompile(`(?m)^`+name+`[{ ]`).MatchString(scraped) {
			t.Errorf("rules use the metric %s, which the operator does not export", name)
		}
	}
	for name := range notScraped {
		if !slices.Contains(used, name) {
			t.Errorf("no rule uses %s", name)
		}
	}
}
