package proof

import (
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/release/plugins"
)

// room counts again what a Room says, and compares.
func (c *checker) room(path string, n *podgroup.Node, slots []int, r *Room) error {
	members := c.Below(n)
	need, all := c.Need(n), len(members)
	if r.Of != nil {
		if r.Of.AtLeast <= 0 {
			return wrong(path+".of.atLeast", "%d: must be positive", r.Of.AtLeast)
		}
		members = slices.DeleteFunc(members, func(k int) bool { return c.needs[k][v1.ResourceName(r.Of.Resource)] < r.Of.AtLeast })
		if !slices.ContainsFunc(members, func(k int) bool {
			return c.needs[k][v1.ResourceName(r.Of.Resource)] == r.Of.AtLeast
		}) {
			return wrong(path+".of.atLeast", "%d: no member asks for it", r.Of.AtLeast)
		}
		need -= all - len(members)
	}
	if need != r.Need {
		return wrong(path+".need", "%d: want %d", r.Need, need)
	}
	var want Room // what is counted
	switch r.Kind {
	case ByResource:
		if err := c.byResource(path, members, slots, r, &want); err != nil {
			return err
		}
	case ByMembers:
		want.Parts = c.byMembers(members, slots)
	case ByNodes:
		for _, i := range slots {
			want.add(c.s.Node(i).Name, c.most(members, i))
		}
	case Apart:
		want.Key = r.Key
		if !c.repel(members, r.Key) {
			return wrong(path+".key", "%q: not every member keeps off every other by it", r.Key)
		}
		c.apart(members, slots, r.Key, &want)
	case Spread:
		want.Key = r.Key
		if fault := c.spread(members, slots, r.Key, &want); fault != "" {
			return wrong(path+".key", "%q: %s", r.Key, fault)
		}
	default:
		return wrong(path+".kind", "%q: want %s, %s, %s, %s or %s", r.Kind, ByResource, ByMembers, ByNodes, Apart, Spread)
	}
	for _, p := range want.Parts {
		want.Most += p.Most
	}
	return compare(path, r, &want)
}

func (r *Room) add(name string, most int) {
	if most > 0 {
		r.Parts = append(r.Parts, Part{name, most})
	}
}

// compare returns the first difference of what was said from what was counted, and whether the count proves anything.
func compare(path string, said, counted *Room) error {
	type number struct {
		field      string
		said, want any
	}
	for _, x := range []number{
		{"resource", said.Resource, counted.Resource}, {"free", said.Free, counted.Free}, {"least", said.Least, counted.Least},
		{"key", said.Key, counted.Key}, {"most", said.Most, counted.Most},
	} {
		if x.said != x.want {
			return wrong(path+"."+x.field, "%v: want %v", x.said, x.want)
		}
	}
	if !slices.Equal(said.Parts, counted.Parts) {
		return wrong(path+".parts", "they are not those of the cluster")
	}
	if said.Kind == ByResource && said.Free >= said.Least {
		return wrong(path, "%d free are enough for %d", said.Free, said.Least)
	}
	if said.Kind != ByResource && said.Most >= said.Need {
		return wrong(path, "room for %d is enough for %d", said.Most, said.Need)
	}
	return nil
}

// asks returns what a pod asks for, in the integers of the scheduler.
func asks(pod *v1.Pod) map[v1.ResourceName]int64 {
	out := map[v1.ResourceName]int64{v1.ResourcePods: 1}
	overhead.Each(pod, overhead.Options{}, func(name v1.ResourceName, value int64) { out[name] += value })
	return out
}

// least returns the sum of the n smallest amounts.
func least(amounts []int64, n int) (sum int64) {
	amounts = slices.Sorted(slices.Values(amounts))
	for _, x := range amounts[:min(n, len(amounts))] {
		sum += x
	}
	return sum
}

func (c *checker) byResource(path string, members, slots []int, r *Room, want *Room) error {
	name := v1.ResourceName(r.Resource)
	want.Resource = r.Resource
	if r.Need > len(members) {
		return wrong(path+".need", "%d: %d members wait", r.Need, len(members))
	}
	var amounts []int64
	for _, k := range members {
		amounts = append(amounts, c.needs[k][name])
	}
	want.Least = least(amounts, r.Need)
	for _, i := range slots {
		want.Free += max(0, c.free(i, name))
	}
	if !c.counts(members, name) {
		return wrong(path+".resource", "%q: the filters do not count it", r.Resource)
	}
	return nil
}

// free is what a node has of a resource.
func (c *checker) free(i int, name v1.ResourceName) int64 {
	column, ok := c.s.Schema().Column(name)
	if !ok {
		return 0
	}
	return c.s.Allocatable(i).At(column) - c.s.Requested(i).At(column)
}

// counts reports whether NodeResourcesFit rejects every node for a member that asks for more than there is of a resource: a profile may
// ignore a resource, and devices may stand for it.
func (c *checker) counts(members []int, name v1.ResourceName) bool {
	if name == v1.ResourcePods {
		return slices.ContainsFunc(c.plan.Prepare(&v1.Pod{}).Predicates, isFit)
	}
	at := slices.IndexFunc(members, func(k int) bool { return c.needs[k][name] > 0 })
	if at < 0 {
		return true // nobody asks for it
	}
	pod := Alone(c.Members[members[at]])
	key := podinfo.Name(pod) + "\x00" + string(name)
	if known, ok := c.counted[key]; ok {
		return known
	}
	huge := pod.DeepCopy()
	for k := range huge.Spec.Containers {
		requests := huge.Spec.Containers[k].Resources.Requests
		if requests == nil {
			requests = v1.ResourceList{}
		}
		requests[name] = *resource.NewQuantity(math.MaxInt64/2000, resource.DecimalSI)
		huge.Spec.Containers[k].Resources.Requests = requests
	}
	fit := slices.IndexFunc(c.plan.Prepare(huge).Predicates, isFit)
	ok := fit >= 0
	if ok {
		p := c.plan.Prepare(huge).Predicates[fit]
		ok = !slices.ContainsFunc(c.slots(), func(i int) bool { return p.Check(i) == 0 })
	}
	c.counted[key] = ok
	return ok
}

func isFit(p filter.Predicate) bool { return p.Name() == plugins.NodeResourcesFit }

// byMembers has the members that at least one node takes.
func (c *checker) byMembers(members, slots []int) (parts []Part) {
	for _, k := range members {
		open := c.admits(k)
		if slices.ContainsFunc(slots, func(i int) bool { return open[i] }) {
			parts = append(parts, Part{c.Members[k].Namespace + "/" + c.Members[k].Name, 1})
		}
	}
	return parts
}

// most returns how many members a node takes at most: those that it takes at all, as far as their resources go, and one of those that all
// want the same port.
func (c *checker) most(members []int, i int) int {
	var open []int
	names := map[v1.ResourceName]bool{}
	for _, k := range members {
		if c.admits(k)[i] {
			open = append(open, k)
			for name := range c.needs[k] {
				names[name] = true
			}
		}
	}
	most := len(open)
	for name := range names {
		if !c.counts(open, name) {
			continue
		}
		var amounts []int64
		for _, k := range open {
			amounts = append(amounts, c.needs[k][name])
		}
		slices.Sort(amounts)
		free, sum, fit := c.free(i, name), int64(0), 0
		for _, x := range amounts {
			if sum += x; sum > 0 && sum > free {
				break
			}
			fit++
		}
		most = min(most, fit)
	}
	if most > 1 && c.samePort(open) {
		most = 1
	}
	return most
}

// samePort reports whether all members want one host port of all addresses.
func (c *checker) samePort(members []int) bool {
	return c.Profile.Filter(plugins.NodePorts) != nil && podinfo.SamePort(func(yield func(*v1.Pod) bool) {
		for _, k := range members {
			if !yield(c.Members[k]) {
				return
			}
		}
	})
}
