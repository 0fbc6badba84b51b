package rollout

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/planning/workload"
)

// budgetsOf yields the budgets of a deadlock, by their numbers and as the cluster has them.
func (x *run) budgetsOf(d *Deadlock, yield func(k int, name string, b *policyv1.PodDisruptionBudget)) {
	all := slices.Collect(cluster.List[*policyv1.PodDisruptionBudget](x.base).All())
	for _, name := range d.Budgets {
		k := slices.IndexFunc(all, func(b *policyv1.PodDisruptionBudget) bool { return budgetName(b) == name })
		yield(k, name, all[k])
	}
}

// replaced is the change that gives a budget another specification.
func replaced(text string, b *policyv1.PodDisruptionBudget, edit func(s *policyv1.PodDisruptionBudgetSpec)) change {
	return change{text, func(in *Input, _ *Options) {
		c := b.DeepCopy()
		edit(&c.Spec)
		must.Do(in.Snapshot.Set(c))
	}}
}

// looserBudgets lets each budget allow one disruption more, or as many as a group of the deadlock needs that leaves whole.
func (x *run) looserBudgets(d *Deadlock) (out []change) {
	if x.ofAgent(d) {
		return nil
	}
	x.budgetsOf(d, func(k int, name string, b *policyv1.PodDisruptionBudget) {
		s := &x.budgets.list[k].Status // at the end of the plan
		desired := max(0, min(s.DesiredHealthy, s.CurrentHealthy)-1)
		if n := x.leaveAtOnce(d, int32(k)); n > 1 {
			desired = max(0, min(desired, s.CurrentHealthy-n))
		}
		if b.Spec.MaxUnavailable != nil && s.ExpectedPods > 0 {
			most := intstr.FromInt32(s.ExpectedPods - desired)
			out = append(out, replaced(fmt.Sprintf("maxUnavailable %s in place of %s in budget %s", most.String(), b.Spec.MaxUnavailable.String(), name), b, func(s *policyv1.PodDisruptionBudgetSpec) {
				s.MaxUnavailable = &most
			}))
			return
		}
		least := intstr.FromInt32(desired)
		was := "nothing"
		switch {
		case b.Spec.MinAvailable != nil:
			was = b.Spec.MinAvailable.String()
		case b.Spec.MaxUnavailable != nil: // of pods without a controller, which it does not count
			was = "maxUnavailable " + b.Spec.MaxUnavailable.String()
		}
		out = append(out, replaced(fmt.Sprintf("minAvailable %s in place of %s in budget %s", least.String(), was, name), b, func(s *policyv1.PodDisruptionBudgetSpec) {
			s.MinAvailable, s.MaxUnavailable = &least, nil
		}))
	})
	return out
}

// ofAgent reports whether a program makes the budget of a pod of the deadlock, so that nobody else changes it.
func (x *run) ofAgent(d *Deadlock) bool {
	return slices.ContainsFunc(d.Pods, func(name string) bool {
		namespace, short, _ := strings.Cut(name, "/")
		pod := x.base.Pod(namespace, short)
		return pod != nil && disruption.BudgetAgent(pod) != ""
	})
}

// countableBudgets have a number in minAvailable, for which the disruption controller asks no controller.
func (x *run) countableBudgets(d *Deadlock) (out []change) {
	x.budgetsOf(d, func(k int, name string, b *policyv1.PodDisruptionBudget) {
		least := intstr.FromInt32(int32(len(x.budgets.pods[k]) - 1))
		out = append(out, replaced(fmt.Sprintf("minAvailable %s in budget %s", least.String(), name), b, func(s *policyv1.PodDisruptionBudgetSpec) {
			s.MinAvailable, s.MaxUnavailable = &least, nil
		}))
	})
	return out
}

// fewerBudgets leaves one budget to the pods, each of them in turn.
func (x *run) fewerBudgets(d *Deadlock) (out []change) {
	x.budgetsOf(d, func(_ int, name string, b *policyv1.PodDisruptionBudget) {
		out = append(out, change{"no budget " + name, func(in *Input, _ *Options) { must.Do(in.Snapshot.Remove(b)) }})
	})
	return out
}

// sickLeave lets pods leave that are not ready.
func (x *run) sickLeave(d *Deadlock) (out []change) {
	always := policyv1.AlwaysAllow
	x.budgetsOf(d, func(_ int, name string, b *policyv1.PodDisruptionBudget) {
		if policyOf(b) != always {
			out = append(out, replaced("unhealthyPodEvictionPolicy AlwaysAllow in budget "+name, b, func(s *policyv1.PodDisruptionBudgetSpec) {
				s.UnhealthyPodEvictionPolicy = &always
			}))
		}
	})
	return out
}

// moreReplicas gives each workload of the deadlock's pods one pod more.
func (x *run) moreReplicas(d *Deadlock) (out []change) {
	seen := map[*unit]bool{}
	for _, name := range d.Pods {
		namespace, short, _ := strings.Cut(name, "/")
		pod := x.base.Pod(namespace, short)
		if pod == nil {
			continue
		}
		u := x.unitOf(pod)
		if u == nil || !u.known || u.kind == "Job" || seen[u] {
			continue
		}
		seen[u] = true
		out = append(out, change{fmt.Sprintf("one replica more of %s (%d)", u, u.replicas+1), func(in *Input, _ *Options) { x.grow(in, u) }})
	}
	return out
}

// grow changes an input so that a workload has one pod more, which waits for a node. A pod that the API server refuses does not come.
func (x *run) grow(in *Input, u *unit) {
	more := u.replicas + 1
	objects := u.objects
	var owner metav1.Object
	for _, r := range u.objects.ReplicaSets {
		c := *r
		c.Spec.Replicas, owner = &more, r
		objects.ReplicaSets = []*appsv1.ReplicaSet{&c}
		must.Do(in.Snapshot.Set(&c))
	}
	for _, r := range u.objects.ReplicationControllers {
		c := *r
		c.Spec.Replicas = &more
		objects.ReplicationControllers = []*v1.ReplicationController{&c}
		must.Do(in.Snapshot.Set(&c))
	}
	for _, s := range u.objects.StatefulSets {
		c := *s
		c.Spec.Replicas = &more
		objects.StatefulSets = []*appsv1.StatefulSet{&c}
		must.Do(in.Snapshot.Set(&c))
	}
	if owner != nil {
		in.Deployments = grownDeployment(in.Deployments, owner)
	}
	for slot := range in.Snapshot.Len() {
		if n := in.Snapshot.Node(slot); n != nil {
			for pod := range in.Snapshot.Pods(slot) {
				if x.unitOf(pod) == u {
					objects.Pods = append(objects.Pods, x.observe(pod, n.Name, u))
				}
			}
		}
	}
	for _, pod := range x.waiting {
		if x.unitOf(pod) == u {
			objects.Pods = append(objects.Pods, x.observe(pod, "", u))
		}
	}
	made := must.Get(workload.Make(objects, workload.Options{}))
	for _, c := range made.Claims {
		if _, there := cluster.List[*v1.PersistentVolumeClaim](in.Snapshot).Get(c.Namespace, c.Name); !there {
			must.Do(in.Snapshot.Set(c))
		}
	}
	for _, pod := range made.Pods[:min(1, len(made.Pods))] {
		admitted, _, err := admission.Admit(pod, in.Admission, admission.Options{SkipChanges: true})
		if err != nil {
			continue // the workload stays without the pod
		}
		admitted.UID = types.UID(admitted.Namespace + "/" + admitted.Name + "/more")
		in.Pending = append(in.Pending, admitted)
	}
}

// grownDeployment returns the list with one replica more for the Deployment of a ReplicaSet.
func grownDeployment(list []*appsv1.Deployment, set metav1.Object) []*appsv1.Deployment {
	ref := metav1.GetControllerOf(set)
	out := make([]*appsv1.Deployment, len(list))
	for i, d := range list {
		out[i] = d
		if ref != nil && ref.Kind == "Deployment" && d.Namespace == set.GetNamespace() && d.Name == ref.Name {
			c := *d
			more := int32(2)
			if d.Spec.Replicas != nil {
				more = *d.Spec.Replicas + 1
			}
			c.Spec.Replicas = &more
			out[i] = &c
		}
	}
	return out
}
