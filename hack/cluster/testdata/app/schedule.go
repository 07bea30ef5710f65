// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// schedule is a scheduler of somebody's own: it gives each pod that names it any node.
func schedule() error {
	api, err := inCluster()
	for ; err == nil; time.Sleep(time.Second) {
		for _, name := range strings.Split(os.Getenv("SCHEDULER_NAMES"), ",") {
			if err := api.place(name); err != nil {
				log.Print(err) // it is tried again
			}
		}
	}
	return err
}

// object is what is read of pods and nodes.
type object struct {
	Metadata struct{ Namespace, Name string }
}

type list struct{ Items []object }

func (a *access) place(scheduler string) error {
	var pods, nodes list
	selector := url.QueryEscape("spec.nodeName=,spec.schedulerName=" + scheduler)
	err := errors.Join(a.call(http.MethodGet, "/api/v1/pods?fieldSelector="+selector, nil, &pods), a.call(http.MethodGet, "/api/v1/nodes", nil, &nodes))
	if err != nil || len(nodes.Items) == 0 {
		return err
	}
	for _, p := range pods.Items {
		node := nodes.Items[rand.IntN(len(nodes.Items))].Metadata.Name
		binding := map[string]any{
			"apiVersion": "v1", "kind": "Binding", "metadata": map[string]any{"name": p.Metadata.Name},
			"target": map[string]any{"apiVersion": "v1", "kind": "Node", "name": node},
		}
		path := "/api/v1/namespaces/" + p.Metadata.Namespace + "/pods/" + p.Metadata.Name + "/binding"
		if err := a.call(http.MethodPost, path, binding, nil); err != nil {
			return err
		}
		log.Printf("%s/%s is placed on %s", p.Metadata.Namespace, p.Metadata.Name, node)
	}
	return nil
}

// access is that of a pod to the API server.
type access struct {
	http.Client
	url, token string
}

func inCluster() (*access, error) {
	const account = "/var/run/secrets/kubernetes.io/serviceaccount"
	token, err := os.ReadFile(filepath.Join(account, "token"))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(filepath.Join(account, "ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return &access{
		Client: http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}},
		url:    "https://" + net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")), token: string(token),
	}, nil
}

// call sends a request with a body, if there is one, and reads the answer.
func (a *access) call(method, path string, body, into any) error {
	var text bytes.Buffer
	if err := json.NewEncoder(&text).Encode(body); err != nil {
		return err
	}
	request, err := http.NewRequest(method, a.url+path, &text)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+a.token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := a.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		says, _ := io.ReadAll(answer.Body)
		return fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, says)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(into)
}
