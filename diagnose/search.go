package diagnose

import (
	"cmp"
	mathbits "math/bits"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
)

// mostChanges is the number of changes beside those of nodes that a search holds.
const mostChanges = 40

// list lists the changes of which the sets are made.
func (d *diagnosis) list() {
	base := d.worlds[worldKey{place: -1}]
	verdicts := d.verdicts()
	reps := d.representatives(verdicts)
	d.changes = slices.Concat(podChanges(d.pod), d.mends(), d.policies())
	seen := map[v1.Taint]bool{}
	for _, r := range reps {
		for _, t := range d.base.Node(r.slot).Spec.Taints {
			t := v1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect}
			if !seen[t] && d.keepsOff(t) {
				seen[t] = true
				c := tolerateChange(d.pod, t)
				c.why, c.Note = d.law.tolerate(t)
				d.changes = append(d.changes, c)
			}
		}
	}
	for _, c := range d.changes {
		c.why = cmp.Or(c.why, d.law.ofPod(c))
		d.admit(c)
	}
	d.changes = d.ofTemplate(d.changes)
	for _, c := range d.changes {
		d.own(c)
	}
	var claims []*Change
	if d.asksDevices {
		var cut bool
		if claims, cut = deviceChanges(d.base, d.pod); cut {
			d.cut = "size"
		}
	}
	for _, c := range slices.Concat(d.volumeChanges(), claims, d.openings()) {
		if !slices.ContainsFunc(d.everyone, c.same) { // a pod may have a claim twice
			d.everyone = append(d.everyone, c)
		}
	}
	wanted := func(c *Change) bool {
		moves := *c
		moves.Kind = MovePods
		return d.o.Cost(*c) >= 0 || c.Kind == RemovePods && d.o.Cost(moves) >= 0
	}
	d.changes, d.everyone = keep(d.changes, wanted), d.lawful(keep(d.everyone, wanted))
	for _, c := range d.changes {
		if c.why != "" {
			d.drop(c)
		}
	}
	if len(d.changes)+len(d.everyone) > mostChanges {
		slices.SortStableFunc(d.changes, func(a, b *Change) int { return cmp.Compare(d.o.Cost(*a), d.o.Cost(*b)) })
		d.everyone = d.everyone[:min(mostChanges, len(d.everyone))]
		d.changes = d.changes[:mostChanges-len(d.everyone)]
		d.cut = "size"
	}
	for _, c := range d.everyone {
		if c.value != nil {
			c.value.v = c.value.loosest
		}
	}
	for k, c := range d.changes {
		if c.value != nil {
			c.value.v = c.value.loosest
		}
		if c.why != "" {
			d.probes |= 1 << k
		}
		if c.Path == ofGates {
			d.gates |= 1 << k
		}
	}
	for _, r := range d.tried(reps) {
		own := func(c *Change) bool { return wanted(c) && !slices.ContainsFunc(d.everyone, c.same) }
		if list := d.lawful(keep(d.nodeChanges(r.slot, r.alike), own)); len(list) > 0 {
			d.places = append(d.places, place{r.slot, list})
		}
	}
	for _, c := range d.lawful(d.shapes(d.o.Nodes)) {
		if wanted(c) {
			d.places = append(d.places, place{-1, []*Change{c}})
		}
	}
	d.sees = make([]uint64, len(base.filters))
	for k, f := range base.filters {
		if f.AppendKey == nil {
			d.sees[k] = ^uint64(0)
			continue
		}
		was := f.AppendKey(nil, d.pod)
		for i := range d.changes {
			if string(f.AppendKey(nil, d.changed(1<<i))) != string(was) {
				d.sees[k] |= 1 << i
			}
		}
	}
}

// lawful returns the changes of nodes and of other objects that the law allows. Of the others Diagnosis.Dropped says why.
func (d *diagnosis) lawful(list []*Change) []*Change {
	return keep(list, func(c *Change) bool {
		if c.why != "" {
			d.drop(c)
		}
		return c.why == ""
	})
}

// drop writes down a change that the law forbids.
func (d *diagnosis) drop(c *Change) {
	x := Dropped{Change: c.Text(), Rule: c.why, Ask: c.Kind == Untaint && c.why == whyPool || c.Kind == Tolerate && c.why == whyNotMeant}
	if !slices.Contains(d.dropped, x) {
		d.dropped = append(d.dropped, x)
	}
}

func keep(list []*Change, wanted func(*Change) bool) (out []*Change) {
	for _, c := range list {
		if wanted(c) {
			out = append(out, c)
		}
	}
	return out
}

// changed returns the pod with changes as far as they go.
func (d *diagnosis) changed(mask uint64) *v1.Pod {
	mask &= 1<<len(d.changes) - 1
	if mask == 0 {
		return d.pod
	}
	if p := d.pods[mask]; p != nil {
		return p
	}
	p := d.pod.DeepCopy()
	for k, c := range d.changes {
		if mask>>k&1 == 1 {
			c.edit(p, c.far())
		}
	}
	d.pods[mask] = p
	return p
}

func (c *Change) far() int64 {
	if c.value == nil {
		return 0
	}
	return c.value.loosest
}

// loosest returns the change as far as it goes.
func (c *Change) loosest() Change {
	out := *c
	if c.value != nil {
		out.To = c.value.show(c.value.loosest)
	}
	return out
}

// verdicts returns what each filter says about each slot, in the order of the filters. Nodes that lack devices differ when the
// numbers of devices differ, whichever claims hold the devices.
func (d *diagnosis) verdicts() [][]uint32 {
	out := make([][]uint32, d.base.Len())
	w := d.worlds[worldKey{place: -1}]
	for _, plugin := range w.filters {
		f := plugin.Filter(d.pod, d.base)
		if f.Code == filter.Skip || f.Predicate == nil {
			continue
		}
		for _, i := range d.slots {
			out[i] = append(out[i], uint32(f.Predicate.Check(i)))
		}
		x, ok := f.Predicate.(interface{ Numbers(i int) []string })
		if !ok || plugin.Name != ofDevices {
			continue
		}
		seen := map[string]uint32{}
		for _, i := range d.slots {
			text := devices.WithoutHolders(strings.Join(x.Numbers(i), "\n"))
			if _, ok := seen[text]; !ok {
				seen[text] = uint32(len(seen))
			}
			if last := len(out[i]) - 1; out[i][last] != 0 {
				out[i][last] ^= seen[text] << 8
			}
		}
	}
	return out
}

// requests returns what the pod asks for, by column of the schema.
func (d *diagnosis) requests() resources.Vector {
	return overhead.AppendRequests(nil, d.base.Schema().Clone(), d.pod, overhead.Options{})
}

// short returns how much is short on a slot: the sum of the shares of the requests that are not free.
func (d *diagnosis) short(asks resources.Vector, slot int) (sum float64) {
	for c, n := range asks {
		free := d.base.Allocatable(slot).At(c) - d.base.Requested(slot).At(c)
		if n > 0 {
			sum += float64(max(n-free, 0)) / float64(n)
		}
	}
	return sum
}

// choice is a set of changes.
type choice struct {
	place int    // -1: no node changes
	node  uint64 // changes of the place
	pod   uint64 // changes of the pod, then those of storage objects
}

func (c choice) within(other choice) bool {
	return c.pod&^other.pod == 0 && (c.place < 0 || c.place == other.place && c.node&^other.node == 0)
}

// search returns all smallest sets that work, of at most Options.Size changes. A set that has a smaller one that works is not
// tried; all smaller sets were tried before it, so no assumption is made about what a change does to other rules.
func (d *diagnosis) search() (found []choice) {
	beside := len(d.changes) + len(d.everyone)
	forbidden := mathbits.OnesCount64(d.probes)
	for size := 1; size <= d.o.Size; size++ {
		failed := false
		for at := -1; at < len(d.places); at++ {
			own := d.ofPlace(at)
			n, seen := own+beside, 0
			for set := uint64(1)<<size - 1; set < 1<<n; set = next(set) {
				c := choice{at, set & (1<<own - 1), set >> own}
				if at >= 0 && c.node == 0 || c.pod&d.probes != 0 {
					continue
				}
				if seen++; slices.ContainsFunc(found, func(f choice) bool { return f.within(c) }) {
					continue
				}
				if d.stop() {
					d.untried = d.rest(size, at) - (seen - 1)
					return found
				}
				node := ""
				if d.works(d.world(d.keyOf(c)), c.pod) {
					node = d.decided(d.listOf(c), nil)
				}
				if node == "" {
					failed = failed || n-forbidden > size
					continue
				}
				found, d.goes[c] = append(found, c), node
			}
		}
		if !failed {
			return found
		}
	}
	d.cut = "size"
	return found
}

// ofPlace returns how many changes a place has; 0 for -1, which is no place.
func (d *diagnosis) ofPlace(at int) int {
	if at < 0 {
		return 0
	}
	return len(d.places[at].changes)
}

// rest returns how many sets a search has that is about to begin with the sets of a size for a place.
func (d *diagnosis) rest(size, at int) (n int) {
	beside := len(d.changes) + len(d.everyone) - mathbits.OnesCount64(d.probes)
	for ; size <= d.o.Size; size++ {
		for ; at < len(d.places); at++ {
			n += choose(d.ofPlace(at)+beside, size)
			if at >= 0 {
				n -= choose(beside, size) // sets without a change of the place are not tried there
			}
		}
		at = -1
	}
	return n
}

// choose returns the number of sets of size things of n.
func choose(n, size int) int {
	out := 1
	for i := range size {
		out = out * (n - i) / (i + 1)
	}
	return max(out, 0)
}

// next returns the next number with as many bits.
func next(set uint64) uint64 {
	low := set & -set
	high := set + low
	return high | (set^high)>>(2+mathbits.TrailingZeros64(low))
}

func (d *diagnosis) keyOf(c choice) worldKey {
	return worldKey{c.place, c.node, c.pod >> len(d.changes)}
}

func (d *diagnosis) stop() bool {
	switch {
	case d.o.Stop():
		d.cut = "stop"
	case d.steps+d.asks*d.weight >= d.o.Steps:
		d.cut = "steps"
	default:
		return false
	}
	return true
}

// conflicts returns the smallest sets of rules that keep the pod out although all its other rules are dropped.
func (d *diagnosis) conflicts() [][]string {
	out := [][]string{}
	var rules []string
	masks := map[string]uint64{}
	for k, c := range d.changes {
		if _, known := masks[c.rule]; !known {
			rules = append(rules, c.rule)
		}
		masks[c.rule] |= 1 << k
	}
	base := d.worlds[worldKey{place: -1}]
	all := ^uint64(0)
	if d.cut == "stop" || d.cut == "steps" {
		return out
	}
	if !d.works(base, all) {
		return [][]string{{}}
	}
	var found []uint64
	for size := 1; size <= min(d.o.Size, len(rules)); size++ {
		open := false // a larger set may be a conflict
		for set := uint64(1)<<size - 1; set < 1<<len(rules); set = next(set) {
			if slices.ContainsFunc(found, func(f uint64) bool { return f&^set == 0 }) {
				continue
			}
			if d.stop() {
				return out
			}
			kept := uint64(0)
			var names []string
			for k, r := range rules {
				if set>>k&1 == 1 {
					kept |= masks[r]
					names = append(names, r)
				}
			}
			if d.works(base, all&^kept) {
				open = true
			} else {
				found = append(found, set)
				out = append(out, names)
			}
		}
		if open && size == d.o.Size && size < len(rules) && d.cut == "" {
			d.cut = "size"
		}
	}
	return out
}
