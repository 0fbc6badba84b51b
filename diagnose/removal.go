package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
)

// mostRemoved is the number of pods that a removal considers at most.
const mostRemoved = 128

// removal returns the change that makes pods leave in favour of a slot: pods of the slot, and pods of other slots that a filter
// names. Static pods and the pods of DaemonSets stay, because they come back on the same node. nil: no pod can leave.
func (d *diagnosis) removal(slot, alike int) *Change {
	var pods []*v1.Pod
	seen := map[*v1.Pod]bool{}
	add := func(p *v1.Pod) {
		owner := metav1.GetControllerOfNoCopy(p)
		if podinfo.Static(p) || podinfo.Mirror(p) || owner != nil && owner.Kind == "DaemonSet" || seen[p] || len(pods) == mostRemoved {
			return
		}
		seen[p] = true
		pods = append(pods, p)
	}
	for p := range d.base.Pods(slot) {
		add(p)
	}
	for _, predicate := range d.full {
		k, ok := predicate.(interface {
			KeepsOff(pod, q *v1.Pod, i, j int) bool
		})
		if !ok {
			continue
		}
		keeps := map[podKind]bool{}
		for _, j := range d.slots {
			if j == slot {
				continue
			}
			for p := range d.base.Pods(j) {
				kind, terms := d.base.PodKind(p)
				key := podKind{kind, terms}
				near, ok := keeps[key]
				if !ok { // pods of one kind are asked about once, as if they were on the slot itself
					near = k.KeepsOff(d.pod, p, slot, slot)
					keeps[key] = near
				}
				if near && k.KeepsOff(d.pod, p, slot, j) {
					add(p)
				}
			}
		}
	}
	if len(pods) == 0 {
		return nil
	}
	slices.SortStableFunc(pods, func(a, b *v1.Pod) int {
		return cmp.Or(-cmp.Compare(podinfo.Priority(a), podinfo.Priority(b)), cmp.Compare(d.exhausted(b), d.exhausted(a)), cmp.Compare(podinfo.Name(a), podinfo.Name(b)))
	})
	return &Change{Kind: RemovePods, Object: "Node " + d.base.Node(slot).Name, Alike: alike, remove: pods, make: unset}
}

// podKind is what cluster.Snapshot.PodKind returns.
type podKind struct {
	kind  any
	terms int32
}

func unset(s *cluster.Snapshot, c *Change) error {
	for _, p := range c.remove {
		if err := s.Unset(p); err != nil {
			return err
		}
	}
	return nil
}

// exhausted is the number of the pod's budgets that allow no eviction.
func (d *diagnosis) exhausted(p *v1.Pod) (n int) {
	for _, k := range d.budgets.AppendMatches(nil, p.Namespace, p.Labels) {
		if d.pdbs[k].Status.DisruptionsAllowed <= 0 {
			n++
		}
	}
	return n
}

func (d *diagnosis) readBudgets() {
	d.pdbs = slices.Collect(cluster.List[*policyv1.PodDisruptionBudget](d.base).All())
	d.budgets = disruption.NewBudgets(d.pdbs, disruption.BudgetOptions{})
}

// leave fills in which pods leave, where they fit afterwards, and whose budgets are too small. The placer's snapshot has the
// changes, and the pod is on its node.
func (d *diagnosis) leave(c *Change, placer *placement.Placer) error {
	used := map[int32]int32{}
	for _, p := range slices.Backward(c.remove) {
		l := Leaving{Pod: podinfo.Name(p), Node: d.nodeOf[p], Priority: podinfo.Priority(p)}
		again := p.DeepCopy()
		again.Spec.NodeName, again.Status.NominatedNodeName = "", ""
		if dec := placer.Decide(again, placement.Options{}); dec.Placed() {
			if err := placer.Assume(again, dec); err != nil {
				return err
			}
			l.To = dec.Node
		}
		c.Leaving = append(c.Leaving, l)
		for _, k := range d.budgets.AppendMatches(nil, p.Namespace, p.Labels) {
			used[k]++
		}
	}
	for k, b := range d.pdbs {
		if more := used[int32(k)] - max(b.Status.DisruptionsAllowed, 0); used[int32(k)] > 0 && more > 0 {
			c.Budgets = append(c.Budgets, fmt.Sprintf("%s/%s +%d", b.Namespace, b.Name, more))
		}
	}
	return nil
}
