package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement/internal/reuse"
	"github.com/podberth/podberth/queue"
)

// Plugin is a filter, a score, or both. The plugins of v1.36 are such values (PluginArgs makes them), and a plugin of the
// caller takes part in everything as they do. Name and one of Filter and Score are required. A Plugin must not change once a
// Plan uses it.
//
// Set Group and AppendKey too. Without them each decision asks every plugin about every node, for the whole profile and not
// for this plugin alone: at 5,000 nodes a decision about a pod like an earlier one then takes milliseconds in place of tens of
// microseconds. Plan.Warnings names the plugins that cause this. The example Scorer is a score plugin that avoids it.
type Plugin struct {
	// Name is what messages, tables and configurations call the plugin.
	Name string
	// Args are the plugin's arguments, for those who read a profile. The plan does not look at them.
	Args any
	// Filter prepares the predicate of one pod over one cluster. It must not change either. nil: the plugin does not filter.
	Filter func(pod *v1.Pod, c Cluster) Filtering
	// Score prepares the scorer of one pod over one cluster; a nil scorer leaves the plugin out for this pod (Skip). The
	// error ends the attempt. nil: the plugin does not score.
	Score func(pod *v1.Pod, c Cluster) (Scorer, error)
	// Hint returns the plugin's queueing hint. known are the namespaces at the time of an event. nil: every event of the plugin
	// may help.
	Hint func(known affinity.Namespaces) queue.Hint

	// Group says on what the plugin's answers depend. The zero value, GroupNever, keeps no work for a profile with the plugin:
	// each decision then looks at each node. Every other Group needs AppendKey.
	Group Group
	// AppendKey appends everything that the plugin reads of an incoming pod: pods with equal keys are treated the same on
	// every cluster.
	AppendKey func(dst []byte, pod *v1.Pod) []byte
	// KeyName names what AppendKey appends, so that plugins that read the same of a pod append it once. Plugins with equal
	// names must append the same. "" is a key of the plugin's own.
	KeyName string
	// AppendRowKey replaces AppendKey, for GroupRows, where the cluster makes some of the key worthless. nil: AppendKey.
	AppendRowKey func(dst []byte, pod *v1.Pod, c Cluster) []byte
	// Reads names what an answer about one node reads of other nodes: "label:KEY", "images", "taints". A change of one of
	// these on any node makes everything that is kept worthless.
	Reads []string
	// Skips reports, for GroupAbsent, whether the plugin leaves the pod out on every cluster.
	Skips func(pod *v1.Pod) bool
	// States starts counting over a cluster, for GroupStates.
	States func(c Cluster) Counting

	// Lapses says that the filter's rule can stop holding for a running pod, which stays all the same (Plan.Violations).
	Lapses bool
	// Volumes returns the plugin over the volumes that the plugins of a plan share. nil: the plugin needs none.
	Volumes func(v *Volumes) *Plugin
}

// Group says on what the answers of a plugin depend, and so how they are kept.
type Group = reuse.Group

// The groups of plugins.
const (
	// GroupNever: nothing is kept for a profile with the plugin.
	GroupNever = reuse.Never
	// GroupStatics: an answer about a node changes only with the object of that node. Predicate and scorer have
	// AppendSignature(dst []int32, i int) []int32, which appends integers that determine the answer about slot i. Slots of
	// equal signature are asked about once.
	GroupStatics = reuse.Statics
	// GroupRows: an answer about a node changes with the object of that node and with the pods there. Scores of this group
	// are not normalized, and at most one filter of a profile is of it. A predicate may have CheckRow and a scorer RawRow,
	// which get the rows of the node from the plan (see NodeResourcesFit), and a scorer Zero() bool, which reports that every
	// node gets 0.
	GroupRows = reuse.Rows
	// GroupStates: answers change with pods on any node. The plugin needs States.
	GroupStates = reuse.States
	// GroupAbsent: work is kept for the pods that Skips reports true for. The other pods are decided node by node.
	GroupAbsent = reuse.Absent
)

// Counting, Compiled, State and Move are what a plugin of GroupStates gives the plan: Counting compiles pods, Compiled
// counts running pods, State holds the counts, and Move brings them up to date.
type (
	Counting = reuse.Counting
	Compiled = reuse.Compiled
	State    = reuse.State
	Move     = reuse.Move
)

// Filtering is what a plugin says about a pod before it sees a node (PreFilter), and the predicate for the nodes.
type Filtering struct {
	// Code is Success, or why the pod is rejected as a whole; Skip leaves the plugin out for this pod.
	Code filter.Code
	// Reasons go with a Code that rejects or fails.
	Reasons []string
	// Nodes are the names of the only nodes that can take the pod; nil is all nodes.
	Nodes []string
	// Predicate answers for the nodes. nil allows all of them.
	Predicate filter.Predicate
}

// Trialer is a predicate that looks at running pods and can be asked what if one came or left. Predicates that are no
// Trialer do not look at other pods. A trial moves as v1.36's AddPod and RemovePod do; several trials of one predicate
// must not disturb each other.
type Trialer interface {
	NewTrial() filter.Trial
}

// Scorer gives raw scores. Raw is only asked about feasible slots. Without a Normalizer the raw scores must lie in 0..100. With
// AppendSignature(dst []int32, i int) []int32 and a Plugin of GroupStatics, nodes of equal signature are asked about once;
// a Scorer without keeps work from being shared (see Plugin).
type Scorer interface {
	Raw(i int) int64
}

// Normalizer is a Scorer whose raw scores become 0..100 by what the feasible nodes got: lo and hi are the smallest and
// largest raw score among them.
type Normalizer interface {
	Normalize(raw, lo, hi int64) int64
}

// Weigher is a Scorer whose raw scores depend on which nodes are feasible. Weigh gets all feasible slots, or one slot of each
// group of nodes that are equal in all that the scorer reads, before Raw is called. counts[j] is how many nodes are like
// slots[j]; nil: 1 each. Weigh must not keep the slices.
type Weigher interface {
	Weigh(slots, counts []int32)
}

// Ignorer is a Scorer that leaves some feasible nodes out: they get 0 after normalizing and do not enter lo and hi.
type Ignorer interface {
	Ignored(i int) bool
}

// Numberer is a predicate that can say in words and figures why it rejects slot i.
type Numberer interface {
	Numbers(i int) []string
}
