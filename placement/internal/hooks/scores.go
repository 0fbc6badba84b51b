package hooks

import "github.com/podberth/podberth/resources"

// Reader is a predicate or scorer with KeepByNode whose answers follow from what it reads of a node, in the words of cluster.Snapshot.Classes.
type Reader interface {
	Reads(dst []string) []string
}

// Signed is a predicate or scorer with KeepByNode.
type Signed interface {
	// AppendSignature appends integers that determine the answer about a slot.
	AppendSignature(dst []int32, slot int) []int32
}

// RowFilter and RowScorer are predicates and scorers with KeepByNodeAndPods that get the rows of a node from the engine, so that the
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
// NodeAlone is optional for another scorer with KeepByNodeAndPods: whether its answers read nothing of a node but its object.
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
