package diagnose

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
)

// mostRemoved is the number of pods that a removal considers at most.
const mostRemoved = 128

// removal returns the changes that make pods leave in favour of a slot: pods of the slot, pods of other slots that a filter names,
// and users of a claim that one pod alone may use. Static pods and the pods of DaemonSets stay, because they come back on the same
// node. A second change lets a pod stay that the pod's required affinity needs. nil: no pod can leave.
func (d *diagnosis) removal(slot, alike int) []*Change {
	var pods []*v1.Pod
	seen := map[*v1.Pod]bool{}
	add := func(p *v1.Pod) {
		if fixed(p) || seen[p] || len(pods) == mostRemoved {
			return
		}
		seen[p] = true
		pods = append(pods, p)
	}
	for p := range d.base.Pods(slot) {
		add(p)
	}
	for _, p := range d.claimUsers() {
		add(p)
	}
	at := d.base.Node(slot).Labels
	for _, r := range d.repelling() {
		if d.slotsOf()[r.pod] == slot {
			continue
		}
		other := d.base.Node(d.slotsOf()[r.pod]).Labels
		if r.asks != nil && r.asks(slot) || slices.ContainsFunc(r.keys, func(key string) bool {
			value, has := at[key]
			v, ok := other[key]
			return has && ok && v == value
		}) {
			add(r.pod)
		}
	}
	if len(pods) == 0 {
		return nil
	}
	slices.SortStableFunc(pods, func(a, b *v1.Pod) int {
		return cmp.Or(-cmp.Compare(podinfo.Priority(a), podinfo.Priority(b)), cmp.Compare(podinfo.Name(a), podinfo.Name(b)))
	})
	change := func(pods []*v1.Pod) *Change {
		return &Change{Kind: RemovePods, Object: "Node " + d.base.Node(slot).Name, Alike: alike, remove: pods, make: leave}
	}
	out := []*Change{change(pods)}
	if k := d.needed(slot, pods); k >= 0 && len(pods) > 1 {
		out = append(out, change(slices.Delete(slices.Clone(pods), k, k+1)))
	}
	return out
}

// repels is a running pod that keeps the pod off the nodes that share a domain with its own, by one of some topology keys, or that a plugin
// of the caller must be asked about for each node.
type repels struct {
	pod  *v1.Pod
	keys []string
	asks func(slot int) bool
}

// repelling returns the running pods that keep the pod off other nodes than their own, in scan order. Pods of one kind are asked about once.
func (d *diagnosis) repelling() []repels {
	if d.repels != nil {
		return *d.repels
	}
	out := []repels{}
	for _, predicate := range d.full {
		k, ok := predicate.(interface {
			Repels(pod *v1.Pod) func(q *v1.Pod) (keys []string)
		})
		if !ok {
			out = append(out, d.keptOff(predicate)...)
			continue
		}
		kinds, ask := d.common.kindsOf(d.base, d.slots), k.Repels(d.pod)
		keys := make([][]string, len(kinds.first))
		for k, p := range kinds.first {
			keys[k] = ask(p)
		}
		for k, p := range kinds.pods {
			if by := keys[kinds.of[k]]; by != nil {
				out = append(out, repels{pod: p, keys: by})
			}
		}
	}
	d.repels = &out
	return out
}

// keptOff returns the pods that a plugin of the caller must be asked about, all running pods; nil for a plugin that keeps no pod off because
// of a pod of another node.
func (d *diagnosis) keptOff(predicate filter.Predicate) (out []repels) {
	k, ok := predicate.(interface {
		KeepsOff(pod, q *v1.Pod, i, j int) bool
	})
	if !ok {
		return nil
	}
	type nearKey struct {
		slot int
		kind podKind
	}
	near := map[nearKey]bool{}
	for _, j := range d.slots {
		for p := range d.base.Pods(j) {
			out = append(out, repels{pod: p, asks: func(slot int) bool {
				kind, terms := d.base.PodKind(p)
				key := nearKey{slot, podKind{kind, terms, p.DeletionTimestamp != nil}}
				keeps, known := near[key]
				if !known { // pods of one kind are asked about once, as if they were on the slot itself
					keeps = k.KeepsOff(d.pod, p, slot, slot)
					near[key] = keeps
				}
				return keeps && k.KeepsOff(d.pod, p, slot, j)
			}})
		}
	}
	return out
}

// needed returns the pod of leave that must stay on the slot because the required affinity of the pending pod needs one there: the first that
// all terms select. It is -1 when another pod of the slot is selected, and when no pod of leave is.
func (d *diagnosis) needed(slot int, leave []*v1.Pod) int {
	_, terms := podAffinityOf(d.pod)
	if terms[0].required == nil {
		return -1
	}
	for _, p := range d.full {
		state, ok := p.(termState)
		if !ok {
			continue
		}
		selects := func(p *v1.Pod) bool {
			by, _ := state.Selected(p)
			return len(by) == len(*terms[0].required)
		}
		for p := range d.base.Pods(slot) {
			if selects(p) && !slices.Contains(leave, p) {
				return -1
			}
		}
		if !selects(d.pod) {
			return slices.IndexFunc(leave, func(p *v1.Pod) bool { return d.slotsOf()[p] == slot && selects(p) })
		}
	}
	return -1
}

// claimUsers returns the running pods that use a claim of the pod with access mode ReadWriteOncePod.
func (d *diagnosis) claimUsers() (out []*v1.Pod) {
	alone := map[string]bool{}
	for _, v := range d.pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		name := v.PersistentVolumeClaim.ClaimName
		claim, ok := cluster.List[*v1.PersistentVolumeClaim](d.base).Get(d.pod.Namespace, name)
		alone[name] = ok && slices.Contains(claim.Spec.AccessModes, v1.ReadWriteOncePod)
	}
	if len(alone) == 0 {
		return nil
	}
	for _, i := range d.slots {
		for p := range d.base.Pods(i) {
			if p.Namespace == d.pod.Namespace && slices.ContainsFunc(p.Spec.Volumes, func(v v1.Volume) bool {
				return v.PersistentVolumeClaim != nil && alone[v.PersistentVolumeClaim.ClaimName]
			}) {
				out = append(out, p)
			}
		}
	}
	return out
}

// fixed reports whether a pod that leaves comes back on the same node: a static pod, or a pod of a DaemonSet.
func fixed(p *v1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(p)
	return podinfo.Static(p) || podinfo.Mirror(p) || owner != nil && owner.Kind == "DaemonSet"
}

// usesDevices reports whether a pod has claims of devices. Where such a pod fits is a question about its claims too.
func usesDevices(p *v1.Pod) bool {
	return len(p.Spec.ResourceClaims) > 0 || p.Status.ExtendedResourceClaimStatus != nil
}

// unplaced returns a copy of a pod as it was before it had a node.
func unplaced(p *v1.Pod) *v1.Pod {
	again := p.DeepCopy()
	again.Spec.NodeName, again.Status.NominatedNodeName = "", ""
	return again
}

// move puts a running pod on another node.
func move(s *cluster.Snapshot, p *v1.Pod, to string) {
	there := unplaced(p)
	there.Spec.NodeName = to
	must.Do(s.Set(there))
}

// podKind is what cluster.Snapshot.PodKind returns, and whether the pod is being deleted.
type podKind struct {
	kind  any
	terms int32
	ends  bool
}

// leave makes the pods of RemovePods and MovePods leave. With Change.evicts a pod stays when a disruption budget does not allow its
// eviction; the least important pods leave first.
func leave(s *cluster.Snapshot, c *Change) {
	var b *budgets
	if c.evicts {
		b = budgetsOf(s)
	}
	ledger := b.ledger()
	for _, p := range slices.Backward(c.remove) {
		if !b.allow(ledger, p) {
			continue
		}
		if to := c.to[p]; to != "" {
			move(s, p, to)
		} else {
			takeAway(s, p)
		}
	}
}

// takeAway takes a pod off its node. Its claims lose the reservation, and the devices with the last one, as the controllers have it.
func takeAway(s *cluster.Snapshot, p *v1.Pod) {
	must.Do(s.Remove(p))
	if !usesDevices(p) {
		return
	}
	gone := *p
	gone.UID = podinfo.UID(p)
	var claims []*resourcev1.ResourceClaim
	for c := range cluster.List[*resourcev1.ResourceClaim](s).In(p.Namespace) {
		if slices.ContainsFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == gone.UID }) {
			claims = append(claims, c)
		}
	}
	for _, c := range claims {
		if left := devices.Abandoned(c, &gone); left != nil {
			must.Do(s.Set(left))
		} else {
			must.Do(s.Remove(c))
		}
	}
}

// sorted returns pods of a removal, the pods that stay first coming first: with budgets first the pods whose eviction no budget
// allows, and then the higher priorities. The budgets let the least important pods go first.
func (d *diagnosis) sorted(pods []*v1.Pod, budgetsFirst bool) []*v1.Pod {
	out := slices.Clone(pods) // by priority
	if !budgetsFirst {
		return out
	}
	ledger, kept := d.budgets.ledger(), map[*v1.Pod]int{}
	for _, p := range slices.Backward(out) {
		if !d.budgets.allow(ledger, p) {
			kept[p] = 1
		}
	}
	slices.SortStableFunc(out, func(a, b *v1.Pod) int { return kept[b] - kept[a] })
	return out
}
