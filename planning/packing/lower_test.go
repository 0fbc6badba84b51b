package packing

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// Of the pods of lower priorities so many leave a node that there is room for a pod, and each in turn stays if it can, the pod of the
// highest priority first.
func TestLower(t *testing.T) {
	left := 0
	for seed := range uint64(900) {
		r := rand.New(rand.NewPCG(seed, 3))
		o := cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Capacity("cpu=8,memory=8Gi").Obj()}}
		for k := range 1 + r.IntN(8) {
			o.Pods = append(o.Pods, testkit.Pod(fmt.Sprint("p", k)).On("n1").Priority(int32(r.IntN(5))).Request(fmt.Sprintf("cpu=%d,memory=%dGi", r.IntN(2), r.IntN(2))).Obj())
		}
		pending := testkit.Pod("pending").Priority(int32(2 + r.IntN(3))).Request(fmt.Sprintf("cpu=%d,memory=%dGi", 1+r.IntN(8), r.IntN(6))).Obj()
		snapshot, err := cluster.New(o)
		require.NoError(t, err)
		in := Input{Snapshot: snapshot, Pending: []*v1.Pod{pending}}
		profile, queue, err := in.check(Options{})
		require.NoError(t, err)
		m := newModel(&in, profile, queue, nil)
		k := len(m.items) - 1
		list, enough := (&search{model: m}).lower(k, 0, m.items[k].tier)

		var leave []int
		free := [2]int64{8000, 8 << 30}
		ask := func(n int) [2]int64 {
			requests := m.items[n].pod.Spec.Containers[0].Resources.Requests
			return [2]int64{requests.Cpu().MilliValue(), requests.Memory().Value()}
		}
		for n := range k {
			if m.items[n].tier > m.items[k].tier {
				leave = append(leave, n)
			} else {
				free[0], free[1] = free[0]-ask(n)[0], free[1]-ask(n)[1]
			}
		}
		want := ask(k)
		fits := func() bool { return (want[0] == 0 || want[0] <= free[0]) && (want[1] == 0 || want[1] <= free[1]) }
		require.Equal(t, fits(), enough, "seed %d", seed)
		if !enough {
			require.ElementsMatch(t, leave, list)
			continue
		}
		slices.SortStableFunc(leave, func(a, b int) int { return m.items[a].tier - m.items[b].tier })
		leave = slices.DeleteFunc(leave, func(n int) bool {
			free[0], free[1] = free[0]-ask(n)[0], free[1]-ask(n)[1]
			stays := fits()
			if !stays {
				free[0], free[1] = free[0]+ask(n)[0], free[1]+ask(n)[1]
			}
			return stays
		})
		require.Equal(t, leave, list, "seed %d", seed)
		if len(list) > 1 {
			left++
		}
	}
	require.Greater(t, left, 40)
}
