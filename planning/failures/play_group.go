package failures

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
)

// grouped reports whether an item is decided with its group.
func (x *player) grouped(it *item) bool {
	_, member := podgroup.Of(it.pod)
	return member && x.in.Groups != nil
}

// attemptGroup decides about all pods of the item's tree of groups that wait.
func (x *player) attemptGroup(it *item) {
	of, pods := map[*v1.Pod]*item{}, []*v1.Pod{}
	for _, other := range slices.Concat([]*item{it}, x.active, x.failed) {
		if x.grouped(other) {
			of[other.pod], pods = other, append(pods, other.pod)
		}
	}
	e := placement.Entries(x.snapshot, pods, x.in.Groups)[0] // that of the first pod
	own := func(other *item) bool { return slices.Contains(e.Pods, other.pod) }
	x.active, x.failed = slices.DeleteFunc(x.active, own), slices.DeleteFunc(x.failed, own)
	o := placement.GroupOptions{Options: x.nominations.Options(it.pod, x.next), Gates: *x.in.Groups}
	d := placement.GroupDecision{Members: x.placer.DecideEntry(e, o)}
	if e.Gate == "" && !placedAll(d.Members) {
		d = x.preemptForGroup(e, o)
	}
	placed := false
	for k := range d.Members {
		m := &d.Members[k]
		member := of[m.Pod]
		member.failure, member.tried = m.Why(), x.changes
		x.tell(Attempt{Pod: m.Pod, Decision: m.Decision})
		x.next = m.Next
		if m.Placed() {
			placed = true
			x.settle(member, m.Decision)
		}
	}
	for k := range d.Members {
		if m := &d.Members[k]; !m.Placed() {
			of[m.Pod].tried = x.changes
			if placed { // the others of the group may have room now
				of[m.Pod].tried--
			}
			x.failed = append(x.failed, of[m.Pod])
		}
	}
}

func placedAll(members []placement.MemberOutcome) bool {
	return !slices.ContainsFunc(members, func(m placement.MemberOutcome) bool { return !m.Placed() })
}

// preemptForGroup lets pods leave for a group that finds no place, and decides again. A group that has made pods leave in vain does not do
// so again: the scenario must end.
func (x *player) preemptForGroup(e placement.Entry, o placement.GroupOptions) placement.GroupDecision {
	first := e.Pods[0]
	group, _ := podgroup.Of(first)
	name, _, err := podgroup.RootOf(x.snapshot, first.Namespace, group, o.Gates)
	must.Do(err)
	root := first.Namespace + "/" + name
	if !x.vain[root] {
		o.Preempt = &placement.GroupPreempt{Budgets: x.preemptionBudgets(), Now: x.in.Now}
	}
	d := x.placer.DecideGroup(e.Pods, o)
	if !d.Waiting || len(d.Victims) == 0 {
		return d
	}
	a := Attempt{Pod: first, Decision: d.Members[0].Decision, Nominated: d.Members[0].Nominate}
	for _, v := range d.Victims {
		a.Victims = append(a.Victims, v.Pod)
	}
	x.tell(a)
	for _, v := range d.Victims {
		x.displace(v.Pod, x.snapshot.Node(v.Slot).Name, first.Namespace+"/"+first.Name)
	}
	o.Preempt = nil
	d = x.placer.DecideGroup(e.Pods, o)
	x.vain[root] = d.Code != filter.Success
	return d
}
