package placement

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/podkey"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/placement/internal/reuse"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release/plugins"
)

// newInterPodAffinity returns the filter and score of that name. The zero PodOptions are v1.37's. A plan compiles the terms of its
// running pods once for each term set.
func newInterPodAffinity(o affinity.PodOptions) *Plugin {
	p := interPodAffinity(o, nil)
	p.own = func(q *Plugin) *Plugin {
		if q != p { // a copy, whose functions a caller may have changed
			return q
		}
		return interPodAffinity(o, &engine.Memo{})
	}
	return p
}

func interPodAffinity(o affinity.PodOptions, memo *engine.Memo) *Plugin {
	return &Plugin{
		Name: plugins.InterPodAffinity, Args: o, CanStopHolding: true,
		Keep: keepByAllPods, AppendKey: podkey.PodAffinity,
		KeyParts: []KeyPart{labelsPart, {Name: "terms", Append: key.PodTerms}},
		Hint: func(affinity.Namespaces) queue.Hint {
			return engine.HintOf(must.Get(affinity.CompilePods(&v1.Pod{}, o)), o)
		},
		states: func(c Cluster) hooks.Counting { return newPodCounting(c, o) },
		Filter: func(pod *v1.Pod, c Cluster) PreFiltered {
			e, err := affinity.CompilePods(pod, o)
			if err != nil {
				return PreFiltered{Code: filter.UnschedulableAndUnresolvable, Reasons: []string{err.Error()}}
			}
			s := countTerms(e, c, memo)
			if s.Skip() {
				return PreFiltered{Code: filter.Skip}
			}
			return PreFiltered{Predicate: podAffinity{s, c, new(culprits)}}
		},
		Score: func(pod *v1.Pod, c Cluster) (Scorer, error) {
			e, err := affinity.CompilePods(pod, o)
			if err != nil {
				return nil, scoreError(err)
			}
			s := countTerms(e, c, memo)
			if s.SkipScore() {
				return nil, nil
			}
			return s, nil
		},
	}
}

// termCounter is an affinity.PodEvaluator that keeps the compiled terms of running pods in a memo.
type termCounter interface {
	// CountWith is Count. The memo is not used when the cluster has no term sets.
	CountWith(c affinity.Cluster, m *engine.Memo) affinity.State
	// CountIn is CountWith with counts in a memory.
	CountIn(c affinity.Cluster, m *engine.Memo, counts *engine.Memory) affinity.State
	// AppendKey appends everything that the counts depend on, except the nodes and the running pods, and to matched the term sets that
	// have a term that matches the pod.
	AppendKey(dst []byte, matched []int32, c affinity.Cluster, m *engine.Memo) ([]byte, []int32)
	// Meets reports whether a term of a term set matches the pod.
	Meets(terms int32, c affinity.Cluster, m *engine.Memo) bool
}

// countTerms counts the running pods of a cluster.
func countTerms(e affinity.PodEvaluator, c affinity.Cluster, m *engine.Memo) affinity.State {
	return e.(termCounter).CountWith(c, m)
}

// scoreError returns the error of CompilePods in the words of v1.37's PreScore, which differ from those of its PreFilter.
// Only a profile that scores with InterPodAffinity and does not filter with it prints them.
func scoreError(err error) error { return fmt.Errorf("failed to parse pod: %w", errors.Unwrap(err)) }

type podAffinity struct {
	affinity.State
	cluster  Cluster
	culprits *culprits
}

// NewTrial returns a what-if copy.
func (s podAffinity) NewTrial() filter.Trial { return podTrial{s.State.NewTrial(), s} }

type podTrial struct {
	affinity.Trial
	base podAffinity
}

// compiledTerms is the key of the compiled terms of running pods.
type compiledTerms struct{}

// CounterOf returns what a pod does to the trial.
func (t podTrial) CounterOf(pod *v1.Pod, known *runningPod) hooks.Counter {
	return t.base.movesOf(t.Trial.(engine.MovingTerms), pod, known).By
}

// Moves reports whether the filter may count a pod: with its labels or with its terms.
func (s podAffinity) Moves(pod *v1.Pod) bool {
	return s.movesOf(s.State.(engine.MovingTerms), pod, nil) != nil
}

// movesOf returns what a pod does to counts.
func (s podAffinity) movesOf(m engine.MovingTerms, pod *v1.Pod, known *runningPod) engine.Move {
	return engine.Both(m.OfLabels(pod), s.byTerms(m, pod, known))
}

// byTerms returns what a pod does by its terms, which are compiled once for each term set that the cluster knows. known is nil for
// a pod of which the cluster knows nothing.
func (s podAffinity) byTerms(m engine.MovingTerms, pod *v1.Pod, known *runningPod) engine.Move {
	sets, ok := s.cluster.(reuse.Log)
	if !ok || known == nil || known.terms < 0 {
		return m.OfTerms(nil, 0, pod)
	}
	memo := known.remember(compiledTerms{}, func() any { return &engine.Memo{} }).(*engine.Memo)
	id := known.terms
	rep, _, _ := sets.TermSet(id)
	return m.OfTerms(memo, id, rep)
}

// Add counts a pod that came back to slot i.
func (s podAffinity) Add(pod *v1.Pod, i int) {
	s.culprits.absent = nil
	s.State.Add(pod, i)
}

// Remove takes back a pod that left slot i for the time of one question.
func (s podAffinity) Remove(pod *v1.Pod, i int) {
	s.culprits.absent, s.culprits.absentFrom = pod, i
	s.State.Remove(pod, i)
}

// Repels returns the keys by which anti-affinity, of the pod or of q, keeps the two apart.
func (s podAffinity) Repels(pod *v1.Pod) func(q *v1.Pod) []string {
	alone := *pod
	var own []string
	if f := pod.Spec.Affinity; f != nil {
		alone.Spec.Affinity = &v1.Affinity{PodAntiAffinity: f.PodAntiAffinity}
		own = requiredKeys(pod)
	}
	e, err := affinity.CompilePods(&alone, affinity.PodOptions{})
	if err != nil {
		return func(*v1.Pod) []string { return nil }
	}
	near := &pair{all: s.cluster, node: &v1.Node{}}
	moving := e.Count(near).(engine.MovingTerms)
	return func(q *v1.Pod) (keys []string) {
		labels, terms := own != nil && moving.OfLabels(q) != nil, q.Spec.Affinity != nil && moving.OfTerms(nil, 0, q) != nil
		if !labels && !terms {
			return nil
		}
		for _, key := range slices.Concat(own, requiredKeys(q)) {
			near.node = &v1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{key: ""}}}
			if near.pod = q; !slices.Contains(keys, key) && e.Count(near).Check(0) != 0 {
				keys = append(keys, key)
			}
		}
		return keys
	}
}

// RepelsEach returns true: each pod that Repels names keys for is enough to keep the incoming pod off. Repels reads only the
// labels, the namespace and the terms of q.
func (s podAffinity) RepelsEach() bool { return true }

// NeedsPods reports whether the pod has a required affinity term, which may need a pod of another node. If no pod at all meets a term that the
// pod itself meets, it fits too, so that neither more nor fewer pods that leave are always better.
func (s podAffinity) NeedsPods(pod *v1.Pod) bool {
	f := pod.Spec.Affinity
	return f != nil && f.PodAffinity != nil && len(f.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0
}

// Yields reports whether the pod has no required affinity term, which a pod that leaves may have met.
func (s podAffinity) Yields(pod *v1.Pod) bool { return !s.NeedsPods(pod) }

// requiredKeys returns the topology keys of the required anti-affinity terms of a pod.
func requiredKeys(pod *v1.Pod) (keys []string) {
	if f := pod.Spec.Affinity; f != nil && f.PodAntiAffinity != nil {
		for k := range f.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			keys = append(keys, f.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[k].TopologyKey)
		}
	}
	return keys
}

// KeepsOff reports whether anti-affinity keeps the pod off slot i because of q on slot j.
func (s podAffinity) KeepsOff(pod, q *v1.Pod, i, j int) bool {
	return keepsOff(s.cluster, s.Repels(pod)(q), i, j)
}

// podCounting keeps counts by inter-pod terms, and the compiled terms of running pods.
type podCounting struct {
	options affinity.PodOptions
	cluster Cluster
	memo    engine.Memo
}

func newPodCounting(c Cluster, o affinity.PodOptions) *podCounting {
	return &podCounting{options: o, cluster: c}
}

// Lasts lets the engine keep the compiled terms: the memo compares the pod that represents a term set.
func (x *podCounting) Lasts() {}

// Compile compiles the terms of a pod.
func (x *podCounting) Compile(pod *v1.Pod) (hooks.Compiled, error) {
	e, err := affinity.CompilePods(pod, x.options)
	if err != nil {
		return nil, err
	}
	return &podCompiled{evaluator: e, counting: x}, nil
}

type podCompiled struct {
	evaluator affinity.PodEvaluator
	counting  *podCounting
	matched   []int32 // term sets, ascending
}

// Everywhere says that the domains of the nodes do not depend on the nodes that the pod selects.
func (*podCompiled) Everywhere() {}

// AppendKey appends the pod's terms, and which terms of running pods match the pod.
func (e *podCompiled) AppendKey(dst []byte) []byte {
	x := e.counting
	dst, e.matched = e.evaluator.(termCounter).AppendKey(dst, e.matched[:0], x.cluster, &x.memo)
	return dst
}

// Matched reports whether a term set had a term that matches the pod.
func (e *podCompiled) Matched(id int32) bool {
	_, found := slices.BinarySearch(e.matched, id)
	return found
}

// Meets reports whether a term of a term set matches the pod now.
func (e *podCompiled) Meets(id int32) bool {
	return e.evaluator.(termCounter).Meets(id, e.counting.cluster, &e.counting.memo)
}

// Count counts the running pods.
func (e *podCompiled) Count() hooks.State { return e.CountIn(nil) }

// CountIn counts the running pods in a memory.
func (e *podCompiled) CountIn(m *engine.Memory) hooks.State {
	x := e.counting
	s := e.evaluator.(termCounter).CountIn(x.cluster, &x.memo, m)
	return &podState{State: s, moving: s.(engine.MovingTerms), counts: engine.CountsOf(s), podCompiled: e}
}

type podState struct {
	affinity.State
	moving engine.MovingTerms // the state
	counts engine.Counts      // of the state
	*podCompiled
	single   []bool // by topology key: no two nodes share it
	culprits culprits
}

// Release gives the counts to a memory.
func (s *podState) Release(m *engine.Memory) { s.State.(hooks.Releasing).Release(m) }

// Filter returns the required terms.
func (s *podState) Filter() filter.Predicate {
	return podAffinity{s.State, s.counting.cluster, &s.culprits}
}

// For returns the required terms of another pod whose key is equal.
func (s *podState) For(pod *v1.Pod) filter.Predicate {
	e := must.Get(affinity.CompilePods(pod, s.counting.options)) // the same terms were compiled before
	return podAffinity{s.State.(interface {
		For(e affinity.PodEvaluator) affinity.State
	}).For(e), s.counting.cluster, new(culprits)}
}

// Score returns the preferred terms.
func (s *podState) Score() hooks.Scorer { return s.State }

// Reads appends the topology keys.
func (s *podState) Reads(dst []string) []string {
	if s.counts.Len() == 0 { // here, because what appendKeys captures needs memory
		return dst
	}
	return s.appendKeys(dst)
}

func (s *podState) appendKeys(dst []string) []string {
	for k := range s.counts.Keys {
		dst = append(dst, "label:"+k)
	}
	return dst
}

// Keys returns the number of topology keys. A running pod may bring one.
func (s *podState) Keys() int { return s.counts.Len() }

// AppendLayoutKey appends the topology keys. Which of them no two nodes share follows from the nodes: when that changes, the
// engine forgets all layouts.
func (s *podState) AppendLayoutKey(dst []byte) []byte {
	s.single = s.single[:0]
	if s.counts.Len() == 0 {
		return key.Len(dst, 0)
	}
	return s.appendLayout(dst)
}

func (s *podState) appendLayout(dst []byte) []byte {
	for _, single := range s.counts.Keys {
		s.single = append(s.single, single)
	}
	dst = key.Len(dst, len(s.single))
	for k := range s.counts.Keys {
		dst = key.Text(dst, k)
	}
	return dst
}

// AppendDomains appends the domains of a slot.
func (s *podState) AppendDomains(dst []int32, i int) []int32 {
	from := len(dst)
	dst = s.counts.AppendSignature(dst, i)
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
	dst = s.counts.AppendSignature(dst, i)
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
func (s *podState) AppendCounted(dst []int32) []int32 {
	return s.counts.AppendCountedSlots(dst)
}

// Single reports whether no two nodes share one of the keys.
func (s *podState) Single() bool { return slices.Contains(s.single, true) }

// OfSet returns what pods like rep do by their labels.
func (s *podState) OfSet(rep *v1.Pod) hooks.Counter { return hooks.Counter(s.moving.OfLabels(rep)) }

// OfTerms returns what pods like rep do by their terms.
func (s *podState) OfTerms(id int32, rep *v1.Pod) hooks.Counter {
	return hooks.Counter(s.moving.OfTerms(&s.counting.memo, id, rep))
}

var _ remover = podAffinity{}

// culprits remembers the running pods behind the counts of anti-affinity that explanations asked about. An explanation
// prepares a pod for one cluster that does not change.
type culprits struct {
	found map[conflict][]*v1.Pod

	// absent is a pod that is not counted for the time of a question, and absentFrom its slot.
	absent     *v1.Pod
	absentFrom int
}

// conflict is one kind of anti-affinity in one domain.
type conflict struct {
	existing   bool // terms of running pods; false: terms of the pod
	key, value string
}

// namedCulprits is how many pods a text names.
const namedCulprits = 3

// find returns the first pods behind a conflict in the domain of slot i, one more than a text names. It takes each pod of the
// domain away alone, looks whether the count falls, and puts the pod back.
func (s podAffinity) find(c conflict, i int) (found []*v1.Pod) {
	if q := s.culprits.absent; q != nil {
		s.State.Add(q, s.culprits.absentFrom)
		defer s.State.Remove(q, s.culprits.absentFrom)
	}
	there := s.count(c, i)
	for j := range s.domain(c, i) {
		for q := range s.cluster.Pods(j) {
			moves := s.movesOf(s.State.(engine.MovingTerms), q, nil)
			if moves == nil {
				continue
			}
			moves(j, -1)
			without := s.count(c, i)
			moves(j, 1)
			if without < there {
				if found = append(found, q); len(found) > namedCulprits {
					return found
				}
			}
		}
	}
	return found
}

// count returns the count of a conflict in the domain of slot i.
func (s podAffinity) count(c conflict, i int) int {
	for _, x := range s.Explain(i) {
		if x.Anti && x.Existing == c.existing && x.Key == c.key {
			return x.Count
		}
	}
	return 0
}

// domain yields the slots of a conflict's domain, of which i is one.
func (s podAffinity) domain(c conflict, i int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for key, single := range engine.CountsOf(s.State).Keys {
			if single && key == c.key {
				yield(i)
				return
			}
		}
		for j := range s.cluster.Len() {
			if n := s.cluster.Node(j); n != nil && n.Labels[c.key] == c.value && !yield(j) {
				return
			}
		}
	}
}

// behind names the running pods behind a count of anti-affinity in the domain of slot i: "a/x, a/y and others".
func (s podAffinity) behind(x affinity.Explanation, i int) string {
	c := conflict{x.Existing, x.Key, x.Value}
	found, known := s.culprits.found[c]
	if !known {
		if s.culprits.found == nil {
			s.culprits.found = map[conflict][]*v1.Pod{}
		}
		found = s.find(c, i)
		s.culprits.found[c] = found
	}
	var names []string
	for _, q := range found {
		if q != s.culprits.absent {
			names = append(names, podinfo.Name(q))
		}
	}
	if len(names) > namedCulprits {
		return strings.Join(names[:namedCulprits], ", ") + " and others"
	}
	return strings.Join(names, ", ")
}

// Numbers says what the node's domains have or lack, with the names of running pods.
func (s podAffinity) Numbers(i int) []string {
	var out []string
	for _, x := range s.Explain(i) {
		domain := x.Key + "=" + x.Value
		switch {
		case x.Existing:
			out = append(out, fmt.Sprintf("%s: the anti-affinity of %s rejects the pod", domain, s.behind(x, i)))
		case x.Anti && x.Count > 0:
			out = append(out, fmt.Sprintf("%s: the pod's anti-affinity rejects %s", domain, s.behind(x, i)))
		case !x.Anti && !x.Has:
			out = append(out, "the node has no label "+x.Key+", which the pod's affinity needs")
		case !x.Anti && x.Count == 0 && !x.First:
			out = append(out, domain+": no pod there matches the pod's affinity")
		}
	}
	return out
}
