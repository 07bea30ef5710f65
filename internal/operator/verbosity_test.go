// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"bytes"
	"flag"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// TestVerbosity reads a Secret at every kind of level that the flag takes. It counts in bytes: 264 is 8 once more.
func TestVerbosity(t *testing.T) {
	for level, less := range map[string]bool{
		"info": false, "debug": false, "error": false, "1": false, "7": false, "8": true, "9": true, "100": true, "264": true,
	} {
		t.Run(level, func(t *testing.T) {
			out := &bytes.Buffer{}
			o := zap.Options{DestWriter: out}
			flags := flag.NewFlagSet("", flag.ContinueOnError)
			o.BindFlags(flags)
			if err := flags.Parse([]string{"--zap-log-level=" + level}); err != nil {
				t.Fatal(err)
			}
			readSecret(t, NewLogger(o))
			if strings.Contains(out.String(), encoded) {
				t.Errorf("a Secret is logged: %s", out)
			}
			if got := strings.Contains(out.String(), "The level of --zap-log-level is reduced"); got != less {
				t.Errorf("that less is logged is said: %t, want %t", got, less)
			}
		})
	}
	out := &bytes.Buffer{}
	readSecret(t, zap.New(zap.Level(verbosity(MaxVerbosity+1)), zap.WriteTo(out)))
	if !strings.Contains(out.String(), encoded) {
		t.Error("client-go logs no Secrets any more at the next level: what is this for?")
	}
}

const encoded = "c2VjcmV0"

// readSecret reads a Secret as a reconciler with such a logger does.
func readSecret(t *testing.T, log logr.Logger) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		_, _ = out.Write([]byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"n"},"data":{"p":"` + encoded + `"}}`))
	}))
	t.Cleanup(server.Close)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	cl, err := client.New(&rest.Config{Host: server.URL}, client.Options{Scheme: Scheme(), Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	s := &corev1.Secret{}
	if err := cl.Get(logr.NewContext(t.Context(), log), client.ObjectKey{Namespace: "n", Name: "s"}, s); err != nil || string(s.Data["p"]) != "secret" {
		t.Fatal(err, s)
	}
}
