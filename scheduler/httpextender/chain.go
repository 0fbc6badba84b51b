package httpextender

import (
	"context"
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/score"

	"github.com/podberth/podberth/scheduler/httpextender/rules"
)

// This file asks several extenders about one pod, in the given order (that of NewAll).

// FilterAll passes nodes through the extenders that filter and are interested, as long as nodes are left. It ignores the
// failure of an ignorable extender and returns the failure of another one. When extenders disagree about a rejected node,
// unresolvable wins. Objects are those of the last extender that sent some.
func FilterAll[E Extender](ctx context.Context, extenders []E, pod *v1.Pod, nodes []*v1.Node) (Answer, error) {
	out := Answer{Filtered: rules.Filtered{Unresolvable: map[string]string{}, Failed: map[string]string{}}}
	for _, x := range extenders {
		if len(nodes) == 0 {
			break
		}
		if !x.Offers(Filter) || !x.Interested(pod) {
			continue
		}
		a, err := x.Filter(ctx, pod, nodes)
		if err != nil {
			if x.Ignorable() {
				continue
			}
			return Answer{}, err
		}
		maps.Copy(out.Unresolvable, a.Unresolvable)
		for name, text := range a.Failed {
			if _, ok := out.Unresolvable[name]; !ok {
				out.Failed[name] = text
			}
		}
		nodes = nodesOfAnswer(nodes, a)
		if a.Objects != nil {
			out.Objects = a.Objects
		}
	}
	out.Nodes = namesOf(nodes)
	return out, nil
}

// nodesOfAnswer returns the nodes of an answer in its order: the objects that the extender sent, or else the known nodes of these
// names.
func nodesOfAnswer(nodes []*v1.Node, a Answer) []*v1.Node {
	if a.Objects != nil {
		return a.Objects
	}
	known := make(map[string]*v1.Node, len(nodes))
	for _, n := range nodes {
		known[n.Name] = n
	}
	out := make([]*v1.Node, 0, len(a.Nodes))
	for _, name := range a.Nodes {
		out = append(out, known[name])
	}
	return out
}

// ScoreAll returns what the interested extenders add to the total of each node: the sum of score x weight x 10. It asks
// them concurrently and ignores failures.
func ScoreAll[E Extender](ctx context.Context, extenders []E, pod *v1.Pod, nodes []*v1.Node) []int64 {
	scores := make([]score.Column, len(extenders))
	var asked sync.WaitGroup
	for k, x := range extenders {
		if !x.Interested(pod) {
			continue
		}
		asked.Go(func() {
			if s, err := x.Prioritize(ctx, pod, nodes); err == nil {
				scores[k] = s
			}
		})
	}
	asked.Wait()
	sums, err := score.Totals(namesOf(nodes), []score.Column{}, scores) // no plugins: only the extenders
	if err != nil {
		panic(err) // only a plugin's score can be out of range
	}
	return sums
}

// BindAll lets the first interested extender with the verb bind the pod. bound is false when there is no such extender, and
// when all of them are ignorable and failed: then the scheduler's own plugins bind.
func BindAll[E Extender](ctx context.Context, extenders []E, pod *v1.Pod, node string) (bound bool, err error) {
	for _, x := range extenders {
		if !x.Offers(Bind) || !x.Interested(pod) {
			continue
		}
		if err := x.Bind(ctx, pod, node); err != nil {
			if x.Ignorable() {
				continue
			}
			return false, err
		}
		return true, nil
	}
	return false, nil
}

// Preempters returns the extenders that are interested in the preemption victims of a pod, for [preemption.Request].
func Preempters[E Extender](ctx context.Context, extenders []E, pod *v1.Pod) []preemption.Extender {
	var out []preemption.Extender
	for _, x := range extenders {
		if !x.Offers(Preempt) || !x.Interested(pod) {
			continue
		}
		out = append(out, preemption.Extender{
			Name: x.Name(), Ignorable: x.Ignorable(),
			Process: func(preemptor *v1.Pod, candidates []preemption.Candidate) ([]preemption.ExtenderVictims, error) {
				answer, err := x.Preempt(ctx, preemptor, victimsOf(candidates))
				if err != nil {
					return nil, err
				}
				var list []preemption.ExtenderVictims
				for _, node := range slices.Sorted(maps.Keys(answer)) {
					list = append(list, preemption.ExtenderVictims{Node: node, UIDs: answer[node].UIDs, Violations: answer[node].Violations})
				}
				return list, nil
			},
		})
	}
	return out
}

func victimsOf(candidates []preemption.Candidate) map[string]Victims {
	out := make(map[string]Victims, len(candidates))
	for _, c := range candidates {
		v := Victims{Violations: c.Violations}
		for _, p := range c.Victims {
			v.Pods = append(v.Pods, p.Pod)
		}
		out[c.Node] = v
	}
	return out
}
