// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/acme/platform-operator/hack/cluster/files"
	"github.com/acme/platform-operator/hack/cluster/process"
)

const (
	viewsName    = namePrefix + "views"
	viewsAccount = "system:serviceaccount:" + namespace + ":" + viewsName
	viewsAPI     = "apiservice/v1alpha1.views.acme.com"
	guest        = "sam" // the administrator of the sample AcmeNamespace
)

// viewsService leads API servers to a port of this machine.
const viewsService = `apiVersion: v1
kind: Service
metadata: {name: %s, namespace: %s, labels: {app.kubernetes.io/name: platform-operator}}
spec: {type: ExternalName, externalName: localhost, ports: [{name: https, port: %d}]}
`

// viewsServer is the program that answers the API of the views. Simulated nodes run no program, so the demo runs it.
type viewsServer struct {
	*demo
	process.Process
}

func (d *demo) viewsServer() viewsServer {
	return viewsServer{d, process.Process{Name: "views", Dir: d.path()}}
}

func (v viewsServer) file(elem ...string) string {
	return filepath.Join(append([]string{v.Dir, "views"}, elem...)...)
}

// guestConfig is the kubeconfig of a user who is no administrator.
func (d *demo) guestConfig() string { return d.path("views", guest+".kubeconfig") }

func (v viewsServer) args(port int) []string {
	return []string{
		"--bind-address=" + loopback, "--secure-port=" + strconv.Itoa(port), "--cert-dir=" + v.file("certificate"), "--kubeconfig=" + v.file("kubeconfig"),
		"--namespace=" + namespace, "--service=" + viewsName, "--replica=demo",
	}
}

// port is the one of the program that runs; 0 if none does.
func (v viewsServer) port() int {
	for _, arg := range v.Args() {
		if text, is := strings.CutPrefix(arg, "--secure-port="); is {
			n, _ := strconv.Atoi(text)
			return n
		}
	}
	return 0
}

// startViews leaves the views running and registered. The operator makes the certificate, and registers them once there is the Service.
func (d *demo) startViews(ctx context.Context) error {
	v := d.viewsServer()
	if err := os.MkdirAll(v.file("certificate"), 0o700); err != nil {
		return err
	}
	if err := v.writeFiles(ctx); err != nil {
		return err
	}
	port, err := v.run()
	if err != nil {
		return err
	}
	_, err = d.sh(ctx, fmt.Sprintf(viewsService, viewsName, namespace, port), "kubectl apply --server-side --force-conflicts -f -")
	if err != nil {
		return err
	}
	return errors.Join(
		d.kubectl(ctx, "wait", "--for=create", kubectlWait, viewsAPI), d.kubectl(ctx, "wait", "--for=condition=Available", kubectlWait, viewsAPI))
}

// writeFiles writes the certificate, as the kubelet does, and the kubeconfigs.
func (v viewsServer) writeFiles(ctx context.Context) error {
	script := `kubectl wait --for=create ` + kubectlWait + ` -n "$1" "secret/$2" >/dev/null &&
		kubectl get secret -n "$1" "$2" -o jsonpath='{.data.tls\.crt} {.data.tls\.key}'`
	out, err := v.sh(ctx, "", script, namespace, viewsName+"-cert")
	if err != nil {
		return err
	}
	crt, key, _ := strings.Cut(out, " ")
	guestConfig, err := v.cluster.UserKubeconfig(guest, nil, "")
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"tls.crt": crt, "tls.key": key} {
		data, err := base64.StdEncoding.DecodeString(text)
		if err == nil {
			err = files.Write(v.file("certificate", name), data, 0o600)
		}
		if err != nil {
			return fmt.Errorf("writing %s of the views: %w", name, err)
		}
	}
	return files.Write(v.guestConfig(), guestConfig, 0o600)
}

// run starts the program, unless it runs as it is built now, and returns its port.
func (v viewsServer) run() (port int, err error) {
	kubeconfig, err := v.kubeconfigAs(viewsAccount)
	if err != nil {
		return 0, err
	}
	if port = v.port(); port != 0 && v.current(port, kubeconfig) {
		return port, nil
	}
	if err := v.Stop(stopGrace); err != nil {
		return 0, err
	}
	listener, err := net.Listen("tcp", at(0))
	if err != nil {
		return 0, fmt.Errorf("choosing a port: %w", err)
	}
	port = listener.Addr().(*net.TCPAddr).Port
	if err := errors.Join(listener.Close(), files.Write(v.file("kubeconfig"), kubeconfig, 0o600)); err != nil {
		return 0, err
	}
	cmd := exec.Command(filepath.Join(v.binDir(), v.Name), v.args(port)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	_, err = v.Start(cmd, nil)
	return port, err
}

// current reports whether the program that runs is the one that is built now, with the access of now.
func (v viewsServer) current(port int, kubeconfig []byte) bool {
	used, errUsed := os.Stat(fmt.Sprintf("/proc/%d/exe", v.PID()))
	built, errBuilt := os.Stat(filepath.Join(v.binDir(), v.Name))
	last, errLast := os.ReadFile(v.file("kubeconfig"))
	return errors.Join(errUsed, errBuilt, errLast) == nil && os.SameFile(used, built) && bytes.Equal(last, kubeconfig) &&
		slices.Equal(v.Args()[1:], v.args(port))
}

// showViews shows what a user sees. It returns what the reader may try.
func (d *demo) showViews(ctx context.Context) ([]step, error) {
	if d.cluster == nil { // API servers elsewhere do not reach this machine
		return nil, nil
	}
	s := &scene{}
	if err := d.readYAML(s, "hack", "demo", "scenes", "views.yaml"); err != nil {
		return nil, err
	}
	// An earlier run may have been interrupted after it.
	if err := d.kubectl(ctx, "delete", "rolebinding", guest, "-n", "default", "--ignore-not-found"); err != nil {
		return nil, err
	}
	fmt.Fprintf(d.out, "\n===== what %s sees\n", guest)
	for _, each := range s.Show {
		output, err := d.show(ctx, each)
		if err != nil {
			return nil, err
		}
		d.print(each, "", output)
	}
	return s.Try, nil
}
