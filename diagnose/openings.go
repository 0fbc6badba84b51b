package diagnose

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/internal/podinfo"
)

// mostOpenings is the number of taints of other nodes that a search may remove for minDomains.
const mostOpenings = 4

// openings lists the taints that keep domains from being counted by a constraint with minDomains. These nodes count although the
// pod goes elsewhere, so a set may have openings of several nodes beside the changes of one node. A domain without pods that the
// constraint counts is left out: it makes the smallest number 0, as too few domains do.
func (d *diagnosis) openings() (out []*Change) {
	for _, c := range d.pod.Spec.TopologySpreadConstraints {
		honors := c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == v1.NodeInclusionPolicyHonor
		selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
		if err != nil || !honors || c.WhenUnsatisfiable != v1.DoNotSchedule || podinfo.MinDomains(&c) < 2 {
			continue
		}
		for _, slot := range d.closed(c.TopologyKey, selector) {
			x := &nodeEdits{node: d.base.Node(slot), law: d.law}
			d.untaints(x)
			for _, u := range x.out {
				if len(out) < mostOpenings && !slices.ContainsFunc(out, u.same) {
					u.beside = true
					out = append(out, u)
				}
			}
		}
	}
	return out
}

// closed returns a node of each domain whose nodes all have a taint that the pod does not tolerate, if the selector counts pods
// there: the node with the fewest such taints. Domains with many pods come first.
func (d *diagnosis) closed(key string, selector labels.Selector) (slots []int) {
	type domain struct{ slot, taints, pods int }
	byValue := map[string]*domain{}
	var list []*domain
	for _, i := range d.slots {
		n := d.base.Node(i)
		value, ok := n.Labels[key]
		if !ok {
			continue
		}
		taints := 0
		for _, t := range n.Spec.Taints {
			if d.keepsOff(t) {
				taints++
			}
		}
		x := byValue[value]
		if x == nil {
			x = &domain{slot: i, taints: taints}
			byValue[value], list = x, append(list, x)
		} else if taints < x.taints {
			x.slot, x.taints = i, taints
		}
		for p := range d.base.Pods(i) {
			if p.Namespace == d.pod.Namespace && selector.Matches(labels.Set(p.Labels)) {
				x.pods++
			}
		}
	}
	list = slices.DeleteFunc(list, func(x *domain) bool { return x.taints == 0 || x.pods == 0 })
	slices.SortStableFunc(list, func(a, b *domain) int { return -cmp.Compare(a.pods, b.pods) })
	for _, x := range list {
		slots = append(slots, x.slot)
	}
	return slots
}

// same reports whether two changes do the same.
func (c *Change) same(other *Change) bool {
	return c.Kind == other.Kind && c.Object == other.Object && c.Path == other.Path && c.From == other.From && c.To == other.To
}
