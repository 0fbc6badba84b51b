package consolidation

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/resources"
)

// load is a pod that may move.
type load struct {
	old    *v1.Pod
	fresh  v1.Pod // what the controller makes; without claims
	slot   int32  // before the plan
	way    Way
	asks   resources.Vector // of the pod, read-only
	size   float64          // the largest share of the cluster that the pod asks for
	shape  string           // of loads that may take each other's places; "": none may
	kind   int32            // in Planner.kinds; -1: no hard rules about other pods
	groups []int32          // rules between pods that a move of the pod concerns, sorted; at most one move of a group in a wave
	claims bool             // the pod has claims that are made for it
}

// HeldByAnnotation returns why annotations that autoscalers read hold a pod, "" when none does. It is an [Input.Hold]:
//
//   - cluster-autoscaler.kubernetes.io/safe-to-evict: "false"
//   - karpenter.sh/do-not-disrupt: "true"
func HeldByAnnotation(pod *v1.Pod) string {
	for _, a := range []struct{ key, value string }{
		{"cluster-autoscaler.kubernetes.io/safe-to-evict", "false"}, {"karpenter.sh/do-not-disrupt", "true"},
	} {
		if pod.Annotations[a.key] == a.value {
			return fmt.Sprintf("the pod has the annotation %s: %q", a.key, a.value)
		}
	}
	return ""
}

// readPods sorts the pods of each node: pods that may move, pods that leave with the node, and pods that hold the node.
func (p *Planner) readPods() {
	for i := range p.nodes {
		if p.nodes[i].object != nil {
			for pod := range p.base.Pods(i) {
				p.pods = append(p.pods, podinfo.Observed(pod))
			}
		}
	}
	p.pdbs = slices.Collect(cluster.List[*policyv1.PodDisruptionBudget](p.base).All())
	p.scale = p.scaleOf()
	evictions := disruption.NewEvictions(p.pdbs)
	evictions.Sync(p.pods, p.scale, p.in.Now)
	budgets := evictions.Budgets()
	p.budgets = disruption.NewBudgets(p.pdbs, disruption.BudgetOptions{EmptySelectorMatchesAll: true})
	total := p.total()
	k := 0
	var at []int32
	for i := range p.nodes {
		n := &p.nodes[i]
		if n.object == nil {
			continue
		}
		for pod := range p.base.Pods(i) {
			observed := p.pods[k]
			k++
			if requests, _ := p.base.PodRequests(pod); p.in.Defragment != "" && p.amount(requests) == 0 {
				continue
			}
			if tied(pod) {
				n.tied = append(n.tied, pod)
				continue
			}
			if why := p.holds(pod); why != "" {
				n.hold(pod, why)
				continue
			}
			at = p.budgets.AppendMatches(at[:0], pod.Namespace, pod.Labels)
			covering := make([]*policyv1.PodDisruptionBudget, len(at))
			for j, b := range at {
				covering[j] = budgets[b]
			}
			if d := disruption.Decide(observed, covering, disruption.Request{}, p.in.Now); !d.Allowed() {
				n.hold(pod, "the Eviction API refuses: "+cmp.Or(d.Cause, d.Message))
				continue
			}
			n.loads = append(n.loads, int32(len(p.loads)))
			p.loads = append(p.loads, p.newLoad(pod, i, total))
		}
	}
}

// tied reports whether a pod leaves with its node: no controller makes it on another node.
func tied(pod *v1.Pod) bool {
	if pod.DeletionTimestamp != nil || podinfo.Mirror(pod) {
		return true
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && (owner.Kind == "DaemonSet" || owner.Kind == "Node")
}

// holds returns why a pod stays where it is, whatever the budgets say; "" when it may move.
func (p *Planner) holds(pod *v1.Pod) string {
	switch {
	case metav1.GetControllerOfNoCopy(pod) == nil:
		return "the pod has no controller"
	case !p.in.Profile.Schedules(pod):
		return "the scheduler " + podinfo.SchedulerName(pod) + " decides about the pod"
	case !p.in.EmptyDirs && slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return v.EmptyDir != nil }):
		return "the pod has an emptyDir volume"
	case p.in.Hold != nil:
		return p.in.Hold(pod)
	}
	return ""
}

// newLoad returns a pod that may move.
func (p *Planner) newLoad(pod *v1.Pod, slot int, total resources.Vector) load {
	l := load{old: pod, slot: int32(slot), way: wayOf(pod), kind: -1}
	l.fresh = *pod
	l.fresh.Spec.NodeName, l.fresh.Spec.EphemeralContainers = "", nil
	l.fresh.Status = v1.PodStatus{Phase: v1.PodPending}
	l.fresh.ResourceVersion = ""
	if l.way == Surge {
		for n := 0; ; n++ {
			l.fresh.Name = pod.Name + "-again"
			if n > 0 {
				l.fresh.Name += fmt.Sprint("-", n)
			}
			if p.base.Pod(pod.Namespace, l.fresh.Name) == nil {
				break
			}
		}
	}
	l.fresh.UID = types.UID(pod.Namespace + "/" + pod.Name + "/again")
	for k := range pod.Spec.Volumes {
		l.claims = l.claims || pod.Spec.Volumes[k].Ephemeral != nil
	}
	l.claims = l.claims || len(pod.Spec.ResourceClaims) > 0 || pod.Status.ExtendedResourceClaimStatus != nil
	requests, _ := p.base.PodRequests(pod)
	l.asks, l.size = requests, share(requests, total)
	l.shape = shapeOf(&l)
	return l
}

// wayOf returns how the controller of a pod replaces it.
func wayOf(pod *v1.Pod) Way {
	if owner := metav1.GetControllerOfNoCopy(pod); owner.Kind == "StatefulSet" {
		return InPlace
	}
	return Surge
}

// share returns the largest share of a total that an amount has.
func share(amount, total resources.Vector) (most float64) {
	for c, n := range amount {
		if total.At(c) > 0 {
			most = max(most, float64(n)/float64(total.At(c)))
		}
	}
	return most
}

// total returns what all nodes offer together.
func (p *Planner) total() resources.Vector {
	sum := make(resources.Vector, p.base.Schema().Len())
	for i := range p.nodes {
		if n := &p.nodes[i]; n.object != nil && n.kind == nil {
			sum.Add(n.offer)
		}
	}
	return sum
}
