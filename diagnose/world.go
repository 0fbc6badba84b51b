package diagnose

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	volumetracker "github.com/podberth/podberth/volumes/tracker"
)

// world is the cluster with some changes of it.
type world struct {
	snapshot *cluster.Snapshot
	filters  []*placement.Plugin
	touched  []int // slots that differ from the base; only they differ for filters that look at one node
	nodes    bool  // only nodes and the pods on them differ from the base
	target   bits
	seen     map[seenKey]bits
}

// seenKey is a filter and the changes of the pod that it sees.
type seenKey struct {
	filter int
	pod    uint64
}

// worldKey is a set of changes of the cluster: those of a place, and those beside all places.
type worldKey struct {
	place    int
	changes  uint64
	everyone uint64
}

// profileOver returns a profile of its own for a snapshot.
func (d *diagnosis) profileOver(s *cluster.Snapshot) placement.Profile {
	p := d.profile
	p.Volumes, p.Devices = volumetracker.New(s, volumetracker.Of(s)), d.devices.Fork(s, tracker.Of(s))
	return p
}

// ofPod is profileOver for decisions about the pod alone. The plugin of devices is left out when the pod asks for none.
func (d *diagnosis) ofPod(s *cluster.Snapshot) placement.Profile {
	p := d.profileOver(s)
	if !d.asksDevices {
		p.Filters = slices.DeleteFunc(slices.Clone(p.Filters), func(f *placement.Plugin) bool { return f.Name == ofDevices })
		p.Scores = slices.DeleteFunc(slices.Clone(p.Scores), func(f placement.Weighted) bool { return f.Name == ofDevices })
	}
	return p
}

func (d *diagnosis) newWorld(s *cluster.Snapshot) *world {
	w := &world{snapshot: s, nodes: true, seen: map[seenKey]bits{}}
	p := d.ofPod(s)
	for _, f := range p.Filters {
		if f.WithShared != nil {
			f = f.WithShared(p)
		}
		w.filters = append(w.filters, f)
	}
	slices.SortStableFunc(w.filters, func(a, b *placement.Plugin) int { // filters that look at one node come before filters that look at the whole cluster
		switch x, y := local(a), local(b); {
		case x == y:
			return 0
		case x:
			return -1
		}
		return 1
	})
	w.target = newBits(s.Len())
	for i := range s.Len() {
		if n := s.Node(i); n != nil && (d.o.Where == nil || d.o.Where(n)) {
			w.target.add(i)
		}
	}
	return w
}

// local reports whether a filter's answer about a node depends on that node and its pods alone.
func local(f *placement.Plugin) bool {
	ofNodes := slices.ContainsFunc(f.ReadsOfOthers, func(read string) bool { return read != "storage" })
	return !ofNodes && (f.Keep == placement.KeepByNode || f.Keep == placement.KeepByNodeAndPods)
}

// world returns the cluster with changes of a place and changes beside it.
func (d *diagnosis) world(key worldKey) *world {
	if w := d.worlds[key]; w != nil {
		return w
	}
	s := d.base.Fork()
	var touched []int
	nodes := true
	gone := map[*v1.Pod]bool{}
	make := func(c *Change, n bool) {
		nodes = nodes && n
		for _, p := range c.remove {
			touched = append(touched, d.slotsOf()[p])
		}
		c.once(s, gone)
	}
	for k, c := range d.everyone {
		if key.everyone>>k&1 == 1 {
			make(c, false)
		}
	}
	if key.place >= 0 {
		p := d.places[key.place]
		for k, c := range p.changes {
			if key.changes>>k&1 == 1 {
				make(c, true)
			}
		}
		slot := p.slot
		if slot < 0 {
			slot = s.Slot(p.changes[0].To)
		}
		touched = append(touched, slot)
	}
	w := d.newWorld(s)
	w.touched, w.nodes = touched, nodes
	d.worlds[key] = w
	return w
}

// allowed returns the slots that a filter allows a pod with some changes.
func (d *diagnosis) allowed(w *world, filter int, mask uint64) bits {
	key := seenKey{filter, mask & d.sees[filter]}
	if b, ok := w.seen[key]; ok {
		return b
	}
	pod := d.changed(key.pod)
	plugin := w.filters[filter]
	var b bits
	if base := d.worlds[worldKey{place: -1}]; w != base && w.nodes && local(plugin) {
		b = newBits(w.snapshot.Len())
		copy(b, d.allowed(base, filter, mask))
		d.ask(w, plugin, pod, w.touched, b)
	} else {
		b = d.asked(w, plugin, pod)
	}
	w.seen[key] = b
	return b
}

// asked asks a filter about all nodes that the pod may get.
func (d *diagnosis) asked(w *world, plugin *placement.Plugin, pod *v1.Pod) bits {
	b := newBits(w.snapshot.Len())
	d.asking = w.target.appendTo(d.asking[:0])
	d.ask(w, plugin, pod, d.asking, b)
	return b
}

// ask asks a filter about some slots with nodes.
func (d *diagnosis) ask(w *world, plugin *placement.Plugin, pod *v1.Pod, slots []int, b bits) {
	d.asks++
	f := plugin.Filter(pod, w.snapshot)
	var named map[string]bool
	if f.Nodes != nil {
		named = map[string]bool{}
		for _, n := range f.Nodes {
			named[n] = true
		}
	}
	for _, i := range slots {
		ok := (f.Code == filter.Success || f.Code == filter.Skip) && (named == nil || named[w.snapshot.Node(i).Name]) && (f.Code == filter.Skip || f.Predicate == nil || f.Predicate.Check(i) == 0)
		if ok {
			b.add(i)
		} else {
			b.remove(i)
		}
	}
}

// works reports whether the filters allow the pod on a node, with changes of the pod, in a world.
func (d *diagnosis) works(w *world, mask uint64) bool {
	d.steps++
	if d.gates&^mask != 0 {
		return false
	}
	b := append(d.scratch[:0], w.target...)
	d.scratch = b
	for k := range w.filters {
		if !b.and(d.allowed(w, k, mask)) {
			return false
		}
	}
	return true
}
