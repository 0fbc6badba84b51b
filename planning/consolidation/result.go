package consolidation

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// Way is how a pod is replaced.
type Way string

const (
	// Surge: the controller makes the new pod as soon as the old pod is terminating. Both count while the new pod is placed.
	Surge Way = "Surge"
	// InPlace: the new pod gets its node when the old pod is gone. This is so for pods of StatefulSets, which keep their names, and
	// for a pod that its old self keeps out, such as by anti-affinity in a zone.
	InPlace Way = "InPlace"
)

// Move is one pod that goes from a node to another node.
type Move struct {
	Pod *v1.Pod // as it was
	// New is the pod that its controller makes, before it has a node. Its name ends with "-again" where controllers choose names.
	New  *v1.Pod
	From string
	To   string
	Way  Way
	// Chosen reports that kube-scheduler places the new pod on To by itself when the nodes of the plan are cordoned, but for chance
	// among equally good nodes. Another move needs Pin.
	Chosen bool
	// Budgets are the disruption budgets that cover the pod, "namespace/name".
	Budgets []string
}

// Pin returns the required node affinity that makes kube-scheduler place the new pod on To: that of the pod, and the name of the node
// in each of its terms. Topology spread with nodeAffinityPolicy Honor, the default, then counts the domain of that node alone.
func (m *Move) Pin() *v1.NodeSelector {
	var out v1.NodeSelector
	if a := m.Pod.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, t := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			if len(t.MatchExpressions)+len(t.MatchFields) > 0 { // an empty term matches no node
				t.MatchFields = append(slices.Clip(t.MatchFields), podinfo.NodeByName(m.To))
				out.NodeSelectorTerms = append(out.NodeSelectorTerms, t)
			}
		}
	}
	if out.NodeSelectorTerms == nil {
		return podinfo.OnlyNode(m.To)
	}
	return &out
}

// Emptied is a node that the plan empties.
type Emptied struct {
	Node string
	// Price is what the removal of the node saves. A domain of Input.FreeDomains is 1 at its first node, and 0 at the others.
	Price int64
	// Wave is the place of the wave after which the node is removed; -1: before the first wave, because no pod has to move.
	Wave int
	// Moves is the number of pods that move away.
	Moves int
}

// Freed is a domain that is free after a plan.
type Freed struct {
	Domain string // the value of Input.FreeDomains
	Nodes  int    // in the domain
	Wave   int    // after which the domain is free; -1: no pod has to move
	Moves  int
}

// Added is a node that takes the place of emptied nodes. It is added before the first wave.
type Added struct {
	Type  string // the name of Type.Node
	Node  *v1.Node
	Price int64
}

// Kept is a node that no plan can empty.
type Kept struct {
	Node   string
	Pod    *v1.Pod // nil: Input.HoldNode holds the node
	Reason string
}

// Plan is a set of nodes that can be removed, and the way there.
type Plan struct {
	Nodes []Emptied // in the order in which they are removed
	Added []Added   // by type
	// Domains are the domains of Input.FreeDomains that are free after the plan, by name. Nodes has the nodes of each.
	Domains []Freed
	// Waves are the moves. The moves of one wave can be made at the same time.
	Waves [][]Move
	// Before and After are the costs of the cluster, Bound is the least cost that any plan by the rules can reach.
	Before, After, Bound int64
	Kept                 []Kept // by slot order
	// Steps is how many steps the search took. Untried is the number of nodes that Stop left before anybody tried to empty them.
	Steps   int
	Untried int
}

// Gap returns the largest share of After that a better plan could save: 0 when the plan is proven to be the best.
func (p *Plan) Gap() float64 {
	if p.After <= p.Bound {
		return 0
	}
	return float64(p.After-p.Bound) / float64(p.After)
}

// Moves returns the number of moves.
func (p *Plan) Moves() (n int) {
	for _, w := range p.Waves {
		n += len(w)
	}
	return n
}
