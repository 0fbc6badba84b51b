package gen

import (
	"math/rand"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (g *generator) affinity(p *v1.Pod) *v1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &v1.Affinity{}
	}
	return p.Spec.Affinity
}

func (g *generator) nodeAffinity(p *v1.Pod) {
	if g.one(2) {
		p.Spec.NodeSelector = map[string]string{pick(g, []string{"disk", "rack", v1.LabelTopologyZone}): pick(g, append(disks, "a", "2"))}
	}
	if g.one(40) {
		p.Spec.NodeSelector = map[string]string{v1.LabelHostname: "node1"}
	}
	if p.Spec.NodeSelector != nil && g.one(2) {
		return
	}
	a := &v1.NodeAffinity{}
	if g.one(12) { // one name and another: no node has both
		field := v1.NodeSelectorRequirement{Key: "metadata.name", Operator: v1.NodeSelectorOpIn}
		one, other := field, field
		one.Values, other.Values = []string{"node0"}, []string{pick(g, []string{"node1", "gone"})}
		a.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
			{MatchFields: []v1.NodeSelectorRequirement{one, other}}}}
	} else if g.one(2) {
		s := &v1.NodeSelector{}
		for range 1 + g.Intn(2) {
			s.NodeSelectorTerms = append(s.NodeSelectorTerms, g.nodeTerm())
		}
		a.RequiredDuringSchedulingIgnoredDuringExecution = s
	}
	if g.one(2) {
		for range 1 + g.Intn(3) {
			a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution,
				v1.PreferredSchedulingTerm{Weight: g.weight(), Preference: g.nodeTerm()})
		}
	}
	g.affinity(p).NodeAffinity = a
}

func (g *generator) weight() int32 {
	if g.shape.Roomy {
		return int32(1 + g.Intn(100))
	}
	return pick(g, []int32{1, 2, 7, 50, 100, int32(1 + g.Intn(100))})
}

func (g *generator) nodeTerm() v1.NodeSelectorTerm {
	var t v1.NodeSelectorTerm
	if g.one(30) {
		return t
	}
	if !g.one(5) {
		for range 1 + g.Intn(2) {
			t.MatchExpressions = append(t.MatchExpressions, g.nodeRequirement())
		}
	}
	if g.one(5) {
		r := v1.NodeSelectorRequirement{Key: "metadata.name", Operator: pick(g, []v1.NodeSelectorOperator{v1.NodeSelectorOpIn, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn})}
		r.Values = []string{pick(g, []string{"node0", "node1", "node2", "gone"})}
		t.MatchFields = append(t.MatchFields, r)
		if g.one(3) {
			r.Values = []string{pick(g, []string{"node0", "node1"})}
			t.MatchFields = append(t.MatchFields, r)
		}
	}
	return t
}

func (g *generator) nodeRequirement() v1.NodeSelectorRequirement {
	r := v1.NodeSelectorRequirement{Key: pick(g, []string{"disk", "disk", "rack", v1.LabelTopologyZone, v1.LabelHostname, "gone"})}
	r.Operator = pick(g, []v1.NodeSelectorOperator{v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn, v1.NodeSelectorOpExists,
		v1.NodeSelectorOpDoesNotExist, v1.NodeSelectorOpGt, v1.NodeSelectorOpLt})
	switch r.Operator {
	case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
		for range 1 + g.Intn(2) {
			r.Values = append(r.Values, pick(g, append(disks, "a", "b", "2", "node1")))
		}
	case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
		r.Values = []string{pick(g, []string{"1", "4", "5", "-3", "9"})}
	}
	return r
}

func (g *generator) podAffinity(p *v1.Pod) {
	kinds := 1 + g.Intn(15)
	var required, anti []v1.PodAffinityTerm
	var preferred, preferredAnti []v1.WeightedPodAffinityTerm
	for range 1 + g.Intn(2) {
		if kinds&1 != 0 {
			required = append(required, g.podTerm())
		}
		if kinds&2 != 0 {
			anti = append(anti, g.podTerm())
		}
		if kinds&4 != 0 {
			preferred = append(preferred, v1.WeightedPodAffinityTerm{Weight: g.weight(), PodAffinityTerm: g.podTerm()})
		}
		if kinds&8 != 0 {
			preferredAnti = append(preferredAnti, v1.WeightedPodAffinityTerm{Weight: g.weight(), PodAffinityTerm: g.podTerm()})
		}
	}
	a := g.affinity(p)
	if kinds&5 != 0 {
		a.PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required, PreferredDuringSchedulingIgnoredDuringExecution: preferred}
	}
	if kinds&10 != 0 {
		a.PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: anti, PreferredDuringSchedulingIgnoredDuringExecution: preferredAnti}
	}
}

// Unreadable gives some pending pods an inter-pod affinity term with an operator that does not exist. The API server refuses
// such pods; plugins that read one fail.
func Unreadable(c *Cluster) *Cluster {
	g := &generator{Rand: rand.New(rand.NewSource(c.Seed*37 + 11)), c: c}
	for _, p := range c.Pending {
		bad := v1.PodAffinityTerm{TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near", Values: []string{"web"}}}}}
		weighted := v1.WeightedPodAffinityTerm{Weight: g.weight(), PodAffinityTerm: bad}
		for range g.Intn(3) {
			a := g.affinity(p)
			if g.one(2) {
				if a.PodAffinity == nil {
					a.PodAffinity = &v1.PodAffinity{}
				}
				if g.one(3) {
					a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, bad)
				}
				a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution, weighted)
				continue
			}
			if a.PodAntiAffinity == nil {
				a.PodAntiAffinity = &v1.PodAntiAffinity{}
			}
			if g.one(3) {
				a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, bad)
			}
			a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution, weighted)
		}
	}
	return c
}

// UnreadableSelectors gives some pending pods a required node affinity, a node selector or a spread constraint that cannot be read.
func UnreadableSelectors(c *Cluster) *Cluster {
	g := &generator{Rand: rand.New(rand.NewSource(c.Seed*41 + 13)), c: c}
	for _, p := range c.Pending {
		switch g.Intn(4) {
		case 0:
			bad := pick(g, []v1.NodeSelectorRequirement{{Key: "disk", Operator: "Near"}, {Key: "disk", Operator: v1.NodeSelectorOpIn},
				{Key: "disk", Operator: v1.NodeSelectorOpGt, Values: []string{"x"}}, {Key: "-", Operator: v1.NodeSelectorOpExists}})
			g.affinity(p).NodeAffinity = &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
				NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{bad}}}}}
		case 1:
			p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: v1.LabelHostname,
				WhenUnsatisfiable: pick(g, []v1.UnsatisfiableConstraintAction{v1.DoNotSchedule, v1.ScheduleAnyway}),
				LabelSelector:     &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}})
		}
	}
	return c
}

func (g *generator) podTerm() v1.PodAffinityTerm {
	t := v1.PodAffinityTerm{LabelSelector: g.selector(), TopologyKey: pick(g, zoneKeys)}
	if g.one(4) {
		t.Namespaces = []string{pick(g, []string{"default", "n1", "n2", "gone"})}
	}
	switch g.Intn(9) {
	case 0:
		t.NamespaceSelector = g.namespaceSelector(0)
	case 1:
		t.NamespaceSelector = g.namespaceSelector(1)
	}
	if t.LabelSelector != nil && g.one(8) {
		t.MatchLabelKeys = []string{pick(g, []string{"pod-template-hash", "gone2"})}
	}
	if t.LabelSelector != nil && g.one(8) {
		t.MismatchLabelKeys = []string{"gone3"}
		if g.one(2) {
			t.MismatchLabelKeys = []string{"pod-template-hash"}
			t.MatchLabelKeys = nil
		}
	}
	return t
}

func (g *generator) namespaceSelector(kind int) *metav1.LabelSelector {
	if kind == 0 && g.one(3) {
		return &metav1.LabelSelector{}
	}
	if kind == 0 {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"team": pick(g, tiers)}}
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		g.expression([]string{"team", v1.LabelMetadataName, "gone"}, []string{"a", "b", "n1", "default"})}}
}
