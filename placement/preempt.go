package placement

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/follow"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/preemption"
)

// preempter is what a plan keeps between questions about preemption. It follows the plan's cluster.
type preempter struct {
	plan    *Plan
	planner preemption.Planner
	index   preemption.Index
	log     follow.Log // nil: a cluster without one
	cursor  follow.Cursor

	budgets    *disruption.Budgets // those of the cluster; nil: not read since one changed
	rejections []preemption.Rejection
	resolvable []preemption.Rejection // nothing but Resolvable
	running    *running
	lowest     lowest
	preemptors preemptors
}

func newPreempter(p *Plan) *preempter {
	x := &preempter{plan: p, index: preemption.NewIndex(p.cluster), running: newRunning(p.cluster)}
	if x.log, _ = p.cluster.(follow.Log); x.log != nil {
		x.cursor = follow.At(x.log)
	}
	return x
}

// PreemptOptions configure Preempt. The zero value is v1.37's.
type PreemptOptions struct {
	// Budgets are the disruption budgets; nil: those of the snapshot. [disruption.NewBudgets] of an empty list has none. A call does not
	// charge the victims to the budgets, so that two calls may spend one disruption twice: set the newer status of the budgets in the snapshot,
	// as [disruption.Evictions] gives it after each eviction.
	Budgets   *disruption.Budgets
	Now       time.Time
	Extenders []preemption.Extender
	// Rejected are slots that an extender, or anything else beside the profile's filters, rejected in the attempt. An entry
	// has no effect on a slot that a filter rejected.
	Rejected map[int]preemption.Rejection
	// Groups makes pods that belong to groups leave as their groups say, as v1.37 does when its feature gate GenericWorkload is on: the
	// pods of a group with disruption mode All together, each pod with the priority of its group. nil: each pod for itself. It reads
	// every running pod, and has no effect if Options.Units is set.
	Groups *podgroup.Gates
	// Options are the options of package preemption. CrossNode without Foreign gets the pods of other nodes that may keep the
	// pod out: by anti-affinity, by DoNotSchedule spread constraints, and by use of one of its claims.
	preemption.Options
}

// Preempt looks for pods that can make room for a pod for which Decide found no node. failure is the [Failure] of that
// decision and o what Decide got. The nomination of the pod counts. Preempt changes nothing in the cluster.
//
// Preempt goes on with the failed attempt: it neither prepares the pod nor searches the nodes a second time. It prepares and
// searches again when
//
//   - the plan has had another failure since, or failure is nil,
//   - pod is not the object that Decide got, but a newer one from the API server,
//   - the cluster has changed since, or has no change log.
func (p *Plan) Preempt(pod *v1.Pod, failure *Failure, o Options, po PreemptOptions) preemption.Result {
	return p.preemption().preempt(pod, failure, o, po)
}

// preemption returns what the plan keeps for questions about preemption.
func (p *Plan) preemption() *preempter {
	if p.preempter == nil {
		p.preempter = newPreempter(p)
	}
	return p.preempter
}

func (x *preempter) preempt(pod *v1.Pod, failure *Failure, o Options, po PreemptOptions) preemption.Result {
	x.follow()
	a := x.plan.Failed(failure)
	if a == nil || a.pod != pod || x.log == nil || a.version != x.plan.version() {
		a = x.plan.Prepare(pod)
	}
	w := a.whatIf(o)
	x.running.ask()
	w.running = x.running
	rejections := x.rejected(a, w, o)
	if len(po.Rejected) > 0 {
		rejections, w.kept = x.replaced(rejections, po.Rejected), nil
	}
	r := preemption.Request{
		Pod: pod, Cluster: x.plan.cluster, WhatIf: w, Rejections: rejections, Budgets: po.Budgets, Now: po.Now,
		Index: x.index, Extenders: po.Extenders, Options: po.Options,
	}
	if r.Budgets == nil {
		r.Budgets = x.budgetsNow()
	}
	if po.Groups != nil && r.Options.Units == nil {
		r.Options.Units = groupUnits(x.plan.cluster, *po.Groups)
	}
	if c := r.Options.CrossNode; c != nil && c.Foreign == nil {
		r.Options.CrossNode = &preemption.CrossNode{Max: c.Max, Foreign: w.foreign}
	}
	return x.planner.Preempt(r)
}

// rejected returns what each slot's rejection means. For an attempt whose pods are known to be alike it finds what is kept.
func (x *preempter) rejected(a *Attempt, w *whatIf, o Options) []preemption.Rejection {
	if o.Nominated == nil {
		if w.kept = x.preemptors.of(a.kind, podinfo.Priority(a.pod), a, x.log); w.kept != nil {
			return w.kept.rejections
		}
		if w.everywhere = a.everyResolvable(); w.everywhere {
			for len(x.resolvable) < x.plan.cluster.Len() {
				x.resolvable = append(x.resolvable, preemption.Resolvable)
			}
			return x.resolvable
		}
	}
	x.rejections = a.Rejections(x.rejections[:0], o)
	return x.rejections
}

// replaced returns a copy of the rejections with other rejections of nodes that no filter rejected.
func (x *preempter) replaced(rejections []preemption.Rejection, by map[int]preemption.Rejection) []preemption.Rejection {
	x.rejections = append(x.rejections[:0], rejections...)
	for i, r := range by {
		if i >= 0 && i < len(x.rejections) && x.rejections[i] == preemption.Fits {
			x.rejections[i] = r
		}
	}
	return x.rejections
}

// budgetsNow returns the disruption budgets of a snapshot as they are now; nil for another cluster.
func (x *preempter) budgetsNow() *disruption.Budgets {
	s, ok := x.plan.cluster.(*cluster.Snapshot)
	if !ok {
		return nil
	}
	x.follow()
	if x.budgets == nil {
		x.budgets = disruption.NewBudgets(slices.Collect(cluster.List[*policyv1.PodDisruptionBudget](s).All()), disruption.BudgetOptions{})
	}
	return x.budgets
}

// follow brings what is kept up to date.
func (x *preempter) follow() {
	if x.log == nil {
		x.index.Forget()
		return
	}
	reached := x.cursor.Read(x.log, func(e *cluster.Event) {
		switch {
		case e.Node == view.Storage: // nothing is kept for preemptors with volumes
		case e.Node == view.Unread: // no filter and no score reads it, as it is with a budget
			x.budgets = nil
		case e.Node < 0:
			x.index.Forget()
			x.running.forget()
		default:
			if e.Set < 0 {
				x.index.TouchNodes()
			}
			x.index.Touch(int(e.Node))
			x.running.touch(int(e.Node))
			x.lowest.touch(int(e.Node))
		}
	})
	if !reached {
		x.index.Forget()
		x.running.forget()
		x.lowest, x.budgets = lowest{}, nil
	}
}

// leaving returns the slots, of those in scan order, with a pod of a group or of a priority below another. The cluster has a log.
func (x *preempter) leaving(priority int32) (slots []int) {
	x.follow()
	x.lowest.read(x.plan.cluster)
	if !x.lowest.any(int64(priority)) {
		return nil
	}
	for _, i := range x.plan.inOrder() {
		if x.lowest.slots[i].priority < int64(priority) {
			slots = append(slots, int(i))
		}
	}
	return slots
}
