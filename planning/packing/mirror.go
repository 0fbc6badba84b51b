package packing

import (
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
)

// mirror is a snapshot in which the pods are where the model has them. It answers for filters that look at other pods.
type mirror struct {
	m        *model
	plan     *placement.Plan
	snapshot *cluster.Snapshot

	asked  *item // the pod of the attempt; nil: the snapshot has changed since
	whatIf preemption.WhatIf
}

func (x *mirror) put(it *item, slot int) {
	if it.stays {
		return // never left
	}
	x.asked = nil
	must.Do(x.snapshot.Assume(it.pod, slot))
}

func (x *mirror) take(it *item) {
	x.asked = nil
	must.Do(x.snapshot.Remove(it.pod))
}

// allows reports whether the filters allow the pod on a slot without some items of the slot.
func (x *mirror) allows(it *item, slot int, without []int) bool {
	if x.asked != it {
		a := x.plan.Prepare(it.pod)
		x.asked, x.whatIf = it, nil
		if !a.Rejected() {
			x.whatIf = a.WhatIf(placement.Options{})
		}
	}
	if x.whatIf == nil {
		return false
	}
	x.whatIf.Reset()
	for _, k := range without {
		x.whatIf.Remove(x.m.items[k].pod, slot)
	}
	return x.whatIf.Check(slot).Verdict == 0
}
