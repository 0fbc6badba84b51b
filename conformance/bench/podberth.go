package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/cel"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/placement"
)

// berth is podberth over the same objects.
type berth struct {
	snapshot *cluster.Snapshot
	plan     *placement.Placer
	o        placement.Options
}

func newBerth(w world) (*berth, error) {
	s, err := cluster.New(cluster.Objects{
		Nodes: w.nodes, Pods: w.running, Namespaces: w.namespaces, Services: w.services, PodDisruptionBudgets: w.budgets,
		CSINodes: w.storage.csiNodes, StorageClasses: w.storage.classes, PersistentVolumes: w.storage.volumes, Claims: w.storage.claims,
		ResourceSlices: w.slices, DeviceClasses: w.classes, ResourceClaims: w.claims,
	})
	if err != nil {
		return nil, err
	}
	profile := placement.PluginArgs{Devices: tracker.Options{Compiler: cel.NewCompiler()}}.Profile()
	if !sampleBoth {
		profile.Sampling = placement.AllNodes()
	}
	if w.tenants {
		profile.Filters = append(profile.Filters, tenants())
	}
	plan, err := placement.NewPlacer(s, profile)
	if err != nil {
		return nil, err
	}
	b := &berth{snapshot: s, plan: plan}
	b.o = b.options(w)
	return b, nil
}

func (b *berth) decide(pod *v1.Pod) (placement.Decision, string) {
	d := b.plan.Decide(pod, b.o)
	b.o.Next = d.Next
	if d.Failure != nil {
		return d, d.Failure.Text()
	}
	return d, ""
}

// agrees reports whether both answers are equal: the same node, a node of equal total, or the same message.
func (b *berth) agrees(pod *v1.Pod, d placement.Decision, text, node, message string) (bool, error) {
	if node == "" || !d.Placed() {
		return d.Node == node && text == message, nil
	}
	if d.Node == node {
		return true, nil
	}
	a := b.plan.Prepare(pod)
	found := a.Search(b.o)
	_, totals, err := a.Scores(found.Feasible)
	if err != nil {
		return false, err
	}
	for k, i := range found.Feasible {
		if b.snapshot.Node(i).Name == node {
			return totals[k] == d.Total, nil
		}
	}
	return false, nil
}

func (b *berth) assume(pod *v1.Pod, node string) error {
	slot := b.snapshot.Slot(node)
	if slot < 0 {
		return fmt.Errorf("no node %s", node)
	}
	if len(pod.Spec.ResourceClaims) == 0 && len(pod.Spec.Volumes) == 0 {
		return b.snapshot.Assume(pod, slot)
	}
	a := b.plan.Prepare(pod)
	d := placement.Decision{Slot: slot, Node: node, Volumes: a.Volumes(slot)}
	for _, p := range a.Predicates {
		if s, ok := p.(devices.State); ok {
			d.Devices = s.Allocation(slot)
		}
	}
	return b.plan.Assume(pod, d)
}

// place puts a pod where a decision says.
func (b *berth) place(pod *v1.Pod, d placement.Decision) error {
	if len(pod.Spec.ResourceClaims) == 0 && len(pod.Spec.Volumes) == 0 {
		return b.snapshot.Assume(pod, d.Slot)
	}
	return b.plan.Assume(pod, d)
}
