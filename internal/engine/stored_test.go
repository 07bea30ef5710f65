// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

// TestAmountsAreSentAsTheyAreStored: wherever a child has a list of amounts, these have thousandths at most, and the list that the kind
// gave is left as it was.
func TestAmountsAreSentAsTheyAreStored(t *testing.T) {
	given := corev1.ResourceList{"cpu": resource.MustParse("100u"), "memory": resource.MustParse("1Gi")}
	requirements := func() *corev1ac.ResourceRequirementsApplyConfiguration {
		return corev1ac.ResourceRequirements().WithRequests(given).WithLimits(given)
	}
	pod := corev1ac.PodTemplateSpec().WithSpec(corev1ac.PodSpec().WithOverhead(given).
		WithContainers(corev1ac.Container().WithResources(requirements())).WithInitContainers(corev1ac.Container().WithResources(requirements())))
	claim := corev1ac.PersistentVolumeClaim("c", "ns").WithSpec(corev1ac.PersistentVolumeClaimSpec().
		WithResources(corev1ac.VolumeResourceRequirements().WithRequests(given)))
	for _, c := range []Child{
		NewChild(appsv1ac.Deployment("d", "ns").WithSpec(appsv1ac.DeploymentSpec().WithTemplate(pod)), appsv1ac.ExtractDeployment),
		NewChild(appsv1ac.StatefulSet("s", "ns").WithSpec(appsv1ac.StatefulSetSpec().WithVolumeClaimTemplates(claim)), appsv1ac.ExtractStatefulSet),
		NewChild(corev1ac.ResourceQuota("q", "ns").WithSpec(corev1ac.ResourceQuotaSpec().WithHard(given)), corev1ac.ExtractResourceQuota),
		NewChild(corev1ac.LimitRange("l", "ns").WithSpec(corev1ac.LimitRangeSpec().WithLimits(corev1ac.LimitRangeItem().WithMax(given).WithDefault(given))),
			corev1ac.ExtractLimitRange),
	} {
		text, err := json.Marshal(c.intent)
		if err != nil || strings.Contains(string(text), "100u") || !strings.Contains(string(text), `"cpu":"1m"`) || !strings.Contains(string(text), `"memory":"1Gi"`) {
			t.Errorf("%s: %s, %v", c, text, err)
		}
	}
	if want := (corev1.ResourceList{"cpu": resource.MustParse("100u"), "memory": resource.MustParse("1Gi")}); !reflect.DeepEqual(given, want) {
		t.Errorf("the list that was given has become %v", given)
	}
}

// overrulingOf has a child of a namespace overruled.
func (o *overrulings) overrulingOf(namespace, uid string, now time.Time) weak.Pointer[corev1ac.ConfigMapApplyConfiguration] {
	intent := corev1ac.ConfigMap("c", namespace).WithData(map[string]string{"a": "b"})
	answer := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, UID: types.UID(uid), ResourceVersion: "7"}}
	o.note(NewChild(intent, corev1ac.ExtractConfigMap), answer, now, Block("ChildOverruled", "it differs"))
	return weak.Make(intent)
}

// TestOverrulingsAreSmall: of a child that was overruled, what was sent is not kept, and those of one namespace do not displace others'.
func TestOverrulingsAreSmall(t *testing.T) {
	o, now := &overrulings{}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	sent := o.overrulingOf("team", "first", now)
	for i := range 2 * maxOverrulings {
		o.overrulingOf("flood", fmt.Sprint(i), now.Add(time.Duration(i)))
	}
	if runtime.GC(); sent.Value() != nil {
		t.Error("what was sent is kept")
	}
	if len(o.all) > maxOverrulings {
		t.Errorf("%d are recorded", len(o.all))
	}
	child := func(value string) Child {
		return NewChild(corev1ac.ConfigMap("c", "team").WithData(map[string]string{"a": value}), corev1ac.ExtractConfigMap)
	}
	live := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", UID: "first", ResourceVersion: "7"}}
	if _, still := o.still(child("b"), live, now); !still {
		t.Error("that of another namespace was displaced, or the same child is another one")
	}
	if _, still := o.still(child("c"), live, now); still {
		t.Error("a child that has changed is not sent")
	}
}

// TestOverruledFieldsAreShort: a message names fields, not what tenants write into keys.
func TestOverruledFieldsAreShort(t *testing.T) {
	out := overruled(identityOf(&corev1.ConfigMap{}), []string{"metadata.annotations[" + strings.Repeat("x", 1<<20) + "]"})
	if len(out.message) > 1500 {
		t.Errorf("the message has %d bytes", len(out.message))
	}
}
