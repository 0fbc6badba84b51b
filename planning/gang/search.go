package gang

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/gang/proof"
	"github.com/podberth/podberth/podgroup"
)

// finder is one search.
type finder struct {
	*model
	o     Options
	left  int // steps
	until int // steps that the part of the search leaves
	cut   bool
	plan  style
	// stopped: the caller has ended the search.
	stopped bool

	stack []int       // members on nodes, in order
	on    map[int]int // slots by member
	most  []proof.Place
	dead  map[string]bool // where nothing was found; nil in a dive
}

// style is how a dive goes about: which members come first, and to which nodes.
type style struct {
	column int  // by which resource members and nodes are compared; -1: by the largest share
	loose  bool // the emptiest nodes first, in place of the fullest that has room
	picky  bool // members that few nodes take come first
}

// spent takes a step, and reports whether there is none.
func (f *finder) spent() bool {
	f.stopped = f.stopped || f.left%100 == 0 && f.o.Stop != nil && f.o.Stop()
	f.cut = f.cut || f.stopped || f.left <= f.until
	if !f.cut {
		f.left--
	}
	return f.cut
}

// dive tries the domain in a few styles without coming back far.
func (f *finder) dive(d podgroup.Placement) bool {
	styles := []style{{column: -1}, {column: -1, picky: true}, {column: -1, loose: true}}
	for c := range f.columns {
		styles = append(styles, style{column: c})
	}
	for _, f.plan = range styles {
		if f.left <= 0 || f.stopped {
			break
		}
		f.until, f.cut = max(0, f.left-2*len(f.Members)-100), false
		if f.ordered && f.walk(d, map[string]bool{}) || !f.ordered && f.tree(f.Tree.Root(), d, "", f.enough) {
			return true
		}
	}
	return false
}

// exhaust tries everything in the domain within some steps.
func (f *finder) exhaust(d podgroup.Placement, steps int) bool {
	f.until, f.cut, f.plan = max(0, f.left-steps), f.stopped, style{column: -1}
	if f.ordered {
		return f.walk(d, map[string]bool{})
	}
	f.dead = map[string]bool{}
	defer func() { f.dead = nil }()
	return f.tree(f.Tree.Root(), d, "", f.enough)
}

// enough reports whether somebody was placed: the groups have enough when it is called.
func (f *finder) enough() bool { return len(f.stack) > 0 }

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

// tree places a node of the tree in a domain and then what is left, and reports success. rest says what is left.
func (f *finder) tree(n *podgroup.Node, d podgroup.Placement, rest string, then func() bool) bool {
	if n.Group == nil {
		return f.children(n, d, 0, 0, rest, then)
	}
	var kinds []int
	for k := range f.kinds {
		if f.kinds[k].leaf == n {
			kinds = append(kinds, k)
		}
	}
	need := max(0, n.Needs()-len(f.Scheduled[n]))
	if need == 0 {
		if then() {
			return true
		}
		if len(f.stack) > 0 || f.cut {
			return false
		}
		need = 1 // somebody must be placed
	}
	l := &leaf{n: n, slots: d.Slots, kinds: f.sorted(kinds), rest: rest + "|" + n.Name + "/" + d.Name, then: then}
	l.after = make([]int, len(l.kinds)+1)
	for at := len(l.kinds) - 1; at >= 0; at-- {
		l.after[at] = l.after[at+1] + len(f.kinds[l.kinds[at]].members)
	}
	return l.after[0] >= need && f.fill(l, 0, need, 0, 0, nil)
}

// children places enough children of a composite group, from one on.
func (f *finder) children(n *podgroup.Node, d podgroup.Placement, at, have int, rest string, then func() bool) bool {
	if have >= n.Needs() {
		if then() {
			return true
		}
		if len(f.stack) > 0 {
			return false
		}
	}
	if at == len(n.Children) || have+len(n.Children)-at < n.Needs() || f.cut {
		return false
	}
	child := n.Children[at]
	left := fmt.Sprintf("%s|%s/%s:%d:%d", rest, n.Name, d.Name, at, have)
	for _, in := range f.tightest(child, d.Slots) {
		if f.tree(child, in, left, func() bool { return f.children(n, d, at+1, have+1, rest, then) }) {
			return true
		}
		if f.cut {
			return false
		}
	}
	return f.children(n, d, at+1, have, rest, then)
}

// tightest returns the domains of a child that take enough members now, those with the least room first.
func (f *finder) tightest(n *podgroup.Node, within []int) []podgroup.Placement {
	all := f.domains(n, within)
	if len(all) < 2 {
		return all
	}
	kinds, need, rooms := f.below(n), f.Need(n), map[string]int{}
	for _, d := range all {
		for _, i := range d.Slots {
			rooms[d.Name] += f.model.most(i, kinds)
		}
	}
	all = slices.DeleteFunc(all, func(d podgroup.Placement) bool { return rooms[d.Name] < need })
	slices.SortStableFunc(all, func(a, b podgroup.Placement) int { return cmp.Compare(rooms[a.Name], rooms[b.Name]) })
	return all
}

// leaf is a group in a domain.
type leaf struct {
	n     *podgroup.Node
	slots []int
	kinds []int // in the order of the style
	after []int // members of the kinds from one on
	rest  string
	then  func() bool
}

// fill places members of a leaf: need more, done of the kind at. Members of a kind go along a list of slots, so that no two ways are alike.
func (f *finder) fill(l *leaf, at, need, done, from int, list []int) bool {
	if need == 0 {
		return l.then()
	}
	if at == len(l.kinds) || l.after[at]-done < need {
		return false
	}
	k := l.kinds[at]
	members := f.kinds[k].members
	state := ""
	if list == nil {
		list = f.nearest(k, l.slots)
		if f.dead != nil {
			state = f.state(fmt.Sprintf("%s#%d:%d", l.rest, at, need))
			if f.dead[state] {
				return false
			}
		}
	}
	must := max(0, need-l.after[at+1]) // of this kind
	if must > 0 && f.takes(k, list[from:]) < must {
		return false
	}
	if done < len(members) {
		fits, tried := f.fits(k), map[string]bool{}
		for x := from; x < len(list); x++ {
			i := list[x]
			if !fits(i) || !f.coupled && f.twin(tried, i) {
				continue
			}
			if f.spent() {
				return false
			}
			f.put(members[done], i)
			if f.fill(l, at, need-1, done+1, x, list) {
				return true
			}
			f.take()
			if f.cut {
				return false
			}
		}
	}
	if must == 0 && f.fill(l, at+1, need, 0, 0, nil) {
		return true
	}
	if state != "" && !f.cut {
		f.dead[state] = true
	}
	return false
}

// takes is how many members of a kind some slots take at most.
func (f *finder) takes(k int, slots []int) (sum int) {
	x := &f.kinds[k]
	for _, i := range slots {
		if !x.open[i] {
			continue
		}
		most := int64(len(x.members))
		for c, free := range f.room(i) {
			if x.needs[c] > 0 {
				most = min(most, max(0, free)/x.needs[c])
			}
		}
		sum += int(most)
	}
	return sum
}

// twin reports whether a slot like this one was tried, and notes it.
func (f *finder) twin(tried map[string]bool, i int) bool {
	text := []byte(f.class[i])
	for _, free := range f.room(i) {
		text = binary.AppendVarint(text, free)
	}
	was := tried[string(text)]
	tried[string(text)] = true
	return was
}

// state is what is left to do, and who is where: members of a kind are alike.
func (f *finder) state(rest string) string {
	at := make([][]int, len(f.kinds))
	for k, i := range f.on {
		at[f.of[k]] = append(at[f.of[k]], i)
	}
	text := []byte(rest)
	for k := range at {
		slices.Sort(at[k])
		text = binary.AppendVarint(text, int64(len(at[k])))
		for _, i := range at[k] {
			text = binary.AppendVarint(text, int64(i))
		}
	}
	return string(text)
}

// share is the part of the largest free amount that a kind asks for.
func (f *finder) share(k int) float64 {
	top := 0.0
	for c, n := range f.kinds[k].needs {
		if f.plan.column >= 0 && f.plan.column != c {
			continue
		}
		largest := int64(1)
		for _, i := range f.slots {
			largest = max(largest, f.room(i)[c])
		}
		top = max(top, float64(n)/float64(largest))
	}
	return top
}

// sorted returns kinds in the order of the style: the largest, or the pickiest, first.
func (f *finder) sorted(kinds []int) []int {
	if len(kinds) < 2 {
		return kinds
	}
	sizes, open := map[int]float64{}, map[int]int{}
	for _, k := range kinds {
		sizes[k] = f.share(k)
		for _, is := range f.kinds[k].open {
			if is && f.plan.picky {
				open[k]++
			}
		}
	}
	out := slices.Clone(kinds)
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Or(cmp.Compare(open[a], open[b]), cmp.Compare(sizes[b], sizes[a])) })
	return out
}

// nearest returns the slots for a kind in the order of the style: the fullest that has room first, or the emptiest.
func (f *finder) nearest(k int, slots []int) []int {
	type candidate struct {
		slot, others int
		left         float64
	}
	x := &f.kinds[k]
	list := make([]candidate, 0, len(slots))
	for _, i := range slots {
		if !x.open[i] {
			continue
		}
		c := candidate{slot: i}
		for at, free := range f.room(i) {
			if (f.plan.column < 0 || f.plan.column == at) && x.needs[at] > 0 {
				c.left = max(c.left, float64(free)/float64(x.needs[at]))
			}
		}
		if f.plan.picky {
			for o := range f.kinds {
				if f.kinds[o].open[i] {
					c.others++
				}
			}
		}
		list = append(list, c)
	}
	sign := 1
	if f.plan.loose {
		sign = -1
	}
	slices.SortStableFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.others, b.others), sign*cmp.Compare(a.left, b.left))
	})
	out := make([]int, len(list))
	for at, c := range list {
		out[at] = c.slot
	}
	return out
}

// walk places members in every order, for filters whose rejections may end. seen has what was reached.
func (f *finder) walk(d podgroup.Placement, seen map[string]bool) bool {
	if f.enough() && f.whole(f.Tree.Root()) {
		return true
	}
	kinds := make([]int, len(f.kinds))
	for k := range kinds {
		kinds[k] = k
	}
	for _, k := range f.sorted(kinds) {
		at := slices.IndexFunc(f.kinds[k].members, func(x int) bool { _, placed := f.on[x]; return !placed })
		if at < 0 {
			continue
		}
		member, fits, within := f.kinds[k].members[at], f.fits(k), f.within(f.kinds[k].leaf, d.Slots)
		for _, i := range f.nearest(k, within) {
			if !fits(i) {
				continue
			}
			f.on[member] = i
			state := f.state("")
			delete(f.on, member)
			if seen[state] {
				continue
			}
			seen[state] = true
			if f.spent() {
				return false
			}
			f.put(member, i)
			if f.walk(d, seen) {
				return true
			}
			f.take()
			if f.cut {
				return false
			}
		}
	}
	return false
}

// within returns those of the slots that the constraints between a group and the root leave, with the members that run or are placed.
func (f *finder) within(leaf *podgroup.Node, slots []int) []int {
	for n := leaf; n.Up != nil; n = n.Up {
		if key := f.key(n); key != "" {
			at, fixed := f.home(n)
			slots = slices.DeleteFunc(slices.Clone(slots), func(i int) bool {
				v, ok := f.s.Node(i).Labels[key]
				return !ok || fixed && v != f.s.Node(at).Labels[key]
			})
		}
	}
	return slots
}

// home returns a slot where a member below a group is.
func (f *finder) home(n *podgroup.Node) (slot int, ok bool) {
	for _, leaf := range n.Leaves() {
		for _, slot := range f.q.Snapshot.Members(leaf.Namespace, leaf.Name) {
			return slot, slot >= 0
		}
		for k, i := range f.on {
			if f.Leaf[k] == leaf {
				return i, true
			}
		}
	}
	return 0, false
}

// whole reports whether every group with placed members has enough, up to the root.
func (f *finder) whole(n *podgroup.Node) bool {
	if f.has(n) < n.Needs() {
		return false
	}
	for _, child := range n.Children {
		if f.count(child) > 0 && !f.whole(child) {
			return false
		}
	}
	return true
}

func (f *finder) count(n *podgroup.Node) (sum int) {
	for _, leaf := range n.Leaves() {
		for k := range f.on {
			if f.Leaf[k] == leaf {
				sum++
			}
		}
	}
	return sum
}

func (f *finder) has(n *podgroup.Node) int {
	if n.Group != nil {
		return len(f.Scheduled[n]) + f.count(n)
	}
	sum := 0
	for _, child := range n.Children {
		if f.has(child) >= child.Needs() {
			sum++
		}
	}
	return sum
}

// finish adds members that are not needed and fit, and returns the placement.
func (f *finder) finish(d podgroup.Placement) []proof.Place {
	for _, k := range slices.Sorted(maps.Keys(f.others())) {
		fits := f.fits(f.of[k])
		for _, i := range f.nearest(f.of[k], f.within(f.Leaf[k], d.Slots)) {
			if fits(i) {
				f.put(k, i)
				break
			}
		}
	}
	out := f.places()
	f.reset()
	return out
}

// others are the members without node of groups that have enough.
func (f *finder) others() map[int]bool {
	out := map[int]bool{}
	for k := range f.Members {
		enough := true
		for n := f.Leaf[k]; n != nil; n = n.Up {
			enough = enough && f.has(n) >= n.Needs()
		}
		if _, placed := f.on[k]; !placed && enough {
			out[k] = true
		}
	}
	return out
}

// refused decides the placement again, member after member, and returns the first refusal.
func (f *finder) refused(places []proof.Place) error {
	return carry(f.q.Snapshot.Fork(), f.Subject, f.q, places)
}

// carry puts the members of a placement on their nodes, each after a decision.
func carry(s *cluster.Snapshot, x *proof.Subject, q *proof.Question, places []proof.Place) error {
	placer := must.Get(placement.NewPlacer(s, x.Profile))
	pods := map[string]*v1.Pod{}
	for _, pod := range x.Members {
		pods[podinfo.Name(pod)] = pod
	}
	for _, p := range places {
		forced := *pods[p.Pod]
		forced.Status.NominatedNodeName = p.Node
		d := placer.Decide(&forced, placement.Options{Nominated: q.Nominated})
		if d.Node != p.Node {
			return fmt.Errorf("gang: node %s refuses pod %s", p.Node, p.Pod)
		}
		must.Do(placer.Assume(&forced, d))
	}
	return nil
}
