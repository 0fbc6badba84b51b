package taint

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/taints"
)

// Options selects behaviour that v1.36 does not have. The zero value is v1.36.
type Options struct {
	// Matching is how tolerations match taints.
	Matching taints.Options
	// RecomputeOnChange moves a running timer whenever pod or taints change: to its start plus the new limit, which may be
	// earlier, later or at once. By default a running timer keeps its time.
	RecomputeOnChange bool
	// UseTimeAdded counts the limit of a taint from its TimeAdded, if set, so that a restarted controller finds the same
	// time again. By default the time begins when pod and taint are first seen together.
	UseTimeAdded bool
}

// timerState is the running time of a pod. The zero value is no timer.
type timerState struct {
	Created time.Time // when pod and taint were first seen together
	Fire    time.Time // when the pod is deleted; due when now is not before it
}

// Running reports whether t is a timer.
func (t timerState) Running() bool { return !t.Fire.IsZero() }

// decision is the outcome of one evaluation of one pod.
type decision struct {
	Timer     timerState // the timer after the evaluation; zero: none
	Cancelled bool       // the old timer was cancelled (there is an event), before anything else
	Started   bool       // Timer is new
	Moved     bool       // Timer has another time, by Options.RecomputeOnChange
	Delete    bool       // delete the pod now
	// Cause is the taint that decides: the first one not tolerated, or the first one with the smallest limit; nil when the
	// pod stays and when an old timer simply keeps running.
	Cause *v1.Taint
}

// decide evaluates a pod on a node (documentation, "Taints and Tolerations", Taint based Evictions). The first that holds
// decides:
//
//  1. No NoExecute taint: a timer is cancelled.
//  2. A NoExecute taint that is not tolerated: a timer is cancelled and the pod deleted now.
//  3. All tolerated without limit: a timer is cancelled.
//  4. Tolerated for a limited time, the smallest limit counting. A timer that was created before now keeps its time,
//     whatever the new limit, even 0; one created at exactly now is cancelled and replaced. Without a timer one is
//     started, or with limit 0 the pod deleted now.
//
// pod holds the pod's compiled tolerations. O(taints x tolerations).
func decide(timer timerState, pod *taints.Evaluator, list []v1.Taint, now time.Time, o Options) decision {
	d := pod.Deadline(list)
	stop := decision{Cancelled: timer.Running()}
	switch d.Stay {
	case taints.NoTaint, taints.Forever:
		return stop
	case taints.Leave:
		stop.Delete, stop.Cause = true, &list[d.Taint]
		return stop
	}
	if timer.Running() && o.RecomputeOnChange {
		fire, cause := deadline(pod, list, timer.Created, o)
		switch {
		case !fire.After(now):
			return decision{Cancelled: true, Delete: true, Cause: cause}
		case fire.Equal(timer.Fire):
			return decision{Timer: timer}
		}
		return decision{Timer: timerState{timer.Created, fire}, Moved: true, Cause: cause}
	}
	if timer.Running() && timer.Created.Before(now) {
		return decision{Timer: timer}
	}
	fire, cause := deadline(pod, list, now, o)
	if !fire.After(now) {
		return decision{Cancelled: timer.Running(), Delete: true, Cause: cause}
	}
	return decision{Timer: timerState{now, fire}, Cancelled: timer.Running(), Started: true, Cause: cause}
}

// deadline returns the earliest end of the limits, counted from start or, by option, from when each taint was added.
func deadline(pod *taints.Evaluator, list []v1.Taint, start time.Time, o Options) (fire time.Time, cause *v1.Taint) {
	for i := range list {
		d := pod.Deadline(list[i : i+1])
		if d.Stay != taints.Limited {
			continue
		}
		from := start
		if o.UseTimeAdded && list[i].TimeAdded != nil {
			from = list[i].TimeAdded.Time
		}
		if end := from.Add(d.After); cause == nil || end.Before(fire) {
			fire, cause = end, &list[i]
		}
	}
	return fire, cause
}
