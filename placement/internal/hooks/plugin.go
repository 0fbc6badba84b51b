// Package hooks is what the engine of a plan (package reuse) asks of plugins. It has no code but [NewRanking].
//
// A plugin says by Keep on what its answers depend. The engine keeps the answers by that, and finds by optional interfaces what more it may keep: the
// classes of nodes of a plugin with KeepByNode ([Reader], [Signed]), the rows of many nodes at once ([RowsFilter], [RowsScorer]), and the counts of
// running pods ([Counting], [Compiled], [State]). Without an optional interface an answer takes longer and is the same. [Plugin] is the place to begin.
package hooks

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
)

// Keep says on what the answers of a plugin depend, and so how the engine keeps them.
type Keep uint8

const (
	// KeepNothing: nothing is kept. The engine serves no pod of a profile with such a plugin.
	KeepNothing Keep = iota
	// KeepByNode: an answer changes only with the object of its node.
	KeepByNode
	// KeepByNodeAndPods: an answer changes with the object of its node and with the pods on that node.
	KeepByNodeAndPods
	// KeepByAllPods: an answer changes with the pods on any node.
	KeepByAllPods
	// KeepIfSkipped: the engine serves only the pods that the plugin skips.
	KeepIfSkipped
)

// Plugin is one plugin of a profile as the engine sees it: a filter, a score, or both.
type Plugin struct {
	Name   string
	Keep   Keep
	Weight int64
	// Filter and Score are the places in the profile's lists, -1 for none.
	Filter, Score int

	// AppendKey appends everything that the plugin reads of an incoming pod. Plugins with equal KeyNames append the same, and
	// the engine asks one of them. An empty KeyName is equal to no other.
	AppendKey func(dst []byte, pod *v1.Pod) []byte
	KeyName   string
	// Parts append together what AppendKey appends. In the key of pods, each part has its place once. nil: the key has no parts.
	Parts []Part
	// AppendRowKey replaces AppendKey for the key of kept rows, with KeepByNodeAndPods. It may leave out what makes no difference in
	// this cluster. nil: AppendKey.
	AppendRowKey func(dst []byte, pod *v1.Pod) []byte
	// Skips reports whether the plugin leaves the pod out, with KeepIfSkipped.
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
	// Open begins to count, with KeepByAllPods. The engine uses what Open returns until it forgets.
	Open func() Counting
}

// Part is a part of a key. Parts with equal names append the same, and so does a plugin whose KeyName is the name of a part.
type Part struct {
	Name   string
	Append func(dst []byte, pod *v1.Pod) []byte
}
