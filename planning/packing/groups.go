package packing

import (
	"maps"
	"slices"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/podgroup"
)

// bonds are the groups of pods of a model.
type bonds struct {
	gates podgroup.Gates
	units [][]int // items of the units of several running pods, which stay or leave together
	gangs []gang
}

// gang is a tree of groups that has pending pods.
type gang struct {
	tree    *podgroup.Tree
	members map[string][]int // items by the name of their group
}

// bind finds the units of running pods and the gangs of pending pods. A unit with a pod that stays, stays.
func (m *model) bind(s *cluster.Snapshot, gates podgroup.Gates) {
	gates.Topology = gates.Topology || gates.Composites
	m.bonds.gates = gates
	units, gangs := map[string]int{}, map[string]int{}
	for k := range m.items {
		it := &m.items[k]
		if it.running != nil {
			m.unite(s, k, units)
		}
		group, ok := podgroup.Of(it.pod)
		if !ok {
			continue
		}
		tree, err := podgroup.TreeOf(s, it.pod.Namespace, group, gates)
		if err != nil {
			it.barred = it.running == nil
			continue
		}
		at, known := gangs[tree.Root().String()]
		if !known {
			at = len(m.bonds.gangs)
			gangs[tree.Root().String()] = at
			m.bonds.gangs = append(m.bonds.gangs, gang{tree: tree, members: map[string][]int{}})
		}
		it.gang = at
		m.bonds.gangs[at].members[group] = append(m.bonds.gangs[at].members[group], k)
	}
	for _, u := range m.bonds.units {
		stays := slices.ContainsFunc(u, func(k int) bool { return m.items[k].stays })
		for _, k := range u {
			m.items[k].stays = stays
		}
	}
	incomplete := make([]bool, len(m.bonds.gangs))
	for k := range m.bonds.gangs {
		g := &m.bonds.gangs[k]
		incomplete[k] = g.tree.GateText(g.known, gates) != ""
	}
	for k := range m.items {
		if it := &m.items[k]; it.gang >= 0 && incomplete[it.gang] && it.running == nil {
			it.barred = true
		}
	}
}

// unite adds a running pod to the items of its unit.
func (m *model) unite(s *cluster.Snapshot, k int, units map[string]int) {
	unit, _, _ := podgroup.UnitOf(s, m.items[k].running, m.bonds.gates)
	if unit == nil {
		return
	}
	at, known := units[unit.String()]
	if !known {
		at = len(m.bonds.units)
		units[unit.String()] = at
		m.bonds.units = append(m.bonds.units, nil)
	}
	m.items[k].unit = at
	m.bonds.units[at] = append(m.bonds.units[at], k)
}

// known counts the pods of a group.
func (g *gang) known(x *podgroup.Group) int { return len(g.members[x.Name]) }

// unitOf returns the items that leave with an item, itself among them.
func (m *model) unitOf(k int) []int {
	if u := m.items[k].unit; u >= 0 {
		return m.bonds.units[u]
	}
	return []int{k}
}

// whole reports whether an item is of a unit of several pods: they are at home, or have no node.
func (m *model) whole(k int) bool {
	return m.items[k].unit >= 0 && len(m.bonds.units[m.items[k].unit]) > 1
}

// above reports whether a pod that leaves with an item is of a tier or of one above it.
func (m *model) above(k, tier int) bool {
	return slices.ContainsFunc(m.unitOf(k), func(x int) bool { return m.items[x].tier <= tier })
}

// withUnits returns a list with everything that leaves together with its items, each once.
func (m *model) withUnits(list []int) []int {
	if len(m.bonds.units) == 0 {
		return list
	}
	var out []int
	for _, k := range list {
		for _, x := range m.unitOf(k) {
			if !slices.Contains(out, x) {
				out = append(out, x)
			}
		}
	}
	return out
}

// complete reports whether the pods of a group, or of enough groups below it, have nodes. at is where every item is.
func (g *gang) complete(n *podgroup.Node, at func(k int) int) bool {
	count := 0
	if n.Group != nil {
		for _, k := range g.members[n.Name] {
			if at(k) >= 0 {
				count++
			}
		}
	}
	for _, child := range n.Children {
		if g.complete(child, at) {
			count++
		}
	}
	return count >= n.Needs()
}

// loose yields the pending items that have a node without enough others of their groups.
func (m *model) loose(at func(k int) int, yield func(k int)) {
	for x := range m.bonds.gangs {
		g := &m.bonds.gangs[x]
		for name, list := range g.members {
			enough := true
			for n := g.tree.Home(name); n != nil && enough; n = n.Up {
				enough = g.complete(n, at)
			}
			for _, k := range list {
				if !enough && m.items[k].home < 0 && at(k) >= 0 {
					yield(k)
				}
			}
		}
	}
}

// strip takes the pending items out of the positions want that lack others of their groups at the positions at.
func (m *model) strip(at, want []int) (some bool) {
	m.loose(func(k int) int { return at[k] }, func(k int) { want[k], some = -1, true })
	return some
}

// parts reports whether some pods of a unit are at home and some are not.
func (m *model) parts(at []int) bool {
	return slices.ContainsFunc(m.bonds.units, func(u []int) bool {
		home := 0
		for _, k := range u {
			if at[k] == m.items[k].home {
				home++
			}
		}
		return home > 0 && home < len(u)
	})
}

// anchor keeps the pending pods of a group with a topology constraint to one domain: that of the members on nodes, or the one that offers
// most. The bound was computed without it.
func (m *model) anchor(s *cluster.Snapshot) {
	for x := range m.bonds.gangs {
		g := &m.bonds.gangs[x]
		for _, n := range g.tree.Nodes() {
			if key := n.Key(); key != "" && m.bonds.gates.Topology {
				m.keepTo(s, g.below(n), key)
			}
		}
	}
}

// below returns the items of all groups of a node of the tree.
func (g *gang) below(n *podgroup.Node) (out []int) {
	for _, leaf := range n.Leaves() {
		out = append(out, g.members[leaf.Name]...)
	}
	return out
}

// keepTo keeps items to one domain of a key.
func (m *model) keepTo(s *cluster.Snapshot, items []int, key string) {
	offers := map[string]float64{}
	for _, i := range m.slots {
		if v, ok := s.Node(i).Labels[key]; ok && slices.ContainsFunc(items, func(k int) bool { return m.items[k].slots == nil || m.items[k].slots[i] }) {
			for c := range m.columns {
				offers[v] += float64(max(0, m.rooms[i*m.columns+c]))
			}
		}
	}
	best := ""
	for _, v := range slices.Sorted(maps.Keys(offers)) {
		if offers[v] > offers[best] {
			best = v
		}
	}
	for _, k := range items {
		if it := &m.items[k]; it.home >= 0 {
			best = s.Node(it.home).Labels[key]
		}
	}
	for _, k := range items {
		it := &m.items[k]
		if it.home >= 0 {
			continue
		}
		slots := make([]bool, s.Len())
		for _, i := range m.slots {
			v, ok := s.Node(i).Labels[key]
			slots[i] = ok && v == best && (it.slots == nil || it.slots[i])
		}
		it.slots = slots
	}
}

// here is where an item is now.
func (m *model) here(k int) int { return m.items[k].at }

// counted is the number of placed items by tier. A pending item of a gang counts when enough others of its groups have nodes.
func (m *model) counted() []int {
	if len(m.bonds.gangs) == 0 {
		return m.placed
	}
	out := slices.Clone(m.placed)
	m.loose(m.here, func(k int) { out[m.items[k].tier]-- })
	return out
}

// loosen takes the pending items off their nodes that lack others of their groups, and reports whether there were any.
func (m *model) loosen() bool {
	var list []int
	m.loose(m.here, func(k int) { list = append(list, k) })
	for _, k := range list {
		m.take(k)
		m.items[k].barred = true
	}
	return len(list) > 0
}

// unitLeaves reports whether the unit of an item may leave.
func (s *search) unitLeaves(k int) bool {
	return !s.items[k].stays && (s.chain == nil || !s.chain.moved[k])
}

// rejoin brings units home of which all pods fit there.
func (s *search) rejoin(tier int) {
	for _, u := range s.bonds.units {
		if len(u) < 2 || s.items[u[0]].at >= 0 || !slices.ContainsFunc(u, func(k int) bool { return s.items[k].tier == tier }) {
			continue
		}
		for n, k := range u {
			if !s.fits(k, s.items[k].home) {
				for _, back := range u[:n] {
					s.take(back)
				}
				break
			}
			s.put(k, s.items[k].home)
		}
	}
}
