// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tutorials

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/internal/testenv"
)

// healthy and others are what Argo CD shows.
const healthy, progressing, degraded, suspended = "Healthy", "Progressing", "Degraded", "Suspended"

// healthCases are a change of a sample, and what Argo CD and Flux make of the object's status. The samples are used because
// there is one of every kind.
var healthCases = []struct {
	name, sample string
	change       func(o map[string]any)
	argo         string
	flux         status.Status
}{
	{"a namespace", "tenancy_v1alpha1_acmenamespace", nil, healthy, status.CurrentStatus},
	{"a tier", "tenancy_v1alpha1_deploymenttier", nil, healthy, status.CurrentStatus},
	{"an application", "workloads_v1alpha1_webapp", spec("ingress", map[string]any{"waitForAddress": false}), healthy, status.CurrentStatus},
	{"an application without an ingress controller", "workloads_v1alpha1_webapp", nil, progressing, status.InProgressStatus},
	{"a schedule", "batch_v1alpha1_crontab", nil, healthy, status.CurrentStatus},
	{"a suspended schedule", "batch_v1alpha1_crontab", spec("suspend", true), suspended, status.CurrentStatus},
	{"a paused schedule", "batch_v1alpha1_crontab", pause, suspended, status.InProgressStatus},
	{"a watcher without its ConfigMap", "autoreboot_v1alpha1_configwatcher", nil, degraded, status.FailedStatus},
	{"a window that never opens", "autoreboot_v1alpha1_configwatcher", spec("restart", neverOpens), degraded, status.FailedStatus},
	{"a policy without its Deployment", "autoreboot_v1alpha1_rebootpolicy", nil, degraded, status.FailedStatus},
	{"an election without pods", "coordination_v1alpha1_leaderelection", nil, progressing, status.InProgressStatus},
}

// neverOpens is what the schema accepts and the operator does not.
var neverOpens = map[string]any{"windows": []any{map[string]any{"schedule": "0 0 31 2 *", "duration": "1h"}}}

// spec sets a field of spec.
func spec(field string, value any) func(map[string]any) {
	return func(o map[string]any) { o["spec"].(map[string]any)[field] = value }
}

func pause(o map[string]any) {
	o["metadata"].(map[string]any)["annotations"] = map[string]any{"platform.acme.com/paused": "true"}
}

// testHealth reads real statuses by the check that the page gives to Argo CD, and by kstatus as Flux does.
func testHealth(t *testing.T, kubeconfig string) {
	script := healthScript(t)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	admin, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range healthCases {
		t.Run(c.name, func(t *testing.T) {
			objects, err := testenv.ReadObjects(testenv.RepoFile("config", "samples", c.sample+".yaml"))
			if err != nil || len(objects) != 1 {
				t.Fatalf("%d samples: %v", len(objects), err)
			}
			o := objects[0]
			o.SetNamespace(metav1.NamespaceDefault)
			if o.GetKind() != "DeploymentTier" { // its names are fixed
				o.SetName(fmt.Sprintf("health-%d", i))
			}
			if o.GetKind() == "WebApp" { // a host name belongs to one of them
				spec("webAppHostname", fmt.Sprintf("health-%d.acme.com", i))(o.Object)
			}
			if c.change != nil {
				c.change(o.Object)
			}
			if argo, _, err := health(script, o.Object); err != nil || o.GetKind() != "DeploymentTier" && argo != progressing {
				t.Errorf("before it has a status: %s, %v", argo, err)
			}
			if err := admin.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			awaitHealth(t, admin, script, o, c.argo, c.flux)
			if err := admin.Delete(t.Context(), o); err != nil {
				t.Error(err)
			}
		})
	}
}

// awaitHealth waits until the operator has looked at the object and both tools show what is expected.
func awaitHealth(t *testing.T, admin client.Client, script string, o *unstructured.Unstructured, argo string, flux status.Status) {
	t.Helper()
	var got string
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return false, err
		}
		shown, message, err := health(script, o.Object)
		if err != nil {
			return false, err
		}
		result, err := status.Compute(o)
		if err != nil {
			return false, err
		}
		got = fmt.Sprintf("Argo CD: %s (%s), Flux: %s (%s)", shown, message, result.Status, result.Message)
		_, found, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		return shown == argo && result.Status == flux && message != "" && (found || o.GetKind() == "DeploymentTier"), nil
	})
	if err != nil {
		t.Errorf("%v: %s, want %s and %s\n%v", err, got, argo, flux, o.Object["status"])
	}
}

// healthScript is the Lua code on the page.
func healthScript(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(testenv.RepoFile("docs", "how-to", "gitops.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```").FindAllSubmatch(page, -1) {
		var cm struct{ Data map[string]string }
		if yaml.Unmarshal(m[1], &cm) != nil || cm.Data["resource.customizations"] == "" {
			continue
		}
		var kinds map[string]map[string]string
		if err := yaml.UnmarshalStrict([]byte(cm.Data["resource.customizations"]), &kinds); err != nil {
			t.Fatal(err)
		}
		return kinds["*.acme.com/*"]["health.lua"]
	}
	t.Fatal("the page has no health check")
	return ""
}

// health runs a check as Argo CD does: obj is the object, and only the basic library is there.
func health(script string, object map[string]any) (shown, message string, err error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	if err := state.CallByParam(lua.P{Fn: state.NewFunction(lua.OpenBase), Protect: true}); err != nil {
		return "", "", err
	}
	state.SetGlobal("obj", toLua(state, object))
	if err := state.DoString(script); err != nil {
		return "", "", err
	}
	result, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return "", "", fmt.Errorf("the check returns %s", state.Get(-1).Type())
	}
	return result.RawGetString("status").String(), result.RawGetString("message").String(), nil
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for k, v := range value {
			table.RawSetString(k, toLua(state, v))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, v := range value {
			table.Append(toLua(state, v))
		}
		return table
	case string:
		return lua.LString(value)
	case bool:
		return lua.LBool(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	default:
		return lua.LNil
	}
}
