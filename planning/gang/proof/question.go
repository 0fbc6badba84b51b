package proof

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/decider"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
)

// Question is a group, or a tree of groups, in a cluster. Snapshot and Queued are required.
type Question struct {
	// Snapshot has the nodes, the pods on them, and the groups. It is forked.
	Snapshot *cluster.Snapshot
	// Queued are the members that wait, of one tree, in the order of podgroup.CompareMembers within each group. Terminating members are
	// ignored.
	Queued []*v1.Pod
	// Profile decides; without filters it is placement.DefaultProfile. Every node is looked at. Its Volumes and Devices must be nil.
	Profile placement.Profile
	Gates   podgroup.Gates
	// Nominated returns the pods of other groups that are nominated to the node of a slot, as placement.Options.Nominated; nil: none.
	Nominated func(i int) []*v1.Pod
}

var errNoSnapshot = fmt.Errorf("gang: %w", cluster.ErrNoSnapshot)

// Subject is a question that was checked: its tree, and the members that wait.
type Subject struct {
	Tree    *podgroup.Tree
	Profile placement.Profile
	Gates   podgroup.Gates
	// Members are the members that wait, leaf by leaf in the order of the tree, and Leaf has the group of each.
	Members []*v1.Pod
	Leaf    []*podgroup.Node
	// Scheduled has the members of each group that are on nodes.
	Scheduled map[*podgroup.Node][]*v1.Pod
}

// Subject finds the tree of the question and checks its members as kube-scheduler does before it tries one. Errors: [cluster.ErrNoSnapshot], a nil pod,
// a pod twice, a pod that has a node, pods of no group or of different trees, those of [podgroup.TreeOf] and [podgroup.Check], and those of the
// profile. O(pods of the groups).
func (q *Question) Subject() (*Subject, error) {
	if q.Snapshot == nil {
		return nil, errNoSnapshot
	}
	profile := q.Profile
	if len(profile.Filters) == 0 {
		profile.Scores = nil
	}
	profile, err := decider.Profile("gang", "the search", profile)
	if err != nil {
		return nil, err
	}
	profile.Sampling = placement.AllNodes()
	x := &Subject{Profile: profile, Gates: q.Gates, Scheduled: map[*podgroup.Node][]*v1.Pod{}}
	x.Gates.Topology = x.Gates.Topology || x.Gates.Composites
	if err := x.find(q); err != nil {
		return nil, err
	}
	var running []*v1.Pod
	for _, leaf := range x.Tree.Leaves() {
		for pod := range q.Snapshot.Members(leaf.Namespace, leaf.Name) {
			x.Scheduled[leaf] = append(x.Scheduled[leaf], pod)
		}
		running = append(running, x.Scheduled[leaf]...)
	}
	return x, podgroup.Check(x.Tree.Root().Spec, x.Members, running, x.Gates)
}

// find finds the tree and the leaf of each member.
func (x *Subject) find(q *Question) error {
	byLeaf, names := map[*podgroup.Node][]*v1.Pod{}, map[string]int{}
	for k, pod := range q.Queued {
		if pod == nil {
			return fmt.Errorf("gang: queued[%d]: Required value: must not be nil", k)
		}
		name := podinfo.Name(pod)
		if first, twice := names[name]; twice {
			return fmt.Errorf("gang: queued[%d].metadata.name: Duplicate value: %q: queued[%d] has the name", k, name, first)
		}
		names[name] = k
		if pod.Spec.NodeName != "" || q.Snapshot.Pod(pod.Namespace, pod.Name) != nil {
			return fmt.Errorf("gang: queued[%d]: Invalid value: %q: the pod is on a node already", k, name)
		}
		group, ok := podgroup.Of(pod)
		if !ok {
			return fmt.Errorf("gang: queued[%d].spec.schedulingGroup: Required value: %s: %w", k, name, placement.ErrNoGroup)
		}
		if x.Tree == nil {
			tree, err := podgroup.TreeOf(q.Snapshot, pod.Namespace, group, x.Gates)
			if err != nil {
				return fmt.Errorf("gang: queued[%d].spec.schedulingGroup.podGroupName: Invalid value: %q: %w", k, group, err)
			}
			x.Tree = tree
		}
		home := x.Tree.Home(group)
		if home == nil || home.Namespace != pod.Namespace {
			return fmt.Errorf("gang: queued[%d].spec.schedulingGroup.podGroupName: Invalid value: %q: %s: %w", k, group, name, placement.ErrNoGroup)
		}
		if pod.DeletionTimestamp == nil {
			byLeaf[home] = append(byLeaf[home], pod)
		}
	}
	if x.Tree == nil {
		return fmt.Errorf("gang: queued: Required value: %w", placement.ErrNoGroup)
	}
	for _, leaf := range x.Tree.Leaves() { // a composite group of the same name has the members of a group that never gets them
		for _, pod := range byLeaf[leaf] {
			x.Members, x.Leaf = append(x.Members, pod), append(x.Leaf, leaf)
		}
	}
	return nil
}

// Below returns the members that wait below a group, by their place in Members.
func (x *Subject) Below(n *podgroup.Node) (out []int) {
	leaves := n.Leaves()
	for k, leaf := range x.Leaf {
		if slices.Contains(leaves, leaf) {
			out = append(out, k)
		}
	}
	return out
}

// Need is how many members must get nodes at least, so that a group has enough: one at least for the root.
func (x *Subject) Need(n *podgroup.Node) int {
	need := x.missing(n)
	if n.Up == nil {
		need = max(need, 1)
	}
	return need
}

func (x *Subject) missing(n *podgroup.Node) int {
	if n.Group != nil {
		return max(0, n.Needs()-len(x.Scheduled[n]))
	}
	var all []int
	for _, child := range n.Children {
		all = append(all, x.missing(child))
	}
	slices.Sort(all)
	sum := 0
	for k := range n.Needs() {
		if k >= len(all) {
			return len(x.Members) + 1 // too few children
		}
		sum += all[k]
	}
	return sum
}

// Alone returns the pod as the filters read it: without its group, so that equal members have one signature.
func Alone(pod *v1.Pod) *v1.Pod {
	p := *pod
	p.Spec.SchedulingGroup, p.Status.NominatedNodeName = nil, ""
	return &p
}
