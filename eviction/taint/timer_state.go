package taint

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/taints"
)

// Options selects behaviour that v1.37 does not have. The zero value is v1.37's behaviour.
type Options struct {
	// Matching is how tolerations match taints.
	Matching taints.Options
	// RecomputeOnChange computes the end of a running timer again whenever pod or taints change: its start plus the new
	// limit, which may be earlier, later or at once. By default a running timer keeps its end (rule XT2.9).
	RecomputeOnChange bool
	// UseTimeAdded counts the limit of a taint from its TimeAdded, if that is set. A restarted controller then finds the
	// same end again. By default the time begins when pod and taint are first seen together (rule XT4.1).
	UseTimeAdded bool
}

// timerState is the running timer of a pod. The zero value means that no timer runs.
type timerState struct {
	Created time.Time // when pod and taint were first seen together
	Fire    time.Time // when the pod is deleted; due at that time and later
}

// Running reports whether a timer runs.
func (t timerState) Running() bool { return !t.Fire.IsZero() }

// decision is the result of one evaluation of one pod.
type decision struct {
	Timer     timerState // the timer after the evaluation; zero when no timer runs
	Cancelled bool       // the old timer was cancelled, before anything else; an event is written
	Started   bool       // Timer is new
	Moved     bool       // Timer has another end, because of Options.RecomputeOnChange
	Delete    bool       // delete the pod now
	// Cause is the taint that decides: the first taint that is not tolerated, or the first taint with the smallest limit.
	// It is nil when the pod stays and when an old timer keeps running.
	Cause *v1.Taint
}

// decide evaluates a pod on a node (rules XT2.2 to XT2.9; documentation, "Taints and Tolerations", Taint based Evictions).
// The first rule that holds decides:
//
//  1. The node has no NoExecute taint: a timer is cancelled.
//  2. A NoExecute taint is not tolerated: a timer is cancelled and the pod is deleted now.
//  3. All taints are tolerated without limit: a timer is cancelled.
//  4. All taints are tolerated, and the smallest limit counts. A timer that was created before now keeps its end, whatever
//     the new limit is, even 0. A timer that was created at exactly now is cancelled and replaced. Without a timer, a new
//     one starts; with limit 0 the pod is deleted now.
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

// deadline returns the earliest end of the limits. They count from start, or with Options.UseTimeAdded from the time when
// each taint was added.
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
