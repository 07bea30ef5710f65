// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/common/expfmt"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// canary is the content of every Secret. It needs no escaping in JSON or YAML.
const canary = "canary-sings-4f1c9e0b7a"

// describeSecrecy has G9: the whole life of an object, in good times and in bad, with Secrets that the
// operator reads and one that it does not.
func describeSecrecy(k *kind) {
	alone := k.leavesOut("G9 Secret beside it")
	It("G9: tells nobody a secret", Label("G9"), func(ctx context.Context) {
		configurations := k.fixture.Secretive(canary)
		if len(configurations) == 0 {
			configurations = []Secretive{{Name: "no Secret of its own", Configuration: k.fixture.Configuration()}}
		}
		for _, s := range configurations {
			By(s.Name)
			lead := len(logs.String())
			for _, secret := range s.Secrets {
				secret.Namespace = testenv.OperatorNamespace
				Create(secret)
			}
			op := startWith(s.Configuration)
			o := k.several(1, "g9", k.briefly)[0]
			if !alone {
				Create(secretOf(o.GetName()))
			}
			op.Wire.Forget()
			Change(o, func(o engine.Object) { k.fixture.Change(o, o.GetName()) })
			Eventually(succeeded).WithArguments(op, o, k.fixture.Action(o.GetName())).Should(BeNumerically(">", 0))
			Eventually(k.settled(o)).Should(Succeed())
			used := s.Used == nil || s.Used() // a connection lasts as long as the object, and the ledger gets a report of its end
			if e := k.fixture.External(); e != nil {
				e.Answer(http.StatusInternalServerError)
				Remove(o)
				Eventually(e.Tried).WithArguments(o.GetName()).Should(BeNumerically(">", 2))
				leaks(ctx, lead)
				e.Answer(http.StatusOK)
			} else {
				Remove(o)
			}
			leaks(ctx, lead)
			Eventually(Gone(o)).Should(Succeed())
			Expect(used || s.Used()).To(BeTrue(), "the operator has not used the secret at all")
			op.Stop()
			leaks(ctx, lead)
			for _, secret := range s.Secrets {
				Remove(secret)
			}
		}
	})
}

func secretOf(namespace string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "canary", Namespace: namespace}, StringData: map[string]string{"canary": canary}}
}

// leaks fails when the canary is anywhere but in Secrets.
func leaks(ctx context.Context, lead int) {
	GinkgoHelper()
	secretFree(logs.String()[lead:], "the logs")

	text := &bytes.Buffer{}
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	for _, f := range families {
		_, err := expfmt.MetricFamilyToText(text, f)
		Expect(err).NotTo(HaveOccurred())
	}
	secretFree(text.String(), "the metrics")

	events := &eventsv1.EventList{}
	Expect(Admin.List(ctx, events)).To(Succeed())
	asJSON, err := json.Marshal(events)
	Expect(err).NotTo(HaveOccurred())
	secretFree(string(asJSON), "the events")

	everything(ctx, func(r served, o *unstructured.Unstructured) {
		if r.Resource == "secrets" && r.Group == "" {
			return
		}
		asJSON, err := json.Marshal(o)
		Expect(err).NotTo(HaveOccurred())
		secretFree(string(asJSON), o.GetKind()+" "+client.ObjectKeyFromObject(o).String())
	})
}

func secretFree(text, where string) {
	GinkgoHelper()
	Expect(text).NotTo(BeEmpty(), where)
	for _, form := range []string{canary, base64.StdEncoding.EncodeToString([]byte(canary))} {
		if at := strings.Index(text, form); at >= 0 {
			Fail(where + " hold a secret: …" + text[max(0, at-300):min(len(text), at+300)] + "…")
		}
	}
}
