// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rows makes the rows of the views from what the cluster contains about namespaces, for a user. It is pure. What it makes is
// equal on every replica, byte by byte, and so are the versions.
package rows

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/api/views/v1alpha1"
	"github.com/acme/platform-operator/internal/views/access"
)

// Object is an object of the views.
type Object interface {
	metav1.Object
	runtime.Object
}

// Row is an object for one user. It is shared, and must not be changed.
type Row struct {
	Object
	// Sum is a checksum of the whole content with the UID. Rows with equal sums are equal.
	Sum uint64
}

// Facts are what the cluster contains about one namespace.
type Facts struct {
	Name    string
	UID     types.UID
	Created metav1.Time
	Deleted *metav1.Time
	Labels  map[string]string
	Phase   corev1.NamespacePhase
	// Version is the number of the Namespace's last change.
	Version uint64
	// Owner is the AcmeNamespace that owns the Namespace, or nil.
	Owner *Owner
	// Quotas are the ResourceQuotas.
	Quotas []Quota
	// Grants are what RoleBindings give.
	Grants access.Grants
}

// Owner is what an AcmeNamespace contains.
type Owner struct {
	Name    string
	Tenant  string
	Tier    common.TierName
	Version uint64
}

// Namespace is a namespace's part of the rows: it never changes.
type Namespace struct {
	Facts

	my        v1alpha1.MyNamespace
	mySum     [sha256.Size]byte
	myVersion uint64

	usage *usageRows
}

// NewNamespace makes the parts of rows that are the same for all users.
func NewNamespace(f Facts) *Namespace {
	n := &Namespace{Facts: f, my: v1alpha1.MyNamespace{ObjectMeta: f.meta(), Phase: f.Phase}, myVersion: f.Version}
	if f.Owner != nil {
		n.my.Tier = f.Owner.Tier
		n.myVersion = max(n.myVersion, f.Owner.Version)
	}
	n.mySum = digest(&n.my)
	n.usage = newUsageRows(f)
	return n
}

func (f Facts) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: f.Name, UID: f.UID, CreationTimestamp: f.Created, DeletionTimestamp: f.Deleted, Labels: f.Labels}
}

// Equal reports whether all rows of two namespaces are equal for everybody.
func (n *Namespace) Equal(other *Namespace) bool {
	return n.mySum == other.mySum && n.myVersion == other.myVersion && n.usage.equal(other.usage) &&
		n.Tenant() == other.Tenant() && n.Grants.Equal(other.Grants)
}

// Tenant is who pays for the namespace, or empty.
func (n *Namespace) Tenant() string {
	if n.Owner == nil {
		return ""
	}
	return n.Owner.Tenant
}

// MyNamespace is a namespace's row for a user who may get it.
func MyNamespace(n *Namespace, a access.Answer) Row {
	h := sha256.New()
	h.Write(n.mySum[:])
	for _, role := range a.Roles {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(role))))
		h.Write([]byte(role))
	}
	sum := binary.BigEndian.Uint64(h.Sum(nil))
	o := n.my
	o.Roles = slices.Clip(a.Roles)
	o.ResourceVersion = version(max(n.myVersion, a.Version), sum)
	return Row{Object: &o, Sum: sum}
}

// digest is a checksum of an object. Its JSON is the same everywhere: keys are sorted.
func digest(o runtime.Object) [sha256.Size]byte {
	text, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("an object of the views has no JSON: %v", err)) // they hold strings, times and quantities
	}
	return sha256.Sum256(text)
}

func shortDigest(o runtime.Object) uint64 {
	sum := digest(o)
	return binary.BigEndian.Uint64(sum[:])
}
