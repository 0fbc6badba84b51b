package proof

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
)

// exhaust puts members on slots in every way, one after the other, and reports a placement if there is one. Members of one group with one
// signature are alike, and what follows depends on who is where, not on the order.
func (c *checker) exhaust(path string, root *podgroup.Node, slots []int) error {
	e := &walk{checker: c, slots: slots, s: c.s.Fork(), on: map[int]int{}, seen: map[string]bool{}, left: c.bound.Steps}
	e.placer = must.Get(placement.NewPlacer(e.s, c.Profile))
	kinds := map[string]int{}
	for k, pod := range c.Members {
		text := c.Profile.PodKey(Alone(pod))
		if text == "" {
			text = fmt.Sprint(k)
		}
		text += "\x00" + c.Leaf[k].Name
		at, known := kinds[text]
		if !known {
			at = len(e.kinds)
			kinds[text] = at
			e.kinds = append(e.kinds, nil)
		}
		e.kinds[at] = append(e.kinds[at], k)
	}
	switch found := e.from(); {
	case e.cut:
		return wrong(path, "it was not checked within %d steps", c.bound.Steps)
	case found:
		return wrong(path, "a placement exists")
	}
	return nil
}

// walk is every way to place members.
type walk struct {
	*checker
	s      *cluster.Snapshot
	placer *placement.Placer
	slots  []int
	kinds  [][]int     // members that are alike
	on     map[int]int // slots by member
	seen   map[string]bool
	left   int
	cut    bool
}

// from goes on from what is placed, and reports whether a placement is reached.
func (e *walk) from() bool {
	if len(e.on) > 0 && e.fault(e.Tree.Root(), e.on) == "" && e.domains(e.q, e.on) == nil {
		return true
	}
	for _, kind := range e.kinds {
		at := slices.IndexFunc(kind, func(k int) bool { _, placed := e.on[k]; return !placed })
		if at < 0 {
			continue
		}
		k := kind[at]
		for _, i := range e.slots {
			e.on[k] = i
			state := e.state()
			delete(e.on, k)
			if e.seen[state] {
				continue
			}
			e.seen[state] = true
			if e.left--; e.left < 0 || e.bound.Stop != nil && e.bound.Stop() {
				e.cut = true
				return false
			}
			if force(e.placer, e.Members[k], i, e.s.Node(i).Name, e.q.Nominated) != "" {
				continue
			}
			e.on[k] = i
			found := e.domains(e.q, e.on) == nil && e.from()
			delete(e.on, k)
			must.Do(e.placer.Forget(e.Members[k]))
			if found || e.cut {
				return found
			}
		}
	}
	return false
}

// state is who is where, the same for members that are alike.
func (e *walk) state() string {
	var b strings.Builder
	for _, kind := range e.kinds {
		var at []int
		for _, k := range kind {
			if i, ok := e.on[k]; ok {
				at = append(at, i)
			}
		}
		slices.Sort(at)
		fmt.Fprint(&b, at)
	}
	return b.String()
}
