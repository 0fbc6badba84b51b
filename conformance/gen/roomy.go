package gen

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// everything matches all pods. Spreading takes the empty selector for one that matches none.
var everything = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "gone", Operator: metav1.LabelSelectorOpDoesNotExist}}}

// spacious makes a node that takes every pod that is relaxed, with many taints that are only preferred.
func (g *generator) spacious(n *v1.Node, list v1.ResourceList) {
	list[v1.ResourceCPU] = resource.MustParse(pick(g, []string{"32", "48", "64", "100"}))
	list[v1.ResourceMemory] = resource.MustParse(pick(g, []string{"128Gi", "200Gi", "256Gi"}))
	list[v1.ResourcePods] = resource.MustParse("110")
	list[v1.ResourceEphemeralStorage] = resource.MustParse(pick(g, []string{"500Gi", "1Ti"}))
	list[gpu] = resource.MustParse(pick(g, []string{"64", "100"}))
	list["hugepages-2Mi"] = resource.MustParse("1Gi")
	n.Spec.Unschedulable = false
	n.Spec.Taints = nil
	if g.focus&Taints != 0 {
		count := g.Intn(pick(g, []int{4, 20, 101, 181, 181, 181}))
		if g.taints > 90 && g.one(3) { // a few less than the node before: scores near 0
			count = g.taints - 1 - g.Intn(8)
		}
		g.taints = count
		for i := range count {
			n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: fmt.Sprintf("t%d", i), Effect: v1.TaintEffectPreferNoSchedule})
		}
	}
}

// crowd picks the node of a running pod: the first nodes have many, the last ones few or none.
func (g *generator) crowd() *v1.Node {
	n := len(g.c.Nodes)
	if g.crowds == 0 {
		g.crowds = 1 + g.Intn(3)
	}
	at := g.Intn(n)
	for range g.crowds {
		at = min(at, g.Intn(n))
	}
	return g.c.Nodes[at]
}

// relax takes everything out of a pod that rejects nodes, and leaves what scores them.
func (g *generator) relax(p *v1.Pod) {
	s := &p.Spec
	if !g.one(4) {
		p.Namespace = "default"
	}
	s.NodeSelector, s.HostUsers, s.HostNetwork = nil, nil, false
	for i := range s.Containers {
		c := &s.Containers[i]
		c.Ports, c.RestartPolicy, c.RestartPolicyRules = nil, nil, nil
	}
	for i := range s.InitContainers {
		s.InitContainers[i].Ports = nil
	}
	if a := s.Affinity; a != nil {
		if a.NodeAffinity != nil {
			a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
		}
		if a.PodAffinity != nil {
			a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
		}
		if a.PodAntiAffinity != nil {
			a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
		}
	}
	for i := range s.TopologySpreadConstraints {
		c := &s.TopologySpreadConstraints[i]
		c.WhenUnsatisfiable, c.MinDomains = v1.ScheduleAnyway, nil
		c.MaxSkew = int32(1 + g.Intn(pick(g, []int{1, 1, 2, 12, 30, 100})))
		if g.one(2) {
			c.LabelSelector, c.MatchLabelKeys = everything, nil
			c.TopologyKey = []string{v1.LabelHostname, v1.LabelTopologyZone, "rack"}[i%3]
		}
	}
	switch {
	case g.focus&NodeAffinity != 0:
		g.prefer(p)
	case g.focus&PodAffinity != 0:
		g.preferPods(p)
	case g.focus&Spread != 0 && !g.one(3): // many pods on each node count, so that the scores are fine
		p.Namespace = "default"
		s.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.ScheduleAnyway,
			LabelSelector: everything, MaxSkew: int32(1 + g.Intn(pick(g, []int{1, 1, 60, 200})))}}
	}
}

// preferPods adds preferences for and against many pods.
func (g *generator) preferPods(p *v1.Pod) {
	a := g.affinity(p)
	if a.PodAffinity == nil {
		a.PodAffinity = &v1.PodAffinity{}
	}
	if a.PodAntiAffinity == nil {
		a.PodAntiAffinity = &v1.PodAntiAffinity{}
	}
	for range 1 + g.Intn(2) {
		list := pick(g, []*[]v1.WeightedPodAffinityTerm{&a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
			&a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution})
		*list = append(*list, v1.WeightedPodAffinityTerm{Weight: g.weight(), PodAffinityTerm: v1.PodAffinityTerm{
			TopologyKey:   pick(g, []string{v1.LabelHostname, v1.LabelHostname, v1.LabelTopologyZone, "rack"}),
			LabelSelector: pick(g, []*metav1.LabelSelector{{}, {MatchLabels: map[string]string{"app": pick(g, apps)}}})}})
	}
}

// prefer adds preferences that many nodes meet.
func (g *generator) prefer(p *v1.Pod) {
	a := g.affinity(p)
	if a.NodeAffinity == nil {
		a.NodeAffinity = &v1.NodeAffinity{}
	}
	for range 2 + g.Intn(4) {
		r := pick(g, []v1.NodeSelectorRequirement{
			{Key: "disk", Operator: v1.NodeSelectorOpExists}, {Key: "rack", Operator: v1.NodeSelectorOpIn, Values: []string{"1"}},
			{Key: "rack", Operator: v1.NodeSelectorOpIn, Values: []string{"2"}}, {Key: "disk", Operator: v1.NodeSelectorOpNotIn, Values: []string{"ssd", "1"}},
			{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{"a"}},
			{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{"b", "c"}},
		})
		a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
			v1.PreferredSchedulingTerm{Weight: g.weight(), Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{r}}})
	}
}
