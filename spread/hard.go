package spread

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/resources"
)

const pluginName = "PodTopologySpread"

// The verdicts of [Check].
const (
	missingLabel resources.Verdict = 1 | resources.Unresolvable // the node lacks a topology key; preemption cannot help
	skewExceeded resources.Verdict = 2                          // the pod would make the skew larger than maxSkew
)

// counting is the common part of HardState and SoftState.
type counting struct {
	single []bool // by constraint: whether its number in a signature is a count of the node
}

// Name returns "PodTopologySpread".
func (counting) Name() string { return pluginName }

// Hard is the filter: a pod's constraints with whenUnsatisfiable DoNotSchedule, compiled for many clusters. It is immutable
// and safe for concurrent use. The zero value allows every node.
type Hard struct{ evaluator }

// CompileHard compiles the DoNotSchedule constraints of a pod, or of the profile's defaults when the pod has no constraints
// at all. CompileHard ignores every constraint whose whenUnsatisfiable is not DoNotSchedule. The field has no default:
// CompileHard and [CompileSoft] both ignore a constraint without whenUnsatisfiable, as v1.37's scheduler does. With
// [Options.Strict] such a constraint is an error. Validate returns the error with which the API server refuses such a pod.
//
// Any other error says that a label selector cannot be converted. v1.37 then ends the whole attempt with this text after `running
// PreFilter plugin "PodTopologySpread": `. The returned Hard is nil then. Hard keeps the pod, which must not change
// afterwards. A nil pod panics.
//
// Rule: documentation, "Pod Topology Spread Constraints" (Spread constraint definition); API field
// spec.topologySpreadConstraints. O(constraints).
func CompileHard(pod *v1.Pod, o Options) (*Hard, error) {
	h, err := compileHard(pod, &o)
	if err != nil {
		return nil, fmt.Errorf("get constraints from pod: %w", err)
	}
	return h, nil
}

func compileHard(pod *v1.Pod, o *Options) (*Hard, error) {
	e, err := compile(pod, v1.DoNotSchedule, o)
	if err != nil {
		return nil, fmt.Errorf("obtaining pod's hard topology spread constraints: %w", err)
	}
	return &Hard{e}, nil
}

// HardState has the number of matching pods in every domain of a cluster, for the constraints of a [Hard]. Check and the
// other reading methods are safe concurrently; Apply is not.
//
// Apply keeps the state equal to a new Count when pods come or leave. For nodes, call Count again: when a node is added or
// removed, or when its labels or taints change.
type HardState struct {
	counting
	hard    *Hard
	cluster Cluster
	slots   int
	cols    []hardColumn
}

// hardColumn is the state of one constraint. Invariants: counts[d] is 0 for an absent domain. low is the minimum of the
// other counts, or 0 when there are fewer of them than minDomains.
type hardColumn struct {
	column
	self, maxSkew int32
	low           int32 // the global minimum
	selector      uint8
	enough        bool     // at least minDomains domains exist
	exist         int      // number of domains with a counted or planned node
	extra         []string // values of the domains that only planned nodes have; the first is number domains
	counts        []int32
	absent        []bool // domains whose nodes are all excluded; nil or all false when there is no such domain
	smallest      minimum
}

// Count counts the pods of a cluster. O(nodes + matching pod sets) with the optional methods of [Cluster], otherwise O(nodes
// x keys + pods x selectors).
func (h *Hard) Count(c Cluster) *HardState {
	s := &HardState{hard: h, cluster: c, slots: c.Len()}
	if h.Skip() {
		return s
	}
	columns := h.layOut(c, true)
	s.cols = make([]hardColumn, len(columns))
	for k := range s.cols {
		col, x := &s.cols[k], &h.constraints[k]
		*col = hardColumn{column: columns[k], self: h.selfOf(k), maxSkew: x.maxSkew, selector: x.selector}
		col.findDomains()
	}
	h.addPlanned(s)
	h.selectors.visit(c, func(mask uint32, slot, n int32) {
		for k := range s.cols {
			col := &s.cols[k]
			if mask>>col.selector&1 != 0 {
				if d := col.into[slot]; d >= 0 {
					col.counts[d] += n
				}
			}
		}
	})
	for k := range s.cols {
		s.cols[k].settle(h.constraints[k].minDomains)
		s.single = append(s.single, s.cols[k].unique)
	}
	return s
}

// findDomains makes the counts, and marks the domains without a counted node.
func (col *hardColumn) findDomains() {
	col.counts = make([]int32, col.domains)
	if col.unique && col.domains == col.have && col.whole() {
		col.exist = col.domains
		return
	}
	col.absent = make([]bool, col.domains)
	for d := range col.absent {
		col.absent[d] = true
	}
	for _, d := range col.into {
		if d >= 0 && col.absent[d] {
			col.absent[d] = false
			if col.exist++; col.exist == col.domains {
				col.absent = nil
				return
			}
		}
	}
}

// addPlanned adds the domains of planned nodes.
func (h *Hard) addPlanned(s *HardState) {
	var known []map[string]int32
	for _, node := range h.planned {
		if node == nil || !h.hasKeys(node.Labels) {
			continue
		}
		if known == nil {
			known = s.domainNumbers()
		}
		bits := h.inclusion.exclusion(node)
		for k := range s.cols {
			if bits&h.constraints[k].honours != 0 {
				continue
			}
			col, value := &s.cols[k], node.Labels[h.constraints[k].key]
			d, ok := known[k][value]
			if !ok {
				d = int32(len(col.counts))
				known[k][value] = d
				col.counts = append(col.counts, 0)
				col.extra = append(col.extra, value)
				if col.absent != nil {
					col.absent = append(col.absent, false)
				}
				col.exist++
			} else if col.absent != nil && col.absent[d] {
				col.absent[d] = false
				col.exist++
			}
		}
	}
}

// domainNumbers returns, for each constraint, the domain of each label value in the cluster.
func (s *HardState) domainNumbers() []map[string]int32 {
	out := make([]map[string]int32, len(s.cols))
	for k := range s.cols {
		out[k] = map[string]int32{}
		used := make([]bool, s.cols[k].domains)
		for _, d := range s.cols[k].ids {
			if d >= 0 {
				used[d] = true
			}
		}
		for d, value := range s.hard.values(s.cluster, k, &s.cols[k].column) {
			if used[d] {
				out[k][value] = int32(d)
			}
		}
	}
	return out
}

func (col *hardColumn) settle(minDomains int32) {
	col.enough = !podinfo.TooFewDomains(col.exist, minDomains)
	for d, n := range col.counts {
		if col.absent == nil || !col.absent[d] {
			col.smallest.enter(n)
		}
	}
	col.renew()
}

func (col *hardColumn) renew() {
	if col.enough {
		col.low = col.smallest.of(col.counts, col.absent)
	}
}

// add changes the count of domain d by n.
func (col *hardColumn) add(d, n int32) {
	from := col.counts[d]
	col.counts[d] = from + n
	col.smallest.move(from, from+n)
	col.renew()
}

// Reasons returns kube-scheduler's text of a verdict, nil for 0.
func (s *HardState) Reasons(v resources.Verdict) []string {
	switch v {
	case missingLabel:
		return []string{"node(s) didn't match pod topology spread constraints (missing required label)"}
	case skewExceeded:
		return []string{"node(s) didn't match pod topology spread constraints"}
	}
	return nil
}

// Check returns 0 when the constraints allow the node of slot i. The first constraint that rejects, in the order of the pod's
// list, decides the verdict. A constraint rejects
//
//   - a node without the topology key; the verdict has the bit [resources.Unresolvable];
//   - a node where pods matching in its domain + (1 if the pod matches itself) - global minimum > maxSkew.
//
// A domain that does not count has 0 pods. Check rejects a free slot and a slot that does not exist as nodes without the
// key, also without constraints. O(constraints), no allocation.
func (s *HardState) Check(i int) resources.Verdict {
	if len(s.cols) == 0 {
		return s.free(i)
	}
	for k := range s.cols {
		col := &s.cols[k]
		if uint(i) >= uint(len(col.ids)) || col.ids[i] < 0 {
			return missingLabel
		}
		if int64(col.counts[col.ids[i]])+int64(col.self)-int64(col.low) > int64(col.maxSkew) {
			return skewExceeded
		}
	}
	return 0
}

// Apply adds n pods of one effect to the node of slot i, or removes -n pods. The state stays equal to a new Count of the
// cluster with those pods (rule S5.3). O(constraints), amortised. It allocates only when a count becomes larger than ever
// before.
func (s *HardState) Apply(e Effect, i int, n int32) {
	if e == 0 || n == 0 {
		return
	}
	for k := range s.cols {
		col := &s.cols[k]
		if uint32(e)>>col.selector&1 != 0 && uint(i) < uint(len(col.into)) && col.into[i] >= 0 {
			col.add(col.into[i], n)
		}
	}
}

// clone returns an independent copy. O(domains).
func (s *HardState) clone() *HardState {
	out := *s
	out.cols = make([]hardColumn, len(s.cols))
	for k := range s.cols {
		out.cols[k] = s.cols[k].clone()
	}
	return &out
}

func (col *hardColumn) clone() hardColumn {
	out := *col
	out.counts = append([]int32(nil), col.counts...)
	out.smallest = col.smallest.clone()
	return out
}

// free returns missingLabel for a slot without a node, otherwise 0.
func (s *HardState) free(i int) resources.Verdict {
	if uint(i) >= uint(s.slots) || s.cluster.Node(i) == nil {
		return missingLabel
	}
	return 0
}

// Check returns the verdict on the node of slot i for a pod. It compiles and counts for this one answer; use [CompileHard]
// and Count for more answers. The error is that of CompileHard. O(nodes + pods). A nil pod or cluster panics.
func Check(pod *v1.Pod, c Cluster, i int, o Options) (resources.Verdict, error) {
	o.askCluster(c)
	h, err := CompileHard(pod, o)
	if err != nil {
		return 0, err
	}
	return h.Count(c).Check(i), nil
}
