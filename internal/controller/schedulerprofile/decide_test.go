// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// refusal is the end of kube-scheduler's log when it does not start.
const refusal = "I1122 12:00:00.0 1 serving.go:411] \"Generated self-signed cert\"\n" +
	`E1122 12:00:00.1 1 run.go:72] "command failed" err="strict decoding error: unknown field \"profiles[0].plugins.scores\""` + "\n"

func of(hash string, ready bool, names ...string) (all []pod) {
	for _, n := range names {
		all = append(all, pod{name: n, template: hash, hash: hash, ready: ready})
	}
	return all
}

func TestDecide(t *testing.T) {
	const former, alone, others = "meanwhile former pods continue to serve", "meanwhile no pod serves the profiles", "meanwhile other pods serve the profiles"
	failing := func(text string) []pod { return []pod{{name: "c", template: "new", hash: "new", failed: text}} }
	pulling := []pod{{name: "c", template: "new", hash: "new", waiting: "ImagePullBackOff", message: `Back-off pulling image "x"`}}
	held := func(v view) view {
		v.holder, v.renewed, v.leaseFor = "a_5b7e", noon.Add(-14*time.Second), 15*time.Second
		return v
	}
	newer := pod{name: "c", template: "2", hash: "new"} // with another image
	older := []pod{{name: "a", template: "1", hash: "new", ready: true}, {name: "b", template: "1", hash: "new", ready: true}}
	for name, c := range map[string]struct {
		view
		want verdict
	}{
		"another image, no pod of it yet": {
			held(view{template: "2", wanted: "new", served: "new", pods: older}), verdict{rolls, "pods are starting; " + former, "", "a"},
		},
		"another image starts": {
			held(view{template: "2", wanted: "new", served: "new", pods: append(slices.Clone(older), newer)}),
			verdict{rolls, "pods are starting; " + former, "", "a"},
		},
		"another program": {
			view{template: "2", program: true, pods: []pod{{name: "a", template: "1", ready: true}, {name: "b", template: "1", ready: true}}},
			verdict{rolls, "pods are starting; " + former, "", ""},
		},
		"all is well": {held(view{wanted: "new", pods: of("new", true, "a", "b")}), verdict{serves, "", "new", "a"}},
		"nobody holds the Lease": {
			view{wanted: "new", pods: of("new", true, "a", "b")},
			verdict{notServing, "no pod is active: none of them holds the Lease; see their logs", "new", ""},
		},
		"somebody else does": {
			view{wanted: "new", pods: of("new", true, "a", "b"), holder: "x_1", renewed: noon, leaseFor: time.Minute},
			verdict{notServing, "no pod is active: none of them holds the Lease; see their logs", "new", ""},
		},
		"the Lease has expired": {
			view{wanted: "new", pods: of("new", true, "a", "b"), holder: "a_1", renewed: noon.Add(-15 * time.Second), leaseFor: 15 * time.Second},
			verdict{notServing, "no pod is active: none of them holds the Lease; see their logs", "new", ""},
		},
		"a program need not use the Lease": {view{program: true, pods: of("", true, "a", "b")}, verdict{serves, "", "", ""}},
		"no pods":                          {view{wanted: "new"}, verdict{rolls, "pods are starting; " + alone, "", ""}},
		"too few pods":                     {held(view{wanted: "new", pods: of("new", true, "a")}), verdict{rolls, "pods are starting; " + others, "", "a"}},
		"too many pods":                    {held(view{wanted: "new", pods: of("new", true, "a", "b", "c")}), verdict{rolls, "pods are starting; " + others, "", "a"}},
		"one is not ready":                 {held(view{wanted: "new", pods: append(of("new", true, "a"), of("new", false, "b")...)}), verdict{rolls, "pods are starting; " + others, "", "a"}},
		"an old one is left":               {held(view{wanted: "new", pods: append(of("new", true, "b", "c"), of("old", true, "a")...)}), verdict{rolls, "pods are starting; " + former, "", "a"}},
		"it does not start": {
			held(view{wanted: "new", served: "old", pods: append(failing(refusal), of("old", true, "a", "b")...)}),
			verdict{configRefused, `kube-scheduler does not start with this configuration: strict decoding error: unknown field "profiles[0].plugins.scores"; correct spec.profiles; ` + former, "", "a"},
		},
		"the first one does not start": {
			view{wanted: "new", pods: failing(refusal)},
			verdict{configRefused, `kube-scheduler does not start with this configuration: strict decoding error: unknown field "profiles[0].plugins.scores"; correct spec.profiles; ` + alone, "", ""},
		},
		"an image without the flags of kube-scheduler": {
			held(view{own: true, wanted: "new", served: "old", pods: append(failing("Usage:\n  other [flags]\n\nError: unknown flag: --config\n"), of("old", true, "a", "b")...)}),
			verdict{configRefused, "kube-scheduler does not start with this configuration: Error: unknown flag: --config; " +
				"correct spec.profiles, or let spec.image be a kube-scheduler of the cluster's version; " + former, "", "a"},
		},
		"one that served has ended": {
			held(view{wanted: "new", served: "new", pods: append(failing("E1 server.go:300] \"Leaderelection lost\""), of("new", true, "a")...)}),
			verdict{notServing, `the pod c has ended and is started again: E1 server.go:300] "Leaderelection lost"; ` + others, "", "a"},
		},
		"it has ended, and is ready again": {
			held(view{wanted: "new", served: "new", pods: append([]pod{{name: "c", template: "new", hash: "new", ready: true, failed: "lost"}}, of("new", true, "a")...)}),
			verdict{serves, "", "new", "a"},
		},
		"a program ends": {
			view{program: true, pods: []pod{{name: "c", failed: "panic\ngoroutine 1"}}},
			verdict{notServing, "the pod c has ended and is started again: goroutine 1; " + alone, "", ""},
		},
		"no image": {
			held(view{wanted: "new", served: "old", pods: append(pulling, of("old", true, "a")...)}),
			verdict{imageRefused, `the image of the pod c cannot be used (ImagePullBackOff): Back-off pulling image "x"; correct it; ` + former, "", "a"},
		},
		"an end says more than an image": {
			view{wanted: "new", pods: append(pulling, failing("error: x")...)},
			verdict{configRefused, "kube-scheduler does not start with this configuration: error: x; correct spec.profiles; " + alone, "", ""},
		},
		"an image that could not be started once": {
			held(view{wanted: "new", pods: []pod{{name: "a", template: "new", hash: "new", ready: true, waiting: "StartError"}}}),
			verdict{rolls, "pods are starting; " + others, "", "a"},
		},
		"a container is being created": {
			view{wanted: "new", pods: []pod{{name: "c", template: "new", hash: "new", waiting: "ContainerCreating"}}}, verdict{rolls, "pods are starting; " + alone, "", ""},
		},
		"an image of the old ones": {
			view{wanted: "new", pods: []pod{{name: "c", template: "old", hash: "old", waiting: "ErrImagePull"}}}, verdict{rolls, "pods are starting; " + alone, "", ""},
		},
		"a quota": {
			view{wanted: "new", rejected: "exceeded quota", overdue: true, pods: of("old", true, "a")},
			verdict{podsRejected, "pods cannot be created in the operator's namespace: exceeded quota; " + former, "", ""},
		},
		"too slow": {
			view{wanted: "new", overdue: true, pods: of("new", false, "a")},
			verdict{notServing, "the pods have not become ready in 120 seconds; see their events and logs; " + alone, "", ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.now, c.template, c.replicas = noon, cmp.Or(c.template, c.wanted), 2
			if diff := gocmp.Diff(c.want, decide(c.view), gocmp.AllowUnexported(verdict{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestPodOf: what the kubelet reports of an image, and of a program that has ended.
func TestPodOf(t *testing.T) {
	crashes := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 10s"}}
	terminated := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 128, Reason: reason, Message: message}}
	}
	for name, c := range map[string]struct {
		corev1.ContainerStatus
		want pod
	}{
		"no such image": {
			corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not\nfound"}}},
			pod{waiting: "ErrImagePull", message: "found"},
		},
		"no such program in it": {
			corev1.ContainerStatus{State: crashes, LastTerminationState: terminated("StartError", `exec: "kube-scheduler": executable file not found in $PATH`)},
			pod{waiting: "StartError", message: `exec: "kube-scheduler": executable file not found in $PATH`},
		},
		"it has ended": {
			corev1.ContainerStatus{State: crashes, LastTerminationState: terminated("Error", "Error: unknown flag: --config\n")},
			pod{failed: "Error: unknown flag: --config\n", waiting: "CrashLoopBackOff", message: "back-off 10s"},
		},
		"it has ended without a word": {
			corev1.ContainerStatus{State: terminated("OOMKilled", "")}, pod{failed: "it has ended with 128 (OOMKilled)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			sidecar := c.ContainerStatus
			sidecar.Name, sidecar.State = "sidecar", terminated("Error", "of no concern")
			c.Name = containerName
			p := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{sidecar, c.ContainerStatus}}}
			if diff := gocmp.Diff(c.want, podOf(p), gocmp.AllowUnexported(pod{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestPodsOf: which pods count, and whose configurations are needed again.
func TestPodsOf(t *testing.T) {
	of := func(name string, phase corev1.PodPhase, ends bool) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{LabelConfig: "of-" + name}}}
		if p.Status.Phase = phase; ends {
			p.DeletionTimestamp = &metav1.Time{Time: noon}
		}
		return p
	}
	d := &appsv1.Deployment{}
	d.Spec.Template.Labels = map[string]string{LabelConfig: "new"}
	l := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: new("holds_1")}}
	pods, coming := podsOf([]corev1.Pod{
		of("runs", corev1.PodRunning, false), of("holds", corev1.PodRunning, true), of("leaves", corev1.PodRunning, true), of("evicted", corev1.PodFailed, false),
		of("ended", corev1.PodSucceeded, true), of("begins", corev1.PodPending, false),
	}, l, d)
	var counted []string
	for _, p := range pods {
		counted = append(counted, p.name)
	}
	if diff := gocmp.Diff([]string{"begins", "holds", "runs"}, counted); diff != "" {
		t.Errorf("pods, -want +got:\n%s", diff)
	}
	if diff := gocmp.Diff([]string{"new", "of-leaves"}, coming); diff != "" {
		t.Errorf("coming, -want +got:\n%s", diff)
	}
}

func TestLastLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "",
		"\n \n":                               "",
		"a\nb\n\n":                            "b",
		"a\r\nb\r\n":                          "b",
		refusal:                               `strict decoding error: unknown field "profiles[0].plugins.scores"`,
		`"command failed" err="x`:             `"command failed" err="x`,
		`"command failed" err="a\x1b[31m\nb"`: "a [31m b",
		"\x1b[31mred\u202e":                   "[31mred",
		"a\xffb":                              "a\ufffdb", "a\x00b": "a b",
		strings.Repeat("é", maxLine):       strings.Repeat("é", maxLine/2) + "…",
		"x" + strings.Repeat("é", maxLine): "x" + strings.Repeat("é", (maxLine-1)/2) + "…",
	} {
		if got := lastLine(text); got != want || !utf8.ValidString(got) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
