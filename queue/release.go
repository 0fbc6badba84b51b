package queue

import (
	"container/heap"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/release"
)

// This file has the differences between releases in the queue.

// base returns the release whose queue the rules of Legacy change: v1.36, unless the caller names another.
func (o *Options) base() release.Version {
	if o.Release == release.Current && (o.Legacy.WaitOutBackoff || o.Legacy.CycleCounter) {
		return release.V1_36
	}
	return o.Release
}

// addsTaintRows reports whether plugins that register new nodes also hear of taints without asking, as up to v1.36 (rule L7.1).
func (o *Options) addsTaintRows() bool {
	return !o.ExactRegistrations && !o.Legacy.CycleCounter && !o.Release.AtLeast(release.V1_37)
}

// wildcardsOpen reports whether a wildcard event asks the gates again, as in v1.37 (rule L7.2).
func (o *Options) wildcardsOpen() bool { return o.Release.AtLeast(release.V1_37) }

// flushesGates reports whether the leftover flush does.
func (o *Options) flushesGates() bool {
	return o.FlushGated || o.Legacy.CycleCounter || o.wildcardsOpen()
}

// flushed marks an entry that a leftover flush found. In v1.37 its age begins again (rule L7.3).
func (q *Queue) flushed(e *Entry, at time.Time) {
	e.WasFlushed = true
	if q.o.Release.AtLeast(release.V1_37) {
		e.flushAt = at
		heap.Fix(&q.heaps[e.place], e.index)
	}
}

// held takes the mark from an entry that its gates kept after a flush, in v1.37 (rule L7.2).
func (q *Queue) held(e *Entry) {
	if e.place == Gated && q.o.wildcardsOpen() {
		e.WasFlushed = false
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

// tellsPodsApart reports whether events tell the waiting pod itself from other pods without a node, as in v1.37 (rule L7.12).
func (o *Options) tellsPodsApart() bool { return o.Release.AtLeast(release.V1_37) }

// podsOf has what the default plugins register for pods in v1.37, in place of Pod (rule L7.12).
var podsOf = map[string][]Event{
	pluginSchedulingGates:   {{targetPod, UpdatePodSchedulingGatesEliminated, ""}},
	"NodeUnschedulable":     {{targetPod, UpdatePodToleration, ""}},
	"TaintToleration":       {{targetPod, UpdatePodToleration, ""}},
	"NodePorts":             {{assignedPod, Delete, ""}},
	"NodeResourcesFit":      {{assignedPod, Delete, ""}, {assignedPod, UpdatePodScaleDown, ""}, {targetPod, UpdatePodScaleDown, ""}},
	"VolumeRestrictions":    {{assignedPod, Delete, ""}},
	"NodeVolumeLimits":      {{assignedPod, Delete, ""}},
	"PodTopologySpread":     {{assignedPod, Add | UpdatePodLabel | Delete, ""}, {targetPod, UpdatePodToleration | UpdatePodLabel, ""}},
	"InterPodAffinity":      {{assignedPod, Add | UpdatePodLabel | Delete, ""}, {targetPod, UpdatePodLabel, ""}},
	"DynamicResources":      {{targetPod, UpdatePodGeneratedResourceClaim, ""}},
	"NodeDeclaredFeatures":  {{targetPod, Update, ""}},
	pluginDefaultPreemption: {{assignedPod, Delete, ""}},
}

// registered returns what a plugin of a release registers in place of the events of v1.36.
func registered(v release.Version, plugin string, events []Event) []Event {
	var out []Event
	for _, e := range events {
		switch {
		case plugin == "NodeDeclaredFeatures" && !v.AtLeast(release.V1_36): // rule L2.2
		case plugin == "NodeResourcesFit" && e.Resource == deviceClass && !v.AtLeast(release.V1_36): // rule L3.3
		case e.Resource == anyPod && v.AtLeast(release.V1_37):
			out = append(out, podsOf[plugin]...)
		case e.Resource == resourceClaim && v.AtLeast(release.V1_37): // rule L7.16
			out = append(out, Event{e.Resource, e.Action | Delete, ""})
		default:
			out = append(out, e)
		}
	}
	return out
}

// hintOf returns a default plugin's hint for an event. In v1.37 hints take any waiting pod that changed for the pod that they are
// asked about; PodTopologySpread still looks at the constraints of the latter (rule L7.17).
func hintOf(plugin string, e Event, hint Hint) Hint {
	if hint == nil || e.Resource != targetPod {
		return hint
	}
	return func(pod *v1.Pod, old, new any) (bool, error) {
		changed, _ := new.(*v1.Pod)
		switch {
		case changed == nil || pod == nil || changed.UID == pod.UID:
		case plugin == "PodTopologySpread":
			itself := *changed
			itself.UID = pod.UID
			new = &itself
		default:
			pod = changed
		}
		return hint(pod, old, new)
	}
}

// label returns the label of the event by which a pod comes from outside: v1.37 has one for both. Other reasons stay as they are.
func (o *Options) label(reason string) string {
	if o.tellsPodsApart() && (reason == labelAdd || reason == labelUpdate) {
		return unscheduledPod + Add.String()
	}
	return reason
}

// changedPod returns the resource of the events of a changed pod, and whether a request that grows has an event (rule L7.12).
func changedPod(pod *v1.Pod, v release.Version) (resource string, growth bool) {
	switch o := (Options{Release: v}); {
	case pod.Spec.NodeName != "":
		return assignedPod, false
	case o.tellsPodsApart():
		return targetPod, true
	}
	return unschedulablePod, false
}
