package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit/traces"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/tools/dump"
)

// trace returns a cluster of a real trace. All its pods are pending, in queue order. The error is traces.ErrNone when there are
// no traces. The workloads of the traces are then left out.
func trace(args ...string) func(int) (world, error) {
	return func(int) (world, error) {
		out, err := traces.Read(args...)
		if err != nil {
			return world{}, err
		}
		folder, err := os.MkdirTemp("", "trace")
		if err != nil {
			return world{}, err
		}
		defer os.RemoveAll(folder)
		file := filepath.Join(folder, "trace.yaml")
		if err := os.WriteFile(file, out, 0o600); err != nil {
			return world{}, err
		}
		o, err := dump.Read([]string{file}, bytes.NewReader(nil), dump.Options{})
		if err != nil {
			return world{}, err
		}
		slices.SortStableFunc(o.Pods, func(a, b *v1.Pod) int { return int(preemption.Priority(b)) - int(preemption.Priority(a)) })
		for _, p := range o.Pods {
			p.UID = types.UID(p.Namespace + "/" + p.Name)
		}
		w := world{nodes: o.Nodes, namespaces: []*v1.Namespace{namespace("trace", nil)}, limit: len(o.Pods)}
		w.pod = func(i int) *v1.Pod { return o.Pods[i] }
		return w, nil
	}
}

// backlog has the pods of the DLRM trace that are left when earlier pods have filled 800 nodes: real pods for which no node
// has room. With again podberth decides about each of them before the time is taken, as about pods that come back from the queue. Without
// the traces the pods are generated.
func backlog(again bool) func(int) (world, error) {
	return func(n int) (world, error) {
		w, err := trace("dlrm", "--nodes", "800", "--pods", "23871", "--zones", "3")(n)
		if errors.Is(err, traces.ErrNone) {
			w, err = unschedulable(n)
		} else if err == nil {
			err = w.fillByDeciding()
		}
		w.again = again
		return w, err
	}
}

// fillByDeciding places the pods of a trace until no node has room. The others stay pending.
func (w *world) fillByDeciding() error {
	b, err := newBerth(*w)
	if err != nil {
		return err
	}
	var left []*v1.Pod
	for i := range w.limit {
		p := w.pod(i)
		d, _ := b.decide(p)
		if !d.Placed() {
			left = append(left, p)
			continue
		}
		if err := b.snapshot.Assume(p, d.Slot); err != nil {
			return err
		}
		running := p.DeepCopy()
		running.Spec.NodeName = d.Node
		w.running = append(w.running, running)
	}
	w.pod, w.limit = func(i int) *v1.Pod { return left[i] }, len(left)
	return nil
}
