// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/testenv/loopback"
)

// kubelet runs the schedulers of pods as processes: with the ConfigMap that the pod names, and once more when they end. It reports whether they
// are ready, and what they wrote before they ended.
type kubelet struct {
	*live
	folder string
	probe  http.Client

	mu         sync.Mutex
	containers map[types.UID]*podRun
	all        []*process
}

// podRun is the only container of a pod.
type podRun struct {
	pod      string
	process  *process
	port     string
	restarts int32
	// next is when it is started again; why is the reason why it waits.
	next    time.Time
	why     string
	failure *corev1.ContainerStateTerminated
}

func (l *live) startKubelet(t *testing.T) *kubelet {
	t.Helper()
	k := &kubelet{live: l, folder: t.TempDir(), containers: map[types.UID]*podRun{}}
	k.probe = http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		wait.UntilWithContext(ctx, k.sync, 200*time.Millisecond)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		for _, s := range k.all {
			s.finish(t)
		}
	})
	return k
}

// sync looks at all pods of schedulers once. What fails is tried again.
func (k *kubelet) sync(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := &corev1.PodList{}
	if err := k.List(ctx, list, client.InNamespace(namespace), client.HasLabels{LabelProfile}); err != nil {
		return
	}
	present := map[types.UID]bool{}
	for i := range list.Items {
		p := &list.Items[i]
		present[p.UID] = true
		c := k.containers[p.UID]
		if c == nil {
			c = &podRun{pod: p.Name}
			k.containers[p.UID] = c
		}
		k.advance(ctx, p, c)
		if status := k.status(ctx, p, c); !equality.Semantic.DeepEqual(status, p.Status) {
			p.Status = status
			_ = k.Status().Update(ctx, p)
		}
	}
	for uid, c := range k.containers {
		if !present[uid] {
			c.stop()
			delete(k.containers, uid)
		}
	}
}

// stop ends a container as the kubelet does, and waits until it has ended.
func (c *podRun) stop() {
	if c.process != nil {
		_ = c.process.Process.Signal(syscall.SIGTERM) // it may have ended
		<-c.process.done
	}
}

// advance starts a container that is to be started, and notes that one has ended.
func (k *kubelet) advance(ctx context.Context, p *corev1.Pod, c *podRun) {
	if c.process == nil {
		if time.Now().After(c.next) {
			k.start(ctx, p, c)
		}
		return
	}
	select {
	case <-c.process.done:
	default:
		return
	}
	text := c.process.log.String() // of which the kubelet keeps the end
	c.failure = &corev1.ContainerStateTerminated{
		ExitCode: int32(c.process.ProcessState.ExitCode()), Reason: "Error", Message: text[max(0, len(text)-2048):],
	}
	c.process, c.why = nil, "CrashLoopBackOff"
	c.restarts++
	c.next = time.Now().Add(time.Duration(min(c.restarts, 5)) * time.Second)
}

// start starts a container with the configuration that its pod names.
func (k *kubelet) start(ctx context.Context, p *corev1.Pod, c *podRun) {
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
	for _, v := range p.Spec.Volumes {
		if v.Name == configVolume {
			config.Name = v.ConfigMap.Name
		}
	}
	folder := filepath.Join(k.folder, fmt.Sprintf("%s-%d", p.Name, c.restarts))
	port, err := strconv.Itoa(loopback.Port()), k.Get(ctx, client.ObjectKeyFromObject(config), config)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err == nil {
		args := append(p.Spec.Containers[0].Args, "--bind-address="+loopback.Host(), "--secure-port="+port)
		c.process, err = k.launch(folder, p.Name, config.Data[configFile], args...)
	}
	if err != nil {
		c.why, c.next = "CreateContainerConfigError", time.Now().Add(time.Second)
		return
	}
	c.port = port
	k.all = append(k.all, c.process)
}

// status is what is reported of a pod.
func (k *kubelet) status(ctx context.Context, p *corev1.Pod, c *podRun) corev1.PodStatus {
	ready := c.process != nil && k.isReady(ctx, p, c)
	out := *p.Status.DeepCopy()
	out.Phase = corev1.PodRunning
	now := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()}
	if ready {
		now.Status = corev1.ConditionTrue
	}
	if len(out.Conditions) == 0 || out.Conditions[0].Status != now.Status {
		out.Conditions = []corev1.PodCondition{now}
	}
	s := corev1.ContainerStatus{Name: containerName, Image: p.Spec.Containers[0].Image, Ready: ready, RestartCount: c.restarts}
	s.LastTerminationState.Terminated = c.failure
	if c.process != nil {
		s.State.Running = &corev1.ContainerStateRunning{}
	} else {
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: c.why}
	}
	out.ContainerStatuses = []corev1.ContainerStatus{s}
	return out
}

// isReady asks as the readiness probe of the pod does.
func (k *kubelet) isReady(ctx context.Context, p *corev1.Pod, c *podRun) bool {
	url := "https://" + net.JoinHostPort(loopback.Host(), c.port) + p.Spec.Containers[0].ReadinessProbe.HTTPGet.Path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	answer, err := k.probe.Do(request)
	if err != nil {
		return false
	}
	_ = answer.Body.Close() // nothing is read
	return answer.StatusCode == http.StatusOK
}

// kill ends the schedulers of some pods as kill -9 does.
func (k *kubelet) kill(pods []string) (killed int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	names := " " + strings.Join(pods, " ") + " "
	for _, c := range k.containers {
		if c.process != nil && strings.Contains(names, " "+c.pod+" ") {
			c.process.kill()
			killed++
		}
	}
	return killed
}

// runs is how many schedulers of an object run.
func (k *kubelet) runs(object string) (n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.containers {
		if c.process != nil && strings.HasPrefix(c.pod, object+"-") {
			n++
		}
	}
	return n
}
