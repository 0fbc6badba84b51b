package scheduler

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/score"
)

// This file runs PreScore, Score, NormalizeScore and the extenders' scores.

// choose scores the candidates, and returns the index of the best candidate and all totals. There are at least two
// candidates.
func (f *Framework) choose(ctx context.Context, state *State, pod *v1.Pod, nodes []*NodeInfo) (best int, totals []int64, err error) {
	s := f.s
	if totals, err = f.totals(ctx, state, pod, nodes); err != nil {
		return 0, nil, err
	}
	var tie func([]int) int
	if s.o.Tie != nil {
		tie = func(tied []int) int { return s.tie(len(tied)) }
	}
	return score.Best(totals, tie), totals, nil
}

func (f *Framework) totals(ctx context.Context, state *State, pod *v1.Pod, nodes []*NodeInfo) ([]int64, error) {
	var columns []score.Column
	if len(f.score) > 0 {
		columns = []score.Column{}
	}
	if len(f.score)+len(f.s.o.Extenders) > 0 {
		if err := f.runPreScore(ctx, state, pod, nodes); err != nil {
			return nil, err
		}
	}
	began := f.s.metricsNow()
	for _, p := range f.score {
		if state.skipScore[p.Name()] {
			continue
		}
		c, err := f.runScore(ctx, state, pod, p, nodes)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	for k := range columns {
		if err := f.normalize(ctx, state, pod, &columns[k], nodes); err != nil {
			return nil, err
		}
	}
	f.point(Score, began, Success)
	return score.Totals(nodeNames(nodes), columns, f.s.extenderScores(ctx, pod, nodes))
}

func nodeNames(nodes []*NodeInfo) []string {
	names := make([]string, len(nodes))
	for k, n := range nodes {
		names[k] = n.Node.Name
	}
	return names
}

func (f *Framework) runPreScore(ctx context.Context, state *State, pod *v1.Pod, nodes []*NodeInfo) (err error) {
	began := f.s.metricsNow()
	defer func() { f.point(PreScore, began, AsStatus(err).Code()) }()
	for _, p := range f.preScore {
		st := f.status(ctx, PreScore, p, func(ctx context.Context) *Status { return p.PreScore(ctx, state, pod, nodes) })
		switch st.Code() {
		case Success:
		case Skip:
			state.skipScore[p.Name()] = true
		default:
			return fmt.Errorf("running PreScore plugin %q: %w", p.Name(), st.failure())
		}
	}
	return nil
}

func (f *Framework) runScore(ctx context.Context, state *State, pod *v1.Pod, p weighted, nodes []*NodeInfo) (score.Column, error) {
	c := score.Column{Plugin: p.Name(), Weight: p.weight, Raw: make([]int64, len(nodes)), Scores: make([]int64, len(nodes))}
	for k, n := range nodes {
		raw, st := call(f, ctx, Score, p.ScorePlugin, func(ctx context.Context) (int64, *Status) { return p.Score(ctx, state, pod, n) })
		if !st.Success() {
			return c, fmt.Errorf("running Score plugins: plugin %q failed with: %w", p.Name(), st.failure())
		}
		c.Raw[k], c.Scores[k] = raw, raw
	}
	return c, nil
}

func (f *Framework) normalize(ctx context.Context, state *State, pod *v1.Pod, c *score.Column, nodes []*NodeInfo) error {
	p := f.plugins[c.Plugin]
	norm, ok := p.(NormalizePlugin)
	if !ok {
		return nil
	}
	scores := make([]NodeScore, len(nodes))
	for k, n := range nodes {
		scores[k] = NodeScore{n.Node.Name, c.Raw[k], n.Slot}
	}
	st := f.status(ctx, normalizePoint, p, func(ctx context.Context) *Status { return norm.NormalizeScores(ctx, state, pod, scores) })
	if !st.Success() {
		return fmt.Errorf("running Normalize on Score plugins: plugin %q failed with: %w", p.Name(), st.failure())
	}
	for k := range scores {
		c.Scores[k] = scores[k].Score
	}
	return nil
}

// extenderScores calls the extenders that prioritize. An extender that fails adds no score.
func (s *Scheduler) extenderScores(ctx context.Context, pod *v1.Pod, nodes []*NodeInfo) []score.Column {
	var out []score.Column
	for _, e := range s.o.Extenders {
		if out == nil {
			out = []score.Column{}
		}
		column, asked, err := consult(s, ctx, e, PrioritizeVerb, pod, func(ctx context.Context) (score.Column, error) {
			return e.Prioritize(ctx, pod, objects(nodes))
		})
		if err != nil {
			s.passOver(e, err)
			continue
		}
		if asked {
			column.Plugin = s.extenderName(e)
			out = append(out, column)
		}
	}
	return out
}
