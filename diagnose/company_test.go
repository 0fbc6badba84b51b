package diagnose

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// company makes a small full cluster whose pods need each other, or keep off each other, and a pending pod that does too: pods that
// leave help it and hurt it.
func company(b *testkit.Bytes) (o cluster.Objects, pod *v1.Pod) {
	for i := range 1 + b.Below(4) {
		n := testkit.Node(fmt.Sprint("n", i)).Zone(testkit.Pick(b, "a", "b")).Capacity(testkit.Pick(b, "cpu=4", "cpu=2", "cpu=1"))
		if b.OneIn(4) {
			n = n.Taint("team=x:NoSchedule")
		}
		o.Nodes = append(o.Nodes, n.Obj())
	}
	key := func() string { return testkit.Pick(b, zone, v1.LabelHostname) }
	app := func() string { return testkit.Pick(b, "app=a", "app=b") }
	for i := range 1 + b.Below(6) {
		n := o.Nodes[b.Below(len(o.Nodes))].Name
		p := testkit.Pod(fmt.Sprint("r", i)).On(n).Labels(app()).Request(testkit.Pick(b, "cpu=1", "cpu=2", "cpu=500m")).Priority(int32(b.Below(3)))
		if b.OneIn(4) {
			p = p.RequireApart(key(), app())
		}
		if b.OneIn(6) {
			p = p.RequireWith(key(), app())
		}
		if b.OneIn(4) {
			p = p.NodeSelector(v1.LabelHostname + "=" + n)
		}
		o.Pods = append(o.Pods, p.Obj())
	}
	p := testkit.Pod("pending").Labels(testkit.Pick(b, "app=a", "app=c")).Request(testkit.Pick(b, "cpu=1", "cpu=2", "cpu=4"))
	if !b.OneIn(3) {
		p = p.RequireWith(key(), app())
	}
	if !b.OneIn(3) {
		p = p.RequireApart(key(), app())
	}
	if b.OneIn(3) {
		p = p.Spread(1, key(), v1.DoNotSchedule, app())
	}
	o.PodDisruptionBudgets = randomBudgets(b)
	if pod = p.Obj(); b.OneIn(6) {
		pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "wait"}}
	}
	return o, pod
}

// Relaxations in which pods leave are smallest, as all others: every pod that leaves must, every budget that rises must, and every
// other change is needed beside them.
func TestCompany(t *testing.T) {
	count := map[string]int{}
	for seed := range uint64(600) {
		objects, pod := company(testkit.NewBytes(testkit.RandomBytes(seed+79e6, 200)))
		s, err := cluster.New(objects)
		require.NoError(t, err)
		d, err := Relax(Input{Snapshot: s}, pod, Options{Size: 3, Nodes: 2, Cost: only(MovePods, RemovePods, RaiseBudget, Prefer, Untaint, DropGate, RaiseMaxSkew)})
		require.NoError(t, err)
		said := map[string]bool{}
		for _, r := range d.Relaxations {
			smallest(t, s, pod, r)
			require.False(t, said[r.Text()], "%s: twice", r.Text())
			said[r.Text()] = true
			for _, c := range r.Changes {
				count[string(c.Kind)]++
				if !removes(&c) {
					continue
				}
				if len(r.Changes) > 1 {
					count["beside others"]++
				}
				rehoused(t, s.Fork(), pod, r, c)
			}
		}
	}
	for _, k := range []string{string(MovePods), string(RemovePods), string(RaiseBudget), "beside others"} {
		require.Greater(t, count[k], 15, k)
	}
}

// rehoused checks what a relaxation says of the pods that leave. A pod that moves runs on another node. A pod that is removed fits on
// the node that is named, after the pods before it; without a name it fits on no other node.
func rehoused(t *testing.T, s *cluster.Snapshot, pod *v1.Pod, r Relaxation, c Change) {
	require.Len(t, c.Leaving, len(c.remove))
	p, err := Apply(s, pod, r.Changes...)
	require.NoError(t, err)
	require.NoError(t, s.Assume(p, s.Slot(r.Node)))
	for k, q := range c.remove {
		l := c.Leaving[len(c.Leaving)-1-k]
		require.Equal(t, Leaving{Pod: podinfo.Name(q), Node: q.Spec.NodeName, Priority: *q.Spec.Priority, To: l.To}, l)
		require.NotEqual(t, l.Node, l.To, r.Text())
		if c.Kind == MovePods {
			require.Equal(t, l.To, s.Node(s.Slot(l.To)).Name)
			require.Equal(t, l.To, s.Pod(q.Namespace, q.Name).Spec.NodeName)
			continue
		}
		require.Nil(t, s.Pod(q.Namespace, q.Name))
		plan, err := placement.New(s, standard)
		require.NoError(t, err)
		fits := []string{}
		for _, i := range s.Order() {
			if n := s.Node(int(i)).Name; n != l.Node && len(plan.Rejections(unplaced(q), int(i))) == 0 {
				fits = append(fits, n)
			}
		}
		if l.To == "" {
			require.Empty(t, fits, "%s: %s", r.Text(), l.Pod)
			continue
		}
		require.Contains(t, fits, l.To, r.Text())
		move(s, q, l.To)
	}
}
