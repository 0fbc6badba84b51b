package scheduler

import (
	"context"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/resources"
)

// This file makes plugins of the library's filters and scores.

// libraryFilter and libraryScore are plugins that a plan can run as well.
type libraryFilter interface{ library() *placement.Plugin }
type libraryScore interface{ libraryScore() *placement.Plugin } // nil: it never scores anything

// adapterBase is the common part of all adapters.
type adapterBase struct {
	name   string
	h      *Handle
	plugin *placement.Plugin // nil: package placement does not have the plugin
	own    bool              // the plugin is the caller's, by FromPlacement
}

// Name returns the plugin's name.
func (b adapterBase) Name() string { return b.name }

func (b adapterBase) builtin() bool { return !b.own }

// EventsToRegister returns what the plugin registers in a profile of package placement.
func (b adapterBase) EventsToRegister() ([]queue.Registration, error) {
	var profile placement.Profile
	if b.plugin != nil && b.plugin.Filter != nil {
		profile.Filters = []*placement.Plugin{b.plugin}
	}
	list, err := profile.Registrations(b.h.s.namespaces, b.h.s.o.Release)
	return slices.DeleteFunc(list, func(r queue.Registration) bool { return r.Plugin != b.name }), err
}

// prepared is the state after PreFilter: the predicate of one pod, and a what-if copy after pods were added or removed.
type prepared struct {
	predicate filter.Predicate
	trial     filter.Trial
	moves     []moved
}

type moved struct {
	pod  *v1.Pod
	slot int
	add  bool
}

// Clone returns a copy. What-ifs of the copy do not change the original.
func (p *prepared) Clone() *prepared {
	c := &prepared{predicate: p.predicate}
	for _, m := range p.moves {
		c.move(m)
	}
	return c
}

func (p *prepared) move(m moved) {
	if p.trial == nil {
		t, ok := p.predicate.(placement.Trialer)
		if !ok {
			return
		}
		p.trial = t.NewTrial()
	}
	p.moves = append(p.moves, m)
	if m.add {
		p.trial.Add(m.pod, m.slot)
	} else {
		p.trial.Remove(m.pod, m.slot)
	}
}

// nodeFilter is a filter that needs no PreFilter. It prepares its predicate for the first node.
type nodeFilter struct {
	adapterBase
	key *Key[*prepared]
}

func newNodeFilter(b adapterBase) nodeFilter { return nodeFilter{b, NewKey[*prepared](b.name)} }

func (p nodeFilter) library() *placement.Plugin { return p.plugin }

// Filter asks the predicate.
func (p nodeFilter) Filter(_ context.Context, s *State, pod *v1.Pod, node *NodeInfo) *Status {
	x, err := p.key.Read(s)
	if err != nil {
		x = &prepared{predicate: p.plugin.Filter(pod, p.h.s.snapshot).Predicate}
		p.key.Write(s, x)
	}
	if x.predicate == nil {
		return nil
	}
	v := resources.Verdict(0)
	if x.trial != nil {
		v = x.trial.Check(node.Slot)
	} else {
		v = x.predicate.Check(node.Slot)
	}
	if v == 0 {
		return nil
	}
	ps, r := filter.Predicates{x.predicate}, filter.Rejection{Verdict: v}
	return NewStatus(ps.Code(r), ps.Reasons(r, node.Slot)...)
}

// podFilter is a filter that prepares its predicate at PreFilter, and may count other pods.
type podFilter struct{ nodeFilter }

// PreFilter prepares the predicate.
func (p podFilter) PreFilter(_ context.Context, s *State, pod *v1.Pod, _ []*NodeInfo) ([]string, *Status) {
	f := p.plugin.Filter(pod, p.h.s.snapshot)
	p.key.Write(s, &prepared{predicate: f.Predicate})
	if f.Code == Success {
		return f.Nodes, nil
	}
	return nil, NewStatus(f.Code, f.Reasons...)
}

// AddPod adds the pod other to the what-if copy.
func (p podFilter) AddPod(_ context.Context, s *State, _, other *v1.Pod, node *NodeInfo) *Status {
	return p.move(s, moved{other, node.Slot, true})
}

// RemovePod removes the pod other from the what-if copy.
func (p podFilter) RemovePod(_ context.Context, s *State, _, other *v1.Pod, node *NodeInfo) *Status {
	return p.move(s, moved{other, node.Slot, false})
}

func (p podFilter) move(s *State, m moved) *Status {
	x, err := p.key.Read(s)
	if err != nil {
		return AsStatus(err)
	}
	x.move(m)
	return nil
}

// scores is a score that needs no PreScore.
type scores struct {
	adapterBase
	key *Key[placement.Scorer]
}

func newScores(b adapterBase) scores { return scores{b, NewKey[placement.Scorer](b.name + " scores")} }

func (p scores) libraryScore() *placement.Plugin { return p.plugin }

// Score asks the scorer.
func (p scores) Score(_ context.Context, s *State, pod *v1.Pod, node *NodeInfo) (int64, *Status) {
	x, err := p.key.Read(s)
	if err != nil {
		if x, err = p.plugin.Score(pod, p.h.s.snapshot); err != nil {
			return 0, AsStatus(err)
		}
		p.key.Write(s, x)
	}
	if x == nil {
		return 0, nil
	}
	return x.Raw(node.Slot), nil
}

// NormalizeScores applies the scorer's own rule.
func (p scores) NormalizeScores(_ context.Context, s *State, _ *v1.Pod, list []NodeScore) *Status {
	x, err := p.key.Read(s)
	if err != nil {
		return AsStatus(err)
	}
	n, _ := x.(placement.Normalizer)
	ignorer, _ := x.(interface{ Ignored(i int) bool })
	ignored := func(slot int) bool { return ignorer != nil && ignorer.Ignored(slot) }
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	for _, y := range list {
		if !ignored(y.slot) {
			lo, hi = min(lo, y.Score), max(hi, y.Score)
		}
	}
	for k, y := range list {
		switch {
		case ignored(y.slot):
			list[k].Score = 0
		case n != nil:
			list[k].Score = n.Normalize(y.Score, lo, hi)
		}
	}
	return nil
}

// preScores is a score that prepares its scorer at PreScore, from the pod and the candidates.
type preScores struct{ scores }

// PreScore prepares the scorer.
func (p preScores) PreScore(_ context.Context, s *State, pod *v1.Pod, nodes []*NodeInfo) *Status {
	x, err := p.plugin.Score(pod, p.h.s.snapshot)
	switch {
	case err != nil:
		return AsStatus(err)
	case x == nil:
		return NewStatus(Skip)
	}
	if w, ok := x.(placement.Weigher); ok {
		slots := make([]int32, len(nodes))
		for j, n := range nodes {
			slots[j] = int32(n.Slot)
		}
		w.Weigh(slots, nil)
	}
	p.key.Write(s, x)
	return nil
}
