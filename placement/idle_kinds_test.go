package placement

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
)

// brief is a snapshot whose log reaches back three events.
type brief struct{ *cluster.Snapshot }

func (b brief) Since(version uint64, yield func([]cluster.Event)) bool {
	return version+3 >= b.Version() && b.Snapshot.Since(version, yield)
}

// Pods that are all different and whose spread constraints count no running pod share kept work, whatever they select. Pods that they select come and
// leave, on nodes and as nominated pods, some of them terminating. Every decision, failure and preemption is that of a plan that keeps nothing.
func TestIdleKinds(t *testing.T) {
	placed, failed, made := 0, 0, 0
	for seed := range uint64(testkit.Rounds(60)) {
		r := rand.New(rand.NewPCG(seed, 76))
		pick := func(list ...string) string { return list[r.IntN(len(list))] }
		app := func() string { return fmt.Sprint("a", r.IntN(20)) }
		var o cluster.Objects
		for k := range 6 {
			n := testkit.Node(fmt.Sprint("n", k)).Label("host", fmt.Sprint("n", k)).Capacity(fmt.Sprintf("cpu=%d,memory=64Gi,pods=99", 1+r.IntN(4)))
			if k < 5 || r.IntN(2) == 0 {
				n = n.Label("zone", fmt.Sprint("z", k%3))
			}
			o.Nodes = append(o.Nodes, n.Obj())
		}
		s, err := cluster.New(o)
		require.NoError(t, err)
		var c Cluster = s
		if seed%2 == 0 {
			c = brief{s}
		}
		plan, err := New(c, DefaultProfile())
		require.NoError(t, err)
		var shapes []v1.TopologySpreadConstraint
		for range 2 {
			shapes = append(shapes, v1.TopologySpreadConstraint{
				MaxSkew: int32(1 + r.IntN(2)), TopologyKey: pick("host", "zone"), WhenUnsatisfiable: v1.UnsatisfiableConstraintAction(pick("DoNotSchedule", "ScheduleAnyway")),
			})
		}
		pod := func(name string) *v1.Pod {
			made++
			p := testkit.Pod("default/" + name).Labels("app=" + app()).Request("cpu=1").Obj()
			p.Spec.Containers[0].Resources.Requests[v1.ResourceMemory] = testkit.Resources(fmt.Sprint("memory=", made))[v1.ResourceMemory]
			p.Namespace, p.Spec.Priority = pick("a", "b"), new(int32(r.IntN(3)))
			p.Status.StartTime = &metav1.Time{Time: time.Unix(int64(r.IntN(9)), 0)}
			for _, c := range shapes[:r.IntN(3)] {
				c.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app()}}
				switch r.IntN(6) {
				case 0:
					c.LabelSelector = &metav1.LabelSelector{}
				case 1:
					c.MatchLabelKeys = []string{"app"}
				}
				p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, c)
			}
			return p
		}
		var running []*v1.Pod
		last := &v1.Pod{}                  // that was decided
		selectedBy := func(p, q *v1.Pod) { // labels q so that p counts it
			q.Namespace = p.Namespace
			for _, c := range p.Spec.TopologySpreadConstraints {
				maps.Copy(q.Labels, c.LabelSelector.MatchLabels)
			}
		}
		for step := range 150 {
			switch r.IntN(8) {
			case 0, 1:
				p := pod(fmt.Sprint("r", step))
				if last.Namespace != "" && r.IntN(2) == 0 {
					selectedBy(last, p)
				}
				if r.IntN(5) == 0 {
					p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
				}
				require.NoError(t, s.Assume(p, r.IntN(6)))
				running = append(running, p)
			case 3, 4:
				if k := len(running); k > 8 {
					k = r.IntN(k)
					require.NoError(t, s.Remove(running[k]))
					running = append(running[:k], running[k+1:]...)
				}
			case 5:
				if r.IntN(4) > 0 {
					break
				}
				n := s.Node(r.IntN(6)).DeepCopy()
				n.Labels["zone"] = pick("z0", "z1", "z2")
				require.NoError(t, s.Set(n))
			}
			p := pod(fmt.Sprint("p", step))
			if r.IntN(3) == 0 {
				p.Spec.Containers[0].Resources.Requests = testkit.Resources(fmt.Sprint("cpu=5,memory=", made))
			}
			options := Options{}
			if r.IntN(3) == 0 {
				other, at := pod(fmt.Sprint("n", step)), r.IntN(6)
				other.Spec.Priority = new(int32(9))
				selectedBy(p, other)
				options.Nominated = func(i int) []*v1.Pod {
					if i != at {
						return nil
					}
					return []*v1.Pod{other}
				}
				if r.IntN(2) == 0 {
					options.NominatedSlots = []int{at}
				}
			}
			slow, err := New(s, DefaultProfile())
			require.NoError(t, err)
			slow.engine = nil
			want, got := slow.Decide(p, options), plan.Decide(p, options)
			require.Equal(t, text(want), text(got), "seed %d step %d", seed, step)
			if last = p; got.Placed() {
				placed++
				continue
			}
			failed++
			require.Equal(t, slow.Failed(want.Failure).Rejections(nil, options), plan.Failed(got.Failure).Rejections(nil, options), "seed %d step %d", seed, step)
			x := PreemptOptions{Now: time.Unix(1<<40, 0), Options: preemption.Options{Offset: r.IntN(6)}}
			if r.IntN(2) == 0 {
				x.CrossNode = &preemption.CrossNode{}
			}
			require.Equal(t, slow.Preempt(p, want.Failure, options, x), plan.Preempt(p, got.Failure, options, x), "seed %d step %d", seed, step)
		}
	}
	require.Positive(t, placed)
	require.Positive(t, failed)
}
