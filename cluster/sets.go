package cluster

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// identity is a pointer that a group keeps through copies and forks. By it a reader that kept the id of a group sees whether
// the id still means the same group.
type identity struct {
	key string
	rep *v1.Pod
}

// group is a pod set or a term set: the nodes that have pods of the group, in no particular order, and the number of these
// pods on each node.
type group struct {
	own    *owner
	id     *identity // nil: free
	nodes  []int32
	counts []int32
	infos  []*info  // of a pod set: one info for each kind of pods, which equal pods share
	first  struct { // room for the first of each list: of many groups it is the only one
		node, count [1]int32
		info        [1]*info
	}
}

// groupPlace is the position of a node in a group's list.
type groupPlace struct{ group, pos int32 }

// groups is a table of groups with stable ids.
type groups struct {
	col  column[*group]
	keys layered[string]
	n    int // number of ids
	live int // number of groups with nodes
	free []int32
	own  *owner // of free
}

func (g *groups) at(id int32) *group { return g.col.at(int(id)) }

func (g *groups) write(own *owner, id int32) *group {
	p := g.col.write(own, int(id))
	if (*p).own != own {
		c := **p
		c.own = own
		c.nodes, c.counts = slices.Clone(c.nodes), slices.Clone(c.counts)
		c.infos = slices.Clip(c.infos)
		*p = &c
	}
	return *p
}

// is reports whether the group with the id has that identity in this snapshot.
func (g *groups) is(id int32, who *identity) bool {
	return int(id) < g.n && g.at(id).id == who
}

// intern returns the id of the group with the key. rep is a member of the group.
func (g *groups) intern(own *owner, key []byte, rep *v1.Pod) int32 {
	k := string(key)
	var id int32
	if n := len(g.free); n > 0 {
		if g.own != own {
			g.free, g.own = slices.Clone(g.free), own
		}
		id, g.free = g.free[n-1], g.free[:n-1]
	} else {
		id = int32(g.n)
		g.n++
		g.col.grow(own, g.n)
	}
	c := &group{own: own, id: &identity{key: k, rep: rep}}
	c.nodes, c.counts, c.infos = c.first.node[:0], c.first.count[:0], c.first.info[:0]
	*g.col.write(own, int(id)) = c
	g.keys.put(own, k, id)
	return id
}

// add counts one more pod of the group on slot. places lists the groups of the slot; add returns the changed list.
func (g *groups) add(own *owner, id int32, slot int, places []groupPlace) []groupPlace {
	c := g.write(own, id)
	for _, p := range places {
		if p.group == id {
			c.counts[p.pos]++
			return places
		}
	}
	if len(c.nodes) == 0 {
		g.live++
	}
	c.nodes, c.counts = append(c.nodes, int32(slot)), append(c.counts, 1)
	return append(places, groupPlace{id, int32(len(c.nodes) - 1)})
}

// remove counts one pod less on the slot of places. When the slot has no pod of the group left, the last slot of the group's
// list takes its position. moved is that slot with its new position pos, and -1 when no slot moved.
func (g *groups) remove(own *owner, id int32, places []groupPlace) (rest []groupPlace, moved int, pos int32) {
	c := g.write(own, id)
	k := slices.IndexFunc(places, func(p groupPlace) bool { return p.group == id })
	pos = places[k].pos
	if c.counts[pos]--; c.counts[pos] > 0 {
		return places, -1, 0
	}
	last := len(places) - 1
	places[k] = places[last]
	places = places[:last]
	last = len(c.nodes) - 1
	moved = int(c.nodes[last])
	c.nodes[pos], c.counts[pos] = c.nodes[last], c.counts[last]
	c.nodes, c.counts = c.nodes[:last], c.counts[:last]
	if last == 0 {
		g.live--
	}
	if int(pos) == last {
		moved = -1
	}
	return places, moved, pos
}

// movePlace changes the position of a group in the places of a slot.
func movePlace(places []groupPlace, id, pos int32) {
	for k := range places {
		if places[k].group == id {
			places[k].pos = pos
			return
		}
	}
}

// idle returns the number of groups without nodes whose ids are not free.
func (g *groups) idle() int { return g.n - len(g.free) - g.live }

// sweep frees the ids of all groups without nodes and renews the map of keys. O(groups).
func (g *groups) sweep(own *owner) {
	if g.own != own {
		g.free, g.own = slices.Clone(g.free), own
	}
	g.keys.reset(own, g.live)
	for i := g.n - 1; i >= 0; i-- { // from the end, so that intern uses low ids first
		c := g.at(int32(i))
		switch {
		case c.id == nil:
		case len(c.nodes) == 0:
			*g.col.write(own, i) = &group{own: own}
			g.free = append(g.free, int32(i))
		default:
			g.keys.put(own, c.id.key, int32(i))
		}
	}
}
