package diagnose

import (
	"maps"
	"math/rand"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/conformance/gen"
)

// alike gives a cluster nodes of one kind, as pools have them, so that there are changes of nodes that advice may name. In every third
// cluster the first of two equal nodes has a taint, which is then a mark and not the taint of a pool. In every other third all nodes
// have no taints and one capacity, and every second one has the label of a pool that some pods want: another node may get it. With hard
// the taint keeps pods off and the label is required; otherwise both only count for the scores.
func alike(c *gen.Cluster, seed int64, hard bool) {
	mark := v1.Taint{Key: "example.com/old", Effect: v1.TaintEffectPreferNoSchedule}
	if hard {
		mark.Effect = v1.TaintEffectNoSchedule
	}
	switch seed % 3 {
	case 0:
		for i := 0; i+1 < len(c.Nodes); i += 2 {
			a, b := c.Nodes[i], c.Nodes[i+1]
			labels := maps.Clone(a.Labels)
			for _, own := range []string{v1.LabelHostname, v1.LabelTopologyZone} {
				delete(labels, own)
				if value, ok := b.Labels[own]; ok {
					labels[own] = value
				}
			}
			b.Labels, b.Status.Allocatable = labels, a.Status.Allocatable.DeepCopy()
			a.Spec.Taints = append(a.Spec.Taints, mark)
		}
	case 1:
		for i, n := range c.Nodes {
			n.Spec.Taints, n.Status.Allocatable = nil, c.Nodes[0].Status.Allocatable.DeepCopy()
			if i%2 == 0 {
				n.Labels[pool] = "fast"
			}
		}
		for i, p := range c.Pending {
			if i%2 == 0 {
				wantsPool(p, hard)
			}
		}
	}
}

// pool is a label that states no fact about a machine.
const pool = "example.com/pool"

// wantsPool makes a pod require or prefer the nodes of a pool.
func wantsPool(p *v1.Pod, hard bool) {
	if hard {
		p.Spec.NodeSelector = maps.Clone(p.Spec.NodeSelector)
		if p.Spec.NodeSelector == nil {
			p.Spec.NodeSelector = map[string]string{}
		}
		p.Spec.NodeSelector[pool] = "fast"
		return
	}
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &v1.Affinity{}
	}
	if p.Spec.Affinity.NodeAffinity == nil {
		p.Spec.Affinity.NodeAffinity = &v1.NodeAffinity{}
	}
	a := p.Spec.Affinity.NodeAffinity
	a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution, v1.PreferredSchedulingTerm{
		Weight: 100, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: pool, Operator: v1.NodeSelectorOpIn, Values: []string{"fast"}}}}})
}

// closed closes half of the nodes: some are cordoned, and on others agents have set the taints of a state that ends.
func closed(c *gen.Cluster) {
	r := rand.New(rand.NewSource(c.Seed))
	for _, n := range c.Nodes {
		switch r.Intn(8) {
		case 0, 1:
			n.Spec.Unschedulable, n.Spec.Taints = true, nil
		case 2:
			n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: v1.TaintNodeDiskPressure, Effect: v1.TaintEffectNoSchedule})
		case 3:
			n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoSchedule}, v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute})
		}
	}
}
