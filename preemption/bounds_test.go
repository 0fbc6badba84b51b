package preemption_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
)

// counted counts the calls of a WhatIf, and has no method Without.
type counted struct {
	preemption.WhatIf
	checks int
}

func (c *counted) Check(i int) preemption.Answer {
	c.checks++
	return c.WhatIf.Check(i)
}

type bounded struct {
	*counted
	bound interface {
		Without(i int, left []int64) preemption.Answer
	}
}

func (b bounded) Without(i int, left []int64) preemption.Answer { return b.bound.Without(i, left) }

// Nodes whose outcome is certain are not tried, and the message is the same.
func TestBounds(t *testing.T) {
	var o cluster.Objects
	for i := range 20 {
		name := fmt.Sprintf("n%d", i)
		o.Nodes = append(o.Nodes, node(name, "4"))
		o.Pods = append(o.Pods, pod("low"+name, 1, "1", name).Obj(), pod("high"+name, int32(10*(i%2)), "3", name).Obj())
	}
	s, err := cluster.New(o)
	require.NoError(t, err)
	plan, err := placement.New(s, placement.DefaultProfile())
	require.NoError(t, err)
	type test struct {
		name, why string
		cpu       string
		priority  int32
		checks    int
	}
	testkit.Run(t, []test{
		{"no victims", "nobody is below", "2", 0, 0},
		{"capacity", "half of the nodes cannot be made free enough: 10 x (1 + 2) checks for the others", "2", 5, 30},
	}, func(t *testing.T, c test) {
		p := pod("p", c.priority, c.cpu, "").Obj()
		a := plan.Prepare(p)
		r := preemption.Request{Pod: p, Cluster: s, Rejections: a.Rejections(nil, placement.Options{}), Now: now}
		what := a.WhatIf(placement.Options{})
		with, without := &counted{WhatIf: what}, &counted{WhatIf: a.WhatIf(placement.Options{})}
		bound, ok := what.(interface {
			Without(i int, left []int64) preemption.Answer
		})
		require.True(t, ok)
		r.WhatIf, r.Index = bounded{with, bound}, preemption.NewIndex(s)
		preemption.Preempt(r) // the index learns
		with.checks = 0
		first := preemption.Preempt(r)
		require.Equal(t, c.checks, with.checks)
		r.WhatIf, r.Index = without, nil
		second := preemption.Preempt(r)
		require.Equal(t, second, first)
		require.GreaterOrEqual(t, without.checks, with.checks)
	})
}

// A node without victims, or a node that is not chosen, costs no allocation.
func TestAllocations(t *testing.T) {
	allocs := func(nodes int) float64 {
		s, budgets := full(t, nodes, false, 0)
		plan, err := placement.New(s, placement.DefaultProfile())
		require.NoError(t, err)
		zero, one := int32(0), int32(1)
		o := placement.PreemptOptions{Budgets: budgets, Now: now, Options: preemption.Options{
			Candidates: preemption.CandidateArgs{MinPercentage: &zero, MinAbsolute: &one},
		}}
		p := pod("p", 50, "2", "").Obj()
		require.Equal(t, nodes, plan.Preempt(p, nil, placement.Options{}, o).Tried)
		return testing.AllocsPerRun(5, func() { plan.Preempt(p, nil, placement.Options{}, o) })
	}
	require.InDelta(t, allocs(600), allocs(2400), 20, "four times the nodes")
}

// The order in which nodes, pods of different importance and budgets are listed does not matter.
func TestOrder(t *testing.T) {
	s := parts(node("n1", "4"), node("n2", "4"), pod("a", 3, "2", "n1").Labels("app=x").Obj(), pod("b", 2, "2", "n1").Obj(), pod("c", 3, "2", "n2").Labels("app=y").Obj(), pod("d", 2, "2", "n2").Obj(),
		budget("x", "app=x", 0), budget("y", "app=y", 1))
	p := pod("p", 10, "4", "").Obj()
	want := shown(s.preempt(t, p))
	require.Equal(t, "n2: c d", want)
	for _, list := range [][]*v1.Pod{{s.pods[3], s.pods[2], s.pods[1], s.pods[0]}} {
		o := s
		o.pods, o.nodes = list, []*v1.Node{s.nodes[1], s.nodes[0]}
		o.budgets[0], o.budgets[1] = s.budgets[1], s.budgets[0]
		require.Equal(t, want, shown(o.preempt(t, p)))
	}
}
