package placement

import (
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/placement/internal/reuse"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/score"
	"github.com/podberth/podberth/volumes"
)

// Attempt is one pod, prepared over one cluster: the steps of Decide, for callers who do something between the steps. An
// Attempt is right for the cluster as it was at Prepare, and belongs to one goroutine. [Plan.Prepare] makes an Attempt; the
// zero value is not usable.
type Attempt struct {
	plan *Plan
	pod  *v1.Pod
	only []int // the slots of a placement, in scan order; nil: all nodes

	// Pre is what the plugins returned before they saw a node.
	Pre filter.PreFilters
	// Predicates are the filters that check nodes, in plugin order. Plugins that skip the pod have none.
	Predicates filter.Predicates

	scorers []hooks.Ranking // nil until Scorers
	scored  bool
	err     error // of preparing the scorers

	verdicts []filter.Rejection // by slot, of a failed attempt; nil: not asked yet
	rejected *filter.Histogram  // of a failed attempt whose nodes were not asked one by one
	version  uint64             // of the cluster and of its devices at the failure
	kind     reuse.VerdictKey   // which pods the filters judge like this pod, after a failure
}

// Prepare runs the part of the filters that comes before any node (PreFilter). O(nodes) for plugins that count pods,
// otherwise O(specification of the pod).
func (p *Plan) Prepare(pod *v1.Pod) *Attempt {
	a := &Attempt{plan: p, pod: pod}
	for _, plugin := range p.profile.Filters {
		f := plugin.Filter(pod, p.cluster)
		stop := a.Pre.Add(filter.PreFilterResult{Plugin: plugin.Name, Code: f.Code, Reasons: f.Reasons, Nodes: f.Nodes})
		if f.Code == filter.Success && f.Predicate != nil {
			a.Predicates = append(a.Predicates, f.Predicate)
		}
		if stop {
			break
		}
	}
	return a
}

// attempt is Prepare for a question that may be about some nodes alone.
func (p *Plan) attempt(pod *v1.Pod, o Options) *Attempt {
	a := p.Prepare(pod)
	a.only = o.within
	return a
}

// Rejected reports whether a plugin rejected the pod, or failed, before any node was asked.
func (a *Attempt) Rejected() bool { return a.Pre.Code != filter.Success }

// Candidates returns the slots to check, in scan order: all nodes, or the nodes that the plugins named. The caller must not
// change the slice.
func (a *Attempt) Candidates() []int {
	nodes := a.nodes()
	if a.Pre.Nodes == nil {
		return nodes
	}
	left := make(map[string]bool, len(a.Pre.Nodes))
	for _, n := range a.Pre.Nodes {
		left[n] = true
	}
	var out []int
	for _, i := range nodes {
		if left[a.plan.cluster.Node(i).Name] {
			out = append(out, i)
		}
	}
	return out
}

// nodes returns all slots that the attempt is about, in scan order.
func (a *Attempt) nodes() []int {
	if a.only != nil {
		return a.only
	}
	return a.plan.order()
}

// trials returns a what-if copy of every predicate, nil for a predicate that does not look at running pods.
func (a *Attempt) trials() []filter.Trial {
	trials := make([]filter.Trial, len(a.Predicates))
	for k, p := range a.Predicates {
		if t, ok := p.(Trialer); ok {
			trials[k] = t.NewTrial()
		}
	}
	return trials
}

// Search looks for feasible nodes. It finds none for a rejected attempt.
func (a *Attempt) Search(o Options) filter.Found { return a.search(o, a.check(o)) }

// search is Search with a function that checks one slot; nil: the predicates.
func (a *Attempt) search(o Options, check func(i int) filter.Rejection) filter.Found {
	if a.Rejected() {
		return filter.Found{Next: o.Next, Err: a.Pre.Err}
	}
	candidates := a.Candidates()
	s := filter.Search{
		Candidates: candidates, Nodes: len(a.nodes()), Next: o.Next, Limit: a.plan.limit(len(candidates), o),
	}
	if name := a.pod.Status.NominatedNodeName; name != "" {
		if i, ok := a.plan.Slot(name); ok && (a.only == nil || slices.Contains(a.only, i)) {
			s.Nominated = &i
		}
	}
	return s.Run(a.Predicates, check)
}

// limit returns the number of feasible nodes that ends a search among candidates.
func (p *Plan) limit(candidates int, o Options) int {
	sampling := p.profile.Sampling
	sampling.Unscored = len(p.profile.Scores) == 0 && !o.Scored
	return filter.NumToFind(candidates, sampling)
}

// check returns a function that checks one slot and counts nominated pods; nil when there are none.
func (a *Attempt) check(o Options) func(i int) filter.Rejection {
	if o.Nominated == nil {
		return nil
	}
	var trials []filter.Trial
	return func(i int) filter.Rejection {
		nominated := filter.Nominated(a.pod, o.Nominated(i))
		if len(nominated) == 0 {
			return a.Predicates.First(i)
		}
		if trials == nil {
			trials = a.trials()
		}
		return a.Predicates.TwoPass(trials, i, nominated, nil)
	}
}

// checked is check for callers who need a function.
func (a *Attempt) checked(o Options) func(i int) filter.Rejection {
	if check := a.check(o); check != nil {
		return check
	}
	return a.Predicates.First
}

// Volumes returns what has to happen to the pod's claims when the pod goes to slot i, which must be feasible. Volumes.Reserve
// takes the decision. It is empty for a pod that VolumeBinding skips.
func (a *Attempt) Volumes(i int) volumes.Decision {
	for _, p := range a.Predicates {
		if b, ok := p.(binder); ok {
			d, _ := b.Bindings(i)
			return d
		}
	}
	return volumes.Decision{}
}

// Decision returns the decision for slot i, which must be feasible, for callers who choose the node: [Placer.Assume] takes it. Its Total and
// its counts of nodes are 0. For a slot without a node it has no node.
func (a *Attempt) Decision(i int) Decision {
	if !a.plan.has(i) {
		return Decision{Slot: -1}
	}
	return Decision{Slot: i, Node: a.plan.cluster.Node(i).Name, Volumes: a.Volumes(i), Devices: devicesOn(i, a.Predicates)}
}

// devicesOn returns what a pod's claims get on slot i, which must be feasible.
func devicesOn(i int, predicates filter.Predicates) devices.Allocation {
	for _, p := range predicates {
		if x, ok := p.(allocator); ok {
			return x.Allocation(i)
		}
	}
	return devices.Allocation{}
}

// Verdicts appends the first rejection on every slot, in order of the slots. A free slot, and a node that is not among the
// named nodes, gets [NotAsked]. Nominated pods count as in Search. For a failed attempt ([Plan.Failed]) whose search asked node by
// node, Verdicts returns what the search found.
func (a *Attempt) Verdicts(dst []filter.Rejection, o Options) []filter.Rejection {
	if a.verdicts != nil {
		return append(dst, a.verdicts...)
	}
	n := a.plan.cluster.Len()
	base := len(dst)
	for range n {
		dst = append(dst, NotAsked())
	}
	if a.Rejected() {
		return dst
	}
	check := a.checked(o)
	for _, i := range a.Candidates() {
		dst[base+i] = check(i)
	}
	return dst
}

// NotAsked returns the rejection of a slot about which no predicate was asked.
func NotAsked() filter.Rejection {
	return filter.Rejection{Predicate: math.MaxUint16, Verdict: resources.Unresolvable}
}

// prepareScorers runs the part of the scores that comes before any node (PreScore).
func (a *Attempt) prepareScorers() error {
	if a.scored {
		return a.err
	}
	a.scored = true
	for _, w := range a.plan.profile.Scores {
		s, err := w.Plugin.Score(a.pod, a.plan.cluster)
		if err != nil {
			a.err = preScoreError(w.Plugin.Name, err)
			return a.err
		}
		if s == nil {
			continue
		}
		a.scorers = append(a.scorers, hooks.NewRanking(s, w.Plugin.Name, w.weight()))
	}
	return nil
}

// Scores returns what each score plugin gives the feasible slots, one column a plugin, and the weighted totals of the slots.
// Decide scores only when two slots or more are feasible; Scores takes any number. The error is that of a plugin, or of a
// score out of range.
func (a *Attempt) Scores(feasible []int) ([]score.Column, []int64, error) {
	if err := a.prepareScorers(); err != nil {
		return nil, nil, err
	}
	columns := make([]score.Column, len(a.scorers))
	for k := range a.scorers {
		columns[k] = column(&a.scorers[k], feasible)
	}
	totals, err := score.Totals(make([]string, len(feasible)), columnsOf(a.plan, columns), nil)
	return columns, totals, err
}

// columnsOf returns nil for a profile without scores, which is not the same as scores that all skip the pod.
func columnsOf(p *Plan, columns []score.Column) []score.Column {
	if len(p.profile.Scores) == 0 {
		return nil
	}
	return columns
}

// column asks one scorer about all feasible slots.
func column(s *hooks.Ranking, feasible []int) score.Column {
	c := score.Column{Plugin: s.Name, Weight: s.Weight, Raw: make([]int64, len(feasible)), Scores: make([]int64, len(feasible))}
	if s.Weigher != nil {
		slots := make([]int32, len(feasible))
		for j, i := range feasible {
			slots[j] = int32(i)
		}
		s.Weigher.Weigh(slots, nil)
	}
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	for j, i := range feasible {
		c.Raw[j] = s.Raw(i)
		if !s.Ignored(i) {
			lo, hi = min(lo, c.Raw[j]), max(hi, c.Raw[j])
		}
	}
	for j, i := range feasible {
		switch {
		case s.Ignored(i):
		case s.Normalizer != nil:
			c.Scores[j] = s.Normalizer.Normalize(c.Raw[j], lo, hi)
		default:
			c.Scores[j] = c.Raw[j]
		}
	}
	return c
}
