package consolidation

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// An error of the snapshot is the error of Plan and of Step: the planner has a pod that the snapshot lacks.
func TestErrorOfTheSnapshot(t *testing.T) {
	w := five("cpu=4")
	w.objects.Nodes = w.objects.Nodes[:2]
	w.app("web", "cpu=1", "n1 n2", nil)
	p := w.planner(t)
	for id := range p.loads {
		p.loads[id].old = testkit.Pod("gone").Obj()
	}
	for name, f := range map[string]func(Options) (*Plan, error){"Plan": p.Plan, "Step": p.Step} {
		plan, err := f(Options{})
		require.ErrorContains(t, err, `pods: Not found: "default/gone"`, name)
		require.Nil(t, plan, name)
	}
}

// marks returns how many marks of a snapshot are open.
func marks(s *cluster.Snapshot) int64 {
	m := s.Mark()
	defer s.Rollback(m)
	return reflect.ValueOf(m).FieldByName("depth").Int()
}

// A search and a run end every mark that they take: a snapshot with an open mark remembers every change.
func TestMarksEnd(t *testing.T) {
	moves := 0
	for seed := range uint64(30) {
		b := testkit.NewBytes(testkit.RandomBytes(seed+8e6, 300))
		p := wide(b).planner(t)
		x := p.newSearch(Options{Steps: 20, Seed: seed})
		x.first()
		require.Zero(t, marks(x.snapshot), "seed %d", seed)
		require.Empty(t, x.log)
		x.improve()
		require.Zero(t, marks(x.snapshot), "seed %d", seed)
		require.Empty(t, x.log)
		r := p.newRun(anyChoice(b, p))
		r.all()
		require.Zero(t, marks(r.snapshot), "seed %d", seed)
		moves += x.moves + r.plan.Moves()
	}
	require.Greater(t, moves, 50)
}

// The budgets are read twice for each wave: before its moves, and when the old pods are gone. Each time the replicas of the
// controller are asked for.
func TestBudgetsAreReadForEachWave(t *testing.T) {
	type test struct {
		name, why string
		nodes     string // of the pods
		daemon    bool
		waves     int
		reads     int
	}
	testkit.Run(t, []test{
		{"no pods", "nothing waits", "", false, 0, 0},
		{"one wave", "n1 is emptied", "n1 n2 n2", false, 1, 2},
		{"two waves", "one pod at a time", "n1 n1 n2", false, 2, 4},
		{"a daemon", "the budget does not cover it", "n1 n2 n2", true, 1, 2},
	}, func(t *testing.T, c test) {
		w := five("cpu=4")
		w.app("web", "cpu=1", c.nodes, nil)
		w.budget("web", 0)
		part := intstr.FromString("33%")
		w.objects.PodDisruptionBudgets[0].Spec = policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &part, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}
		if c.daemon {
			w.pod("DaemonSet", "agent", "agent-0", "n1", template("agent", "cpu=1", nil))
		}
		p := w.planner(t)
		asked, scale := 0, p.scale
		p.scale = func(pod *v1.Pod, owner metav1.OwnerReference) (types.UID, int32, error) {
			asked++
			return scale(pod, owner)
		}
		plan := p.order(choice{nodes: []int{p.base.Slot("n1")}})
		require.Equal(t, c.waves, len(plan.Waves), c.why)
		require.Equal(t, []string{"n1"}, removed(plan))
		require.Equal(t, c.reads, asked, c.why)
	})
}

// Step asks for one node after the other and forgets what it tried: the pod that leaves the dearest node n1, which cannot be removed
// because web wants the agent there, does not count for MaxMoves.
func TestStepForgets(t *testing.T) {
	w := five("cpu=4")
	w.pod("DaemonSet", "agent", "agent-0", "n1", template("agent", "cpu=1", nil))
	w.app("web", "cpu=1", "n2", beside("agent", v1.LabelTopologyZone))
	w.app("other", "cpu=1", "n1 n3", nil)
	w.in.Price = func(n *v1.Node) int64 { return map[string]int64{"n1": 3, "n3": 2}[n.Name] }
	plan, err := w.planner(t).Step(Options{MaxMoves: 1})
	require.NoError(t, err)
	require.Equal(t, []string{"n3"}, removed(plan))
	lawful(t, w, plan)
}

// Of many nodes that the filters allow the 64 with the best scores are tried.
func TestFewAlternatives(t *testing.T) {
	for _, nodes := range []int{63, 64, 65, 70} {
		w := &world{}
		for k := range nodes + 1 {
			w.node(fmt.Sprint("n", k), "a", "cpu=4")
		}
		w.app("web", "cpu=1", "n0", nil)
		x := w.planner(t).newState()
		fresh := x.lift(0)
		require.NoError(t, x.snapshot.Set(x.cordoned(x.snapshot.Slot("n0"))))
		require.Len(t, alternatives(x.placer, x.snapshot, fresh), min(64, nodes))
	}
}
