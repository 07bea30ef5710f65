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

package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/hack/cluster/files"
)

// refusalTimeout is how long the API server may take to hear of new webhooks.
const refusalTimeout = 15 * time.Second

// report looks at what exists, tries what the report claims, and prints it.
func (s *session) report(ctx context.Context) error {
	p := page{console: s.console}
	t := tools{
		kubectl: short(filepath.Join(s.binDir(), "kubectl")),
		admin:   short(s.cluster.KubeconfigPath()),
		person:  func(user string) string { return short(s.personConfig(user)) },
		sample:  func(file string) string { return short(filepath.Join(s.root, file)) },
	}
	for _, each := range s.samples {
		if err := each.look(ctx, s.admin); err != nil {
			return err
		}
		v := viewOf(each.object)
		if v.facts == nil {
			v.facts = conditionFacts
		}
		facts, err := v.facts(ctx, s.admin, each.live)
		if err != nil {
			return err
		}
		p.sample(each, t.sample(each.file), facts)
	}
	for _, each := range s.samples {
		v := viewOf(each.object)
		if v.tour == nil {
			continue
		}
		guide, err := v.tour(each, t)
		if err != nil {
			return err
		}
		if err := s.show(ctx, &p, guide); err != nil {
			return err
		}
	}
	p.end([]fact{
		{"administrator", "export KUBECONFIG=" + s.cluster.KubeconfigPath()},
		{"operator log", short(s.logPath())},
		{"metrics", "http://" + net.JoinHostPort(loopback, strconv.Itoa(s.ports.Metrics)) + "/metrics"},
		{"again", s.command("up")},
		{"remove all", s.command("down")},
	})
	_, err := s.out.Write([]byte(p.String()))
	return err
}

func (d *demo) personConfig(user string) string { return d.path(filepath.Base(user) + ".kubeconfig") }

// show makes a kubeconfig for the person of a tour, asks the API server what the person may do, and
// proves that the webhook refuses what it should.
func (s *session) show(ctx context.Context, p *page, g *tour) error {
	kubeconfig, err := s.cluster.UserKubeconfig(g.user, nil, g.namespace)
	if err != nil {
		return err
	}
	path := s.personConfig(g.user)
	if err := files.Write(path, kubeconfig, 0o600); err != nil {
		return err
	}
	_, person, err := connect(path)
	if err != nil {
		return err
	}
	var answers []answer
	for _, q := range g.questions {
		review := &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &q},
		}
		if err := person.Create(ctx, review); err != nil {
			return fmt.Errorf("asking what %s may do: %w", g.user, err)
		}
		answers = append(answers, answer{review.Status.Allowed, ability(q)})
	}
	for i := range g.commands {
		if err := refuse(ctx, s.admin, &g.commands[i]); err != nil {
			return err
		}
	}
	p.tour(g, short(path), answers)
	return nil
}

// refuse tries what a webhook should refuse, without effect and until it does, and keeps the answer.
func refuse(ctx context.Context, c client.Client, cmd *command) error {
	if cmd.refused == nil {
		return nil
	}
	err := wait.PollUntilContextTimeout(ctx, pollInterval, refusalTimeout, true, func(ctx context.Context) (bool, error) {
		err := c.Create(ctx, cmd.refused.DeepCopyObject().(client.Object), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "denied the request") {
			return false, err
		}
		cmd.answer = err.Error()
		return true, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("%T %s is admitted: the API server does not reach the webhooks", cmd.refused, cmd.refused.GetName())
	}
	return err
}

// ability says in words what a question is about.
func ability(q authorizationv1.ResourceAttributes) string {
	if q.Name != "" {
		return fmt.Sprintf("%s %s/%s", q.Verb, q.Resource, q.Name)
	}
	return fmt.Sprintf("%s %s in %s", q.Verb, q.Resource, q.Namespace)
}
