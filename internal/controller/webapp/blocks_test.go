// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/controller/webapp"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	"github.com/acme/platform-operator/internal/testenv/limit"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// blocks sets every optional field of a spec, in turn. What they need of each other they bring along.
var blocks = map[string]string{
	"webAppReplicas":                `1`,
	"port":                          `9000`,
	"ports":                         `[{"name":"metrics","port":9090},{"name":"dns","port":5353,"protocol":"UDP"}]`,
	"command":                       `["serve"]`,
	"args":                          `["--fast"]`,
	"env":                           `[{"name":"B","value":"2"},{"name":"A"},{"name":"P","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]`,
	"envFrom":                       `[{"secretRef":{"name":"s"}}]`,
	"restartOnChange":               `true`,
	"databaseSecretRef":             `{"name":"db","uriKey":""}`,
	"publish":                       `{"externalName":"www.EXAMPLE"}`,
	"config":                        `{"app.ini":"x=1"}`,
	"resources":                     `{"limits":{"memory":"1Gi"}}`,
	"probes":                        `{"readiness":{"path":"/ready"},"liveness":{"command":["alive"]},"startup":{"failureThreshold":60}}`,
	"ingress":                       `{"path":"/shop","tlsSecretName":"tls","annotations":{"cert-manager.io/cluster-issuer":"acme"}}`,
	"autoscaling":                   `{"max":5}`,
	"migration":                     `{"command":["migrate"]}`,
	"strategy":                      `{"type":"Recreate"}`,
	"rolloutDeadline":               `"10m"`,
	"autoRollback":                  `true`,
	"rollbackTo":                    `1`,
	"drainSeconds":                  `0`,
	"terminationGracePeriodSeconds": `60`,
	"revisionHistoryLimit":          `0`,
	"maxUnavailable":                `1`,
	"isolation":                     `"None"`,
	"volumes":                       `[{"name":"tmp","emptyDir":{}},{"name":"data","persistentVolumeClaim":{"claimName":"data"}}]`,
	"volumeMounts":                  `[{"name":"tmp","mountPath":"/tmp"}]`,
	"initContainers":                `[{"name":"wait","image":"busybox"}]`,
	"sidecars":                      `[{"name":"proxy","image":"envoy","resources":{"requests":{"cpu":"10m"}}}]`,
	"serviceAccountName":            `"robot"`,
	"imagePullSecrets":              `[{"name":"pull"}]`,
	"nodeSelector":                  `{"disk":"ssd"}`,
	"tolerations":                   `[{"key":"gpu","operator":"Exists"}]`,
	"topologySpreadConstraints":     `[{"topologyKey":"rack"}]`,
	"schedulerName":                 `"own"`,
	"priorityClassName":             `"high"`,
	"securityContext":               `{"runAsUser":1000,"readOnlyRootFilesystem":true}`,
}

// unseen are those that change no child by themselves.
var unseen = []string{"autoRollback", "rolloutDeadline"}

// needs are blocks without which others mean nothing.
var needs = map[string]string{"volumeMounts": "volumes", "restartOnChange": "envFrom"}

// optional are the names of the optional fields of a spec.
func optional(t reflect.Type) (all []string) {
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		switch {
		case name == "":
			all = append(all, optional(t.Field(i).Type)...)
		case strings.Contains(options, "omitempty"):
			all = append(all, name)
		}
	}
	return all
}

// with is a merge patch that sets some blocks, or unsets them.
func with(set bool, fields ...string) string {
	spec := map[string]json.RawMessage{}
	for _, f := range fields {
		spec[f] = json.RawMessage("null")
		if set {
			spec[f] = json.RawMessage(blocks[f])
		}
		if other := needs[f]; other != "" {
			spec[other] = json.RawMessage("null")
			if set {
				spec[other] = json.RawMessage(blocks[other])
			}
		}
	}
	text, err := json.Marshal(map[string]any{"spec": spec})
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// children are the children of every WebApp of a namespace, by its UID, and without what changes by itself.
func children(ns string) map[string]map[string]string {
	GinkgoHelper()
	all := map[string]map[string]string{}
	for _, h := range webapp.Holds {
		if _, isHistory := h.Of.(*appsv1.ControllerRevision); isHistory {
			continue
		}
		gvk, err := apiutil.GVKForObject(h.Of, Admin.Scheme())
		Expect(err).NotTo(HaveOccurred())
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		Expect(Admin.List(ctx, list, client.InNamespace(ns))).To(Succeed())
		for _, o := range list.Items {
			owner := o.GetLabels()[names.LabelOwnerUID]
			if owner == "" {
				continue
			}
			if all[owner] == nil {
				all[owner] = map[string]string{}
			}
			same := ""
			if o.GetKind() == "Deployment" {
				same = string(o.GetUID()) // the others hold nothing, and may be created again
			}
			text, err := json.Marshal([]any{same, o.GetLabels(), o.GetAnnotations()["cert-manager.io/cluster-issuer"], o.Object["spec"], o.Object["data"]})
			Expect(err).NotTo(HaveOccurred())
			all[owner][o.GetKind()+"/"+o.GetName()] = string(text)
		}
	}
	return all
}

// endMigrations lets so many migrations of a namespace succeed.
func endMigrations(ns string, n int) {
	GinkgoHelper()
	list := &batchv1.JobList{}
	Eventually(func() int {
		Expect(Admin.List(ctx, list, client.InNamespace(ns))).To(Succeed())
		list.Items = slices.DeleteFunc(list.Items, func(j batchv1.Job) bool { return j.DeletionTimestamp != nil })
		return len(list.Items)
	}).Should(Equal(n))
	for i := range list.Items {
		j := &list.Items[i]
		j.Status.StartTime, j.Status.CompletionTime = &j.CreationTimestamp, new(metav1.Now())
		for _, c := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
			j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
		}
		Expect(Admin.Status().Update(ctx, j)).To(Succeed())
	}
}

// pairs are all blocks with each other one, and each alone.
func pairs() (all [][]string) {
	fields := slices.Sorted(maps.Keys(blocks))
	for i, a := range fields {
		for _, b := range fields[i:] {
			all = append(all, slices.Compact([]string{a, b}))
		}
	}
	return all
}

var _ = Describe("The optional blocks", func() {
	It("are all tried", func() {
		for _, field := range optional(reflect.TypeFor[v1alpha1.WebAppSpec]()) {
			Expect(blocks).To(HaveKey(field), "blocks has no line for it")
		}
	})

	It("come and go, and leave what was there before", func() {
		var alone [][]string
		for _, field := range slices.Sorted(maps.Keys(blocks)) {
			alone = append(alone, []string{field})
		}
		comeAndGo(alone)
	})

	It("come and go, each with each other one, and leave what was there before", Label(limit.Slow), func() { comeAndGo(pairs()) })
})

// comeAndGo sets and unsets some blocks at a time, each time of another WebApp.
func comeAndGo(sets [][]string) {
	GinkgoHelper()
	op := StartOperator(Configured("webApp: {maxConcurrentReconciles: 50}"))
	ns := Namespace()
	Create(databaseSecret(ns, "secret"))
	var apps []*v1alpha1.WebApp
	for i := range min(len(sets), 40) { // at a time
		a := webApp(ns, func(s *v1alpha1.WebAppSpec) { s.WebAppHostname = fmt.Sprintf("pair-%d.acme.com", i) })
		a.Name = fmt.Sprintf("pair-%d", i)
		apps = append(apps, Create(a))
	}
	settle := func() map[string]map[string]string {
		for _, a := range apps {
			composed(a)
		}
		return children(ns)
	}
	settle()
	for _, a := range apps { // so that there is a revision to go back to
		Patch(a, `{"spec":{"webAppImage":"registry.acme.com/app/app:v2"}}`)
	}
	before := settle()
	for some := range slices.Chunk(sets, len(apps)) {
		generations, migrations := map[string]int64{}, 0
		for i, pair := range some {
			generations[apps[i].Name] = live(deploymentOf(apps[i])).Generation
			before := fmt.Sprintf(`"rollbackTo":%d`, apps[i].Status.Revisions[1].Number)
			body := strings.ReplaceAll(with(true, pair...), "EXAMPLE", fmt.Sprintf("pair-%d.acme.com", i))
			body = strings.Replace(body, `["migrate"]`, fmt.Sprintf(`["migrate","%s"]`, strings.Join(pair, " ")), 1) // one that has not run yet
			Patch(apps[i], strings.Replace(body, `"rollbackTo":1`, before, 1))
			if slices.Contains(pair, "migration") && !slices.Contains(pair, "rollbackTo") {
				migrations++
			}
		}
		between := settle()
		endMigrations(ns, migrations)
		for i := range some {
			Eventually(Condition(apps[i], "Migrated")).Should(Equal("True Done"))
		}
		settle()
		for i, pair := range some {
			Patch(apps[i], with(false, pair...))
		}
		settle()
		Eventually(func(g Gomega) {
			after := children(ns)
			for i, pair := range some {
				uid := string(apps[i].UID)
				g.Expect(after[uid]).To(Equal(before[uid]), "%s", pair)
			}
		}).Should(Succeed())
		for i, pair := range some {
			a, uid := apps[i], string(apps[i].UID)
			seen := slices.ContainsFunc(pair, func(field string) bool { return !slices.Contains(unseen, field) })
			Expect(maps.Equal(between[uid], before[uid])).NotTo(Equal(seen), "%s changes something: %v", pair, seen)
			Eventually(Condition(a, "Migrated")).Should(Equal("True Done"))
			Expect(live(deploymentOf(a)).Generation).To(BeNumerically("<=", generations[a.Name]+2), "%s: the Deployment was changed more than twice", pair)
		}
	}
	op.Wire.Forget()
	Consistently(func() []testenv.Write { return op.Wire.Writes(func(w testenv.Write) bool { return w.For(ns) }) }).Should(BeEmpty())
}
