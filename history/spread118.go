package history

import (
	"math"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/placement"
)

// softConstraints is the score of PodTopologySpread in v1.18, 0 to limit, for a pod that has constraints with ScheduleAnyway. Without
// one every node scores 0, because there were no default constraints.
//
// The pods of a node are the matching pods in its domains, summed over the constraints. Constraints with the same key share their
// domains: each of them counts the matching pods of all. The score is
//
//	(all - pods of the node) / (all - fewest pods of a feasible node)
//
// where all is the sum over the feasible nodes. Every node has the best score when the divisor is 0. Otherwise a node that lacks a
// topology key scores 0; it counts neither in the sum nor in a domain. A node that the pod's node affinity refuses does not count in
// a domain.
func softConstraints(limit int64) *placement.Plugin {
	return &placement.Plugin{Name: "PodTopologySpread", Score: func(pod *v1.Pod, c placement.Cluster) (placement.Scorer, error) {
		s := &constraintScore{pod: pod, cluster: c, limit: limit, scores: make([]int64, c.Len())}
		for _, constraint := range pod.Spec.TopologySpreadConstraints {
			if constraint.WhenUnsatisfiable != v1.ScheduleAnyway {
				continue
			}
			selector, err := metav1.LabelSelectorAsSelector(constraint.LabelSelector)
			if err != nil {
				return nil, err
			}
			s.keys, s.selectors = append(s.keys, constraint.TopologyKey), append(s.selectors, selector)
		}
		if len(s.keys) == 0 {
			return nil, nil
		}
		return s, nil
	}}
}

// constraintScore has a key and a selector for each constraint, and after Weigh the scores of the feasible nodes.
type constraintScore struct {
	pod       *v1.Pod
	cluster   placement.Cluster
	limit     int64
	keys      []string
	selectors []labels.Selector
	scores    []int64
}

// Raw returns the score of slot i among the feasible nodes that Weigh got.
func (s *constraintScore) Raw(i int) int64 { return s.scores[i] }

// Weigh computes the scores. Each slot is one node, because a plan keeps no answers of this plugin.
func (s *constraintScore) Weigh(slots, _ []int32) {
	domains := s.domains()
	all, fewest := int64(0), int64(math.MaxInt64)
	for _, i := range slots {
		s.scores[i] = 0
		if n := s.cluster.Node(int(i)); s.counts(n) {
			for _, key := range s.keys {
				s.scores[i] += domains[domain{key, n.Labels[key]}]
			}
			all, fewest = all+s.scores[i], min(fewest, s.scores[i])
		}
	}
	for _, i := range slots {
		switch pods := s.scores[i]; {
		case all == fewest:
			s.scores[i] = s.limit
		case !s.counts(s.cluster.Node(int(i))):
			s.scores[i] = 0
		default:
			s.scores[i] = int64(float64(s.limit) * (float64(all-pods) / float64(all-fewest)))
		}
	}
}

// counts reports whether a node has all topology keys.
func (s *constraintScore) counts(n *v1.Node) bool {
	for _, key := range s.keys {
		if _, ok := n.Labels[key]; !ok {
			return false
		}
	}
	return true
}

// domain is a topology key with a value.
type domain struct{ key, value string }

// domains returns the number of matching pods. Constraints with the same key share their domains.
func (s *constraintScore) domains() map[domain]int64 {
	out := map[domain]int64{}
	for i := range s.cluster.Len() {
		n := s.cluster.Node(i)
		if n == nil || !s.counts(n) || !affinity.MatchNode(s.pod, n) {
			continue
		}
		for p := range s.cluster.Pods(i) {
			for k, key := range s.keys {
				if p.Namespace == s.pod.Namespace && p.DeletionTimestamp == nil && s.selectors[k].Matches(labels.Set(p.Labels)) {
					out[domain{key, n.Labels[key]}]++
				}
			}
		}
	}
	return out
}
