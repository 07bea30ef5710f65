// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/scheduling"
)

// LabelAllowed is on a ServiceAccount that schedulers may use, with any value.
const LabelAllowed = "scheduling.acme.com/allowed"

// command grants the rights of schedulers, and installs the policies of routing.
const command = "kubectl apply -k config/scheduling"

// accept checks what the schema cannot.
func (r *run) accept(ctx context.Context) (engine.Outcome, error) {
	list := &v1alpha1.SchedulerProfileList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return engine.Outcome{}, fmt.Errorf("listing SchedulerProfiles: %w", err)
	}
	if taken := scheduling.Taken(r.Obj, list.Items); len(taken) > 0 {
		return r.withdraw(ctx, taken)
	}
	var err error
	if r.server, err = r.kind.cluster.version(ctx); err != nil {
		return engine.Outcome{}, err
	}
	r.in.image, r.minor, _ = r.kind.Images.For(r.server)
	if problems := scheduling.Check(&r.Obj.Spec, scheduling.Of(&r.Obj.Spec, r.minor)); len(problems) > 0 {
		return engine.Block(ReasonRawInvalid, strings.Join(problems, "; ")), nil
	}
	return engine.Done(), nil
}

// withdraw removes the scheduler of an object that has lost a name to an older one: two that serve one name would place its pods by
// different rules.
func (r *run) withdraw(ctx context.Context, taken []scheduling.Claim) (engine.Outcome, error) {
	out, err := r.Compose(func() ([]engine.Child, error) { return nil, nil })(ctx)
	if err != nil || !out.GoesOn() {
		return out, err
	}
	s := &r.Obj.Status
	s.Image, s.WantedHash, s.ServingHash, s.ActivePod, s.Profiles = "", "", "", "", nil
	return engine.Block(ReasonNameTaken, takenMessage(taken)), nil
}

func takenMessage(taken []scheduling.Claim) string {
	var all []string
	for _, c := range taken {
		all = append(all, fmt.Sprintf("%s is a profile of the SchedulerProfile %s, which is older", c.SchedulerName, c.Owner))
	}
	return strings.Join(all, ", ") + "; choose other names in spec.profiles, or remove them there"
}

// grant checks that the account of the scheduler exists and has the rights. The operator cannot give them: that would let it make any
// user a scheduler.
func (r *run) grant(ctx context.Context) (engine.Outcome, error) {
	key := client.ObjectKey{Namespace: r.kind.Namespace, Name: accountOf(r.Obj)}
	if r.kind.grants.has(key.Name) {
		return engine.Done(), nil
	}
	if out, err := r.findAccount(ctx, key); err != nil || !out.GoesOn() {
		return out, err
	}
	for _, right := range rights(r.kind.Namespace) {
		has, err := r.may(ctx, key, right)
		switch {
		case err != nil:
			return engine.Outcome{}, err
		case !has:
			return r.rightsMissing(fmt.Sprintf("the ServiceAccount %s may not %s %s", key, right.Verb, resourceOf(right))), nil
		}
	}
	r.kind.grants.note(key.Name)
	return engine.Done(), nil
}

// findAccount checks that there is the account, and that schedulers may use it.
func (r *run) findAccount(ctx context.Context, key client.ObjectKey) (engine.Outcome, error) {
	account, own := &corev1.ServiceAccount{}, r.Obj.Spec.ServiceAccountName != ""
	err := r.Live.Get(ctx, key, account)
	_, allowed := account.Labels[LabelAllowed]
	switch {
	case client.IgnoreNotFound(err) != nil:
		return engine.Outcome{}, fmt.Errorf("reading the ServiceAccount %s: %w", key, err)
	case own && !allowed:
		return engine.BlockFor(grantCheck, ReasonAccountNotAllowed, fmt.Sprintf("spec.serviceAccountName: there is no ServiceAccount %s with the "+
			"label %s; let an administrator prepare one, or leave the field out", key, LabelAllowed)), nil
	case apierrors.IsNotFound(err):
		return r.rightsMissing("there is no ServiceAccount " + key.String()), nil
	}
	return engine.Done(), nil
}

// rightsMissing says how an account gets rights. The command gives them to the account of schedulers that ask for no other.
func (r *run) rightsMissing(why string) engine.Outcome {
	do := "run: " + command
	if r.Obj.Spec.ServiceAccountName != "" {
		do = fmt.Sprintf("bind the ClusterRoles system:kube-scheduler and system:volume-scheduler to it, and in its namespace the Role %s",
			DefaultAccount)
	}
	return engine.BlockFor(grantCheck, ReasonRightsMissing, why+", so that no scheduler can run; let an administrator "+do)
}

func accountOf(p *v1alpha1.SchedulerProfile) string {
	if p.Spec.ServiceAccountName != "" {
		return p.Spec.ServiceAccountName
	}
	return DefaultAccount
}

// rights are some that only a scheduler has: at least one of each role that config/scheduling binds.
func rights(namespace string) []authorizationv1.ResourceAttributes {
	return []authorizationv1.ResourceAttributes{
		{Verb: "create", Resource: "pods", Subresource: "binding"},
		{Verb: "watch", Resource: "nodes"},
		{Verb: "update", Resource: "persistentvolumes"},
		{Verb: "create", Group: "coordination.k8s.io", Resource: "leases", Namespace: namespace},
		{Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Namespace: namespace},
	}
}

func resourceOf(a authorizationv1.ResourceAttributes) string {
	return strings.TrimSuffix(a.Resource+"/"+a.Subresource, "/")
}

// may asks the API server whether an account has a right.
func (r *run) may(ctx context.Context, account client.ObjectKey, right authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               "system:serviceaccount:" + account.Namespace + ":" + account.Name,
		Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + account.Namespace, "system:authenticated"},
		ResourceAttributes: &right,
	}}
	if err := r.Client.Create(ctx, review, client.DisableReadYourWritesConsistency); err != nil {
		return false, fmt.Errorf("asking whether the ServiceAccount %s may %s %s: %w", account, right.Verb, resourceOf(right), err)
	}
	return review.Status.Allowed, nil
}

// grants remembers for a while which accounts have the rights.
type grants struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	until map[string]time.Time
}

func (g *grants) has(account string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.clock.Now().Before(g.until[account])
}

func (g *grants) note(account string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.until == nil {
		g.until = map[string]time.Time{}
	}
	now := g.clock.Now()
	for other, until := range g.until {
		if !now.Before(until) {
			delete(g.until, other)
		}
	}
	g.until[account] = now.Add(grantKept)
}

// support chooses the image.
func (r *run) support(context.Context) (engine.Outcome, error) {
	spec, s := &r.Obj.Spec, &r.Obj.Status
	s.ClusterVersion = fmt.Sprintf("1.%d", r.server)
	switch {
	case spec.Program != nil:
		r.in.image = spec.Program.Image
	case spec.Image != "":
		r.in.image = spec.Image
	case r.in.image == "":
		return engine.BlockFor(versionAsked, ReasonNoImage, fmt.Sprintf("the operator has no image of kube-scheduler for Kubernetes 1.%d: it has %s, "+
			"and a scheduler must not be newer than the API server, nor more than one minor version older; update the operator, or set spec.image",
			r.server, r.kind.Images)), nil
	}
	s.Image = r.in.image
	if spec.Image != "" {
		return engine.Done().Because(ReasonOwnImage).Saying("the image is spec.image; that its version fits Kubernetes 1." +
			fmt.Sprint(r.server) + " is not checked"), nil
	}
	return engine.Done(), nil
}

// formerOf are the hashes of configurations, other than the wanted one, that pods have or may still have, sorted. Those of pods that are not
// ready count: one that restarts looks the same as one that never starts. So do the hashes of pods that are to come.
func formerOf(p *v1alpha1.SchedulerProfile, wanted string, pods []pod, coming []string) (hashes []string) {
	all := append([]string{p.Status.ServingHash}, coming...)
	for _, each := range pods {
		all = append(all, each.hash)
	}
	for _, hash := range all {
		if hash != "" && hash != wanted && isConfigName(p, configName(p, hash)) && !slices.Contains(hashes, hash) {
			hashes = append(hashes, hash)
		}
	}
	slices.Sort(hashes)
	return hashes
}
