package placement

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/preemption"
)

// Preempter answers "who gives way to this pod?" for the pods of one plan, and keeps what can be kept between questions. It
// follows the plan's cluster and belongs to the plan's goroutine.
type Preempter struct {
	plan    *Plan
	planner preemption.Planner
	index   *preemption.Index
	log     changeLog // nil: a cluster without one
	at      uint64

	verdicts   []filter.Rejection
	rejections []preemption.Rejection
	running    *running
}

// NewPreempter returns a Preempter for the plan.
func NewPreempter(p *Plan) *Preempter {
	x := &Preempter{plan: p, index: preemption.NewIndex(p.cluster), running: newRunning()}
	if x.log, _ = p.cluster.(changeLog); x.log != nil {
		x.at = x.log.Version()
	}
	return x
}

// PreemptOptions are what a question about preemption may add to Options. The zero value is v1.36's, without budgets.
type PreemptOptions struct {
	Budgets   *disruption.Budgets
	Now       time.Time
	Extenders []preemption.Extender
	// Rejected are slots that something beside the profile's filters, such as an extender, rejected in the attempt, as far
	// as the filters did not.
	Rejected map[int]preemption.Rejection
	// Preemption are the options of package preemption. CrossNode without Foreign gets WhatIf.Foreign.
	Preemption preemption.Options
}

// Preempt looks for pods that give way to a pod for which Decide found no node in the cluster as it is. o is what Decide
// got. The pod must be as it is in the API server; its nomination counts.
func (x *Preempter) Preempt(pod *v1.Pod, o Options, po PreemptOptions) preemption.Result {
	x.follow()
	a := x.plan.Prepare(pod)
	w := a.WhatIf(o)
	w.running = x.running
	x.verdicts = a.Verdicts(x.verdicts[:0], o)
	x.rejections = a.appendRejections(x.rejections[:0], x.verdicts)
	for i, r := range po.Rejected {
		if i >= 0 && i < len(x.rejections) && x.rejections[i] == preemption.Fits {
			x.rejections[i] = r
		}
	}
	r := preemption.Request{
		Pod: pod, Cluster: x.plan.cluster, WhatIf: w, Rejections: x.rejections, Budgets: po.Budgets, Now: po.Now,
		Index: x.index, Extenders: po.Extenders, Options: po.Preemption,
	}
	if c := r.Options.CrossNode; c != nil && c.Foreign == nil {
		r.Options.CrossNode = &preemption.CrossNode{Max: c.Max, Foreign: w.Foreign}
	}
	return x.planner.Preempt(r)
}

// follow brings the index up to date.
func (x *Preempter) follow() {
	if x.log == nil {
		x.index.Forget()
		return
	}
	version := x.log.Version()
	if version == x.at {
		return
	}
	reached := x.log.Since(x.at, func(events []cluster.Event) {
		for k := range events {
			switch e := &events[k]; {
			case e.Node < 0:
				x.index.Forget()
				x.running.forget()
			case e.Set < 0:
				x.index.TouchNodes()
				x.index.Touch(int(e.Node))
			default:
				x.index.Touch(int(e.Node))
			}
		}
	})
	if !reached {
		x.index.Forget()
		x.running.forget()
	}
	x.at = version
}

// Rejections appends how preemption sees each slot: the argument of preemption.Request.
func (a *Attempt) Rejections(dst []preemption.Rejection, o Options) []preemption.Rejection {
	return a.appendRejections(dst, a.Verdicts(nil, o))
}

func (a *Attempt) appendRejections(dst []preemption.Rejection, verdicts []filter.Rejection) []preemption.Rejection {
	if a.Rejected() { // every node has the rejection of the plugin
		for range verdicts {
			dst = append(dst, rejection(a.Pre.Code))
		}
		return dst
	}
	for _, v := range verdicts {
		switch {
		case v == Outside:
			dst = append(dst, preemption.Unresolvable)
		default:
			dst = append(dst, rejection(a.Predicates.Code(v)))
		}
	}
	return dst
}

// rejection returns what a code means to preemption, which tries Unschedulable nodes only.
func rejection(code filter.Code) preemption.Rejection {
	switch code {
	case filter.Success:
		return preemption.Fits
	case filter.Unschedulable:
		return preemption.Resolvable
	case filter.UnschedulableAndUnresolvable:
		return preemption.Unresolvable
	}
	return preemption.Failed
}
