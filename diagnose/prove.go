package diagnose

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
)

// mostRestarted is the number of running pods of an owner that a proof makes again with an edit of the template. Of larger owners the running
// pods stay.
const mostRestarted = 200

// outcome is what a decision of all pods that wait says about the pods of the owner.
type outcome struct {
	node      string // of the pod; "" for none
	run, of   int    // pods of the owner with a node, and all
	also      []string
	harm      int  // 1: a pod that is at least as important as the pod loses its node
	uncounted bool // too many pods wait
	away      bool // the pod goes away
	gone      string
}

// all reports whether all pods of the owner have nodes.
func (o outcome) all() bool { return o.node != "" && o.run == o.of }

// prove makes changes on a fork and decides the pods that wait, in their order, up to the last one of the owner; all of them when running pods
// are made again after that, and up to the last pod of another owner that gets a node as things are, because it may lose it. Of the others
// before these the room may be. Then the running pods of the owner that an edit of the template makes again are decided,
// one after the other.
func (d *diagnosis) prove(changes []Change) (o outcome) {
	if len(changes) == 1 && changes[0].Kind == Scale {
		return d.scaled(changes[0])
	}
	if len(changes) == 1 && changes[0].Kind == LeaveOut {
		return d.leftOut(changes)
	}
	if len(changes) == 1 && changes[0].Kind == Strategy {
		return d.ofRollout(changes[0])
	}
	edits := slices.ContainsFunc(changes, func(c Change) bool { return c.edit != nil })
	moves := slices.ContainsFunc(changes, func(c Change) bool { return c.make != nil })
	restarts := slices.ContainsFunc(changes, d.ofTemplateOf)
	queue, others := d.crew.queue, d.others()
	t := d.trial()
	defer t.end()
	pod := apply(t.s, d.pod, changes)
	if !restarts { // those behind the last one that counts wait as before
		queue = queue[:max(d.crew.before(), lastOf(queue, others))]
	}
	if d.o.Where != nil { // the other pods may go elsewhere
		queue = []*v1.Pod{d.pod}
	}
	if len(queue) > mostQueued {
		queue, o.uncounted = []*v1.Pod{d.pod}, true
	}
	same := 0
	var late []*v1.Pod
	for _, p := range queue {
		mine := d.crew.mine[p]
		if p != d.pod && t.s.Pod(p.Namespace, p.Name) != nil {
			continue // the changes have given it a node
		}
		if !mine && !restarts && !moves && len(others) == 0 {
			continue // it waits as before
		}
		q := p
		switch {
		case p == d.pod:
			q = pod
		case mine && edits && d.like(p):
			q = edited(p, changes)
			same++
		}
		node, ok := t.place(q)
		if !ok {
			if others[p] {
				late = append(late, p)
			}
			continue
		}
		if mine {
			o.run++
		}
		if p == d.pod {
			o.node = node
		}
	}
	if d.o.Where != nil || o.uncounted {
		o.of = 1
		return o
	}
	o.of = len(d.crew.running) + d.crew.waiting() + d.crew.gated
	for _, p := range d.crew.running {
		if t.s.Pod(p.Namespace, p.Name) != nil { // it has not given way
			o.run++
		}
	}
	if o.node == "" {
		return o
	}
	if same > 0 && slices.ContainsFunc(changes, func(c Change) bool {
		return c.edit != nil && c.Object == "Pod "+podinfo.Name(d.pod) && c.Kind != Remake
	}) {
		o.also = append(o.also, fmt.Sprintf("the same for %s", count(same, "other pod")))
	}
	for _, c := range changes {
		if c.Kind == Prefer && strings.Contains(c.Path, "podAntiAffinity") {
			share := "it may share a %s with what it avoids"
			if len(c.remove) > 0 {
				share = "two may share a %s"
			}
			o.also = append(o.also, fmt.Sprintf(share, domainWord(strings.TrimPrefix(c.From, "topologyKey "))))
		}
	}
	if restarts {
		d.restart(t, changes, &o)
	}
	if (d.owner.kind == "ReplicaSet" || d.owner.kind == "ReplicationController") && d.unmade == nil && slices.ContainsFunc(changes, func(c Change) bool { return c.edit != nil && c.Object == d.owner.String() }) {
		var names []string
		for _, p := range d.ownQueue() {
			names = append(names, podinfo.Name(p))
		}
		o.also = append(o.also, fmt.Sprintf("delete %s once: the edit is for new pods", fewOf(names, len(names)+d.crew.more)))
	}
	if d.owner.kind == "CronJob" && slices.ContainsFunc(changes, func(c Change) bool { return c.edit != nil && c.Object == d.owner.String() }) {
		o.also = append(o.also, "the edit is for the next run")
	}
	d.waitsThen(late, &o)
	o.also = append(o.also, d.budgets.emptied(changes)...)
	return o
}

// lastOf returns the number of pods of a list up to the last one of a set.
func lastOf(list []*v1.Pod, set map[*v1.Pod]bool) int {
	for k, p := range slices.Backward(list) {
		if set[p] {
			return k + 1
		}
	}
	return 0
}

// others returns the pods of other owners that wait and get nodes as things are, when all pods that wait are tried in their order.
func (d *diagnosis) others() map[*v1.Pod]bool {
	if d.crew.others != nil {
		return d.crew.others
	}
	d.crew.others = map[*v1.Pod]bool{}
	alone := !slices.ContainsFunc(d.crew.queue, func(p *v1.Pod) bool { return !d.crew.mine[p] })
	if d.lean || alone || len(d.crew.queue) > mostQueued || d.o.Where != nil { // All has tried every pod that waits
		return d.crew.others
	}
	t := d.trial()
	defer t.end()
	for _, p := range d.crew.queue {
		if slices.ContainsFunc(d.unmade, func(x *v1.Pod) bool { return named(x, p) }) {
			continue // it takes no room as things are
		}
		if _, ok := t.place(p); ok && !d.crew.mine[p] {
			d.crew.others[p] = true
		}
	}
	return d.crew.others
}

// waitsThen says which pods of other owners wait that would have a node. A pod of the same priority that is tried after the pod would have
// its node only because the pod waits: that is no harm.
func (d *diagnosis) waitsThen(late []*v1.Pod, o *outcome) {
	var names []string
	for _, p := range late {
		names = append(names, podinfo.Name(p))
		if podinfo.Priority(p) > podinfo.Priority(d.pod) {
			o.harm = 1
		}
	}
	if len(names) > 0 {
		o.also = append(o.also, few(names)+" then "+verb(len(names), "waits", "wait"))
	}
}

// edited returns a pod with the edits of changes.
func edited(p *v1.Pod, changes []Change) *v1.Pod {
	q := p.DeepCopy()
	for i := range changes {
		if c := &changes[i]; c.edit != nil {
			c.edit(q, c.now())
		}
	}
	return q
}

// ofTemplateOf reports whether a change is an edit of the template of the owner, with which its controller makes the running pods again.
func (d *diagnosis) ofTemplateOf(c Change) bool {
	return c.edit != nil && !d.owner.again && !d.owner.foreign && c.Object == d.owner.String() && d.owner.kind != "ReplicaSet" && d.owner.kind != "ReplicationController" && d.owner.kind != "CronJob"
}

// restart decides the running pods of the owner again with the edits, one after the other as a rolling update does.
func (d *diagnosis) restart(t *trial, changes []Change, o *outcome) {
	restarting := 0
	ends := slices.IndexFunc(changes, func(c Change) bool { return c.edit != nil && len(c.remove) > 0 })
	for _, p := range d.crew.running {
		gone := ends >= 0 && slices.Contains(changes[ends].remove, p)
		if !gone && t.s.Pod(p.Namespace, p.Name) != p {
			continue // it has moved, or left
		}
		restarting++
		if !gone && (len(d.crew.running) > mostRestarted || usesDevices(p) || !d.like(p)) {
			continue
		}
		if gone {
			o.run++ // unless it gets no node
		} else {
			must.Do(t.s.Remove(p))
		}
		if _, ok := t.place(edited(unplaced(p), changes)); ok {
			continue
		}
		o.run--
		o.also = append(o.also, podinfo.Name(p)+" then waits")
		if moreImportant(p, d.pod) {
			o.harm = 1
		}
	}
	if restarting > 0 {
		o.also = append(o.also, fmt.Sprintf("%s %s", count(restarting, "pod"), verb(restarting, "restarts", "restart")))
	}
	if d.owner.kind == "StatefulSet" && ends < 0 && d.unmade == nil && inOrder(t.s, metav1.GetControllerOfNoCopy(d.pod), d.pod.Namespace) {
		o.also = append(o.also, fmt.Sprintf("delete %s once, because a pod that waits stops the update", podinfo.Name(d.pod)))
	}
}
