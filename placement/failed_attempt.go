package placement

import (
	"slices"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/preemption"
)

// This file has what a failed attempt leaves to preemption.

// blank returns a list with Outside for every slot, which belongs to the plan.
func (p *Plan) blank() []filter.Rejection {
	n := p.cluster.Len()
	p.verdicts = slices.Grow(p.verdicts[:0], n)[:n]
	for i := range p.verdicts {
		p.verdicts[i] = Outside
	}
	return p.verdicts
}

// recorded returns the judge of one slot, who writes what he says into verdicts.
func (a *Attempt) recorded(o Options, verdicts []filter.Rejection) func(i int) filter.Rejection {
	check := a.check(o)
	if check == nil {
		check = a.Predicates.First
	}
	return func(i int) filter.Rejection {
		r := check(i)
		verdicts[i] = r
		return r
	}
}

// fail makes the plan keep the attempt of its latest failure. verdicts are those of the search, nil when the search did not
// ask every node.
func (a *Attempt) fail(f *Failure, verdicts []filter.Rejection) {
	if name := a.pod.Status.NominatedNodeName; name != "" && verdicts != nil {
		if i, ok := a.plan.Slot(name); ok && !slices.Contains(a.Candidates(), i) {
			verdicts[i] = Outside // only the message counts a nominated node that the plugins left out
		}
	}
	a.verdicts = verdicts
	if log, ok := a.plan.cluster.(changeLog); ok {
		a.version = log.Version()
	}
	a.plan.failure, a.plan.failed = f, a
}

// Failed returns the attempt of the latest decision that found no node and did not end in an error; nil when f is not the
// Failure of that decision. The attempt holds for the cluster as it was then.
func (p *Plan) Failed(f *Failure) *Attempt {
	if f == nil || f != p.failure {
		return nil
	}
	return p.failed
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
