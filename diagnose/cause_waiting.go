package diagnose

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/overhead"
)

// This file follows required affinity to pods that wait themselves.

// mostFollowed is the number of pods that are followed.
const mostFollowed = 6

// chain is the pods for which a pod waits: its affinity wants the first, which waits for the second, and so on.
type chain struct {
	pods  []*v1.Pod
	again *v1.Pod // a pod before that the last one waits for: the pods wait for each other; nil: none
	cut   bool    // the last pod waits for more
	cause *Cause  // of the last pod; nil when a node takes it, when the pods wait for each other, and when the chain is cut
}

// follow returns the pods for which the pod waits: the first pod that waits and that all its terms of required affinity select, and those for
// which that pod waits. nil when the terms select no pod that waits.
func (x *sought) follow(state termState, terms int) *chain {
	at := slices.IndexFunc(x.waiting, func(p *v1.Pod) bool {
		if p == nil || p.Spec.NodeName != "" || p.DeletionTimestamp != nil || cluster.Finished(p) || named(p, x.pod) || x.c.Pod(p.Namespace, p.Name) != nil {
			return false
		}
		by, _ := state.Selected(p)
		return len(by) == terms
	})
	if at < 0 {
		return nil
	}
	p := x.waiting[at]
	before := append(slices.Clone(x.before), x.pod)
	if k := slices.IndexFunc(before, func(b *v1.Pod) bool { return named(b, p) }); k >= 0 {
		return &chain{again: before[k]}
	}
	if len(before) == mostFollowed {
		return &chain{cut: true}
	}
	y := newSought(x.prepare, x.c, p, x.waiting)
	y.before = before
	out := &chain{pods: []*v1.Pod{p}, cause: y.cause()}
	if y.follows != nil {
		out.again, out.cut, out.cause = y.follows.again, y.follows.cut, y.follows.cause
		out.pods = append(out.pods, y.follows.pods...)
	}
	return out
}

// sayFollowed adds the pods for which the pod waits to its cause, and reports whether there are any.
func (x *sought) sayFollowed(out *Cause, state termState, terms int) bool {
	x.follows = x.follow(state, terms)
	if x.follows == nil || len(x.follows.pods) == 0 {
		return false
	}
	out.Found = podinfo.Name(x.follows.pods[0])
	out.Text += ": " + x.follows.text(x.pod)
	return true
}

// named reports whether two objects are one pod.
func named(a, b *v1.Pod) bool { return a.Namespace == b.Namespace && a.Name == b.Name }

// mostTriedFirst is the number of nodes on which the pods are tried for which a pod waits.
const mostTriedFirst = 8

// ofNode is the path of the change that gives other pods a node.
const ofNode = "spec.nodeName"

// wantedFirst returns the change in which the pods for which the pod waits have a node: an open one, or a new one that is large enough. ok is
// false when the pod waits for none, when it is one of pods that wait for each other, and when it gets no node then.
func (d *diagnosis) wantedFirst() (out Change, ok bool) {
	f := d.sought.follows
	if f == nil || len(f.pods) == 0 || f.cut || f.again != nil && named(f.again, d.pod) || len(d.sought.open) == 0 {
		return out, false
	}
	name := podinfo.Name(f.pods[len(f.pods)-1])
	text := fmt.Sprintf("see to %s first (why %s says how)", name, name)
	if f.cause == nil && f.again == nil {
		text = fmt.Sprintf("wait for %s", name)
	}
	most := 0
	try := func(on func(s *cluster.Snapshot) string) {
		c := Change{Kind: Recover, Object: "Pod " + name, Path: ofNode, To: text, make: func(s *cluster.Snapshot, _ *Change) {
			node := on(s)
			for _, p := range f.pods {
				there := p.DeepCopy()
				there.Spec.NodeName = node
				must.Do(s.Set(there))
			}
		}}
		if o := d.prove([]Change{c}); o.node != "" && o.run > most {
			out, ok, most = c, true, o.run
		}
	}
	for _, i := range d.sought.open[:min(mostTriedFirst, len(d.sought.open))] {
		try(func(*cluster.Snapshot) string { return d.base.Node(i).Name })
	}
	if !ok {
		try(func(s *cluster.Snapshot) string { return d.roomFor(s, f.pods) })
	}
	return out, ok
}

// roomFor adds a node like the first open one, with room for some pods beside what that one offers, and returns its name.
func (d *diagnosis) roomFor(s *cluster.Snapshot, pods []*v1.Pod) string {
	like := d.base.Node(d.sought.open[0])
	name := d.freeName(like.Name)
	addNode(s, like, name, "")
	editNode(s, name, func(n *v1.Node) {
		for _, p := range pods {
			for resource, q := range overhead.Requests(p, overhead.Options{}) {
				q.Add(n.Status.Allocatable[resource])
				n.Status.Allocatable[resource] = q
			}
		}
	})
	return name
}

// text says for whom a pod waits: "default/db-0 waits itself: ...".
func (f *chain) text(pod *v1.Pod) string {
	var names []string
	for _, p := range f.pods {
		names = append(names, podinfo.Name(p))
	}
	first := names[0]
	if len(names) > 1 {
		first += " waits for " + strings.Join(names[1:], ", that for ")
	}
	last := names[len(names)-1]
	switch {
	case f.again != nil && named(f.again, pod) && len(names) == 1:
		return fmt.Sprintf("%s waits for %s in turn, so that neither can be the first", first, podinfo.Name(pod))
	case f.again != nil && named(f.again, pod):
		return fmt.Sprintf("%s, and that for %s in turn, so that none can be the first", first, podinfo.Name(pod))
	case f.again != nil:
		return fmt.Sprintf("%s, and that for %s in turn, so that none of these can be the first", first, podinfo.Name(f.again))
	case f.cut:
		return fmt.Sprintf("%s, and that for another pod", first)
	case f.cause == nil && len(names) == 1:
		return fmt.Sprintf("%s waits, and a node takes it", first)
	case f.cause == nil:
		return fmt.Sprintf("%s, and a node takes %s", first, last)
	case len(names) == 1:
		return fmt.Sprintf("%s waits itself: %s", first, f.cause.Text)
	}
	return fmt.Sprintf("%s, and %s waits: %s", first, last, f.cause.Text)
}
