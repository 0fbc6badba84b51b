package main

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/examples/config"
	"github.com/podberth/podberth/examples/dump"
	"github.com/podberth/podberth/placement"
)

// world is the cluster as the input and the requests tell of it.
type world struct {
	snapshot  *cluster.Snapshot
	plans     map[string]*placement.Plan // by scheduler name; "" is that of all names without a plan of their own
	budgets   *disruption.Budgets
	nominated map[string][]*v1.Pod // pending pods by status.nominatedNodeName
}

// newWorld makes plans for the profiles of a configuration, or one of the default profile for every pod.
func newWorld(objects *dump.Objects, c *config.Configuration) (*world, []string, error) {
	snapshot, err := cluster.New(objects.Cluster())
	if err != nil {
		return nil, nil, err
	}
	w := &world{
		snapshot: snapshot, plans: map[string]*placement.Plan{}, nominated: map[string][]*v1.Pod{},
		budgets: disruption.NewBudgets(objects.PodDisruptionBudgets, disruption.BudgetOptions{}),
	}
	warnings := objects.Warnings
	for _, p := range snapshot.Orphans() {
		warnings = append(warnings, fmt.Sprintf("pod %s/%s: spec.nodeName: Invalid value: %q: no such node in the input; it counts once a request brings that node",
			p.Namespace, p.Name, p.Spec.NodeName))
	}
	profiles := []placement.Profile{placement.DefaultProfile()}
	if c != nil {
		profiles = nil
		for k := range c.Profiles {
			profiles = append(profiles, c.Profiles[k].Placement)
			warnings = append(warnings, c.Profiles[k].Warnings...)
		}
	}
	for _, p := range profiles {
		plan, err := placement.New(snapshot, p)
		if err != nil {
			return nil, nil, fmt.Errorf("profile %s: %w", p.SchedulerName, err)
		}
		if c == nil {
			w.plans[""] = plan
		} else {
			w.plans[p.SchedulerName] = plan
		}
	}
	for _, p := range objects.Pods {
		if p.Spec.NodeName == "" && p.Status.NominatedNodeName != "" {
			w.nominated[p.Status.NominatedNodeName] = append(w.nominated[p.Status.NominatedNodeName], p)
		}
	}
	return w, warnings, nil
}

// plan returns the plan of a pod's profile.
func (w *world) plan(pod *v1.Pod) (*placement.Plan, error) {
	if pod == nil {
		//lint:ignore ST1005 a field path in Go field names, as the wire format has it
		return nil, badRequest{errors.New("Pod: Required value")}
	}
	if p, ok := w.plans[pod.Spec.SchedulerName]; ok {
		return p, nil
	}
	if p, ok := w.plans[""]; ok {
		return p, nil
	}
	return nil, badRequest{fmt.Errorf("Pod.spec.schedulerName: Invalid value: %q: no such profile in the configuration", pod.Spec.SchedulerName)}
}

// options counts the nominated pods of the input.
func (w *world) options() placement.Options {
	if len(w.nominated) == 0 {
		return placement.Options{}
	}
	return placement.Options{Nominated: func(i int) []*v1.Pod { return w.nominated[w.snapshot.Node(i).Name] }}
}

// asked takes in the node objects of a request, and returns the names that it is about.
func (w *world) asked(a *extenderv1.ExtenderArgs) ([]string, error) {
	if a.Nodes == nil && a.NodeNames == nil {
		//lint:ignore ST1005 a field path in Go field names, as the wire format has it
		return nil, badRequest{errors.New("Nodes: Required value: node objects, or NodeNames")}
	}
	var names []string
	if a.Nodes != nil {
		for k := range a.Nodes.Items {
			n := &a.Nodes.Items[k]
			if err := w.learn(n); err != nil {
				return nil, badRequest{fmt.Errorf("Nodes.items[%d].%w", k, err)}
			}
			names = append(names, n.Name)
		}
	}
	if a.NodeNames != nil && a.Nodes == nil {
		names = append(names, *a.NodeNames...)
	}
	return names, nil
}

// learn replaces what is known of a node, if it is different.
func (w *world) learn(n *v1.Node) error {
	slot := w.snapshot.Slot(n.Name)
	if slot < 0 {
		_, err := w.snapshot.AddNode(n)
		return err
	}
	known := w.snapshot.Node(slot)
	if n.ResourceVersion != "" && n.ResourceVersion == known.ResourceVersion || equality.Semantic.DeepEqual(n, known) {
		return nil
	}
	return w.snapshot.UpdateNode(n)
}
