// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/acme/platform-operator/internal/testenv"
)

// A replica that knows no front proxy answers everybody with 401, so it is not ready: it needs the authority and the names of headers.
func TestAReplicaIsNotReadyWithoutAFrontProxy(t *testing.T) {
	ca, err := testenv.NewAuthority("front-proxy")
	if err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: authConfigMap}, Data: map[string]string{
			"requestheader-client-ca-file": string(ca.PEM), "requestheader-allowed-names": `["front-proxy-client"]`,
			"requestheader-username-headers": `["X-Remote-User"]`, "requestheader-group-headers": `["X-Remote-Group"]`,
			"requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
		},
	})
	for name, order := range map[string]string{"the authority first": "ch", "the headers first": "hc"} {
		t.Run(name, func(t *testing.T) {
			config := &genericapiserver.Config{SecureServing: &genericapiserver.SecureServingInfo{}}
			f, err := secure(config, Options{Config: &rest.Config{Host: "localhost"}, Clock: clock.RealClock{}}, client)
			if err != nil {
				t.Fatal(err)
			}
			read := map[rune]func(){
				'c': func() {
					go f.ca.Run(t.Context(), 1)
					for known := false; !known && t.Context().Err() == nil; _, known = f.ca.VerifyOptions() {
						runtime.Gosched()
					}
				},
				'h': func() {
					if err := f.headers.RunOnce(t.Context()); err != nil {
						t.Error(err)
					}
				},
			}
			for _, what := range order {
				if err := f.check(); err == nil || !strings.Contains(err.Error(), "--requestheader-client-ca-file") {
					t.Errorf("before it has read %c: %v", what, err)
				}
				read[what]()
			}
			if err := f.check(); err != nil {
				t.Error(err)
			}
		})
	}
}
