package dump

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
)

// Planning says how Snapshot completes the objects for a planner.
type Planning struct {
	// Expand makes the pods that workload objects ask for and the input lacks.
	Expand bool
	// Strict makes a pod on a node that the input lacks an error.
	Strict bool
	// Orphans says in the warning what follows for such a pod, as in "counted nowhere".
	Orphans string
}

// Snapshot completes the objects for a planner and returns their cluster: it warns about kinds that the input lacks, gives workloads
// without UIDs those of their pods, and checks the budgets. The errors are those of Expand, Orphans, CheckBudgets and cluster.New.
func (o *Objects) Snapshot(p Planning) (*cluster.Snapshot, error) {
	if p.Expand {
		if _, err := o.Expand(); err != nil {
			return nil, err
		}
	}
	if err := o.Orphans(p.Orphans); err != nil && p.Strict {
		return nil, err
	}
	o.Absent(Asks{Placed: func(*v1.Pod) bool { return true }, Budgets: true})
	o.Workloads()
	if err := o.CheckBudgets(); err != nil {
		return nil, err
	}
	return cluster.New(o.Cluster())
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
