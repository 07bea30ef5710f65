// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/acme/platform-operator/hack/cluster/pki"
	"github.com/acme/platform-operator/hack/cluster/process"
)

// ComponentStatus is what is known about a component of a cluster.
type ComponentStatus struct {
	Name    string // name of the program
	PID     int    // process id, 0 when it does not run
	Address string // host:port that it serves on, empty when it serves nobody
	Log     string // path of the log file
	Err     error  // nil when healthy, else why not
}

// errNotRunning is the health of a component without a process.
var errNotRunning = errors.New("not running")

// Status asks all components for their health, at the same time and for at most two seconds. They
// are listed in the order in which they start.
func (c *Cluster) Status(ctx context.Context) []ComponentStatus {
	client, errClient := c.healthClient()
	var list []ComponentStatus
	results := map[string]chan error{}
	for _, comp := range c.components() {
		pid := c.process(comp.name).PID()
		list = append(list, ComponentStatus{
			Name: comp.name, PID: pid, Address: comp.address, Log: c.process(comp.name).LogPath(), Err: errClient,
		})
		result := make(chan error, 1)
		results[comp.name] = result
		switch {
		case pid == 0:
			result <- errNotRunning
		case errClient != nil:
			result <- errClient
		default:
			go func() { result <- check(ctx, client, comp.health) }()
		}
	}
	for i := range list {
		list[i].Err = <-results[list[i].Name]
	}
	return list
}

// healthClient trusts the cluster's authorities and shows each server the certificate that it asks for.
func (c *Cluster) healthClient() (*http.Client, error) {
	roots := x509.NewCertPool()
	config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	for authority, client := range map[string]string{clusterCA: adminCert, etcdCA: etcdClientCert} {
		ca, errCA := pki.Read(c.pkiDir(), authority)
		pair, errPair := pki.Read(c.pkiDir(), client)
		if err := errors.Join(errCA, errPair); err != nil {
			return nil, err
		}
		cert, err := tls.X509KeyPair(pair.Public, pair.Private)
		if err != nil {
			return nil, fmt.Errorf("reading certificate %s: %w", client, err)
		}
		roots.AppendCertsFromPEM(ca.Public)
		config.Certificates = append(config.Certificates, cert)
	}
	return &http.Client{
		Timeout:   2 * time.Second,
		Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}, // no proxy: all is on this machine
	}, nil
}

// check asks for a component's health; an empty url says that there is nothing to ask.
func check(ctx context.Context, client *http.Client, url string) error {
	if url == "" {
		return nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	_, errRead := io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20))
	if err := errors.Join(errRead, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}

// awaitHealth waits until a component is healthy. p is nil when this launcher did not start it.
func awaitHealth(ctx context.Context, client *http.Client, comp component, p *process.Running) error {
	return process.Poll(ctx, process.PollInterval, p, func() error { return check(ctx, client, comp.health) })
}
