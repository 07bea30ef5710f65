// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"github.com/acme/platform-operator/internal/testenv/loopback"
)

// reader answers discovery, as the program of the views does, from a port that no other process takes while it refuses. Each request is a connection of its own, so
// that each one verifies the certificate, unless it keeps connections.
type reader struct {
	c     *cluster
	port  int
	keeps bool

	mu       sync.Mutex
	listener net.Listener
	server   *http.Server
	pair     *tls.Certificate
	frozen   bool
	answered int // the code, if it is not 200
}

func newReader(c *cluster) *reader {
	r := &reader{c: c, port: loopback.Port()}
	r.listen()
	c.Cleanup(r.refuse)
	return r
}

// listen has the reader accept connections.
func (r *reader) listen() {
	r.c.Helper()
	l, err := new(net.ListenConfig).Listen(r.c.Context(), "tcp", net.JoinHostPort(loopback.Host(), strconv.Itoa(r.port)))
	r.c.must(err)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /apis/views.acme.com/v1alpha1", r.resources)
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(os.Stderr, "reader: ", 0),
		TLSConfig: &tls.Config{GetCertificate: r.certificate, MinVersion: tls.VersionTLS12},
	}
	if !r.keeps {
		server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
		server.SetKeepAlivesEnabled(false)
	}
	r.mu.Lock()
	r.server, r.listener = server, l
	r.mu.Unlock()
	go func() {
		if err := server.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			r.c.Errorf("the reader ended: %v", err)
		}
	}()
}

// refuse has nobody listen at the port.
func (r *reader) refuse() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.server != nil {
		_ = r.server.Close()
		r.server = nil
	}
}

// refuseNew has nobody listen at the port, and keeps the connections that there are.
func (r *reader) refuseNew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.listener.Close()
}

// answer sets the code of all answers.
func (r *reader) answer(code int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answered = code
}

// freeze keeps the certificate that is shown, as long as the kubelet has not written another one.
func (r *reader) freeze(frozen bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frozen = frozen
}

// show has the reader show a certificate from now on.
func (r *reader) show(cert, key []byte) {
	r.c.Helper()
	pair, err := tls.X509KeyPair(cert, key)
	r.c.must(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pair, r.frozen = &pair, true
}

// certificate reads the Secret, if that can be read.
func (r *reader) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.c.secret(); s != nil && !r.frozen {
		if pair, err := tls.X509KeyPair(s.Data["tls.crt"], s.Data["tls.key"]); err == nil {
			r.pair = &pair
		}
	}
	if r.pair == nil {
		return nil, errors.New("there is no certificate yet")
	}
	return r.pair, nil
}

func (r *reader) resources(w http.ResponseWriter, _ *http.Request) {
	r.mu.Lock()
	code := r.answered
	r.mu.Unlock()
	if code != 0 {
		w.WriteHeader(code)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: "views.acme.com/v1alpha1",
		APIResources: []metav1.APIResource{{Name: "mynamespaces", SingularName: "mynamespace", Kind: "MyNamespace", Verbs: metav1.Verbs{"get", "list", "watch"}}},
	})
}

// ask asks the reader through the API server.
func (c *cluster) ask() error {
	d, err := discovery.NewDiscoveryClientForConfig(plane.Config)
	if err != nil {
		return err
	}
	return d.RESTClient().Get().AbsPath("/apis/views.acme.com/v1alpha1").Do(context.Background()).Error()
}
