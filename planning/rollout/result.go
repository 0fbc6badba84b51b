package rollout

import "time"

// Plan says how the nodes are replaced.
type Plan struct {
	Steps []Step `json:"steps"`
	// Blocked are the nodes that cannot be drained, with what keeps them. The plan leaves these nodes as they are.
	Blocked []Deadlock `json:"blocked"`
	// Skipped are the pods that a drain leaves where they are, such as those of DaemonSets.
	Skipped []Skipped `json:"skipped"`
	// Replaced is the number of nodes that are new in the end, surge nodes aside.
	Replaced int `json:"replaced"`
	// Evictions is the number of evictions. Again are the pods that move more than once.
	Evictions int       `json:"evictions"`
	Again     []Journey `json:"again"`
	// Untried is the number of changes that Options.Steps or Options.End left out of the remedies.
	Untried int `json:"untried,omitempty"`
	// Waiting are the pods of Input.Pending that have no node in the end.
	Waiting []string      `json:"waiting"`
	Total   time.Duration `json:"total"`
}

// Action is what a step does with its nodes.
type Action string

const (
	Surge   Action = "surge"   // the nodes come
	Replace Action = "replace" // the nodes are drained and come back new
	Retire  Action = "retire"  // the surge nodes are drained and leave
	Settle  Action = "settle"  // no node changes; pods of Input.Pending get nodes
)

// Step is what happens to one batch of nodes.
type Step struct {
	Action Action        `json:"action"`
	Nodes  []string      `json:"nodes"`
	Begin  time.Duration `json:"begin"`
	// Empty is when the last pod has left, End when the last new node takes pods.
	Empty time.Duration `json:"empty"`
	End   time.Duration `json:"end"`
	Waves []Wave        `json:"waves"`
	// Budgets are the budgets of the pods that leave. Skews are the spread constraints of the pods that leave, at the end.
	Budgets []Room `json:"budgets"`
	Skews   []Skew `json:"skews"`
}

// Wave is evictions that are requested at the same time, in their order.
type Wave struct {
	Begin time.Duration `json:"begin"`
	End   time.Duration `json:"end"`
	Moves []Move        `json:"moves"`
	// Placed are pods of Input.Pending that find a node when the wave begins.
	Placed []Arrival `json:"placed,omitempty"`
}

// Move is one pod that leaves.
type Move struct {
	Pod  string `json:"pod"` // namespace/name; a pod of the plan is named after the first pod
	From string `json:"from"`
	// Budgets are the names of the budgets that cover the pod. Bypass is why no budget was asked (disruption.Decision).
	Budgets []string `json:"budgets,omitempty"`
	Bypass  string   `json:"bypass,omitempty"`
	// Replacement is the pod that takes its place, "" when nobody makes one. To is its node, "" for another scheduler's pod.
	Replacement string `json:"replacement,omitempty"`
	To          string `json:"to,omitempty"`
	// Gone is when the pod has left. Placed is when the replacement gets its node, Ready when it is ready.
	Gone   time.Duration `json:"gone"`
	Placed time.Duration `json:"placed,omitempty"`
	Ready  time.Duration `json:"ready,omitempty"`
}

// Arrival is a pod that waited and gets a node.
type Arrival struct {
	Pod   string        `json:"pod"`
	To    string        `json:"to"`
	Ready time.Duration `json:"ready"`
}

// Room is what a budget leaves during a step.
type Room struct {
	Budget  string `json:"budget"`  // namespace/name
	Minimum int32  `json:"minimum"` // status.desiredHealthy
	Begin   int32  `json:"begin"`   // disruptions that the budget allows when the step begins
	Lowest  int32  `json:"lowest"`  // the fewest healthy pods during the step
}

// Skew is how unevenly the pods of a workload are spread at the end of a step.
type Skew struct {
	Workload string `json:"workload"` // "Kind namespace/name"
	Key      string `json:"key"`      // the topology key
	Skew     int    `json:"skew"`     // the largest number of pods in one domain minus the smallest
	Most     int32  `json:"most"`     // maxSkew of the constraint
	Hard     bool   `json:"hard"`     // whether whenUnsatisfiable is DoNotSchedule
}

// Journey is a pod with the nodes on which it and its replacements ran.
type Journey struct {
	Pod   string   `json:"pod"`
	Nodes []string `json:"nodes"` // the nodes on which the pod and its replacements ran
}

// Skipped is a pod that stays on its node.
type Skipped struct {
	Pod    string `json:"pod"`
	Node   string `json:"node"`             // the node
	Reason string `json:"reason,omitempty"` // why the pod stays
}

// Complete reports whether every node is replaced.
func (p *Plan) Complete() bool { return len(p.Blocked) == 0 }
