package preemption_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
)

// actions is the program of the package comment.
func actions(plan *placement.Plan, snapshot *cluster.Snapshot, pod *v1.Pod, pdbs []*policyv1.PodDisruptionBudget, nominated []*v1.Pod, now time.Time) preemption.Actions {
	attempt := plan.Prepare(pod)
	what := attempt.WhatIf(placement.Options{}) // the preemptor's filters, as if pods had come or left
	r := preemption.Preempt(preemption.Request{
		Pod: pod, Cluster: snapshot, WhatIf: what, Rejections: attempt.Rejections(nil, placement.Options{}),
		Budgets: disruption.NewBudgets(pdbs, disruption.BudgetOptions{}), Now: now,
	})
	actions := r.Actions(pod, nominated) // delete the victims, clear nominations, nominate the pod
	return actions
}

// What the caller does after a preemption.
func ExampleResult_Actions() {
	snapshot, _, err := exampleCluster()
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := placement.New(snapshot, placement.DefaultProfile())
	if err != nil {
		fmt.Println(err)
		return
	}
	a := actions(plan, snapshot, examplePod("gpu", "gpu", "2", 1000, ""), nil, nil, time.Unix(0, 0))
	fmt.Println("delete", a.Evict[0].Name, "and nominate to", a.Nominate)
	// Output:
	// delete db-1 and nominate to n1
}
