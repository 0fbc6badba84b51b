package queue

import (
	"container/heap"
	"strings"
	"time"

	"github.com/podberth/podberth/release"
)

// This file has the differences between releases in the queue.

// addsTaintRows reports whether plugins that register new nodes also hear of taints without asking, as up to v1.36 (rule L7.1).
func (o *Options) addsTaintRows() bool {
	return !o.ExactRegistrations && !o.CycleCounter && !o.Release.AtLeast(release.V1_37)
}

// flushesGates reports whether the leftover flush asks the gates again, as in v1.37 (rule L7.2).
func (o *Options) flushesGates() bool {
	return o.FlushGated || o.CycleCounter || o.Release.AtLeast(release.V1_37)
}

// flushed marks an entry that a leftover flush found. In v1.37 its age begins again (rule L7.3).
func (q *Queue) flushed(e *Entry, at time.Time) {
	e.WasFlushed = true
	if q.o.Release.AtLeast(release.V1_37) {
		e.flushAt = at
		heap.Fix(&q.heaps[e.place], e.index)
	}
}

// waitsSince returns the time from which the leftover flush counts the age of an entry.
func (e *Entry) waitsSince() time.Time {
	if e.flushAt.After(e.Timestamp) {
		return e.flushAt
	}
	return e.Timestamp
}

// nominatesAtOnce reports whether Add takes over the nomination of the pod's status even when the pod is gated, as in v1.37
// (rule L7.4).
func (o *Options) nominatesAtOnce() bool { return o.Release.AtLeast(release.V1_37) }

// forgetsAtPop reports whether Pop clears the plugins that rejected or gate the pod, as up to v1.35 (rule L7.5).
func (o *Options) forgetsAtPop() bool { return !o.Release.AtLeast(release.V1_36) }

// gatesBackoff reports whether Activate asks the gates about a pod in backoff, as in v1.34 (rule L7.6).
func (o *Options) gatesBackoff() bool { return !o.Release.AtLeast(release.V1_35) }

// splitsRecreated reports whether an update between two UIDs is a deletion and an addition, as in v1.37 (rule L7.11).
func (o *Options) splitsRecreated() bool { return o.SplitRecreated || o.Release.AtLeast(release.V1_37) }

// takesRecreated reports whether a failed attempt puts a pod of another UID back under the entry of the pod before, as up to v1.35
// (rule L9.4).
func (o *Options) takesRecreated() bool { return !o.Release.AtLeast(release.V1_36) }

// label returns the label of the event by which a pod comes from outside, in the words of the release (rule L7.12). Other reasons
// stay as they are.
func (o *Options) label(reason string) string {
	if o.Release.AtLeast(release.V1_37) && (reason == labelAdd || reason == labelUpdate) {
		return "UnscheduledPod" + strings.TrimPrefix(reason, unschedulablePod)
	}
	return reason
}

// own gives the events of a change of the pending pod itself the labels of the release (rule L7.12).
func (o *Options) own(events []Event) []Event {
	for k := range events {
		if e := &events[k]; e.Resource == unschedulablePod && o.Release.AtLeast(release.V1_37) {
			e.Label = "TargetPod" + e.Action.String()
		}
	}
	return events
}
