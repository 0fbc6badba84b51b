package placement

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/internal/plugins"
	"github.com/podberth/podberth/placement/internal/reuse"
	"github.com/podberth/podberth/queue"
)

// InterPodAffinity is the filter and score of that name. The zero PodOptions are v1.36's.
func InterPodAffinity(o affinity.PodOptions) *Plugin {
	return &Plugin{
		Name: plugins.InterPodAffinity, Args: o, Lapses: true,
		Group: GroupStates, AppendKey: affinity.AppendPodKey,
		Hint:   func(known affinity.Namespaces) queue.Hint { return o.Hint(known) },
		States: func(c Cluster) Counting { return newPodCounting(c, o) },
		Filter: func(pod *v1.Pod, c Cluster) Filtering {
			e, err := affinity.CompilePods(pod, o)
			if err != nil {
				return Filtering{Code: filter.UnschedulableAndUnresolvable, Reasons: []string{err.Error()}}
			}
			s := e.Count(c)
			if s.Skip() {
				return Filtering{Code: filter.Skip}
			}
			return Filtering{Predicate: podAffinity{s, c}}
		},
		Score: func(pod *v1.Pod, c Cluster) (Scorer, error) {
			e, err := affinity.CompilePods(pod, o)
			if err != nil {
				return nil, err
			}
			s := e.Count(c)
			if s.SkipScore() {
				return nil, nil
			}
			return s, nil
		},
	}
}

type podAffinity struct {
	*affinity.State
	cluster Cluster
}

// NewTrial returns a what-if copy.
func (s podAffinity) NewTrial() filter.Trial { return podTrial{s.State.NewTrial(), s.State} }

type podTrial struct {
	*affinity.Trial
	state *affinity.State
}

// compiledTerms is the key of the compiled terms of a term set.
type compiledTerms int32

// MoveOf returns what a pod does to the trial.
func (t podTrial) MoveOf(pod *v1.Pod, known *runningPod) Move {
	var terms *affinity.Terms
	if known == nil {
		terms = affinity.CompileTerms(pod)
	} else if id := known.info.Terms(); id >= 0 {
		terms = known.remember(compiledTerms(id), func() any { return affinity.CompileTerms(pod) }).(*affinity.Terms)
	}
	byLabels, byTerms := t.state.LabelEffect(pod), t.state.TermEffect(terms)
	return func(i int, n int32) {
		t.Apply(byLabels, i, n)
		t.Apply(byTerms, i, n)
	}
}

// KeepsOff reports whether anti-affinity keeps the pod off slot i because of q on slot j.
func (s podAffinity) KeepsOff(pod, q *v1.Pod, i, j int) bool {
	alone := pod.DeepCopy()
	if f := alone.Spec.Affinity; f != nil {
		f.PodAffinity = nil
	}
	e, err := affinity.CompilePods(alone, affinity.PodOptions{})
	return err == nil && e.Count(&pairOf{s.cluster, i, j, q}).Check(0) != 0
}

// podCounting keeps counts by inter-pod terms, and the compiled terms of running pods.
type podCounting struct {
	options affinity.PodOptions
	cluster Cluster
	sets    reuse.Log // nil: the cluster has no term sets, and nothing is kept
	memo    affinity.Memo
	which   []uint64
}

func newPodCounting(c Cluster, o affinity.PodOptions) *podCounting {
	x := &podCounting{options: o, cluster: c}
	x.sets, _ = c.(reuse.Log)
	return x
}

// Compile compiles the terms of a pod.
func (x *podCounting) Compile(pod *v1.Pod) (Compiled, error) {
	e, err := affinity.CompilePods(pod, x.options)
	if err != nil {
		return nil, err
	}
	return &podCompiled{evaluator: e, pod: pod, counting: x}, nil
}

type podCompiled struct {
	evaluator *affinity.PodEvaluator
	pod       *v1.Pod
	counting  *podCounting
	matched   []int32 // term sets, ascending
}

// AppendKey appends the pod's terms, and which terms of running pods match the pod.
func (e *podCompiled) AppendKey(dst []byte) []byte {
	x := e.counting
	labels, known := namespaceLabels(x.cluster, e.pod.Namespace)
	dst = affinity.AppendTermsKey(key.Text(dst, e.pod.Namespace), e.pod)
	dst = key.Flag(dst, e.evaluator.SelfAll(labels, known))
	e.matched = e.matched[:0]
	for id := range int32(x.sets.TermSets()) {
		rep, nodes, _ := x.sets.TermSet(id)
		if len(nodes) == 0 {
			continue
		}
		x.which = x.memo.Terms(id, rep).AppendWhich(x.which[:0], e.pod, labels)
		for at, w := range x.which {
			if w != 0 {
				dst = key.Int(key.Len(key.Len(dst, int(id)+1), at), int64(w))
				if n := len(e.matched); n == 0 || e.matched[n-1] != id {
					e.matched = append(e.matched, id)
				}
			}
		}
	}
	return key.Len(dst, 0)
}

// Matched reports whether a term set had a term that matches the pod.
func (e *podCompiled) Matched(id int32) bool {
	_, found := slices.BinarySearch(e.matched, id)
	return found
}

// Count counts the running pods.
func (e *podCompiled) Count() State {
	x := e.counting
	return &podState{State: e.evaluator.CountWith(x.cluster, x.memo.Terms), podCompiled: e}
}

type podState struct {
	*affinity.State
	*podCompiled
	names  []string
	single []bool // by topology key: no two nodes share it
}

// Filter returns the required terms.
func (s *podState) Filter() filter.Predicate { return podAffinity{s.State, s.counting.cluster} }

// Score returns the preferred terms.
func (s *podState) Score() reuse.Scorer { return s.State }

// Reads appends the topology keys.
func (s *podState) Reads(dst []string) []string {
	for _, k := range s.State.AppendKeys(nil) {
		dst = append(dst, "label:"+k)
	}
	return dst
}

// Keys returns the number of topology keys. A running pod may bring one.
func (s *podState) Keys() int {
	s.names = s.State.AppendKeys(s.names[:0])
	return len(s.names)
}

// AppendLayoutKey appends the topology keys.
func (s *podState) AppendLayoutKey(dst []byte) []byte {
	s.single = s.State.AppendCounted(s.single[:0])
	dst = key.Texts(dst, s.State.AppendKeys(nil))
	for _, single := range s.single {
		dst = key.Flag(dst, single)
	}
	return dst
}

// AppendDomains appends the domains of a slot.
func (s *podState) AppendDomains(dst []int32, i int) []int32 {
	from := len(dst)
	dst = s.State.AppendSignature(dst, i)
	to := from
	for _, single := range s.single {
		at := dst[from]
		if single { // flags and a score in two words
			at, from = min(at, 0), from+2
		}
		dst[to] = at
		to, from = to+1, from+1
	}
	return dst[:to]
}

// AppendCounts appends the signature of a slot, which has its counts.
func (s *podState) AppendCounts(dst []int32, i int) (_ []int32, some bool) {
	from := len(dst)
	dst = s.State.AppendSignature(dst, i)
	for _, single := range s.single {
		if single {
			some = some || dst[from] > 0 || dst[from+1] != 0 || dst[from+2] != 0
			from += 2
		}
		from++
	}
	return dst, some
}

// AppendCounted appends the slots with counts.
func (s *podState) AppendCounted(dst []int32) []int32 { return s.State.AppendCountedSlots(dst) }

// Single reports whether no two nodes share one of the keys.
func (s *podState) Single() bool { return slices.Contains(s.single, true) }

// OfSet returns what pods like rep do by their labels.
func (s *podState) OfSet(rep *v1.Pod) Move { return s.moveOf(s.State.LabelEffect(rep)) }

// OfTerms returns what pods like rep do by their terms.
func (s *podState) OfTerms(id int32, rep *v1.Pod) Move {
	return s.moveOf(s.State.TermEffect(s.counting.memo.Terms(id, rep)))
}

func (s *podState) moveOf(e affinity.Effect) Move {
	if e.Empty() {
		return nil
	}
	return func(i int, n int32) { s.State.Apply(e, i, n) }
}

// Numbers says which counts of pods in the node's domains are in the way.
func (s podAffinity) Numbers(i int) []string {
	x := s.Explain(i)
	var out []string
	domain := func(r affinity.KeyReport) string {
		if !r.Has {
			return "the node has no label " + r.Key
		}
		return r.Key + "=" + r.Value
	}
	for _, r := range x.Affinity {
		if r.Count == 0 && !(x.First && r.Has) {
			out = append(out, domain(r)+": no pod that matches the affinity terms")
		}
	}
	for _, r := range x.Anti {
		if r.Count > 0 {
			out = append(out, fmt.Sprintf("%s: %d match(es) of the anti-affinity terms", domain(r), r.Count))
		}
	}
	for _, r := range x.Existing {
		out = append(out, fmt.Sprintf("%s: %d anti-affinity term(s) of running pods match the pod", domain(r), r.Count))
	}
	return out
}

var _ remover = podAffinity{}
