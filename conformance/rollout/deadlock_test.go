package rollout

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	planner "github.com/podberth/podberth/planning/rollout"
)

// drainTimeout is after how long kubectl drain counts as stuck. It tries a refused eviction again after 5 seconds.
const drainTimeout = 7 * time.Second

// planted is a deadlock, and the change that the plan finds.
type planted struct {
	name    string
	cluster func(w *world)
	nodes   []string // short names, in their order
	kind    planner.Kind
	remedy  string // text of the remedy that holds, %s is the name of the world
	change  func(w *world, o *planner.Options)
}

// loosened gives a budget another rule.
func loosened(name, rule string) func(w *world, _ *planner.Options) {
	return func(w *world, _ *planner.Options) {
		old := w.budgets
		w.budgets = nil
		for _, b := range old {
			if b.Name != name {
				w.budgets = append(w.budgets, b)
			} else if rule != "" {
				w.budget(name, b.Spec.Selector.MatchLabels["app"], rule)
			}
		}
	}
}

// surge adds surge nodes like a node.
func surge(n, like int) func(w *world, o *planner.Options) {
	return func(w *world, o *planner.Options) { o.Surge, o.Shape = n, w.nodes[like] }
}

// deadlocks are ten plants. The clusters have the nodes n1 n2 in zone a, n3 n4 in zone b and n5 in zone c, of 4 cpu each.
var deadlocks = []planted{
	{"replicas equal minAvailable", func(w *world) {
		w.add("web", "cpu=1", 1, "n1", "n2")
		w.budget("web", "web", "2")
	}, []string{"n1"}, planner.Never, "minAvailable 1 in place of 2 in budget %s/web", loosened("web", "1")},
	{"two budgets", func(w *world) {
		w.add("web", "cpu=1", 1, "n1", "n2", "n3")
		w.budget("one", "web", "1")
		w.budget("two", "web", "max 1")
	}, []string{"n1"}, planner.Several, "no budget %s/one", loosened("one", "")},
	{"anti-affinity on every node", func(w *world) {
		apart(w.add("web", "cpu=1", 1, "n1", "n2", "n3", "n4", "n5"))
	}, []string{"n1"}, planner.AntiAffinity, "1 surge node like %s-n1", surge(1, 0)},
	{"maxUnavailable 0", func(w *world) {
		w.add("web", "cpu=1", 1, "n1", "n2")
		w.budget("web", "web", "max 0")
	}, []string{"n1"}, planner.Never, "maxUnavailable 1 in place of 0 in budget %s/web", loosened("web", "max 1")},
	{"a percentage that rounds to all", func(w *world) {
		w.add("web", "cpu=1", 1, "n1", "n2", "n3")
		w.budget("web", "web", "90%")
	}, []string{"n1"}, planner.Never, "minAvailable 2 in place of 90%% in budget %s/web", loosened("web", "2")},
	{"sick pods", func(w *world) {
		a := w.add("web", "cpu=1", 1, "n1", "n2", "n3", "n4")
		a.sick[0], a.sick[1] = true, true
		w.budget("web", "web", "3")
	}, []string{"n1"}, planner.Unhealthy, "unhealthyPodEvictionPolicy AlwaysAllow in budget %s/web", func(w *world, _ *planner.Options) {
		always := policyv1.AlwaysAllow
		w.budgets[0].Spec.UnhealthyPodEvictionPolicy = &always
	}},
	{"a volume of a zone with one node", func(w *world) {
		a := w.add("db", "cpu=1", 1, "n5")
		a.stateful = appsv1.OrderedReadyPodManagement
		w.volumes = append(w.volumes, volume{"data", "c"})
		a.template.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	}, []string{"n5"}, planner.Volumes, "1 surge node like %s-n5", surge(1, 4)},
	{"a pod that fits nowhere else", func(w *world) {
		w.add("big", "cpu=3", 1, "n1")
		w.add("half", "cpu=2", 1, "n2", "n3", "n4", "n5")
	}, []string{"n1"}, planner.NoRoom, "1 surge node like %s-n1", surge(1, 0)},
	{"a zone that would be empty", func(w *world) {
		spread(w.add("web", "cpu=1", 1, "n1", "n3", "n5"))
	}, []string{"n5"}, planner.Spread, "1 surge node like %s-n5", surge(1, 4)},
	{"budgets that starve each other", func(w *world) {
		w.nodes = w.nodes[:2]
		w.add("a", "cpu=3", 1, "n1", "")
		w.add("b", "cpu=3", 1, "n2", "")
		w.budget("a", "a", "1")
		w.budget("b", "b", "1")
	}, []string{"n1", "n2"}, planner.Cycle, "3 surge nodes like %s-n1, to stay", func(w *world, o *planner.Options) {
		surge(3, 0)(w, o)
		o.KeepSurge = true
	}},
}

// world makes the cluster of a plant.
func (d *planted) world(client kubernetes.Interface, name string) *world {
	w := newWorld(client, name)
	for i, zone := range []string{"a", "a", "b", "b", "c"} {
		w.node(fmt.Sprintf("n%d", i+1), zone, "cpu=4")
	}
	d.cluster(w)
	return w
}

// options are the nodes in their order, with the first as the shape of surge nodes.
func (d *planted) options(w *world) planner.Options {
	o := planner.Options{Order: planner.Given, Shape: w.nodes[0]}
	for _, n := range d.nodes {
		o.Nodes = append(o.Nodes, w.name+"-"+n)
	}
	return o
}

// The plan names each deadlock and finds a remedy, kubectl drain in the order of the nodes gets stuck, and after the remedy the play
// succeeds.
func TestDeadlocks(t *testing.T) {
	all := deadlocks
	if *count == 0 {
		all = all[:3]
	}
	client := start(t)
	slots := make(chan struct{}, *width)
	t.Run("deadlocks", func(t *testing.T) {
		for i := range all {
			d := &all[i]
			t.Run(d.name, func(t *testing.T) {
				t.Parallel()
				slots <- struct{}{}
				defer func() { <-slots }()
				named(t, client, d, fmt.Sprintf("d%d", i))
				remedied(t, client, d, fmt.Sprintf("r%d", i))
			})
		}
	})
}

// named holds that the plan names the deadlock and that kubectl drain gets stuck.
func named(t *testing.T, client kubernetes.Interface, d *planted, name string) {
	w := d.world(client, name)
	require.NoError(t, w.create(t.Context()))
	o := d.options(w)
	o.Remedies = 8
	plan, _, err := w.planned(t.Context(), o)
	require.NoError(t, err)
	require.NotEmpty(t, plan.Blocked)
	found := plan.Blocked[0]
	require.Equal(t, d.kind, found.Kind, found.Proof)
	require.NotEmpty(t, found.Remedies)
	last := found.Remedies[len(found.Remedies)-1]
	require.Equal(t, planner.Remedy{Text: fmt.Sprintf(d.remedy, name), Holds: true}, last)
	k, err := newScheduler(t.Context())
	require.NoError(t, err)
	x := &player{world: w, scheduler: k, ctx: t.Context(), shape: w.nodes[0], below: map[string]bool{}}
	require.NoError(t, x.settled())
	why, err := x.naive(o.Nodes, drainTimeout)
	require.NoError(t, err)
	require.NotEmpty(t, why, "kubectl drain gets through")
	t.Logf("%s: %s; kubectl drain: %s", found.Kind, found.Proof, why)
}

// remedied holds that the plan is complete with the remedy, and that the server lets it happen.
func remedied(t *testing.T, client kubernetes.Interface, d *planted, name string) {
	w := d.world(client, name)
	o := d.options(w)
	d.change(w, &o)
	require.NoError(t, w.create(t.Context()))
	plan, _, err := w.planned(t.Context(), o)
	require.NoError(t, err)
	require.Empty(t, plan.Blocked)
	k, err := newScheduler(t.Context())
	require.NoError(t, err)
	x := &player{world: w, scheduler: k, ctx: t.Context(), shape: o.Shape}
	require.NoError(t, x.play(plan, o.Nodes))
	require.NoError(t, x.complete(0))
	require.Equal(t, plan.Evictions, x.evictions)
	pods, err := client.CoreV1().Pods(name).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, p := range pods.Items {
		require.NotEmpty(t, p.Spec.NodeName)
	}
}
