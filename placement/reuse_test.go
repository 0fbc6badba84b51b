package placement

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// With and without reuse every decision is the same, whatever happens to the cluster in between.
func TestReuseChangesNothing(t *testing.T) {
	seeds := 300
	if testing.Short() {
		seeds = 60
	}
	shared := 0
	for seed := range seeds {
		shared += play(t, uint64(seed), 60)
	}
	require.Greater(t, shared, seeds*5, "decisions that used shared work")
}

func FuzzReuse(f *testing.F) {
	f.Add(uint64(1), uint8(40))
	f.Fuzz(func(t *testing.T, seed uint64, steps uint8) { play(t, seed, int(steps)) })
}

// play runs random operations on a cluster and decides pods with and without reuse. It returns how many decisions used
// what was kept.
func play(t *testing.T, seed uint64, steps int) (shared int) {
	w := &world{r: rand.New(rand.NewPCG(seed, 1))}
	s := w.snapshot(t, 3+w.r.IntN(8), w.r.IntN(20))
	profile := DefaultProfile()
	with, err := New(s, profile)
	require.NoError(t, err)
	var assumed []*v1.Pod
	var marks []cluster.Mark
	var assumedAt []int
	shapes := 1 + w.r.IntN(6)
	base := w.r.IntN(30)
	for step := range steps {
		at := fmt.Sprintf("seed %d step %d", seed, step)
		switch w.r.IntN(20) {
		case 0:
			name := fmt.Sprintf("n%d", w.r.IntN(8))
			if s.Slot(name) >= 0 {
				require.NoError(t, s.UpdateNode(w.node(name)))
			}
		case 1:
			w.next++
			_, err := s.AddNode(w.node(fmt.Sprintf("m%d", w.next)))
			require.NoError(t, err)
		case 2:
			if len(marks) == 0 && s.NodeCount() > 2 {
				require.NoError(t, s.RemoveNode(s.Node(int(s.Order()[0])).Name))
				assumed = nil
			}
		case 3:
			marks, assumedAt = append(marks, s.Mark()), append(assumedAt, len(assumed))
		case 4:
			if n := len(marks); n > 0 {
				require.True(t, s.Rollback(marks[n-1]))
				assumed, marks, assumedAt = assumed[:min(assumedAt[n-1], len(assumed))], marks[:n-1], assumedAt[:n-1]
			}
		case 5:
			if n := len(assumed); n > 0 && len(marks) == 0 {
				require.NoError(t, s.Forget(assumed[n-1]))
				assumed = assumed[:n-1]
			}
		case 7:
			n := s.Node(int(s.Order()[w.r.IntN(s.NodeCount())])).DeepCopy()
			switch w.r.IntN(4) {
			case 0:
				n.Labels["revision"] = fmt.Sprint(step)
			case 1:
				n.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}}
			case 2:
				n.Spec.Taints, n.Spec.Unschedulable = nil, false
			case 3:
				n.Status.Allocatable = testkit.Resources("cpu=9,memory=9Gi,pods=9")
			}
			require.NoError(t, s.UpdateNode(n))
		case 6:
			if w.chance(3) && len(marks) == 0 {
				s = s.Fork()
				with, err = New(s, profile)
				require.NoError(t, err)
			}
		default:
			p := w.pod(base + w.r.IntN(shapes))
			if w.chance(2) { // a pod like no other
				p.Labels["pod"] = p.Name
				p.Spec.Containers[0].Resources.Requests = testkit.Resources(fmt.Sprintf("cpu=%dm,memory=%d", 100+w.r.IntN(900), 1+w.r.IntN(1<<30)))
			}
			without, err := New(s, profile)
			require.NoError(t, err)
			without.reuse = nil
			d := with.Decide(p, Options{})
			require.Equal(t, text(without.Decide(p, Options{})), text(d), at)
			if sh := with.reuse.shape(p); sh != nil {
				shared++
			}
			if d.Placed() {
				require.NoError(t, s.Assume(p, d.Slot))
				assumed = append(assumed, p)
			}
		}
	}
	return shared
}
