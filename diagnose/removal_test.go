package diagnose

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit"
)

func budget(name, app string, allowed int32) *policyv1.PodDisruptionBudget {
	least := intstr.FromInt32(1)
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	b.Spec = policyv1.PodDisruptionBudgetSpec{MinAvailable: &least, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}
	b.Status.DisruptionsAllowed = allowed
	return b
}

func randomBudgets(b *testkit.Bytes) (out []*policyv1.PodDisruptionBudget) {
	for _, app := range []string{"a", "b"} {
		if b.OneIn(2) {
			out = append(out, budget("pdb-"+app, app, int32(b.Below(3))))
		}
	}
	return out
}

// Pods move where they fit elsewhere, and are removed where they do not. A protected pod stays if another set of pods is enough;
// otherwise its budget rises, as a change of its own.
func TestRemoval(t *testing.T) {
	low, high := running("low", "n1", "cpu=2"), testkit.Pod("high").On("n1").Labels("app=h").Priority(10).Request("cpu=2").Obj()
	big := testkit.Pod("big").On("n2").Labels("app=b").Request("cpu=4,memory=8Gi").Obj()
	third := five()[2]
	third.Spec.Taints = testkit.Taints("team=x:NoSchedule")
	low.Spec.Tolerations = []v1.Toleration{testkit.Toleration("team Exists _ _")}
	type test struct {
		name    string
		nodes   []*v1.Node
		budgets []*policyv1.PodDisruptionBudget
		want    []string
	}
	testkit.Run(t, []test{
		{"no budget", five()[:2], nil, []string{"remove default/low from n1", "remove default/big from n2"}},
		{"budget of the less important pod", five()[:2], []*policyv1.PodDisruptionBudget{budget("pdb", "l", 0)}, []string{
			"remove default/big from n2", // high is more important than the pod
			"PodDisruptionBudget default/pdb: spec.minAvailable from 1 to 0; remove default/low from n1"}},
		{"budget of both", five()[:2], []*policyv1.PodDisruptionBudget{budget("l", "l", 0), budget("h", "h", 0)}, []string{
			"remove default/big from n2", "PodDisruptionBudget default/l: spec.minAvailable from 1 to 0; remove default/low from n1"}},
		{"room elsewhere", append(five()[:2], third), nil, []string{
			"move default/low from n1 to n3", "remove default/big from n2"}},
	}, func(t *testing.T, c test) {
		pending := testkit.Pod("web").Request("cpu=2,memory=1Gi").Obj()
		d := relax(t, cluster.Objects{Nodes: c.nodes, Pods: []*v1.Pod{low, high, big}, PodDisruptionBudgets: c.budgets}, pending, Options{Cost: only(RemovePods, MovePods, RaiseBudget)})
		var have []string
		for _, r := range d.Relaxations {
			have = append(have, r.Text())
		}
		require.ElementsMatch(t, c.want, have)
	})
}

// A budget rises when it allows fewer evictions than its pods need.
func TestRaises(t *testing.T) {
	pods := []*v1.Pod{running("a1", "n1", "cpu=1"), running("a2", "n1", "cpu=1"), running("b", "n1", "cpu=1")}
	for allowed, want := range map[int32]string{-1: "0 1 1 2", 0: "0 1 1 2", 1: "0 0 0 2", 2: "0 0 0 0"} {
		s, err := cluster.New(cluster.Objects{Nodes: five()[:1], Pods: pods, PodDisruptionBudgets: []*policyv1.PodDisruptionBudget{budget("pdb", "a", allowed)}})
		require.NoError(t, err)
		b := budgetsOf(s)
		needs := func(pods ...*v1.Pod) (n int32) {
			for _, c := range b.raises(pods) {
				fork := s.Fork()
				c.make(fork, c)
				risen, _ := cluster.List[*policyv1.PodDisruptionBudget](fork).Get("default", "pdb")
				n += risen.Status.DisruptionsAllowed
			}
			return n
		}
		require.Equal(t, want, fmt.Sprint(needs(pods[2]), needs(pods[0]), needs(pods[1]), needs(pods...)), "%d allowed", allowed)
	}
}

// After a budget has risen, the disruption controller counts as many evictions as are needed.
func TestRaiseBudget(t *testing.T) {
	var pods []*v1.Pod
	for i := range 10 {
		p := testkit.Pod(fmt.Sprintf("p%d", i)).On("n1").Labels("app=a").Owner("apps/v1", "ReplicaSet", "a").Obj()
		p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
		pods = append(pods, p)
	}
	scale := func(*v1.Pod, metav1.OwnerReference) (uid types.UID, replicas int32, err error) { return "rs", 10, nil }
	at := func(text string) *intstr.IntOrString { v := intstr.Parse(text); return &v }
	type test struct {
		name           string
		least, most    *intstr.IntOrString
		from, to, path string
	}
	testkit.Run(t, []test{
		{"minAvailable", at("10"), nil, "10", "7", "spec.minAvailable"},
		{"minAvailable in percent", at("95%"), nil, "95%", "7", "spec.minAvailable"},
		{"maxUnavailable", nil, at("1"), "1", "3", "spec.maxUnavailable"},
		{"maxUnavailable in percent", nil, at("0%"), "0%", "3", "spec.maxUnavailable"},
	}, func(t *testing.T, c test) {
		b := budget("pdb", "a", 0)
		b.Spec.MinAvailable, b.Spec.MaxUnavailable = c.least, c.most
		for _, known := range []bool{true, false} {
			if known {
				b.Status = disruption.Sync(b, pods, scale, testkit.Epoch).Status
				require.Less(t, b.Status.DisruptionsAllowed, int32(3))
			} else {
				b.Status = policyv1.PodDisruptionBudgetStatus{}
			}
			change := raise(b, 3)
			require.Equal(t, []string{c.path, c.from}, []string{change.Path, change.From})
			if known {
				require.Equal(t, c.to, change.To)
			}
			s, err := cluster.New(cluster.Objects{PodDisruptionBudgets: []*policyv1.PodDisruptionBudget{b}})
			require.NoError(t, err)
			_, err = Apply(s, pods[0], *change)
			require.NoError(t, err)
			raised, _ := cluster.List[*policyv1.PodDisruptionBudget](s).Get("default", "pdb")
			require.Equal(t, int32(3), raised.Status.DisruptionsAllowed)
			if known {
				require.Equal(t, int32(3), disruption.Sync(raised, pods, scale, testkit.Epoch).Status.DisruptionsAllowed)
			}
		}
	})
}

// fewest compares the removals of a node with all subsets of its pods. If fewer pods never hurt, a removal keeps the best pods. There
// are two orders: pods that budgets protect are best, or pods of high priority are best. The removal by the first order is found.
func fewest(t *testing.T, s *cluster.Snapshot, pod *v1.Pod, all Change, found []Relaxation) {
	n := len(all.remove)
	enough := make([]bool, 1<<n) // by the pods that stay
	for stay := range enough {
		c := all
		c.remove = nil
		for k, p := range all.remove {
			if stay>>k&1 == 0 {
				c.remove = append(c.remove, p)
			}
		}
		enough[stay] = works(t, s, pod, []Change{c})
		for k := range n {
			if enough[stay] && stay>>k&1 == 1 && !enough[stay&^(1<<k)] {
				return // a pod that stays can help, such as by required affinity
			}
		}
	}
	best := func(order []*v1.Pod) (leave []string) {
		stay := 0
		for set := range enough {
			if enough[set] && rankOf(all.remove, order, set) > rankOf(all.remove, order, stay) {
				stay = set
			}
		}
		for k, p := range all.remove {
			if stay>>k&1 == 0 {
				leave = append(leave, podinfo.Name(p))
			}
		}
		return leave
	}
	left := map[string]int32{}
	for b := range cluster.List[*policyv1.PodDisruptionBudget](s).All() {
		left[b.Spec.Selector.MatchLabels["app"]] = b.Status.DisruptionsAllowed + 1
	}
	var protected, free []*v1.Pod
	for _, p := range slices.Backward(all.remove) {
		app := p.Labels["app"]
		if left[app] == 1 {
			protected = append([]*v1.Pod{p}, protected...)
			continue
		}
		free = append([]*v1.Pod{p}, free...)
		if left[app] > 1 {
			left[app]--
		}
	}
	first, second := best(append(protected, free...)), best(all.remove)
	seen := false
	for _, r := range found {
		i := slices.IndexFunc(r.Changes, func(c Change) bool { return c.Kind == RemovePods || c.Kind == MovePods })
		if i < 0 || slices.ContainsFunc(r.Changes, func(c Change) bool { return c.Kind != RaiseBudget && c.Kind != r.Changes[i].Kind }) {
			continue
		}
		var leave []string
		for _, l := range r.Changes[i].Leaving {
			leave = append(leave, l.Pod)
		}
		is := func(list []string) bool {
			return len(list) == len(leave) && !slices.ContainsFunc(list, func(p string) bool { return !slices.Contains(leave, p) })
		}
		seen = seen || is(first)
		require.True(t, is(first) || is(second) || r.Changes[i].Kind == MovePods || r.Changes[i].Object != all.Object, "%s: %v and %v are better", r.Text(), first, second)
	}
	require.True(t, seen, "%s: %v is not found", all.Object, first)
}

// rankOf compares sets of pods that stay: the earlier in the order, the more a pod weighs.
func rankOf(pods, order []*v1.Pod, stay int) (rank int) {
	for _, p := range order {
		rank *= 2
		if stay>>slices.Index(pods, p)&1 == 1 {
			rank++
		}
	}
	return rank
}
