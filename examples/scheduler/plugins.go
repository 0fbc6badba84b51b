package scheduler

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/queue"
)

// Plugin is a plugin at any extension point. It implements the interfaces of the points it takes part in; one instance
// serves them all for one profile. If it is an io.Closer it is closed with the scheduler.
type Plugin interface {
	Name() string
}

// The extension points, in the order in which an attempt comes by. A status is nil for Success.

// PreEnqueuePlugin decides whether a pod may become active. Anything but Success gates it. It runs under the queue's lock
// and must be quick.
type PreEnqueuePlugin interface {
	Plugin
	PreEnqueue(pod *v1.Pod) *Status
}

// QueueSortPlugin orders the active pods. There is exactly one, the same in all profiles.
type QueueSortPlugin interface {
	Plugin
	Less(a, b *queue.Entry) bool
}

// EnqueueExtensions says which events may make a pod schedulable that the plugin rejected. The Plugin field of the
// registrations is filled in. A plugin without it is taken to wait for everything.
type EnqueueExtensions interface {
	Plugin
	EventsToRegister() ([]queue.Registration, error)
}

// PreFilterPlugin looks at the pod before any node. Nodes names the only nodes that can take it; nil stands for all.
type PreFilterPlugin interface {
	Plugin
	PreFilter(ctx context.Context, s *State, pod *v1.Pod, nodes []*NodeInfo) (only []string, status *Status)
}

// PreFilterExtensions follows what-ifs in the state that PreFilter left: other came to node, or left it. The node shows
// the change already.
type PreFilterExtensions interface {
	AddPod(ctx context.Context, s *State, pod, other *v1.Pod, node *NodeInfo) *Status
	RemovePod(ctx context.Context, s *State, pod, other *v1.Pod, node *NodeInfo) *Status
}

// FilterPlugin decides whether a node can take the pod. It only reads the state.
type FilterPlugin interface {
	Plugin
	Filter(ctx context.Context, s *State, pod *v1.Pod, node *NodeInfo) *Status
}

// PostFilterPlugin is asked when no node can take the pod. nil keeps the pod's nomination.
type PostFilterPlugin interface {
	Plugin
	PostFilter(ctx context.Context, s *State, pod *v1.Pod, statuses *NodeStatuses) (*Nomination, *Status)
}

// Nomination says which node a pod shall mean to use; Node "" takes its nomination away.
type Nomination struct {
	Node string
	// Victims are the pods that leave for it.
	Victims []*v1.Pod
}

// PreScorePlugin prepares the scores of the candidates.
type PreScorePlugin interface {
	Plugin
	PreScore(ctx context.Context, s *State, pod *v1.Pod, nodes []*NodeInfo) *Status
}

// ScorePlugin ranks a node. After NormalizeScores, if there is one, scores lie in 0..100.
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

// NormalizePlugin is a ScorePlugin that turns its scores into 0..100, in place, once all of them are known.
type NormalizePlugin interface {
	NormalizeScores(ctx context.Context, s *State, pod *v1.Pod, scores []NodeScore) *Status
}

// ReservePlugin keeps accounts beside the scheduler. Unreserve is called for every Reserve plugin when the attempt fails
// later, whether it had reserved or not.
type ReservePlugin interface {
	Plugin
	Reserve(ctx context.Context, s *State, pod *v1.Pod, node string) *Status
	Unreserve(ctx context.Context, s *State, pod *v1.Pod, node string)
}

// PermitPlugin approves, denies, or answers Wait and for how long at most.
type PermitPlugin interface {
	Plugin
	Permit(ctx context.Context, s *State, pod *v1.Pod, node string) (*Status, time.Duration)
}

// PreBindPlugin does what must be done before binding.
type PreBindPlugin interface {
	Plugin
	PreBind(ctx context.Context, s *State, pod *v1.Pod, node string) *Status
}

// PreBindPreFlight is a PreBindPlugin that says beforehand whether it has anything to do (Success or Skip), and whether it
// may run beside its neighbours. Without it the plugin runs, alone.
type PreBindPreFlight interface {
	PreBindPreFlight(ctx context.Context, s *State, pod *v1.Pod, node string) (parallel bool, status *Status)
}

// BindPlugin binds the pod, or leaves it to the next one with Skip.
type BindPlugin interface {
	Plugin
	Bind(ctx context.Context, s *State, pod *v1.Pod, node string) *Status
}

// PostBindPlugin is told of a success.
type PostBindPlugin interface {
	Plugin
	PostBind(ctx context.Context, s *State, pod *v1.Pod, node string)
}
