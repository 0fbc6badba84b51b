package spread

import (
	"fmt"
	"math"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/engine"
)

// Soft is the score: a pod's constraints with whenUnsatisfiable ScheduleAnyway, compiled for many clusters. It is immutable
// and safe for concurrent use.
type Soft interface {
	// Skip reports whether the plugin skips the pod: the pod has no such constraints.
	Skip() bool
	// Defaulted reports whether the constraints are the profile's and not the pod's.
	Defaulted() bool
	// Counts reports whether a constraint counts a running pod: not a pod of another namespace, nor a pod that is being deleted.
	Counts(pod *v1.Pod) bool
	// Count counts the pods of a cluster. O(nodes + matching pod sets) with the optional methods of [Cluster], otherwise O(nodes
	// x keys + pods x selectors).
	Count(c Cluster) SoftState
	// Report returns what [HardState.Report] would return if the ScheduleAnyway constraints were DoNotSchedule. Room is how many
	// pods a domain takes before its skew is larger than maxSkew; the score does not forbid more. For the system defaults a
	// node counts for each constraint whose key it has. Every call counts the cluster.
	Report(c Cluster) []Report
}

// softEvaluator is a Soft. The zero value gives every node 0.
type softEvaluator struct {
	evaluator
	requireAll bool // nodes that lack a key are ignored
}

// CompileSoft compiles the ScheduleAnyway constraints of a pod, or of the profile's defaults when the pod has no
// constraints at all (a pod with only DoNotSchedule constraints gets no defaults). CompileSoft ignores every constraint whose
// whenUnsatisfiable is not ScheduleAnyway, also a constraint without whenUnsatisfiable. With [Options.Strict] a constraint
// whose whenUnsatisfiable is absent or unknown is an error.
//
// Any other error says that a label selector cannot be converted. v1.37 then ends the whole attempt with this text after `running
// PreScore plugin "PodTopologySpread": `. The returned Soft is nil then. Soft keeps the pod, which must not change
// afterwards. A nil pod panics.
//
// Rule: documentation, "Pod Topology Spread Constraints" (whenUnsatisfiable: ScheduleAnyway). O(constraints).
func CompileSoft(pod *v1.Pod, o Options) (Soft, error) {
	p, err := compileSoft(pod, &o)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func compileSoft(pod *v1.Pod, o *Options) (*softEvaluator, error) {
	e, err := compile(pod, v1.ScheduleAnyway, o)
	if err != nil {
		return nil, fmt.Errorf("calculating preScoreState: obtaining pod's soft topology spread constraints: %w", err)
	}
	return &softEvaluator{e, len(pod.Spec.TopologySpreadConstraints) > 0 || !o.Defaults.system()}, nil
}

// SoftState has the number of matching pods in every domain, and for the hostname on every node, for the constraints of a
// [Soft]. Scores depend on the feasible nodes: call Weigh with them, then Raw. Raw is safe for concurrent use, the other
// methods are not. For changes of nodes call Count again.
type SoftState interface {
	// Name returns "PodTopologySpread".
	Name() string
	// Add counts a pod that came to slot i, and Remove takes back a pod that left it: the state then equals a new Count (rule S5.6).
	Add(pod *v1.Pod, i int)
	Remove(pod *v1.Pod, i int)
	// Weigh sets the weights of the constraints from the feasible nodes (rule S4.3). counts[j] is how many feasible nodes have
	// the signature of slots[j]; nil means that slots has every feasible node. The weight of a constraint is ln(size + 2). size
	// is the number of domains among the feasible nodes that are not ignored; for the hostname it is the number of those nodes.
	// Call Weigh before Raw, once for each set of feasible nodes. O(slots x constraints), no allocation.
	Weigh(slots, counts []int32)
	// Raw returns the raw score of a feasible node (rule S4.5). It is the sum, over the constraints whose key the node has, of
	// matching pods in its domain (for the hostname: on the node) * weight + maxSkew - 1, in floating point, rounded half away
	// from zero. Smaller is better. An ignored node has 0. O(constraints), no allocation.
	Raw(i int) int64
	// Normalize returns the normalized score, 0 to 100, of a node that is not ignored (rule S4.6): 100 * (hi + lo - raw) / hi
	// in integers, and 100 when hi is 0 or less. lo and hi are the smallest and largest raw score of the feasible nodes that
	// are not ignored. The best node gets 100; the worst node gets 0 only when lo is 0.
	Normalize(raw, lo, hi int64) int64
}

type softState struct {
	counting
	soft    *softEvaluator
	cluster Cluster
	cols    []softColumn
	ignores bool // a slot that lacks a key is ignored

	pass uint32 // number of Weigh calls
}

// softColumn is the state of one constraint.
type softColumn struct {
	column
	hostname bool
	skewBase float64 // maxSkew - 1
	selector uint8
	counts   []int32 // by domain; by slot for the hostname
	lacking  int32   // the domain "" of nodes that lack the key and are not ignored; -1 when there is none

	marks  []uint32 // by domain: the pass in which it was last seen
	size   int64    // number of domains among the feasible nodes
	weight float64
}

func (p *softEvaluator) Count(c Cluster) SoftState { return p.CountIn(c, nil) }

// CountIn is Count with counts in a memory, to which Release gives them back.
func (p *softEvaluator) CountIn(c Cluster, m *engine.Memory) SoftState { return p.counted(c, m) }

// Release gives the counts to a memory. The state is not used afterwards.
func (s *softState) Release(m *engine.Memory) {
	for k := range s.cols {
		m.Keep(s.cols[k].counts)
	}
	s.cols = nil
}

func (p *softEvaluator) counted(c Cluster, m *engine.Memory) *softState {
	s := &softState{soft: p, cluster: c}
	if p.Skip() {
		return s
	}
	columns := p.layOut(c, p.requireAll)
	s.cols = make([]softColumn, len(columns))
	for k := range s.cols {
		col, x := &s.cols[k], &p.constraints[k]
		s.ignores = s.ignores || p.requireAll && columns[k].have < c.Len()
		*col = softColumn{column: columns[k], hostname: x.key == v1.LabelHostname, skewBase: float64(x.maxSkew - 1), selector: x.selector, lacking: -1}
		if col.hostname {
			col.counts = m.Counts(c.Len())
			continue
		}
		if !p.requireAll {
			p.giveLackingDomain(c, k, col)
		}
		col.counts = m.Counts(col.domains)
		col.marks = make([]uint32, col.domains)
	}
	for k := range s.cols {
		s.single = append(s.single, s.cols[k].hostname || s.cols[k].unique)
	}
	p.selectors.visit(c, func(mask uint32, slot, n int32) { s.tally(mask, int(slot), n) })
	return s
}

// giveLackingDomain puts the nodes without the key, which system defaults do not ignore, into the domain of the value "",
// because a missing label reads as "".
func (p *softEvaluator) giveLackingDomain(c Cluster, k int, col *softColumn) {
	var into []int32
	for i, d := range col.ids {
		if d >= 0 || c.Node(i) == nil {
			continue
		}
		if into == nil {
			into = append([]int32(nil), col.into...)
			col.lacking = p.emptyValue(c, k, &col.column)
			if int(col.lacking) == col.domains {
				col.domains++
			}
			col.unique = false
		}
		if p.inclusion.exclusion(c.Node(i))&p.constraints[k].honours == 0 {
			into[i] = col.lacking
		}
	}
	if into != nil {
		col.into = into
	}
}

// emptyValue returns the domain of the label value "", or the next free domain.
func (p *softEvaluator) emptyValue(c Cluster, k int, col *column) int32 {
	known := make([]bool, col.domains)
	for i, d := range col.ids {
		if d >= 0 && !known[d] {
			known[d] = true
			if c.Node(i).Labels[p.constraints[k].key] == "" {
				return d
			}
		}
	}
	return int32(col.domains)
}

func (s *softState) tally(mask uint32, i int, n int32) {
	for k := range s.cols {
		col := &s.cols[k]
		if mask>>col.selector&1 == 0 {
			continue
		}
		if col.hostname {
			col.counts[i] += n
		} else if d := col.into[i]; d >= 0 {
			col.counts[d] += n
		}
	}
}

func (s *softState) Add(pod *v1.Pod, i int) { s.apply(s.soft.effect(pod), i, 1) }

func (s *softState) Remove(pod *v1.Pod, i int) { s.apply(s.soft.effect(pod), i, -1) }

// OfLabels is that of [engine.Moving].
func (s *softState) OfLabels(pod *v1.Pod) engine.Move {
	e := s.soft.effect(pod)
	if e == 0 {
		return nil
	}
	return func(i int, n int32) { s.apply(e, i, n) }
}

// apply adds n pods of one effect to the node of slot i, or removes -n pods. The state stays equal to a new Count (rule
// S5.6). O(constraints), no allocation.
func (s *softState) apply(e effect, i int, n int32) {
	if e != 0 && len(s.cols) > 0 && uint(i) < uint(len(s.cols[0].ids)) {
		s.tally(uint32(e), i, n)
	}
}

// skips reports whether every node gets 0 without normalization: there are no constraints, or no nodes (rule S4.1).
func (s *softState) skips() bool { return len(s.cols) == 0 || len(s.cols[0].ids) == 0 }

// Ignored reports whether the node of slot i lacks a topology key of the constraints (rule S4.2). Its raw and normalized
// scores are 0, and it does not count for the smallest and largest raw score. For the system defaults no node is ignored.
func (s *softState) Ignored(i int) bool {
	if !s.ignores {
		return false
	}
	for k := range s.cols {
		if s.cols[k].ids[i] < 0 {
			return true
		}
	}
	return false
}

func (s *softState) Weigh(slots, counts []int32) {
	s.begin()
	var nodes int64 // number of feasible nodes that are not ignored
	for j, i := range slots {
		n := int64(1)
		if counts != nil {
			n = int64(counts[j])
		}
		if !s.Ignored(int(i)) {
			nodes += n
			s.see(int(i), n)
		}
	}
	for k := range s.cols {
		col := &s.cols[k]
		if col.hostname {
			col.size = nodes
		}
		col.weight = math.Log(float64(col.size + 2))
	}
}

// begin forgets the domains of the last Weigh.
func (s *softState) begin() {
	if s.pass++; s.pass == 0 { // marks from 2^32 passes ago would look new
		s.pass = 1
		for k := range s.cols {
			clear(s.cols[k].marks)
		}
	}
	for k := range s.cols {
		s.cols[k].size = 0
	}
}

// see adds the domains of n feasible nodes that have the signature of slot i and are not ignored.
func (s *softState) see(i int, n int64) {
	for k := range s.cols {
		col := &s.cols[k]
		if col.hostname {
			continue
		}
		if col.unique {
			col.size += n
			continue
		}
		d := col.ids[i]
		if d < 0 {
			d = col.lacking
		}
		if d >= 0 && col.marks[d] != s.pass {
			col.marks[d] = s.pass
			col.size++
		}
	}
}

func (s *softState) Raw(i int) int64 {
	var sum float64
	for k := range s.cols {
		col := &s.cols[k]
		d := col.ids[i]
		if d < 0 {
			if s.soft.requireAll {
				return 0
			}
			continue
		}
		if col.hostname {
			d = int32(i)
		}
		sum += float64(col.counts[d])*col.weight + col.skewBase
	}
	return int64(math.Round(sum))
}

func (s *softState) Normalize(raw, lo, hi int64) int64 {
	if hi <= 0 {
		return 100
	}
	return 100 * (hi + lo - raw) / hi
}

// normalizeAll replaces the raw scores of the feasible slots by their normalized scores. It changes nothing when s.skips.
func (s *softState) normalizeAll(slots []int, raw []int64) {
	if s.skips() {
		return
	}
	lo, hi := int64(math.MaxInt64), int64(0)
	for j, i := range slots {
		if !s.Ignored(i) {
			lo, hi = min(lo, raw[j]), max(hi, raw[j])
		}
	}
	for j, i := range slots {
		if s.Ignored(i) {
			raw[j] = 0
		} else {
			raw[j] = s.Normalize(raw[j], lo, hi)
		}
	}
}

// Scores returns the scores, 0 to 100, of feasible slots in their order, without the plugin's weight. It compiles and
// counts for this one answer. All scores are 0 when the pod has no soft constraint. The error is that of [CompileSoft].
// O(nodes + pods). A nil pod or cluster panics.
func Scores(pod *v1.Pod, c Cluster, feasible []int, o Options) ([]int64, error) {
	o.askCluster(c)
	p, err := compileSoft(pod, &o)
	if err != nil {
		return nil, err
	}
	s := p.counted(c, nil)
	out := make([]int64, len(feasible))
	slots := make([]int32, len(feasible))
	for j, i := range feasible {
		slots[j] = int32(i)
	}
	s.Weigh(slots, nil)
	for j, i := range feasible {
		out[j] = s.Raw(i)
	}
	s.normalizeAll(feasible, out)
	return out, nil
}
