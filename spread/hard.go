package spread

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/internal/engine"
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
// and safe for concurrent use.
type Hard interface {
	// Skip reports whether the plugin skips the pod: the pod has no such constraints.
	Skip() bool
	// Defaulted reports whether the constraints are the profile's and not the pod's.
	Defaulted() bool
	// Counts reports whether a constraint counts a running pod: not a pod of another namespace, nor a pod that is being deleted.
	Counts(pod *v1.Pod) bool
	// Count counts the pods of a cluster. O(nodes + matching pod sets) with the optional methods of [Cluster], otherwise O(nodes
	// x keys + pods x selectors).
	Count(c Cluster) HardState
}

// hardEvaluator is a Hard. The zero value allows every node.
type hardEvaluator struct{ evaluator }

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
func CompileHard(pod *v1.Pod, o Options) (Hard, error) {
	h, err := compileHard(pod, &o)
	if err != nil {
		return nil, fmt.Errorf("get constraints from pod: %w", err)
	}
	return h, nil
}

func compileHard(pod *v1.Pod, o *Options) (*hardEvaluator, error) {
	e, err := compile(pod, v1.DoNotSchedule, o)
	if err != nil {
		return nil, fmt.Errorf("obtaining pod's hard topology spread constraints: %w", err)
	}
	return &hardEvaluator{e}, nil
}

// HardState has the number of matching pods in every domain of a cluster, for the constraints of a [Hard]. Check and the
// other reading methods are safe concurrently; Add and Remove are not. When a node is added or removed, or its labels or taints
// change, call Count again.
type HardState interface {
	// Name returns "PodTopologySpread".
	Name() string
	// Add counts a pod that came to slot i, and Remove takes back a pod that left it: the state then equals a new Count (rule S5.3).
	Add(pod *v1.Pod, i int)
	Remove(pod *v1.Pod, i int)
	// Explain returns the numbers of every constraint on the node of slot i, in order. It returns nil for a free slot and
	// without constraints. Check rejects with the first constraint that does not allow the node. O(constraints).
	Explain(i int) []Skew
	// Reasons returns kube-scheduler's text of a verdict, nil for 0.
	Reasons(v resources.Verdict) []string
	// Check returns 0 when the constraints allow the node of slot i. The first constraint that rejects, in the order of the pod's
	// list, decides the verdict. A constraint rejects
	//
	//   - a node without the topology key; the verdict has the bit [resources.Unresolvable];
	//   - a node where pods matching in its domain + (1 if the pod matches itself) - global minimum > maxSkew.
	//
	// A domain that does not count has 0 pods. Check rejects a free slot and a slot that does not exist as nodes without the
	// key, also without constraints. O(constraints), no allocation.
	Check(i int) resources.Verdict
	// Place returns nodes for n more pods like this one: the slot of each replica, in the order in which they must be placed
	// (rule S10.4). There are fewer slots when there is no room for n. proven is true when more replicas are impossible, and
	// false when the search was cut short. An n above 1,000,000 counts as 1,000,000; when all of these have a place, proven is
	// false. Kubernetes decides one pod at a time. Place looks for an order in which early
	// replicas do not make later ones impossible.
	//
	// Each replica goes to
	//
	//  1. a node that the constraints allow and do not count ([PlaceOptions.Slots] leaves out the nodes that the pod's node
	//     affinity or tolerations forbid);
	//  2. else the domains with the smallest counts, in the order of the constraints, and there to the nodes in turn.
	//
	// With one constraint this places as many replicas as possible. With several constraints Place tries other choices when the
	// first attempt fails, at most [PlaceOptions.Steps] of them. The state does not change. n below 1 places nothing. Without the
	// search the time is O(n x groups of nodes in equal domains), the memory O(replicas that have a place + nodes).
	Place(n int, o PlaceOptions) (slots []int, proven bool)
	// Report returns one report for each constraint: its domains with counts and room, the domains that set the minimum, and
	// the nodes that do not count. O(nodes x constraints + domains log domains).
	Report() []Report
	// ScaleDownOrder returns which n of the replicas to delete, in order, so that the spread stays or becomes legal.
	// Kubernetes has no such rule: a ReplicaSet that is scaled down may leave its domains uneven (documentation of pod topology
	// spread constraints, "Known limitations").
	//
	// Each step deletes the replica that leaves
	//
	//  1. the smallest Excess;
	//  2. the smallest sum of fullest domain - global minimum over the constraints;
	//  3. and was in the fullest domains: the largest sum of their counts;
	//  4. the first by namespace, name and UID.
	//
	// With one constraint no other choice of n replicas has a smaller Excess after the last step; with several a step can turn
	// out to be unlucky later. The state must count the replicas and does not change. Fewer are returned if there are fewer.
	// O(n x (replicas + domains) x constraints).
	ScaleDownOrder(replicas []Replica, n int) []Replica
	// NewTrial returns a what-if copy: it gives the verdicts of Check as if some pods were added or removed, victims of preemption
	// and nominated pods. The copy changes its counts exactly as v1.37.2's AddPod and RemovePod do (rule S5.3). These differ from a
	// fresh count in two cases, which the state itself does not have:
	//
	//  1. a pod that is being deleted was not counted, but is subtracted when it is removed, so that a count can become -1 and the
	//     other domains fail;
	//  2. the empty selector, which counted no pod, matches there.
	//
	// A node without all keys, or that a constraint's policies exclude, is left alone as in the count. After changes in several
	// domains v1.37.2 may use too large a minimum; the copy always has the true one. The copy does not change the state and does
	// not follow it: call NewTrial again when the state has moved. A copy is not safe for concurrent use; several copies are safe
	// side by side. O(constraints); the first change of a constraint is O(domains), every other change O(1), Reset O(changes).
	NewTrial() affinity.Trial
}

type hardState struct {
	counting
	hard    *hardEvaluator
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

func (h *hardEvaluator) Count(c Cluster) HardState { return h.CountIn(c, nil) }

// CountIn is Count with counts in a memory, to which Release gives them back.
func (h *hardEvaluator) CountIn(c Cluster, m *engine.Memory) HardState { return h.counted(c, m) }

func (h *hardEvaluator) counted(c Cluster, m *engine.Memory) *hardState {
	s := &hardState{hard: h, cluster: c, slots: c.Len()}
	if h.Skip() {
		return s
	}
	columns := h.layOut(c, true)
	s.cols = make([]hardColumn, len(columns))
	for k := range s.cols {
		col, x := &s.cols[k], &h.constraints[k]
		*col = hardColumn{column: columns[k], self: h.selfOf(k), maxSkew: x.maxSkew, selector: x.selector}
		col.findDomains(m)
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

// Release gives the counts to a memory. The state is not used afterwards.
func (s *hardState) Release(m *engine.Memory) {
	for k := range s.cols {
		m.Keep(s.cols[k].counts)
	}
	s.cols = nil
}

// findDomains makes the counts, and marks the domains without a counted node.
func (col *hardColumn) findDomains(m *engine.Memory) {
	col.counts = m.Counts(col.domains)
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
func (h *hardEvaluator) addPlanned(s *hardState) {
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
func (s *hardState) domainNumbers() []map[string]int32 {
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

func (s *hardState) Reasons(v resources.Verdict) []string {
	switch v {
	case missingLabel:
		return []string{"node(s) didn't match pod topology spread constraints (missing required label)"}
	case skewExceeded:
		return []string{"node(s) didn't match pod topology spread constraints"}
	}
	return nil
}

func (s *hardState) Check(i int) resources.Verdict {
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

func (s *hardState) Add(pod *v1.Pod, i int) { s.apply(s.hard.effect(pod), i, 1) }

func (s *hardState) Remove(pod *v1.Pod, i int) { s.apply(s.hard.effect(pod), i, -1) }

// OfLabels is that of [engine.Moving].
func (s *hardState) OfLabels(pod *v1.Pod) engine.Move { return s.by(s.hard.effect(pod)) }

// by returns how an effect moves the counts; nil for no effect.
func (s *hardState) by(e effect) engine.Move {
	if e == 0 {
		return nil
	}
	return func(i int, n int32) { s.apply(e, i, n) }
}

// apply adds n pods of one effect to the node of slot i, or removes -n pods. The state stays equal to a new Count of the
// cluster with those pods (rule S5.3). O(constraints), amortised. It allocates only when a count becomes larger than ever
// before.
func (s *hardState) apply(e effect, i int, n int32) {
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
func (s *hardState) clone() *hardState {
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
func (s *hardState) free(i int) resources.Verdict {
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
