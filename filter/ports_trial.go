package filter

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// PortsTrial is the what-if copy of a PortsState: see Trial. It keeps the ports in use on a node as a set, as
// kube-scheduler does while it simulates: when two pods there hold the same address, protocol and port, removing one of
// them frees it. (Fresh counts and PortsState.Remove know better.)
type PortsTrial struct {
	s     *PortsState
	slots []portsChange
}

// portsChange is the set of conflicting ports in use on a changed slot.
type portsChange struct {
	slot int
	used []HostPort
}

// Trial returns a copy to try changes on. It is cheap and independent of other trials.
func (s *PortsState) Trial() *PortsTrial { return &PortsTrial{s: s} }

// Add pretends that p comes to slot i: its ports join the set.
func (t *PortsTrial) Add(p *v1.Pod, i int) {
	if t.s.ports.Skip() {
		return
	}
	c := t.change(i)
	c.add(t.s.ports, p)
}

// Remove pretends that p leaves slot i: its ports leave the set.
func (t *PortsTrial) Remove(p *v1.Pod, i int) {
	if t.s.ports.Skip() {
		return
	}
	c := t.change(i)
	for _, h := range AppendHostPorts(nil, p) {
		c.used = slices.DeleteFunc(c.used, func(u HostPort) bool { return u == h })
	}
}

// Reset forgets all changes and keeps the memory.
func (t *PortsTrial) Reset() { t.slots = t.slots[:0] }

// Check is PortsState.Check with the changes made. O(slots changed), no allocation.
func (t *PortsTrial) Check(i int) resources.Verdict {
	for k := range t.slots {
		if t.slots[k].slot == i {
			if len(t.slots[k].used) > 0 {
				return portsTaken
			}
			return 0
		}
	}
	return t.s.Check(i)
}

// change returns the set of slot i, filled from the pods there the first time. The pointer holds until the next call.
func (t *PortsTrial) change(i int) *portsChange {
	for k := range t.slots {
		if t.slots[k].slot == i {
			return &t.slots[k]
		}
	}
	n := len(t.slots)
	if n < cap(t.slots) { // left over from before a Reset
		t.slots = t.slots[:n+1]
	} else {
		t.slots = append(t.slots, portsChange{})
	}
	c := &t.slots[n]
	c.slot, c.used = i, c.used[:0]
	t.s.each(i, func(p *v1.Pod) { c.add(t.s.ports, p) })
	return c
}

// add joins the ports of p that conflict with a wanted one.
func (c *portsChange) add(e *Ports, p *v1.Pod) {
	if e.Effect(p) == 0 {
		return
	}
	for _, h := range AppendHostPorts(nil, p) {
		if e.hit(h) && !slices.Contains(c.used, h) {
			c.used = append(c.used, h)
		}
	}
}
