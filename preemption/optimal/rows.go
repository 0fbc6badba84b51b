package optimal

import (
	"cmp"
	"math"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/follow"
	"github.com/podberth/podberth/preemption"
)

// rows keeps what was read of the pods of each slot, for further requests about the same cluster. Without a change log a row is
// read each time.
type rows struct {
	cluster preemption.Cluster
	log     follow.Log
	cursor  follow.Cursor
	list    []row
}

// row has the pods of a slot, the lowest priority first. Of equal priority the pod that started last is first. A pod without a
// start time counts as started last.
type row struct {
	known, measured bool
	pods            []rowPod
	width           int
	amounts         []int64            // by pod, then by column
	ledger          *disruption.Ledger // from which breaks was drawn; nil: it was not
}

type rowPod struct {
	pod      *v1.Pod
	priority int32
	start    int64 // in microseconds
	breaks   bool  // the pod breaks a budget, if no other pod leaves
}

// follow forgets the rows that have changed, and all rows of another cluster.
func (x *rows) follow(c preemption.Cluster) {
	log, _ := c.(follow.Log)
	if log == nil || !reflect.TypeOf(c).Comparable() {
		*x = rows{cluster: c, list: x.list[:0]}
		return
	}
	reached := x.log == log && x.cursor.Read(log, func(e *cluster.Event) {
		switch i := int(e.Node); {
		case i < 0:
			x.forget()
		case i < len(x.list):
			x.list[i].known = false
		}
	})
	if !reached {
		x.forget()
		x.cursor = follow.At(log)
	}
	x.cluster, x.log = c, log
}

func (x *rows) forget() {
	for i := range x.list {
		x.list[i].known = false
	}
}

// of returns the row of the slot of a problem, and false if the cluster does not know the requests of a pod.
func (x *rows) of(p *preemption.Problem) (*row, bool) {
	for len(x.list) <= p.Slot {
		x.list = append(x.list, row{})
	}
	r := &x.list[p.Slot]
	if !r.known || x.log == nil {
		r.read(p)
	}
	return r, r.measured
}

// read reads the pods of the slot of a problem.
func (r *row) read(p *preemption.Problem) {
	r.known, r.measured, r.width, r.ledger, r.pods = true, false, 0, nil, r.pods[:0]
	for pod := range p.Cluster.Pods(p.Slot) {
		requests, ok := p.Requests(pod)
		if !ok {
			return
		}
		q := rowPod{pod: pod, priority: preemption.Priority(pod), start: math.MaxInt64}
		if at := pod.Status.StartTime; at != nil {
			q.start = at.UnixMicro()
		}
		r.pods, r.width = append(r.pods, q), max(r.width, len(requests))
	}
	slices.SortFunc(r.pods, func(a, b rowPod) int {
		if c := cmp.Compare(a.priority, b.priority); c != 0 {
			return c
		}
		return cmp.Compare(b.start, a.start)
	})
	r.amounts = slices.Grow(r.amounts[:0], len(r.pods)*r.width)
	for k := range r.pods {
		requests, _ := p.Requests(r.pods[k].pod)
		for c := range r.width {
			r.amounts = append(r.amounts, requests.At(c))
		}
	}
	r.measured = true
}

// draw finds the pods that break a budget. A ledger is of one set of budgets.
func (r *row) draw(p *preemption.Problem) {
	if r.ledger == p.Ledger {
		return
	}
	r.ledger = p.Ledger
	p.Ledger.Undo(0)
	for k := range r.pods {
		q := &r.pods[k]
		q.breaks = p.Take(p.Matches(q.pod), q.pod.Name)
		p.Ledger.Undo(0)
	}
}
