package placement

import (
	"slices"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/follow"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/placement/internal/reuse"
	"github.com/podberth/podberth/preemption"
)

// preemptors keeps what the filters said about the nodes, by kind of preemptor.
type preemptors struct {
	kinds map[preemptorKind]*preemptor
	slots int // in all kinds
}

type preemptorKind struct {
	pods     string
	priority int32
}

// preemptor is what is kept for one kind of preemptor. An event on a node drops what is kept of that node.
type preemptor struct {
	state      uint64 // of reuse.VerdictKey
	plugins    []string
	cursor     follow.Cursor
	rejections []preemption.Rejection
	changes    uint64 // of state, plugins and rejections
	others     uint64 // changes of state and plugins
}

// maxPreemptorSlots bounds the memory of all kinds together. Beyond it all of them are dropped.
const maxPreemptorSlots = 1 << 18

// of returns what is kept for the pods of a kind, up to date for an attempt of one of them; nil when nothing is kept.
func (k *preemptors) of(kind reuse.VerdictKey, priority int32, a *Attempt, log follow.Log) *preemptor {
	if kind.Pods == "" || a.Rejected() {
		return nil
	}
	key := preemptorKind{kind.Pods, priority}
	x := k.kinds[key]
	if x == nil {
		slots := a.plan.cluster.Len()
		if k.slots += slots; k.kinds == nil || k.slots > maxPreemptorSlots {
			k.kinds, k.slots = map[preemptorKind]*preemptor{}, slots
		}
		x = &preemptor{}
		k.kinds[key] = x
	}
	x.follow(kind.State, a, log)
	return x
}

// follow asks the filters about the nodes that changed, or about all nodes when anything else changed.
func (x *preemptor) follow(state uint64, a *Attempt, log follow.Log) {
	n := a.plan.cluster.Len()
	same := len(x.rejections) == n && x.state == state && x.sameFilters(a.Predicates)
	if same {
		reached := x.cursor.Read(log, func(e *cluster.Event) {
			switch i := int(e.Node); {
			case !same || i == view.Storage || i == view.Unread:
			case i < 0:
				same = false
			default:
				if r := a.rejectionOf(i); r != x.rejections[i] {
					x.rejections[i] = r
					x.changes++
				}
			}
		})
		if reached && same {
			return
		}
	}
	x.cursor = follow.At(log)
	x.state, x.plugins = state, x.plugins[:0]
	x.changes++
	x.others++
	for _, p := range a.Predicates {
		x.plugins = append(x.plugins, p.Name())
	}
	x.rejections = slices.Grow(x.rejections[:0], n)[:n]
	for i := range n {
		x.rejections[i] = a.rejectionOf(i)
	}
}

// sameFilters reports whether the list has the same filters in the same order as the list before. Only then does a kept rejection
// name the right filter.
func (x *preemptor) sameFilters(list filter.Predicates) bool {
	if len(list) != len(x.plugins) {
		return false
	}
	for k, p := range list {
		if p.Name() != x.plugins[k] {
			return false
		}
	}
	return true
}

// rejectionOf asks the predicates about a slot, which may be free.
func (a *Attempt) rejectionOf(i int) preemption.Rejection {
	if a.plan.cluster.Node(i) == nil {
		return preemption.Unresolvable
	}
	return rejection(a.Predicates.Code(a.Predicates.First(i)))
}
