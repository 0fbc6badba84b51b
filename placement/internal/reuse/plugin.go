package reuse

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/resources"
)

// Group says on what the answers of a plugin depend, and so how the engine keeps them.
type Group uint8

const (
	// Never: nothing is kept. The engine serves no pod of a profile with such a plugin.
	Never Group = iota
	// Statics: an answer changes only with the object of its node.
	Statics
	// Rows: an answer changes with the object of its node and with the pods on that node.
	Rows
	// States: an answer changes with the pods on any node.
	States
	// Absent: the engine serves only the pods that the plugin skips.
	Absent
)

// Plugin is one plugin of a profile as the engine sees it: a filter, a score, or both.
type Plugin struct {
	Name   string
	Group  Group
	Weight int64
	// Filter and Score are the places in the profile's lists, -1 for none.
	Filter, Score int

	// AppendKey appends everything that the plugin reads of an incoming pod. Plugins with equal KeyNames append the same, and
	// the engine asks one of them. An empty KeyName is equal to no other.
	AppendKey func(dst []byte, pod *v1.Pod) []byte
	KeyName   string
	// Parts append together what AppendKey appends. In the key of pods, each part has its place once. nil: the key has no parts.
	Parts []Part
	// AppendRowKey replaces AppendKey for the key of kept rows, for group Rows. It may leave out what makes no difference in
	// this cluster. nil: AppendKey.
	AppendRowKey func(dst []byte, pod *v1.Pod) []byte
	// Skips reports whether the plugin leaves the pod out, for group Absent.
	Skips func(pod *v1.Pod) bool
	// Reads names what an answer about one node reads of other nodes. When it changes on any node, the engine forgets.
	Reads []string
	// Storage reports whether the plugin reads storage objects for a pod. After a change of such an object the engine keeps nothing
	// for these pods. nil: for no pod.
	Storage func(pod *v1.Pod) bool
	// Predicate prepares the filter. It reports false when the plugin rejects the pod before any node, names the only nodes, or
	// fails. A nil predicate allows every node.
	Predicate func(pod *v1.Pod) (filter.Predicate, bool)
	// Scorer prepares the score; nil skips it.
	Scorer func(pod *v1.Pod) (Scorer, error)
	// Open begins to count, for group States. The engine uses what Open returns until it forgets.
	Open func() Counting
}

// Part is a part of a key. Parts with equal names append the same, and so does a plugin whose KeyName is the name of a part.
type Part struct {
	Name   string
	Append func(dst []byte, pod *v1.Pod) []byte
}

// Counting compiles pods for a plugin of group States. It may remember facts about pod sets and term sets. When nodes change or
// ids get other meanings, the engine opens another Counting, unless the Counting has the method Lasts(): such a Counting checks what
// it remembers.
type Counting interface {
	// Compile returns nil for a pod that the plugin skips. An error means that the engine does not serve the pod.
	Compile(pod *v1.Pod) (Compiled, error)
}

// PodKeyer is a Counting that writes the key of a pod itself, from the objects that the pod names, such as claims. Its key replaces
// that of Plugin.AppendKey.
type PodKeyer interface {
	// AppendPodKey reports false when the engine does not serve the pod.
	AppendPodKey(dst []byte, pod *v1.Pod) ([]byte, bool)
	// Epoch returns a number that grows when every answer may have changed. It is asked after AppendPodKey.
	Epoch() uint64
}

// Compiled is one pod, compiled by a plugin of group States.
type Compiled interface {
	// AppendKey appends what the state depends on beside nodes and running pods. Pods share a state when these keys and the keys
	// of group Statics are equal.
	AppendKey(dst []byte) []byte
	// Matched reports whether a term of a term set matched the pod when AppendKey was called.
	Matched(terms int32) bool
	// Count counts the running pods.
	Count() State
}

// State has the counts of running pods for one pod. Moves keep the counts up to date.
type State interface {
	// Filter and Score return the state as a predicate and as a scorer; nil when the plugin does not filter or score the pod.
	Filter() filter.Predicate
	Score() Scorer
	// Reads appends what the state reads of nodes.
	Reads(dst []string) []string
	// Keys returns the number of topology keys that the state counts by. A Move may add one.
	Keys() int
	// AppendLayoutKey appends what determines the meaning of AppendDomains, such as the topology keys.
	AppendLayoutKey(dst []byte) []byte
	// AppendDomains appends the domain of the slot for each key, as many integers for every slot. For a key whose
	// values no two nodes share, like hostname, the number is only 0 (the node has the key) or -1 (it has not).
	AppendDomains(dst []int32, slot int) []int32
	// AppendCounts appends the counts of the slot for the keys whose values no two nodes share. It reports whether any of these
	// counts is not 0.
	AppendCounts(dst []int32, slot int) ([]int32, bool)
	// AppendCounted appends the slots for which AppendCounts reports true. It may append other slots, and a slot twice.
	AppendCounted(dst []int32) []int32
	// Single reports whether the state counts by a key whose values no two nodes share.
	Single() bool
	// OfSet returns what each running pod of a pod set does to the state, and OfTerms what each pod of a term set does by its
	// terms; nil: nothing.
	OfSet(rep *v1.Pod) Counter
	OfTerms(id int32, rep *v1.Pod) Counter
}

// Shifting is a State whose AppendDomains changes also with objects that are neither nodes nor pods.
type Shifting interface {
	// Shifted yields the slots whose domains may have changed since a version, and returns the version now. Version 0 is the
	// start. A nil yield asks for the version alone.
	Shifted(version uint64, yield func(slot int)) uint64
}

// Dividing is a Counting whose states have predicates that give all slots of equal AppendDomains the same verdict. Such a predicate may
// come before the predicate that reads rows.
type Dividing interface{ Divides() }

// PerPod is a State with two predicates. Pods share one, which decides. The other is for one pod: it gives the same verdicts, and the
// reasons.
type PerPod interface {
	Of(pod *v1.Pod) filter.Predicate
	// AskAll reports whether the predicate of a pod must be asked node by node when the pod fits on no node.
	AskAll() bool
}

// Counter counts n more pods on a slot, or -n fewer.
type Counter func(slot int, n int32)

// reader is a predicate or scorer of group Statics whose answers follow from what it reads of a node, in the words of classes.
type reader interface {
	Reads(dst []string) []string
}

// Signed is a predicate or scorer of group Statics.
type Signed interface {
	// AppendSignature appends integers that determine the answer about a slot.
	AppendSignature(dst []int32, slot int) []int32
}

// RowFilter and RowScorer are predicates and scorers of group Rows that get the rows of a node from the engine, so that the
// rows are read once for all of them. The answers are those of Check and Raw.
type (
	RowFilter interface {
		CheckRow(slot int, allocatable, requested resources.Vector) resources.Verdict
	}
	RowScorer interface {
		RawRow(slot int, allocatable, requested resources.Vector, cpuMilli, memoryBytes int64) int64
	}
)

// RowsFilter and RowsScorer are a RowFilter and a RowScorer that answer about many nodes at once: about all rows whose numbers are
// between the first and the second of each pair. All of these rows have 0 of the same allocatable resources.
type (
	// RowsFilter gives the verdict that all of the rows get. same is false when they may get different verdicts.
	RowsFilter interface {
		CheckRows(allocatable, requested [2]resources.Vector) (v resources.Verdict, same bool)
	}
	// RowsScorer gives a score that none of the rows exceeds, at most 100.
	RowsScorer interface {
		MaxRawRow(allocatable, requested [2]resources.Vector, cpuMilli, memoryBytes [2]int64) int64
	}
)

// RowsAlone is optional for a RowFilter and a RowScorer: it reports whether the answers about a node read nothing but the rows that they get.
// NodeAlone is optional for another scorer of group Rows: whether its answers read nothing of a node but its object.
// Monotone is optional for a RowFilter: a row with more in use is not accepted if one with less is rejected.
type (
	RowsAlone interface{ RowsAlone() bool }
	NodeAlone interface{ NodeAlone() bool }
	Monotone  interface{ Monotone() }
)

// InRange is optional for a scorer: its scores, normalized if it is a Normalizer, are in 0 to 100 for every node.
type InRange interface{ InRange() }

// Scorer gives raw scores.
type Scorer interface{ Raw(slot int) int64 }

// Normalizer, Weigher, Ignorer and Zeroer are optional for a Scorer.
type (
	Normalizer interface {
		Normalize(raw, lo, hi int64) int64
	}
	Weigher interface{ Weigh(slots, counts []int32) }
	Ignorer interface{ Ignored(slot int) bool }
	// Zeroer reports whether every node gets 0.
	Zeroer interface{ Zero() bool }
)

// Ranking is a scorer with its weight and its optional interfaces looked up.
type Ranking struct {
	Scorer
	Name       string
	Weight     int64
	Normalizer Normalizer
	Weigher    Weigher
	ignorer    Ignorer
}

// NewRanking looks up the optional interfaces.
func NewRanking(s Scorer, name string, weight int64) Ranking {
	r := Ranking{Scorer: s, Name: name, Weight: weight}
	r.Normalizer, _ = s.(Normalizer)
	r.Weigher, _ = s.(Weigher)
	r.ignorer, _ = s.(Ignorer)
	return r
}

// Ignored reports whether the scorer leaves a slot out.
func (r *Ranking) Ignored(slot int) bool { return r.ignorer != nil && r.ignorer.Ignored(slot) }
