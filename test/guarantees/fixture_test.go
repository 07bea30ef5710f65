// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/acme/platform-operator/internal/engine"
)

// fixtures are those of all rows of the table. The file of a kind joins them: var _ = fixture("Kind", &fixtureOfKind{}).
var fixtures = map[string]Fixture{}

func fixture(kind string, f Fixture) Fixture {
	fixtures[kind] = f
	return f
}

// Fixture tells the harness what it cannot know about a kind. Everything that is made for an object has
// the object's unique name: it is the name of a cluster-scoped object, and the name of the Namespace of
// all else, so that every write for it carries that name in its URL.
type Fixture interface {
	// LeavesOut says why the kind leaves out a guarantee, or a part of one: "G5", "G4 deletion".
	LeavesOut() map[string]string
	// Start starts what the suite needs once, such as a server that stands for an outside system.
	Start()
	// Prepare prepares a control plane: it makes what all objects of the kind need, and starts what stands in for controllers.
	Prepare()
	// Configuration is the kind's section of the operator's configuration. Tries after errors are to be
	// at most a second apart.
	Configuration() string
	// Secretive lists configurations with which the operator reads Secrets.
	Secretive(canary string) []Secretive
	// External is the outside system that gets reports of objects; nil when there is none.
	External() External

	// Name gives the sample its unique name; the harness has set metadata.
	Name(sample engine.Object, unique string)
	// Settled reports whether a Ready object also shows what others than the operator write late.
	Settled(engine.Object) bool
	// Surround makes, in the Namespace of an object that is about to be created, what the object is about.
	Surround(unique string)
	// Reads is how many requests to read something a run may make that changes nothing, beside what is watched.
	Reads() float64
	// Childless tells that the kind keeps no children in a wanted state, so that there is nothing to
	// repair. What it does to its surroundings are Happenings.
	Childless() bool
	// TimeStands tells that the operator's time stands in the specs of the kind, until Change lets what it is about come.
	TimeStands() bool
	// Due is the instant at which Action follows by itself, of a kind whose time stands.
	Due(engine.Object) time.Time
	// Absences are what an operator that was away makes up for.
	Absences() []Absence
	// Change changes an object, or what surrounds it, so that the one write follows that Action gives.
	Change(o engine.Object, unique string)
	Action(unique string) string
	// Transitions are changes of an object that make the operator write more than once.
	Transitions() map[string]func(engine.Object)
	// Happenings are what happens around a Ready object and makes the operator write more than once.
	Happenings() []Happening
	// Deletions are the ways in which objects are deleted.
	Deletions() []Deletion
	// Lingering is what Ready says while an object that is deleted waits for its children to go.
	Lingering() string
	// Invalidate makes an object one that the schema refuses and that the operator must yet be able to
	// delete.
	Invalidate(o *unstructured.Unstructured)
	// Tamper lists merge patches, each of which takes something from a child that the operator wants.
	Tamper(child *unstructured.Unstructured) []string
	// Foreign lists merge patches of a child that are not the operator's business.
	Foreign(child *unstructured.Unstructured) []string
	// Breakages are what makes objects not Ready.
	Breakages() []Breakage
}

// Ordinary is the part of a Fixture of a kind that has nothing special: embedded, it leaves to say only
// what is.
type Ordinary struct{}

// LeavesOut implements Fixture.
func (Ordinary) LeavesOut() map[string]string { return nil }

// Start implements Fixture.
func (Ordinary) Start() {}

// Prepare implements Fixture.
func (Ordinary) Prepare() {}

// Configuration implements Fixture.
func (Ordinary) Configuration() string { return "" }

// Secretive implements Fixture.
func (Ordinary) Secretive(string) []Secretive { return nil }

// External implements Fixture.
func (Ordinary) External() External { return nil }

// Name implements Fixture.
func (Ordinary) Name(engine.Object, string) {}

// Settled implements Fixture.
func (Ordinary) Settled(engine.Object) bool { return true }

// Surround implements Fixture.
func (Ordinary) Surround(string) {}

// Reads implements Fixture.
func (Ordinary) Reads() float64 { return 0 }

// Childless implements Fixture.
func (Ordinary) Childless() bool { return false }

// TimeStands implements Fixture.
func (Ordinary) TimeStands() bool { return false }

// Due implements Fixture.
func (Ordinary) Due(engine.Object) time.Time { return time.Time{} }

// Absences implements Fixture.
func (Ordinary) Absences() []Absence { return nil }

// Transitions implements Fixture.
func (Ordinary) Transitions() map[string]func(engine.Object) { return nil }

// Happenings implements Fixture.
func (Ordinary) Happenings() []Happening { return nil }

// Deletions implements Fixture.
func (Ordinary) Deletions() []Deletion {
	return []Deletion{{Name: "Delete", Prepare: func(engine.Object) {}}}
}

// Lingering implements Fixture.
func (Ordinary) Lingering() string { return "is being deleted" }

// Tamper implements Fixture.
func (Ordinary) Tamper(*unstructured.Unstructured) []string { return nil }

// Foreign implements Fixture.
func (Ordinary) Foreign(*unstructured.Unstructured) []string { return nil }

// Happening is something that happens around an object.
type Happening struct {
	Name string
	// Do brings it about, and Done tells what the operator has yet to do.
	Do   func(unique string)
	Done func(unique string) error
}

// Absence is something that passes while the operator is away.
type Absence struct {
	Name string
	// Prepare changes the object before it is created.
	Prepare func(engine.Object)
	// Pass lets it pass.
	Pass func(engine.Object)
	// MadeUp tells what differs from what has to be made up for.
	MadeUp func(unique string) error
}

// Deletion is one way of deleting an object.
type Deletion struct {
	Name string
	// Prepare changes the object before it is created.
	Prepare func(engine.Object)
	// Keeps tells that the children stay, without the operator's marks.
	Keeps bool
}

// Secretive is a configuration with Secrets in it.
type Secretive struct {
	Name          string
	Configuration string
	// Secrets are created in the operator's namespace.
	Secrets []*corev1.Secret
	// Used reports whether the operator has sent the secrets to where they belong.
	Used func() bool
}

// External is an outside system.
type External interface {
	// Answer sets the HTTP status of all answers from now on.
	Answer(code int)
	// Tried and Told count what was said about the object of a unique name: all of it, and what was
	// answered with success.
	Tried(unique string) int
	Told(unique string) int
	// WayOut is the annotation that, being "true", lets an object go without the outside system.
	WayOut() string
}

// Breakage is one way of making an object not Ready.
type Breakage struct {
	Name string
	// Unborn means that the object is created after Break.
	Unborn bool
	// Prepare changes the object before it is created; nil changes nothing.
	Prepare func(engine.Object)
	// Break breaks something of the object with the unique name, and Mend undoes it.
	Break, Mend func(unique string)
	// Announced is how many statuses come before the attempt that fails: what is about to be done is recorded first.
	Announced int
	// While is the reason with which Ready may be False before: whether pods start shows after some time. Empty if it shows at once.
	While string
	// Reason is the reason of Ready then, and Status what kstatus reads.
	Reason string
	Status status.Status
}
