package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/queue"
)

// Plugin is a filter, a score, or both. The plugins of v1.37 are such values ([PluginArgs] makes them), and a plugin of the
// caller takes part in everything as they do. Name and one of Filter and Score are required. A Plugin must not change once a
// [Plan] uses it.
//
// Set [Keep] and AppendKey too. Without them each decision asks every plugin about every node, for the whole profile and not
// for this plugin alone: at 5,000 nodes a decision about a pod like an earlier one then takes milliseconds in place of tens of
// microseconds. [Plan.Warnings] names the plugins that cause this. The example [Scorer] is a score plugin that avoids it.
type Plugin struct {
	// Name is the plugin's name in messages, tables and configurations.
	Name string
	// Args are the plugin's arguments for readers of a profile. The plan does not use them.
	Args any
	// Filter prepares the predicate of one pod over one cluster, and must change neither. nil: the plugin does not filter.
	Filter func(pod *v1.Pod, c Cluster) PreFiltered
	// Score prepares the scorer of one pod over one cluster. A nil Scorer skips the pod. An error ends the attempt. nil: the
	// plugin does not score.
	Score func(pod *v1.Pod, c Cluster) (Scorer, error)
	// Events are what the pods wait for that the filter rejected (Profile.Registrations). nil: all that queue.UnregisteredEvents
	// has, changes of the pod's own status too. Empty and not nil: no event. The events of built-in plugins stand in
	// queue.DefaultEvents: a plugin with the name of a built-in one takes its place, and must have no Events.
	Events []queue.Event
	// Hint returns the plugin's queueing hint, which judges each of its events. known has the namespaces at the time of an event.
	// nil: every event of the plugin may make the pod schedulable.
	Hint func(known affinity.Namespaces) queue.Hint

	// Keep says on what the answers of the plugin depend. Every Keep except the zero value, KeepNothing, needs AppendKey.
	Keep Keep
	// AppendKey appends everything that the plugin reads of an incoming pod, as any bytes: the plan keeps the keys of several
	// plugins apart. Pods with equal keys must get equal answers on every cluster.
	AppendKey func(dst []byte, pod *v1.Pod) []byte
	// KeyName names what AppendKey appends. Of plugins with the same KeyName one is asked, so they must append the same. ""
	// is a key of this plugin alone.
	KeyName string
	// AppendRowKey replaces AppendKey for the key of kept rows, for KeepByNodeAndPods. It may leave out what makes no difference in
	// this cluster. nil: AppendKey.
	AppendRowKey func(dst []byte, pod *v1.Pod, c Cluster) []byte
	// AppendSharedKey replaces AppendKey for what a plan keeps. It may append what the objects that the pod names say, in place of
	// their names, so that pods with objects of their own share work. It reports false for a pod that shares no work. The key must have
	// everything that changes an answer and is neither a node nor a storage object, such as a version. nil: AppendKey.
	AppendSharedKey func(dst []byte, pod *v1.Pod) ([]byte, bool)
	// KeyParts, one behind the other, append what AppendKey appends. A part that several plugins have is asked once. nil: the key
	// has no parts.
	KeyParts []KeyPart
	// ReadsOfOthers names what an answer about one node reads of other nodes: "label:KEY", "images", "taints". A change of it on any node drops all
	// answers that the plan keeps. "storage" stands for claims, volumes, classes and other storage objects: a change drops what is kept
	// for the pods for which Skips, which may be nil, does not return true.
	ReadsOfOthers []string
	// Skips reports whether the plugin skips the pod on every cluster. KeepIfSkipped needs it. Each plugin is asked.
	Skips func(pod *v1.Pod) bool
	// states begins to count over a cluster, for keepByAllPods.
	states func(c Cluster) hooks.Counting
	// own returns the plugin with memory that one plan uses, and a copy of the plugin as it is. nil: the plugin keeps nothing.
	own func(p *Plugin) *Plugin

	// CanStopHolding means that the filter's rule can stop holding for a running pod, which then stays on its node. Plan.Violations
	// asks these filters.
	CanStopHolding bool
	// PlacementScore prepares for members of a group (Placer.DecideGroup), and returns how good a set of nodes is, in 0 to 100: the members
	// would come to nodes of the set. The cluster does not have them. Of a plugin of KeepByNodeAndPods it must read nothing of the nodes but their
	// rows (Allocatable, Requested and NonZero), and nothing of the members but what AppendKey appends. nil: the plugin scores no sets.
	PlacementScore func(c Cluster, members []*v1.Pod) func(slots []int) int64
	// GroupPostFilter says what the plugin does for an unschedulable group before the group preempts. nil: nothing. An error ends the
	// attempt of the group.
	GroupPostFilter func(f GroupFailure) (GroupAnswer, error)

	// WithShared returns a plugin that uses what the plans of a cluster share: Profile.Volumes and Profile.Devices, which are not nil.
	// nil: the plugin needs neither.
	WithShared func(p Profile) *Plugin
}

// storageObjects is the word of Plugin.Reads for storage objects.
const storageObjects = "storage"

// Keep says on what the answers of a plugin depend, and so how they are kept.
type Keep = hooks.Keep

// What an answer of a plugin depends on.
const (
	// KeepNothing: a plan keeps no answers for any pod of a profile with the plugin. Each decision asks about each node.
	KeepNothing = hooks.KeepNothing
	// KeepByNode: an answer about a node changes only with the object of that node. The predicate and the scorer need one of
	// two methods. Reads(dst []string) []string appends what the answer reads of a node, in the words of
	// cluster.Snapshot.Classes. AppendSignature(dst []int32, i int) []int32 appends integers that determine the answer about
	// slot i. One slot of each class or signature is asked about.
	KeepByNode = hooks.KeepByNode
	// KeepByNodeAndPods: an answer about a node changes with the object of that node and with the pods there. At most one filter of a
	// profile may have it, and its scores are not normalized. Optional methods: CheckRow of a predicate and RawRow
	// of a scorer get the rows of the node from the plan, as in NodeResourcesFit. CheckRows and MaxRawRow answer about many nodes
	// at once, so that a pod with requests that no other pod has need not look at every node. Zero() bool of a scorer reports that
	// every node gets 0. RowsAlone() bool reports that CheckRow or RawRow reads nothing of a node but the rows that it gets, NodeAlone() bool of
	// a scorer that Raw reads nothing of a node but its object: then a group need not be tried in a placement that is equal to another. Monotone()
	// of a predicate says that a row with more in use is not accepted if one with less is rejected.
	KeepByNodeAndPods = hooks.KeepByNodeAndPods
	// keepByAllPods: an answer changes with the pods on any node. Only plugins of this package have it: to count pods takes
	// many methods, which are no promise to callers.
	keepByAllPods = hooks.KeepByAllPods
	// KeepIfSkipped: a plan keeps answers for the pods for which Skips returns true. The other pods are decided node by node.
	KeepIfSkipped = hooks.KeepIfSkipped
)

// PreFiltered is what a filter says about a pod before it sees a node (PreFilter), and its predicate for the nodes.
type PreFiltered struct {
	// Code is Success, a code that rejects the pod or fails, or Skip, which leaves the plugin out for this pod.
	Code filter.Code
	// Reasons are the texts of a Code that rejects or fails.
	Reasons []string
	// Nodes are the names of the only nodes that can take the pod. nil: all nodes.
	Nodes []string
	// Predicate checks the nodes. nil allows every node. A verdict of code Error (filter.Coder) ends the attempt, unless an earlier filter
	// rejects the node or the search ends before it: whether a later filter rejects the node, or another node is free, does not matter.
	Predicate filter.Predicate
}

// GroupFailure is what a plugin knows of an unschedulable group.
type GroupFailure struct {
	// Group is the root; nil for a composite group.
	Group *podgroup.Group
	// Constrained is true for a composite group, and for a group with constraints that count.
	Constrained bool
	// Scheduled is true if a member was on a node before the decision.
	Scheduled bool
	// Members are the pods of the group for which v1.37 runs the plugin's PreFilter, in order. A Constrained group has none: v1.37 gives
	// nothing back of it.
	Members []GroupMember
	// Tie chooses among n claims of a member; nil: the first.
	Tie func(n int) int
}

// GroupMember is a member of an unschedulable group.
type GroupMember struct {
	Pod *v1.Pod
	// Predicates were asked about the nodes; nil when a plugin rejected the pod for good before (UnschedulableAndUnresolvable), and for a
	// member that found a node and has no allocated claim.
	Predicates filter.Predicates
}

// GroupAnswer is what a plugin does for an unschedulable group.
type GroupAnswer struct {
	// Reasons are appended to the message of the group.
	Reasons []string
	// Ends is true when the group does not preempt: Reasons are then the only ones.
	Ends bool
	// Claims is what the plugin gives back.
	Claims devices.GroupFreed
}

// Trialer is a predicate that looks at running pods: it can check nodes with pods added and removed. A predicate without
// NewTrial does not look at other pods. A trial adds and removes as v1.37's AddPod and RemovePod do. Trials of one predicate
// must not affect each other.
type Trialer interface {
	NewTrial() filter.Trial
}

// Scorer gives raw scores. Raw is called for feasible slots only. Without a [Normalizer] the raw scores must be in 0..100. A
// Scorer of [KeepByNode] needs the method Reads or AppendSignature (see KeepByNode), or no work is shared.
//
// The method Ignored(i int) bool is optional: feasible nodes for which it returns true get 0 after normalizing and do not count
// in the lo and hi of a Normalizer.
type Scorer interface {
	Raw(i int) int64
}

// Normalizer is a [Scorer] that turns raw scores into 0..100. lo and hi are the smallest and the largest raw score of the
// feasible nodes.
type Normalizer interface {
	Normalize(raw, lo, hi int64) int64
}

// Weigher is a [Scorer] whose raw scores depend on which nodes are feasible. Before Raw, Weigh gets all feasible slots, or one
// slot of each group of nodes that are equal in everything that the scorer reads. counts[j] is the number of nodes like
// slots[j]; nil: 1 each. Weigh must not keep the slices.
type Weigher interface {
	Weigh(slots, counts []int32)
}
