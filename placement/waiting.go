package placement

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/preemption"
)

// Nominations are the waiting pods that have a nominated node. Each holds room there against other pods of its priority and of lower
// priority, until it gets a node. [NewNominations] makes Nominations.
type Nominations struct {
	cluster *cluster.Snapshot
	on      map[string][]*v1.Pod // by node, in the order of the nominations
	node    map[types.UID]string
}

// NewNominations returns the nominations in the status of waiting pods. Pods with scheduling gates hold no room. The snapshot has the
// nodes that decisions are about.
func NewNominations(s *cluster.Snapshot, waiting []*v1.Pod) *Nominations {
	n := &Nominations{cluster: s, on: map[string][]*v1.Pod{}, node: map[types.UID]string{}}
	for _, pod := range waiting {
		if _, gated := filter.Gated(pod); !gated {
			n.Nominate(pod, pod.Status.NominatedNodeName)
		}
	}
	return n
}

// Node returns the node that a pod is nominated to, "" for none.
func (n *Nominations) Node(pod *v1.Pod) string { return n.node[podinfo.UID(pod)] }

// Nominate gives a pod another node; "" ends the nomination, as when the pod has got a node.
func (n *Nominations) Nominate(pod *v1.Pod, node string) {
	id := podinfo.UID(pod)
	if was := n.node[id]; was != "" {
		delete(n.node, id)
		if n.on[was] = slices.DeleteFunc(n.on[was], func(q *v1.Pod) bool { return q.UID == id }); len(n.on[was]) == 0 {
			delete(n.on, was)
		}
	}
	if node != "" {
		p := *pod
		p.UID, p.Status.NominatedNodeName = id, node
		n.node[id], n.on[node] = node, append(n.on[node], &p)
	}
}

// Of returns the pod as the scheduler sees it: with the nomination that it has now.
func (n *Nominations) Of(pod *v1.Pod) *v1.Pod {
	node := n.Node(pod)
	if pod.Status.NominatedNodeName == node {
		return pod
	}
	p := *pod
	p.Status.NominatedNodeName = node
	return &p
}

// Options returns the options of a decision about a pod. The search begins at next.
func (n *Nominations) Options(pod *v1.Pod, next int) Options {
	o := Options{Next: next}
	id := podinfo.UID(pod)
	if _, own := n.node[id]; len(n.node) == 0 || own && len(n.node) == 1 {
		return o
	}
	o.NominatedSlots = make([]int, 0, len(n.on))
	for node := range n.on {
		if i := n.cluster.Slot(node); i >= 0 {
			o.NominatedSlots = append(o.NominatedSlots, i)
		}
	}
	slices.Sort(o.NominatedSlots) // more is kept when the order stays
	o.Nominated = func(i int) []*v1.Pod {
		all := n.on[n.cluster.Node(i).Name]
		if at := slices.IndexFunc(all, func(q *v1.Pod) bool { return q.UID == id }); at >= 0 {
			return slices.Delete(slices.Clone(all), at, at+1)
		}
		return all
	}
	return o
}

// Failed does what follows an attempt that found no node, with the result of the preemption: the pod gets the node where it makes
// room, and pods of lower priority lose that node. A pod that waits for victims keeps its nomination.
func (n *Nominations) Failed(pod *v1.Pod, r preemption.Result) {
	switch {
	case r.Outcome == preemption.Success:
		named := *pod
		named.UID = podinfo.UID(pod)
		for _, q := range r.Actions(&named, n.on[r.Node]).ClearNominations {
			n.Nominate(q, "")
		}
		n.Nominate(pod, r.Node)
	case r.ClearNomination:
		n.Nominate(pod, "")
	}
}

// WaitsForVictims reports whether a pod that found no node keeps its nomination although the caller lets no pod preempt: its victims
// are still leaving, or the pod must not preempt.
func (n *Nominations) WaitsForVictims(p *Placer, pod *v1.Pod, f *Failure, now time.Time) bool {
	if n.Node(pod) == "" || f.Err != nil {
		return false
	}
	r := p.Preempt(n.Of(pod), f, n.Options(pod, 0), PreemptOptions{Now: now})
	return r.Outcome != preemption.Success && !r.ClearNomination
}
