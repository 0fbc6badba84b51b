package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
)

// Remedy is a change of the cluster or of the options, and what it comes to.
type Remedy struct {
	Text string `json:"text"` // the change
	// Holds reports that with the change the pods of the deadlock leave, and that no node is blocked that was not blocked before.
	// The whole plan was made again.
	Holds bool `json:"holds"`
}

// change is a remedy before it is tried. apply changes an input and options that nobody else holds.
type change struct {
	text  string
	apply func(in *Input, o *Options)
}

// ends reports whether the caller wants no more of what may be cut.
func (x *run) ends() bool { return x.end != nil && x.end() }

// remedies tries changes for each deadlock, the smallest first, until one holds or Options.Remedies are tried.
func (x *run) remedies() {
	left, weight := cmp.Or(x.o.Steps, DefaultSteps), x.weight()
	x.end = func() bool { return left < 0 || x.o.End != nil && x.o.End() }
	for i := range x.plan.Blocked {
		d := &x.plan.Blocked[i]
		list := x.changes(d)
		list = list[:min(len(list), x.o.Remedies)]
		for k, c := range list {
			left -= max(1, len(x.o.Nodes)) * weight
			holds, err := false, error(nil)
			if !x.ends() {
				holds, err = x.try(c, d)
			}
			if x.ends() {
				x.plan.Untried += len(list) - k
				break
			}
			if err != nil {
				must.Do(fmt.Errorf("remedy %q: %w", c.text, err))
			}
			d.Remedies = append(d.Remedies, Remedy{c.text, holds})
			if holds {
				break
			}
		}
	}
}

// weight returns how many steps a node of a plan costs: 1, and more where the plan places a pod of many requirements or requests.
func (x *run) weight() int {
	n := 1
	for _, p := range x.in.Pending {
		n = max(n, podinfo.Weight(p))
	}
	for _, name := range x.o.Nodes {
		if i := x.base.Slot(name); i >= 0 {
			for p := range x.base.Pods(i) {
				n = max(n, podinfo.Weight(p))
			}
		}
	}
	return 1 + (n-1)/4
}

// try plans again with a change. The answer counts only while the caller wants it.
func (x *run) try(c change, d *Deadlock) (holds bool, err error) {
	defer must.Catch(&err)
	in, o := x.in, x.o
	in.Snapshot, in.Pending = x.base.Fork(), slices.Clone(x.in.Pending)
	o.Remedies, o.Progress, o.Nodes = 0, nil, slices.Clone(x.o.Nodes)
	c.apply(&in, &o)
	p := must.Get(New(in))
	must.Do(p.check(&o))
	y := p.begin(p.complete(o))
	y.end = x.end
	y.play()
	y.finish()
	before := map[string]bool{}
	for _, b := range x.plan.Blocked {
		for _, n := range b.Nodes {
			before[n] = true
		}
	}
	for _, b := range y.plan.Blocked {
		if slices.ContainsFunc(b.Nodes, func(n string) bool { return !before[n] }) {
			return false, nil
		}
		if slices.ContainsFunc(b.Pods, func(pod string) bool { return slices.Contains(d.Pods, pod) }) {
			return false, nil
		}
	}
	return true, nil
}

// changes returns what could end a deadlock, the smallest change first: an order or a flag of the rollout, then a budget or a
// replica, then nodes.
func (x *run) changes(d *Deadlock) (out []change) {
	switch d.Kind {
	case Pinned:
		return x.flags(d)
	case Late:
		return []change{{"no time-out", func(_ *Input, o *Options) { o.Timeout = 0 }}}
	case Several:
		return x.fewerBudgets(d)
	case Never:
		out = append(x.looserBudgets(d), x.moreReplicas(d)...)
	case Uncountable:
		return x.countableBudgets(d)
	case Together:
		out = append(x.looserBudgets(d), x.singly(d)...)
	case Unhealthy, Cycle:
		out = append(x.sickLeave(d), x.looserBudgets(d)...)
		if len(x.in.Pending) > 0 {
			out = append(out, x.moreNodes(d, true)...)
		}
	case NoRoom, AntiAffinity, Spread, Volumes:
		out = append(x.orders(d), x.moreNodes(d, x.o.KeepSurge)...)
	case WaitsForOther:
	}
	return out
}

// flags are the flags of kubectl drain that let pinned pods leave, and the annotations that pin pods.
func (x *run) flags(d *Deadlock) []change {
	flag := func(name string, set func(o *Options)) change {
		return change{name, func(_ *Input, o *Options) { set(o) }}
	}
	switch {
	case strings.Contains(d.Proof, "DaemonSet-managed"):
		return []change{flag("--ignore-daemonsets", func(o *Options) { o.Drain.IgnoreDaemonSets = true })}
	case strings.Contains(d.Proof, "local storage"):
		return []change{flag("--delete-emptydir-data, and what the pod has in its emptyDir is lost", func(o *Options) { o.Drain.DeleteEmptyDirData = true })}
	case strings.Contains(d.Proof, "cannot delete"):
		return nil // --force ends a pod that nobody makes again
	}
	text := "evict " + strings.Join(d.Pods, ", ") + " all the same"
	if strings.HasPrefix(d.Proof, "annotation "+SafeToEvict+" ") {
		text = "no " + SafeToEvict + " on " + strings.Join(d.Pods, ", ")
	}
	return []change{flag(text, func(o *Options) {
		pinned := o.Pinned
		o.Pinned = func(pod *v1.Pod) string {
			if slices.Contains(d.Pods, podinfo.Name(pod)) {
				return ""
			}
			return pinned(pod)
		}
	})}
}

// orders are the orders in which a blocked node changes places with the last, the next and the first node, and a batch of one.
func (x *run) orders(d *Deadlock) (out []change) {
	nodes := x.order()
	at := slices.Index(nodes, d.Nodes[0])
	if at < 0 {
		return nil // a surge node
	}
	tried := map[int]bool{at: true}
	for _, with := range []int{len(nodes) - 1, at + 1, 0} {
		if with >= len(nodes) || tried[with] {
			continue
		}
		tried[with] = true
		swapped := slices.Clone(nodes)
		swapped[at], swapped[with] = swapped[with], swapped[at]
		out = append(out, change{fmt.Sprintf("nodes %s and %s in swapped order", nodes[at], nodes[with]), func(_ *Input, o *Options) {
			o.Nodes, o.Order = swapped, Given
		}})
	}
	return out
}

// mostSurge is the largest number of surge nodes that remedies add.
const mostSurge = 3

// moreNodes are more surge nodes like the first blocked node. They leave in the end or stay.
func (x *run) moreNodes(d *Deadlock, stay bool) (out []change) {
	slot := x.base.Slot(d.Nodes[0])
	if slot < 0 {
		return nil // a surge node
	}
	like, have := x.base.Node(slot), 0
	if x.o.Shape.Name == like.Name {
		have = x.o.Surge
	}
	for n := 1; n <= mostSurge; n++ {
		text := fmt.Sprintf("%d surge nodes like %s", n+have, like.Name)
		if n+have == 1 {
			text = "1 surge node like " + like.Name
		}
		if stay && !x.o.KeepSurge {
			text += ", to stay"
		}
		out = append(out, change{text, func(_ *Input, o *Options) {
			o.Surge, o.Shape, o.KeepSurge = n+have, like, stay
		}})
	}
	return out
}
