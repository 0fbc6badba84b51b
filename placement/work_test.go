package placement

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// How often a plan asks its plugins to prepare an answer in random clusters that change. A loss of reuse changes no answer; here it
// raises a number. A number may fall, or rise by a tenth. With -rewrite the test writes the numbers as they are.
func TestWork(t *testing.T) {
	calls := asked{}
	for seed := range uint64(24) {
		calls["decisions"] += work(t, rand.New(rand.NewPCG(seed, 43)), calls)
	}
	testkit.AtMost(t, "testdata/work.numbers", calls)
}

// work decides about pods like each other and unlike each other, while nodes and pods change. It returns the number of decisions.
func work(t *testing.T, r *rand.Rand, calls asked) (decisions int) {
	w := &world{r: r}
	s := w.snapshot(t, 6+r.IntN(40), r.IntN(60))
	p, err := NewPlacer(s, calls.profile())
	require.NoError(t, err)
	base := r.IntN(30)
	var placed []*v1.Pod
	for step := range 120 {
		switch k := r.IntN(30); {
		case k == 0:
			n := s.Node(int(s.Order()[r.IntN(len(s.Order()))])).DeepCopy()
			switch r.IntN(3) {
			case 0:
				n.Labels["revision"] = fmt.Sprint(step)
			case 1:
				n.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}}
			case 2:
				n.Status.Allocatable = testkit.Resources("cpu=9,memory=9Gi,pods=9")
			}
			require.NoError(t, s.Set(n))
		case k < 5 && len(placed) > 0:
			require.NoError(t, s.Unset(placed[0]))
			placed = placed[1:]
		default:
			pod := w.pod(base + r.IntN(3))
			switch r.IntN(8) {
			case 0:
				pod.Labels["pod"] = pod.Name
			case 1:
				pod.Spec.Containers[0].Resources.Requests = testkit.Resources(fmt.Sprintf("cpu=%dm", 50+r.IntN(200)))
			}
			decisions++
			if d := p.Decide(pod, Options{}); d.Placed() {
				require.NoError(t, p.Assume(pod, d))
				placed = append(placed, pod)
			}
		}
	}
	return decisions
}
