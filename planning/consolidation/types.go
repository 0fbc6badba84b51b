package consolidation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/decider"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/planning/workload"
)

// readTypes gives the nodes that could be added a slot each. A node that is not added is in the snapshot as an object without labels
// that no pod may go to, so that no rule counts it.
func (p *Planner) readTypes() error {
	for k := range p.in.Types {
		t := &p.in.Types[k]
		switch {
		case t.Node == nil || t.Node.Name == "":
			return fmt.Errorf("consolidation: types[%d].node.metadata.name: Required value: a type has a node with a name", k)
		case t.Price < 0:
			return fmt.Errorf("consolidation: types[%d].price: Invalid value: %d: must not be negative", k, t.Price)
		}
		most := t.Most
		if most <= 0 {
			most = 10
		}
		for n := range most {
			if err := p.readType(t, fmt.Sprintf("%s-new-%d", t.Node.Name, n+1)); err != nil {
				return err
			}
		}
	}
	return nil
}

// readType adds one node of a type.
func (p *Planner) readType(t *Type, name string) error {
	if p.base.Slot(name) >= 0 {
		return fmt.Errorf("consolidation: node %s: metadata.name: Duplicate value: a node of type %s would have the name", name, t.Node.Name)
	}
	object := *t.Node
	object.Name, object.UID = name, ""
	object.Labels = maps.Clone(t.Node.Labels)
	if object.Labels == nil {
		object.Labels = map[string]string{}
	}
	object.Labels[v1.LabelHostname] = name
	made := must.Get(workload.Make(workload.Objects{DaemonSets: p.in.DaemonSets, Nodes: []*v1.Node{&object}}, workload.Options{Tolerations: decider.Tolerations(p.real)}))
	tied := slices.DeleteFunc(made.Pods, func(pod *v1.Pod) bool { return !daemon(pod) })
	for k, pod := range tied {
		pod.Name = fmt.Sprintf("%s%s-%d", pod.GenerateName, name, k)
		pod.Spec.NodeName = name
	}
	f := p.base.Fork() // says what the node offers
	must.Do(f.Set(&object))
	columns := p.base.Schema().Len() // what only the type or its daemons name is nothing that a pod of the cluster asks for
	offer := slices.Clone(f.Allocatable(f.Slot(name))).Grow(columns)[:columns]
	must.Do(p.base.Set(blank(&object)))
	i := p.base.Slot(name)
	for len(p.nodes) <= i {
		p.nodes = append(p.nodes, node{})
	}
	p.nodes[i] = node{object: &object, price: t.Price, tied: tied, kind: t, offer: offer}
	p.subtract(f, i)
	return nil
}

func daemon(pod *v1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "DaemonSet"
}

// subtract takes what the pods of DaemonSets ask for off what a node offers.
func (p *Planner) subtract(f *cluster.Snapshot, i int) {
	for _, pod := range p.nodes[i].tied {
		must.Do(f.Set(pod))
		requests, _ := f.PodRequests(pod)
		offer := p.nodes[i].offer
		offer.Sub(requests[:min(len(requests), len(offer))])
	}
}

// blank returns the object of a node that is not added.
func blank(n *v1.Node) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Annotations: map[string]string{emptied: ""}}}
}

// offerNode takes a node back, or adds one with the pods of its DaemonSets.
func (p *Planner) offerNode(s *cluster.Snapshot, i int) {
	n := &p.nodes[i]
	must.Do(s.Set(n.object))
	if n.kind == nil {
		return
	}
	for _, pod := range n.tied {
		must.Do(s.Set(pod))
	}
}

// withdraw takes an added node away that has no pods but those of DaemonSets.
func (p *Planner) withdraw(s *cluster.Snapshot, i int) {
	for _, pod := range p.nodes[i].tied {
		must.Do(s.Remove(pod))
	}
	must.Do(s.Set(blank(p.nodes[i].object)))
}

// buy adds a node of each type in turn and tries to empty others. It goes on as long as the cost falls.
func (x *search) buy(order []int) {
	for again := true; again && !x.stopped(); {
		again = false
		for k := range x.in.Types {
			i := slices.IndexFunc(x.nodes, func(n node) bool { return n.kind == &x.in.Types[k] && x.empty[x.slotOf(&n)] })
			if i < 0 {
				continue
			}
			for _, dear := range []bool{true, false} {
				if x.trade(i, order, dear) {
					again = true
					break
				}
			}
		}
	}
}

// slotOf returns the slot of a node of the table.
func (p *Planner) slotOf(n *node) int { return p.base.Slot(n.object.Name) }

// trade adds a node and empties others, the dearest first if asked. It keeps the change if the cost falls.
func (x *search) trade(i int, order []int, dear bool) bool {
	m, cost := x.mark(), x.cost
	x.reopen(i)
	order = slices.Clone(order)
	if dear {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x.nodes[b].price, x.nodes[a].price) })
	}
	for _, k := range order {
		if x.stopped() {
			break
		}
		if x.nodes[k].kind == nil && x.allows(k) {
			x.clear(k)
		}
	}
	if x.cost < cost {
		x.keep(m)
		return true
	}
	x.takeBack(m)
	return false
}

// add puts the nodes of a choice that are new into the snapshot of a run, and takes the others out.
func (r *run) add() {
	for i := range r.nodes {
		n := &r.nodes[i]
		switch {
		case n.kind == nil:
		case slices.Contains(r.choice.add, i):
			r.offerNode(r.snapshot, i)
			r.plan.Added = append(r.plan.Added, Added{Type: n.kind.Node.Name, Node: n.object, Price: n.price})
			r.plan.After += n.price
		default:
			must.Do(r.snapshot.Remove(r.snapshot.Node(i)))
		}
	}
}
