package preemption

import (
	"iter"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

// Cluster is the view of a cluster that preemption needs. A node's handle is its slot.
type Cluster interface {
	// Len returns the number of slots, free ones included.
	Len() int
	// Node returns the node of slot i, nil for a free one.
	Node(i int) *v1.Node
	// Pods yields the pods assigned to slot i: terminating pods too, Succeeded and Failed pods not. It is not called for a
	// free slot. Pods of equal importance are victims in the reverse of this order.
	Pods(i int) iter.Seq[*v1.Pod]
}

// Answer is what the filters say about the preemptor on one slot. The zero value allows.
type Answer struct {
	// Predicate is the position of the filter that rejects, in the list of the WhatIf. Only the WhatIf reads it.
	Predicate uint16
	// Verdict is the filter's verdict: 0 allows.
	Verdict resources.Verdict
}

// WhatIf asks all filters of one preemptor about a slot of one cluster, after pods were added and removed that the cluster
// itself keeps. Package placement has one for a profile (Attempt.WhatIf). [WhatIfOver] makes one of a function over the cluster.
// A WhatIf belongs to one goroutine.
//
// A WhatIf may have the method Without(i int, left []int64) Answer, which saves work. Without returns the answer that
// Check(i) would give if the pods of slot i asked for no more than left. The columns of left are those of the schema that
// the WhatIf and the cluster share. Without returns an answer that allows if the filters allow, or if that answer is not
// certain, for example because an earlier filter reads labels of other pods.
//
// A WhatIf whose Add and Remove can fail has the method Broken() error. Broken returns the first failure since the last Reset.
// A node with such a failure is given up with this error, also if its victims are found.
type WhatIf interface {
	// Check asks the filters about slot i with the changes made. Pods nominated to the slot whose priority is at least the
	// preemptor's count in two passes: the preemptor must pass with all of them on the slot, and without them. The answer is
	// that of the pass that failed.
	Check(i int) Answer
	// Add adds p to slot i, as kube-scheduler's AddPod does.
	Add(p *v1.Pod, i int)
	// Remove removes p from slot i, as kube-scheduler's RemovePod does.
	Remove(p *v1.Pod, i int)
	// Reset takes all changes back.
	Reset()
	// Reasons returns the texts of the answer that the last Check(i) returned. general is true if the answer has the same
	// texts on every slot.
	Reasons(i int, a Answer) (reasons []string, general bool)
	// Err returns the error of a filter that failed, and nil for a rejection.
	Err(i int, a Answer) error
}

// Rejection is what the filters said about a node in the attempt that failed.
type Rejection uint8

// The rejections. The zero value is that of a node that no filter was asked about.
const (
	// Unresolvable: to remove pods from the node cannot help (UnschedulableAndUnresolvable).
	Unresolvable Rejection = iota
	// Resolvable: to remove pods may help (Unschedulable). Only such nodes are tried.
	Resolvable
	// Fits: the node was not rejected.
	Fits
	// Failed: a filter ended with an error, or left the node pending.
	Failed
)

// Request asks which pods leave so that Pod gets room.
type Request struct {
	// Pod is the preemptor, as it is in the API server now.
	Pod *v1.Pod
	// Cluster holds the nodes and their pods.
	Cluster Cluster
	// WhatIf holds the preemptor's filters.
	WhatIf WhatIf
	// Rejections are those of the failed attempt by slot. Slots past the end are Unresolvable. If a plugin rejected the pod
	// before it saw a node, all nodes have that rejection.
	Rejections []Rejection
	// Budgets are the disruption budgets of all namespaces; nil: none. Their option EmptySelectorMatchesAll corrects what
	// v1.37 does with the selector {}.
	Budgets *disruption.Budgets
	// Now is the start time of pods that have no start time.
	Now time.Time
	// Index is for callers that ask often. nil makes an index for the call.
	Index Index
	// Extenders may change what was found, in this order. They are the extenders that support preemption and care about the
	// pod.
	Extenders []Extender
	Options   Options
}

// Options selects behaviour other than v1.37's. The zero value is v1.37's behaviour.
type Options struct {
	// Release is the release whose preemption counts (rule L8.4).
	Release release.Version
	// Candidates bounds how many nodes are tried. The zero value is v1.37's 10 percent, at least 100.
	Candidates CandidateArgs
	// Offset is the position at which the search begins, in the list of nodes to try, sorted by name. It counts modulo the
	// length of the list. v1.37 takes a random position.
	Offset int
	// Eligible reports whether a pod of lower priority on slot i may be a victim; nil allows all. With Eligible every node is
	// tried: bounds that save work are not used.
	Eligible func(i int, victim, preemptor *v1.Pod) bool
	// MoreImportant reports whether a is more important than b. It must be a strict weak order. nil compares priority, then
	// start time: the pod that started earlier is more important.
	MoreImportant func(a, b *v1.Pod) bool
	// Scores replace the first five criteria of the choice among nodes, in order. The highest score wins. A nil score counts nothing.
	Scores []func(c Candidate) int64
	// Units are pods that leave together or not at all. A pod that no unit names is a unit of its own.
	Units []Unit
	// NeverViolate makes disruption budgets binding: no victim breaks a budget.
	NeverViolate bool
	// AtLeastOneCandidate raises a number of candidates of 0, which small clusters and small CandidateArgs give, to 1.
	AtLeastOneCandidate bool
	// CrossNode allows victims on other nodes if local victims are not enough; nil does not.
	CrossNode *CrossNode
	// Search replaces v1.37's search for the victims on a node; nil does not. With Search every node is tried, whatever
	// Candidates says. NeverViolate has no effect: the Searcher decides about budgets.
	Search Searcher
}

// Unit is a set of pods that leave together, on one node or on several: if one pod is a victim, all are. A unit counts on
// every node that holds one of its pods. If Eligible refuses one of the pods, none leaves. A pod in several units belongs to
// the first. placement.PreemptOptions.Groups makes the units of groups of pods.
//
// [podgroup.CompareUnits] orders units by importance; a pod that no unit names is a unit of one pod. The choice among nodes reads the
// priorities and start times of the pods themselves. On a node only the unit's pods of this node make room, unless [CrossNode] is set
// (rule PG6.13).
type Unit struct {
	Pods []*v1.Pod // nil elements count for nothing
	// Priority is the priority of the unit, whatever its pods have; nil: the highest priority of its pods.
	Priority *int32
	// Kind decides between units of one priority.
	Kind podgroup.Kind
}

// Placed is a pod and the slot of its node.
type Placed struct {
	Pod  *v1.Pod
	Slot int
}

// CrossNode allows victims on other nodes. If the local search finds no victims, the pods that Foreign returns leave as
// well. They come back before local pods of equal importance.
type CrossNode struct {
	// Foreign returns the pods of other slots that may keep the preemptor from slot i, such as pods of the same domain that a
	// required anti-affinity separates from the preemptor (package placement has such a function). Preemption ignores pods of
	// slot i and pods that must not be victims.
	Foreign func(i int) []Placed
	// Max bounds the foreign pods of a slot. A slot with more is not tried. 0 is 50.
	Max int
}
