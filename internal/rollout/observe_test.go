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

package rollout

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

var testKey = Key{[]byte(strings.Repeat("k", keySize))}

// whole is an observation of all keys.
func whole(source string, content ...string) Observation {
	o := Observation{Source: source, Keys: map[string]string{}}
	var parts [][]byte
	for i := 0; i+1 < len(content); i += 2 {
		parts = append(parts, []byte(content[i]), []byte(content[i+1]))
		o.Keys[content[i]] = testKey.Hash([]byte(content[i+1]))
	}
	o.Hash = testKey.Hash(parts...)
	return o
}

// some is an observation of named keys; one without a value does not exist.
func some(source string, content ...string) Observation {
	o := Observation{Source: source, Keys: map[string]string{}, OnlyKeys: true}
	for i := 0; i+1 < len(content); i += 2 {
		if content[i+1] == "" {
			o.Absent = append(o.Absent, content[i])
		} else {
			o.Keys[content[i]] = testKey.Hash([]byte(content[i+1]))
		}
	}
	return o
}

func TestHashIsUnambiguous(t *testing.T) {
	seen := map[string]string{}
	for _, parts := range [][]string{
		{}, {""}, {"", ""}, {"a"}, {"a", ""}, {"", "a"}, {"ab"}, {"a", "b"}, {"b", "a"}, {"a", "1;b=2"}, {"a", "1", "b", "2"}, {"a\x00b"}, {"a", "\x00b"},
	} {
		var bytes [][]byte
		for _, p := range parts {
			bytes = append(bytes, []byte(p))
		}
		h := testKey.Hash(bytes...)
		if other, taken := seen[h]; taken {
			t.Errorf("%q and %s have one hash", parts, other)
		}
		seen[h] = fmt.Sprintf("%q", parts)
		if again := testKey.Hash(bytes...); again != h {
			t.Errorf("%q has two hashes", parts)
		}
		if (Key{[]byte("another key, of which there is one")}).Hash(bytes...) == h {
			t.Errorf("%q: the hash does not depend on the key", parts)
		}
	}
}

func TestCompare(t *testing.T) {
	many := func(value string) Observation {
		var content []string
		for i := range maxKeys + 1 {
			content = append(content, fmt.Sprintf("k%02d", i), value)
		}
		return whole("Secret/s", content...)
	}
	long := strings.Repeat("k", 300)
	for _, tc := range []struct {
		reason string
		was    []Observation
		is     []Observation
		want   []string
	}{
		{reason: "nothing is watched"},
		{reason: "first sight", is: []Observation{whole("ConfigMap/c", "k", "v")}},
		{reason: "the same content", was: []Observation{whole("ConfigMap/c", "k", "v")}, is: []Observation{whole("ConfigMap/c", "k", "v")}},
		{
			reason: "another value", was: []Observation{whole("ConfigMap/c", "k", "v", "l", "w")},
			is: []Observation{whole("ConfigMap/c", "k", "x", "l", "w")}, want: []string{"ConfigMap/c: k"},
		},
		{
			reason: "a key more", was: []Observation{whole("ConfigMap/c", "k", "v")},
			is: []Observation{whole("ConfigMap/c", "k", "v", "l", "w")}, want: []string{"ConfigMap/c: l"},
		},
		{
			reason: "a key less", was: []Observation{whole("ConfigMap/c", "k", "v", "l", "w")},
			is: []Observation{whole("ConfigMap/c", "k", "v")}, want: []string{"ConfigMap/c: l"},
		},
		{reason: "emptied", was: []Observation{whole("ConfigMap/c", "k", "v")}, is: []Observation{whole("ConfigMap/c")}, want: []string{"ConfigMap/c"}},
		{reason: "not there now", was: []Observation{whole("ConfigMap/c", "k", "v")}},
		{
			reason: "one of two", was: []Observation{whole("ConfigMap/c", "k", "v"), whole("Secret/s", "k", "v")},
			is: []Observation{whole("Secret/s", "k", "x"), whole("ConfigMap/c", "k", "v")}, want: []string{"Secret/s: k"},
		},
		{
			reason: "both, in a fixed order", was: []Observation{whole("Secret/s", "k", "v"), whole("ConfigMap/c", "k", "v")},
			is: []Observation{whole("Secret/s", "k", "x"), whole("ConfigMap/c", "k", "x")}, want: []string{"ConfigMap/c: k", "Secret/s: k"},
		},
		{reason: "too many keys to tell", was: []Observation{many("v")}, is: []Observation{many("w")}, want: []string{"Secret/s"}},
		{
			reason: "a name too long to tell", was: []Observation{whole("ConfigMap/c", long, "v", "k", "v")},
			is: []Observation{whole("ConfigMap/c", long, "w", "k", "v")}, want: []string{("ConfigMap/c: " + long)[:maxChange] + "…"},
		},
		{reason: "named keys", was: []Observation{some("ConfigMap/c[keys]", "a", "1")}, is: []Observation{some("ConfigMap/c[keys]", "a", "2")}, want: []string{"ConfigMap/c: a"}},
		{reason: "a named key is gone", was: []Observation{some("ConfigMap/c[keys]", "a", "1", "b", "1")}, is: []Observation{some("ConfigMap/c[keys]", "a", "1", "b", "")}},
		{
			reason: "a named key comes for the first time", was: []Observation{some("ConfigMap/c[keys]", "a", "1", "b", "")},
			is: []Observation{some("ConfigMap/c[keys]", "a", "1", "b", "1")},
		},
		{
			reason: "a named key is gone and another one changed", was: []Observation{some("ConfigMap/c[keys]", "a", "1", "b", "1")},
			is: []Observation{some("ConfigMap/c[keys]", "a", "2", "b", "")}, want: []string{"ConfigMap/c: a"},
		},
		{reason: "a key is named no more", was: []Observation{some("ConfigMap/c[keys]", "a", "1", "b", "1")}, is: []Observation{some("ConfigMap/c[keys]", "a", "1")}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			before := compare(testKey, nil, tc.was, noon)
			if len(before.changes) > 0 {
				t.Errorf("first sight is a change: %q", before.changes)
			}
			got := compare(testKey, before.baseline, tc.is, noon)
			if diff := cmp.Diff(tc.want, got.changes); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if same := got.mark == compare(testKey, got.current, tc.is, noon).mark; same && len(got.changes) > 0 {
				t.Error("the mark does not change once the content is the baseline")
			}
			if more := compare(testKey, got.current, tc.is, noon); len(more.changes) > 0 {
				t.Errorf("it changes again: %q", more.changes)
			}
		})
	}
}

// What changes has to decide the mark, not what else is watched: a source that appears while a restart is
// going on must not begin it anew.
func TestMarkDependsOnChangesOnly(t *testing.T) {
	base := compare(testKey, nil, []Observation{whole("ConfigMap/c", "k", "v")}, noon).baseline
	alone := compare(testKey, base, []Observation{whole("ConfigMap/c", "k", "x")}, noon)
	more := compare(testKey, base, []Observation{whole("ConfigMap/c", "k", "x"), whole("Secret/new", "k", "v")}, noon)
	if alone.mark != more.mark {
		t.Error("another source changes the mark")
	}
	if len(more.baseline) != 2 {
		t.Errorf("the baseline has %d sources", len(more.baseline))
	}
	if back := compare(testKey, base, []Observation{whole("ConfigMap/c", "k", "v")}, noon); back.mark == alone.mark {
		t.Error("the mark of no change is the mark of a change")
	}
}

func TestForget(t *testing.T) {
	s := &common.RestartStatus{Observed: []common.ObservedSource{{Source: "a"}, {Source: "b"}}}
	Forget(s, func(source string) bool { return source == "b" })
	if len(s.Observed) != 1 || s.Observed[0].Source != "b" {
		t.Errorf("%+v", s.Observed)
	}
}

func TestRolling(t *testing.T) {
	three, done := new(int32(3)), appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3}
	deploymentOf := func(s appsv1.DeploymentStatus, paused bool) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: appsv1.DeploymentSpec{Replicas: three, Paused: paused}, Status: s}
	}
	with := func(f func(*appsv1.DeploymentStatus)) appsv1.DeploymentStatus {
		s := done
		f(&s)
		return s
	}
	setOf := func(f func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
		o := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: appsv1.StatefulSetSpec{Replicas: three}}
		o.Status = appsv1.StatefulSetStatus{ObservedGeneration: 2, AvailableReplicas: 3, UpdatedReplicas: 1, CurrentRevision: "a", UpdateRevision: "b"}
		f(o)
		return o
	}
	for _, tc := range []struct {
		reason string
		is     workload
		want   bool
	}{
		{"all are new and available", deployment(deploymentOf(done, false)), false},
		{"not seen yet", deployment(deploymentOf(with(func(s *appsv1.DeploymentStatus) { s.ObservedGeneration = 1 }), false)), true},
		{"some are old", deployment(deploymentOf(with(func(s *appsv1.DeploymentStatus) { s.UpdatedReplicas = 2 }), false)), true},
		{"old ones are still there", deployment(deploymentOf(with(func(s *appsv1.DeploymentStatus) { s.Replicas = 4 }), false)), true},
		{"some are not available", deployment(deploymentOf(with(func(s *appsv1.DeploymentStatus) { s.AvailableReplicas = 2 }), false)), true},
		{"paused", deployment(deploymentOf(appsv1.DeploymentStatus{}, true)), false},
		{"a StatefulSet in the middle", statefulSet(setOf(func(*appsv1.StatefulSet) {})), true},
		{"a StatefulSet at its end", statefulSet(setOf(func(o *appsv1.StatefulSet) { o.Status.CurrentRevision = "b" })), false},
		{"a StatefulSet of which one is not available", statefulSet(setOf(func(o *appsv1.StatefulSet) {
			o.Status.CurrentRevision, o.Status.AvailableReplicas = "b", 2
		})), true},
		{"a StatefulSet up to its partition", statefulSet(setOf(func(o *appsv1.StatefulSet) {
			o.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(2))}
		})), false},
		{"a StatefulSet that is updated by hand", statefulSet(setOf(func(o *appsv1.StatefulSet) {
			o.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
		})), false},
		{"a DaemonSet in the middle", daemonSet(&appsv1.DaemonSet{Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 2, UpdatedNumberScheduled: 1}}), true},
		{"a DaemonSet at its end", daemonSet(&appsv1.DaemonSet{Status: appsv1.DaemonSetStatus{
			DesiredNumberScheduled: 2, UpdatedNumberScheduled: 2, NumberAvailable: 2,
		}}), false},
	} {
		if tc.is.rolling != tc.want {
			t.Errorf("%s: rolling is %v", tc.reason, tc.is.rolling)
		}
	}
}

func TestRestartable(t *testing.T) {
	podOf := func(f func(*metav1.PartialObjectMetadata)) *metav1.PartialObjectMetadata {
		p := &metav1.PartialObjectMetadata{}
		f(p)
		return p
	}
	owned := func(apiVersion, kind string) *metav1.PartialObjectMetadata {
		return podOf(func(p *metav1.PartialObjectMetadata) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Controller: new(true)}}
		})
	}
	ofByHand := owned("apps/v1", "StatefulSet")
	ofByHand.OwnerReferences[0].UID = "by hand"
	ofDeployment := owned("apps/v1", "ReplicaSet")
	ofDeployment.Labels = map[string]string{"pod-template-hash": "1"}
	static := podOf(func(p *metav1.PartialObjectMetadata) {
		p.Annotations = map[string]string{"kubernetes.io/config.mirror": "1"}
	})
	going := owned("argoproj.io/v1alpha1", "Rollout")
	going.DeletionTimestamp = &metav1.Time{Time: noon}
	for _, tc := range []struct {
		reason                 string
		pod                    *metav1.PartialObjectMetadata
		rollout, alone, evicts bool
	}{
		{"without a controller", podOf(func(*metav1.PartialObjectMetadata) {}), false, true, true},
		{"of a Deployment", ofDeployment, false, false, true},
		{"of a ReplicaSet by itself", owned("apps/v1", "ReplicaSet"), true, false, true},
		{"of a StatefulSet", owned("apps/v1", "StatefulSet"), false, false, true},
		{"of a StatefulSet that is updated by hand", ofByHand, true, false, true},
		{"of another kind of StatefulSet", owned("apps.kruise.io/v1", "StatefulSet"), true, false, true},
		{"of a DaemonSet", owned("apps/v1", "DaemonSet"), false, false, true},
		{"of an owner that we do not know", owned("example.com/v1", "Cluster"), true, false, true},
		{"of a Job", owned("batch/v1", "Job"), false, false, false},
		{"of a node", static, false, false, false},
		{"that is going", going, false, false, false},
	} {
		for strategy, want := range map[common.RestartStrategy]bool{
			"": tc.rollout, common.RestartRollout: tc.rollout, common.RestartEvict: tc.evicts, common.RestartDelete: tc.evicts,
		} {
			yes, alone := restartable(strategy, tc.pod, []types.UID{"by hand"})
			byTemplate := strategy == "" || strategy == common.RestartRollout
			if yes != want || alone != (tc.alone && byTemplate) {
				t.Errorf("a pod %s with the strategy %q: restarted %v, left alone %v", tc.reason, strategy, yes, alone)
			}
		}
	}
}

// The pods of a target are looked at only when the mark alone does not restart them.
func TestPodSelectorOfATarget(t *testing.T) {
	chosen := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	rolls, stays := workload{selector: chosen}, workload{selector: chosen, onDelete: true}
	for _, tc := range []struct {
		reason   string
		strategy common.RestartStrategy
		is       []workload
		want     string
	}{
		{"restarted by its template", common.RestartRollout, []workload{rolls}, labels.Nothing().String()},
		{"updated by hand", common.RestartRollout, []workload{stays}, "app=web"},
		{"evicted", common.RestartEvict, []workload{rolls}, "app=web"},
		{"not there", common.RestartEvict, nil, labels.Nothing().String()},
	} {
		req := Request{Target: &Target{}, Policy: common.RestartPolicy{Strategy: tc.strategy}}
		got, err := req.podSelector(tc.is)
		if err != nil || got.String() != tc.want {
			t.Errorf("%s: %q, %v; want %q", tc.reason, got, err, tc.want)
		}
	}
}
