package placement

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/resources"
)

// counting is a filter that counts how often the plan prepares it and asks it about a node.
type counting struct{ prepared, asked int }

func (c *counting) plugin() *Plugin {
	return &Plugin{Name: "Counting", Filter: func(*v1.Pod, Cluster) PreFiltered {
		c.prepared++
		return PreFiltered{Predicate: c}
	}}
}

func (c *counting) Name() string                       { return "Counting" }
func (c *counting) Reasons(resources.Verdict) []string { return []string{"counted"} }
func (c *counting) Check(int) resources.Verdict        { c.asked++; return 0 }

// TestPreemptGoesOn counts the preparations and checks of a preemption after a failed decision.
func TestPreemptGoesOn(t *testing.T) {
	var o cluster.Objects
	for i := range 4 {
		n := fmt.Sprintf("n%d", i+1)
		o.Nodes = append(o.Nodes, testkit.Node(n).Capacity("cpu=2").Obj())
		o.Pods = append(o.Pods, testkit.Pod("low"+n).Request("cpu=2").On(n).Obj())
	}
	s, err := cluster.New(o)
	require.NoError(t, err)
	c := &counting{}
	profile := DefaultProfile()
	profile.Filters = append([]*Plugin{c.plugin()}, profile.Filters...)
	p, err := New(s, profile)
	require.NoError(t, err)
	pod := testkit.Pod("web").Priority(10).Request("cpu=2").Obj()

	failed := p.Decide(pod, Options{}).Failure
	require.NotNil(t, failed)
	require.Equal(t, counting{prepared: 1, asked: 4}, *c, "the decision prepares the pod and asks about each node")
	r := p.Preempt(pod, failed, Options{}, PreemptOptions{})
	require.Equal(t, "n1", r.Node, r.Message)
	require.Equal(t, 1, c.prepared, "preemption goes on with the attempt")
	require.LessOrEqual(t, c.asked, 8, "preemption asks again only about what the nodes say without their victims")
	asked := c.asked - 4

	type testCase struct {
		name, why string
		change    func() (*v1.Pod, *Failure)
	}
	testkit.Run(t, []testCase{
		{"another object", "the pod may be a newer one", func() (*v1.Pod, *Failure) { return pod.DeepCopy(), failed }},
		{"no failure", "there is no attempt", func() (*v1.Pod, *Failure) { return pod, nil }},
		{"older failure", "the plan keeps the latest", func() (*v1.Pod, *Failure) {
			require.NotNil(t, p.Decide(pod, Options{}).Failure)
			*c = counting{}
			return pod, failed
		}},
		{"changed cluster", "the verdicts are out of date", func() (*v1.Pod, *Failure) {
			f := p.Decide(pod, Options{}).Failure
			require.NoError(t, s.Set(testkit.Node("n5").Capacity("cpu=1").Obj()))
			*c = counting{}
			return pod, f
		}},
	}, func(t *testing.T, test testCase) {
		*c = counting{}
		pod, f := test.change()
		require.Equal(t, r.Node, p.Preempt(pod, f, Options{}, PreemptOptions{}).Node)
		require.Equal(t, 1, c.prepared)
		require.Equal(t, len(s.Order())+asked, c.asked)
	})
}

// A cluster without a change log is read again for each preemption.
func TestPreemptWithoutAChangeLog(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Capacity("cpu=2").Obj(), testkit.Node("n2").Capacity("cpu=2").Obj()}})
	require.NoError(t, err)
	p, err := New(struct{ Cluster }{s}, DefaultProfile())
	require.NoError(t, err)
	pod := testkit.Pod("web").Priority(10).Request("cpu=2").Obj()
	for _, priorities := range [][2]int32{{1, 2}, {2, 1}, {20, 1}, {1, 20}, {3, 4}} {
		for k, priority := range priorities {
			require.NoError(t, s.Set(testkit.Pod(fmt.Sprint("low", k)).Priority(priority).Request("cpu=2").On(fmt.Sprint("n", k+1)).Obj()))
		}
		want := "n1"
		if priorities[0] > priorities[1] {
			want = "n2"
		}
		require.Equal(t, want, p.Preempt(pod, p.Decide(pod, Options{}).Failure, Options{}, PreemptOptions{}).Node, "%v", priorities)
	}
}

// TestPreemptLikeAFreshAttempt holds that preemption answers the same with the failed attempt, which may share the predicates
// of equal pods, and without.
func TestPreemptLikeAFreshAttempt(t *testing.T) {
	failed, kept, evicted := 0, 0, 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		s := preemptWorld(t, r)
		p, err := NewPlacer(s, benchProfile())
		require.NoError(t, err)
		fresh, err := New(s, benchProfile())
		require.NoError(t, err)
		for k := range 40 {
			pod := preemptPod(r, fmt.Sprintf("p%d", k))
			d := p.Decide(pod, Options{})
			if d.Placed() {
				require.NoError(t, p.Assume(pod, d))
				continue
			}
			failed++
			if used(p.Plan, pod) {
				kept++
			}
			had := p.Failed(d.Failure)
			require.NotNil(t, had)
			want := fresh.Preempt(pod, nil, Options{}, PreemptOptions{})
			got := p.Preempt(pod, d.Failure, Options{}, PreemptOptions{})
			require.Equal(t, want, got, "seed %d pod %s", seed, pod.Name)
			a := p.Prepare(pod)
			verdicts := had.Verdicts(nil, Options{})
			for i, v := range a.Verdicts(nil, Options{}) {
				require.Equal(t, a.Predicates.Reasons(v, i), had.Predicates.Reasons(verdicts[i], i), "seed %d pod %s slot %d", seed, pod.Name, i)
			}
			if got.Node != "" {
				evicted++
				for _, v := range got.Victims {
					require.NoError(t, s.Remove(v.Pod))
				}
			}
		}
	}
	require.Greater(t, failed, 200)
	require.Greater(t, kept, 100, "decisions of the engine")
	require.Greater(t, evicted, 100)
}

func preemptWorld(t *testing.T, r *rand.Rand) *cluster.Snapshot {
	var o cluster.Objects
	for i := range 5 {
		o.Nodes = append(o.Nodes, testkit.Node(fmt.Sprintf("n%d", i+1)).Zone(string("abc"[i%3])).Capacity("cpu=4,memory=8Gi").Obj())
	}
	for i := range 12 {
		pod := preemptPod(r, fmt.Sprintf("r%d", i))
		pod.Spec.NodeName = fmt.Sprintf("n%d", 1+r.IntN(5))
		o.Pods = append(o.Pods, pod)
	}
	s, err := cluster.New(o)
	require.NoError(t, err)
	return s
}

// preemptPod returns a pod of a few dozen kinds, so that kinds repeat.
func preemptPod(r *rand.Rand, name string) *v1.Pod {
	app := []string{"web", "db", "gpu"}[r.IntN(3)]
	p := testkit.Pod(name).Labels("app=" + app).Priority(int32(r.IntN(4))).Request([]string{"cpu=1", "cpu=2", "cpu=3"}[r.IntN(3)])
	switch r.IntN(6) {
	case 0:
		p = p.Spread(1, v1.LabelTopologyZone, v1.DoNotSchedule, "app="+app)
	case 1:
		p = p.RequireApart(v1.LabelHostname, "app="+app)
	case 2:
		p = p.Spread(1, v1.LabelHostname, v1.DoNotSchedule, "app="+app)
	case 3:
		p = p.RequireApart(v1.LabelTopologyZone, "app=gpu")
	}
	return p.Obj()
}

// Over a cluster without a change log preemption prepares the pod again: nothing says whether the cluster has changed.
func TestPreemptWithoutALog(t *testing.T) {
	view := testkit.NewCluster([]*v1.Node{testkit.Node("n1").Capacity("cpu=2").Obj()}, []*v1.Pod{testkit.Pod("low").Request("cpu=2").On("n1").Obj()})
	c := &counting{}
	profile := DefaultProfile()
	profile.Filters = append([]*Plugin{c.plugin()}, profile.Filters...)
	p, err := New(Rows(view), profile)
	require.NoError(t, err)
	pod := testkit.Pod("web").Priority(10).Request("cpu=2").Obj()
	failed := p.Decide(pod, Options{}).Failure
	require.NotNil(t, failed)
	require.Equal(t, 1, c.prepared)
	require.Equal(t, "n1", p.Preempt(pod, failed, Options{}, PreemptOptions{}).Node)
	require.Equal(t, 2, c.prepared)
}

// Options.Rejected has an effect on slots of the cluster that no filter rejected. What other questions find stays.
func TestPreemptWithRejectedSlots(t *testing.T) {
	var o cluster.Objects
	for i := range 3 {
		n := fmt.Sprintf("n%d", i)
		o.Nodes = append(o.Nodes, testkit.Node(n).Capacity("cpu=2").Obj())
		o.Pods = append(o.Pods, testkit.Pod("low-"+n).Request("cpu=1").On(n).Obj())
	}
	o.Nodes[2].Spec.Unschedulable = true
	s, err := cluster.New(o)
	require.NoError(t, err)
	p, err := New(s, DefaultProfile())
	require.NoError(t, err)
	pod := testkit.Pod("web").Priority(10).Request("cpu=1").Obj()
	for _, c := range []struct {
		rejected map[int]preemption.Rejection
		want     string
	}{
		{map[int]preemption.Rejection{0: preemption.Resolvable}, `expected at least one victim pod on node "n0"`},
		{map[int]preemption.Rejection{0: preemption.Unresolvable, 1: preemption.Resolvable}, `expected at least one victim pod on node "n1"`},
		{map[int]preemption.Rejection{0: preemption.Unresolvable, 1: preemption.Unresolvable, 2: preemption.Resolvable}, "0/3 nodes are available: 3 Preemption is not helpful for scheduling."},
		{map[int]preemption.Rejection{-1: preemption.Resolvable, 3: preemption.Resolvable, 0: preemption.Resolvable}, `expected at least one victim pod on node "n0"`},
	} {
		for range 2 {
			p.preempter = nil
			r := p.Preempt(pod, nil, Options{}, PreemptOptions{Rejected: c.rejected})
			require.Empty(t, r.Node)
			require.Equal(t, c.want, r.Message, "%v", c.rejected)
		}
	}
	full := testkit.Pod("full").Priority(10).Request("cpu=2").Obj()
	for turn := range 4 {
		d := p.Decide(full, Options{})
		rejected := map[int]preemption.Rejection{0: preemption.Unresolvable}
		require.Equal(t, "n0", p.Preempt(full, d.Failure, Options{}, PreemptOptions{Rejected: rejected}).Node, "a filter rejected both: no effect, turn %d", turn)
		require.Equal(t, "n0", p.Preempt(full, d.Failure, Options{}, PreemptOptions{}).Node)
	}
}
