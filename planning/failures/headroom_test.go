package failures

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// The smallest set of nodes whose loss leaves a pod pending.
func TestHeadroom(t *testing.T) {
	testkit.Run(t, []struct {
		name, why string
		cluster   func() *world
		search    Search
		survives  int
		found     []string // nil: none
		exact     bool
		limited   bool
		binding   Cause
	}{
		{"one", "the only node of zone c has a volume of its zone", func() *world {
			w := five("cpu=4")
			w.stateful("db", "n1 n3 n5", "Parallel")
			return w
		}, Search{}, 0, []string{"n5"}, true, false, Volumes},
		{"two", "three apart pods fit on four nodes and on three, not on two", func() *world {
			w := five("cpu=4")
			w.app("web", "cpu=1", "n1 n2 n3 n4", apart("web", v1.LabelHostname))
			return w
		}, Search{}, 1, []string{"n1", "n2"}, true, false, AntiAffinity},
		{"bare pods", "nothing comes back, so nothing is pending", func() *world {
			w := five("cpu=4")
			w.pod("", "", "bare", "n1", v1.PodTemplateSpec{})
			return w
		}, Search{}, 5, nil, false, false, ""},
		{"beyond the limit", "pairs are too many to play, and a growing set finds three nodes", func() *world {
			w := five("cpu=2")
			w.app("web", "cpu=1", "n1 n2 n3 n4 n4", nil)
			return w
		}, Search{Limit: 9}, 1, []string{"n1", "n2", "n4"}, false, true, Resources},
		{"no search", "single nodes are always played", func() *world {
			w := five("cpu=2")
			w.app("web", "cpu=1", "n1 n2 n3 n4 n4", nil)
			return w
		}, Search{Limit: -1}, 1, nil, false, true, ""},
		{"stopped", "what was not played is not survived", func() *world {
			w := five("cpu=2")
			w.app("web", "cpu=1", "n1 n2 n3 n4 n4", nil)
			return w
		}, Search{Stop: func() bool { return true }}, 0, nil, false, true, ""},
		{"stopped after single nodes", "pairs were not all played", func() *world {
			w := five("cpu=2")
			w.app("web", "cpu=1", "n1 n2 n3 n4 n4", nil)
			return w
		}, Search{Stop: after(6)}, 1, nil, false, true, ""},
	}, func(t *testing.T, c struct {
		name, why string
		cluster   func() *world
		search    Search
		survives  int
		found     []string
		exact     bool
		limited   bool
		binding   Cause
	}) {
		h, err := c.cluster().planner(t).Headroom(c.search)
		require.NoError(t, err)
		require.Equal(t, c.survives, h.Survives)
		require.Equal(t, c.exact, h.Exact)
		require.Equal(t, c.limited, h.Limited)
		if c.found == nil {
			require.Nil(t, h.Found)
			require.Nil(t, h.Binding())
			return
		}
		require.ElementsMatch(t, c.found, h.Found.Nodes)
		require.Equal(t, c.binding, h.Binding().Cause)
	})
}

// What would let the cluster survive one node, each checked by playing every node again.
func TestRemedies(t *testing.T) {
	testkit.Run(t, []struct {
		name, why string
		cluster   func() *world
		want      []string
	}{
		{"resources", "four pods fill four of five nodes, and the fifth is too small", func() *world {
			w := five("cpu=2")
			w.objects.Nodes[4].Status.Allocatable[v1.ResourceCPU] = testkit.Resources("cpu=1")[v1.ResourceCPU]
			w.app("web", "cpu=2", "n1 n2 n3 n4", nil)
			return w
		}, []string{
			"node: one more node like n1 (there are 2): true", "node: one more node like n3 (there are 2): true", "node: one more node like n5 (there are 1): false n1 1",
			"replicas: one replica fewer of ReplicaSet default/web (3 of 4): true",
		}},
		{"spread", "two zones must not differ by more than one, and zone c is lost with n5", func() *world {
			w := five("cpu=4")
			w.app("web", "cpu=1", "n1 n3 n5", spreadOver("web", zoneKey, ptr(int32(3))))
			return w
		}, []string{
			"node: one more node like n1 (there are 2): false n5 1", "node: one more node like n3 (there are 2): false n5 1", "node: one more node like n5 (there are 1): true",
			"replicas: one replica fewer of ReplicaSet default/web (2 of 3): true",
			"constraint: whenUnsatisfiable: ScheduleAnyway in the spread constraints of ReplicaSet default/web: true",
		}},
		{"anti-affinity", "there are as many nodes as pods that want a node of their own", func() *world {
			w := five("cpu=4")
			w.app("web", "cpu=1", "n1 n2 n3 n4 n5", apart("web", v1.LabelHostname))
			return w
		}, []string{
			"node: one more node like n1 (there are 2): true", "node: one more node like n3 (there are 2): true", "node: one more node like n5 (there are 1): true",
			"replicas: one replica fewer of ReplicaSet default/web (4 of 5): true",
			"constraint: preferred in place of required anti-affinity of ReplicaSet default/web: true",
		}},
	}, func(t *testing.T, c struct {
		name, why string
		cluster   func() *world
		want      []string
	}) {
		h, err := c.cluster().planner(t).Headroom(Search{Remedies: 9})
		require.NoError(t, err)
		var got []string
		for _, r := range h.Remedies {
			text := fmt.Sprintf("%s: %s: %t", r.Kind, r.Text, r.Holds)
			if !r.Holds {
				text += fmt.Sprintf(" %s %d", r.Worst, r.Stays)
			}
			got = append(got, text)
		}
		require.Equal(t, c.want, got)
	})
}

// Headroom agrees with playing every set of nodes.
func TestHeadroomIsExact(t *testing.T) {
	for seed := range uint64(25) {
		w := random(testkit.NewBytes(testkit.RandomBytes(seed, 80)))
		p := w.planner(t)
		h, err := p.Headroom(Search{})
		require.NoError(t, err)
		smallest := 0
		for size := 1; size <= 5 && smallest == 0; size++ {
			for _, set := range combinations(5, size, 100) {
				r, err := p.Run([]Scenario{p.scenario(set...)}, Options{})
				require.NoError(t, err)
				if r[0].Stays() > 0 {
					smallest = size
				}
			}
		}
		if smallest == 0 {
			require.Nil(t, h.Found)
			require.Equal(t, 5, h.Survives)
			continue
		}
		require.Equal(t, smallest-1, h.Survives)
		require.Len(t, h.Found.Nodes, smallest)
		require.True(t, h.Exact)
	}
}

// after returns a function that says no for so many calls.
func after(calls int) func() bool {
	return func() bool { calls--; return calls < 0 }
}
