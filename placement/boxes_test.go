package placement

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/score"
)

// Pods that all ask for different amounts are decided by boxes of nodes as by a look at every node, while pods and nodes come,
// change and leave.
func TestDecisionsByBoxes(t *testing.T) {
	testkit.Sequential(t)
	strategy := func(s score.Strategy) PluginArgs {
		return PluginArgs{NodeResourcesFit: FitOptions{Args: score.FitArgs{ScoringStrategy: &s}}}
	}
	cpu, memory := score.Resource{Name: "cpu", Weight: 3}, score.Resource{Name: "memory", Weight: 1}
	type test struct {
		name, reason string
		args         PluginArgs
	}
	testkit.Run(t, []test{
		{"least allocated", "the default", PluginArgs{}},
		{"most allocated", "the score rises with what is in use", strategy(score.Strategy{Type: score.MostAllocated})},
		{"weights", "of cpu and memory", strategy(score.Strategy{Type: score.LeastAllocated, Resources: []score.Resource{cpu, memory}})},
		{"one resource", "the score looks at cpu alone", strategy(score.Strategy{Type: score.MostAllocated, Resources: []score.Resource{cpu}})},
		{"extended resource", "the score has no bounds", strategy(score.Strategy{Type: score.LeastAllocated, Resources: []score.Resource{cpu, {Name: "example.com/gpu", Weight: 1}}})},
		{"balance of one", "the score has no bounds", PluginArgs{BalancedAllocation: score.BalanceArgs{Resources: []score.Resource{{Name: "cpu", Weight: 1}}}}},
	}, func(t *testing.T, c test) {
		profile := c.args.Profile()
		profile.Sampling = AllNodes()
		for seed := range uint64(testkit.Rounds(1)) {
			decideByBoxes(t, &world{r: rand.New(rand.NewPCG(seed, 11))}, profile)
		}
	})
}

// machine is a node of one of three kinds, two of which offer nearly the same.
func (w *world) machine(name string) *v1.Node {
	b := testkit.Node(name).Capacity(w.pick("cpu=8,memory=16Gi,pods=20", "cpu=8,memory=16300Mi,pods=20", "cpu=4,memory=32Gi,pods=10,example.com/gpu=2"))
	if w.chance(9) {
		b = b.Zone(w.pick("a", "b"))
	}
	if w.chance(20) {
		b = b.Taint("x:NoExecute")
	}
	return b.Obj()
}

func decideByBoxes(t *testing.T, w *world, profile Profile) {
	s := w.snapshot(t, 150+w.r.IntN(250), w.r.IntN(900))
	for _, i := range s.Order() {
		require.NoError(t, s.Set(w.machine(s.Node(int(i)).Name)))
	}
	with := w.plan(t, s, profile)
	var running []*v1.Pod
	for step := range 500 {
		switch w.r.IntN(12) {
		case 0:
			n := s.Node(int(s.Order()[w.r.IntN(len(s.Order()))])).DeepCopy()
			n.Status.Allocatable[v1.ResourceMemory] = testkit.Resources(fmt.Sprintf("memory=%dMi", 15000+w.r.IntN(3000)))[v1.ResourceMemory]
			require.NoError(t, s.Set(n))
		case 1:
			if w.chance(20) {
				require.NoError(t, s.Remove(s.Node(int(s.Order()[w.r.IntN(len(s.Order()))]))))
				running = nil // some have left with the node
			}
		case 2:
			if w.chance(20) {
				w.next++
				require.NoError(t, s.Set(w.machine(fmt.Sprintf("m%d", w.next))))
			}
		case 3, 4, 5:
			if n := len(running); n > 0 {
				k := w.r.IntN(n)
				require.NoError(t, s.Remove(running[k]))
				running[k] = running[n-1]
				running = running[:n-1]
			}
		}
		p := w.pod(w.r.IntN(6))
		p.Labels["pod"] = p.Name
		requests := testkit.Resources(fmt.Sprintf("cpu=%dm,memory=%d", w.r.IntN(1500), w.r.IntN(1<<30)))
		if w.chance(5) {
			requests["example.com/gpu"] = testkit.Resources("example.com/gpu=1")["example.com/gpu"]
		}
		p.Spec.Containers[0].Resources.Requests = requests
		without, err := New(s, profile)
		require.NoError(t, err)
		without.engine = nil
		d := with.Decide(p, Options{})
		require.Equal(t, text(without.Decide(p, Options{})), text(d), "step %d", step)
		if d.Placed() {
			require.NoError(t, s.Assume(p, d.Slot))
			running = append(running, p)
		}
	}
}
