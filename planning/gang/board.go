package gang

import (
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/gang/proof"
)

// put puts a member on a slot.
func (f *finder) put(k, i int) {
	f.stack = append(f.stack, k)
	f.on[k] = i
	room := f.room(i)
	for c, n := range f.kinds[f.of[k]].needs {
		room[c] -= n
	}
	if f.coupled {
		f.hold(k, i)
	}
	if len(f.stack) > len(f.most) {
		f.most = f.places()
	}
}

// hold puts a member on a slot of the snapshot.
func (f *finder) hold(k, i int) {
	forced := *f.Members[k]
	forced.Status.NominatedNodeName = f.s.Node(i).Name
	d := f.placer.Decide(&forced, placement.Options{Nominated: f.q.Nominated})
	if d.Slot != i {
		d = placement.Decision{Slot: i, Node: f.s.Node(i).Name} // allows said yes: the nomination was not looked at
	}
	must.Do(f.placer.Assume(&forced, d))
}

// take takes the last member off its slot.
func (f *finder) take() {
	k := f.stack[len(f.stack)-1]
	i := f.on[k]
	f.stack = f.stack[:len(f.stack)-1]
	delete(f.on, k)
	room := f.room(i)
	for c, n := range f.kinds[f.of[k]].needs {
		room[c] += n
	}
	if f.coupled {
		must.Do(f.placer.Forget(f.Members[k]))
	}
}

// reset takes all members off their slots.
func (f *finder) reset() {
	for len(f.stack) > 0 {
		f.take()
	}
}

// places returns who is where.
func (f *finder) places() (out []proof.Place) {
	for _, k := range f.stack {
		out = append(out, proof.Place{Pod: podinfo.Name(f.Members[k]), Node: f.s.Node(f.on[k]).Name})
	}
	return out
}

// fits reports by slot whether a kind may go there now, on its own.
func (f *finder) fits(k int) func(i int) bool {
	x := &f.kinds[k]
	byAmount := func(i int) bool {
		if !x.open[i] {
			return false
		}
		for c, free := range f.room(i) {
			if x.needs[c] > 0 && x.needs[c] > free {
				return false
			}
		}
		return true
	}
	if !f.coupled {
		return byAmount
	}
	a := f.placer.Prepare(x.pod)
	if a.Rejected() {
		return func(int) bool { return false }
	}
	if f.q.Nominated != nil {
		verdicts := a.Verdicts(nil, placement.Options{Nominated: f.q.Nominated})
		return func(i int) bool { return verdicts[i].Verdict == 0 }
	}
	named := map[int]bool{}
	if a.Pre.Nodes != nil {
		for _, i := range a.Candidates() {
			named[i] = true
		}
	}
	return func(i int) bool {
		return byAmount(i) && (a.Pre.Nodes == nil || named[i]) && a.Predicates.First(i).Verdict == 0
	}
}
