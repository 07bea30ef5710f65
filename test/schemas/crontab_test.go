// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/acme/platform-operator/internal/schedule"
	"github.com/acme/platform-operator/internal/testenv/schematest"
)

// cronTabNamed is a CronTab of a name with further lines in its spec.
func cronTabNamed(name string, lines ...string) string {
	text := "apiVersion: batch.acme.com/v1alpha1\nkind: CronTab\nmetadata: {name: " + name + ", namespace: default}\nspec:\n"
	if !strings.Contains(strings.Join(lines, "\n"), "image:") {
		text += "  image: registry.acme.com/report\n"
	}
	for _, l := range lines {
		text += "  " + l + "\n"
	}
	return text
}

func cronTab(lines ...string) string { return cronTabNamed("report", lines...) }

const (
	resourceName = "every key must be the name of a resource"

	noFields = `must have five fields, "minute hour day-of-month month day-of-week", such as "5 0 * * *", or be @hourly, @daily, ` +
		`@midnight, @weekly, @monthly, @yearly or @annually; there are no seconds and no years`
	noMinute  = "minute (the first field) must be 0-59"
	noHour    = "hour (the second field) must be 0-23"
	noDay     = "day of month (the third field) must be 1-31"
	noMonth   = "month (the fourth field) must be 1-12 or JAN-DEC, in three letters"
	noWeekday = "day of week (the fifth field) must be 0-7 or SUN-SAT, in three letters, MON and not MONDAY"
)

func TestCronSpec(t *testing.T) {
	for _, spec := range []string{
		"5 0 * * *", "* * * * */5", "*/15 * * * *", "0,30 8-18 * * MON-FRI", "H H(0-7) * * *", "H/15 * * * *", "H(0-29)/10 * * * *",
		"0 0 1 JAN,jul sun", "0 0 30 2 *", " 5  0 * * * ", `5\t0 * * *`, "@hourly", "@DAILY", "@midnight", "@weekly", "@monthly", "@yearly",
		"@annually", "0 0 * * 7", "00 00 * * *", "10/5 * * * *", "59 23 31 12 6", "0-59 0-23 1-31 1-12 0-7", "H(0-59) H(0-23) H(1-31) H(1-12) H(SUN-SAT)",
		"0 0 01,*/2 DEC-DEC/1 fri,Sat", "*/60 */24 */31 */12 */7",
	} {
		t.Run("accepted "+spec, func(t *testing.T) {
			schematest.WantCauses(t, schematest.Create(t, cronTab(`cronSpec: "`+spec+`"`)))
			text := strings.ReplaceAll(spec, `\t`, "\t")
			if _, err := schedule.Parse(text, "", "seed"); err != nil {
				t.Errorf("the schema accepts what cannot be parsed: %v", err)
			}
		})
	}
	for spec, want := range map[string]string{
		"* * * * * *":                           noFields, // six fields: there are no seconds
		"0 5 0 * * *":                           noFields,
		"* * * *":                               noFields,
		"":                                      noFields,
		"every day":                             noFields,
		"@every 1h":                             noFields,
		"@reboot":                               noFields,
		"TZ=UTC 5 0 * * *":                      noFields,
		"nonsense":                              noFields,
		"61 * * * *":                            noMinute + ", as a value, range, step or list: 0, 10-20, */15, 0,30, H or H(0-29); write 0 for the full hour",
		"a 0 * * *":                             noMinute,
		"5 0 * * FRIDAY":                        noWeekday,
		"-5 0 * * *":                            noMinute,
		"1,,2 0 * * *":                          noMinute,
		"5; 0 * * *":                            noMinute,
		"5 0 ? * *":                             noDay,
		"5 0 L * *":                             noDay,
		"60 * * * *":                            noMinute,
		"5 24 * * *":                            noHour,
		"5 0 0 * *":                             noDay,
		"5 0 32 * *":                            noDay,
		"5 0 * 13 *":                            noMonth,
		"5 0 * january *":                       noMonth,
		"5 0 * * 8":                             noWeekday,
		"5 0 * * ?":                             noWeekday,
		"5 0 1,L * *":                           noDay,
		"5 0 1-32 * *":                          noDay,
		"H(0-60) * * * *":                       noMinute,
		"* * * * MON#2":                         noWeekday,
		"$(rm) 0 * * *":                         noMinute,
		"H() * * * *":                           noMinute,
		"*/ * * * *":                            noMinute,
		"1 2 3 4 5\\u0000":                      noWeekday,
		strings.Repeat("1,", 127) + "1 * * * *": "Too long: may not be more than 256 bytes",
	} {
		t.Run("refused "+spec, func(t *testing.T) {
			schematest.WantRefused(t, schematest.Create(t, cronTab(`cronSpec: "`+spec+`"`)), "spec.cronSpec", want)
		})
	}
}

func TestCronTabRefused(t *testing.T) {
	for _, tc := range []struct{ reason, give, field, want string }{
		{"no pods", "replicas: 0", "spec.replicas", "should be greater than or equal to 1"},
		{"eleven pods", "replicas: 11", "spec.replicas", "should be less than or equal to 10"},
		{"no image", `image: ""`, "spec.image", "should be at least 1 chars long"},
		{"an image with a blank", `image: "a b"`, "spec.image", "should match"},
		{"a time zone that is none", `timeZone: "Europe/../x"`, "spec.timeZone", "must be an IANA name && should match"},
		{"an offset for a time zone", `timeZone: "+02:00"`, "spec.timeZone", "must be an IANA name such as Europe/Berlin, or UTC; an offset such as +02:00 is none: write Etc/GMT-2"},
		{"an empty time zone", `timeZone: ""`, "spec.timeZone", "must be an IANA name && should match"},
		{"an unknown concurrencyPolicy", "concurrencyPolicy: Maybe", "spec.concurrencyPolicy", "supported values"},
		{"an unknown missedRuns.policy", "missedRuns: {policy: Some}", "spec.missedRuns.policy", "supported values"},
		{"no cap", "missedRuns: {max: 0}", "spec.missedRuns.max", "should be greater than or equal to 1"},
		{"a cap of 101", "missedRuns: {max: 101}", "spec.missedRuns.max", "should be less than or equal to 100"},
		{"a queue of none", "queueLimit: 0", "spec.queueLimit", "should be greater than or equal to 1"},
		{"a queue of 101", "queueLimit: 101", "spec.queueLimit", "should be less than or equal to 100"},
		{"a deadline that is no duration", "startingDeadline: soon", "spec.startingDeadline", "should match && must be from 10s"},
		{"a deadline shorter than a start takes", "startingDeadline: 9s", "spec.startingDeadline", "must be from 10s to 8760h"},
		{"a deadline of more than a year", "startingDeadline: 8761h", "spec.startingDeadline", "must be from 10s to 8760h"},
		{"a negative deadline", "activeDeadline: -1s", "spec.activeDeadline", "should match && must be from 1s"},
		{"a deadline of nothing", "activeDeadline: 0s", "spec.activeDeadline", "must be from 1s to 8760h"},
		{"a jitter of nothing", "jitter: 0s", "spec.jitter", "must be from 1s to 24h"},
		{"a jitter of more than a day", "jitter: 25h", "spec.jitter", "must be from 1s to 24h"},
		{"a negative history", "history: {succeeded: -1}", "spec.history.succeeded", "should be greater than or equal to 0"},
		{"a history of 101", "history: {failed: 101}", "spec.history.failed", "should be less than or equal to 100"},
		{"a history of seconds", "history: {maxAge: 59s}", "spec.history.maxAge", "must be from 1m to 87600h"},
		{"a duration that overflows", "history: {maxAge: 99999999999999h}", "spec.history.maxAge", "rule"},
		{"an unknown deletionPolicy", "deletionPolicy: Orphan", "spec.deletionPolicy", "supported values"},
		{"a negative backoffLimit", "backoffLimit: -1", "spec.backoffLimit", "should be greater than or equal to 0"},
		{"notBefore without a zone", `notBefore: "2027-01-01T00:00:00"`, "spec.notBefore", "should match && must be of type date-time"},
		{"the end before the beginning", `{notBefore: "2027-01-02T00:00:00Z", notAfter: "2027-01-01T00:00:00Z"}`, "spec.notAfter", "notBefore must be earlier than notAfter"},
		{"an end at the beginning", `{notBefore: "2027-01-01T01:00:00+01:00", notAfter: "2027-01-01T00:00:00Z"}`, "spec.notAfter", "notBefore must be earlier than notAfter"},
		{"a reserved label", "template: {metadata: {labels: {batch.acme.com/crontab: x}}}", "spec.template.metadata.labels", "are reserved"},
		{"a label of the Job", "template: {metadata: {labels: {job-name: x}}}", "spec.template.metadata.labels", "are reserved"},
		{"a label key that is none", `template: {metadata: {labels: {"a b": x}}}`, "spec.template.metadata.labels", "every key must be a label key"},
		{"a label value that is none", `template: {metadata: {labels: {a: "b c"}}}`, "spec.template.metadata.labels", "every value must be a label value"},
		{"a reserved annotation", "template: {metadata: {annotations: {batch.acme.com/slot: x}}}", "spec.template.metadata.annotations", "are reserved"},
		{"a volume without a source", "template: {spec: {volumes: [{name: a}]}}", "spec.template.spec.volumes[0]", "must have exactly one of"},
		{"a volume with two sources", "template: {spec: {volumes: [{name: a, emptyDir: {}, secret: {secretName: b}}]}}", "spec.template.spec.volumes[0]", "must have exactly one of"},
		{"an exponent that takes minutes", `resources: {requests: {cpu: "1e-100000000"}}`, "spec.resources.requests.cpu", "should match"},
		{"an exponent that is a fraction", `resources: {limits: {cpu: "1e1.5"}}`, "spec.resources.limits.cpu", "should match"},
		{"a negative quantity", `resources: {limits: {cpu: "-1"}}`, "spec.resources.limits.cpu", "should match"},
		{"a negative number for one", `resources: {limits: {cpu: -1}}`, "spec.resources.limits.cpu", "should be greater than or equal to 0"},
		{"a quantity of a hundred digits", `resources: {limits: {cpu: "` + strings.Repeat("9", 100) + `"}}`, "spec.resources.limits.cpu", "Too long"},
		{"huge pages without a size", `resources: {limits: {hugepages-x: 1}}`, "spec.resources.limits", resourceName},
		{"a resource that is none", `resources: {limits: {"a b": 1}}`, "spec.resources.limits", resourceName},
		{
			"the same in a divisor", `env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: "1e-100000000"}}}]`,
			"spec.env[0].valueFrom.resourceFieldRef.divisor", "should match",
		},
		{
			"the same in a volume", `template: {spec: {volumes: [{name: a, emptyDir: {sizeLimit: "1e-100000000"}}]}}`,
			"spec.template.spec.volumes[0].emptyDir.sizeLimit", "should match",
		},
		{"a variable that is none", `env: [{name: "A=B"}]`, "spec.env[0].name", "should match"},
		{"a key that no Secret has", "env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: a/b}}}]", "spec.env[0].valueFrom.secretKeyRef.key", "should match"},
		{"a Secret that is none", "envFrom: [{secretRef: {name: A b}}]", "spec.envFrom[0].secretRef.name", "should match"},
		{"an argument that is a book", "args: [" + strings.Repeat("a", 32769) + "]", "spec.args[0]", "Too long"},
		{"a node's label that is none", `template: {spec: {nodeSelector: {"a b": c}}}`, "spec.template.spec.nodeSelector", "every key must be a label key"},
		{"a value that no label has", `template: {spec: {nodeSelector: {a: "b c"}}}`, "spec.template.spec.nodeSelector.a", "should match"},
		{"an unknown operator", "template: {spec: {tolerations: [{key: a, operator: Like}]}}", "spec.template.spec.tolerations[0].operator", "supported values"},
		{"an unknown effect", "template: {spec: {tolerations: [{key: a, effect: Never}]}}", "spec.template.spec.tolerations[0].effect", "supported values"},
		{"a month that there is not", `notBefore: "2027-13-01T00:00:00Z"`, "spec.notBefore", "should match && must be of type date-time"},
		{"a service account that is none", `template: {spec: {serviceAccountName: "A b"}}`, "spec.template.spec.serviceAccountName", "must be the name of a ServiceAccount"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			lines := []string{tc.give}
			if inner, isMap := strings.CutPrefix(tc.give, "{"); isMap {
				lines = strings.Split(strings.TrimSuffix(inner, "}"), ", ")
			}
			schematest.WantRefused(t, schematest.Create(t, cronTab(lines...)), tc.field, strings.Split(tc.want, " && ")...)
		})
	}
}

func TestCronTabUnknownFieldsAreRefused(t *testing.T) {
	for _, give := range []string{
		"template: {spec: {hostNetwork: true}}", "template: {spec: {volumes: [{name: a, hostPath: {path: /}}]}}", "schedule: x",
	} {
		if got := schematest.Create(t, cronTab(give)); len(got) == 0 {
			t.Errorf("%s is accepted", give)
		}
	}
}

func TestCronTabImageIsRequired(t *testing.T) {
	text := "apiVersion: batch.acme.com/v1alpha1\nkind: CronTab\nmetadata: {name: a, namespace: default}\nspec: {}\n"
	schematest.WantCauses(t, schematest.Create(t, text), "spec.image: Required value")
}

func TestCronTabNames(t *testing.T) {
	longest := strings.Repeat("a", 61) + strings.Repeat("."+strings.Repeat("b", 63), 3)
	if len(longest) != 253 {
		t.Fatal(len(longest))
	}
	schematest.WantCauses(t, schematest.Create(t, cronTabNamed(longest)))
	if got := schematest.Create(t, cronTabNamed(longest+"c")); len(got) == 0 {
		t.Error("a name of 254 characters is accepted")
	}
}

// TestAccepted has every field once, in a form that users write.
func TestCronTabAccepted(t *testing.T) {
	schematest.WantCauses(t, schematest.Create(t, cronTab(
		`cronSpec: "H 2 * * *"`, "timeZone: America/Argentina/Buenos_Aires", "replicas: 10", "command: [sh]", "args: [-c, date]",
		"env: [{name: A, value: b}, {name: C, valueFrom: {secretKeyRef: {name: s, key: k}}}]", "envFrom: [{configMapRef: {name: c}}]",
		"volumeMounts: [{name: data, mountPath: /data}]", "resources: {requests: {cpu: 100m}}",
		"template: {metadata: {labels: {app: x}, annotations: {note: text}}, spec: {serviceAccountName: robot, nodeSelector: {disk: ssd},"+
			" tolerations: [{key: gpu, operator: Exists}], priorityClassName: low, terminationGracePeriodSeconds: 0, readOnlyRootFilesystem: true,"+
			" securityContext: {runAsUser: 1000}, volumes: [{name: data, persistentVolumeClaim: {claimName: d}}], imagePullSecrets: [{name: p}]}}",
		"concurrencyPolicy: Queue", "queueLimit: 5", "missedRuns: {policy: RunAll, max: 7}", "startingDeadline: 1h30m", "activeDeadline: 1.5h",
		"backoffLimit: 0", "suspend: true", `notBefore: "2027-01-01T00:00:00+01:00"`, `notAfter: "2027-12-31T23:59:59.5Z"`, "jitter: 5m",
		"history: {succeeded: 0, failed: 100, maxAge: 72h}", "deletionPolicy: Await")))
}

func TestCronTabDefaults(t *testing.T) {
	o := defaulted(t, cronTab())
	want := map[string]any{
		"image": "registry.acme.com/report", "cronSpec": "5 0 * * *", "replicas": int64(1), "concurrencyPolicy": "Forbid", "queueLimit": int64(10),
		"missedRuns": map[string]any{"policy": "RunLatest", "max": int64(10)}, "backoffLimit": int64(6), "deletionPolicy": "Stop",
		"history": map[string]any{"succeeded": int64(3), "failed": int64(3)},
	}
	if diff := cmp.Diff(want, o.Object["spec"]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if generation, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration"); generation != -1 {
		t.Errorf("observedGeneration is %d before the operator has seen the object", generation)
	}
}

func TestCronTabSample(t *testing.T) {
	schematest.WantCauses(t, create(t, sample(t, "batch_v1alpha1_crontab")))
}
