package failures

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// An error at any step ends the scenario with its name, and there are no results. The tests break an object or a player's
// snapshot in the middle of a run, for no input brings these errors.
func TestErrorsEndTheRun(t *testing.T) {
	testkit.Run(t, []struct {
		name    string
		cluster func() *world
		spoil   func(p *Planner, x *player, a *Attempt) // a is nil before the run
		want    string
	}{
		{"a controller at the beginning", func() *world {
			w := five("cpu=4")
			w.app("web", "cpu=1", "n1", nil)
			return w
		}, func(p *Planner, _ *player, a *Attempt) {
			if a == nil {
				p.units[0].objects.ReplicaSets[0].Spec.Replicas = ptr(int32(-1))
			}
		}, "spec.replicas: Invalid value: -1"},
		{"a controller later", func() *world {
			w := five("cpu=4")
			w.stateful("db", "n3 n3", appsv1.OrderedReadyPodManagement)
			return w
		}, func(p *Planner, _ *player, a *Attempt) {
			if a != nil {
				p.units[0].objects.StatefulSets[0].Spec.PodManagementPolicy = "other"
			}
		}, "spec.podManagementPolicy: Unsupported value"},
		{"a pod that is on a node already", func() *world {
			w := five("cpu=4")
			w.app("web", "cpu=1", "n1", nil)
			return w
		}, func(_ *Planner, x *player, a *Attempt) {
			if a != nil {
				_ = x.snapshot.Assume(a.Pod, a.Decision.Slot)
			}
		}, "default/web-0"},
		{"a victim that is gone", func() *world {
			w := five("cpu=1500m")
			w.class("high", 1000)
			w.app("batch", "cpu=1", "n2 n3 n4 n5", nil)
			w.app("web", "cpu=1", "n1", classed("high"))
			return w
		}, func(_ *Planner, x *player, a *Attempt) {
			if a != nil && a.Nominated != "" {
				_ = x.snapshot.Remove(a.Victims[0])
			}
		}, "batch-"},
		{"a victim of the scenario that is gone", func() *world {
			w := five("cpu=2")
			w.class("high", 1000)
			w.app("full", "cpu=2", "n1 n2 n3", classed("high"))
			w.app("cache", "cpu=1", "n5", classed("high"))
			w.app("filler", "cpu=1", "n5", nil)
			w.app("app", "cpu=1", "n5", func(s *v1.PodSpec) { beside("cache", v1.LabelHostname)(s); s.PriorityClassName = "high" })
			return w
		}, func(_ *Planner, x *player, a *Attempt) {
			if a != nil && a.Nominated != "" {
				_ = x.snapshot.Remove(a.Victims[0])
			}
		}, "filler-0"},
	}, func(t *testing.T, c struct {
		name    string
		cluster func() *world
		spoil   func(p *Planner, x *player, a *Attempt)
		want    string
	}) {
		p := c.cluster().planner(t)
		for _, o := range []Options{{}, {Orders: 1}} {
			x := p.take()
			p.put(x)
			c.spoil(p, x, nil)
			failing := p.Nodes()
			o.Observe = func(_ int, a Attempt) { c.spoil(p, x, &a) }
			failed := 0
			for _, s := range failing {
				results, err := p.Run([]Scenario{s}, o)
				if err == nil {
					continue
				}
				failed++
				require.ErrorContains(t, err, fmt.Sprintf("scenario %q: ", s.Name))
				require.ErrorContains(t, err, c.want)
				require.Nil(t, results)
				break
			}
			require.Equal(t, 1, failed)
		}
	})
}

// An error of any of its runs ends Headroom.
func TestErrorsEndHeadroom(t *testing.T) {
	for _, search := range []Search{{}, {Limit: 3}, {Limit: 6, Remedies: 2}, {Limit: 6}} {
		for _, full := range []bool{false, true} {
			for spoiled := 0; ; spoiled++ {
				w := five("cpu=2")
				w.app("web", "cpu=1", "n1 n2 n3 n4 n4", nil)
				if full {
					w.app("full", "cpu=1", "n1 n2 n3 n5 n5", nil)
				}
				p := w.planner(t)
				runs := 0
				search.Parallel = func(n int, run func(i int)) {
					if runs == spoiled {
						for _, r := range w.objects.ReplicaSets {
							r.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"no": "pod"}}
						}
					}
					runs++
					for i := range n {
						run(i)
					}
				}
				_, err := p.Headroom(search)
				if runs <= spoiled {
					require.NoError(t, err)
					require.Positive(t, spoiled)
					break
				}
				if runs == spoiled+1 {
					require.ErrorContains(t, err, "`selector` does not match template `labels`", "run %d", spoiled)
				}
			}
		}
	}
}
