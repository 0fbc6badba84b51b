package gang_test

import (
	"fmt"
	"slices"
)

// brute reports whether a placement exists: it tries every order of members and nodes. Members that are alike are tried once.
func (w *world) brute() bool {
	b := &brute{world: w, on: make([]int, len(w.members)), seen: map[string]bool{}}
	for k := range b.on {
		b.on[k] = -1
	}
	return b.from()
}

type brute struct {
	*world
	on   []int
	seen map[string]bool
}

func (b *brute) from() bool {
	key := b.key()
	if b.seen[key] {
		return false
	}
	b.seen[key] = true
	if b.goal() {
		return true
	}
	for k, p := range b.members {
		if b.on[k] >= 0 || slices.ContainsFunc(b.members[:k], func(o podOf) bool { return o == p }) && b.twinWaits(k) {
			continue
		}
		for i := range b.nodes {
			if !b.allows(p, i) {
				continue
			}
			b.on[k] = i
			if b.from() {
				return true
			}
			b.on[k] = -1
		}
	}
	return false
}

// twinWaits reports whether a member before this one is the same and waits.
func (b *brute) twinWaits(k int) bool {
	for o := range k {
		if b.members[o] == b.members[k] && b.on[o] < 0 {
			return true
		}
	}
	return false
}

func (b *brute) key() string {
	type at struct {
		p podOf
		i int
	}
	count := map[at]int{}
	for k, i := range b.on {
		if i >= 0 {
			count[at{b.members[k], i}]++
		}
	}
	var out []string
	for x, n := range count {
		out = append(out, fmt.Sprint(x, n))
	}
	slices.Sort(out)
	return fmt.Sprint(out)
}

// pods returns who is where: running pods and placed members.
func (w *world) pods(on []int) (all []podOf) {
	all = append(all, w.running...)
	for k, i := range on {
		if i >= 0 {
			p := w.members[k]
			p.on = i
			all = append(all, p)
		}
	}
	return all
}

// amounts reports whether the running pods leave room.
func (w *world) amounts(p podOf, i int) bool { return w.room(p, i, w.running) }

func (w *world) room(p podOf, i int, all []podOf) bool {
	n := w.nodes[i]
	for _, o := range all {
		if o.on == i {
			n.cpu, n.gpu, n.pods = n.cpu-o.cpu, n.gpu-o.gpu, n.pods-1
		}
	}
	return n.cpu >= p.cpu && (p.gpu == 0 || n.gpu >= p.gpu) && n.pods >= 1
}

// value is the value of a rule's key on a node.
func (w *world) value(r rule, i int) (string, bool) {
	if r.zone {
		return w.nodes[i].zone, w.nodes[i].zone != ""
	}
	return fmt.Sprint("n", i), true
}

// together reports whether two nodes are in one domain of a rule.
func (w *world) together(r rule, i, j int) bool {
	a, ok := w.value(r, i)
	b, also := w.value(r, j)
	return ok && also && a == b
}

func (b *brute) allows(p podOf, i int) bool {
	all := b.pods(b.on)
	if !b.room(p, i, all) || p.selects != "" && b.nodes[i].zone != p.selects {
		return false
	}
	for _, o := range all {
		if p.port && o.port && o.on == i || o.rule.kind == "apart" && o.rule.app == p.app && b.together(o.rule, o.on, i) ||
			p.rule.kind == "apart" && p.rule.app == o.app && b.together(p.rule, o.on, i) {
			return false
		}
	}
	switch p.rule.kind {
	case "with":
		if !b.with(p, i, all) {
			return false
		}
	case "spread":
		if !b.spread(p, i, all) {
			return false
		}
	}
	return b.domains(p, i)
}

// with is required affinity: a pod of the app is in the domain, or there is none at all and the pod is of the app itself.
func (b *brute) with(p podOf, i int, all []podOf) bool {
	if _, ok := b.value(p.rule, i); !ok {
		return false
	}
	any := false
	for _, o := range all {
		if o.app == p.rule.app {
			if b.together(p.rule, o.on, i) {
				return true
			}
			if _, ok := b.value(p.rule, o.on); ok {
				any = true
			}
		}
	}
	return !any && p.app == p.rule.app
}

// spread counts pods of the app by domain, on nodes that the pod selects.
func (b *brute) spread(p podOf, i int, all []podOf) bool {
	if _, ok := b.value(p.rule, i); !ok {
		return false
	}
	counts := map[string]int{}
	for j := range b.nodes {
		if v, ok := b.value(p.rule, j); ok && (p.selects == "" || b.nodes[j].zone == p.selects) {
			counts[v] += 0
			for _, o := range all {
				if o.on == j && o.app == p.rule.app {
					counts[v]++
				}
			}
		}
	}
	lowest := -1
	for _, n := range counts {
		if lowest < 0 || n < lowest {
			lowest = n
		}
	}
	if len(counts) < p.rule.least {
		lowest = 0
	}
	v, _ := b.value(p.rule, i)
	own := 0
	if p.app == p.rule.app {
		own = 1
	}
	return counts[v]+own-lowest <= p.rule.skew
}

// domains reports whether every group above the member stays in one zone.
func (b *brute) domains(p podOf, i int) bool {
	for g := p.group; g >= 0; g = b.tree[g].parent {
		if b.tree[g].key == "" {
			continue
		}
		if b.nodes[i].zone == "" {
			return false
		}
		for _, o := range b.pods(b.on) {
			if o.group >= 0 && b.under(o.group, g) && b.nodes[o.on].zone != b.nodes[i].zone {
				return false
			}
		}
	}
	return true
}

func (b *brute) under(g, top int) bool {
	for ; g >= 0; g = b.tree[g].parent {
		if g == top {
			return true
		}
	}
	return false
}

// has counts what a group has: members, or children that have enough.
func (b *brute) has(g int) (count int) {
	if !b.tree[g].composite {
		for _, p := range b.pods(b.on) {
			if p.group == g {
				count++
			}
		}
		return count
	}
	for k := range b.tree {
		if b.tree[k].parent == g && b.has(k) >= b.tree[k].needs() {
			count++
		}
	}
	return count
}

// goal reports whether somebody is placed, and every group above a placed member has enough.
func (b *brute) goal() bool {
	some := false
	for k, i := range b.on {
		if i < 0 {
			continue
		}
		some = true
		for g := b.members[k].group; g >= 0; g = b.tree[g].parent {
			if b.has(g) < b.tree[g].needs() {
				return false
			}
		}
	}
	return some
}
