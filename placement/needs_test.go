package placement

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/resources"
)

// What Needs says of the pods of a slot is what the filters say after some of these pods have left.
func TestNeeds(t *testing.T) {
	certain, counted, fits := 0, 0, 0
	for seed := range uint64(400) {
		_, s, a, o := whatIfWorld(t, seed)
		w := a.whatIf(o)
		for i := range s.Len() {
			if s.Node(i) == nil {
				continue
			}
			var leaving []*v1.Pod
			for p := range s.Pods(i) {
				if leaving = append(leaving, p); len(leaving) == 6 {
					break
				}
			}
			pods, columns, amounts, ok := w.Needs(i)
			if !ok {
				counted++
				continue
			}
			certain++
			for set := range 1 << len(leaving) {
				w.Reset()
				n, sums := int64(0), make([]int64, len(columns))
				for k, p := range leaving {
					if set>>k&1 == 0 {
						continue
					}
					w.Remove(p, i)
					n++
					v, known := s.PodRequests(p)
					require.True(t, known)
					for c := range columns {
						sums[c] += v.At(columns[c])
					}
				}
				want := n >= pods
				for c := range columns {
					want = want && sums[c] >= amounts[c]
				}
				require.Equal(t, want, w.Check(i).Verdict == 0, "seed %d slot %d set %b", seed, i, set)
				if want {
					fits++
				}
			}
		}
	}
	require.Greater(t, certain, 300)
	require.Greater(t, counted, 300)
	require.Greater(t, fits, 300)
}

// Numbers that are too large to be added say nothing, and so does a profile without numbers.
func TestNeedsNothingCertain(t *testing.T) {
	plan := func(capacity string) *Plan {
		c := testkit.NewCluster([]*v1.Node{testkit.Node("n").Capacity(capacity).Obj()}, nil).WithRows()
		p, err := New(c, DefaultProfile())
		require.NoError(t, err)
		return p
	}
	type test struct {
		name, why string
		memory    string
		capacity  string
		want      bool
	}
	testkit.Run(t, []test{
		{"numbers", "they can be added", "1", "memory=576460752303423488,pods=576460752303423488", true},
		{"memory", "the node has a byte more", "1", "memory=576460752303423489,pods=9", false},
		{"request", "the pod asks for a byte more", "576460752303423489", "memory=1,pods=9", false},
		{"pods", "the node takes one more", "1", "memory=1,pods=576460752303423489", false},
	}, func(t *testing.T, c test) {
		pod := testkit.Pod("p").Request("memory=" + c.memory).Obj()
		_, _, _, ok := plan(c.capacity).Prepare(pod).whatIf(Options{}).Needs(0)
		require.Equal(t, c.want, ok)
	})
	p := plan("pods=9")
	near := testkit.Pod("p").Labels("app=a").RequireWith(v1.LabelHostname, "app=a").Obj()
	_, _, _, ok := p.Prepare(near).whatIf(Options{}).Needs(0)
	require.False(t, ok, "a pod that leaves may be the one that the pod has to be near")
	profile := DefaultProfile()
	profile.Filters = []*Plugin{{Name: "None", Filter: func(*v1.Pod, Cluster) PreFiltered { return PreFiltered{Predicate: nothing{"None"}} }}}
	own, err := New(p.cluster, profile)
	require.NoError(t, err)
	_, _, _, ok = own.Prepare(testkit.Pod("p").Obj()).whatIf(Options{}).Needs(0)
	require.False(t, ok, "no filter has numbers")
	profile = DefaultProfile()
	profile.Filters = append(profile.Filters, &Plugin{Name: "None", Filter: func(*v1.Pod, Cluster) PreFiltered {
		return PreFiltered{Predicate: withTrial{nothing{"None"}}}
	}})
	own, err = New(p.cluster, profile)
	require.NoError(t, err)
	_, _, _, ok = own.Prepare(testkit.Pod("p").Obj()).whatIf(Options{}).Needs(0)
	require.False(t, ok, "a filter may reject the slot without a pod")
}

// withTrial is a filter of a caller that looks at running pods.
type withTrial struct{ nothing }

func (withTrial) NewTrial() filter.Trial { return struct{ filter.Trial }{} }

// Every node is resolvable if the rejections are those of all nodes and preemption may help with each.
func TestEveryResolvable(t *testing.T) {
	p, err := New(testkit.NewCluster([]*v1.Node{testkit.Node("a").Obj(), testkit.Node("b").Obj()}, nil).WithRows(), DefaultProfile())
	require.NoError(t, err)
	ps := filter.Predicates{nothing{"None"}}
	type test struct {
		name, why string
		rejected  map[resources.Verdict]int // nodes by verdict
		want      bool
	}
	testkit.Run(t, []test{
		{"all", "preemption may help on both", map[resources.Verdict]int{1: 1, 2: 1}, true},
		{"one", "the other was not asked", map[resources.Verdict]int{1: 1}, false},
		{"unresolvable", "preemption does not help on the other", map[resources.Verdict]int{1: 1, 1 | resources.Unresolvable: 1}, false},
	}, func(t *testing.T, c test) {
		a := &Attempt{plan: p, Predicates: ps, rejected: &filter.Histogram{}}
		for v, n := range c.rejected {
			a.rejected.Add(ps, filter.Rejection{Verdict: v}, 0, n)
		}
		require.Equal(t, c.want, a.everyResolvable())
	})
	require.False(t, (&Attempt{plan: p}).everyResolvable(), "the nodes were asked one by one")
}

// A device class provides a resource that the node does not have: other filters decide about the resource, whatever leaves.
func TestNeedsNoDevice(t *testing.T) {
	p, err := New(testkit.NewCluster([]*v1.Node{testkit.Node("n").Capacity("cpu=1,pods=2").Obj()}, nil).WithRows(), DefaultProfile())
	require.NoError(t, err)
	o := FitOptions{}
	o.Fit.DeviceResources = []string{"example.com/gpu"}
	f := fitOver(o, &scoredDevices{}).Filter(testkit.Pod("p").Request("example.com/gpu=3").Obj(), p.cluster).Predicate.(numbered)
	amounts := make([]int64, f.Amounts())
	pods, columns, ok := f.Missing(0, amounts)
	require.True(t, ok)
	require.Equal(t, int64(1-2), pods)
	require.Len(t, columns, 1)
	require.Negative(t, amounts[0])
	require.Zero(t, f.(interface {
		Check(i int) resources.Verdict
	}).Check(0))
}

// Preemptors of which each asks for other amounts get the victims of a search that removes pods from what the filters have counted.
func TestDistinctPreemptors(t *testing.T) {
	everywhere, found, tried := 0, 0, 0
	for seed := range uint64(120) {
		w := &world{r: rand.New(rand.NewPCG(seed, 74))}
		r := w.r
		s := w.snapshot(t, 3+r.IntN(5), 0)
		plan := w.plan(t, s, benchProfile())
		var running []*v1.Pod
		for range 30 {
			p := w.pod(r.IntN(30))
			p.Spec.Priority = new(int32(r.IntN(5)))
			p.Status.StartTime = &metav1.Time{Time: time.Unix(int64(r.IntN(9)), 0)}
			p.Labels["budget"] = w.pick("one", "two", "none")
			require.NoError(t, s.Assume(p, int(s.Order()[r.IntN(len(s.Order()))])))
			running = append(running, p)
		}
		budgets := w.budgets()
		for step := range 40 {
			switch r.IntN(8) {
			case 0:
				at := r.IntN(len(running))
				moved := running[at].DeepCopy()
				require.NoError(t, s.Remove(running[at]))
				moved.Spec.NodeName = ""
				require.NoError(t, s.Assume(moved, int(s.Order()[r.IntN(len(s.Order()))])))
				running[at] = moved
			case 1:
				n := s.Node(int(s.Order()[r.IntN(len(s.Order()))])).DeepCopy()
				n.Spec.Unschedulable = w.chance(2)
				require.NoError(t, s.Set(n))
			}
			p := w.pod(r.IntN(30))
			p.Spec.Priority = new(int32(1 + r.IntN(6)))
			p.Spec.Containers[0].Resources.Requests = testkit.Resources(fmt.Sprintf("cpu=%d,memory=%d", 2+r.IntN(4), 1+step))
			d := plan.Decide(p, Options{})
			if d.Placed() {
				continue
			}
			o := PreemptOptions{Budgets: budgets, Now: time.Unix(1<<40, 0), Options: preemption.Options{Offset: r.IntN(9)}}
			got := plan.Preempt(p, d.Failure, Options{}, o)
			if a := plan.Failed(d.Failure); a.everyResolvable() {
				everywhere++
				for i, rejection := range a.Rejections(nil, Options{}) {
					require.True(t, s.Node(i) == nil || rejection == preemption.Resolvable, "seed %d step %d", seed, step)
				}
			}
			fresh, err := New(s, benchProfile())
			require.NoError(t, err)
			o.Eligible = func(int, *v1.Pod, *v1.Pod) bool { return true }
			require.Equal(t, fresh.Preempt(p, nil, Options{}, o), got, "seed %d step %d", seed, step)
			tried++
			if got.Node != "" {
				found++
			}
		}
	}
	require.Greater(t, tried, 2000)
	require.Greater(t, found, 500)
	require.Greater(t, everywhere, 100)
}
