package reuse

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/resources"
)

// Group says on what the answers of a plugin depend, and so how they are kept.
type Group uint8

const (
	// Never keeps nothing: the engine serves no pod of a profile with such a plugin.
	Never Group = iota
	// Statics change only with the object of the node that they are about.
	Statics
	// Rows change with the object of the node and with the pods on that node.
	Rows
	// States change with pods on any node.
	States
	// Absent serves the pods that the plugin skips, and no others.
	Absent
)

// Plugin is one plugin of a profile as the engine sees it: a filter, a score, or both.
type Plugin struct {
	Name   string
	Group  Group
	Weight int64
	// Filter and Score are the places in the profile's lists, -1 for none.
	Filter, Score int

	// AppendKey appends everything that the plugin reads of an incoming pod. Plugins with equal names of keys that are not
	// empty append the same, and the engine asks one of them.
	AppendKey func(dst []byte, pod *v1.Pod) []byte
	KeyName   string
	// AppendRowKey appends, for group Rows, what kept rows depend on. It may leave out what the cluster makes worthless.
	AppendRowKey func(dst []byte, pod *v1.Pod) []byte
	// Skips reports whether the plugin leaves the pod out, for group Absent.
	Skips func(pod *v1.Pod) bool
	// Reads names what must not change on any node while answers are kept, beside the node that the answer is about.
	Reads []string
	// Predicate prepares the filter. It reports false for a pod that is rejected or narrowed as a whole, or fails. A nil
	// predicate allows every node.
	Predicate func(pod *v1.Pod) (filter.Predicate, bool)
	// Scorer prepares the score; nil skips it.
	Scorer func(pod *v1.Pod) (Scorer, error)
	// Open starts counting, for group States. What it returns lives until the engine forgets.
	Open func() Counting
}

// Counting compiles pods for a plugin of group States. It may remember what it learns about sets of running pods.
type Counting interface {
	// Compile returns nil for a pod that the plugin skips. An error means that the engine does not serve the pod.
	Compile(pod *v1.Pod) (Compiled, error)
}

// Compiled is what such a plugin makes of one pod.
type Compiled interface {
	// AppendKey appends what the state depends on beside the nodes and running pods: pods with equal keys, and equal keys of
	// statics, share a state.
	AppendKey(dst []byte) []byte
	// Matched reports whether terms of the running pods of a term set concerned the pod when AppendKey was called.
	Matched(terms int32) bool
	// Count counts the running pods.
	Count() State
}

// State is counts of running pods for one pod, kept up to date by moves.
type State interface {
	// Filter and Score are the state as a predicate and as a scorer; nil without one.
	Filter() filter.Predicate
	Score() Scorer
	// Reads appends what the state reads of nodes.
	Reads(dst []string) []string
	// Keys returns the number of topology keys that the state counts by. It may grow with a move.
	Keys() int
	// AppendLayoutKey appends what the meaning of AppendDomains depends on.
	AppendLayoutKey(dst []byte) []byte
	// AppendDomains appends, for each key, the domain of the slot. For a key that no two nodes share it is 0 for a node with
	// the key and -1 for a node without.
	AppendDomains(dst []int32, slot int) []int32
	// AppendCounts appends the counts of the slot for keys that no two nodes share, and reports whether one is not 0.
	AppendCounts(dst []int32, slot int) ([]int32, bool)
	// AppendCounted appends the slots for which AppendCounts reports true. It may append others, and a slot twice.
	AppendCounted(dst []int32) []int32
	// Single reports whether there is a key that no two nodes share.
	Single() bool
	// OfSet and OfTerms return what the running pods of a pod set or of a term set do to the state; nil: nothing.
	OfSet(rep *v1.Pod) Move
	OfTerms(id int32, rep *v1.Pod) Move
}

// Move counts n more pods on a slot, or -n fewer.
type Move func(slot int, n int32)

// Signed is a predicate or scorer of group Statics.
type Signed interface {
	// AppendSignature appends integers that determine the answer about a slot.
	AppendSignature(dst []int32, slot int) []int32
}

// RowFilter and RowScorer are predicates and scorers of group Rows that take the rows of a node from the engine, so that
// several of them share one look at the rows. The answers are those of Check and Raw.
type (
	RowFilter interface {
		CheckRow(slot int, allocatable, requested resources.Vector) resources.Verdict
	}
	RowScorer interface {
		RawRow(slot int, allocatable, requested resources.Vector, cpuMilli, memoryBytes int64) int64
	}
)

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
