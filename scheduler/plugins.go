package scheduler

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/queue"
)

// Plugin is a plugin at any extension point. It implements the interfaces of its points. A profile has one instance of
// a plugin for all points. A plugin that is an [io.Closer] is closed with the scheduler.
type Plugin interface {
	Name() string
}

// The extension points, in the order of an attempt. A nil status is Success.

// PreEnqueuePlugin decides whether a pod may become active. Any code except [Success] gates the pod. [PreEnqueue] runs
// under the queue's lock and must be quick.
type PreEnqueuePlugin interface {
	Plugin
	PreEnqueue(pod *v1.Pod) *Status
}

// QueueSortPlugin orders the active pods. Each profile has exactly one [QueueSort] plugin, and all profiles have the
// same.
type QueueSortPlugin interface {
	Plugin
	Less(a, b *queue.Entry) bool
}

// EnqueueExtensions returns the events that may make a pod schedulable that the plugin rejected. The scheduler fills in
// the field [Plugin] of the registrations. A plugin without EnqueueExtensions waits for every event.
type EnqueueExtensions interface {
	Plugin
	EventsToRegister() ([]queue.Registration, error)
}

// PreFilterPlugin examines the pod before any node. Nodes names the only nodes that can take the pod; nil means all
// nodes.
type PreFilterPlugin interface {
	Plugin
	PreFilter(ctx context.Context, s *State, pod *v1.Pod, nodes []*NodeInfo) (only []string, status *Status)
}

// PreFilterExtensions changes the state of [PreFilter] for a what-if: the pod other is added to the node, or removed from
// it. The [NodeInfo] has the change already.
type PreFilterExtensions interface {
	AddPod(ctx context.Context, s *State, pod, other *v1.Pod, node *NodeInfo) *Status
	RemovePod(ctx context.Context, s *State, pod, other *v1.Pod, node *NodeInfo) *Status
}

// FilterPlugin decides whether a node can take the pod. Filter only reads the state.
type FilterPlugin interface {
	Plugin
	Filter(ctx context.Context, s *State, pod *v1.Pod, node *NodeInfo) *Status
}

// PostFilterPlugin is called if no node can take the pod. A nil [Nomination] keeps the pod's nomination.
type PostFilterPlugin interface {
	Plugin
	PostFilter(ctx context.Context, s *State, pod *v1.Pod, statuses *NodeStatuses) (*Nomination, *Status)
}

// Nomination is the node to which a pod is nominated. Node "" clears the pod's nomination.
type Nomination struct {
	Node string
	// Victims are the pods that leave to make room.
	Victims []*v1.Pod
}

// PreScorePlugin prepares the scores of the candidates.
type PreScorePlugin interface {
	Plugin
	PreScore(ctx context.Context, s *State, pod *v1.Pod, nodes []*NodeInfo) *Status
}

// ScorePlugin scores a node. After NormalizeScores, if the plugin has it, scores are from 0 to 100.
type ScorePlugin interface {
	Plugin
	Score(ctx context.Context, s *State, pod *v1.Pod, node *NodeInfo) (int64, *Status)
}

// NodeScore is the score of one node.
type NodeScore struct {
	Name  string
	Score int64

	slot int
}

// NormalizePlugin is a [ScorePlugin] that maps its scores to 0 to 100, in place, after all nodes are scored.
type NormalizePlugin interface {
	NormalizeScores(ctx context.Context, s *State, pod *v1.Pod, scores []NodeScore) *Status
}

// ReservePlugin records what a pod will use. If the attempt fails later, Unreserve of every [Reserve] plugin is called,
// also of plugins that reserved nothing.
type ReservePlugin interface {
	Plugin
	Reserve(ctx context.Context, s *State, pod *v1.Pod, node string) *Status
	Unreserve(ctx context.Context, s *State, pod *v1.Pod, node string)
}

// PermitPlugin allows the pod, rejects the pod, or returns [Wait] and the longest wait.
type PermitPlugin interface {
	Plugin
	Permit(ctx context.Context, s *State, pod *v1.Pod, node string) (*Status, time.Duration)
}

// PreBindPlugin does the work that must end before the pod is bound.
type PreBindPlugin interface {
	Plugin
	PreBind(ctx context.Context, s *State, pod *v1.Pod, node string) *Status
}

// PreBindPreFlight is a [PreBindPlugin] that returns beforehand whether it has anything to do ([Success] or [Skip]), and
// whether it may run in parallel with its neighbours. A plugin without PreBindPreFlight runs, and runs alone.
type PreBindPreFlight interface {
	PreBindPreFlight(ctx context.Context, s *State, pod *v1.Pod, node string) (parallel bool, status *Status)
}

// BindPlugin binds the pod, or leaves it to the next one with [Skip].
type BindPlugin interface {
	Plugin
	Bind(ctx context.Context, s *State, pod *v1.Pod, node string) *Status
}

// PostBindPlugin is called after the pod is bound.
type PostBindPlugin interface {
	Plugin
	PostBind(ctx context.Context, s *State, pod *v1.Pod, node string)
}
