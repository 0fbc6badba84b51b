package optimal_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/preemption/optimal"
)

const (
	hostKey = v1.LabelHostname
	zoneKey = v1.LabelTopologyZone
)

var now = testkit.Epoch.Add(24 * time.Hour)

// situation is a cluster, and the preemptor.
type situation struct {
	nodes   []*v1.Node
	pods    []*v1.Pod
	budgets []*policyv1.PodDisruptionBudget
	pod     *v1.Pod
	options preemption.Options
	cluster placement.Cluster // nil: a snapshot
}

// failed returns a plan over the situation and the failed attempt of the preemptor, nil if the preemptor fits.
func (s situation) failed(t testing.TB) (*placement.Plan, *placement.Failure) {
	c := s.cluster
	if c == nil {
		snapshot, err := cluster.New(cluster.Objects{Nodes: s.nodes, Pods: s.pods})
		require.NoError(t, err)
		c = snapshot
	}
	plan, err := placement.New(c, placement.DefaultProfile())
	require.NoError(t, err)
	d := plan.Decide(s.pod, placement.Options{})
	return plan, d.Failure
}

// preempt asks with these options. It returns nil if the preemptor fits without preemption.
func (s situation) preempt(t testing.TB, o preemption.Options) *preemption.Result {
	plan, failure := s.failed(t)
	if failure == nil {
		return nil
	}
	po := placement.PreemptOptions{Budgets: disruption.NewBudgets(s.budgets, disruption.BudgetOptions{}), Now: now, Options: o}
	r := plan.Preempt(s.pod, failure, placement.Options{}, po)
	again := plan.Preempt(s.pod, failure, placement.Options{}, po)
	require.Equal(t, shown(&r), shown(&again), "what was read for the first question answers the second")
	return &r
}

// fits reports whether the preemptor fits on the slot of the candidate in a new cluster without the victims.
func (s situation) fits(t testing.TB, c preemption.Candidate) bool {
	o := cluster.Objects{Nodes: s.nodes}
	for _, p := range s.pods {
		if !slices.ContainsFunc(c.Victims, func(v preemption.Victim) bool { return v.Pod == p }) {
			o.Pods = append(o.Pods, p)
		}
	}
	snapshot, err := cluster.New(o)
	require.NoError(t, err)
	plan, err := placement.New(snapshot, placement.DefaultProfile())
	require.NoError(t, err)
	return plan.Prepare(s.pod).Verdicts(nil, placement.Options{})[c.Slot].Verdict == 0
}

func search(t testing.TB, o optimal.Options) *optimal.Search {
	s, err := optimal.New(o)
	require.NoError(t, err)
	return s
}

// chance makes situations in which pods compete. constrained situations have affinity, spread and ports.
func chance(r *rand.Rand, constrained bool) situation {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	var s situation
	nodes := 1 + r.IntN(4)
	for i := range nodes {
		b := testkit.Node(fmt.Sprintf("n%d", (i*7+3)%10)).Zone(pick("a", "b")).
			Capacity(fmt.Sprintf("cpu=%d,memory=%dGi,pods=%d", 2+r.IntN(4), 3+r.IntN(4), 4+r.IntN(6)))
		if r.IntN(12) == 0 {
			b = b.Unschedulable()
		}
		s.nodes = append(s.nodes, b.Obj())
	}
	type hostPort struct {
		node string
		port int32
	}
	held := map[hostPort]bool{} // two running pods of one node never hold the same port: v1.36 would forget it with the first of them
	make := func(name string, priority int32, on string) *v1.Pod {
		b := testkit.Pod(name).Request(pick("cpu=1", "cpu=500m", "cpu=700m,memory=1Gi", "cpu=1,memory=2Gi", "cpu=300m,memory=1500Mi"))
		if r.IntN(8) > 0 {
			b = b.Priority(priority)
		}
		if r.IntN(8) > 0 {
			b = b.Labels("app=" + pick("x", "y"))
		}
		if constrained {
			if r.IntN(5) == 0 {
				b = b.RequireApart(pick(hostKey, zoneKey), "app="+pick("x", "y"))
			}
			if r.IntN(6) == 0 {
				b = b.RequireWith(pick(hostKey, zoneKey), "app="+pick("x", "y"))
			}
			if r.IntN(3) == 0 {
				b = b.Spread(int32(1+r.IntN(2)), pick(hostKey, zoneKey), v1.DoNotSchedule, "app="+pick("x", "y"))
			}
			if port := int32(80 + r.IntN(2)); r.IntN(5) == 0 && !held[hostPort{on, port}] {
				b = b.HostPort("", v1.ProtocolTCP, port)
				held[hostPort{on, port}] = true
			}
		}
		if on == "" {
			return b.Obj()
		}
		if b = b.On(on); constrained && r.IntN(10) == 0 {
			b = b.Terminating()
		}
		p := b.Obj()
		if r.IntN(5) > 0 {
			at := metav1.NewTime(testkit.Epoch.Add(time.Duration(r.IntN(4)) * time.Minute))
			p.Status.StartTime = &at
		}
		return p
	}
	for k := range r.IntN(8 * nodes) {
		s.pods = append(s.pods, make(fmt.Sprintf("v%d", k), int32(r.IntN(5)-2), s.nodes[r.IntN(nodes)].Name))
	}
	for k := range r.IntN(4) {
		b := &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("b%d", k)},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": pick("x", "y")}}},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: int32(r.IntN(4) - 1)},
		}
		if r.IntN(4) == 0 {
			b.Status.DisruptedPods = map[string]metav1.Time{"v0": metav1.NewTime(testkit.Epoch), "v1": metav1.NewTime(testkit.Epoch)}
		}
		s.budgets = append(s.budgets, b)
	}
	if constrained && r.IntN(3) == 0 {
		s.options.CrossNode = &preemption.CrossNode{}
	}
	if len(s.pods) > 3 && r.IntN(4) == 0 {
		s.options.Units = []preemption.Unit{{Pods: s.pods[:2]}, {Pods: s.pods[2:4]}}
	}
	s.pod = make("p", int32(r.IntN(5)), "")
	return s
}
