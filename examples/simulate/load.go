package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/examples/dump"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/taints"
)

// world is the cluster to simulate: what runs, and what waits in queue order.
type world struct {
	snapshot *cluster.Snapshot
	profile  placement.Profile
	plan     *placement.Plan // over the snapshot; it remembers what is promised of volumes
	pending  []*v1.Pod
}

// load reads the input and sorts the pods into running, pending and left aside. Warnings go to stderr once nothing can go
// wrong any more.
func load(o options, stdin io.Reader, stderr io.Writer) (*world, error) {
	objects, err := dump.Read(o.files, stdin)
	if err != nil {
		return nil, err
	}
	made := map[*v1.Pod]bool{}
	if o.expand {
		for _, p := range objects.Expand() {
			made[p] = true
		}
	}
	w := &world{profile: placement.DefaultProfile()}
	w.profile.Sampling = placement.AllNodes()
	if o.percentage >= 0 {
		p := int32(o.percentage)
		w.profile.Sampling.Percentage = &p
	}
	warnings := objects.Warnings
	if w.snapshot, err = cluster.New(snapshotOf(objects)); err != nil {
		return nil, err
	}
	if w.plan, err = placement.New(w.snapshot, w.profile); err != nil {
		return nil, err
	}
	for _, p := range w.snapshot.Orphans() {
		text := fmt.Sprintf("pod %s/%s: spec.nodeName: Invalid value: %q: no such node in the input", p.Namespace, p.Name, p.Spec.NodeName)
		if o.strict {
			return nil, errors.New(text)
		}
		warnings = append(warnings, text+"; the pod is counted nowhere")
	}
	others := map[string]int{}
	for _, p := range objects.Pods {
		switch {
		case p.Spec.NodeName != "" || cluster.Finished(p) || p.DeletionTimestamp != nil:
			continue
		case p.Spec.SchedulerName != "" && p.Spec.SchedulerName != w.profile.SchedulerName:
			others[p.Spec.SchedulerName]++
			continue
		}
		if o.admit || made[p] || p.Spec.Priority == nil {
			if p, err = admit(p, objects); err != nil {
				return nil, err
			}
		}
		w.pending = append(w.pending, p)
	}
	for _, name := range sortedKeys(others) {
		warnings = append(warnings, fmt.Sprintf("%d pending pod(s) of scheduler %q left alone", others[name], name))
	}
	slices.SortStableFunc(w.pending, comparePods)
	for _, text := range warnings {
		fmt.Fprintf(stderr, "warning: %s\n", text)
	}
	return w, nil
}

// comparePods is the order of the queue:
//
//  1. higher priority first,
//  2. older first,
//  3. input order (by a stable sort).
func comparePods(a, b *v1.Pod) int {
	return cmp.Or(cmp.Compare(preemption.Priority(b), preemption.Priority(a)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
}

// admit does to a pod what the API server does when it is created.
func admit(p *v1.Pod, objects *dump.Objects) (*v1.Pod, error) {
	admitted, err := overhead.AdmitRuntimeClass(overhead.Default(p), objects.RuntimeClasses)
	if err == nil {
		admitted, err = preemption.AdmitPriority(admitted, objects.PriorityClasses)
	}
	if err != nil {
		return nil, fmt.Errorf("pod %s/%s: admission: %w", p.Namespace, p.Name, err)
	}
	return taints.WithDefaultSeconds(admitted, taints.DefaultSeconds{}), nil
}

func snapshotOf(o *dump.Objects) cluster.Objects {
	return cluster.Objects{
		Nodes: o.Nodes, Pods: o.Pods, Namespaces: withNamespaces(o), Services: o.Services,
		ReplicationControllers: o.ReplicationControllers, ReplicaSets: o.ReplicaSets, StatefulSets: o.StatefulSets,
		Claims: o.PersistentVolumeClaims, PersistentVolumes: o.PersistentVolumes, StorageClasses: o.StorageClasses,
		CSINodes: o.CSINodes, CSIDrivers: o.CSIDrivers, CSIStorageCapacities: o.CSIStorageCapacities,
		VolumeAttachments: o.VolumeAttachments, PodDisruptionBudgets: o.PodDisruptionBudgets, PriorityClasses: o.PriorityClasses,
	}
}

// withNamespaces adds a namespace object for each namespace that only pods name. It has the label that the API server gives
// every namespace: its name.
func withNamespaces(o *dump.Objects) []*v1.Namespace {
	out := slices.Clone(o.Namespaces)
	known := map[string]bool{}
	for _, n := range out {
		known[n.Name] = true
	}
	for _, p := range o.Pods {
		if !known[p.Namespace] {
			known[p.Namespace] = true
			n := &v1.Namespace{}
			n.Name, n.Labels = p.Namespace, map[string]string{v1.LabelMetadataName: p.Namespace}
			out = append(out, n)
		}
	}
	return out
}
