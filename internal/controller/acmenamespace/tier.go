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

package acmenamespace

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/acme/platform-operator/internal/tenancy"
)

// judged is how a namespace meets its tier.
type judged struct {
	// message says so.
	message string
	// violated: something does not meet the tier; insecure: some pods are what does not.
	violated, insecure bool
}

// judgeTier says what of the namespace violates its tier: it continues to run, and nobody else would say so. Pods are
// listed when the Pod Security level is new, and for as long as some violate it.
func (r *run) judgeTier(ctx context.Context) (judged, error) {
	n, level := r.Obj, r.grant.Tier.PodSecurity
	said := fmt.Sprintf("the Namespace %q and its guardrails are in place, with the Pod Security level %s", n.Spec.NamespaceName, level)
	var violations []string
	if c := meta.FindStatusCondition(n.Status.Conditions, Composed); c == nil || !strings.HasPrefix(c.Message, said+allSecure) {
		insecure, err := tenancy.InsecurePods(ctx, r.Live, n.Spec.NamespaceName, level)
		if err != nil {
			return judged{}, err
		}
		if insecure != "" {
			violations = append(violations, insecure)
		}
	}
	insecure := len(violations) > 0
	if q := n.Status.Quota; q != nil {
		violations = append(violations, tenancy.QuotaExceeded(q.Hard, q.Used)...)
	}
	if !insecure {
		said += allSecure
	}
	return judged{strings.Join(append([]string{said}, violations...), "; "), len(violations) > 0, insecure}, nil
}

// allSecure ends what is said of a namespace whose pods all meet its Pod Security level: they need not be looked at again.
const allSecure = ", which all pods meet"
