package preemption_test

import (
	"cmp"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/resources"
)

// scripted is a WhatIf that allows the preemptor on a slot once all pods of it left, unless the script has a verdict.
type scripted struct {
	pods    map[int]int
	left    map[int]int
	verdict map[int]resources.Verdict
	failed  map[resources.Verdict]error
}

func (s *scripted) Check(i int) preemption.Answer {
	if v := s.verdict[i]; v != 0 {
		return preemption.Answer{Verdict: v}
	}
	if s.left[i] == s.pods[i] {
		return preemption.Answer{}
	}
	return preemption.Answer{Verdict: 99} // whose Err is never asked for while pods come back
}
func (s *scripted) Add(_ *v1.Pod, i int)    { s.left[i]-- }
func (s *scripted) Remove(_ *v1.Pod, i int) { s.left[i]++ }
func (s *scripted) Reset()                  { clear(s.left) }
func (s *scripted) Reasons(i int, a preemption.Answer) ([]string, bool) {
	if a.Verdict >= 50 {
		return []string{fmt.Sprintf("detail of %d", i), "shared"}, false
	}
	return []string{fmt.Sprintf("reason %d", a.Verdict), "shared"}, true
}
func (s *scripted) Err(_ int, a preemption.Answer) error { return s.failed[a.Verdict] }

// Verdicts of the filters: reasons, several of them, failures.
func TestVerdicts(t *testing.T) {
	ask := func(verdicts ...resources.Verdict) preemption.Result {
		s := parts()
		w := &scripted{pods: map[int]int{}, left: map[int]int{}, verdict: map[int]resources.Verdict{}, failed: map[resources.Verdict]error{7: errors.New("broken"), 8: errors.New("broken"), 9: errors.New("gone"), 99: errors.New("never")}}
		var all []preemption.Rejection
		for i, v := range verdicts {
			name := fmt.Sprintf("n%d", i)
			s.nodes = append(s.nodes, node(name, "4"))
			s.pods = append(s.pods, pod("a"+name, 1, "1", name).Obj(), pod("b"+name, 2, "1", name).Obj())
			w.pods[i], w.verdict[i] = 2, v
			all = append(all, preemption.Resolvable)
		}
		return preemption.Preempt(preemption.Request{Pod: pod("p", 10, "1", "").Obj(), Cluster: testkit.NewCluster(s.nodes, s.pods), WhatIf: w, Rejections: all, Now: now})
	}
	type test struct {
		name, why string
		verdicts  []resources.Verdict
		want      string
	}
	testkit.Run(t, []test{
		{"reasons", "a node with two counts in both; the list is sorted as text", []resources.Verdict{1, 1, 2}, "Unschedulable, clear: 0/3 nodes are available: 1 reason 2, 2 reason 1, 3 shared."},
		{"reasons of single nodes", "are asked for one by one", []resources.Verdict{50, 50, 1}, "Unschedulable, clear: 0/3 nodes are available: 1 detail of 0, 1 detail of 1, 1 reason 1, 3 shared."},
		{"failure", "of a filter on one node, without candidates", []resources.Verdict{1, 7}, "Error, keep: broken"},
		{"failures", "are joined, equal texts are printed once", []resources.Verdict{7, 8, 9}, "Error, keep: [broken, gone]"},
		{"failure beside a candidate", "does not matter", []resources.Verdict{7, 0}, "n1: bn1 an1"},
		{"failure while pods come back", "counts as not fitting", []resources.Verdict{0}, "n0: bn0 an0"},
	}, func(t *testing.T, c test) { require.Equal(t, c.want, shown(ask(c.verdicts...))) })
}

// fragile is a WhatIf that cannot add pods to some slots.
type fragile struct {
	*scripted
	cannot map[int]error
	broken error
}

func (f *fragile) Add(p *v1.Pod, i int) {
	f.scripted.Add(p, i)
	f.broken = cmp.Or(f.broken, f.cannot[i])
}
func (f *fragile) Reset() {
	f.scripted.Reset()
	f.broken = nil
}
func (f *fragile) Broken() error { return f.broken }

// A node on which a pod cannot come back is given up with the error. No pod leaves it.
func TestPodCannotComeBack(t *testing.T) {
	type test struct {
		name, why string
		cannot    map[int]error
		want      string
	}
	broken := errors.New("broken")
	testkit.Run(t, []test{
		{"no failure", "the node with the victims of the lowest priority", nil, "n0: bn0 an0"},
		{"one node", "the other node has the victims", map[int]error{0: broken}, "n1: bn1 an1"},
		{"last node", "the failure does not reach the nodes before it", map[int]error{1: broken}, "n0: bn0 an0"},
		{"all nodes", "without candidates the attempt fails", map[int]error{0: broken, 1: errors.New("gone")}, "Error, keep: [broken, gone]"},
	}, func(t *testing.T, c test) {
		s := parts()
		w := &fragile{scripted: &scripted{pods: map[int]int{0: 2, 1: 2}, left: map[int]int{}}, cannot: c.cannot}
		for i, priority := range []int32{1, 3} {
			name := fmt.Sprintf("n%d", i)
			s.nodes = append(s.nodes, node(name, "4"))
			s.pods = append(s.pods, pod("a"+name, priority, "1", name).Obj(), pod("b"+name, priority+1, "1", name).Obj())
		}
		require.Equal(t, c.want, shown(preemption.Preempt(preemption.Request{
			Pod: pod("p", 10, "1", "").Obj(), Cluster: testkit.NewCluster(s.nodes, s.pods), WhatIf: w, Now: now,
			Rejections: []preemption.Rejection{preemption.Resolvable, preemption.Resolvable},
		})))
	})
}
