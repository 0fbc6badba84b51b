package failures

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/diagnose"
)

// Fate is what becomes of a pod.
type Fate string

const (
	// Placed: a controller makes the pod again, and it finds a node.
	Placed Fate = "Placed"
	// Pending: a controller makes the pod again, and no node takes it.
	Pending Fate = "Pending"
	// Waiting: a StatefulSet makes the pod when another of its pods is ready, and that does not happen.
	Waiting Fate = "Waiting"
	// Gone: nobody makes the pod again: it has no controller, was terminating, or its controller wants no more pods.
	Gone Fate = "Gone"
	// Tied: the pod of a DaemonSet, or a static pod, that leaves with its node.
	Tied Fate = "Tied"
	// Foreign: another scheduler decides about the pod.
	Foreign Fate = "Foreign"
)

// Outcome is what becomes of one pod.
type Outcome struct {
	// Pod is the pod as it was before the failure. The pod that takes its place has the same name here; most controllers end
	// names with random characters.
	Pod  *v1.Pod
	From string // the node before the failure
	Fate Fate
	Node string // where a Placed pod comes back
	// Instead is the pod of Input.Pending, "namespace/name", that has Node in the place of this one: both are of one workload, and
	// which of them waits makes no difference. "" for most.
	Instead string
	// DisplacedBy is the pod, "namespace/name", that preempted this one on its node or on the node where it came back. "" for a
	// pod that nobody preempted.
	DisplacedBy string
	// Group is the place in Result.Groups of a Pending or Waiting pod; -1 for others.
	Group int
	// Leaves is the time from the failure to the deletion of the pod by taint-based eviction, with Options.Until. nil: the pod
	// tolerates the taint, or the time is after Until.
	Leaves *time.Duration
}

// Cause is the kind of rule that keeps a pod pending.
type Cause string

const (
	Resources    Cause = "resources"     // NodeResourcesFit
	Volumes      Cause = "volumes"       // VolumeBinding, VolumeZone, VolumeRestrictions, NodeVolumeLimits
	Devices      Cause = "devices"       // DynamicResources
	Spread       Cause = "spread"        // PodTopologySpread
	Affinity     Cause = "affinity"      // InterPodAffinity: no pod to be beside
	AntiAffinity Cause = "anti-affinity" // InterPodAffinity: a pod that must not be beside it
	NodeAffinity Cause = "node affinity" // NodeAffinity and NodeName
	Taints       Cause = "taints"        // TaintToleration and NodeUnschedulable
	Ports        Cause = "ports"         // NodePorts
	Order        Cause = "order"         // a StatefulSet waits for another of its pods
	Gates        Cause = "gates"         // scheduling gates
	Refused      Cause = "refused"       // the API server does not admit the pod
	Other        Cause = "other"         // any other plugin, and errors
)

// Group is pods of one workload that stay pending for one reason.
type Group struct {
	Workload string `json:"workload"` // "Kind namespace/name"
	// "resources", "volumes", "devices", "spread", "affinity", "anti-affinity", "node affinity", "taints", "ports", "order", "gates",
	// "refused" or "other".
	Cause Cause `json:"cause"`
	// Plugin rejects most nodes that no other plugin rejects, and most nodes at all when there are none of these.
	Plugin string `json:"plugin,omitempty"`
	Reason string `json:"reason"` // the text that the plugin gives most often
	// Alone is the number of nodes that only Plugin rejects.
	Alone int `json:"alone"`
	Nodes int `json:"nodes"` // how many nodes this plugin rejects
	// Why is the cause that diagnose gives for the first of the pods, nil when a pod was not decided.
	Why *diagnose.Cause `json:"why,omitempty"`
	// Message is what kube-scheduler says about the first of the pods.
	Message string `json:"message,omitempty"`
	// Pods are names, "namespace/name".
	Pods      []string `json:"pods"`
	Displaced int      `json:"displaced,omitempty"` // how many of them were preempted
}

// Budget is a disruption budget with fewer healthy pods than its minimum.
type Budget struct {
	Name    string `json:"name"`    // namespace/name
	Minimum int32  `json:"minimum"` // status.desiredHealthy
	Before  int32  `json:"before"`  // healthy pods before the failure
	Lost    int32  `json:"lost"`    // healthy pods right after the failure
	After   int32  `json:"after"`   // healthy pods once all pods that find a node run
}

// Workload is a controller with fewer pods than it asks for.
type Workload struct {
	Kind      string `json:"kind"` // kind of the controller
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Replicas  int    `json:"replicas"` // asked for
	Before    int    `json:"before"`   // on nodes before the failure
	Lost      int    `json:"lost"`     // on nodes right after the failure
	After     int    `json:"after"`    // on nodes once all pods that find a node run
	// Quorum is the majority of the replicas of a StatefulSet, 0 for other kinds.
	Quorum int `json:"quorum,omitempty"`
}

// BelowQuorum reports whether the pods that are left right after the failure are no majority.
func (w Workload) BelowQuorum() bool { return w.Lost < w.Quorum }

// Resource is how much of a resource the nodes that are left offer, and how much their pods ask for in the end. Units are those
// of package resources.
type Resource struct {
	Name        v1.ResourceName `json:"name"`
	Allocatable int64           `json:"allocatable"`
	Requested   int64           `json:"requested"`
}

// Bounds are the fewest and the most pods that stay pending over orders of re-creation.
type Bounds struct {
	Orders int `json:"orders"` // how many were played, the queue's own among them
	Fewest int `json:"fewest"` // the fewest pods
	Most   int `json:"most"`   // the most pods
}

// Result says what a scenario does.
type Result struct {
	Scenario
	Pods []Outcome // pods of the lost nodes by node and name, then displaced pods in the order of the preemptions
	// Counts of Pods. Displaced pods count by their fate too.
	Placed, Pending, Waiting, Gone, Tied, Foreign, Displaced int
	// Released are the pods of Input.Pending that have a node in the end, without those of Outcome.Instead.
	Released  int
	Groups    []Group // largest first
	Budgets   []Budget
	Workloads []Workload
	Left      []Resource
	// Bounds is nil without Options.Orders.
	Bounds *Bounds
}

// Stays returns how many pods do not come back although a controller asks for them: Pending and [Waiting].
func (r *Result) Stays() int { return r.Pending + r.Waiting }
