package rollout

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
)

// group adds a group. The gates count from then on.
func (w *world) group(name string, minimum int32, change func(s *podgroup.Spec)) {
	g := &podgroup.Group{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: podgroup.Spec{Minimum: &minimum}}
	if change != nil {
		change(&g.Spec)
	}
	w.objects.PodGroups = append(w.objects.PodGroups, g)
	w.in.Groups = &podgroup.Gates{Topology: true, Composites: true}
}

func in(group string) func(*v1.PodSpec) {
	return func(s *v1.PodSpec) { s.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group} }
}

func whole(s *podgroup.Spec) { s.DisruptAll = true }

// Groups of pods in a rollout: who leaves together, and which pods are decided together.
func TestGroups(t *testing.T) {
	testkit.Run(t, []struct {
		name, why string
		cluster   func(w *world)
		o         Options
		want      []string
		waiting   []string
	}{
		{"mode All", "n2's pod leaves with those of n1, and their new pods are placed together", func(w *world) {
			w.app("g", "cpu=1", "n1 n1 n2", in("g"))
			w.group("g", 3, whole)
		}, given("n1"), []string{"0s replace n1 until 2s", "  0s..2s: g-0 -> g-0-moved-1 n3@2s, g-1 -> g-1-moved-1 n5@2s, g-2 -> g-2-moved-1 n2@2s"}, nil},
		{"mode Single", "n2's pod stays", func(w *world) {
			w.app("g", "cpu=1", "n1 n1 n2", in("g"))
			w.group("g", 3, nil)
		}, given("n1"), []string{"0s replace n1 until 2s", "  0s..2s: g-0 -> g-0-moved-1 n3@0s, g-1 -> g-1-moved-1 n5@0s"}, nil},
		{"groups do not count", "the objects alone change nothing", func(w *world) {
			w.app("g", "cpu=1", "n1 n1 n2", in("g"))
			w.group("g", 3, whole)
			w.in.Groups = nil
		}, given("n1"), []string{"0s replace n1 until 2s", "  0s..2s: g-0 -> g-0-moved-1 n3@0s, g-1 -> g-1-moved-1 n5@0s"}, nil},
		{"composite with mode All", "pods of both groups leave together", func(w *world) {
			w.app("g", "cpu=1", "n1", in("g"))
			w.app("h", "cpu=1", "n3", in("h"))
			for _, name := range []string{"g", "h"} {
				w.group(name, 1, func(s *podgroup.Spec) { s.Parent = "job" })
			}
			w.objects.CompositePodGroups = []*podgroup.Composite{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "job"}, Spec: podgroup.Spec{DisruptAll: true}}}
		}, given("n1"), []string{"0s replace n1 until 2s", "  0s..2s: g-0 -> g-0-moved-1 n5@2s, h-0 -> h-0-moved-1 n3@2s"}, nil},
		{"a new pod counts with its group", "the group keeps its zone, though other zones are empty", func(w *world) {
			w.app("g", "cpu=1", "n1 n2", in("g"))
			w.group("g", 2, func(s *podgroup.Spec) {
				s.Constraints = &podgroup.Constraints{Topology: []string{v1.LabelTopologyZone}}
			})
		}, given("n1"), []string{"0s replace n1 until 2s", "  0s..2s: g-0 -> g-0-moved-1 n2@0s"}, nil},
		{"a gang waits whole", "two of three pods fit before and after", func(w *world) {
			w.app("web", "cpu=3", "n1 n2 n3", nil)
			t := template("g", "cpu=4", in("g"))
			for _, name := range []string{"g-0", "g-1", "g-2"} {
				w.pod("", "", name, "", t)
			}
			w.group("g", 3, nil)
		}, given("n4"), []string{"0s replace n4 until 0s"}, []string{"default/g-0", "default/g-1", "default/g-2"}},
		{"a gang that fits", "it is placed whole before a node is drained", func(w *world) {
			w.app("web", "cpu=3", "n1 n2", nil)
			t := template("g", "cpu=4", in("g"))
			for _, name := range []string{"g-0", "g-1", "g-2"} {
				w.pod("ReplicaSet", "g", name, "", t)
			}
			w.group("g", 3, nil)
		}, given("n1"), []string{"0s settle  until 0s", "  0s..0s: g-0 gets n3, g-1 gets n5, g-2 gets n4", "n1: no-room: web-0"}, nil},
		{"no room for all", "one new pod fits and the other does not, so both stay", func(w *world) {
			w.app("web", "cpu=2", "n3 n4 n5", nil)
			w.app("g", "cpu=3", "n1 n2", in("g"))
			w.group("g", 2, whole)
		}, given("n1"), []string{"n1: no-room: g-0 g-1"}, nil},
		{"a pod of the group must not leave", "kubectl drain refuses the pod on n2, so the group stays", func(w *world) {
			w.app("g", "cpu=1", "n1", in("g"))
			w.pod("", "", "bare", "n2", template("g", "cpu=1", in("g")))
			w.group("g", 2, whole)
		}, given("n1"), []string{"n1: pinned: bare"}, nil},
		{"pods that nobody makes again", "with force they leave with their group", func(w *world) {
			for name, node := range map[string]string{"a": "n1", "b": "n2"} {
				w.pod("", "", name, node, template(name, "cpu=1", in("g")))
			}
			w.group("g", 2, whole)
		}, Options{Nodes: []string{"n1"}, Order: Given, Drain: disruption.DrainOptions{Force: true}}, []string{"0s replace n1 until 2s", "  0s..2s: a, b"}, nil},
	}, func(t *testing.T, c struct {
		name, why string
		cluster   func(w *world)
		o         Options
		want      []string
		waiting   []string
	}) {
		w := five("cpu=4")
		c.cluster(w)
		p := w.plan(t, c.o)
		require.Equal(t, c.want, shortLines(p))
		require.ElementsMatch(t, c.waiting, p.Waiting)
	})
}

// shortLines are lines without the namespace of pods.
func shortLines(p *Plan) (out []string) {
	for i := range p.Blocked {
		for k, name := range p.Blocked[i].Pods {
			p.Blocked[i].Pods[k] = short(name)
		}
	}
	return lines(p)
}

// A budget that never lets a whole group leave: the kind, the proof, and remedies for which the plan was made again. A pod of the group stands once,
// though each node of the group is blocked.
func TestGroupBudget(t *testing.T) {
	w := five("cpu=4")
	w.app("g", "cpu=1", "n1 n1 n2", in("g"))
	w.group("g", 3, whole)
	w.budget("g", "g", "2")
	o := given("n1", "n2")
	o.Remedies = 4
	p := w.plan(t, o)
	require.Len(t, p.Blocked, 1)
	d := p.Blocked[0]
	require.Equal(t, Together, d.Kind)
	require.Equal(t, "budget default/g lets at most 1 of 3 pods leave at once, and podgroup/default/g has 3 of them", d.Proof)
	require.Equal(t, []string{"n1", "n2"}, d.Nodes)
	require.Equal(t, []string{"default/g-0", "default/g-1", "default/g-2"}, d.Pods)
	require.Equal(t, []string{"minAvailable 0 in place of 2 in budget default/g"}, remedied(d.Remedies))

	w.objects.PodDisruptionBudgets[0].Spec.MinAvailable = nil
	w.objects.PodDisruptionBudgets = nil
	w.budget("one", "g", "max 1")
	d = w.plan(t, o).Blocked[0]
	require.Equal(t, []string{"maxUnavailable 3 in place of 1 in budget default/one"}, remedied(d.Remedies))

	w.objects.PodDisruptionBudgets = nil
	w.budget("none", "g", "3")
	d = w.plan(t, o).Blocked[0]
	require.Equal(t, Never, d.Kind, "no pod may ever leave, whether alone or not")
	require.Equal(t, []string{"minAvailable 0 in place of 3 in budget default/none"}, remedied(d.Remedies))

	w.objects.PodDisruptionBudgets = nil
	w.budget("g", "g", "2")
	sick(w.objects.Pods[1])
	d = w.plan(t, o).Blocked[0]
	require.Equal(t, Together, d.Kind, "were all pods healthy, the budget would be as short")
}

// Where nobody may change the budget, the group may be made again.
func TestGroupSingly(t *testing.T) {
	w := five("cpu=4")
	for k, node := range []string{"n1", "n1", "n2"} {
		p := w.pod("InstanceManager", "g", fmt.Sprintf("g-%d", k), node, template("g", "cpu=1", in("g")))
		p.OwnerReferences[0].APIVersion = "longhorn.io/v1beta2"
	}
	w.group("g", 3, whole)
	w.budget("g", "g", "2")
	o := given("n1")
	o.Remedies = 4
	d := w.plan(t, o).Blocked[0]
	require.Equal(t, []string{"podgroup/default/g made again with disruption mode Single"}, remedied(d.Remedies))
}
