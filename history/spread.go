package history

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/spread"
)

// SelectorSpread is the score that spread the pods of a service or controller before default constraints did: the plugin
// SelectorSpread, named DefaultPodTopologySpread for a while, on by default until v1.20 and gone from the configuration
// with v1.25. It has the number of matching pods on every node of one cluster, as they were when it was made.
type SelectorSpread struct {
	cluster spread.Cluster
	counts  []int64
}

// NewSelectorSpread counts the pods that the pod's services and controller select: those of its namespace that are not
// being deleted. The selector is that of default constraints (spread.OwnerSelector); without a selector no pod counts.
// NewSelectorSpread returns nil for a pod with constraints of its own: the plugin leaves such a pod out. O(nodes + pods).
func NewSelectorSpread(pod *v1.Pod, owners spread.Owners, c spread.Cluster) *SelectorSpread {
	if len(pod.Spec.TopologySpreadConstraints) > 0 {
		return nil
	}
	s := &SelectorSpread{cluster: c, counts: make([]int64, c.Len())}
	selector := spread.OwnerSelector(pod, owners)
	if selector == nil {
		return s
	}
	for i := range s.counts {
		if c.Node(i) == nil {
			continue
		}
		for p := range c.Pods(i) {
			if p.Namespace == pod.Namespace && p.DeletionTimestamp == nil && selector.Matches(labels.Set(p.Labels)) {
				s.counts[i]++
			}
		}
	}
	return s
}

// Raw returns the number of matching pods on slot i. Smaller is better.
func (s *SelectorSpread) Raw(i int) int64 { return s.counts[i] }

// NormalizeAll replaces the raw scores of the feasible slots by 0..100: two thirds for few matching pods in the zone, one
// third for few on the node, both linear below the largest; the node alone where it, or every feasible node, has no zone.
// A zone is the pair of region and zone labels, failure-domain.beta.kubernetes.io before topology.kubernetes.io.
func (s *SelectorSpread) NormalizeAll(slots []int, raw []int64) {
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
