package rollout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubectl/pkg/drain"
)

// naive drains the nodes in their order as kubectl drain does, each until the time-out, and returns why that gets stuck: the error of
// kubectl, or a pod that waits when its node is empty; "" when nothing hangs.
func (p *player) naive(nodes []string, timeout time.Duration) (string, error) {
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	waited, err := p.waiting()
	if err != nil {
		return "", err
	}
	for _, name := range nodes {
		n, err := p.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		h := &drain.Helper{Ctx: ctx, Client: p.client, IgnoreAllDaemonSets: true, GracePeriodSeconds: -1, Timeout: timeout, Out: io.Discard, ErrOut: io.Discard}
		if err := p.edit(name, cordon); err != nil {
			return "", err
		}
		done := make(chan error, 1)
		go func() { done <- drain.RunNodeDrain(h, n.Name) }()
		for running := true; running; {
			select {
			case err := <-done:
				if err != nil {
					return err.Error(), nil
				}
				running = false
			case <-time.After(100 * time.Millisecond):
			}
			if err := p.robot(); err != nil {
				return "", err
			}
		}
		if err := p.robot(); err != nil { // the controllers have seen the last pod leave
			return "", err
		}
		if now, err := p.waiting(); err != nil || now > waited {
			return fmt.Sprintf("%d pods wait for a node when %s is empty", now-waited, name), err
		}
		if err := p.edit(name, func(n *v1.Node) { n.Spec.Unschedulable, n.Spec.Taints = false, nil }); err != nil {
			return "", err
		}
	}
	return "", nil
}

func (p *player) waiting() (int, error) {
	_, pending, err := p.objects(p.ctx)
	return len(pending), err
}

// robot does one round of what kubelets, controllers and kube-scheduler do. Pods are ready at once.
func (p *player) robot() error {
	o, pending, err := p.objects(p.ctx)
	if err != nil {
		return err
	}
	have, name := map[string]int{}, map[string]bool{}
	for _, pod := range append(o.Pods, pending...) {
		name[pod.Name] = true
		if pod.DeletionTimestamp == nil {
			if ref := metav1.GetControllerOf(pod); ref != nil {
				have[ref.Kind+ref.Name]++
			}
			continue
		}
		if time.Now().After(pod.DeletionTimestamp.Time) {
			if err := p.gone(pod); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
	if p.samples == nil {
		p.samples = map[string]*v1.Pod{}
	}
	for _, pod := range o.Pods { // a pod of each controller shows what to make
		if ref := metav1.GetControllerOf(pod); ref != nil {
			p.samples[ref.Kind+ref.Name] = pod
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.samples)) {
		pod := p.samples[key]
		ref := metav1.GetControllerOf(pod)
		replicas := 0
		for _, a := range p.apps {
			if a.name == ref.Name {
				replicas = a.replicas
			}
		}
		for have[ref.Kind+ref.Name] < replicas && ref.Kind == "ReplicaSet" {
			have[ref.Kind+ref.Name]++
			p.evictions++
			if err := p.make(pod, fmt.Sprintf("%s-again-%d", ref.Name, p.evictions)); err != nil {
				return err
			}
		}
		if ref.Kind == "StatefulSet" {
			for i := range replicas {
				if next := fmt.Sprintf("%s-%d", ref.Name, i); !name[next] {
					name[next] = true
					if err := p.make(pod, next); err != nil {
						return err
					}
				}
			}
		}
	}
	return p.schedule()
}

// schedule lets kube-scheduler place all pods that wait.
func (p *player) schedule() error {
	o, pending, err := p.objects(p.ctx)
	if err != nil {
		return err
	}
	for _, pod := range pending {
		node, err := p.decide(o, pod)
		if err != nil || node == "" {
			if err != nil {
				return err
			}
			continue
		}
		if err := errors.Join(p.bind(p.ctx, pod, node), p.ready(pod.Name)); err != nil {
			return err
		}
		if o, _, err = p.objects(p.ctx); err != nil {
			return err
		}
	}
	return nil
}
