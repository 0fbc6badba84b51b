package placement

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/podgroup"
)

// groupRun is one decision about a tree of groups.
type groupRun struct {
	p       *Placer
	o       GroupOptions
	tree    *podgroup.Tree
	queued  map[*podgroup.Node][]*v1.Pod // members to try, by leaf
	live    []*v1.Pod                    // all of them, leaf by leaf
	own     map[string]int               // place in decision.Members of each queued pod, by name
	placed  []bool                       // by that place: the pod is assumed
	assumed []*v1.Pod                    // in the snapshot, the latest last
	held    map[*v1.Pod]bool             // of these, members of groups that are decided: nobody else may use their claims
	next    int
	heard   bool          // the plugins with a say about claims hear of members
	reached []GroupMember // those that reached them

	decision GroupDecision
	at       map[*v1.Pod]int // place in decision.Members
}

// newGroupRun finds the tree, checks the members, and sets terminating pods aside.
func newGroupRun(p *Placer, queued []*v1.Pod, o GroupOptions) (*groupRun, error) {
	o.Gates.Topology = o.Gates.Topology || o.Gates.Composites
	r := &groupRun{p: p, o: o, next: o.Next, queued: map[*podgroup.Node][]*v1.Pod{}, own: map[string]int{}, at: map[*v1.Pod]int{}, held: map[*v1.Pod]bool{}}
	r.decision.Next = o.Next
	r.o.Nominated, r.o.NominatedSlots = p.nominations(&o.Options), nil // members are nominated too
	r.placed = make([]bool, len(queued))
	for k, pod := range queued {
		r.decision.Members = append(r.decision.Members, MemberOutcome{Pod: pod, Decision: Decision{Slot: -1}, Nominate: pod.Status.NominatedNodeName})
		r.at[pod] = k
	}
	if err := r.find(queued); err != nil {
		return r, err
	}
	var all, scheduled []*v1.Pod
	for _, leaf := range r.tree.Leaves() {
		all = append(all, r.queued[leaf]...)
		for pod := range r.members(leaf) {
			scheduled = append(scheduled, pod)
		}
	}
	for _, n := range r.tree.Nodes() { // members whose group has the name of a composite group
		if n.Composite != nil {
			all = append(all, r.queued[n]...)
		}
	}
	r.heard = o.Preempt != nil && !r.constrained()
	if err := podgroup.Check(r.tree.Root().Spec, all, scheduled, o.Gates); err != nil {
		return r, err
	}
	for n, pods := range r.queued {
		r.queued[n] = slices.DeleteFunc(pods, func(pod *v1.Pod) bool {
			r.decision.Members[r.at[pod]].Dropped = pod.DeletionTimestamp != nil
			return pod.DeletionTimestamp != nil
		})
	}
	for _, pod := range all {
		if pod.DeletionTimestamp == nil {
			r.live = append(r.live, pod)
		}
	}
	return r, nil
}

// find finds the tree of the pods and the leaf of each pod.
func (r *groupRun) find(queued []*v1.Pod) error {
	for _, pod := range queued {
		group, ok := podgroup.Of(pod)
		if !ok {
			return fmt.Errorf("pod %s: %w", podinfo.Name(pod), ErrNoGroup)
		}
		if r.tree == nil {
			tree, err := podgroup.TreeOf(r.p.snapshot, pod.Namespace, group, r.o.Gates)
			if err != nil {
				return err
			}
			r.tree = tree
		}
		home := r.tree.Home(group)
		if home == nil || pod.Namespace != home.Namespace {
			return fmt.Errorf("pod %s: %w", podinfo.Name(pod), ErrNoGroup)
		}
		r.queued[home] = append(r.queued[home], pod)
		r.own[podinfo.Name(pod)] = r.at[pod]
	}
	if r.tree == nil {
		return ErrNoGroup
	}
	return nil
}

// refused is the decision about members that were not tried.
func (r *groupRun) refused(err error) GroupDecision {
	d := r.decision
	d.Code, d.Err = filter.Error, err
	for k := range d.Members {
		d.Members[k].Code, d.Members[k].Text, d.Members[k].Nominate = filter.Error, err.Error(), ""
	}
	if r.tree != nil {
		for _, leaf := range r.tree.Leaves() {
			d.Groups = append(d.Groups, GroupOutcome{leaf.Group, podgroup.ReasonSchedulerError, err.Error()})
		}
	}
	return d
}

// members yields the members of all leaves below a node that are on nodes, those of this decision included.
func (r *groupRun) members(n *podgroup.Node) func(yield func(*v1.Pod, int) bool) {
	return func(yield func(*v1.Pod, int) bool) {
		for _, leaf := range n.Leaves() {
			for pod, slot := range r.p.snapshot.Members(leaf.Namespace, leaf.Name) {
				if !yield(pod, slot) {
					return
				}
			}
		}
	}
}

// scheduled counts the members of a node that were on nodes before the decision.
func (r *groupRun) scheduled(n *podgroup.Node) (count int) {
	for range r.before(n) {
		count++
	}
	return count
}

// constrained reports whether the root is a composite group, or has constraints that count.
func (r *groupRun) constrained() bool {
	root := r.tree.Root()
	return root.Composite != nil || r.o.Gates.Topology && root.Constraints != nil
}

// place decides about one member. within are the nodes of the placement; nil: all.
func (r *groupRun) place(pod *v1.Pod, within []int) Decision {
	o := r.o.Options
	o.Next, o.within, o.Nominated = r.next, within, r.nominated()
	end := r.begin(MemberStep)
	d := r.p.Decide(pod, o)
	end(codeOf(d))
	r.next = d.Next
	if r.heard && d.Nodes > 0 && (d.Failure == nil || r.p.reachesAll(d.Failure)) {
		r.reached = append(r.reached, GroupMember{pod, r.asked(pod, d, o)})
	}
	if d.Placed() {
		if err := r.assume(pod, d); err != nil {
			return Decision{Slot: -1, Nodes: d.Nodes, Next: d.Next, Failure: &Failure{Code: filter.Error, Err: err}}
		}
	}
	return d
}

// begin says that a step begins.
func (r *groupRun) begin(s GroupStep) (end func(filter.Code)) {
	if r.o.Begin == nil {
		return func(filter.Code) {}
	}
	return r.o.Begin(s)
}

func codeOf(d Decision) filter.Code {
	if d.Failure == nil {
		return filter.Success
	}
	return d.Failure.Code
}

// asked returns the filters that were asked about the nodes for a member. For one that found a node they are asked once more, if what is
// given back for its claims can depend on them.
func (r *groupRun) asked(pod *v1.Pod, d Decision, o Options) filter.Predicates {
	a := r.p.Failed(d.Failure)
	if a == nil && r.p.holdsClaims(pod) {
		a = r.p.attempt(pod, o)
		a.Search(o)
	}
	if a == nil {
		return nil
	}
	return a.Predicates
}

// holdsClaims reports whether a claim of the pod is allocated.
func (p *Plan) holdsClaims(pod *v1.Pod) bool {
	if len(pod.Spec.ResourceClaims) == 0 {
		return false
	}
	claims, err := devices.PodClaims(pod, p.profile.Devices)
	return err == nil && slices.ContainsFunc(claims, func(c *resourcev1.ResourceClaim) bool { return c.Status.Allocation != nil })
}

// reachesAll reports whether the failed decision asked all plugins that have a say about groups, before any node.
func (p *Plan) reachesAll(f *Failure) bool {
	a := p.Failed(f)
	if a == nil || !a.Rejected() {
		return a != nil
	}
	last := -1
	for k, plugin := range p.profile.Filters {
		if plugin.GroupPostFilter != nil {
			last = k
		}
	}
	if a.Pre.Code == filter.Unschedulable {
		return true // the later plugins still ran
	}
	rejecters := a.Pre.Rejecters()
	for k, plugin := range p.profile.Filters {
		if slices.Contains(rejecters, plugin.Name) && k < last {
			return false
		}
	}
	return true
}

func (r *groupRun) assume(pod *v1.Pod, d Decision) error {
	if err := r.p.Assume(pod, d); err != nil {
		return err
	}
	r.added(pod)
	return nil
}

// added notes that a member is in the snapshot.
func (r *groupRun) added(pod *v1.Pod) {
	r.assumed, r.placed[r.at[pod]] = append(r.assumed, pod), true
}

// hold is assume for a member of a group that is decided: another group of the tree that needs one of the claims that it gets waits for the
// allocation, as a pod without group does.
func (r *groupRun) hold(pod *v1.Pod, d Decision) error {
	if err := r.p.put(pod, d, func() error { return r.p.profile.Devices.Reserve(pod, d.Devices) }); err != nil {
		return err
	}
	r.held[pod] = true
	r.added(pod)
	return nil
}

// undo takes back all members but the first n, the latest first.
func (r *groupRun) undo(n int) {
	for k := len(r.assumed) - 1; k >= n; k-- {
		pod := r.assumed[k]
		if r.held[pod] {
			r.p.profile.Devices.Unreserve(pod)
			delete(r.held, pod)
		}
		if err := r.p.Forget(pod); err != nil {
			panic("placement: a member that was assumed cannot be forgotten: " + err.Error())
		}
		r.placed[r.at[pod]] = false
	}
	r.assumed = r.assumed[:n]
}

// nominations asks for the nominated pods of every slot that may have some once: nil if there are none.
func (p *Plan) nominations(o *Options) func(i int) []*v1.Pod {
	if o.Nominated == nil {
		return nil
	}
	var bySlot [][]*v1.Pod
	for _, i := range p.slotsOfNominated(o) {
		pods := o.Nominated(i)
		if len(pods) == 0 || !p.has(i) {
			continue
		}
		if bySlot == nil {
			bySlot = make([][]*v1.Pod, p.cluster.Len())
		}
		bySlot[i] = pods
	}
	if bySlot == nil {
		return nil
	}
	return func(i int) []*v1.Pod { return bySlot[i] }
}

// nominated returns the nominations that count for members. A member of this decision counts without requests and with priority 0, and
// not at all while it is assumed.
func (r *groupRun) nominated() func(i int) []*v1.Pod {
	if r.o.Nominated == nil {
		return nil
	}
	return func(i int) []*v1.Pod {
		var out []*v1.Pod
		for _, pod := range r.o.Nominated(i) {
			k, own := r.own[podinfo.Name(pod)]
			switch {
			case !own:
				out = append(out, pod)
			case !r.placed[k]:
				out = append(out, stub(r.decision.Members[k].Pod))
			}
		}
		return out
	}
}

// stub returns a pod without requests and with priority 0.
func stub(pod *v1.Pod) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}}
}
