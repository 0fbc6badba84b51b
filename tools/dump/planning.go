package dump

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/tools/report"
)

// Planning says how Snapshot completes the objects for a planner.
type Planning struct {
	// Expand makes the pods that workload objects ask for and the input lacks, as far as the API server takes them.
	Expand bool
	// All makes all these pods. Otherwise pods for which the nodes never have room are counted, and a warning says how many.
	All bool
	// Expands is true for a program with the flag -expand.
	Expands bool
	// Strict makes a pod on a node that the input lacks an error.
	Strict bool
	// Orphans says in the warning what follows for such a pod, as in "counted nowhere".
	Orphans string
}

// Planned are the objects of a dump for a planner.
type Planned struct {
	Snapshot *cluster.Snapshot
	// Refused are the pods that workloads make and the API server refuses, with Planning.Expand. They have left the dump.
	Refused []Refusal
	// Quotas are the quotas of the dump, charged with its pods, also with those that are being deleted.
	Quotas *admission.Quotas
}

// Snapshot completes the objects for a planner and returns their cluster: it warns about kinds that the input lacks, gives workloads
// without UIDs those of their pods, and checks the budgets. The errors are those of Expand, Orphans, CheckBudgets and [cluster.New].
func (o *Objects) Snapshot(p Planning) (*Planned, error) {
	expanded := &Expanded{}
	if p.Expand {
		var err error
		if expanded, err = o.Expand(p.All); err != nil {
			return nil, err
		}
		o.TellCounted(expanded.Counted)
	}
	if err := o.Orphans(p.Orphans); err != nil && p.Strict {
		return nil, err
	}
	o.empty(p)
	o.Absent(Asks{Placed: func(*v1.Pod) bool { return true }, Budgets: true})
	o.Workloads()
	if err := o.CheckBudgets(); err != nil {
		return nil, err
	}
	out := o.AdmitMade(expanded.Pods)
	var err error
	out.Snapshot, err = cluster.New(o.Cluster())
	return out, err
}

// empty warns about a dump without nodes or pods, about which there is nothing to plan.
func (o *Objects) empty(p Planning) {
	makers := len(o.Deployments) + len(o.StatefulSets) + len(o.ReplicaSets) + len(o.ReplicationControllers) + len(o.Jobs) + len(o.CronJobs) + len(o.DaemonSets)
	switch {
	case len(o.Nodes) == 0:
		o.Warnings.Add("the input has no node: there is nothing to plan")
	case len(o.Pods) == 0 && makers > 0 && p.Expands && !p.Expand:
		o.Warnings.Add(fmt.Sprintf("the input has no pod; -expand makes the pods of %s of the input", report.Count(makers, "workload")))
	}
}

// AdmitMade puts pods that Expand made through a [Gate] that checks everything, for programs that show the pods as the API server stores
// them. The pods that the server refuses leave the dump, and a warning counts them. The result has no Snapshot. Absent, which asks for
// PriorityClasses, must see the pods before.
func (o *Objects) AdmitMade(made []*v1.Pod) *Planned {
	fresh := map[*v1.Pod]bool{}
	for _, p := range made {
		fresh[p] = true
	}
	gate := o.Gate(Checks{Options: admission.Options{SkipChanges: true}, Whole: true, New: func(p *v1.Pod) bool { return fresh[p] }})
	out := &Planned{Quotas: gate.Quotas}
	kept := make([]*v1.Pod, 0, len(o.Pods))
	for _, p := range o.Pods {
		if fresh[p] {
			admitted, text := gate.Admit(p)
			if admitted == nil {
				out.Refused = append(out.Refused, Refusal{p, text})
				o.Warnings.Group("%d pods that workloads make are left out: the API server refuses them", fmt.Sprintf("pod %s is left out: the API server refuses it: %s", key(p), text))
				continue
			}
			p = admitted
		}
		kept = append(kept, p)
	}
	o.Pods = slices.Clip(kept)
	return out
}

// DaemonSetExists returns whether the input has a DaemonSet; nil, as if all were there, when the input has none at all.
func (o *Objects) DaemonSetExists() func(namespace, name string) bool {
	if len(o.DaemonSets) == 0 {
		return nil
	}
	there := map[string]bool{}
	for _, d := range o.DaemonSets {
		there[key(d)] = true
	}
	return func(namespace, name string) bool { return there[namespace+"/"+name] }
}
