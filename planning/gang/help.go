package gang

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/planning/packing"
	"github.com/podberth/podberth/podgroup"
)

// Help is a change with which kube-scheduler places the group.
type Help struct {
	Kind HelpKind `json:"kind"`
	// Text says it in one line.
	Text string `json:"text"`
	// Pods are the members in their order (Order), the members that are pinned, or the pods that move or leave. Nodes has where each of them goes.
	Pods  []string `json:"pods,omitempty"`
	Nodes []string `json:"nodes,omitempty"`
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
	Lower   HelpKind = "lower"    // a smaller minCount
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

// move asks package packing for moves that evict nobody.
func (e *explainer) move() {
	gates := e.m.Gates
	plan, err := packing.Pack(packing.Input{Snapshot: e.m.q.Snapshot, Pending: e.m.Members, Profile: e.m.q.Profile}, packing.Options{Steps: 5000, Stop: e.o.Stop, Groups: &gates})
	if err != nil {
		return // a profile that packing does not know; the other kinds of help do not need it
	}
	s, h := e.m.q.Snapshot.Fork(), Help{Kind: Move}
	for _, a := range plan.Actions {
		if a.From == "" {
			continue
		}
		if a.To == "" {
			return
		}
		h.Pods, h.Nodes = append(h.Pods, a.Pod), append(h.Nodes, a.To)
		must.Do(s.Unset(a.Placed))
	}
	for _, a := range plan.Actions {
		if a.From != "" {
			moved := *a.Placed
			moved.Spec.NodeName = a.To
			must.Do(s.Set(&moved))
		}
	}
	if len(h.Pods) > 0 && e.helps(s, e.m.Members) {
		h.Text = fmt.Sprintf("move %s to %s", shortList(h.Pods), shortList(h.Nodes))
		e.add(h)
	}
}

// evict lets units of lower priority leave, and lets those come back that need not.
func (e *explainer) evict() {
	type unit struct {
		name string
		pods []*v1.Pod
	}
	var units []unit
	s := e.m.q.Snapshot
	for _, i := range e.m.slots {
		for pod := range s.Pods(i) {
			n, priority, grouped := podgroup.UnitOf(s, pod, e.m.Gates)
			if !grouped {
				priority = podinfo.Priority(pod)
			}
			if priority >= e.m.Tree.Root().EffectivePriority() {
				continue
			}
			name := podinfo.Name(pod)
			if n != nil {
				name = n.String()
			}
			at := slices.IndexFunc(units, func(u unit) bool { return u.name == name })
			if at < 0 {
				at = len(units)
				units = append(units, unit{name: name})
			}
			units[at].pods = append(units[at].pods, pod)
		}
	}
	without := func(gone []unit) *cluster.Snapshot {
		fork := s.Fork()
		for _, u := range gone {
			for _, pod := range u.pods {
				must.Do(fork.Unset(pod))
			}
		}
		return fork
	}
	if len(units) == 0 || !e.helps(without(units), e.m.Members) {
		return
	}
	for k, size := 0, max(1, len(units)/tries); k < len(units); {
		fewer := slices.Delete(slices.Clone(units), k, min(k+size, len(units)))
		if e.helps(without(fewer), e.m.Members) {
			units = fewer
		} else {
			k += size
		}
	}
	h := Help{Kind: Evict}
	for _, u := range units {
		h.Pods = append(h.Pods, u.name)
	}
	h.Text = "evict " + shortList(h.Pods)
	e.add(h)
}

// addNode adds one more of each kind of node to each domain, the domain with the most room first.
func (e *explainer) addNode() {
	root := e.m.Tree.Root()
	all, kinds := e.m.domains(root, e.m.slots), e.m.below(root)
	room := func(d podgroup.Placement) (sum int) {
		for _, i := range d.Slots {
			sum += e.m.most(i, kinds)
		}
		return sum
	}
	slices.SortStableFunc(all, func(a, b podgroup.Placement) int { return room(b) - room(a) })
	tried := 0
	for _, d := range all {
		seen := map[string]bool{}
		for _, i := range d.Slots {
			node := e.m.s.Node(i)
			template := fmt.Sprint(node.Status.Allocatable, node.Spec.Taints, e.m.class[i])
			if seen[template] {
				continue
			}
			seen[template] = true
			if tried++; tried > tries {
				return
			}
			s := e.m.q.Snapshot.Fork()
			must.Do(s.Set(like(node, s)))
			if e.helps(s, e.m.Members) {
				text := fmt.Sprintf("add a node like %s", node.Name)
				if d.Name != "" {
					text += fmt.Sprintf(" in %s %s", short(e.m.key(root)), d.Name)
				}
				e.add(Help{Kind: AddNode, Text: text, Nodes: []string{node.Name}})
				return
			}
		}
	}
}

// like returns a node like another, with a name of its own.
func like(node *v1.Node, s *cluster.Snapshot) *v1.Node {
	n := node.DeepCopy()
	for k := 1; s.Slot(n.Name) >= 0; k++ {
		n.Name = fmt.Sprintf("%s-more-%d", node.Name, k)
	}
	n.UID = ""
	if _, ok := n.Labels[v1.LabelHostname]; ok {
		n.Labels[v1.LabelHostname] = n.Name
	}
	n.Spec.Unschedulable = false
	return n
}

// lower takes one off the minCount of a group alone.
func (e *explainer) lower() {
	root := e.m.Tree.Root()
	if root.Group == nil || root.Minimum == nil || *root.Minimum < 2 {
		return
	}
	for _, least := range []int32{*root.Minimum - 1, int32(min(int(*root.Minimum)-1, e.d.Fit))} {
		if least < 1 {
			return
		}
		g := *root.Group
		g.Minimum = &least
		s := e.m.q.Snapshot.Fork()
		must.Do(s.Set(&g))
		if e.helps(s, e.m.Members) {
			e.add(Help{Kind: Lower, Text: fmt.Sprintf("PodGroup %s/%s: spec.schedulingPolicy.gang.minCount %d", g.Namespace, g.Name, least)})
			return
		}
	}
}
