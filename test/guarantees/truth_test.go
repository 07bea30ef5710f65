// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"encoding/json"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// describeTruth has G12.
func describeTruth(k *kind) {
	Describe("G12: tells at once, and so that kstatus understands,", Label("G12"), func() {
		for _, b := range k.fixture.Breakages() {
			It(b.Name, func() {
				op := start()
				o := broken(op, k, b)
				told := slices.DeleteFunc(statuses(op, o), func(s common.Status) bool {
					c := meta.FindStatusCondition(s.Conditions, engine.Ready)
					return b.While != "" && (c == nil || c.Status == metav1.ConditionFalse && c.Reason == b.While)
				})
				Expect(len(told)).To(BeNumerically(">", b.Announced))
				c := meta.FindStatusCondition(told[b.Announced].Conditions, engine.Ready)
				Expect(c).NotTo(BeNil(), "the first status after the break has no Ready")
				Expect([]string{string(c.Status), c.Reason}).To(Equal([]string{"False", b.Reason}), "in the first status after the break")
				Expect(kstatus(k, o)).To(Equal(b.Status))

				b.Mend(o.GetName())
				Eventually(k.settled(o)).Should(Succeed())
				Expect(kstatus(k, o)).To(Equal(status.CurrentStatus))
			})
		}

		It("how far an object has come in its life", func() {
			op := start()
			op.Stop()
			o := k.make(unique("g12-life"))
			Expect(kstatus(k, o)).To(Equal(status.InProgressStatus), "the operator has not seen it yet")

			name, its := o.GetName(), k.statusPath(o)
			refused := op.Wire.Inject(testenv.Fault{Match: func(w testenv.Write) bool {
				return w.For(name) && w.Path != its
			}})
			op.Start()
			if !k.fixture.Childless() {
				Eventually(kstatus).WithArguments(k, o).Should(Equal(status.InProgressStatus))
				Eventually(refused.Tripped).Should(BeNumerically(">", 2))
				Expect(kstatus(k, o)).To(Equal(status.InProgressStatus), "it cannot be made")
			}
			refused.Heal()
			Eventually(k.settled(o)).Should(Succeed())
			Expect(kstatus(k, o)).To(Equal(status.CurrentStatus))

			op.Stop()
			seen := o.GetGeneration()
			Change(o, func(o engine.Object) { k.fixture.Change(o, o.GetName()) })
			if o.GetGeneration() != seen {
				Expect(kstatus(k, o)).To(Equal(status.InProgressStatus), "the operator has not seen the change yet")
			}
			op.Start()
			Eventually(k.settled(o)).Should(Succeed())

			Annotate(o, names.AnnotationPaused, "true")
			Eventually(func() bool {
				ready(o)
				return meta.IsStatusConditionTrue(o.CommonStatus().Conditions, engine.Paused)
			}).Should(BeTrue())
			Annotate(o, names.AnnotationPaused, "")
			Eventually(func() *metav1.Condition {
				ready(o)
				return meta.FindStatusCondition(o.CommonStatus().Conditions, engine.Paused)
			}).Should(BeNil())

			op.Stop()
			Remove(o)
			if len(o.GetFinalizers()) > 0 {
				Expect(kstatus(k, o)).To(Equal(status.TerminatingStatus))
			}
			op.Start()
			Eventually(kstatus).WithArguments(k, o).Should(Equal(status.NotFoundStatus))
		})
	})
}

// broken gives an object that is not Ready because of the breakage.
func broken(op *Operator, k *kind, b Breakage) engine.Object {
	GinkgoHelper()
	prepare := b.Prepare
	if prepare == nil {
		prepare = func(engine.Object) {}
	}
	var o engine.Object
	if b.Unborn {
		name := unique("g12")
		b.Break(name)
		o = k.make(name, prepare)
	} else {
		o = k.several(1, "g12", prepare)[0]
		quiet(op, o)
		b.Break(o.GetName())
	}
	Eventually(ready).WithArguments(o).Should(HaveField("Reason", b.Reason))
	return o
}

func (k *kind) statusPath(o engine.Object) string {
	path := k.plural() + "/" + o.GetName() + "/status"
	if o.GetNamespace() != "" {
		path = "namespaces/" + o.GetNamespace() + "/" + path
	}
	return path
}

// statuses are the statuses that the operator has written for an object.
func statuses(op *Operator, o engine.Object) []common.Status {
	GinkgoHelper()
	var all []common.Status
	for _, w := range op.Wire.Writes(about(o)) {
		if !strings.HasSuffix(w.Path, "/"+o.GetName()+"/status") {
			continue // and it may not be JSON, or be of a child
		}
		var body struct{ Status *common.Status }
		Expect(json.Unmarshal(w.Body, &body)).To(Succeed())
		if body.Status != nil {
			all = append(all, *body.Status)
		}
	}
	return all
}

// namespaceNamed is a Namespace as anybody may have made it.
func namespaceNamed(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// serviceOfOther is a Service that somebody else makes.
func serviceOfOther(namespace, name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}},
	}
}

// serviceTaken is the Breakage of kinds with a Service, in namespaces that surround prepares.
func serviceTaken(service func(unique string) *corev1.Service, surround func(unique string), owner func(unique string) client.Object) Breakage {
	return Breakage{
		Name: "that a Service of its name is somebody else's", Unborn: true,
		Break: func(unique string) {
			discardLater(Create(namespaceNamed(unique)))
			surround(unique)
			Create(service(unique))
		},
		Mend: func(unique string) {
			Remove(service(unique))
			Annotate(owner(unique), "others.example.com/poke", "repaired")
		},
		Reason: engine.ReasonNameTaken, Status: status.FailedStatus,
	}
}

// serviceForbidden is the Breakage of kinds that make a Service.
func serviceForbidden(service func(unique string) *corev1.Service) Breakage {
	return Breakage{
		Name: "that the operator may not do what it has to",
		Break: func(unique string) {
			takeAway("create", service(unique))
			Remove(service(unique))
		},
		Mend:   func(string) { giveBackRole() },
		Reason: "Forbidden", Status: status.InProgressStatus,
	}
}
