package affinity

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// State is the filter and score InterPodAffinity for one pod and one cluster: counts by topology key and domain. Check, Raw
// and the other reading methods are safe for concurrent use; Add and Remove are not. After a change of the cluster, call Count again.
type State interface {
	// Add counts a pod that came to slot i, and Remove takes back a pod that left it: the state then equals a new Count (rule A13.2).
	Add(pod *v1.Pod, i int)
	Remove(pod *v1.Pod, i int)
	// Explain returns the numbers behind Check of slot i (rule A13.6): each topology key of the pod's required affinity terms,
	// then of its required anti-affinity terms, then of required anti-affinity terms of running pods that match the pod. The
	// result is nil when [CompilePods] returned an error, and has no counts for a free slot. Explain allocates.
	Explain(i int) []Explanation
	// Selected returns the indices of the pod's required affinity terms, and of its required anti-affinity terms, that select another pod by
	// namespace and labels, wherever that pod runs. The lists are empty when [CompilePods] returned an error. p must not be nil.
	Selected(p *v1.Pod) (affinity, anti []int)
	// Name returns "InterPodAffinity".
	Name() string
	// Check returns the verdict on slot i (rules A8.1 to A8.4). The first rule that rejects decides. It allocates nothing.
	//
	//  1. 5 with [resources.Unresolvable]: required affinity does not hold. It holds when the node has the topology key of each
	//     term and each of these domains has a running pod that matches all terms. It also holds for the first pod of a group:
	//     no domain has such a running pod, the pod matches all its own terms, and the node has all the keys.
	//  2. 6: a pod in the node's domain matches a required anti-affinity term of the pod. A node without the topology key
	//     cannot fail the term.
	//  3. 7: a required anti-affinity term of a pod in the node's domain matches the pod.
	//
	// When [CompilePods] returned an error every slot gets 8 with resources.Unresolvable. A free slot is rejected.
	Check(i int) resources.Verdict
	// Raw returns the raw score of slot i: the sum of the weights counted in its domains, over the topology keys that the node
	// has (rule A9.5). It may be negative. It allocates nothing.
	Raw(i int) int64
	// Skip reports whether v1.37.2 does not run the filter for this pod: the pod has no required terms and no running pod's
	// required anti-affinity matches it (rule A8.8). Check then allows every node.
	Skip() bool
	// SkipScore reports whether v1.37.2 does not score this pod: no term contributes to any score, not even 0, or
	// IgnorePreferredTermsOfExistingPods applies (rules A9.1 and A9.4). Raw is then 0 on every slot.
	SkipScore() bool
	// Normalize returns the normalized score, 0 to 100 (rule A9.6): 100 * (raw-lo)/(hi-lo) in float64, which divides, then
	// multiplies, then truncates. lo and hi are the smallest and largest raw score of the feasible nodes. The result is 0 when
	// they are equal.
	Normalize(raw, lo, hi int64) int64
	// Reasons returns v1.37.2's texts of a verdict, nil for 0.
	Reasons(v resources.Verdict) []string
	// NewTrial returns a cheap copy for what-if questions, in constant time. Its counts change by these rules (A8.5 to A8.7):
	//
	//  1. When Skip holds at NewTrial or Reset, the trial ignores every change.
	//  2. Removing a pod that was not counted leaves -1.
	//  3. A count that becomes 0 does not exist any more. The rule for the first pod of a group can then apply.
	NewTrial() Trial
}

type state struct {
	evaluator *podEvaluator
	cluster   Cluster

	pairs                                    uint64 // the pod's label pairs (see guard)
	affinity, anti, preferred, preferredAnti []bound
	self                                     bool // the pod matches all its required affinity terms

	columns                []column
	affinityCols, antiCols []int // columns of the required terms, one for each key
	affinityCells          int   // number of counts that are not 0
	existingCells          int
	marks                  int64 // number of contributions to the score

	scratch effect // memo of Count
}

// column returns the column of a key. It makes the column at the first call for the key.
func (s *state) column(key string) *column { return &s.columns[s.columnIndex(key)] }

func (s *state) columnIndex(key string) int {
	for i := range s.columns {
		if s.columns[i].key == key {
			return i
		}
	}
	s.columns = append(s.columns, newColumn(s.cluster, key))
	return len(s.columns) - 1
}

// namespaceLabels returns the labels of the incoming pod's namespace, nil for an unknown namespace.
func (s *state) namespaceLabels() map[string]string {
	labels, _ := labelsOf(s.evaluator.pod.Namespace, s.cluster)
	return labels
}

func (s *state) Name() string { return "InterPodAffinity" }

func (s *state) Check(i int) resources.Verdict {
	if s.evaluator.err != nil {
		return unparsable
	}
	unmet := false
	for _, k := range s.affinityCols {
		col := &s.columns[k]
		d := col.domain(i)
		if d < 0 {
			return podAffinityUnmet
		}
		if countIn(col.affinity, d) <= 0 {
			unmet = true
		}
	}
	if unmet && !(s.self && s.affinityCells == 0) {
		return podAffinityUnmet
	}
	for _, k := range s.antiCols {
		col := &s.columns[k]
		if len(col.anti) > 0 && countIn(col.anti, col.domain(i)) > 0 {
			return podAntiAffinity
		}
	}
	for k := range s.columns {
		col := &s.columns[k]
		if len(col.existing) > 0 && countIn(col.existing, col.domain(i)) > 0 {
			return existingAntiAffinity
		}
	}
	if s.cluster.Node(i) == nil {
		return podAffinityUnmet
	}
	return 0
}

func (s *state) Raw(i int) int64 {
	var sum int64
	for k := range s.columns {
		col := &s.columns[k]
		if len(col.score) > 0 {
			sum += countIn(col.score, col.domain(i))
		}
	}
	return sum
}

func (s *state) Skip() bool {
	return s.evaluator.err == nil && len(s.affinity) == 0 && len(s.anti) == 0 && s.existingCells == 0
}

func (s *state) SkipScore() bool { return s.marks == 0 }

func (s *state) Normalize(raw, lo, hi int64) int64 {
	if hi <= lo {
		return 0
	}
	return int64(100 * (float64(raw-lo) / float64(hi-lo)))
}

func (s *state) Reasons(v resources.Verdict) []string { return reasonTexts(v) }
