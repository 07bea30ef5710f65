// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"context"
	"encoding/json"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// contested is a Fixture of a kind whose objects may ask for what only one of the cluster can have.
type contested interface {
	// Rivals are objects of a tenant in another namespace that ask for what a victim has, in every way that there is.
	Rivals(victim engine.Object, place string) []Rival
}

// Rival is an object of the kind, or of another type, that asks for what a victim has.
type Rival struct {
	Name string
	client.Object
	// Refused: it cannot be created.
	Refused bool
	// Ready is the condition Ready of one that can, as "Status Reason". An object of another type has none.
	Ready string
}

// describeRivals is the part of G13 that tenants do with objects of their own, as their administrators.
func describeRivals(k *kind) {
	fixture, is := k.fixture.(contested)
	if !is {
		return
	}
	It("objects of another tenant that ask for the same", func(ctx context.Context) {
		op := start()
		left, victim := k.several(1, "g13-left")[0], k.several(1, "g13-victim")[0]
		quiet(op, left, victim)
		before := survey(ctx, victim.GetName())[victim.GetName()]
		op.Wire.Forget()
		place := Create(namespaceNamed(unique("g13-rival")))
		discardLater(place)
		a := insider(ctx, place.Name)
		a.contest(ctx, fixture.Rivals(victim, place.Name))

		nothingHappens := func(when string) {
			GinkgoHelper()
			elsewhere := func(w testenv.Write) bool { return !w.For(place.Name) }
			Consistently(func() string { return listing(op.Wire.Writes(about(victim), elsewhere)) }, "1s").Should(BeEmpty(), when)
			now := survey(ctx, victim.GetName())[victim.GetName()]
			for key := range before {
				Expect(now).To(HaveKey(key), when)
				Expect(now[key].GetResourceVersion()).To(Equal(before[key].GetResourceVersion()), key+", "+when)
			}
		}
		nothingHappens("beside rivals")
		op.Restart()
		nothingHappens("after a restart")
		op.Wire.Forget() // what was written for a rival of the same name
		Expect(k.life(op, victim)).To(Equal(k.life(op, left)), "what is written for it, with rivals and without")
	})
}

// contest creates the rivals and waits until each is as far as it gets. It may neither see nor say anything of the victim.
func (a attacker) contest(ctx context.Context, rivals []Rival) {
	GinkgoHelper()
	for _, r := range rivals {
		err := a.Create(ctx, r.Object)
		if r.Refused {
			Expect(apierrors.IsInvalid(err) || apierrors.IsForbidden(err)).To(BeTrue(), "%s: %v", r.Name, err)
			continue
		}
		Expect(err).NotTo(HaveOccurred(), r.Name)
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(Admin.Delete(ctx, r.Object))).To(Succeed()) })
		o, of := r.Object.(engine.Object)
		if !of {
			continue
		}
		Eventually(Ready(o)).Should(Equal(r.Ready), r.Name)
		Expect(apierrors.IsForbidden(a.Status().Update(ctx, o.DeepCopyObject().(client.Object)))).To(BeTrue(), "%s writes its own status", r.Name)
		text, err := json.Marshal(o.CommonStatus())
		Expect(err).NotTo(HaveOccurred())
		said := strings.ReplaceAll(string(text), "canary-db", "")
		Expect(said).NotTo(ContainSubstring(canary), r.Name)
	}
}
