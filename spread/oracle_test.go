package spread

import (
	"math"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/taints"
)

// The oracle evaluates the rules directly on API objects, with maps keyed by label values. It reuses nothing.

// rule is an effective constraint and its selector.
type rule struct {
	v1.TopologySpreadConstraint
	matches labels.Selector
}

// rulesOf returns the effective constraints of an action.
func rulesOf(pod *v1.Pod, action v1.UnsatisfiableConstraintAction, o Options) (out []rule) {
	list, derived := pod.Spec.TopologySpreadConstraints, (*metav1.LabelSelector)(nil)
	if len(list) == 0 {
		if list = o.Defaults.Constraints; o.Defaults.Type != ListDefaulting {
			list = []v1.TopologySpreadConstraint{
				{MaxSkew: 3, TopologyKey: "kubernetes.io/hostname", WhenUnsatisfiable: "ScheduleAnyway"},
				{MaxSkew: 5, TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: "ScheduleAnyway"}}
		}
		if derived = ownersSelector(pod, o.Owners); derived == nil {
			return nil
		}
	}
	for _, c := range list {
		if c.WhenUnsatisfiable != action {
			continue
		}
		sel := c.LabelSelector
		if derived != nil {
			sel = derived
		} else if sel != nil {
			sel = sel.DeepCopy()
			for _, key := range c.MatchLabelKeys {
				if v, ok := pod.Labels[key]; ok {
					sel.MatchExpressions = append(sel.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: "In", Values: []string{v}})
				}
			}
		}
		s, err := metav1.LabelSelectorAsSelector(sel)
		if err != nil {
			panic(err)
		}
		out = append(out, rule{c, s})
	}
	return out
}

func ownersSelector(pod *v1.Pod, owners Owners) *metav1.LabelSelector {
	if owners == nil {
		return nil
	}
	sel := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	for s := range owners.Services(pod.Namespace) {
		fits := s.Spec.Selector != nil
		for k, v := range s.Spec.Selector {
			have, ok := pod.Labels[k]
			fits = fits && ok && have == v
		}
		if fits {
			for k, v := range s.Spec.Selector {
				sel.MatchLabels[k] = v
			}
		}
	}
	for _, ref := range pod.OwnerReferences {
		if ref.Controller != nil && *ref.Controller && ref.APIVersion == "apps/v1" && ref.Kind == "ReplicaSet" {
			if rs := owners.ReplicaSet(pod.Namespace, ref.Name); rs != nil && rs.Spec.Selector != nil {
				for k, v := range rs.Spec.Selector.MatchLabels {
					sel.MatchExpressions = append(sel.MatchExpressions, metav1.LabelSelectorRequirement{Key: k, Operator: "In", Values: []string{v}})
				}
				sel.MatchExpressions = append(sel.MatchExpressions, rs.Spec.Selector.MatchExpressions...)
			}
		}
	}
	if len(sel.MatchLabels)+len(sel.MatchExpressions) == 0 {
		return nil
	}
	return sel
}

func hasAll(node *v1.Node, rules []rule) bool {
	for _, r := range rules {
		if _, ok := node.Labels[r.TopologyKey]; !ok {
			return false
		}
	}
	return true
}

func (r *rule) includes(pod *v1.Pod, node *v1.Node) bool {
	if r.NodeAffinityPolicy == nil || *r.NodeAffinityPolicy == "Honor" {
		if required, _ := affinity.CompileRequired(pod); !required.Matches(node) {
			return false
		}
	}
	if r.NodeTaintsPolicy != nil && *r.NodeTaintsPolicy == "Honor" {
		return taints.Untolerated(node, pod.Spec.Tolerations, taints.Options{}) == nil
	}
	return true
}

// on returns the number of matching pods on a slot.
func (r *rule) on(pod *v1.Pod, c Cluster, i int) (n int) {
	if r.matches.Empty() {
		return 0
	}
	for p := range c.Pods(i) {
		if p.Namespace == pod.Namespace && p.DeletionTimestamp == nil && r.matches.Matches(labels.Set(p.Labels)) {
			n++
		}
	}
	return n
}

// slowHard is the filter: the count of every domain by constraint.
type slowHard struct {
	pod    *v1.Pod
	c      Cluster
	rules  []rule
	counts []map[string]int
}

func newSlowHard(pod *v1.Pod, c Cluster, o Options) *slowHard {
	s := &slowHard{pod: pod, c: c, rules: rulesOf(pod, "DoNotSchedule", o)}
	for _, r := range s.rules {
		m := map[string]int{}
		for i := range c.Len() {
			if node := c.Node(i); node != nil && hasAll(node, s.rules) && r.includes(pod, node) {
				m[node.Labels[r.TopologyKey]] += r.on(pod, c, i)
			}
		}
		for _, node := range o.PlannedNodes {
			if hasAll(node, s.rules) && r.includes(pod, node) {
				m[node.Labels[r.TopologyKey]] += 0
			}
		}
		s.counts = append(s.counts, m)
	}
	return s
}

func (s *slowHard) check(i int) resources.Verdict {
	node := s.c.Node(i)
	if node == nil {
		return missingLabel
	}
	for k, r := range s.rules {
		value, ok := node.Labels[r.TopologyKey]
		if !ok {
			return missingLabel
		}
		least := math.MaxInt
		for _, n := range s.counts[k] {
			least = min(least, n)
		}
		if len(s.counts[k]) == 0 || r.MinDomains != nil && len(s.counts[k]) < int(*r.MinDomains) {
			least = 0
		}
		self := 0
		if r.matches.Matches(labels.Set(s.pod.Labels)) {
			self = 1
		}
		if s.counts[k][value]+self-least > int(r.MaxSkew) {
			return skewExceeded
		}
	}
	return 0
}

// whatIf changes the counts as v1.36.3's AddPod (n 1) and RemovePod (n -1) do.
func (s *slowHard) whatIf(u *v1.Pod, i, n int) {
	node := s.c.Node(i)
	if node == nil || u.Namespace != s.pod.Namespace || !hasAll(node, s.rules) {
		return
	}
	for k, r := range s.rules {
		if r.matches.Matches(labels.Set(u.Labels)) && r.includes(s.pod, node) {
			s.counts[k][node.Labels[r.TopologyKey]] += n
		}
	}
}

// slowScores returns the raw and normalised scores of feasible slots.
func slowScores(pod *v1.Pod, c Cluster, o Options, feasible []int) (raw, score []int64) {
	rules := rulesOf(pod, "ScheduleAnyway", o)
	raw, score = make([]int64, len(feasible)), make([]int64, len(feasible))
	if len(rules) == 0 {
		return raw, score
	}
	requireAll := len(pod.Spec.TopologySpreadConstraints) > 0 || o.Defaults.Type == ListDefaulting
	ignored := map[int]bool{}
	for _, i := range feasible {
		ignored[i] = requireAll && !hasAll(c.Node(i), rules)
	}
	counts := make([]map[string]int, len(rules))
	weights := make([]float64, len(rules))
	for k, r := range rules {
		counts[k] = map[string]int{}
		left := 0
		for _, i := range feasible {
			if !ignored[i] {
				left++
				counts[k][c.Node(i).Labels[r.TopologyKey]] = 0
			}
		}
		size := len(counts[k])
		if r.TopologyKey == "kubernetes.io/hostname" {
			size = left
		}
		weights[k] = math.Log(float64(size + 2))
		for i := range c.Len() {
			node := c.Node(i)
			if node == nil || requireAll && !hasAll(node, rules) || !r.includes(pod, node) {
				continue
			}
			if _, ok := counts[k][node.Labels[r.TopologyKey]]; ok {
				counts[k][node.Labels[r.TopologyKey]] += r.on(pod, c, i)
			}
		}
	}
	lo, hi := int64(math.MaxInt64), int64(0)
	for j, i := range feasible {
		if ignored[i] {
			continue
		}
		var sum float64
		for k, r := range rules {
			if value, ok := c.Node(i).Labels[r.TopologyKey]; ok {
				n := counts[k][value]
				if r.TopologyKey == "kubernetes.io/hostname" {
					n = r.on(pod, c, i)
				}
				sum += float64(n)*weights[k] + float64(r.MaxSkew-1)
			}
		}
		raw[j] = int64(math.Round(sum))
		lo, hi = min(lo, raw[j]), max(hi, raw[j])
	}
	for j, i := range feasible {
		switch {
		case ignored[i]:
		case hi == 0:
			score[j] = 100
		default:
			score[j] = 100 * (hi + lo - raw[j]) / hi
		}
	}
	return raw, score
}
