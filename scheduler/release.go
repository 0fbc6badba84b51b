package scheduler

import (
	v1 "k8s.io/api/core/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"

	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
)

// This file has the differences between releases in the scheduler itself. Those of the queue, of the plugins' rules and of the
// choice of victims are in the library.

// preFilters reports whether NodeName, NodeUnschedulable and TaintToleration are PreFilter plugins, as in v1.37 (rule L2.5).
func (o *Options) preFilters() bool { return o.Release.AtLeast(release.V1_37) }

// scoresDevices reports whether DynamicResources is a Score plugin, as since v1.35 (rule L2.3).
func (o *Options) scoresDevices() bool { return o.Release.AtLeast(release.V1_35) }

// postFilterText returns what a PostFilter plugin says that found nothing to do for claims (rule L6.1), or a node (rule L6.2).
func (o *Options) postFilterText(what preemption.PostFilterOutcome) []string {
	if text := preemption.PostFilterText(o.Release, what); text != "" {
		return []string{text}
	}
	return nil
}

// inMemory returns the note of the event of a victim that was stopped in memory (rule L6.4).
func (o *Options) inMemory(note string) string {
	if o.Release.AtLeast(release.V1_36) {
		note += " (in kube-scheduler memory)."
	}
	return note
}

// announces reports whether the chosen node is written to the pod before a long binding, as since v1.35 (rule L8.1).
func (o *Options) announces() bool { return o.Release.AtLeast(release.V1_35) }

// nominationWithoutPostFilter is what becomes of the nomination of a pod that fits nowhere in a profile without PostFilter
// plugins: it stays in v1.34 (rule L8.3).
func (o *Options) nominationWithoutPostFilter() *Nomination {
	if o.Release.AtLeast(release.V1_35) {
		return denominate
	}
	return nil
}

// sparesLeaving reports whether a victim that is leaving already is left alone, as since v1.35 (rule L8.4).
func (o *Options) sparesLeaving() bool { return o.Release.AtLeast(release.V1_35) }

// holdsForLast reports whether a preemptor is held back until its last victim is leaving, as since v1.35 (rule L8.5).
func (o *Options) holdsForLast() bool { return o.Release.AtLeast(release.V1_35) }

// sparesLast reports whether the last victim stays when another victim could not be deleted, as since v1.36 (rule L8.6).
func (o *Options) sparesLast() bool { return o.Release.AtLeast(release.V1_36) }

// stopWaiting rejects a victim that waits on Permit (rule L8.7).
func (s *Scheduler) stopWaiting(victim *v1.Pod) bool {
	if s.o.Release.AtLeast(release.V1_36) {
		return s.waiting.preempt(victim.UID, nameDefaultPreemption, "preempted") || s.waiting.leaves(victim.UID)
	}
	return s.waiting.reject(victim.UID, nameDefaultPreemption, "preempted") || s.waiting.leaves(victim.UID)
}

// stopsPreBind reports whether a victim in PreBind is stopped in memory, as since v1.36 (rule L8.8).
func (o *Options) stopsPreBind() bool { return o.Release.AtLeast(release.V1_36) }

// activatesAfterMemory reports whether the preemptor is tried at once when its last victim was stopped in memory, as in v1.37
// (rule L8.8).
func (o *Options) activatesAfterMemory() bool { return o.Release.AtLeast(release.V1_37) }

// sideBySide reports whether PreBind plugins that allow it run together, as since v1.36 (rule L9.1).
func (o *Options) sideBySide() bool { return o.Release.AtLeast(release.V1_36) }

// dropsRecreated reports whether a failed attempt leaves a pod of another UID alone, as since v1.36 (rule L9.4).
func (o *Options) dropsRecreated() bool { return o.Release.AtLeast(release.V1_36) }

// freesDeleted reports whether the room of an assumed pod that is deleted is free at once, as since v1.35 (rule L9.5).
func (o *Options) freesDeleted() bool { return o.Release.AtLeast(release.V1_35) }

// batches reports whether there is opportunistic batching, as since v1.35 (rule L10.1).
func (o *Options) batches() bool { return o.Release.AtLeast(release.V1_35) }

// hintsNominated reports whether a pod with a nomination uses up a node of the ranking, as up to v1.36 (rule L10.1).
func (o *Options) hintsNominated() bool { return !o.Release.AtLeast(release.V1_37) }

// taintRuleChanged reports a changed DeviceTaintRule to the queue; old is nil for a new rule, now for a rule that is gone. Plugins see a
// rule that changes the taints of devices as a changed ResourceSlice; up to v1.36 rules change nothing (rule L1.10).
func (s *Scheduler) taintRuleChanged(old, now *resourcev1beta2.DeviceTaintRule) {
	if s.o.Release.AtLeast(release.V1_37) && s.namespaces.ruleMatters(old, now) {
		s.queue.Move(queue.Change{Event: queue.Event{Resource: "resource.k8s.io/ResourceSlice", Action: queue.Update}})
	}
}
