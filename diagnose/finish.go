package diagnose

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
)

// mostTurns is the number of times that the pods of a removal that have no other node are exchanged for others.
const mostTurns = 2

// finish takes the values of each set back as far as the pod still fits, decides again, and sorts by cost.
func (d *diagnosis) finish(found []choice) []Relaxation {
	out := []Relaxation{}
	for _, c := range found {
		if d.input.stopped() {
			d.cut = "stop"
			break
		}
		for _, r := range d.relaxations(c) {
			unwanted := slices.ContainsFunc(r.Changes, func(c Change) bool { return d.o.Cost(c) < 0 })
			known := slices.ContainsFunc(out, func(x Relaxation) bool { return x.Text() == r.Text() }) // a part may be the part of two sets
			if unwanted || known {
				continue
			}
			if why := d.harms(r); why != "" {
				d.dropped = append(d.dropped, Dropped{Change: r.Text(), Rule: why})
				continue
			}
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, byCost)
	for len(out) > 0 && later(out[0]) > 0 && risky(out[0]) {
		d.dropped = append(d.dropped, Dropped{Change: out[0].Text(), Rule: whyNotFirst})
		out = out[1:]
	}
	return out
}

// byCost puts relaxations that may come first before the others, then the cheaper ones, then those with fewer changes.
func byCost(a, b Relaxation) int {
	return cmp.Or(cmp.Compare(later(a), later(b)), cmp.Compare(a.Cost, b.Cost), cmp.Compare(len(a.Changes), len(b.Changes)))
}

// harms returns why a relaxation is no advice: a pod that leaves for good comes back, or is at least as important as the pod.
func (d *diagnosis) harms(r Relaxation) string {
	for _, c := range r.Changes {
		if c.Kind != RemovePods {
			continue
		}
		to := map[string]string{}
		for _, l := range c.Leaving {
			to[l.Pod] = l.To
		}
		for _, p := range c.remove {
			switch {
			case metav1.GetControllerOfNoCopy(p) != nil && to[podinfo.Name(p)] == "":
				return whyBack
			case podinfo.Priority(p) > podinfo.Priority(d.pod):
				return whyHigher
			}
		}
	}
	return ""
}

// later returns 1 for a relaxation that is never the first: one with a risk, with the loss of data, or with the end of the state of a
// node and something else, for which the node does not have to be mended first; and one that makes pods wait that did not.
func later(r Relaxation) int {
	if len(r.Changes) > 1 && slices.ContainsFunc(r.Changes, func(c Change) bool { return c.Kind == Recover }) {
		return 1
	}
	if slices.ContainsFunc(r.Changes, func(c Change) bool {
		return c.Kind == Priority && slices.ContainsFunc(c.Leaving, func(l Leaving) bool { return l.To == "" })
	}) {
		return 1
	}
	if risky(r) || slices.ContainsFunc(r.Changes, func(c Change) bool { return slices.ContainsFunc(c.remove, losesData) }) {
		return 1
	}
	return 0
}

// risky reports whether a change has a note about a risk.
func risky(r Relaxation) bool {
	return slices.ContainsFunc(r.Changes, func(c Change) bool { return c.Note != "" })
}

// losesData reports whether a pod that leaves its node loses what it has written to an emptyDir volume on disk.
func losesData(p *v1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Volumes, func(v v1.Volume) bool { return v.EmptyDir != nil && v.EmptyDir.Medium != v1.StorageMediumMemory })
}

// relaxations returns what a set of changes becomes. A set with a removal may become several: pods that budgets protect stay first;
// the more important pods stay first, whatever the budgets say; and pods that have no other node stay.
func (d *diagnosis) relaxations(c choice) (out []Relaxation) {
	add := func(o orders) []*v1.Pod {
		r, stuck := d.relaxation(c, o)
		if r.Node != "" {
			out = append(out, r)
		}
		return stuck
	}
	stuck := add(orders{budgetsFirst: true})
	if len(out) == 0 {
		d.cut = "error" // a filter fails with the values that would fit
		return nil
	}
	var never []*v1.Pod
	for turn := 0; len(stuck) > 0 && turn < mostTurns; turn++ {
		never = append(never, stuck...)
		stuck = add(orders{budgetsFirst: true, never: never})
		if last := len(out) - 1; len(stuck) > 0 { // pods would leave for good: this is no better than the first answer
			out = out[:last]
		}
	}
	if d.protects(c) {
		add(orders{})
	}
	return out
}

// orders says which pods of a removal stay first.
type orders struct {
	budgetsFirst bool
	never        []*v1.Pod // pods that do not leave
}

// protects reports whether a disruption budget protects a pod of a removal of the set.
func (d *diagnosis) protects(c choice) bool {
	return slices.ContainsFunc(d.listOf(c), func(x *Change) bool {
		return x.Kind == RemovePods && !slices.Equal(d.sorted(x.remove, true), x.remove)
	})
}

// relaxation returns a relaxation without a node when no node takes the pod. stuck are pods that leave and have no other node.
func (d *diagnosis) relaxation(c choice, o orders) (r Relaxation, stuck []*v1.Pod) {
	list := d.listOf(c)
	if !slices.ContainsFunc(list, func(x *Change) bool { return x.value != nil || removes(x) }) {
		return d.relaxed(list, d.goes[c]), nil // as it was found
	}
	for _, x := range list {
		if x.Kind == RemovePods {
			x.remove = slices.DeleteFunc(d.sorted(x.remove, o.budgetsFirst), func(p *v1.Pod) bool { return slices.Contains(o.never, p) })
			if !d.stay(list, x) {
				return Relaxation{}, nil
			}
		}
	}
	d.tighten(list)
	list = d.part(list)
	r, final, stuck := d.decideAgain(list)
	if len(final) == len(list) && !slices.ContainsFunc(final, func(c *Change) bool { return c.Kind == MovePods }) {
		return r, stuck // the same changes: they have no smaller part
	}
	if list = d.part(final); len(list) != len(final) {
		r = d.enough(list)
	}
	return r, stuck
}

// enough returns the relaxation of a part of an answer: in their new places pods that move may help the pod more than other changes
// do. Only the pods leave that the budgets of the part let go.
func (d *diagnosis) enough(list []*Change) Relaxation {
	node := d.decided(list, func(s *cluster.Snapshot) {
		i := slices.IndexFunc(list, removes)
		if i < 0 {
			return
		}
		c := list[i]
		c.remove = slices.DeleteFunc(slices.Clone(c.remove), func(p *v1.Pod) bool { return s.Pod(p.Namespace, p.Name) == p })
		c.Leaving = slices.DeleteFunc(slices.Clone(c.Leaving), func(l Leaving) bool {
			return !slices.ContainsFunc(c.remove, func(p *v1.Pod) bool { return podinfo.Name(p) == l.Pod })
		})
	})
	return d.relaxed(list, node)
}

// relaxed returns the relaxation that consists of some changes.
func (d *diagnosis) relaxed(list []*Change, node string) Relaxation {
	r := Relaxation{Node: node}
	for _, c := range list {
		r.Changes = append(r.Changes, *c)
		r.Cost += d.o.Cost(*c)
	}
	return r
}

// listOf returns copies of the changes of a set.
func (d *diagnosis) listOf(c choice) (list []*Change) {
	add := func(x *Change) {
		own := *x
		if x.value != nil {
			value := *x.value
			own.value = &value
		}
		list = append(list, &own)
	}
	for k, x := range slices.Concat(d.changes, d.everyone) {
		if c.pod>>k&1 == 1 {
			add(x)
		}
	}
	if c.place >= 0 {
		for k, x := range d.places[c.place].changes {
			if c.node>>k&1 == 1 {
				add(x)
			}
		}
	}
	return list
}

// part returns the smallest part of a set with a removal that is enough, with the values as they are now. All pods of a removal
// may be too many, such as when required affinity needs one of them; with the pods that can stay a part may be enough.
func (d *diagnosis) part(list []*Change) []*Change {
	if !slices.ContainsFunc(list, removes) {
		return list
	}
	for size := 1; size < len(list); size++ {
		for set := uint64(1)<<size - 1; set < 1<<len(list); set = next(set) {
			var some []*Change
			for k, c := range list {
				if set>>k&1 == 1 {
					some = append(some, c)
				}
			}
			if d.decided(some, nil) != "" {
				return some
			}
		}
	}
	return list
}

// apply returns a copy of the cluster, and the pod, with changes.
func (d *diagnosis) apply(list []*Change) (*world, *v1.Pod) {
	s := d.base.Fork()
	values := make([]Change, len(list))
	for i, c := range list {
		values[i] = *c
	}
	pod := apply(s, d.pod, values)
	return d.newWorld(s), pod
}

// fits reports whether a pod is placed on one of some slots.
func (d *diagnosis) fits(w *world, pod *v1.Pod, slots bits) bool {
	return d.fitsBut(w, pod, slots, nil)
}

// fitsBut is fits with the filters but those of a kind.
func (d *diagnosis) fitsBut(w *world, pod *v1.Pod, slots bits, but func(*placement.Plugin) bool) bool {
	d.asking = slots.appendTo(d.asking[:0])
	b := slices.Clone(slots)
	list := d.asking
	for _, f := range w.filters {
		if b.empty() {
			return false
		}
		if but != nil && but(f) {
			continue
		}
		d.ask(w, f, pod, list, b)
		list = slices.DeleteFunc(list, func(i int) bool { return !b.has(i) })
	}
	return !b.empty()
}

// stay lets pods of a removal stay, those first that come first, as long as the pod still has a node. It goes on until no single
// pod can stay. It returns false when the pod has no node although all pods leave.
func (d *diagnosis) stay(list []*Change, c *Change) bool {
	w, pod := d.apply(list)
	near := newBits(w.snapshot.Len())
	for _, p := range c.remove {
		near.add(d.slotsOf()[p])
	}
	near.and(w.target)
	far := slices.Clone(w.target) // the other nodes, as far as filters allow that look at one node, when all pods leave
	for i := range w.snapshot.Len() {
		if near.has(i) {
			far.remove(i)
		}
	}
	for _, f := range w.filters {
		if local(f) {
			far.and(d.asked(w, f, pod))
		}
	}
	fits := func(w *world) bool { return d.fits(w, pod, near) || d.fitsBut(w, pod, far, local) } // the nodes of the pods first: they are few
	if !fits(w) {
		return false
	}
	for again := true; again; {
		again = false
		for i := 0; i < len(c.remove); {
			p := c.remove[i]
			all := c.remove
			c.remove = slices.Delete(slices.Clone(all), i, i+1)
			with := w
			if usesDevices(p) { // its claims come back with it
				with, _ = d.apply(list)
			} else {
				must.Do(w.snapshot.Assume(p, d.slotsOf()[p]))
			}
			if fits(with) {
				w, again = with, true
				continue
			}
			c.remove = all
			if with == w {
				must.Do(w.snapshot.Remove(p))
			}
			i++
		}
	}
	return true
}
