// Package wire has what a judge and the program that asks it say to each other: one JSON object a line, an answer for each
// request, in order.
package wire

import (
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// Objects are the objects of a cluster.
type Objects struct {
	Nodes                  []*v1.Node
	Pods                   []*v1.Pod
	Namespaces             []*v1.Namespace
	Services               []*v1.Service
	ReplicationControllers []*v1.ReplicationController
	ReplicaSets            []*appsv1.ReplicaSet
	StatefulSets           []*appsv1.StatefulSet
	Claims                 []*v1.PersistentVolumeClaim
	PersistentVolumes      []*v1.PersistentVolume
	StorageClasses         []*storagev1.StorageClass
	CSINodes               []*storagev1.CSINode
	CSIDrivers             []*storagev1.CSIDriver
	CSIStorageCapacities   []*storagev1.CSIStorageCapacity
	VolumeAttachments      []*storagev1.VolumeAttachment
	PodDisruptionBudgets   []*policyv1.PodDisruptionBudget
	PriorityClasses        []*schedulingv1.PriorityClass
}

// Request asks for one thing. Op names a method of real.Scheduler or of real.Attempt in lower case; the other fields are its
// arguments.
type Request struct {
	Op      string
	Objects *Objects `json:",omitempty"`
	Pod     *v1.Pod  `json:",omitempty"`
	Node    string   `json:",omitempty"`
	Plugin  string   `json:",omitempty"`
	Nodes   []string `json:",omitempty"`
	// Offset, MinPercentage and MinAbsolute limit the candidates of a preemption.
	Offset                     int   `json:",omitempty"`
	MinPercentage, MinAbsolute int32 `json:",omitempty"`
}

// Answer has what the method returns. Err is an error that ends the comparison: the judge could not do what it was asked.
type Answer struct {
	Err        string      `json:",omitempty"`
	Version    string      `json:",omitempty"`
	Nodes      []string    `json:",omitempty"`
	Status     *Status     `json:",omitempty"`
	Filter     *Filter     `json:",omitempty"`
	Score      *Score      `json:",omitempty"`
	Totals     *Totals     `json:",omitempty"`
	Result     *Result     `json:",omitempty"`
	Preemption *Preemption `json:",omitempty"`
	Text       string      `json:",omitempty"`
	// Requests are what a pod on a node counts with.
	Requests v1.ResourceList `json:",omitempty"`
}

// Status is a status of a plugin; nil is a success. Code is its name.
type Status struct {
	Code    string
	Reasons []string
	Err     string `json:",omitempty"`
}

// Filter is what one filter says.
type Filter struct {
	Pre    *Status
	Narrow bool // whether Names limits the nodes
	Names  []string
	Status []*Status
}

// Score is what one score plugin gives.
type Score struct {
	Skip            bool
	Raw, Normalized []int64
}

// Totals are the weighted scores of all plugins. OK is false when a filter rejects the pod as a whole.
type Totals struct {
	OK    bool
	Err   string
	Nodes []NodeTotal
}

// NodeTotal has the scores of one node.
type NodeTotal struct {
	Node   string
	Total  int64
	Scores map[string]int64
}

// Result is the outcome of one attempt. Kind is "placed", "no nodes", "unfit" or "error".
type Result struct {
	Kind                string
	Host                string
	Evaluated, Feasible int
	Text                string
	Nodes               int // the N of 0/N
	Rejecters           []string
}

// Preemption is what DefaultPreemption says.
type Preemption struct {
	Eligible   bool
	Why        string
	Candidates []Victims
	Chosen     string
	Failed     string
}

// Victims is one candidate.
type Victims struct {
	Node       string
	Pods       []string
	Violations int64
}
