package spread

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// SelectorSpread is the score that spread the pods of a service or controller before default constraints did: the plugin
// SelectorSpread, named DefaultPodTopologySpread for a while, on by default until v1.20 and gone from the configuration
// with v1.25. It is not part of v1.36's default profile. The value is immutable; the zero value is skipped.
type SelectorSpread struct {
	selectors selectors
	skip      bool
}

// CompileSelectorSpread derives the selector of a pod from its services and controller, as default constraints do. It is
// skipped for a pod with constraints of its own.
func CompileSelectorSpread(pod *v1.Pod, owners Owners) *SelectorSpread {
	p := &SelectorSpread{skip: len(pod.Spec.TopologySpreadConstraints) > 0}
	p.selectors.namespace = pod.Namespace
	if s := derivedSelector(pod, owners); s != nil && !p.skip {
		p.selectors = selectors{pod.Namespace, []labels.Selector{s}, []string{s.String()}, []pair{requiredPair(requirementsOf(s))}, 1}
	}
	return p
}

func requirementsOf(s labels.Selector) labels.Requirements {
	r, _ := s.Requirements()
	return r
}

// Skip reports whether the score contributes 0 without normalisation.
func (p *SelectorSpread) Skip() bool { return p.skip }

// SelectorSpreadState is the number of matching pods on every node.
type SelectorSpreadState struct {
	spread  *SelectorSpread
	cluster Cluster
	counts  []int32
}

// Count counts the matching pods of every node: those of the pod's namespace that are not being deleted. Without
// a selector there are none.
func (p *SelectorSpread) Count(c Cluster) *SelectorSpreadState {
	s := &SelectorSpreadState{spread: p, cluster: c, counts: make([]int32, c.Len())}
	p.selectors.visit(c, func(_ uint32, slot, n int32) { s.counts[slot] += n })
	return s
}

// Raw returns the number of matching pods on slot i. Smaller is better.
func (s *SelectorSpreadState) Raw(i int) int64 { return int64(s.counts[i]) }

// NormalizeAll replaces the raw scores of the feasible slots by 0..100: two thirds for few matching pods in the zone, one
// third for few on the node, both linear below the largest; the node alone where it, or every feasible node, has no zone.
// A zone is the pair of region and zone labels, failure-domain.beta.kubernetes.io before topology.kubernetes.io. Nothing
// changes when the score is skipped.
func (s *SelectorSpreadState) NormalizeAll(slots []int, raw []int64) {
	if s.spread.skip {
		return
	}
	const zoneWeighting float64 = 2.0 / 3.0
	zones := make([]string, len(slots))
	byZone := map[string]int64{}
	var most int64
	for j, i := range slots {
		most = max(most, raw[j])
		if zones[j] = zoneOf(s.cluster.Node(i)); zones[j] != "" {
			byZone[zones[j]] += raw[j]
		}
	}
	var mostZone int64
	for _, n := range byZone {
		mostZone = max(mostZone, n)
	}
	for j := range slots {
		f := 100.0
		if most > 0 {
			f = 100 * (float64(most-raw[j]) / float64(most))
		}
		if zones[j] != "" {
			z := 100.0
			if mostZone > 0 {
				z = 100 * (float64(mostZone-byZone[zones[j]]) / float64(mostZone))
			}
			f = f*(1-zoneWeighting) + zoneWeighting*z
		}
		raw[j] = int64(f)
	}
}

// zoneOf returns the region and zone of a node, "" if it has neither.
func zoneOf(node *v1.Node) string {
	region := firstLabel(node, v1.LabelFailureDomainBetaRegion, v1.LabelTopologyRegion)
	zone := firstLabel(node, v1.LabelFailureDomainBetaZone, v1.LabelTopologyZone)
	if region == "" && zone == "" {
		return ""
	}
	return region + "\x00" + zone
}

func firstLabel(node *v1.Node, keys ...string) string {
	for _, key := range keys {
		if value, ok := node.Labels[key]; ok {
			return value
		}
	}
	return ""
}
