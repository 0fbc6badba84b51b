package real

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
)

// Plugin returns the instance of an in-tree plugin with the profile's arguments, made at the first call.
func (s *Scheduler) Plugin(name string) (plugin, error) {
	if p, ok := s.plugins[name]; ok {
		return p, nil
	}
	for _, e := range s.Framework.EnqueueExtensions() { // DynamicResources of v1.37 cannot be made twice
		if name == "DynamicResources" && e.Name() == name {
			s.plugins[name] = e
			return e, nil
		}
	}
	factory, ok := plugins.NewInTreeRegistry()[name]
	if !ok {
		return nil, fmt.Errorf("no plugin %q", name)
	}
	var args runtime.Object
	for _, c := range s.profile.PluginConfig {
		if c.Name == name {
			args = c.Args
		}
	}
	p, err := factory(s.ctx, args, s.Framework)
	if err != nil {
		return nil, err
	}
	s.plugins[name] = p
	return p, nil
}

// Filtering is what one filter plugin says about a pod: before any node, and about each node of NodeInfos.
type Filtering struct {
	Pre    *fwk.Status
	Nodes  sets.Set[string] // nil: all
	Status []*fwk.Status    // nil when Pre is not a success
}

// Filter asks one plugin about every node, whatever other plugins say.
func (s *Scheduler) Filter(name string, pod *v1.Pod) (Filtering, error) {
	var f Filtering
	p, err := s.Plugin(name)
	if err != nil {
		return f, err
	}
	nodes, err := s.NodeInfos()
	if err != nil {
		return f, err
	}
	state := framework.NewCycleState()
	if pre, ok := p.(preFilterPlugin); ok {
		var result *preFilterResult
		result, f.Pre = pre.PreFilter(s.ctx, state, pod, nodes)
		if f.Pre.IsSuccess() && !result.AllNodes() {
			f.Nodes = result.NodeNames
		}
	}
	if !f.Pre.IsSuccess() {
		return f, nil
	}
	filter := p.(filterPlugin)
	for _, n := range nodes {
		f.Status = append(f.Status, filter.Filter(s.ctx, state, pod, n))
	}
	return f, nil
}

// Scoring is what one score plugin gives each of some nodes.
type Scoring struct {
	Skip       bool
	Raw        []int64
	Normalized []int64
}

// Score asks one plugin to score a set of feasible nodes.
func (s *Scheduler) Score(name string, pod *v1.Pod, feasible []fwk.NodeInfo) (Scoring, error) {
	var out Scoring
	p, err := s.Plugin(name)
	if err != nil {
		return out, err
	}
	state := framework.NewCycleState()
	if name == "VolumeBinding" { // its PreScore of v1.37 reads what its filter has prepared
		if _, status := p.(preFilterPlugin).PreFilter(s.ctx, state, pod, feasible); status.IsSuccess() {
			for _, n := range feasible {
				p.(filterPlugin).Filter(s.ctx, state, pod, n)
			}
		} else if !status.IsSkip() {
			return Scoring{Skip: true}, nil
		}
	}
	if pre, ok := p.(preScorePlugin); ok {
		status := pre.PreScore(s.ctx, state, pod, feasible)
		if status.IsSkip() {
			return Scoring{Skip: true}, nil
		}
		if !status.IsSuccess() {
			return out, status.AsError()
		}
	} else if pre, ok := p.(preFilterPlugin); ok { // Score reads what PreFilter wrote
		if _, status := pre.PreFilter(s.ctx, state, pod, feasible); status.IsSkip() {
			return Scoring{Skip: true}, nil
		}
	}
	score := p.(scorePlugin)
	var scores nodeScoreList
	for _, n := range feasible {
		raw, status := score.Score(s.ctx, state, pod, n)
		if !status.IsSuccess() {
			return out, status.AsError()
		}
		out.Raw = append(out.Raw, raw)
		scores = append(scores, nodeScore{Name: n.Node().Name, Score: raw})
	}
	if e := score.ScoreExtensions(); e != nil {
		if status := e.NormalizeScore(s.ctx, state, pod, scores); !status.IsSuccess() {
			return out, status.AsError()
		}
	}
	for _, x := range scores {
		out.Normalized = append(out.Normalized, x.Score)
	}
	return out, nil
}

// Totals runs all score plugins over some feasible nodes. ok is false when a filter plugin rejects the pod as a whole:
// nothing is ever scored then.
func (s *Scheduler) Totals(pod *v1.Pod, feasible []fwk.NodeInfo) (scores []nodePluginScores, ok bool, err error) {
	state := framework.NewCycleState()
	// Some score plugins read what their filter has prepared.
	if _, status, _ := s.Framework.RunPreFilterPlugins(s.ctx, state, pod); !status.IsSuccess() {
		return nil, false, nil
	}
	for _, e := range s.Framework.EnqueueExtensions() {
		if e.Name() == "VolumeBinding" && !state.GetSkipFilterPlugins().Has(e.Name()) {
			for _, n := range feasible {
				e.(filterPlugin).Filter(s.ctx, state, pod, n)
			}
		}
	}
	if status := s.Framework.RunPreScorePlugins(s.ctx, state, pod, feasible); !status.IsSuccess() {
		return nil, true, status.AsError()
	}
	scores, status := s.Framework.RunScorePlugins(s.ctx, state, pod, feasible)
	return scores, true, status.AsError()
}

// Hints returns the queueing hints that a plugin registers, by event.
func (s *Scheduler) Hints(name string) ([]fwk.ClusterEventWithHint, error) {
	p, err := s.Plugin(name)
	if err != nil {
		return nil, err
	}
	e, ok := p.(enqueueExtensions)
	if !ok {
		return nil, fmt.Errorf("plugin %q registers no events", name)
	}
	return e.EventsToRegister(s.ctx)
}

// PreEnqueue asks one plugin whether a pod may enter the queue.
func (s *Scheduler) PreEnqueue(name string, pod *v1.Pod) (*fwk.Status, error) {
	p, err := s.Plugin(name)
	if err != nil {
		return nil, err
	}
	e, ok := p.(preEnqueuePlugin)
	if !ok {
		return nil, fmt.Errorf("plugin %q has no say about the queue", name)
	}
	return e.PreEnqueue(s.ctx, pod), nil
}
