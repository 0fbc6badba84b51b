package dump

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/planning/workload"
)

// Expand adds what workload objects ask for and the dump lacks, as package planning/workload decides: pods, the claims of these pods
// and of waiting pods, ReplicaSets of Deployments, Jobs of CronJobs. Claims without a class get the default one. Finished pods whose name a new pod takes leave the dump. Workloads that wait for
// a pod become warnings. The new pods have been through no admission. Unless all is asked for, pods for which the nodes never have room are
// counted and not made (room.go).
func (o *Objects) Expand(all bool) (*Expanded, error) {
	w := o.workloads()
	if all {
		return o.expand(w, nil)
	}
	first, err := workload.Make(o.existing(w), workload.Options{Enough: func(*v1.Pod) int { return 1 }, Tolerations: o.Tolerations})
	if err != nil {
		return nil, err
	}
	return o.expand(w, o.room(first.Pods))
}

// Expanded is what Expand adds to a dump.
type Expanded struct {
	Pods    []*v1.Pod
	Counted []workload.Counted // pods that are not made
}

// ExpandOf is Expand for the workloads of only alone, which are objects of the dump or copies of these. Without workloads it makes the claims
// of waiting pods.
func (o *Objects) ExpandOf(only workload.Objects) ([]*v1.Pod, error) {
	expanded, err := o.expand(only, nil)
	if err != nil {
		return nil, err
	}
	return expanded.Pods, nil
}

// workloads returns the workload objects of the dump.
func (o *Objects) workloads() workload.Objects {
	return workload.Objects{
		Deployments: o.Deployments, ReplicaSets: o.ReplicaSets, ReplicationControllers: o.ReplicationControllers,
		StatefulSets: o.StatefulSets, Jobs: o.Jobs, CronJobs: o.CronJobs, DaemonSets: o.DaemonSets, Autoscalers: o.Autoscalers,
	}
}

// existing returns these workloads with what exists.
func (o *Objects) existing(w workload.Objects) workload.Objects {
	w.Nodes, w.Pods, w.Claims = o.Nodes, o.Pods, o.PersistentVolumeClaims
	w.ClaimTemplates, w.ResourceClaims = o.ResourceClaimTemplates, o.ResourceClaims
	return w
}

// expand adds what these workloads ask for. enough is that of workload.Options.
func (o *Objects) expand(w workload.Objects, enough func(*v1.Pod) int) (*Expanded, error) {
	made, err := workload.Make(o.existing(w), workload.Options{Enough: enough, Tolerations: o.Tolerations})
	if err != nil {
		return nil, err
	}
	leaves := map[*v1.Pod]bool{}
	for _, p := range made.Finished {
		leaves[p] = true
	}
	o.Pods = slices.DeleteFunc(slices.Clone(o.Pods), func(p *v1.Pod) bool { return leaves[p] })
	claiming := map[string]*v1.Pod{}
	for _, p := range made.Claiming {
		claiming[key(p)] = p
	}
	for i, p := range o.Pods {
		if c := claiming[key(p)]; c != nil {
			o.Pods[i] = c
		}
	}
	o.Pods = append(o.Pods, made.Pods...)
	o.ReplicaSets = append(o.ReplicaSets, made.ReplicaSets...)
	o.Jobs = append(o.Jobs, made.Jobs...)
	o.PersistentVolumeClaims = append(o.PersistentVolumeClaims, made.Claims...)
	o.ResourceClaims = append(o.ResourceClaims, made.ResourceClaims...)
	o.DefaultClasses()
	for _, x := range made.Waiting {
		o.Warnings.Group("%d "+x.Kind+"s make no more pods: each waits for a pod of its own", x.String())
	}
	return &Expanded{made.Pods, made.Counted}, nil
}

// DefaultClasses gives the unbound claims that name no StorageClass the default class of the dump, if it has one.
func (o *Objects) DefaultClasses() {
	o.PersistentVolumeClaims = admission.WithDefaultClasses(o.PersistentVolumeClaims, o.StorageClasses)
}
