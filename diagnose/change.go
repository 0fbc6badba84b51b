package diagnose

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
)

// Kind is what a change does.
type Kind string

// The kinds of changes.
const (
	DropSelector    Kind = "DropSelector"    // a key of spec.nodeSelector goes
	Mend            Kind = "Mend"            // a label that no node has becomes one that looks alike, or a claim is named: did you mean
	DropRequirement Kind = "DropRequirement" // one requirement of a term of required node affinity goes
	Prefer          Kind = "Prefer"          // a required term, or a DoNotSchedule constraint, becomes a preference
	RaiseMaxSkew    Kind = "RaiseMaxSkew"    // to the smallest maxSkew that works
	LowerMinDomains Kind = "LowerMinDomains" // to the largest minDomains that works
	HonorTaints     Kind = "HonorTaints"     // a constraint counts no domain whose taints the pod does not tolerate
	Tolerate        Kind = "Tolerate"        // the pod gets a toleration
	LowerRequest    Kind = "LowerRequest"    // to the largest request that fits, or the largest amount that a quota or a LimitRange takes
	SetRequest      Kind = "SetRequest"      // a container gets a request or a limit that a quota or a LimitRange demands
	DropPort        Kind = "DropPort"        // a host port goes
	DropGate        Kind = "DropGate"        // a scheduling gate goes
	Remake          Kind = "Remake"          // the pod is deleted, and its controller makes it again without a rule that its template lacks
	Untaint         Kind = "Untaint"         // a taint of a node goes
	Uncordon        Kind = "Uncordon"        // spec.unschedulable of a node becomes false
	Recover         Kind = "Recover"         // outside the API: the state of a node ends, and agents lift its taints; or a provisioner binds a claim; or another pod gets a node
	Label           Kind = "Label"           // a node gets a label, or loses one
	AddNode         Kind = "AddNode"         // one more node like an existing one
	MovePods        Kind = "MovePods"        // running pods move to other nodes
	RemovePods      Kind = "RemovePods"      // running pods leave
	RaiseBudget     Kind = "RaiseBudget"     // a disruption budget allows the evictions of MovePods or RemovePods
	LowerCount      Kind = "LowerCount"      // a claim asks for fewer devices: the largest count that works
	DropConstraint  Kind = "DropConstraint"  // a claim loses a constraint, or selects a value that devices have
	SetClass        Kind = "SetClass"        // a claim of a volume is made, or gets a class that there is
	Policy          Kind = "Policy"          // a rule counts the pods of one revision alone (matchLabelKeys), or those of its owner alone
	Strategy        Kind = "Strategy"        // a rollout ends old pods before it starts new ones
	ClearClaimRef   Kind = "ClearClaimRef"   // a volume that a claim has released is free again
	Resize          Kind = "Resize"          // a resize in place of another pod, which the kubelet has deferred, is taken back
	MaxPods         Kind = "MaxPods"         // outside the API: kubelets take more pods (maxPods)
	Scale           Kind = "Scale"           // the owner has no more pods than there is room for
	Priority        Kind = "Priority"        // the pods of a DaemonSet, or of a class that never preempts, get a priority with which preemption makes room
	LeaveOut        Kind = "LeaveOut"        // the pods of a DaemonSet leave a node out
	ReleaseClaim    Kind = "ReleaseClaim"    // a claim that no pod uses is deleted and gives its devices back; that of the pod is made again

	dropVolume Kind = "DropVolume" // a volume with a claim goes: of conflicts alone
	dropClaim  Kind = "DropClaim"  // a claim of devices goes: of conflicts alone
)

// Change is one change of an object.
type Change struct {
	Kind   Kind   `json:"kind"`           // what the change does: Tolerate, LowerRequest, AddNode, …
	Object string `json:"object"`         // whose edit it is: "Deployment default/web" for its pods, "Node n1"
	Path   string `json:"path,omitempty"` // of the field in the object
	From   string `json:"from,omitempty"` // the value as it is; "" for a field that is not there
	To     string `json:"to,omitempty"`   // the value that works; "" for a field that goes
	// Alike is the number of nodes for which the same change was not tried because their rejection is of the same kind.
	Alike int `json:"alike,omitempty"`
	// Count is the number of nodes that AddNode adds; 0 means 1.
	Count int `json:"count,omitempty"`
	// Labels are those of the added nodes that their model does not have.
	Labels map[string]string `json:"labels,omitempty"`
	// Without are labels and taints of the model that the added nodes do not have.
	Without []string `json:"without,omitempty"`
	// Least are the resources of which the added nodes offer at least so much, and the model less.
	Least map[v1.ResourceName]string `json:"least,omitempty"`
	// Again says that the object must be deleted and made again, because the API server refuses the edit.
	Again bool `json:"again,omitempty"`
	// Note is what stands beside the change, such as a risk.
	Note string `json:"note,omitempty"`
	// Leaving are the pods that leave their nodes because of MovePods, RemovePods or Priority, in the order in which they leave.
	Leaving []Leaving `json:"leaving,omitempty"`

	rule   string                               // the rule of the pod that the change weakens
	edit   func(p *v1.Pod, v int64)             // of the pod
	pod    *v1.Pod                              // that edit changes
	value  *span                                // nil: no value
	make   func(s *cluster.Snapshot, c *Change) // of the cluster
	remove []*v1.Pod                            // pods that leave, those first that stay first
	to     map[*v1.Pod]string                   // new nodes of pods that move
	evicts bool                                 // budgets count
	beside bool                                 // of a node, beside the changes of one node
	why    string                               // the law's reason against the change: it is in no relaxation
	bound  string                               // of SetRequest: "at most", or "at least"
	key    string                               // of a requirement of a node label; how an added node differs from its model; whose max-pods
	mark   bool                                 // of Untaint: only some nodes of a kind have the taint
	ofPool bool                                 // of AddNode: the nodes are of the pool of their model
}

// span is the values between that of the pod and the loosest one.
type span struct {
	from, loosest, v int64
	show             func(v int64) string
}

// decimal is span.show for plain numbers.
func decimal(v int64) string { return fmt.Sprint(v) }

// Leaving is a pod that leaves its node.
type Leaving struct {
	Pod      string `json:"pod"` // namespace/name
	Node     string `json:"node"`
	Priority int32  `json:"priority"` // of the pod
	// To is the node to which the pod moves, or on which a removed pod would fit afterwards; "" when there is none.
	To string `json:"to,omitempty"`
}

// object names the object of the change, and that it is made again.
func (c Change) object() string {
	if c.Again {
		return c.Object + ", made again"
	}
	return c.Object
}

// Text returns the change in words.
func (c Change) Text() string {
	var b strings.Builder
	object := c.object()
	switch c.Kind {
	case DropSelector, DropRequirement, DropPort, DropGate, DropConstraint, dropVolume, dropClaim:
		if c.To != "" {
			fmt.Fprintf(&b, "%s: select %s in place of %s", object, c.To, c.From)
			break
		}
		fmt.Fprintf(&b, "%s: drop %s (%s)", object, c.Path, c.From)
	case Prefer:
		if len(c.remove) > 0 {
			fmt.Fprintf(&b, "%s: make the anti-affinity by %s a preference; delete %s once", object, c.key, c.To)
			break
		}
		fmt.Fprintf(&b, "%s: make %s a preference (%s)", object, c.Path, c.From)
	case RaiseMaxSkew, LowerMinDomains, LowerRequest, RaiseBudget, LowerCount:
		fmt.Fprintf(&b, "%s: %s from %s to %s", object, c.Path, c.From, c.To)
	case SetRequest:
		fmt.Fprintf(&b, "%s: set %s, %s %s", object, c.Path, c.bound, c.To)
	case Resize:
		fmt.Fprintf(&b, "%s: take back its resize, which is deferred (%s becomes %s again)", object, c.From, c.To)
	case MaxPods:
		fmt.Fprintf(&b, "raise max-pods of %s from %s to %s, if the network has addresses for them", c.key, c.From, c.To)
	case HonorTaints:
		fmt.Fprintf(&b, "%s: %s: Honor", object, c.Path)
	case Tolerate:
		fmt.Fprintf(&b, "%s: tolerate %s", object, c.To)
	case Untaint:
		fmt.Fprintf(&b, "%s: remove the taint %s", object, c.From)
		if c.mark {
			b.WriteString(", if it is over")
		}
	case Uncordon:
		fmt.Fprintf(&b, "%s: uncordon, if its maintenance is over", object)
	case Mend:
		fmt.Fprintf(&b, "%s: did you mean %s? (%s has %s)", object, c.To, c.Path, c.From)
	case Remake:
		fmt.Fprintf(&b, "%s: delete it once: %s makes it again without %s, unless a webhook adds that", object, c.To, c.From)
	case Recover:
		b.WriteString(c.To)
	case SetClass:
		fmt.Fprintf(&b, "%s: %s", object, c.To)
	case Priority:
		if c.key != "" {
			fmt.Fprintf(&b, "%s: %s: %s, which preempts (%s)", object, c.Path, c.key, c.givesWay())
			break
		}
		fmt.Fprintf(&b, "%s: %s: a class above %s (%s)", object, c.Path, c.To, c.givesWay())
	case LeaveOut:
		fmt.Fprintf(&b, "%s: leave %s out (%s: %s NotIn [%s])", object, c.From, strings.TrimSuffix(c.Path, ".requiredDuringSchedulingIgnoredDuringExecution"), v1.LabelHostname, c.To)
	case Label:
		b.WriteString(c.labelling())
	case AddNode:
		b.WriteString(c.adding([]string{c.From}))
	case Policy:
		if strings.HasSuffix(c.Path, ".matchLabels") {
			fmt.Fprintf(&b, "%s: add %s to %s, which counts pods of others", object, c.To, c.Path)
		} else {
			fmt.Fprintf(&b, "%s: %s: [%s]", object, c.Path, c.To)
		}
	case ClearClaimRef:
		fmt.Fprintf(&b, "%s: remove its claimRef (%s), if its old data may be seen", object, c.From)
	case Scale, Strategy:
		fmt.Fprintf(&b, "%s: %s %s", object, c.Path, c.To)
	case MovePods, RemovePods:
		verb := map[Kind]string{MovePods: "move", RemovePods: "remove"}[c.Kind]
		for i, l := range c.Leaving {
			if i > 0 {
				verb = ","
			}
			fmt.Fprintf(&b, "%s %s from %s", verb, l.Pod, l.Node)
			switch {
			case c.Kind == MovePods:
				fmt.Fprintf(&b, " to %s", l.To)
			case l.To != "":
				fmt.Fprintf(&b, " (fits on %s)", l.To)
			}
		}
	case ReleaseClaim:
		if c.Again {
			fmt.Fprintf(&b, "%s: it then holds no devices", object)
		} else {
			fmt.Fprintf(&b, "%s: delete it: no pod uses its devices", object)
		}
	}
	if c.Note != "" {
		fmt.Fprintf(&b, " (%s)", c.Note)
	}
	if c.Alike > 0 {
		nodes := "nodes are"
		if c.Alike == 1 {
			nodes = "node is"
		}
		fmt.Fprintf(&b, " (%d more %s alike)", c.Alike, nodes)
	}
	return b.String()
}

// DefaultCost returns what a change costs unless [Options.Cost] says otherwise: edits of the pod that give up a wish are cheap, changes
// that take capacity or remove pods are dear. A lower request or count costs more when it takes away more.
func DefaultCost(c Change) int64 {
	switch c.Kind {
	case Mend:
		return 1
	case Uncordon, DropGate, Recover, Remake, SetClass:
		return 2
	case HonorTaints, Policy, Strategy:
		return 2
	case ClearClaimRef:
		return 3
	case RaiseMaxSkew, LowerMinDomains, Tolerate, Label, SetRequest:
		return 3
	case Prefer, DropSelector, DropRequirement, Untaint, DropConstraint:
		return 4
	case DropPort:
		return 5
	case LowerRequest, LowerCount:
		if c.value == nil || c.value.from <= 0 {
			return 5
		}
		return 2 + int64(18*float64(c.value.from-c.value.v)/float64(c.value.from))
	case AddNode, ReleaseClaim, Scale, Resize, MaxPods, LeaveOut:
		return 12
	case MovePods, Priority:
		return 4 + 3*int64(len(c.Leaving))
	case RemovePods:
		return 4 + 8*int64(len(c.Leaving))
	}
	return 20
}
