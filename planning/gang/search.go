package gang

import (
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
