// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package names_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/acme/platform-operator/internal/names"
)

func TestChild(t *testing.T) {
	long := strings.Repeat("a", 253)
	for _, c := range []struct{ reason, owner, suffix, want string }{
		{"short names are readable", "shop", "config", "shop-config"},
		{"no suffix, no dash", "shop", "", "shop"},
		{"63 characters still fit", long[:63], "", long[:63]},
		{"63 with a suffix still fit", long[:61], "x", long[:61] + "-x"},
		{"a dot is no part of a label", "a.b", "", "a-b-" + ending(t, "a.b", "")},
		{"64 do not fit", long[:64], "", long[:52] + "-" + ending(t, long[:64], "")},
		{"the cut leaves one dash", long[:51] + "-" + long[:50], "", long[:51] + "-" + ending(t, long[:51]+"-"+long[:50], "")},
	} {
		if got := names.Child(c.owner, c.suffix); got != c.want {
			t.Errorf("%s: Child(%q, %q) = %q, want %q", c.reason, c.owner, c.suffix, got, c.want)
		}
	}
}

// hash is the hash in the name of a Job, which has to be ten hexadecimal digits.
func hash(t *testing.T, owner string) string {
	t.Helper()
	return tail(t, strings.TrimSuffix(names.Job(owner, "202703011210"), "-202703011210"))
}

// ending is the hash at the end of a child's name.
func ending(t *testing.T, owner, suffix string) string {
	t.Helper()
	return tail(t, names.Child(owner, suffix))
}

func tail(t *testing.T, name string) string {
	t.Helper()
	end := name[strings.LastIndex(name, "-")+1:]
	if len(end) != 10 || strings.Trim(end, "0123456789abcdef") != "" {
		t.Fatalf("%q does not end in a hash", name)
	}
	return end
}

// TestChildIsUnique checks that no two owners share a child's name, and that each is a valid label.
func TestChildIsUnique(t *testing.T) {
	owners := alike()
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		owners = append(owners, subdomain(random))
	}
	for _, suffix := range []string{"", "x", "config", strings.Repeat("s", 40)} {
		seen := map[string]string{}
		for _, owner := range owners {
			if errs := validation.IsDNS1123Subdomain(owner); errs != nil {
				t.Fatalf("the test's owner %q is not valid: %v", owner, errs)
			}
			name := names.Child(owner, suffix)
			if errs := validation.IsDNS1123Label(name); errs != nil {
				t.Errorf("Child(%q, %q) = %q: %v", owner, suffix, name, errs)
			}
			if other, taken := seen[name]; taken && other != owner {
				t.Errorf("%q and %q with the suffix %q share %q", owner, other, suffix, name)
			}
			if again := names.Child(owner, suffix); again != name {
				t.Errorf("Child(%q, %q) is %q and then %q", owner, suffix, name, again)
			}
			seen[name] = owner
		}
	}
}

func TestJob(t *testing.T) {
	const slot = "202703011210"
	long := strings.Repeat("a", 253)
	for _, c := range []struct{ reason, owner, want string }{
		{"short names are readable", "report", "report-" + slot},
		{"48 characters still fit", long[:48], long[:48] + "-" + slot},
		{"49 do not", long[:49], long[:37] + "-" + hash(t, long[:49]) + "-" + slot},
		{"a dot is no part of a host name", "a.b", "a-b-" + hash(t, "a.b") + "-" + slot},
	} {
		if got := names.Job(c.owner, slot); got != c.want {
			t.Errorf("%s: Job(%q) = %q, want %q", c.reason, c.owner, got, c.want)
		}
	}
	seen := map[string]string{}
	for _, owner := range alike() {
		name := names.Job(owner, slot)
		if errs := validation.IsDNS1123Label(name + "-9"); errs != nil {
			t.Errorf("Job(%q) = %q gives pods no host name: %v", owner, name, errs)
		}
		if other, taken := seen[name]; taken && other != owner {
			t.Errorf("%q and %q share %q", owner, other, name)
		}
		seen[name] = owner
	}
}

func TestDigests(t *testing.T) {
	if got := names.Digest("a"); got != "ca978112ca" {
		t.Errorf("the digest of a is %s: names that exist have another one", got)
	}
	long := strings.Repeat("a", 253)
	for _, c := range []struct {
		reason, name, owner string
		want                bool
	}{
		{"one of the owner", "web-run-0123456789", "web", true},
		{"one of a long owner", names.Job(long, "run-"+names.Digest("x")), long, true},
		{"one of another owner", "web-run-0123456789", "other", false},
		{"another prefix", "web-x-0123456789", "web", false},
		{"no digest", "web-run-01234567x9", "web", false},
		{"a short one", "web-run-012345678", "web", false},
		{"nothing", "", "web", false},
	} {
		if got := names.IsDigested(c.name, c.owner, "run-"); got != c.want {
			t.Errorf("%s: IsDigested(%q) = %v", c.reason, c.name, got)
		}
	}
}

// alike lists names that differ only where a name is cut or rewritten.
func alike() []string {
	all := []string{
		"a.b", "a-b", "a.b.c", "a-b.c", "a.b-c", "a-b-c",
		strings.Repeat("a", 61) + "b", strings.Repeat("a", 61) + "c", // the same in the first 60
		strings.Repeat("a-", 40) + "a", strings.Repeat("a.", 40) + "a", strings.Repeat("a--", 30) + "a",
	}
	for length := 50; length <= 253; length++ {
		all = append(all, strings.Repeat("a", length))
	}
	for i := range 100 {
		all = append(all, fmt.Sprintf("%s%03d", strings.Repeat("x", 250), i))
	}
	return all
}

var aroundDot = regexp.MustCompile(`[-.]*\.[-.]*`)

// subdomain makes a valid name of up to 253 characters out of few different ones.
func subdomain(random *rand.Rand) string {
	text := make([]byte, 1+random.IntN(253))
	for i := range text {
		text[i] = "ab0-."[random.IntN(5)]
	}
	name := strings.Trim(aroundDot.ReplaceAllString(string(text), "."), "-.")
	if name == "" {
		return "a"
	}
	return name
}

func TestFieldManager(t *testing.T) {
	manager := names.FieldManager("webapp")
	if manager != "platform-operator-webapp" || !names.IsFieldManager(manager) {
		t.Errorf("FieldManager = %q, recognised: %v", manager, names.IsFieldManager(manager))
	}
	for _, other := range []string{"", "kubectl", "platform-operator", "my-platform-operator-webapp"} {
		if names.IsFieldManager(other) {
			t.Errorf("%q counts as one of the operator's", other)
		}
	}
}

func TestKeysAreValid(t *testing.T) {
	for _, key := range []string{names.LabelManagedBy, names.LabelOwnerUID, names.AnnotationOwner, names.AnnotationPaused} {
		if errs := validation.IsQualifiedName(key); errs != nil {
			t.Errorf("%q: %v", key, errs)
		}
	}
	if errs := validation.IsValidLabelValue(names.Operator); errs != nil {
		t.Errorf("%q: %v", names.Operator, errs)
	}
}

func TestRestartMark(t *testing.T) {
	seen := map[string]string{}
	long := strings.Repeat("a", 253)
	for _, of := range [][2]string{
		{"configwatcher", "web"},
		{"rebootpolicy", "web"},
		{"configwatcher", "my-config"},
		{"configwatcher", "my.config"},
		{"configwatcher", long},
		{"configwatcher", long[1:]},
		{"configwatcher", long[:252] + "b"},
		{"rebootpolicy", long},
		{"configwatcher", long[:49]},
		{"configwatcher", long[:50]},
	} {
		key := names.RestartMark(of[0], of[1])
		if errs := validation.IsQualifiedName(key); len(errs) > 0 {
			t.Errorf("%s: %v", key, errs)
		}
		if other, taken := seen[key]; taken {
			t.Errorf("%v and %s have one mark", of, other)
		}
		seen[key] = of[0] + "/" + of[1]
	}
	if got, want := names.RestartMark("configwatcher", "web"), "autoreboot.acme.com/configwatcher.web"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestLeaderMark(t *testing.T) {
	seen := map[string]string{}
	long := strings.Repeat("a", 253)
	for _, election := range []string{"ledger", "my-app", "my.app", names.Child("my.app", ""), long, long[1:], names.Child(long, ""), strings.Repeat("a.", 126) + "a"} {
		key := names.LeaderMark(election)
		if errs := validation.IsQualifiedName(key); len(errs) > 0 {
			t.Errorf("%s: %v", key, errs)
		}
		if other, taken := seen[key]; taken {
			t.Errorf("%s and %s have one mark", election, other)
		}
		seen[key] = election
	}
	if got, want := names.LeaderMarkBy("ledger"), "by.coordination.acme.com/ledger"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := names.LeaderMark("ledger"), "coordination.acme.com/ledger"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestOwnerMark(t *testing.T) {
	at := func(ns, name string) *metav1.ObjectMeta { return &metav1.ObjectMeta{Namespace: ns, Name: name} }
	for mark, owner := range map[string]*metav1.ObjectMeta{"kind/n": at("", "n"), "kind/ns/n": at("ns", "n")} {
		if got := names.OwnerMark("kind", owner); got != mark {
			t.Errorf("OwnerMark = %q, want %q", got, mark)
		}
		if kind, ns, name := names.ParseOwnerMark(mark); kind != "kind" || ns != owner.Namespace || name != owner.Name {
			t.Errorf("ParseOwnerMark(%q) = %q, %q, %q", mark, kind, ns, name)
		}
	}
	for _, mark := range []string{"", "kind", "kind/", "/n", "kind//n", "a/b/c/d", "/"} {
		if kind, ns, name := names.ParseOwnerMark(mark); kind+ns+name != "" {
			t.Errorf("ParseOwnerMark(%q) = %q, %q, %q, want none", mark, kind, ns, name)
		}
	}
}

func TestMarked(t *testing.T) {
	owner := &metav1.ObjectMeta{Name: "n", UID: "u"}
	for _, c := range []struct {
		reason, uid, mark string
		owner             *metav1.ObjectMeta
		want              bool
	}{
		{"both marks", "u", "kind/n", owner, true},
		{"the annotation was taken off", "u", "", owner, true},
		{"the label was taken off", "", "kind/n", owner, true},
		{"an earlier owner of the name left it", "earlier", "kind/n", owner, true},
		{"no marks", "", "", owner, false},
		{"another owner's", "v", "kind/m", owner, false},
		{"another kind's", "v", "other/n", owner, false},
		{"an owner that is not created yet has no UID", "", "", &metav1.ObjectMeta{Name: "n"}, false},
	} {
		o := &metav1.ObjectMeta{Labels: map[string]string{names.LabelOwnerUID: c.uid}, Annotations: map[string]string{names.AnnotationOwner: c.mark}}
		if got := names.Marked(o, "kind", c.owner); got != c.want {
			t.Errorf("%s: Marked = %v", c.reason, got)
		}
	}
}
