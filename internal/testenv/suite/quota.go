// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// QuotaCounted reports whether a quota of a namespace shows as used what there is. kube-controller-manager makes a ServiceAccount in each
// namespace, and counts it and what others make, at any time after that.
func QuotaCounted(namespace string, quota corev1.ResourceQuotaStatus) bool {
	ginkgo.GinkgoHelper()
	robot := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: namespace}}
	if len(quota.Hard) == 0 || len(quota.Used) != len(quota.Hard) || Reload(robot) != nil {
		return false
	}
	for key := range quota.Hard {
		resource, ok := strings.CutPrefix(string(key), "count/")
		if !ok {
			continue
		}
		gvk, err := Admin.RESTMapper().KindFor(schema.ParseGroupResource(resource).WithVersion(""))
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk)
		gomega.Expect(Admin.List(ctx, list, client.InNamespace(namespace))).To(gomega.Succeed())
		if used := quota.Used[key]; used.Value() != int64(len(list.Items)) {
			return false
		}
	}
	return true
}
