package packing_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/planning/packing"
	"github.com/podberth/podberth/podgroup"
)

// join makes some pods of a cluster members of groups: running ones of a unit that leaves whole, and pending ones of a gang.
func join(b *testkit.Bytes, w *world) {
	member := func(pods []*v1.Pod, name string, priority int32) {
		for _, p := range pods {
			p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name}
			p.Spec.Priority = &priority
		}
	}
	group := func(name string, minimum int, all bool, priority int32) {
		g := &podgroup.Group{}
		g.Namespace, g.Name, g.DisruptAll, g.Priority = "default", name, all, &priority
		if minimum > 0 {
			g.Minimum = new(int32(minimum))
		}
		w.groups = append(w.groups, g)
	}
	if n := min(len(w.pods), 2+b.Below(2)); n > 1 && !b.OneIn(3) {
		group("all", b.Below(3), true, 0)
		member(w.pods[:n], "all", 0)
	}
	if n := min(len(w.pending), 2+b.Below(3)); n > 1 {
		priority := int32(10 * b.Below(3))
		group("gang", 1+b.Below(n), false, priority)
		member(w.pending[:n], "gang", priority)
	}
}

// lawfulGroups reports whether gangs of which a pod is on a new node are complete, and whether units are whole: all their pods are at home, or
// all have left. Pods of a unit that kube-scheduler evicts may come back to their nodes: whole is false then. at has the node of each pod, "" for none.
func lawfulGroups(w *world, at map[string]string, whole bool) bool {
	for _, g := range w.groups {
		placed, fresh, home, running := 0, 0, 0, 0
		count := func(p *v1.Pod, runs bool) {
			if name, ok := podgroup.Of(p); !ok || name != g.Name {
				return
			}
			if runs {
				running++
			}
			switch node := at[p.Name]; {
			case node == "":
				return
			case node != p.Spec.NodeName:
				fresh++
			default:
				home++
			}
			placed++
		}
		for _, p := range w.pods {
			count(p, true)
		}
		for _, p := range w.pending {
			count(p, false)
		}
		if whole && g.DisruptAll && running > 1 && home != running && home > 0 || fresh > 0 && placed < g.Needs() {
			return false
		}
	}
	return true
}

// where is the node of each pod after a plan.
func where(w *world, p packing.Plan) map[string]string {
	at := map[string]string{}
	for _, q := range w.pods {
		at[q.Name] = q.Spec.NodeName
	}
	for _, a := range p.Actions {
		_, name, _ := cut(a.Pod)
		at[name] = a.To
	}
	return at
}

func cut(pod string) (namespace, name string, ok bool) {
	for k := range pod {
		if pod[k] == '/' {
			return pod[:k], pod[k+1:], true
		}
	}
	return "", pod, false
}

// A plan leaves units whole and gangs complete. It is never better than the best of all such assignments, nor is the bound worse, and a
// plan that says that it is optimal is as good. Most plans are.
func TestGroupsBruteForce(t *testing.T) {
	n, best, proved, unfinished := testkit.Rounds(*cases), 0, 0, 0
	for seed := range uint64(n) {
		b := testkit.NewBytes(testkit.RandomBytes(seed+5e6, 300))
		w := chance(b, 7, false)
		join(b, w)
		p := w.pack(t, packing.Options{Seed: seed, Steps: 3000, Groups: &podgroup.Gates{}})
		at := where(w, p)
		got := vector(p.Tiers, placed)
		if p.LeaveIt {
			unfinished++ // the plan does not say where kube-scheduler puts the pods
		} else {
			require.True(t, lawfulGroups(w, at, true), "seed %d: %v", seed, at)
		}
		want := brute(w, p.Tiers, func(at map[string]string) bool { return lawfulGroups(w, at, false) })
		require.LessOrEqual(t, slices.Compare(got, want), 0, "seed %d: %v, brute force %v", seed, got, want)
		require.GreaterOrEqual(t, slices.Compare(vector(p.Tiers, bound), want), 0, "seed %d", seed)
		if slices.Equal(got, want) {
			best++
		}
		if p.Optimal {
			proved++
			require.Equal(t, want, got, "seed %d", seed)
		}
	}
	t.Logf("%d of %d plans are the best, %d say so, %d leave it to kube-scheduler", best, n, proved, unfinished)
	require.Greater(t, best, n*9/10)
	require.Positive(t, proved)
}

// A gang waits as a whole, a unit leaves as a whole.
func TestGroups(t *testing.T) {
	pod := func(name string, priority int32, cpu int) testkit.PodBuilder {
		return testkit.Pod(name).Priority(priority).Request(fmt.Sprintf("cpu=%d", cpu))
	}
	in := func(p *v1.Pod, group string) *v1.Pod {
		p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
		return p
	}
	group := func(name string, minimum int32, all bool, priority int32, key string) *podgroup.Group {
		g := &podgroup.Group{}
		g.Namespace, g.Name, g.DisruptAll, g.Priority, g.Minimum = "default", name, all, &priority, &minimum
		if key != "" {
			g.Constraints = &podgroup.Constraints{Topology: []string{key}}
		}
		return g
	}
	type test struct {
		name, why string
		world     world
		pending   []string
	}
	testkit.Run(t, []test{
		{"gang without room", "one member has room, two are needed: another pod gets it", world{
			nodes: []*v1.Node{node("n0", "a", "cpu=2,memory=8Gi")}, groups: []*podgroup.Group{group("g", 2, false, 10, "")},
			pending: []*v1.Pod{in(pod("a", 10, 2).Obj(), "g"), in(pod("b", 10, 2).Obj(), "g"), pod("c", 0, 2).Obj()},
		}, []string{"default/a", "default/b"}},
		{"gang by moves", "a pod moves, so that both members have nodes", world{
			nodes: []*v1.Node{node("n0", "a", "cpu=3,memory=8Gi"), node("n1", "a", "cpu=3,memory=8Gi")}, groups: []*podgroup.Group{group("g", 2, false, 10, "")},
			pods:    []*v1.Pod{pod("r", 20, 1).On("n0").Obj(), pod("s", 20, 1).On("n1").Obj()},
			pending: []*v1.Pod{in(pod("a", 10, 3).Obj(), "g"), in(pod("b", 10, 1).Obj(), "g")},
		}, []string{}},
		{"whole unit", "one pod of the unit makes room, and the other leaves too", world{
			nodes: []*v1.Node{node("n0", "a", "cpu=2,memory=8Gi"), node("n1", "a", "cpu=2,memory=8Gi")}, groups: []*podgroup.Group{group("u", 2, true, 0, "")},
			pods:    []*v1.Pod{in(pod("u0", 0, 2).On("n0").Obj(), "u"), in(pod("u1", 0, 2).On("n1").Obj(), "u")},
			pending: []*v1.Pod{pod("p", 10, 2).Obj()},
		}, []string{"default/u0", "default/u1"}},
	}, func(t *testing.T, c test) {
		w := &c.world
		p := w.pack(t, packing.Options{Seed: 1, Groups: &podgroup.Gates{Topology: true}})
		at := where(w, p)
		if p.LeaveIt {
			require.Empty(t, p.Actions)
		}
		require.True(t, p.LeaveIt || lawfulGroups(w, at, true), c.why)
		require.Equal(t, c.pending, p.Pending, c.why)
	})
}
