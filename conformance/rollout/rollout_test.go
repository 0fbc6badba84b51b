package rollout

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
	planner "github.com/podberth/podberth/planning/rollout"
)

// startUp is how long a pod takes to become ready.
const startUp = 300 * time.Millisecond

// planned makes the plan for a cluster as the server has it.
func (w *world) planned(ctx context.Context, o planner.Options) (*planner.Plan, *planner.Planner, error) {
	objects, pending, err := w.objects(ctx)
	if err != nil {
		return nil, nil, err
	}
	s, err := cluster.New(objects)
	if err != nil {
		return nil, nil, err
	}
	p, err := planner.New(planner.Input{Snapshot: s, Pending: pending, Now: time.Now()})
	if err != nil {
		return nil, nil, err
	}
	o.Start = func(*v1.Pod, string) time.Duration { return startUp }
	plan, err := p.Plan(o)
	return plan, p, err
}

// generate makes a cluster with three pods for each node: plain, apart, spread over zones, and StatefulSets; most apps have budgets.
func generate(client kubernetes.Interface, name string, seed int64, nodes int) (*world, error) {
	r := rand.New(rand.NewPCG(uint64(seed), 7))
	w := newWorld(client, name)
	for i := range nodes {
		w.node(fmt.Sprintf("n%d", i), string(rune('a'+i%3)), "cpu=8,memory=32Gi")
	}
	s, err := cluster.New(cluster.Objects{Nodes: w.nodes})
	if err != nil {
		return nil, err
	}
	profile := placement.DefaultProfile()
	profile.Sampling = placement.AllNodes()
	placer, err := placement.NewPlacer(s, profile)
	if err != nil {
		return nil, err
	}
	for pods, k := 0, 0; pods < 3*nodes; k++ {
		a := w.add(fmt.Sprintf("app%d", k), fmt.Sprintf("cpu=%dm,memory=1Gi", 250+r.IntN(4)*250), int64(1+r.IntN(2)))
		switch r.IntN(6) {
		case 0:
			apart(a)
		case 1:
			spread(a)
		case 2:
			a.stateful = appsv1.OrderedReadyPodManagement
		case 3:
			a.stateful = appsv1.ParallelPodManagement
		}
		for i := range 2 + r.IntN(6) {
			pod := &v1.Pod{ObjectMeta: *a.template.ObjectMeta.DeepCopy(), Spec: *a.template.Spec.DeepCopy()}
			pod.Namespace, pod.Name = name, fmt.Sprintf("%s-%d", a.name, i)
			d := placer.Decide(pod, placement.Options{})
			if !d.Placed() {
				break
			}
			if err := placer.Assume(pod, d); err != nil {
				return nil, err
			}
			a.on = append(a.on, d.Node)
		}
		a.replicas = len(a.on)
		pods += max(1, len(a.on))
		if n := len(a.on); n > 1 && r.IntN(5) > 0 {
			w.budget(a.name, a.name, []string{"max 1", "max 2", "50%", fmt.Sprint(n - 1), "max 30%"}[r.IntN(5)])
		}
	}
	return w, nil
}

// Generated clusters: the plan is followed step by step. No eviction is refused, no pod is left behind, no budget is below its
// minimum, kube-scheduler places every pod where the plan says, and each wave takes as long as planned.
func TestPlay(t *testing.T) {
	clusters, size := 1, 8
	if *count > 0 {
		clusters, size = *count, *nodes
	}
	client := start(t)
	slots := make(chan struct{}, *width)
	t.Run("clusters", func(t *testing.T) {
		for i := range clusters {
			seed := *from + int64(i)
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				slots <- struct{}{}
				defer func() { <-slots }()
				playOne(t, client, seed, size)
			})
		}
	})
}

func playOne(t *testing.T, client kubernetes.Interface, seed int64, size int) {
	ctx := t.Context()
	w, err := generate(client, fmt.Sprintf("c%d", seed), seed, size)
	require.NoError(t, err)
	require.NoError(t, w.create(ctx))
	k, err := newScheduler(ctx)
	require.NoError(t, err)
	o := planner.Options{Batch: max(2, size/10), Surge: int(seed % 3), Shape: w.nodes[0]}
	plan, p, err := w.planned(ctx, o)
	require.NoError(t, err)
	x := &player{world: w, scheduler: k, ctx: ctx, shape: w.nodes[0]}
	begin := time.Now()
	require.NoError(t, x.play(plan, p.Pool(nil)), "seed %d", seed)
	require.NoError(t, x.complete(len(plan.Waiting)))
	require.Equal(t, plan.Evictions, x.evictions)
	require.GreaterOrEqual(t, plan.Replaced+len(plan.Blocked), size/2)
	t.Logf("%d of %d nodes new in %d steps, %d evictions, %d pods moved twice; planned %v, took %v, no wave took more than %v too long; %d ties",
		plan.Replaced, size, len(plan.Steps), x.evictions, len(plan.Again), plan.Total, time.Since(begin).Round(time.Millisecond), x.worst.Round(time.Millisecond), k.ties)
}
