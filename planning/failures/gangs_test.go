package failures

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
)

// gang adds a group. The gates count from then on.
func (w *world) gang(name string, minimum int32, change func(g *podgroup.Group)) {
	g := &podgroup.Group{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: podgroup.Spec{Minimum: &minimum}}
	if change != nil {
		change(g)
	}
	w.objects.PodGroups = append(w.objects.PodGroups, g)
	w.in.Groups = &podgroup.Gates{Topology: true}
}

func inGang(name string) func(*v1.PodSpec) {
	return func(s *v1.PodSpec) { s.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name} }
}

// Pods of a group that lost their nodes come back together or not at all, and keep to the domain of the pods that are left.
func TestGangs(t *testing.T) {
	type test struct {
		name, why string
		cluster   func(w *world)
		nodes     string
		pending   int
		back      int
		displaced int
	}
	testkit.Run(t, []test{
		{"all fit", "both come back", func(w *world) {
			w.app("g", "cpu=3", "n1 n1", inGang("g"))
			w.gang("g", 2, nil)
		}, "n1", 0, 2, 0},
		{"one fits", "the gang of two waits whole", func(w *world) {
			w.app("g", "cpu=3", "n1 n1", inGang("g"))
			w.app("web", "cpu=3", "n2 n3 n4", nil)
			w.gang("g", 2, nil)
		}, "n1", 2, 0, 0},
		{"one fits, groups off", "each pod counts alone", func(w *world) {
			w.app("g", "cpu=3", "n1 n1", inGang("g"))
			w.app("web", "cpu=3", "n2 n3 n4", nil)
			w.gang("g", 2, nil)
			w.in.Groups = nil
		}, "n1", 1, 1, 0},
		{"the rest of the gang runs", "one pod counts with those that are left", func(w *world) {
			w.app("g", "cpu=3", "n1 n2", inGang("g"))
			w.app("web", "cpu=3", "n3 n4", nil)
			w.gang("g", 2, nil)
		}, "n1", 0, 1, 0},
		{"the domain of those that are left", "other zones have room, and its own has none", func(w *world) {
			w.app("g", "cpu=3", "n1 n2", inGang("g"))
			w.gang("g", 2, func(g *podgroup.Group) { g.Constraints = &podgroup.Constraints{Topology: []string{zoneKey}} })
		}, "n1", 1, 0, 0},
	}, func(t *testing.T, c test) {
		w := five("cpu=8")
		for _, n := range w.objects.Nodes[1:] {
			n.Status.Allocatable[v1.ResourceCPU] = testkit.Resources("cpu=4")[v1.ResourceCPU]
		}
		c.cluster(w)
		p := w.planner(t)
		r, err := p.Run([]Scenario{{"test", []string{c.nodes}}}, Options{})
		require.NoError(t, err)
		back, pending, displaced := 0, 0, 0
		for _, o := range r[0].Pods {
			switch o.Fate {
			case Placed:
				back++
			case Pending:
				pending++
			}
			if o.DisplacedBy != "" {
				displaced++
			}
		}
		require.Equal(t, []int{c.back, c.pending, c.displaced}, []int{back, pending, displaced}, "%v", lines(r[0]))
	})
}
