package filter

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/resources"
)

// portsTrial is the Trial of a portsState. It keeps the ports in use on a node as a set, as kube-scheduler does while it
// simulates: when two pods hold the same address, protocol and port, removing one pod frees the port. A fresh On still sees
// the other pod.
type portsTrial struct {
	s     *portsState
	slots changedSlots[portsChange]
}

// portsChange is the set of conflicting ports in use on a changed slot.
type portsChange struct{ used []hostPort }

func (s *portsState) NewTrial() Trial { return &portsTrial{s: s} }

// Add adds the ports of p to the set of slot i.
func (t *portsTrial) Add(p *v1.Pod, i int) {
	if t.s.ports.Skip() {
		return
	}
	c := t.change(i)
	c.add(t.s.ports, p)
}

// Remove removes the ports of p from the set of slot i.
func (t *portsTrial) Remove(p *v1.Pod, i int) {
	if t.s.ports.Skip() {
		return
	}
	c := t.change(i)
	for _, h := range podinfo.AppendHostPorts(nil, p) {
		c.used = slices.DeleteFunc(c.used, func(u hostPort) bool { return u == h })
	}
}

func (t *portsTrial) Reset() { t.slots.reset() }

// Check takes O(slots changed) and does not allocate.
func (t *portsTrial) Check(i int) resources.Verdict {
	c := t.slots.at(i)
	switch {
	case c == nil, t.s.cluster.Node(i) == nil:
		return t.s.Check(i)
	case len(c.used) > 0:
		return portsTaken
	}
	return 0
}

// change returns the set of slot i. The first call fills the set from the pods there. The pointer is valid until the next call.
func (t *portsTrial) change(i int) *portsChange {
	c := t.slots.at(i)
	if c != nil {
		return c
	}
	c = t.slots.add(i)
	c.used = c.used[:0]
	t.s.each(i, func(p *v1.Pod) { c.add(t.s.ports, p) })
	return c
}

// add adds the ports of p that conflict with a wanted port.
func (c *portsChange) add(e *ports, p *v1.Pod) {
	if !e.conflict(p) {
		return
	}
	for _, h := range podinfo.AppendHostPorts(nil, p) {
		if e.hit(h) && !slices.Contains(c.used, h) {
			c.used = append(c.used, h)
		}
	}
}
