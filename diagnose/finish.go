package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
)

// finish takes the values of each set back as far as the pod still fits, decides again, and sorts by cost.
func (d *diagnosis) finish(found []choice) ([]Relaxation, error) {
	out := []Relaxation{}
	for _, c := range found {
		r, err := d.relaxation(c)
		switch {
		case err != nil:
			return nil, err
		case r.Node == "": // a filter fails with the values that would fit
			d.cut = "error"
		case !slices.ContainsFunc(out, func(x Relaxation) bool { return x.Text() == r.Text() }): // a part may be the part of two sets
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b Relaxation) int {
		return cmp.Or(cmp.Compare(a.Cost, b.Cost), cmp.Compare(len(a.Changes), len(b.Changes)))
	})
	return out, nil
}

func (d *diagnosis) relaxation(c choice) (Relaxation, error) {
	var list []*Change
	var of []int // number of a change of the pod, -1 for others
	add := func(x *Change, k int) {
		own := *x
		if x.value != nil {
			value := *x.value
			own.value = &value
		}
		list, of = append(list, &own), append(of, k)
	}
	for k, x := range d.changes {
		if c.pod>>k&1 == 1 {
			add(x, k)
		}
	}
	for k, x := range d.everyone {
		if c.pod>>(len(d.changes)+k)&1 == 1 {
			add(x, -1)
		}
	}
	if c.place >= 0 {
		for k, x := range d.places[c.place].changes {
			if c.node>>k&1 == 1 {
				add(x, -1)
			}
		}
	}
	for _, x := range list {
		if x.Kind == RemovePods {
			if err := d.stay(list, x); err != nil {
				return Relaxation{}, err
			}
		}
	}
	if err := d.tighten(list); err != nil {
		return Relaxation{}, err
	}
	list, err := d.part(list)
	if err != nil {
		return Relaxation{}, err
	}
	return d.decideAgain(list)
}

// part returns the smallest part of a set with a removal that is enough, with the values as they are now. All pods of a removal
// may be too many, such as when required affinity needs one of them; with the pods that can stay a part may be enough.
func (d *diagnosis) part(list []*Change) ([]*Change, error) {
	if len(list) < 2 || !slices.ContainsFunc(list, func(c *Change) bool { return c.Kind == RemovePods }) {
		return list, nil
	}
	for size := 1; size < len(list); size++ {
		for set := uint64(1)<<size - 1; set < 1<<len(list); set = next(set) {
			var some []*Change
			gates := 0
			for k, c := range list {
				if set>>k&1 == 1 {
					some = append(some, c)
				}
				if c.Kind == DropGate && set>>k&1 == 0 {
					gates++
				}
			}
			w, pod, err := d.apply(some)
			if err != nil {
				return nil, err
			}
			if gates > 0 {
				continue
			}
			if ok, err := d.decides(w, pod); err != nil || ok {
				return some, err
			}
		}
	}
	return list, nil
}

// cluster returns a copy of the cluster, and the pod, with changes.
func (d *diagnosis) apply(list []*Change) (*world, *v1.Pod, error) {
	s := d.base.Fork()
	values := make([]Change, len(list))
	for i, c := range list {
		values[i] = *c
	}
	pod, err := Apply(s, d.pod, values...)
	if err != nil {
		return nil, nil, err
	}
	return d.newWorld(s), pod, nil
}

// fits reports whether a pod is placed on one of some slots.
func (d *diagnosis) fits(w *world, pod *v1.Pod, slots bits) bool {
	b := append(bits(nil), slots...)
	for _, f := range w.filters {
		list := []int{}
		for i := range w.snapshot.Len() {
			if b.has(i) {
				list = append(list, i)
			}
		}
		d.ask(w, f, pod, list, b)
		if len(list) == 0 {
			return false
		}
	}
	return !b.empty()
}

// stay lets pods of a removal stay, the most important first, as long as the pod still has a node. It goes on until no single pod
// can stay.
func (d *diagnosis) stay(list []*Change, c *Change) error {
	w, pod, err := d.apply(list)
	if err != nil {
		return err
	}
	near := newBits(w.snapshot.Len())
	for _, p := range c.remove {
		near.add(d.slotOf[p])
	}
	if slot := w.snapshot.Slot(c.Object[len("Node "):]); slot >= 0 {
		near.add(slot)
	}
	near.and(w.target)
	for _, slots := range []bits{near, w.target} {
		for i := 0; i < len(c.remove); {
			p := c.remove[i]
			if err := w.snapshot.Assume(p, d.slotOf[p]); err != nil {
				return err
			}
			if d.fits(w, pod, slots) {
				c.remove = append(append([]*v1.Pod(nil), c.remove[:i]...), c.remove[i+1:]...)
				continue
			}
			if err := w.snapshot.Unset(p); err != nil {
				return err
			}
			i++
		}
	}
	return nil
}

// tighten takes the values back, one after the other, as far as the pod still fits.
func (d *diagnosis) tighten(list []*Change) error {
	if !slices.ContainsFunc(list, func(c *Change) bool { return c.value != nil }) {
		return nil
	}
	w, pod, err := d.apply(list)
	if err != nil {
		return err
	}
	valued := make([]bool, len(w.filters)) // filters that see a value
	slots := append(bits(nil), w.target...)
	for k, f := range w.filters {
		for i, c := range d.changes {
			if d.sees[k]>>i&1 == 1 && slices.ContainsFunc(list, func(x *Change) bool { return x.value != nil && x.Path == c.Path && x.Kind == c.Kind }) {
				valued[k] = true
			}
		}
		if !valued[k] {
			slots.and(d.asked(w, f, pod))
		}
	}
	left := &world{snapshot: w.snapshot}
	for k, f := range w.filters {
		if valued[k] {
			left.filters = append(left.filters, f)
		}
	}
	for _, c := range list {
		if c.value == nil {
			continue
		}
		good, bad := c.value.loosest, c.value.from
		for good-bad > 1 || bad-good > 1 {
			middle := good + (bad-good)/2
			c.value.v = middle
			p := d.pod.DeepCopy()
			for _, x := range list {
				if x.edit != nil {
					v := int64(0)
					if x.value != nil {
						v = x.value.v
					}
					x.edit(p, v)
				}
			}
			if d.fits(left, p, slots) {
				good = middle
			} else {
				bad = middle
			}
		}
		c.value.v, c.To = good, c.value.show(good)
	}
	return nil
}

// decideAgain decides with the changes made, and fills in what follows.
func (d *diagnosis) decideAgain(list []*Change) (Relaxation, error) {
	w, pod, err := d.apply(list)
	if err != nil {
		return Relaxation{}, err
	}
	placer, err := placement.NewPlacer(w.snapshot, d.where())
	if err != nil {
		return Relaxation{}, err
	}
	dec := placer.Decide(pod, placement.Options{})
	if !dec.Placed() && dec.Failure.Err != nil {
		return Relaxation{}, nil
	}
	if !dec.Placed() {
		return Relaxation{}, fmt.Errorf("diagnose: the filters allow the pod with changes that its decision refuses: %s", dec.Failure.Text())
	}
	r := Relaxation{Node: dec.Node}
	if err := placer.Assume(pod, dec); err != nil {
		return Relaxation{}, err
	}
	free, err := placement.NewPlacer(w.snapshot, d.profile) // pods that leave may go to any node
	if err != nil {
		return Relaxation{}, err
	}
	for _, c := range list {
		if c.Kind == RemovePods {
			if err := d.leave(c, free); err != nil {
				return Relaxation{}, err
			}
		}
		r.Changes = append(r.Changes, *c)
		r.Cost += d.o.Cost(*c)
	}
	return r, nil
}

func (b bits) empty() bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// requests returns what the pod asks for, by column of the schema.
func (d *diagnosis) requests() resources.Vector {
	return overhead.AppendRequests(nil, d.base.Schema().Clone(), d.pod, overhead.Options{})
}

// short returns how much is short on a slot: the sum of the shares of the requests that are not free.
func (d *diagnosis) short(asks resources.Vector, slot int) (sum float64) {
	for c, n := range asks {
		free := d.base.Allocatable(slot).At(c) - d.base.Requested(slot).At(c)
		if n > 0 && free < n {
			sum += float64(n-free) / float64(n)
		}
	}
	return sum
}
