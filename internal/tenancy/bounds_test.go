// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/tenancy"
	"github.com/acme/platform-operator/internal/testenv/paging"
)

// What an administrator may create is bounded in every tier.
func TestWhatAdministratorsCreateIsBounded(t *testing.T) {
	for _, name := range []common.TierName{"dev", "stg", "prod"} {
		tier := builtIn(t, name)
		for _, rule := range tenancy.AdminRules() {
			for _, res := range rule.Resources {
				if !slices.Contains(rule.Verbs, "create") || strings.Contains(res, "/") || res == "localsubjectaccessreviews" {
					continue
				}
				key := "count/" + res
				if rule.APIGroups[0] != "" {
					key += "." + rule.APIGroups[0]
				}
				if _, bounded := tier.Quota[corev1.ResourceName(key)]; !bounded {
					t.Errorf("%s: the administrator may create any number of %s", name, key)
				}
			}
		}
		for _, key := range []corev1.ResourceName{
			"services.loadbalancers", "services.nodeports", "requests.storage", "requests.ephemeral-storage", "limits.ephemeral-storage",
			"count/controllerrevisions.apps",
		} {
			if _, bounded := tier.Quota[key]; !bounded {
				t.Errorf("%s: %s is not bounded", name, key)
			}
		}
	}
}

// As many plain pods as the quota admits find room in its other amounts.
func TestPlainPodsFitTheirTier(t *testing.T) {
	for _, name := range []common.TierName{"dev", "stg", "prod"} {
		tier := builtIn(t, name)
		pods := tier.Quota.Pods().Value()
		for quota, each := range map[corev1.ResourceName]int64{
			"cpu": tier.Limits.DefaultRequest.Cpu().MilliValue(), "memory": tier.Limits.DefaultRequest.Memory().MilliValue(),
			"requests.ephemeral-storage": tier.Limits.DefaultRequest.StorageEphemeral().MilliValue(),
			"limits.ephemeral-storage":   tier.Limits.Default.StorageEphemeral().MilliValue(),
		} {
			most := tier.Quota[quota]
			if pods*each > most.MilliValue() {
				t.Errorf("%s: %d pods need more %s than %s", name, pods, quota, &most)
			}
		}
	}
}

// The page has a row for every bound, with its three amounts.
func TestThePageTellsEveryBound(t *testing.T) {
	page, err := os.ReadFile("../../docs/kinds/deploymenttier.md")
	if err != nil {
		t.Fatal(err)
	}
	dev, stg, prod := builtIn(t, "dev"), builtIn(t, "stg"), builtIn(t, "prod")
	for name, d := range dev.Quota {
		s, p := stg.Quota[name], prod.Quota[name]
		if strings.HasSuffix(string(name), ".acme.com") {
			name = "count/RESOURCE.GROUP` of each kind of this operator that tenants create, such as `count/crontabs.batch.acme.com"
		}
		if row := fmt.Sprintf("| `%s` | %s | %s | %s |", name, &d, &s, &p); !strings.Contains(string(page), row) {
			t.Errorf("docs/kinds/deploymenttier.md lacks the row\n%s", row)
		}
	}
}

func TestForbiddenPriorities(t *testing.T) {
	for _, tc := range []struct {
		reason  string
		allowed []string
		want    string
	}{
		{"the system's own, unless told otherwise", nil, "[{PriorityClass In [system-cluster-critical system-node-critical]}]"},
		{"all but some", []string{"batch", "web"}, "[{PriorityClass Exists []} {PriorityClass NotIn [batch web]}]"},
		{"all", []string{}, "[{PriorityClass Exists []}]"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			if got := fmt.Sprint(tenancy.Tier{PriorityClasses: tc.allowed}.ForbiddenPriorities()); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestReservedLabels(t *testing.T) {
	reserved := []string{"openshift.io", "admission.gatekeeper.sh/ignore", "istio-injection"}
	for key, free := range map[string]bool{
		"openshift.io/run-level": false, "security.openshift.io/scc.podSecurityLabelSync": false, "notopenshift.io/x": true,
		"openshift.io": false, "openshift.io.example.com/x": true, "admission.gatekeeper.sh/ignore": false,
		"admission.gatekeeper.sh/other": true, "x.admission.gatekeeper.sh/ignore": true, "istio-injection": false, "team": true,
	} {
		got := tenancy.ReserveLabels(map[string]v1alpha1.LabelValue{"a": "b", key: "x"}, reserved)
		if (got.Reason == "") != free {
			t.Errorf("%s: %+v", key, got)
		}
		if !free && (got.Reason != "LabelReserved" || !strings.HasPrefix(got.Message, "labels["+key+"] is reserved (by ")) {
			t.Errorf("%s: %+v", key, got)
		}
	}
}

func TestInsecurePods(t *testing.T) {
	yes := true
	pod := func(name string, privileged *bool, phase corev1.PodPhase) corev1.Pod {
		p := corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", SecurityContext: &corev1.SecurityContext{Privileged: privileged}}}}}
		p.Name, p.Status.Phase = name, phase
		return p
	}
	plain, privileged := pod("plain", nil, corev1.PodRunning), pod("root", &yes, corev1.PodRunning)
	many := []corev1.Pod{plain}
	for i := range 7 {
		many = append(many, pod(fmt.Sprintf("p%d", 6-i), &yes, corev1.PodPending))
	}
	var crowd []corev1.Pod
	for i := range 24 {
		crowd = append(crowd, plain, pod(fmt.Sprintf("p%02d", i), &yes, corev1.PodPending))
	}
	for _, tc := range []struct {
		reason string
		level  v1alpha1.PodSecurityLevel
		pods   []corev1.Pod
		want   string
	}{
		{"nothing there", "restricted", nil, ""},
		{"a plain pod", "baseline", []corev1.Pod{plain}, ""},
		{"a plain pod under restricted", "restricted", []corev1.Pod{plain}, "1 pod(s) violate the Pod Security level restricted (plain); they continue to run, but cannot be started again; adapt them, or choose another tier"},
		{"a privileged pod", "baseline", []corev1.Pod{plain, privileged}, "1 pod(s) violate the Pod Security level baseline (root); they continue to run, but cannot be started again; adapt them, or choose another tier"},
		{"anything goes", "privileged", []corev1.Pod{privileged}, ""},
		{"those that have ended", "baseline", []corev1.Pod{pod("a", &yes, corev1.PodSucceeded), pod("b", &yes, corev1.PodFailed)}, ""},
		{"more than a page", "baseline", crowd, "24 pod(s) violate the Pod Security level baseline (p00, p01, p02, p03, p04, …); they continue to run, but cannot be started again; adapt them, or choose another tier"},
		{"many", "baseline", many, "7 pod(s) violate the Pod Security level baseline (p0, p1, p2, p3, p4, …); they continue to run, but cannot be started again; adapt them, or choose another tier"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			got, all, err := tenancy.InsecurePods(t.Context(), &paged{pods: tc.pods}, "app", tc.level)
			if err != nil || got != tc.want || !all {
				t.Errorf("%q, all %v, %v; want %q", got, all, err, tc.want)
			}
		})
	}
}

// However many pods there are, only so many are looked at, a few at a time, and the status says that these were not all.
func TestInsecurePodsReadsAFewAtATime(t *testing.T) {
	large := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"large": strings.Repeat("x", 256<<10)}}}
	live := &paged{pods: slices.Repeat([]corev1.Pod{large}, 2000)}
	_, all, err := tenancy.InsecurePods(t.Context(), live, "app", "baseline")
	if err != nil {
		t.Fatal(err)
	}
	if live.read != 500 || live.most > 20 || all {
		t.Errorf("%d pods were read, %d of them at once; all: %v", live.read, live.most, all)
	}
	if live.selector != "status.phase!=Failed,status.phase!=Succeeded" && live.selector != "status.phase!=Succeeded,status.phase!=Failed" {
		t.Errorf("pods that have ended hide others: %s", live.selector)
	}
}

// paged answers lists as the API server does: a page at a time, and where the next one begins.
type paged struct {
	client.Reader
	pods       []corev1.Pod
	read, most int
	selector   string
}

func (p *paged) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(opts)
	if asked.FieldSelector != nil {
		p.selector = asked.FieldSelector.String()
	}
	from, to := paging.Cut(list, *asked, len(p.pods))
	list.(*corev1.PodList).Items = p.pods[from:to]
	p.read, p.most = p.read+to-from, max(p.most, to-from)
	return nil
}
