package history

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/score"
	"github.com/podberth/podberth/spread"
)

// SelectorSpread is the score that spread the pods of a service or controller before there were default constraints. The
// plugin was named DefaultPodTopologySpread for a while; it was on by default until v1.20, gone from the configuration with
// v1.25 and removed in v1.29. find has the services and controllers; nil means those of the plan's [cluster.Snapshot], or none
// when the plan has no snapshot.
//
// A node scores 0 to 100: two thirds for few matching pods in the zone, one third for few on the node, both linear below the
// largest number of a feasible node. Where the node or every feasible node has no zone, the node alone counts. A zone is the
// pair of region and zone labels, failure-domain.beta.kubernetes.io before topology.kubernetes.io. A matching pod is one of
// the pod's namespace that is not being deleted and that [spread.OwnerSelector] selects. Pods with constraints of their own
// are left out. A plan keeps no answers of this plugin for equal pods. Rules S7.1 to S7.3.
func SelectorSpread(find spread.Owners) *placement.Plugin {
	return selectorSpread(find, score.MaxScore)
}

// selectorSpread has the name of v1.18's default profile in its profile, and scores of 0 to limit.
func selectorSpread(find spread.Owners, limit int64) *placement.Plugin {
	return &placement.Plugin{Name: "SelectorSpread", Score: func(pod *v1.Pod, c placement.Cluster) (placement.Scorer, error) {
		if len(pod.Spec.TopologySpreadConstraints) > 0 {
			return nil, nil
		}
		if s, ok := c.(*cluster.Snapshot); ok && find == nil {
			return newSpreadScore(pod, cluster.Owners{Snapshot: s}, c, limit), nil
		}
		return newSpreadScore(pod, find, c, limit), nil
	}}
}

// spreadScore has the number of matching pods on every node, and after Weigh the scores.
type spreadScore struct {
	cluster placement.Cluster
	limit   int64
	counts  []int64
	scores  []int64
}

func newSpreadScore(pod *v1.Pod, find spread.Owners, c placement.Cluster, limit int64) *spreadScore {
	s := &spreadScore{cluster: c, limit: limit, counts: make([]int64, c.Len()), scores: make([]int64, c.Len())}
	selector := spread.OwnerSelector(pod, find)
	for i := range s.counts {
		if selector == nil {
			break
		}
		for p := range c.Pods(i) {
			if p.Namespace == pod.Namespace && p.DeletionTimestamp == nil && selector.Matches(labels.Set(p.Labels)) {
				s.counts[i]++
			}
		}
	}
	return s
}

// Raw returns the score of slot i among the feasible nodes that Weigh got.
func (s *spreadScore) Raw(i int) int64 { return s.scores[i] }

// Weigh computes the scores. Each slot is one node, because a plan keeps no answers of this plugin.
func (s *spreadScore) Weigh(slots, _ []int32) {
	const zoneWeighting float64 = 2.0 / 3.0
	limit := float64(s.limit)
	byZone := map[string]int64{}
	var most, mostZone int64
	for _, i := range slots {
		most = max(most, s.counts[i])
		if zone := view.ZoneKey(s.cluster.Node(int(i))); zone != "" {
			byZone[zone] += s.counts[i]
			mostZone = max(mostZone, byZone[zone])
		}
	}
	for _, i := range slots {
		f := limit
		if most > 0 {
			f = limit * (float64(most-s.counts[i]) / float64(most))
		}
		if zone := view.ZoneKey(s.cluster.Node(int(i))); zone != "" {
			z := limit
			if mostZone > 0 {
				z = limit * (float64(mostZone-byZone[zone]) / float64(mostZone))
			}
			f = f*(1-zoneWeighting) + zoneWeighting*z
		}
		s.scores[i] = int64(f)
	}
}

// Feature gates that gave topology spread constraints their later fields.
const (
	gateMinDomains     = "MinDomainsInPodTopologySpread"          // alpha and off in v1.24, on by default from v1.25
	gateInclusion      = "NodeInclusionPolicyInPodTopologySpread" // alpha in v1.25, on by default from v1.26
	gateMatchLabelKeys = "MatchLabelKeysInPodTopologySpread"      // alpha in v1.25, on by default from v1.27
)

// SpreadFields returns the pod as the API server of an earlier release stores it: minDomains, nodeAffinityPolicy and
// nodeTaintsPolicy, and matchLabelKeys are dropped unless the list on has their feature gate: MinDomainsInPodTopologySpread,
// NodeInclusionPolicyInPodTopologySpread, MatchLabelKeysInPodTopologySpread. An empty list is v1.24 with its defaults. The
// scheduler then counts as v1.24 did: no minimum of domains, node affinity honoured, taints ignored. The result is the pod
// itself when no field is dropped, and else a copy. A nil pod stays nil.
func SpreadFields(pod *v1.Pod, on ...string) *v1.Pod {
	if pod == nil {
		return nil
	}
	out, changed := pod.DeepCopy(), false
	for i := range out.Spec.TopologySpreadConstraints {
		c := &out.Spec.TopologySpreadConstraints[i]
		if !slices.Contains(on, gateMinDomains) && c.MinDomains != nil {
			c.MinDomains, changed = nil, true
		}
		if !slices.Contains(on, gateInclusion) && (c.NodeAffinityPolicy != nil || c.NodeTaintsPolicy != nil) {
			c.NodeAffinityPolicy, c.NodeTaintsPolicy, changed = nil, nil, true
		}
		if !slices.Contains(on, gateMatchLabelKeys) && len(c.MatchLabelKeys) > 0 {
			c.MatchLabelKeys, changed = nil, true
		}
	}
	if !changed {
		return pod
	}
	return out
}
