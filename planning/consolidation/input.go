package consolidation

import (
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/decider"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
)

// Input is a cluster and what may change. Only Snapshot is required.
type Input struct {
	// Snapshot has the nodes, the pods on them, storage objects, claims, disruption budgets, ReplicaSets, ReplicationControllers
	// and StatefulSets. New forks it; afterwards the Snapshot may change.
	Snapshot *cluster.Snapshot
	// Deployments are read for budgets: a ReplicaSet that a Deployment controls counts as the Deployment. A controller that is
	// not among the objects wants as many pods as it has.
	Deployments []*appsv1.Deployment
	// Profile decides where pods may go; without filters and scores it is placement.DefaultProfile. Its Volumes and Devices must
	// be nil. The filters check every node, whatever its Sampling says.
	Profile placement.Profile
	// Price returns what a node costs, 0 or more, in the caller's unit. nil: every node costs 1.
	Price func(node *v1.Node) int64
	// Hold returns why a pod must stay where it is, such as HeldByAnnotation; "" when the pod may move. nil: every pod may move
	// that the rules of the package let move.
	Hold func(pod *v1.Pod) string
	// HoldNode returns why a node must stay, "" when the node may be removed. nil: every node may be removed.
	HoldNode func(node *v1.Node) string
	// EmptyDirs lets pods with emptyDir volumes move. Their data is lost.
	EmptyDirs bool
	// Types are nodes that could be added in place of emptied nodes. DaemonSets are read for the pods that such a node would run.
	Types      []Type
	DaemonSets []*appsv1.DaemonSet
	// Defragment names a resource. Planners then do not remove nodes: they free the resource on whole nodes. The price of a node is
	// the amount of the resource that it offers, only pods that ask for the resource move, and a cost is the amount that is on nodes
	// in use. Price and Types must be nil. "": nodes are removed.
	Defragment v1.ResourceName
	// FreeDomains is a label of nodes, such as that of racks. Planners then do not remove nodes: they free whole domains. A domain is the nodes
	// with one value of the label. It is free when no node of it has a pod, other than those that leave with their node. A cost is the number of
	// domains that are not free. Pods of a domain that is freed go to nodes of other domains and to nodes without the label. A node that is held
	// keeps its domain. Price, Types and Defragment must be empty. "": nodes are removed.
	FreeDomains string
	// Now is the time of the first eviction, for budgets that remember disruptions.
	Now time.Time
}

// Type is a kind of node that could be added.
type Type struct {
	// Node is the node without its name: labels, taints and allocatable resources. Its name is the name of the type. Added nodes are
	// called NAME-new-1, NAME-new-2 and so on, also in the label kubernetes.io/hostname.
	Node  *v1.Node
	Price int64 // of one node
	// Most is how many nodes of the type may be added; 0 means 10, and so does a negative number.
	Most int
}

// Planner makes plans for one cluster. New makes a Planner. Its methods may be called at the same time.
type Planner struct {
	in      Input
	base    *cluster.Snapshot // forks of it are changed
	real    placement.Profile // of the caller, over every node
	packing placement.Profile // the same filters; scores that pack
	nodes   []node            // by slot; free slots have no object
	leads   []int             // by slot, with FreeDomains: the first node of the domain, -1 for a node without the label
	loads   []load            // pods that may move
	kinds   []*kind           // of pods with hard rules about other pods
	pods    []*v1.Pod         // all pods of all nodes, for budgets
	pdbs    []*policyv1.PodDisruptionBudget
	budgets *disruption.Budgets // indexes of pdbs by labels
	scale   disruption.Scale
}

var errNoSnapshot = fmt.Errorf("consolidation: %w", cluster.ErrNoSnapshot)

// New returns a [Planner]. The errors are [cluster.ErrNoSnapshot], those of Profile.Validate, those of [workload.Make] for DaemonSets, and errors
// for a profile that has Volumes or Devices, a nil Deployment, a type without a name, a negative price, and a running pod with a
// label selector that cannot be converted. O(cluster).
func New(in Input) (_ *Planner, err error) {
	defer must.Catch(&err)
	if in.Snapshot == nil {
		return nil, errNoSnapshot
	}
	in.Profile.Sampling = placement.AllNodes()
	in.Profile = must.Get(decider.Profile("consolidation", "every plan", in.Profile))
	if in.Defragment != "" && (in.Price != nil || len(in.Types) > 0) {
		return nil, errors.New("consolidation: defragment: Forbidden: with a price or types")
	}
	if in.FreeDomains != "" && (in.Price != nil || len(in.Types) > 0 || in.Defragment != "") {
		return nil, errors.New("consolidation: freeDomains: Forbidden: with a price, types or defragment")
	}
	for i, d := range in.Deployments {
		if d == nil {
			return nil, fmt.Errorf("consolidation: deployments[%d]: Required value: must not be nil", i)
		}
	}
	p := &Planner{in: in, base: in.Snapshot.Fork(), real: in.Profile}
	must.Do(p.readNodes())
	must.Do(p.readTypes())
	p.readPods()
	p.readDomains()
	p.readRules()
	p.packing = p.packingProfile()
	return p, nil
}

// node is a node before the plan.
type node struct {
	object *v1.Node
	price  int64
	held   string    // why the node stays; "" when it may be emptied
	by     *v1.Pod   // the pod that holds the node; nil when no pod does
	loads  []int32   // pods that may move
	tied   []*v1.Pod // pods that leave with the node
	kind   *Type     // nil: the node exists before the plan
	rest   []int     // the other nodes of the domain, for the first node of a domain that is freed whole
	stays  bool      // for the first node of a domain: a node of the domain is held
	offer  resources.Vector
}

func (n *node) hold(by *v1.Pod, why string) {
	if n.held == "" {
		n.held, n.by = why, by
	}
}

// readNodes reads the nodes and their prices.
func (p *Planner) readNodes() error {
	p.nodes = make([]node, p.base.Len())
	for i := range p.nodes {
		n := p.base.Node(i)
		if n == nil {
			continue
		}
		p.nodes[i] = node{object: n, price: 1}
		p.nodes[i].offer = slices.Clone(p.base.Allocatable(i))
		if p.in.Price != nil {
			p.nodes[i].price = p.in.Price(n)
		}
		if p.in.Defragment != "" {
			p.nodes[i].price = p.amount(p.base.Allocatable(i))
		}
		if price := p.nodes[i].price; price < 0 {
			return fmt.Errorf("consolidation: node %s: price: Invalid value: %d: must not be negative", n.Name, price)
		}
		if p.in.HoldNode != nil {
			p.nodes[i].held = p.in.HoldNode(n)
		}
	}
	return nil
}

// removes reports whether the plan removes nodes, and does not only free them.
func (p *Planner) removes() bool { return p.in.Defragment == "" && p.in.FreeDomains == "" }

// amount returns how much of the resource to defragment a vector has.
func (p *Planner) amount(v resources.Vector) int64 {
	c, ok := p.base.Schema().Column(p.in.Defragment)
	if !ok {
		return 0
	}
	return v.At(c)
}

var _ filter.Predicate = leaving{}
