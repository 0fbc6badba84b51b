package placement

import (
	"bytes"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podkey"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/spread"
)

// newPodTopologySpread returns the filter and score of that name. It skips a pod without constraints. The zero Options are
// v1.37's: the system's default constraints, whose selectors come from the services and owners that the cluster knows (see
// Cluster).
func newPodTopologySpread(o spread.Options) *Plugin {
	over := func(c any) spread.Options { // adds the owners that the cluster itself knows
		o := o
		if o.Owners == nil {
			o.Owners = ownersOf(c)
		}
		return o
	}
	return &Plugin{
		Name: plugins.PodTopologySpread, Args: o, CanStopHolding: true,
		Keep: keepByAllPods, AppendKey: podkey.Spread,
		KeyParts: []KeyPart{
			labelsPart, {Name: "constraints", Append: key.Constraints}, {Name: "node affinity", Append: podkey.NodeAffinity}, {Name: "tolerations", Append: podkey.Tolerations},
		},
		Hint: func(known affinity.Namespaces) queue.Hint {
			return engine.HintOf(must.Get(spread.CompileHard(&v1.Pod{}, spread.Options{})), over(known))
		},
		states: func(c Cluster) hooks.Counting { return spreadCounting{over(c), c} },
		Filter: func(pod *v1.Pod, c Cluster) PreFiltered {
			e, err := spread.CompileHard(pod, over(c))
			if err != nil {
				return PreFiltered{Code: filter.Error, Reasons: []string{err.Error()}}
			}
			if e.Skip() {
				return PreFiltered{Code: filter.Skip}
			}
			return PreFiltered{Predicate: hardSpread{e.Count(c), e, c}}
		},
		Score: func(pod *v1.Pod, c Cluster) (Scorer, error) {
			e, err := spread.CompileSoft(pod, over(c))
			if err != nil {
				return nil, err
			}
			if e.Skip() {
				return nil, nil
			}
			return newSoftSpread(e.Count(c)), nil
		},
	}
}

type hardSpread struct {
	spread.HardState
	compiled spread.Hard
	cluster  Cluster
}

// NewTrial returns a what-if copy.
func (s hardSpread) NewTrial() filter.Trial { return spreadTrial{s.HardState.NewTrial()} }

// Moves reports whether a constraint counts a pod in a trial.
func (s hardSpread) Moves(pod *v1.Pod) bool {
	return s.HardState.NewTrial().(engine.Moving).OfLabels(pod) != nil
}

type spreadTrial struct{ affinity.Trial }

// CounterOf returns what a pod does to the trial.
func (t spreadTrial) CounterOf(pod *v1.Pod, _ *runningPod) hooks.Counter {
	return t.Trial.(engine.Moving).OfLabels(pod).By
}

// Repels returns the keys of the constraints for a pod that a constraint counts.
func (s hardSpread) Repels(*v1.Pod) func(q *v1.Pod) []string {
	keys := s.compiled.(engine.Constraints).Keys(nil)
	return func(q *v1.Pod) []string {
		if !s.compiled.Counts(q) {
			return nil
		}
		return keys
	}
}

// RepelsEach returns false: a constraint counts pods. Repels reads only the labels and the namespace of q, and whether q terminates.
func (s hardSpread) RepelsEach() bool { return false }

// NeedsPods returns true: a pod of another node that stays may hold up the smallest count of a domain.
func (s hardSpread) NeedsPods(*v1.Pod) bool { return true }

// Yields returns true: a pod that leaves lowers the count of its domain, and the smallest count by no more.
func (s hardSpread) Yields(*v1.Pod) bool { return true }

// KeepsOff reports whether a constraint may count q on slot j in a domain of slot i.
func (s hardSpread) KeepsOff(pod, q *v1.Pod, i, j int) bool {
	return keepsOff(s.cluster, s.Repels(pod)(q), i, j)
}

// softSpread is the soft constraints, with the question which nodes the score leaves out.
type softSpread struct {
	spread.SoftState
	hooks.Ignorer
}

func newSoftSpread(s spread.SoftState) softSpread { return softSpread{s, s.(hooks.Ignorer)} }

// spreadCounting keeps counts of both kinds of constraints.
type spreadCounting struct {
	options spread.Options
	cluster Cluster
}

// Compile compiles the constraints of a pod.
func (x spreadCounting) Compile(pod *v1.Pod) (hooks.Compiled, error) {
	hard, err := spread.CompileHard(pod, x.options)
	if err != nil {
		return nil, err
	}
	soft, err := spread.CompileSoft(pod, x.options)
	if err != nil {
		return nil, err
	}
	if hard.Skip() && soft.Skip() {
		return nil, nil
	}
	return &spreadCompiled{x, hard.(hardConstraints), soft.(softConstraints)}, nil
}

// hardConstraints and softConstraints are the evaluators with what only a plan asks.
type (
	hardConstraints interface {
		spread.Hard
		engine.Constraints
		idler
		CountIn(c spread.Cluster, m *engine.Memory) spread.HardState
	}
	softConstraints interface {
		spread.Soft
		engine.Constraints
		idler
		CountIn(c spread.Cluster, m *engine.Memory) spread.SoftState
	}
	// idler has AppendIdleKey, which appends bytes that are equal for two evaluators when their constraints and self-match are equal,
	// whatever they select, and reports whether no running pod counts.
	idler interface {
		AppendIdleKey(dst []byte, c spread.Cluster) (_ []byte, idle bool)
	}
)

type spreadCompiled struct {
	spreadCounting
	hard hardConstraints
	soft softConstraints
}

// AppendKey appends the constraints and what of the pod's labels matters to them.
func (e *spreadCompiled) AppendKey(dst []byte) []byte {
	return e.soft.AppendKey(e.hard.AppendKey(dst))
}

// AppendIdleKey appends the constraints without what they select, and reports whether they count no running pod.
func (e *spreadCompiled) AppendIdleKey(dst []byte) (_ []byte, idle bool) {
	if dst, idle = e.hard.AppendIdleKey(dst, e.cluster); !idle {
		return dst, false
	}
	return e.soft.AppendIdleKey(dst, e.cluster)
}

// Matched returns false: terms of running pods do not matter.
func (e *spreadCompiled) Matched(int32) bool { return false }

// Count counts the running pods.
func (e *spreadCompiled) Count() hooks.State { return e.CountIn(nil) }

// CountIn counts the running pods in a memory.
func (e *spreadCompiled) CountIn(m *engine.Memory) hooks.State {
	s := &spreadState{spreadCompiled: e}
	if !e.hard.Skip() {
		s.hard = e.hard.CountIn(e.cluster, m)
		s.hardCounts = engine.CountsOf(s.hard)
		for _, single := range s.hardCounts.Keys {
			s.single = append(s.single, single)
		}
	}
	if !e.soft.Skip() {
		s.soft = e.soft.CountIn(e.cluster, m)
		s.softCounts = engine.CountsOf(s.soft)
		for _, single := range s.softCounts.Keys {
			s.single = append(s.single, single)
		}
	}
	return s
}

type spreadState struct {
	*spreadCompiled
	hard   spread.HardState // nil: no such constraint
	soft   spread.SoftState // nil: no such constraint
	single []bool           // by constraint: no two nodes share the key

	hardCounts, softCounts engine.Counts
}

// Release gives the counts to a memory.
func (s *spreadState) Release(m *engine.Memory) {
	for _, x := range []any{s.hard, s.soft} {
		if r, ok := x.(hooks.Releasing); ok {
			r.Release(m)
		}
	}
}

// Filter returns the hard constraints.
func (s *spreadState) Filter() filter.Predicate {
	if s.hard == nil {
		return nil
	}
	return hardSpread{s.hard, s.spreadCompiled.hard, s.cluster}
}

// For returns the hard constraints of another pod, which may select other pods as long as none of those runs.
func (s *spreadState) For(pod *v1.Pod) filter.Predicate {
	e := must.Get(spread.CompileHard(pod, s.options)).(hardConstraints) // it was compiled before
	if bytes.Equal(e.AppendKey(nil), s.spreadCompiled.hard.AppendKey(nil)) {
		return s.Filter()
	}
	return hardSpread{e.Count(s.cluster), e, s.cluster}
}

// Score returns the soft constraints.
func (s *spreadState) Score() hooks.Scorer {
	if s.soft == nil {
		return nil
	}
	return newSoftSpread(s.soft)
}

// Reads appends topology keys and what node inclusion policies look at.
func (s *spreadState) Reads(dst []string) []string {
	return s.spreadCompiled.soft.Reads(s.spreadCompiled.hard.Reads(dst))
}

// Keys returns the number of constraints, which no move changes.
func (s *spreadState) Keys() int { return len(s.single) }

// AppendLayoutKey appends the topology keys, and whether nodes without them are ignored.
func (s *spreadState) AppendLayoutKey(dst []byte) []byte {
	dst = key.Flag(dst, s.spreadCompiled.soft.Defaulted())
	dst = key.Texts(dst, s.spreadCompiled.hard.Keys(nil))
	dst = key.Texts(dst, s.spreadCompiled.soft.Keys(nil))
	dst = key.Len(dst, len(s.single))
	for _, single := range s.single {
		dst = key.Flag(dst, single)
	}
	return dst
}

func (s *spreadState) sign(dst []int32, i int) []int32 {
	if s.hard != nil {
		dst = s.hardCounts.AppendSignature(dst, i)
	}
	if s.soft != nil {
		dst = s.softCounts.AppendSignature(dst, i)
	}
	return dst
}

// AppendDomains appends the domains of a slot.
func (s *spreadState) AppendDomains(dst []int32, i int) []int32 {
	from := len(dst)
	dst = s.sign(dst, i)
	for k, single := range s.single {
		if single && dst[from+k] != -1 {
			dst[from+k] = 0
		}
	}
	return dst
}

// AppendCounts appends the signature of a slot, which has its counts.
func (s *spreadState) AppendCounts(dst []int32, i int) (_ []int32, some bool) {
	from := len(dst)
	dst = s.sign(dst, i)
	for k, single := range s.single {
		some = some || single && dst[from+k] != 0 && dst[from+k] != -1
	}
	return dst, some
}

// AppendCounted appends the slots with counts.
func (s *spreadState) AppendCounted(dst []int32) []int32 {
	if s.hard != nil {
		dst = s.hardCounts.AppendCountedSlots(dst)
	}
	if s.soft != nil {
		dst = s.softCounts.AppendCountedSlots(dst)
	}
	return dst
}

// Single reports whether no two nodes share one of the keys.
func (s *spreadState) Single() bool { return slices.Contains(s.single, true) }

// OfSet returns what pods like rep do.
func (s *spreadState) OfSet(rep *v1.Pod) hooks.Counter {
	var hard, soft engine.Move
	if s.hard != nil {
		hard = s.hard.(engine.Moving).OfLabels(rep)
	}
	if s.soft != nil {
		soft = s.soft.(engine.Moving).OfLabels(rep)
	}
	return hooks.Counter(engine.Both(hard, soft))
}

// OfTerms returns nil: terms of running pods do not matter.
func (s *spreadState) OfTerms(int32, *v1.Pod) hooks.Counter { return nil }

// Numbers gives the arithmetic of each constraint that rejects, in words.
func (s hardSpread) Numbers(i int) []string {
	var out []string
	for _, x := range s.Explain(i) {
		if !x.Allows {
			out = append(out, skewInWords(x))
		}
	}
	return out
}

// skewInWords writes "zone=a: 2 pods there and this pod, minimum 1: skew 2, maxSkew 1".
func skewInWords(x spread.Skew) string {
	if x.Missing {
		return "the node has no label " + x.Key
	}
	there, this := fmt.Sprintf("%d pods there", x.Pods), ""
	if x.Pods == 1 {
		there = "1 pod there"
	}
	if x.Self > 0 {
		this = " and this pod"
	}
	return fmt.Sprintf("%s=%s: %s%s, minimum %d: skew %d, maxSkew %d", x.Key, x.Value, there, this, x.Minimum, x.Pods+x.Self-x.Minimum, x.MaxSkew)
}

var _ remover = hardSpread{}
