package gang

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// Help is a change with which kube-scheduler places the group.
type Help struct {
	Kind HelpKind `json:"kind"` // "order", "pin", "move", "evict", "add node", "lower"
	// Text says it in one line.
	Text string `json:"text"`
	// Pods are the members in their order (Order), the members that are pinned, or the pods that move or leave. Nodes has where each of them goes.
	Pods  []string `json:"pods,omitempty"`
	Nodes []string `json:"nodes,omitempty"` // where each goes, or the node that the new one is like
	// Pool is the pool of the node that is added, by the label of the node that it is like; "" if no label names a pool.
	Pool string `json:"pool,omitempty"`
}

// HelpKind is what changes.
type HelpKind string

// The kinds of help, in the order in which they are listed.
const (
	Order   HelpKind = "order"    // members come in another order
	Pin     HelpKind = "pin"      // members are nominated to nodes
	Move    HelpKind = "move"     // running pods move
	Evict   HelpKind = "evict"    // running pods or groups of lower priority leave
	AddNode HelpKind = "add node" // one more node
	Lower   HelpKind = "lower"    // a smaller minCount of a group, or minGroupCount of a composite group, which must be made again
)

// tries bounds the decisions about one kind of help.
const tries = 24

// help tries every kind.
func (e *explainer) help() {
	if e.d.Outcome == Exists {
		e.order()
		e.pin()
	} else {
		e.move()
		e.evict()
		e.addNode()
	}
	e.lower()
}

func (e *explainer) add(h Help) { e.d.Help = append(e.d.Help, h) }

// order tries members by size, and as the placement has them.
func (e *explainer) order() {
	var placed []*v1.Pod
	for _, p := range e.d.Places {
		placed = append(placed, e.member(p.Pod))
	}
	for _, pod := range e.m.Members {
		if !slices.Contains(placed, pod) {
			placed = append(placed, pod)
		}
	}
	for _, list := range [][]*v1.Pod{e.sizes(), placed} {
		if e.helps(e.m.q.Snapshot, list) {
			h := Help{Kind: Order}
			for _, pod := range list {
				h.Pods = append(h.Pods, podinfo.Name(pod))
			}
			h.Text = fmt.Sprintf("make the pods again in the order %s", shortList(h.Pods))
			e.add(h)
			return
		}
	}
}

func (e *explainer) member(name string) *v1.Pod {
	return e.m.Members[slices.IndexFunc(e.m.Members, func(pod *v1.Pod) bool { return podinfo.Name(pod) == name })]
}

// pin nominates members to the nodes of the placement, few if few are enough. Where a nomination is not enough, such as outside of the domain
// that kube-scheduler chooses, it binds them by node affinity.
func (e *explainer) pin() {
	if !e.pinned(func(p *v1.Pod, node string) { p.Status.NominatedNodeName = node }, "nominate %s to %s (status.nominatedNodeName)") {
		e.pinned(func(p *v1.Pod, node string) {
			p.Spec.Affinity = p.Spec.Affinity.DeepCopy()
			if p.Spec.Affinity == nil {
				p.Spec.Affinity = &v1.Affinity{}
			}
			if p.Spec.Affinity.NodeAffinity == nil {
				p.Spec.Affinity.NodeAffinity = &v1.NodeAffinity{}
			}
			p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{node}}},
			}}}
		}, "make the pods again, %s bound to %s by node affinity")
	}
}

func (e *explainer) pinned(pin func(p *v1.Pod, node string), text string) bool {
	pinned := map[string]string{}
	for _, p := range e.d.Places {
		pinned[p.Pod] = p.Node
	}
	try := func() bool {
		var list []*v1.Pod
		for _, pod := range e.m.Members {
			if node, ok := pinned[podinfo.Name(pod)]; ok {
				p := *pod
				pin(&p, node)
				pod = &p
			}
			list = append(list, pod)
		}
		return e.helps(e.m.q.Snapshot, list)
	}
	if !try() {
		return false
	}
	for k, step := 0, max(1, len(e.d.Places)/tries); k < len(e.d.Places); k += step {
		some := e.d.Places[k:min(k+step, len(e.d.Places))]
		for _, p := range some {
			delete(pinned, p.Pod)
		}
		if !try() {
			for _, p := range some {
				pinned[p.Pod] = p.Node
			}
		}
	}
	h := Help{Kind: Pin}
	for _, p := range e.d.Places {
		if node, ok := pinned[p.Pod]; ok {
			h.Pods, h.Nodes = append(h.Pods, p.Pod), append(h.Nodes, node)
		}
	}
	h.Text = fmt.Sprintf(text, shortList(h.Pods), shortList(h.Nodes))
	e.add(h)
	return true
}
